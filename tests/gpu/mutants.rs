//! Mutants on the GPU, each in a process of its own: a fault takes the whole context with it.
//!
//! As tests run the kernels without a change and those with a harmless one, which must give the right result. The others are for
//! compute-sanitizer; `run.sh` starts this program with [`CHILD_VARIABLE`] under each of its tools.

use std::process::Command;

use ::mutants::Subject;
use ::mutants::table::{Device, Expect};
use cust::module::Module;

use crate::Outcome;
use crate::cases::{self, Problem};
use crate::trial::Trial;

/// The entry points of all mutants.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/mutants.ptx"));

/// Names the mutant that a process is to run, or is `list`: then it prints a line for each, its name and `runs` or `hangs`.
const CHILD_VARIABLE: &str = "TILEWRIGHT_MUTANT";

/// What a child ends with. The sanitizer's own findings have another code.
const RIGHT: i32 = 0;
const WRONG_RESULT: i32 = 41;
const LAUNCH_FAILED: i32 = 42;
const NOT_RUN: i32 = 43;

pub fn trials() -> Vec<Trial> {
    let harmless = ::mutants::all()
        .into_iter()
        .filter(|subject| matches!(subject.expect(), Expect::Clean | Expect::Slower));
    harmless
        .map(|subject| {
            Trial::test(format!("mutants::{}", subject.id), move || {
                gives_the_right_result(&subject)
            })
        })
        .collect()
}

/// Runs one mutant where this process was started for that; returns its exit code.
pub fn run_as_child() -> Option<i32> {
    let id = std::env::var(CHILD_VARIABLE).ok()?;
    if id == "list" {
        list();
        return Some(RIGHT);
    }
    let Some(subject) = ::mutants::find(&id) else {
        println!("unknown mutant {id}");
        return Some(NOT_RUN);
    };
    let (code, text) = match run(&subject) {
        Ok(()) => (RIGHT, "right".to_owned()),
        Err(Problem::Result(difference)) => (WRONG_RESULT, format!("wrong result: {difference}")),
        Err(Problem::Launch(error)) => (LAUNCH_FAILED, format!("launch failed: {error:?}")),
        Err(Problem::Other(error)) => (NOT_RUN, format!("not run: {error:?}")),
    };
    println!("{id}: {text}");
    Some(code)
}

fn list() {
    for subject in ::mutants::all() {
        match subject.device() {
            Device::Runs => println!("{} runs", subject.id),
            Device::Hangs => println!("{} hangs", subject.id),
            Device::Refused(_) => {}
        }
    }
}

fn run(subject: &Subject) -> Result<(), Problem> {
    // Declared first, dropped last: everything below lives in this context.
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(PTX, &[])?;
    cases::run(&module, subject.symbol, &subject.case())
}

fn gives_the_right_result(subject: &Subject) -> Outcome {
    let child = Command::new(std::env::current_exe()?)
        .env(CHILD_VARIABLE, subject.id)
        .output()?;
    if child.status.code() == Some(RIGHT) {
        return Ok(());
    }
    let text = [child.stdout, child.stderr].concat();
    Err(format!("{}: {}", child.status, String::from_utf8_lossy(&text)).into())
}
