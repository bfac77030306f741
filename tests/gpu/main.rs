//! Everything that needs a GPU. Without one, each test is reported as ignored, with the reason, and counts as neither
//! passed nor failed. A fault of one test leaves the others alone (`trial`), and what a test says of a kernel is
//! written with the digest of its PTX (`rows`).
//!
//! - `kernels`: every entry point over the shape table, against the reference; those of FP8 over their own cases
//! - `usage`: what the driver says of every entry point equals what the contract says
//! - `library`: `matmul`, large products, opening and closing
//! - `gemm`: layouts, split-K, alpha and beta
//! - `epilogue`: bias, activation, C of f32
//! - `batches`: strided batches, more products than a grid has rows
//! - `enqueue`: prepared products on the caller's buffers and streams, graphs, and what is refused
//! - `copies`: f32 whose operands are padded or transposed
//! - `odd`: f16 and bf16 whose rows begin at no multiples of 16 bytes
//! - `parts`: f32 that is split into parts
//! - `random`: a thousand products of random shapes, f16 and bf16
//! - `spans`: matrices that span more than 4 GiB
//! - `corpus`: kernels over the whole surface of `cuda_std`
//! - `differential`: functions that host and GPU must compute alike, from the bundle
//! - `mutants`: the kernels that the simulator's mutants are made from, and their harmless kernels
//! - `occupancy`: the planner's occupancy and limits against the driver's
//! - `spilling`: the kernels of `examples/smem-spilling`: results equal to the bit, and the driver's numbers
//! - `counted`: the launches whose memory accesses are compared with the simulator's count

mod batches;
mod block_scaled;
mod cases;
mod corpus;
mod counted;
mod differential;
mod enqueue;
mod epilogue;
mod f32_copies;
mod fp8;
mod fp8_groups;
mod fp8_quantize;
mod gemm;
mod groups;
mod kernels;
mod library;
mod mutants;
mod occupancy;
mod odd;
mod parts;
#[path = "../support/quantize.rs"]
mod quantize;
mod random;
mod rows;
mod spans;
mod spilling;
mod trial;
mod wgmma;

use cust::device::Device;
use libtest_mimic::{Arguments, Failed};
use tilewright::launch::Gpu;
use tilewright::{Error, KERNELS, Kernel};
use trial::{Trial, Workers};

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
    if let Some(code) =
        trial::run_as_worker(|| all(Gpu::open(0).map_or((9, 0), |gpu| gpu.profile().compute_capability)))
    {
        std::process::exit(code);
    }
    let (missing, capability, device, level, memory_bytes) = match Gpu::open(0) {
        Ok(gpu) => {
            let profile = gpu.profile();
            let memory_bytes = profile.installed.as_ref().map_or(0, |installed| installed.memory_bytes);
            let (name, level) = (profile.name.clone(), gpu.level().arch);
            (None, profile.compute_capability, name, level, memory_bytes)
        }
        Err(Error::Unavailable(reason)) => (Some(reason), (9, 0), String::new(), "", 0),
        Err(error) => {
            eprintln!("the GPU cannot be used: {error}");
            std::process::exit(1);
        }
    };
    let workers = Workers::on(&gpus(&device), memory_bytes);
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(if trial::in_process() { 1 } else { workers.count() });
    let mut tests = trial::in_workers(all(capability), workers, rows::writer(device, level));
    let needs_mutants = |test: &libtest_mimic::Trial| MADE_OF_MUTANTS.iter().any(|of| test.name().starts_with(of));
    if let Some(reason) = &missing {
        tests = tests.into_iter().map(|test| test.with_ignored_flag(true)).collect();
        // `--ignored` would run them without a GPU: they then fail, which is right.
        println!("GPU tests skipped: {} ({reason})", tests.len());
    } else if mutants::PTX.is_empty() {
        let skipped = tests.iter().filter(|test| needs_mutants(test)).count();
        tests = tests
            .into_iter()
            .map(|test| {
                let ignored = needs_mutants(&test);
                test.with_ignored_flag(ignored)
            })
            .collect();
        println!("mutants' tests skipped: {skipped} (built without `--features mutants-ptx`)");
    }
    libtest_mimic::run(&arguments, tests).exit();
}

/// The GPUs of a name, as `CUDA_VISIBLE_DEVICES` names them; the first where there is none.
fn gpus(name: &str) -> Vec<String> {
    let count = Device::num_devices().unwrap_or(0);
    let visible: Vec<String> = match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(list) => list.split(',').map(str::to_owned).collect(),
        Err(_) => (0..count.max(1)).map(|number| number.to_string()).collect(),
    };
    let is_alike = |number: &u32| {
        let device = Device::get_device(*number);
        *number == 0 || device.and_then(Device::name).is_ok_and(|of| of == name)
    };
    let numbered = (0..).zip(visible);
    numbered
        .filter(|(number, _)| is_alike(number))
        .map(|(_, gpu)| gpu)
        .collect()
}

/// What the names of tests begin with that launch kernels of the mutants' PTX.
const MADE_OF_MUTANTS: [&str; 2] = ["mutants::", "counted::"];

/// Every test that a device of this compute capability runs. Without one it is 9.0, which runs all.
fn all(capability: (u32, u32)) -> Vec<Trial> {
    let runs = |kernel: &&Kernel| kernel.target.runs_on(capability);
    let kernels: Vec<&'static Kernel> = KERNELS.iter().filter(runs).collect();
    let mut trials: Vec<Trial> = kernels::trials(&kernels);
    trials.extend(library::trials());
    trials.extend(gemm::trials());
    trials.extend(epilogue::trials(&kernels));
    trials.extend(batches::trials());
    trials.extend(groups::trials());
    trials.extend(enqueue::trials());
    trials.extend(f32_copies::trials(capability));
    trials.extend(block_scaled::trials(capability));
    trials.extend(fp8::trials(capability));
    trials.extend(fp8_quantize::trials(capability));
    trials.extend(odd::trials());
    trials.extend(parts::trials(capability));
    trials.extend(random::trials());
    trials.extend(spans::trials());
    trials.extend(corpus::trials());
    trials.extend(differential::trials());
    trials.extend(mutants::trials(capability));
    trials.extend(counted::trials());
    trials.extend(occupancy::trials(&kernels));
    trials.extend(spilling::trials());
    trials.extend(wgmma::trials(runs));
    // Some of them by their whole names, where one filter cannot say which.
    if let Ok(names) = std::env::var("TILEWRIGHT_TESTS") {
        trials.retain(|trial| names.split_whitespace().any(|name| name == trial.name()));
    }
    trials
}
