//! `cargo xtask book` runs this: `book ROOT OUT PLANNER [SOURCE]`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use tilewright_book::{Options, build};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<()> {
    let [root, out, planner, source @ ..] = arguments else {
        bail!("the arguments are ROOT OUT PLANNER [SOURCE]");
    };
    let planner = std::fs::read_to_string(planner).with_context(|| format!("cannot read {planner}"))?;
    build(&Options {
        root: Path::new(root),
        out: Path::new(out),
        source: source.first().map(String::as_str),
        planner: &planner,
    })
}
