//! Every subject on the PTX interpreter against the host, at each level of optimization of the device build.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cuda_builder::{CudaBuilder, NvvmArch};
use device_rust::{Subject, UNWRITTEN, all, inputs};
use ptx_interpreter::{Launch, Machine, Module, SharedWindow, Slices};

/// The seed of the inputs.
const SEED: u64 = 1;

/// The PTX of the optimized crate.
static OPTIMIZED: LazyLock<String> = LazyLock::new(|| compile("optimized", |builder| builder));

/// The PTX of a build for debugging.
static DEBUG: LazyLock<String> = LazyLock::new(|| compile("debug", |builder| builder.release(false)));

/// Compiles the crate to PTX.
fn compile(name: &str, options: impl Fn(CudaBuilder) -> CudaBuilder) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder");
    let ptx: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("device_rust_{name}.ptx"));
    let builder = CudaBuilder::new(env!("CARGO_MANIFEST_DIR"))
        .arch(NvvmArch::Compute75)
        .fma_contraction(false)
        .build_args(&["--target-dir", &target.to_string_lossy()])
        .copy_to(&ptx);
    options(builder).build().unwrap_or_else(|error| panic!("{error}"));
    std::fs::read_to_string(&ptx).unwrap()
}

/// Reads PTX, to be run as on a GPU with this window.
fn read(text: &str, window: SharedWindow) -> Module {
    Module::parse_for(text, window).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the first `cases` cases of a subject on host and interpreter; the error names the first word that differs.
fn compare(module: &Module, subject: &Subject, cases: usize) -> Result<(), String> {
    let cases = cases.min(subject.cases);
    let (per_input, per_output) = (subject.input_words, subject.output_words);
    let input = &inputs(subject, SEED)[..cases * per_input];
    let mut expected = vec![UNWRITTEN; cases * per_output];
    for (input, output) in input.chunks(per_input).zip(expected.chunks_mut(per_output)) {
        (subject.run)(input, output);
    }
    let bytes = |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let mut machine = Machine::new(module).map_err(|error| error.to_string())?;
    let (at_input, at_output) = (machine.alloc(input.len() * 8), machine.alloc(expected.len() * 8));
    machine.write(at_input, &bytes(input));
    machine.write(at_output, &bytes(&vec![UNWRITTEN; expected.len()]));
    machine.set_heap_bytes(64 << 20);
    let launch = Launch {
        local_bytes: 1 << 20,
        max_steps: 1 << 36,
        ..Launch::new(1, cases as u32)
    };
    let parameters = [
        bytes(&[at_input]),
        bytes(&[at_output]),
        (cases as u32).to_le_bytes().to_vec(),
    ];
    let parameters: Vec<&[u8]> = parameters.iter().map(Vec::as_slice).collect();
    machine
        .launch(subject.name, &launch, &parameters)
        .map_err(|fault| fault.to_string())?;
    let found = machine.read(at_output, expected.len() * 8);
    let found = found.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    match found
        .zip(&expected)
        .enumerate()
        .find(|(_, (found, expected))| found != *expected)
    {
        None => Ok(()),
        Some((at, (found, expected))) => {
            let (case, word) = (at / per_output, at % per_output);
            Err(format!("case {case}, word {word}: {found:#x} instead of {expected:#x}"))
        }
    }
}

/// Runs the subjects, a few threads at a time, and names all that differ.
#[track_caller]
fn compare_all(module: &Module, subjects: &[Subject], cases: usize) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut problems = Vec::new();
        while let Some(subject) = subjects.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(problem) = compare(module, subject, cases) {
                problems.push(format!("{}::{}: {problem}", subject.module, subject.name));
            }
        }
        problems
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let problems: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(
        problems.is_empty(),
        "{} of {} subjects:\n{}",
        problems.len(),
        subjects.len(),
        problems.join("\n")
    );
}

#[test]
fn optimized_code_computes_what_the_host_does() {
    let module = read(&OPTIMIZED, SharedWindow::Sm75);
    let mut kernels: Vec<_> = module.kernels().into_iter().map(str::to_owned).collect();
    let mut names: Vec<_> = all().iter().map(|subject| subject.name.to_owned()).collect();
    kernels.sort();
    names.sort();
    assert_eq!(kernels, names, "each subject is a kernel");
    compare_all(&module, &all(), usize::MAX);
}

/// From `sm_90` on null goes through the window of shared memory in another way; the PTX for `sm_75` runs there too.
#[test]
fn optimized_code_keeps_null_in_the_window_of_sm_90() {
    let module = read(&OPTIMIZED, SharedWindow::Sm90);
    let windows = ["addresses", "niches", "options", "shared"].map(|name| format!("device_rust::{name}"));
    let subjects: Vec<Subject> = all()
        .into_iter()
        .filter(|subject| windows.iter().any(|module| module == subject.module))
        .collect();
    assert!(subjects.len() >= 45, "{} subjects", subjects.len());
    compare_all(&module, &subjects, usize::MAX);
}

/// Debug builds execute many times the instructions: fewer cases.
#[test]
fn debug_code_computes_what_the_host_does() {
    let module = read(&DEBUG, SharedWindow::Sm75);
    compare_all(&module, &all(), 4);
}

/// `ptxas` of CUDA 13.0 crashed on almost every subject for these architectures (`docs/compiler-faults.md`), and the
/// driver has the same compiler.
#[test]
fn debug_code_can_be_assembled_for_the_newest_architectures() {
    let ptxas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/cuda-tools/bin/ptxas");
    let slices = Slices::of(&DEBUG).unwrap_or_else(|error| panic!("{error}"));
    for (name, arch) in [
        ("back_by_condition", "sm_90"),
        ("atomics_global_u32", "sm_90"),
        ("option_compared", "sm_100"),
        ("enum_gaps", "sm_120"),
    ] {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.ptx"));
        std::fs::write(&file, slices.kernel(name).expect("a subject")).unwrap();
        let made = Command::new(&ptxas)
            .arg(format!("-arch={arch}"))
            .arg("-o")
            .arg(file.with_extension("cubin"))
            .arg(&file)
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask setup` fetches it", ptxas.display()));
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{name} for {arch}: {}, {said}", made.status);
    }
}
