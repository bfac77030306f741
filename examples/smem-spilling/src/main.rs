//! `cargo run --release`: see README.md.

use std::collections::BTreeMap;
use std::process::ExitCode;

fn main() -> ExitCode {
    smem_spilling::cli::run(&BTreeMap::new())
}
