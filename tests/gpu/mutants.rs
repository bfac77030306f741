//! Mutants on the GPU, each in a process of its own: a fault takes the whole context with it.
//!
//! As tests run the kernels without a change and those with a harmless one, which must give the right result. The
//! others are for compute-sanitizer; `run.sh` starts this program with [`CHILD_VARIABLE`] under each of its tools.

use std::process::Command;

use ::mutants::Subject;
use ::mutants::table::{self, Expect, Module};
use cust::CudaFlags;
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaError;
use ptx_interpreter::Slices;

use crate::Outcome;
use crate::cases::{self, Problem};
use crate::trial::Trial;

/// The entry points of all mutants but those that multiply by `wgmma`; empty without the feature `mutants-ptx`.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/mutants.ptx"));

/// The entry points of these.
const WGMMA_PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/mutants_wgmma.ptx"));

/// Names the mutant that a process is to run, or is `list`: then it prints a line for each that the device can have,
/// its name and `runs` or `hangs`.
const CHILD_VARIABLE: &str = "TILEWRIGHT_MUTANT";

/// What a child ends with. The sanitizer's own findings have another code.
const RIGHT: i32 = 0;
const WRONG_RESULT: i32 = 41;
const LAUNCH_FAILED: i32 = 42;
const NOT_RUN: i32 = 43;

/// `capability`: that of the device.
pub fn trials(capability: (u32, u32)) -> Vec<Trial> {
    let harmless = ::mutants::all()
        .into_iter()
        .filter(|subject| runs_on(subject, capability) && matches!(subject.expect(), Expect::Clean | Expect::Slower));
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
        return Some(match capability() {
            Ok(capability) => {
                list(capability);
                RIGHT
            }
            Err(error) => {
                eprintln!("{error}");
                NOT_RUN
            }
        });
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

/// The compute capability of the first device.
fn capability() -> Result<(u32, u32), CudaError> {
    cust::init(CudaFlags::empty())?;
    let device = Device::get_device(0)?;
    let attribute = |attribute| device.get_attribute(attribute).map(i32::unsigned_abs);
    Ok((
        attribute(DeviceAttribute::ComputeCapabilityMajor)?,
        attribute(DeviceAttribute::ComputeCapabilityMinor)?,
    ))
}

/// Whether a device of this capability has the instructions.
fn runs_on(subject: &Subject, capability: (u32, u32)) -> bool {
    match subject.kernel.module {
        Module::General => capability >= (8, 0),
        Module::Wgmma => capability == (9, 0),
        Module::Simulated => false,
    }
}

fn list(capability: (u32, u32)) {
    for subject in ::mutants::all().iter().filter(|subject| runs_on(subject, capability)) {
        match subject.device() {
            table::Device::Runs => println!("{} runs", subject.id),
            table::Device::Hangs => println!("{} hangs", subject.id),
            table::Device::Refused(_) => {}
        }
    }
}

fn run(subject: &Subject) -> Result<(), Problem> {
    // Declared first, dropped last: everything below lives in this context.
    let _context = cust::quick_init()?;
    let ptx = match subject.kernel.module {
        Module::General => PTX,
        Module::Wgmma => WGMMA_PTX,
        Module::Simulated => return Err(Problem::Other(format!("{} has no PTX", subject.id))),
    };
    // The driver would compile all of them for each process, and compute-sanitizer would look at all of them.
    let slices = Slices::of(ptx).map_err(|error| Problem::Other(error.to_string()))?;
    let slice = slices.kernel(subject.symbol);
    let slice = slice.ok_or_else(|| Problem::Other(format!("no entry point {}", subject.symbol)))?;
    let module = cust::module::Module::from_ptx(slice, &[])?;
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
