//! Every launch of the corpus, interpreted: it must end as `cuda_std_corpus::cases` says it ends on a GPU.

use std::path::Path;
use std::sync::OnceLock;

use cuda_builder::{CudaBuilder, NvvmArch};
use cuda_std_corpus::cases::{Argument, Case, Expected, Outcome, all};
use ptx_interpreter::{Fault, FaultKind, Launch, Machine, Module};

fn corpus() -> &'static Module {
    static MODULE: OnceLock<Module> = OnceLock::new();
    MODULE.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus.ptx");
        let built = CudaBuilder::new(root.join("../corpus"))
            .arch(NvvmArch::Compute75)
            .copy_to(&output)
            .build();
        built.expect("the corpus compiles");
        let text = std::fs::read_to_string(output).expect("the PTX is there");
        Module::parse(&text).expect("the PTX can be read")
    })
}

/// What a launch left: how it ended, what it printed, and each buffer with what it must hold.
struct Run {
    end: Result<(), Fault>,
    printed: String,
    buffers: Vec<(Vec<u8>, Option<Expected>)>,
}

fn run(case: &Case) -> Run {
    let mut machine = Machine::new(corpus()).expect("the corpus loads");
    let mut buffers: Vec<(u64, usize, Option<Expected>)> = Vec::new();
    let mut arguments: Vec<Vec<u8>> = Vec::new();
    let mut pointer = |bytes: &[u8], expected: Option<&Expected>| {
        let address = machine.alloc(bytes.len());
        machine.write(address, bytes);
        buffers.push((address, bytes.len(), expected.cloned()));
        address.to_le_bytes().to_vec()
    };
    for argument in &case.arguments {
        match argument {
            Argument::Value(bytes) => arguments.push(bytes.clone()),
            Argument::Pointer(data) => arguments.push(pointer(&data.to_bytes(), None)),
            Argument::Slice(data) => {
                arguments.push(pointer(&data.to_bytes(), None));
                arguments.push((data.len() as u64).to_le_bytes().to_vec());
            }
            Argument::Output(expected) => {
                arguments.push(pointer(&vec![0; expected.data.to_bytes().len()], Some(expected)));
            }
            Argument::Updated(data, expected) => arguments.push(pointer(&data.to_bytes(), Some(expected))),
        }
    }
    let launch = Launch {
        grid: case.grid,
        block: case.block,
        dynamic_shared_bytes: case.dynamic_smem_bytes,
        ..Launch::new(1, 1)
    };
    let parameters: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
    let end = machine.launch(case.kernel, &launch, &parameters).map(|_| ());
    let buffers = buffers
        .into_iter()
        .map(|(address, bytes, expected)| (machine.read(address, bytes), expected));
    let buffers = buffers.collect();
    Run {
        end,
        printed: machine.printed().to_owned(),
        buffers,
    }
}

fn check(case: &Case) -> Result<(), String> {
    let run = run(case);
    let printed = match case.outcome {
        Outcome::Success => "",
        Outcome::Prints(text) => text,
        // A kernel of the corpus fails by a failed assertion or a trap, not by a fault of the interpreter.
        Outcome::Failure => {
            return match run.end {
                Err(Fault {
                    kind: FaultKind::Assertion { .. } | FaultKind::Trap,
                    ..
                }) => Ok(()),
                other => Err(format!("ended with {other:?}")),
            };
        }
    };
    run.end.map_err(|fault| fault.to_string())?;
    if run.printed != printed {
        return Err(format!("printed {:?} instead of {printed:?}", run.printed));
    }
    for (number, (bytes, expected)) in run.buffers.iter().enumerate() {
        if let Some(Expected { data, tolerance }) = expected {
            data.check(bytes, *tolerance)
                .map_err(|problem| format!("buffer {number}: {problem}"))?;
        }
    }
    Ok(())
}

#[test]
fn every_case_ends_as_on_a_gpu() {
    let cases = all();
    let problem = |(index, case): (usize, &Case)| {
        let problem = check(case).err()?;
        Some(format!("{}_{index}: {problem}", case.kernel))
    };
    let problems: Vec<String> = cases.iter().enumerate().filter_map(problem).collect();
    let total = cases.len();
    assert!(total > 50, "only {total} cases");
    assert!(
        problems.is_empty(),
        "{} of {total} cases:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn what_differs_from_the_description_is_noticed() {
    let mut case = all()
        .into_iter()
        .find(|case| case.kernel == "capability")
        .expect("a kernel of the corpus");
    case.arguments = vec![Argument::out_u32([2])];
    assert_eq!(check(&case).unwrap_err(), "buffer 0: element 0 is 1 instead of 2");
    case.outcome = Outcome::Failure;
    assert_eq!(check(&case).unwrap_err(), "ended with Ok(())");
}
