//! The program of `examples/smem-spilling` with the digests of the PTX that it runs, by which its results are filed.

use std::process::ExitCode;

use tilewright_harness::digest;

fn main() -> ExitCode {
    smem_spilling::cli::run(&digest::digests(smem_spilling::PTX))
}
