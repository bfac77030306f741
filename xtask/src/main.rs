//! The project's chores, one command each: `cargo xtask --help`.
//!
//! Every chore begins with the part of the set-up that it needs, so that each works on a fresh machine.

mod apt;
mod browser;
mod build;
mod bundle;
mod c_compiler;
mod demo;
mod device_toolchain;
mod evidence;
mod guide;
mod lint;
mod mutants;
mod ptx;
mod results;
mod sanitize;
mod sizes;
mod test;
mod wasm_linker;
mod wavefronts;
mod wheel;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xshell::Shell;

/// The project's chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Install what is missing: the device toolchain, ptxas, nvdisasm, cuda_occupancy.h, a C compiler, a browser,
    /// rustfmt and clippy. Repeating it changes nothing
    Setup,
    /// Build the program and run its demo: C = A · Aᵀ of handwritten digits, checked
    Demo {
        /// Arguments for `tilewright demo`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Run the tests of kernels, planner, simulator and host; with arguments, `cargo test --workspace ARGS`
    Test {
        /// The compiler's tests too: cuda_builder, its passes, and Rust for the GPU in an interpreter
        #[arg(long)]
        all: bool,
        /// Arguments for `cargo test`, such as a filter
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Build the kernels' PTX and say where it is, how large, and how long it took
    Ptx,
    /// Check sizes, evidence, format, clippy's lints and the documentation, warnings denied
    Lint,
    /// Run the simulator's tests under AddressSanitizer, ThreadSanitizer or Miri
    Sanitize {
        /// The tools
        #[arg(value_enum, default_values_t = [sanitize::Tool::Address, sanitize::Tool::Thread])]
        tools: Vec<sanitize::Tool>,
    },
    /// Collect in target/bundle what a GPU machine without Rust needs to test and measure
    Bundle,
    /// File what a bundle's run.sh wrote under docs/results, compare the simulator with it, and write the pages that
    /// quote it
    Results {
        /// The folders that run.sh wrote to, or their results.tar; of several the newest last
        #[arg(required = true)]
        runs: Vec<PathBuf>,
    },
    /// Build the guide as a book in target/book, and check its links
    Book {
        /// Write first what its pages show of the tree: listings, outputs, tables and figures
        #[arg(long)]
        write: bool,
        /// The address of the repository's files, for a book that is published
        #[arg(long, value_name = "URL")]
        source: Option<String>,
    },
    /// Judge an exercise of the guide, 3.1, or those of a chapter, 3; without a number list them all
    Exercise {
        /// Numbers, and --hint or --solution
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Hold what README, guide and results page say of GPUs against the results and the kernels that ship
    Evidence {
        /// Write figures and tables, and mark what is of older kernels as stale
        #[arg(long)]
        write: bool,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<ExitCode> {
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
        Chore::Exercise { args } => return guide::exercise(&args),
        Chore::Book { write, source } => guide::book(&sh, write, source.as_deref()),
        Chore::Demo { args } => demo::run(&sh, &args),
        Chore::Test { all, args } => test::run(&sh, all, &args),
        Chore::Ptx => ptx::run(&sh),
        Chore::Lint => lint::run(&sh),
        Chore::Sanitize { tools } => sanitize::run(&sh, &tools),
        Chore::Bundle => bundle::run(&sh),
        Chore::Results { runs } => results::run(&sh, root(), &runs),
        Chore::Evidence { write } => evidence::run(root(), write),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the repository")
}
