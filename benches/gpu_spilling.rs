//! The program of `examples/smem-spilling` with the digests of the PTX that it runs, by which its results are filed.

use std::process::ExitCode;

use tilewright::ptx;

fn main() -> ExitCode {
    smem_spilling::cli::run(&ptx::digests(smem_spilling::PTX))
}
