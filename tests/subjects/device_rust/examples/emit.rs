//! Writes what a GPU needs to run every subject:
//! `cargo run --release --example emit -- FOLDER [CARGO ARGUMENTS OF THE DEVICE BUILD]`.
//!
//! The folder gets `optimized/` with every subject, and `debug/` with those that LLVM's faults have to do with
//! (`docs/compiler-faults.md`): `ptxas` takes minutes for debug code that formats or allocates. Each has a PTX file for
//! each kernel; `kernels.txt`, a line for each kernel with its name, cases, words of input and of output of a case, and
//! stack; and the words of all kernels in order, little-endian, in `inputs.bin` and `outputs.bin`.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};
use device_rust::{Subject, UNWRITTEN, all, inputs};
use ptx_interpreter::Slices;

/// Whether a subject runs as debug code too.
fn as_debug_code(subject: &Subject) -> bool {
    const MODULES: [&str; 6] = ["addresses", "atomics", "niches", "options", "shared", "sorting"];
    let module = subject.module.rsplit("::").next().unwrap_or_default();
    MODULES.contains(&module) || subject.name.ends_with("_remainder")
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: emit FOLDER [CARGO ARGUMENTS]")?);
    let arguments: Vec<String> = arguments.collect();
    // A debug build needs more stack, and is slower.
    for (name, release, cases, stack) in [("optimized", true, usize::MAX, 1), ("debug", false, 4, 4)] {
        let folder = folder.join(name);
        fs::create_dir_all(&folder)?;
        let ptx = CudaBuilder::new(env!("CARGO_MANIFEST_DIR"))
            .arch(NvvmArch::Compute75)
            .fma_contraction(false)
            .release(release)
            .build_args(&arguments)
            .build()?;
        let ptx = fs::read_to_string(ptx)?;
        let slices = Slices::of(&ptx)?;
        let (mut kernels, mut words_in, mut words_out) = (String::new(), Vec::new(), Vec::new());
        for subject in all().into_iter().filter(|subject| release || as_debug_code(subject)) {
            let cases = cases.min(subject.cases);
            let input = &inputs(&subject, 1)[..cases * subject.input_words];
            let mut output = vec![UNWRITTEN; cases * subject.output_words];
            for (input, output) in input
                .chunks(subject.input_words)
                .zip(output.chunks_mut(subject.output_words))
            {
                (subject.run)(input, output);
            }
            let stack_bytes = subject.stack_bytes * stack;
            kernels.push_str(&format!(
                "{} {cases} {} {} {stack_bytes}\n",
                subject.name, subject.input_words, subject.output_words
            ));
            let ptx = slices.kernel(subject.name).ok_or(subject.name)?;
            fs::write(folder.join(format!("{}.ptx", subject.name)), ptx)?;
            words_in.extend(input.iter().flat_map(|word| word.to_le_bytes()));
            words_out.extend(output.iter().flat_map(|word| word.to_le_bytes()));
        }
        fs::write(folder.join("kernels.txt"), kernels)?;
        fs::write(folder.join("inputs.bin"), words_in)?;
        fs::write(folder.join("outputs.bin"), words_out)?;
    }
    Ok(())
}
