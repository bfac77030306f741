//! Judges exercises: `cargo xtask exercise 3`, `3.1`, with `--hint` or `--solution`; without a number it lists them.

use std::process::ExitCode;

use exercises::course::{EXERCISES, Version, judged, named};

/// A wrong result or a fault; the same number as that of `tilewright`.
const WRONG: u8 = 4;
/// A wrong command line.
const USAGE: u8 = 2;

/// What is asked for.
#[derive(Default)]
struct Options {
    hint: bool,
    solution: bool,
    names: Vec<String>,
}

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(WRONG),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(USAGE)
        }
    }
}

/// Whether everything that was judged is right.
fn run(arguments: impl Iterator<Item = String>) -> Result<bool, String> {
    let mut options = Options::default();
    for argument in arguments {
        match argument.as_str() {
            "--hint" => options.hint = true,
            "--solution" => options.solution = true,
            option if option.starts_with('-') => {
                return Err(format!(
                    "there is no option `{option}`: --hint and --solution are the two"
                ));
            }
            _ => options.names.push(argument),
        }
    }
    if options.names.is_empty() {
        list();
        return Ok(true);
    }
    let mut chosen = Vec::new();
    for name in &options.names {
        chosen.extend(named(name)?);
    }
    let version = match options.solution {
        true => Version::Solution,
        false => Version::Yours,
    };
    let mut right = true;
    for (at, exercise) in chosen.into_iter().enumerate() {
        if at > 0 {
            println!();
        }
        let (text, is_right) = judged(exercise, version, options.hint);
        print!("{text}");
        right &= is_right;
    }
    Ok(right)
}

/// All exercises by chapter.
fn list() {
    let mut chapter = 0;
    for exercise in EXERCISES {
        if exercise.chapter != chapter {
            chapter = exercise.chapter;
            println!("chapter {chapter}");
        }
        println!("  {:<5} {}", exercise.name(), exercise.title);
    }
    println!("\ncargo xtask exercise 3.1 judges one, cargo xtask exercise 3 those of a chapter; --hint helps.");
}
