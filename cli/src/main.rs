//! The command line of tilewright: `tilewright --help`.
//!
//! Results go to standard output, as a table or with `--json` as JSON; what went wrong goes to standard error as one
//! line that begins with `error:`. Exit codes: 0 done, 2 bad input, 3 nothing available to run on, 4 mismatch or fault,
//! 1 anything else.

mod bench;
mod choice;
mod demo;
mod destination;
mod device;
mod failure;
mod files;
mod inspect;
mod kernels;
mod matmul;
mod memory;
mod npy;
mod output;
mod plan;
mod ptx;
mod resources;
mod sim;
mod simulation;
mod verify;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tiled matrix multiplication on GPUs in pure Rust
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 done, 2 bad input, 3 nothing available to run on, 4 mismatch or fault, 1 anything else"
)]
struct Cli {
    /// Print JSON instead of tables
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Device(device::Command),
    Plan(plan::Command),
    Matmul(matmul::Command),
    Verify(verify::Command),
    Sim(sim::Command),
    Ptx(ptx::Command),
    Inspect(inspect::Command),
    Bench(bench::Command),
    Demo(demo::Command),
}

fn main() -> ExitCode {
    let result = resources::ensure_stack().and_then(|()| run());
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Where standard error is closed, the exit code still tells.
            let _ = writeln!(std::io::stderr(), "error: {}", failure.line());
            ExitCode::from(failure.exit_code)
        }
    }
}

/// Reads the arguments and runs the command.
fn run() -> failure::Result<()> {
    let Cli { json, command } = Cli::parse();
    let computing = |run: &dyn Fn() -> failure::Result<()>| resources::settle().and_then(|()| run());
    match &command {
        Command::Device(command) => device::run(command, json),
        Command::Plan(command) => plan::run(command, json),
        Command::Matmul(command) => computing(&|| matmul::run(command, json)),
        Command::Verify(command) => computing(&|| verify::run(command, json)),
        Command::Sim(command) => computing(&|| sim::run(command, json)),
        Command::Ptx(command) => ptx::run(command, json),
        Command::Inspect(command) => computing(&|| inspect::run(command, json)),
        // Starts its threads by itself.
        Command::Bench(command) => bench::run(command, json),
        Command::Demo(command) => computing(&|| demo::run(command, json)),
    }
}
