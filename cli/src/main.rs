//! The command line of tilewright: `tilewright --help`.
//!
//! Results go to standard output, as a table or with `--json` as JSON. What went wrong goes to standard error as one
//! line that begins with `error:`, and with `--json` to standard output as an object. Exit codes: [`exit::Exit`].

mod barriers;
mod bench;
mod block_scaled;
mod choice;
mod demo;
mod destination;
mod device;
mod doctor;
mod exit;
mod failure;
mod files;
mod fp8;
mod guide;
mod inspect;
mod kernels;
mod lessons;
mod matmul;
mod memory;
mod npy;
mod output;
mod plan;
mod ptx;
mod resources;
mod scaled;
mod shapes;
mod shell;
mod sim;
mod simulation;
mod tune;
mod verify;
mod version;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tiled matrix multiplication on GPUs in pure Rust
#[derive(Parser)]
#[command(name = "tilewright", arg_required_else_help = true)]
#[command(version = version::SHORT.as_str(), long_version = version::LONG.as_str())]
#[command(after_help = exit::help())]
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
    BlockScaled(block_scaled::Command),
    Fp8(fp8::Command),
    Ptx(ptx::Command),
    Inspect(inspect::Command),
    Bench(bench::Command),
    Tune(tune::Command),
    Lessons(lessons::Command),
    Demo(demo::Command),
    Doctor(doctor::Command),
    Completions(shell::Completions),
    Man(shell::Man),
}

fn main() -> ExitCode {
    if let Err(failure) = resources::ensure_stack() {
        return failure.tell(asks_for_json());
    }
    match Cli::try_parse() {
        Err(error) => failure::tell_usage(&error, asks_for_json()),
        Ok(Cli { json, command }) => match run(command, json) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.tell(json),
        },
    }
}

/// Whether the arguments have `--json`, also where they cannot be read.
fn asks_for_json() -> bool {
    std::env::args_os()
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json")
}

/// Runs a command.
fn run(command: Command, json: bool) -> failure::Result<()> {
    let computing = |run: &dyn Fn() -> failure::Result<()>| resources::settle().and_then(|()| run());
    match &command {
        Command::Device(command) => device::run(command, json),
        Command::Plan(command) => plan::run(command, json),
        Command::Matmul(command) => computing(&|| matmul::run(command, json)),
        Command::Verify(command) => computing(&|| verify::run(command, json)),
        Command::Sim(command) => computing(&|| sim::run(command, json)),
        Command::BlockScaled(command) => computing(&|| block_scaled::run(command, json)),
        Command::Fp8(command) => computing(&|| fp8::run(command, json)),
        Command::Ptx(command) => ptx::run(command, json),
        Command::Inspect(command) => computing(&|| inspect::run(command, json)),
        // Starts its threads by itself.
        Command::Bench(command) => bench::run(command, json),
        Command::Tune(command) => tune::run(command, json),
        Command::Lessons(command) => computing(&|| lessons::run(command, json)),
        Command::Demo(command) => computing(&|| demo::run(command, json)),
        Command::Doctor(command) => computing(&|| doctor::run(command, json)),
        Command::Completions(command) => shell::completions(command),
        Command::Man(command) => shell::man(command),
    }
}
