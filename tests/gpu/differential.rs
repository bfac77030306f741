//! Functions that the host and the GPU must compute alike, bit for bit: the subjects of
//! `tests/subjects/device_rust` and programs of `tests/subjects/fuzz`, in folders that the bundle brings
//! (`$TILEWRIGHT_DIFFERENTIAL`).
//!
//! Each folder is a process of its own, because a launch that fails takes its context with it. A failed kernel is
//! reported, and the next one runs in a new context.

use std::ffi::c_void;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cust::context::{CurrentContext, ResourceLimit};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};

use crate::Outcome;
use crate::trial::Trial;

/// The folder of the folders.
const FOLDERS_VARIABLE: &str = "TILEWRIGHT_DIFFERENTIAL";
/// Names the folder that a child process is to run, and the kernel that it begins with.
const CHILD_VARIABLE: &str = "TILEWRIGHT_DIFFERENTIAL_CHILD";
/// A child whose launch failed ends with this, after a line with the kernel's number.
const LAUNCH_FAILED: i32 = 42;
/// What an output word is before the kernel writes it: that of host runs too, in `tests/subjects`.
const UNWRITTEN: u64 = 0xdead_beef_dead_beef;
/// For the allocations of all threads (bytes).
const HEAP_BYTES: usize = 256 << 20;

/// One kernel of a folder, and where its words begin.
struct Kernel {
    name: String,
    cases: usize,
    input: std::ops::Range<usize>,
    output: std::ops::Range<usize>,
    output_words: usize,
    stack_bytes: usize,
}

fn kernels(folder: &Path) -> Result<Vec<Kernel>, Box<dyn std::error::Error>> {
    let (mut input, mut output) = (0, 0);
    let mut kernels = Vec::new();
    for line in fs::read_to_string(folder.join("kernels.txt"))?.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, numbers @ ..] = words.as_slice() else {
            continue;
        };
        let numbers: Vec<usize> = numbers.iter().map(|number| number.parse()).collect::<Result<_, _>>()?;
        let [cases, input_words, output_words, stack_bytes] = numbers[..] else {
            return Err(format!("`{line}` is no line of kernels.txt").into());
        };
        kernels.push(Kernel {
            name: (*name).to_owned(),
            cases,
            input: input..input + cases * input_words,
            output: output..output + cases * output_words,
            output_words,
            stack_bytes,
        });
        (input, output) = (input + cases * input_words, output + cases * output_words);
    }
    Ok(kernels)
}

fn words(file: &Path) -> Result<Vec<u64>, std::io::Error> {
    let bytes = fs::read(file)?;
    Ok(bytes
        .as_chunks()
        .0
        .iter()
        .map(|&word| u64::from_le_bytes(word))
        .collect())
}

pub fn trials() -> Vec<Trial> {
    let Some(folders) = std::env::var_os(FOLDERS_VARIABLE) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = fs::read_dir(&folders)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    folders.sort();
    folders
        .into_iter()
        .map(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Trial::test(format!("differential::{name}"), move || all_agree(&folder))
        })
        .collect()
}

/// Runs the kernels of a folder, in as many processes as launches fail.
fn all_agree(folder: &Path) -> Outcome {
    let names: Vec<String> = kernels(folder)?.into_iter().map(|kernel| kernel.name).collect();
    let mut problems = Vec::new();
    let mut first = 0;
    while first < names.len() {
        let child = Command::new(std::env::current_exe()?)
            .env(CHILD_VARIABLE, format!("{first} {}", folder.display()))
            .output()?;
        let said = String::from_utf8_lossy(&child.stdout);
        problems.extend(said.lines().filter(|line| line.contains(": ")).map(str::to_owned));
        match child.status.code() {
            Some(0) => break,
            Some(LAUNCH_FAILED) => {
                let failed = said.lines().last().and_then(|line| line.parse::<usize>().ok());
                first = failed.ok_or("the child did not say which launch failed")? + 1;
            }
            _ => return Err(format!("{}: {}", child.status, String::from_utf8_lossy(&child.stderr)).into()),
        }
    }
    println!(
        "{} kernels of {}, {} differ",
        names.len(),
        folder.display(),
        problems.len()
    );
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join("\n").into()),
    }
}

/// Runs one folder where this process was started for that; returns its exit code.
pub fn run_as_child() -> Option<i32> {
    let task = std::env::var(CHILD_VARIABLE).ok()?;
    let (first, folder) = task.split_once(' ')?;
    Some(match run(Path::new(folder), first.parse().ok()?) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    })
}

/// Runs the kernels from number `first` on and prints a line for each that differs.
fn run(folder: &Path, first: usize) -> Result<i32, Box<dyn std::error::Error>> {
    let (inputs, outputs) = (words(&folder.join("inputs.bin"))?, words(&folder.join("outputs.bin"))?);
    let _context = cust::quick_init()?;
    CurrentContext::set_resource_limit(ResourceLimit::MallocHeapSize, HEAP_BYTES)?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    for (number, kernel) in kernels(folder)?.into_iter().enumerate().skip(first) {
        // `ptxas` compiled each kernel to a file, with all cores; the driver would compile the module with one.
        let machine_code = folder.join(format!("{}.cubin", kernel.name));
        if !machine_code.is_file() {
            println!("{}: not run: ptxas did not compile it", kernel.name);
            continue;
        }
        let module = Module::from_cubin(fs::read(machine_code)?, &[])?;
        let function = module.get_function(&kernel.name)?;
        let stack = CurrentContext::get_resource_limit(ResourceLimit::StackSize)?;
        if stack < kernel.stack_bytes {
            CurrentContext::set_resource_limit(ResourceLimit::StackSize, kernel.stack_bytes)?;
        }
        let input = DeviceBuffer::from_slice(&inputs[kernel.input.clone()])?;
        let mut found = vec![UNWRITTEN; kernel.output.len()];
        let output = DeviceBuffer::from_slice(&found)?;
        let mut arguments = [
            input.as_device_ptr().as_raw(),
            output.as_device_ptr().as_raw(),
            kernel.cases as u64,
        ];
        let pointers: Vec<*mut c_void> = arguments
            .iter_mut()
            .map(|word| std::ptr::from_mut(word).cast())
            .collect();
        // SAFETY: the kernel takes two addresses and a u32, which is the low half of its word; each of its threads
        // below the number of cases uses the words of its case.
        unsafe {
            stream.launch(&function, (1, 1, 1), (kernel.cases as u32, 1, 1), 0, &pointers)?;
        }
        if let Err(error) = stream.synchronize() {
            println!("{}: {error}\n{number}", kernel.name);
            return Ok(LAUNCH_FAILED);
        }
        output.copy_to(&mut found)?;
        let expected = &outputs[kernel.output.clone()];
        if let Some(at) = (0..found.len()).find(|&at| found[at] != expected[at]) {
            let (case, word) = (at / kernel.output_words, at % kernel.output_words);
            println!(
                "{}: case {case}, word {word}: {:#x} instead of {:#x}",
                kernel.name, found[at], expected[at]
            );
        }
    }
    Ok(0)
}
