//! The corpus of `cuda_std` kernels: each launch and what it must leave.
//!
//! Each runs in a process of its own: what a kernel prints goes to that process's output, and a launch that fails takes
//! the whole context with it.

use std::ffi::c_void;
use std::process::Command;

use cuda_std_corpus::cases::{Argument, Case, Data, Expected, Outcome as Ending, all};
use cust::context::{CurrentContext, ResourceLimit};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};

use crate::Outcome;
use crate::trial::Trial;

const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/corpus.ptx"));

/// Names the case that a child process is to run, by its index.
const CHILD_VARIABLE: &str = "TILEWRIGHT_CORPUS_CASE";

/// A child whose launch failed ends with this; a child that found a wrong result with 1.
const LAUNCH_FAILED: i32 = 42;

pub fn trials() -> Vec<Trial> {
    all()
        .into_iter()
        .enumerate()
        .map(|(index, case)| {
            let name = format!("corpus::{}_{index}", case.kernel);
            Trial::test(name, move || ends_as_described(index, &case.outcome))
        })
        .collect()
}

/// Runs one case where this process was started for that; returns its exit code.
pub fn run_as_child() -> Option<i32> {
    let index: usize = std::env::var(CHILD_VARIABLE).ok()?.parse().ok()?;
    Some(match run(&all()[index]) {
        Ok(()) => 0,
        Err(Problem::Launch(problem)) => {
            eprintln!("{problem}");
            LAUNCH_FAILED
        }
        Err(Problem::Other(problem)) => {
            eprintln!("{problem}");
            1
        }
    })
}

fn ends_as_described(index: usize, ending: &Ending) -> Outcome {
    let child = Command::new(std::env::current_exe()?)
        .env(CHILD_VARIABLE, index.to_string())
        .output()?;
    let printed = String::from_utf8_lossy(&child.stdout);
    let (code, text) = match ending {
        Ending::Success => (0, ""),
        Ending::Prints(text) => (0, *text),
        Ending::Failure => (LAUNCH_FAILED, ""),
    };
    if child.status.code() != Some(code) {
        return Err(format!(
            "{} instead of {code}: {}",
            child.status,
            String::from_utf8_lossy(&child.stderr)
        )
        .into());
    }
    // What a failing kernel printed before is not described.
    if code == 0 && printed != text {
        return Err(format!("printed {printed:?} instead of {text:?}").into());
    }
    Ok(())
}

/// Why a case did not end as it should.
enum Problem {
    /// The launch failed on the device.
    Launch(String),
    /// Anything else.
    Other(String),
}

impl From<cust::error::CudaError> for Problem {
    fn from(error: cust::error::CudaError) -> Self {
        Problem::Other(format!("{error:?}"))
    }
}

/// One word-aligned argument: values are copied here, since a list of bytes has no alignment.
type Words = Vec<u64>;

fn words(bytes: &[u8]) -> Words {
    let padded = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    });
    padded.collect()
}

fn run(case: &Case) -> Result<(), Problem> {
    // Declared first, dropped last: everything below lives in this context.
    let _context = cust::quick_init()?;
    if case.stack_bytes > 0 {
        CurrentContext::set_resource_limit(ResourceLimit::StackSize, case.stack_bytes as usize)?;
    }
    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let function = module.get_function(case.kernel)?;

    let mut buffers: Vec<(DeviceBuffer<u8>, Option<Expected>)> = Vec::new();
    let mut arguments: Vec<Words> = Vec::new();
    let mut pointer = |data: &[u8], expected: Option<Expected>| -> Result<Words, Problem> {
        let buffer = DeviceBuffer::from_slice(data)?;
        let address = buffer.as_device_ptr().as_raw();
        buffers.push((buffer, expected));
        Ok(vec![address])
    };
    for argument in &case.arguments {
        match argument {
            Argument::Value(bytes) => arguments.push(words(bytes)),
            Argument::Pointer(data) => arguments.push(pointer(&data.to_bytes(), None)?),
            Argument::Slice(data) => {
                arguments.push(pointer(&data.to_bytes(), None)?);
                arguments.push(vec![data.len() as u64]);
            }
            Argument::Output(expected) => {
                arguments.push(pointer(&zeros(&expected.data), Some(expected.clone()))?);
            }
            Argument::Updated(data, expected) => arguments.push(pointer(&data.to_bytes(), Some(expected.clone()))?),
        }
    }
    let addresses: Vec<*mut c_void> = arguments.iter().map(|words| words.as_ptr().cast_mut().cast()).collect();
    let ([gx, gy, gz], [bx, by, bz]) = (case.grid, case.block);
    // SAFETY: the case says what the kernel takes; the buffers outlive the synchronisation below.
    unsafe {
        stream.launch(
            &function,
            (gx, gy, gz),
            (bx, by, bz),
            case.dynamic_smem_bytes,
            &addresses,
        )
    }
    .and_then(|()| stream.synchronize())
    .map_err(|error| Problem::Launch(format!("{error:?}")))?;

    for (index, (buffer, expected)) in buffers.iter().enumerate() {
        let Some(expected) = expected else { continue };
        let mut bytes = vec![0; buffer.len()];
        buffer.copy_to(&mut bytes)?;
        expected
            .data
            .check(&bytes, expected.tolerance)
            .map_err(|problem| Problem::Other(format!("buffer {index}: {problem}")))?;
    }
    Ok(())
}

fn zeros(data: &Data) -> Vec<u8> {
    vec![0; data.to_bytes().len()]
}
