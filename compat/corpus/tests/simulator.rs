//! Every launch of the corpus, on the CPU: what a kernel does in the simulator is what it does on a GPU, for which
//! `tests/gpu/corpus.rs` has the same cases.

use cuda_sim::{FaultKind, GlobalBuffer, Launch, Report, Schedule};
use cuda_std_corpus::cases::{all, Argument, Arguments, Case, Data, Expected, Outcome};

/// The kernels that cannot mean the same on a CPU, each with the reason. All others must.
const ON_A_GPU_ONLY: [(&str, &str); 2] = [
    (
        "gpu_only_functions",
        "calls a user's own `#[gpu_only]` functions, which the host has no bodies for",
    ),
    (
        "allocator",
        "calls a user's own `#[gpu_only]` function, around the allocator that the device alone has",
    ),
];

/// The kernels whose result depends on how often they ran in this process: they run once.
const ONCE: [(&str, &str); 1] = [("statics", "a global static keeps its value from launch to launch")];

/// What a launch left.
struct Run {
    report: Report,
    /// Each buffer's bytes, with what they must be if that is known.
    buffers: Vec<(Vec<u8>, Option<Expected>)>,
}

fn run(case: &Case, schedule: Schedule) -> Run {
    let mut buffers: Vec<(GlobalBuffer<u8>, Option<Expected>)> = Vec::new();
    let mut arguments: Vec<Vec<u8>> = Vec::new();
    let mut pointer = |data: &Data, zeros: bool, expected: Option<&Expected>| {
        let bytes = data.to_bytes();
        let buffer = match zeros {
            true => GlobalBuffer::zeroed(bytes.len()),
            false => GlobalBuffer::from_slice(&bytes),
        };
        let address = buffer.as_mut_ptr().expose_provenance().to_ne_bytes().to_vec();
        buffers.push((buffer, expected.cloned()));
        address
    };
    for argument in &case.arguments {
        match argument {
            Argument::Value(bytes) => arguments.push(bytes.clone()),
            Argument::Pointer(data) => arguments.push(pointer(data, false, None)),
            Argument::Slice(data) => {
                arguments.push(pointer(data, false, None));
                arguments.push(data.len().to_ne_bytes().to_vec());
            }
            Argument::Output(expected) => arguments.push(pointer(&expected.data, true, Some(expected))),
            Argument::Updated(data, expected) => arguments.push(pointer(data, false, Some(expected))),
        }
    }
    let report = Launch::new(case.grid, case.block)
        .dynamic_shared_bytes(case.dynamic_smem_bytes)
        .schedule(schedule)
        // SAFETY: the case says what the kernel takes, and the buffers outlive the launch.
        .run(|| unsafe { (case.call)(&mut Arguments::new(&arguments)) });
    let buffers = buffers
        .into_iter()
        .map(|(buffer, expected)| (buffer.to_vec(), expected));
    Run {
        report,
        buffers: buffers.collect(),
    }
}

/// Compares a run with the case's description; the error says what differs.
fn check(case: &Case, run: &Run) -> Result<(), String> {
    let printed = match case.outcome {
        Outcome::Success => "",
        Outcome::Prints(text) => text,
        Outcome::Failure => return fails_in_the_corpus(&run.report),
    };
    if !run.report.is_clean() {
        return Err(format!("{:?}", run.report.faults));
    }
    if run.report.output != printed {
        return Err(format!("printed {:?} instead of {printed:?}", run.report.output));
    }
    for (index, (bytes, expected)) in run.buffers.iter().enumerate() {
        if let Some(Expected { data, tolerance }) = expected {
            data.check(bytes, *tolerance)
                .map_err(|problem| format!("buffer {index}: {problem}"))?;
        }
    }
    Ok(())
}

/// A launch that fails on a GPU is a panic here, in the kernel's own source.
fn fails_in_the_corpus(report: &Report) -> Result<(), String> {
    match report.faults.as_slice() {
        [] => Err("no fault".to_owned()),
        faults => match faults.iter().find(|fault| !is_panic_of_the_corpus(fault)) {
            Some(other) => Err(format!("a fault of another kind: {other}")),
            None => Ok(()),
        },
    }
}

fn is_panic_of_the_corpus(fault: &cuda_sim::SimFault) -> bool {
    let here = fault
        .location
        .as_ref()
        .is_some_and(|location| location.file.ends_with("corpus/src/printing.rs"));
    matches!(fault.kind, FaultKind::Panic { .. }) && here
}

fn is_in(table: &[(&str, &str)], case: &Case) -> bool {
    table.iter().any(|(kernel, _)| *kernel == case.kernel)
}

/// Runs every case that `chosen` picks under the schedule; panics with all that differ.
fn run_all(schedule: Schedule, chosen: impl Fn(&Case) -> bool) -> usize {
    let cases: Vec<(usize, Case)> = all().into_iter().enumerate().filter(|(_, case)| chosen(case)).collect();
    let problem = |(index, case): &(usize, Case)| {
        let problem = check(case, &run(case, schedule)).err()?;
        Some(format!("{}_{index}: {problem}", case.kernel))
    };
    let problems: Vec<String> = cases.iter().filter_map(problem).collect();
    assert!(
        problems.is_empty(),
        "{} of {} cases:\n{}",
        problems.len(),
        cases.len(),
        problems.join("\n")
    );
    cases.len()
}

#[test]
fn every_case_ends_as_on_a_gpu() {
    let ran = run_all(Schedule::Forward, |case| !is_in(&ON_A_GPU_ONLY, case));
    assert_eq!(ran, all().len() - ON_A_GPU_ONLY.len(), "each exception is one case");
}

#[test]
fn every_case_ends_so_in_any_order_of_its_threads() {
    for schedule in [Schedule::Reverse, Schedule::Random(7)] {
        run_all(schedule, |case| !is_in(&ON_A_GPU_ONLY, case) && !is_in(&ONCE, case));
    }
}

#[test]
fn what_differs_from_the_description_is_noticed() {
    let case = |kernel| {
        all()
            .into_iter()
            .find(|case| case.kernel == kernel)
            .expect("a kernel of the corpus")
    };
    let problem = |case: &Case| check(case, &run(case, Schedule::Forward)).unwrap_err();

    let mut other_result = case("capability");
    other_result.arguments = vec![Argument::out_u32([2])];
    assert_eq!(problem(&other_result), "buffer 0: element 0 is 1 instead of 2");

    let mut other_text = case("prints_number");
    other_text.outcome = Outcome::Prints("0.2\n");
    assert!(problem(&other_text).starts_with("printed \"0.1 0.10 1e-1\\n\" instead"));

    let mut other_end = case("axpy");
    other_end.outcome = Outcome::Failure;
    assert_eq!(problem(&other_end), "no fault");

    let mut fails = case("panics");
    fails.arguments[1] = Argument::u32(100);
    assert!(problem(&fails).contains("index out of bounds"));
}

#[test]
fn the_exceptions_are_needed() {
    for case in all().iter().filter(|case| is_in(&ON_A_GPU_ONLY, case)) {
        let report = run(case, Schedule::Forward).report;
        assert!(
            !report.is_clean(),
            "{} works by now: take it out of the table",
            case.kernel
        );
        assert!(report.to_string().contains("can only be called on the GPU"), "{report}");
    }
}
