//! The project's chores, one command each: `cargo xtask --help`.
//!
//! Every chore begins with the part of the set-up that it needs, so that each works on a fresh machine.

mod apt;
mod browser;
mod build;
mod bundle;
mod c_compiler;
mod device_toolchain;
mod ladder;
mod lint;
mod mutants;
mod ptx;
mod results;
mod sanitize;
mod test;
mod wasm_linker;
mod wavefronts;
mod wheel;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xshell::{Shell, cmd};

/// The project's chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Install what is missing: the device toolchain, ptxas, nvdisasm, cuda_occupancy.h, a C compiler, a browser, rustfmt and clippy.
    /// Repeating it changes nothing
    Setup,
    /// Build the program and run its demo: C = A · Aᵀ of handwritten digits, checked
    Demo {
        /// Arguments for `tilewright demo`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Run every test; with arguments, `cargo test --workspace ARGS`
    Test {
        /// Arguments for `cargo test`, such as a filter
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Build the kernels' PTX and say where it is, how large, and how long it took
    Ptx,
    /// Check format, clippy's lints and the documentation, warnings denied
    Lint,
    /// Run the simulator's tests under AddressSanitizer, ThreadSanitizer or Miri
    Sanitize {
        /// The tools
        #[arg(value_enum, default_values_t = [sanitize::Tool::Address, sanitize::Tool::Thread])]
        tools: Vec<sanitize::Tool>,
    },
    /// Collect in target/bundle what a GPU machine without Rust needs to test and measure
    Bundle,
    /// Copy the result files that a bundle's run.sh wrote into docs/results, and compare the simulator with them
    Results {
        /// The folder that run.sh wrote to
        dir: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<()> {
    let sh = Shell::new()?;
    sh.change_dir(root());
    match chore {
        Chore::Setup => {
            device_toolchain::ensure(&sh)?;
            wheel::ensure(&sh)?;
            c_compiler::ensure(&sh)?;
            browser::ensure(&sh);
            lint::ensure_tools(&sh)
        }
        Chore::Demo { args } => {
            device_toolchain::ensure(&sh)?;
            Ok(cmd!(
                sh,
                "cargo run --quiet --release --package tilewright --bin tilewright -- demo {args...}"
            )
            .run()?)
        }
        Chore::Test { args } => test::run(&sh, &args),
        Chore::Ptx => ptx::run(&sh),
        Chore::Lint => lint::run(&sh),
        Chore::Sanitize { tools } => sanitize::run(&sh, &tools),
        Chore::Bundle => bundle::run(&sh),
        Chore::Results { dir } => results::run(&sh, &dir),
    }
}

/// The repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the repository")
}
