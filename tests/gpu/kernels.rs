//! Every entry point: results over the shape table, and resources.

use libtest_mimic::Failed;
use tilewright::launch::Gpu;
use tilewright_contract::Kernel;
use tilewright_harness::verify::{self, Case};

use crate::Outcome;
use crate::trial::Trial;

/// Whether only small shapes are asked for (`TILEWRIGHT_SHAPES=small`).
pub fn small() -> bool {
    std::env::var("TILEWRIGHT_SHAPES").is_ok_and(|shapes| shapes == "small")
}

/// The cases that are run where only small shapes are, for tools that take very long: an edge of every kind, and more
/// steps along K than a kernel has stages, so that each is used again; and a batch.
const SMALL: [&str; 3] = ["above one tile", "deep", "batch, one B"];

pub fn trials(kernels: &[&'static Kernel]) -> Vec<Trial> {
    kernels
        .iter()
        .flat_map(|&kernel| {
            [
                Trial::test(format!("kernels::{}", kernel.symbol), move || {
                    agrees_with_the_reference(kernel)
                }),
                Trial::test(format!("usage::{}", kernel.symbol), move || {
                    uses_what_the_contract_says(kernel)
                }),
            ]
        })
        .collect()
}

fn agrees_with_the_reference(kernel: &'static Kernel) -> Outcome {
    let gpu = Gpu::open(0)?;
    let small = small();
    let wanted = |case: &Case| !small || SMALL.contains(&case.name);
    let results = verify::run(&gpu, |other| other.symbol == kernel.symbol, wanted, |_| {});
    if results.is_empty() {
        return Err(Failed::from("no case was run"));
    }
    let problems: Vec<String> = results
        .iter()
        .filter_map(|r| {
            Some(format!(
                "{} tile {:?}, {} {}: {}",
                r.kernel,
                r.tile,
                r.case,
                r.shape,
                r.problem.problem()?
            ))
        })
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n").into())
    }
}

fn uses_what_the_contract_says(kernel: &'static Kernel) -> Outcome {
    let gpu = Gpu::open(0)?;
    let usage = gpu.usage(kernel)?;
    if usage.static_smem_bytes != kernel.static_bytes().get() {
        return Err(format!(
            "{} static bytes, the contract says {}",
            usage.static_smem_bytes,
            kernel.static_bytes()
        )
        .into());
    }
    if usage.local_bytes != 0 {
        return Err(format!("{} bytes of local memory a thread", usage.local_bytes).into());
    }
    for kernel in kernel.with_every_tile() {
        let threads = kernel.threads();
        if threads > usage.max_threads_per_block {
            return Err(format!(
                "{} needs {threads} threads, {} registers allow {}",
                kernel.tile_name(),
                usage.registers,
                usage.max_threads_per_block
            )
            .into());
        }
    }
    Ok(())
}
