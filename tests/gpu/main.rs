//! Everything that needs a GPU. Without one, each test is reported as ignored, with the reason, and counts as neither passed
//! nor failed.
//!
//! - `kernels`: every entry point over the shape table, against the reference
//! - `usage`: what the driver says of every entry point equals what the contract says
//! - `library`: `matmul`, large products, opening and closing
//! - `gemm`: layouts, slices of K, alpha and beta
//! - `finish`: bias, activation, C of f32
//! - `odd`: f16 and bf16 whose rows begin at no multiples of 16 bytes
//! - `random`: a thousand products of random shapes, f16 and bf16
//! - `spans`: matrices that span more than 4 GiB
//! - `corpus`: kernels over the whole surface of `cuda_std`
//! - `differential`: functions that host and GPU must compute alike, from the bundle
//! - `mutants`: the kernels that the simulator's mutants are made from, and their harmless variants
//! - `occupancy`: the planner's occupancy and limits against the driver's
//! - `spilling`: the twins that spill registers: results equal to the bit, and the driver's numbers
//! - `counted`: the launches whose memory accesses are compared with the simulator's count

mod cases;
mod corpus;
mod counted;
mod differential;
mod finish;
mod gemm;
mod kernels;
mod library;
mod mutants;
mod occupancy;
mod odd;
mod random;
mod spans;
mod spilling;
mod wgmma;

use libtest_mimic::{Arguments, Failed, Trial};
use tilewright::launch::Gpu;
use tilewright::{Error, VARIANTS, Variant};

/// What a test ends with: any error is a failure.
type Outcome = Result<(), Failed>;

fn main() {
    let child = corpus::run_as_child()
        .or_else(differential::run_as_child)
        .or_else(mutants::run_as_child)
        .or_else(counted::run_as_child);
    if let Some(code) = child {
        std::process::exit(code);
    }
    let mut arguments = Arguments::from_args();
    // One context at a time: tests measure nothing, but they share one device.
    arguments.test_threads = Some(1);
    let (missing, capability) = match Gpu::open(0) {
        Ok(gpu) => (None, gpu.profile().compute_capability),
        Err(Error::Unavailable(reason)) => (Some(reason), (9, 0)),
        Err(error) => {
            eprintln!("the GPU cannot be used: {error}");
            std::process::exit(1);
        }
    };
    // Those whose instructions the device has; without one, all, which a device of 9.0 runs.
    let runs = |variant: &&Variant| variant.rung.runs_on(capability);
    let variants: Vec<&'static Variant> = VARIANTS.iter().filter(runs).collect();
    let mut trials: Vec<Trial> = kernels::trials(&variants);
    trials.extend(library::trials());
    trials.extend(gemm::trials());
    trials.extend(finish::trials());
    trials.extend(odd::trials());
    trials.extend(random::trials());
    trials.extend(spans::trials());
    trials.extend(corpus::trials());
    trials.extend(differential::trials());
    trials.extend(mutants::trials());
    trials.extend(counted::trials());
    trials.extend(occupancy::trials(&variants));
    trials.extend(spilling::trials());
    trials.extend(wgmma::trials(runs));
    if let Some(reason) = &missing {
        trials = trials.into_iter().map(|trial| trial.with_ignored_flag(true)).collect();
        // `--ignored` would run them without a GPU: they then fail, which is right.
        println!("GPU tests skipped: {} ({reason})", trials.len());
    }
    libtest_mimic::run(&arguments, trials).exit();
}
