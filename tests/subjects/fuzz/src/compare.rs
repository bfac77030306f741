//! Host against device: what differs.

use std::fmt;
use std::fs::{self, File};

use ptx_interpreter::{Launch, Machine, Module};

use crate::device::{self, Options};
use crate::error::{Error, io};
use crate::generator::{INPUTS, OUTPUTS, Program, UNWRITTEN};
use crate::host::{self, Reference};
use crate::inputs::CASES;

/// How a program fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Another value; the first one.
    Word {
        /// The number of the input case, which is the thread.
        case: usize,
        /// The number of the output word.
        word: usize,
        /// What the host computes.
        host: u64,
        /// What the device computes.
        device: u64,
    },
    /// The kernel does not come to its end.
    Fault(String),
    /// No PTX, or none that can be read.
    Build(String),
    /// It panics on the host: a fault of the generator.
    Panicked,
    /// It does not compile on the host: a fault of the generator.
    Refused(String),
}

impl Difference {
    /// Whether a smaller program that fails like `other` may stand for one that fails like this.
    pub fn resembles(&self, other: &Self) -> bool {
        use Difference::{Build, Fault, Word};
        match (self, other) {
            (Word { .. } | Fault(_), Word { .. } | Fault(_)) | (Build(_), Build(_)) => true,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word {
                case,
                word,
                host,
                device,
            } => write!(f, "case {case}, word {word}: host {host:#x}, device {device:#x}"),
            Self::Fault(fault) => write!(f, "fault: {fault}"),
            Self::Build(message) => write!(f, "device build: {message}"),
            Self::Panicked => write!(f, "panics on the host"),
            Self::Refused(message) => write!(f, "does not compile on the host: {message}"),
        }
    }
}

/// A program that fails, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The program.
    pub program: Program,
    /// The words of its inputs.
    pub inputs: Vec<u64>,
    /// How it fails.
    pub difference: Difference,
}

/// A module of PTX, and what each of its kernels must compute: plain data for whoever has a GPU.
///
/// Each kernel has three parameters: the address of its inputs, the address of its outputs, and the number of cases.
/// A launch has one block of [`CASES`] threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The PTX.
    pub ptx: String,
    /// Its kernels.
    pub kernels: Vec<Kernel>,
}

/// One kernel of a [`Compiled`] module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The name of the entry point.
    pub name: String,
    /// The input words of all cases.
    pub inputs: Vec<u64>,
    /// The output words of all cases that are right.
    pub outputs: Vec<u64>,
}

/// Compiles programs for host and device. A program that fails before a kernel can be run is among the findings.
///
/// `inputs` are those of each program.
///
/// # Errors
/// When the reference cannot be made.
pub fn prepare(
    programs: &[Program],
    inputs: &[Vec<u64>],
    options: &Options,
) -> Result<(Vec<Compiled>, Vec<Finding>), Error> {
    // Another process with the same folder waits.
    let folder = &options.folder;
    fs::create_dir_all(folder).map_err(io(folder))?;
    let lock = File::create(folder.join(".lock")).map_err(io(folder))?;
    lock.lock().map_err(io(folder))?;
    let references = host::run(programs, &inputs.concat(), &folder.join("host"))?;
    let mut findings = Vec::new();
    let mut kernels = Vec::new();
    let finding = |at: usize, difference| Finding {
        program: programs[at].clone(),
        inputs: inputs[at].clone(),
        difference,
    };
    for (at, reference) in references.into_iter().enumerate() {
        match reference {
            Reference::Outputs(outputs) => kernels.push((at, outputs)),
            Reference::Panicked => findings.push(finding(at, Difference::Panicked)),
            Reference::Refused(message) => findings.push(finding(at, Difference::Refused(message))),
        }
    }
    let chosen: Vec<&Program> = kernels.iter().map(|(at, _)| &programs[*at]).collect();
    let mut modules = Vec::new();
    let mut compiled = Vec::new();
    compile_apart(&chosen, options, &mut modules)?;
    for (names, result) in modules {
        let of_module: Vec<&(usize, Vec<u64>)> = kernels
            .iter()
            .filter(|(at, _)| names.contains(&programs[*at].name))
            .collect();
        match result {
            Ok(ptx) => compiled.push(Compiled {
                ptx,
                kernels: of_module
                    .iter()
                    .map(|(at, outputs)| Kernel {
                        name: programs[*at].name.clone(),
                        inputs: inputs[*at].clone(),
                        outputs: outputs.clone(),
                    })
                    .collect(),
            }),
            Err(message) => {
                findings.extend(
                    of_module
                        .iter()
                        .map(|(at, _)| finding(*at, Difference::Build(message.clone()))),
                );
            }
        }
    }
    Ok((compiled, findings))
}

/// The names of a module's programs, and its PTX or why there is none.
type Part = (Vec<String>, Result<String, String>);

/// Compiles programs together, and apart from each other where one of them makes the build fail.
fn compile_apart(programs: &[&Program], options: &Options, parts: &mut Vec<Part>) -> Result<(), Error> {
    if programs.is_empty() {
        return Ok(());
    }
    let owned: Vec<Program> = programs.iter().map(|&program| program.clone()).collect();
    let result = device::compile(&owned, options)?.and_then(|ptx| match Module::parse(&ptx) {
        Ok(_) => Ok(ptx),
        Err(error) => Err(format!("the interpreter refuses the PTX: {error}")),
    });
    match result {
        Err(message) if programs.len() > 1 => {
            // A crash of LLVM names the function; what else is among the programs is then compiled in one piece.
            let (named, others): (Vec<&Program>, Vec<&Program>) =
                programs.iter().partition(|program| message.contains(&program.name));
            let (first, second) = match named.is_empty() || others.is_empty() {
                true => programs.split_at(programs.len() / 2),
                false => (named.as_slice(), others.as_slice()),
            };
            compile_apart(first, options, parts)?;
            compile_apart(second, options, parts)
        }
        result => {
            let names = programs.iter().map(|program| program.name.clone()).collect();
            parts.push((names, result));
            Ok(())
        }
    }
}

/// Compiles programs, runs them on host and interpreter, and gives those that fail.
///
/// # Errors
/// When the reference cannot be made.
pub fn compare(programs: &[Program], inputs: &[Vec<u64>], options: &Options) -> Result<Vec<Finding>, Error> {
    let (compiled, mut findings) = prepare(programs, inputs, options)?;
    for module in &compiled {
        for (name, difference) in run(module) {
            let at = programs.iter().position(|program| program.name == name);
            let at = at.expect("a kernel has its program's name");
            findings.push(Finding {
                program: programs[at].clone(),
                inputs: inputs[at].clone(),
                difference,
            });
        }
    }
    Ok(findings)
}

/// Runs the kernels of a module on the interpreter and gives those that fail, by name.
pub fn run(compiled: &Compiled) -> Vec<(String, Difference)> {
    let module = match Module::parse(&compiled.ptx) {
        Ok(module) => module,
        Err(error) => {
            let message = error.to_string();
            let all = compiled.kernels.iter();
            return all
                .map(|kernel| (kernel.name.clone(), Difference::Build(message.clone())))
                .collect();
        }
    };
    let mut failures = Vec::new();
    for kernel in &compiled.kernels {
        let difference = match interpret(&module, kernel) {
            Err(fault) => Some(Difference::Fault(fault)),
            Ok(device) => kernel
                .outputs
                .iter()
                .zip(&device)
                .position(|(host, device)| host != device)
                .map(|at| Difference::Word {
                    case: at / OUTPUTS,
                    word: at % OUTPUTS,
                    host: kernel.outputs[at],
                    device: device[at],
                }),
        };
        failures.extend(difference.map(|difference| (kernel.name.clone(), difference)));
    }
    failures
}

/// The output words of a kernel, or its fault. Each kernel has a machine of its own.
fn interpret(module: &Module, kernel: &Kernel) -> Result<Vec<u64>, String> {
    let mut machine = Machine::new(module).map_err(|error| error.to_string())?;
    let bytes: Vec<u8> = kernel.inputs.iter().flat_map(|word| word.to_le_bytes()).collect();
    let cases = kernel.inputs.len() / INPUTS;
    let length = cases * OUTPUTS * 8;
    let input = machine.alloc(bytes.len());
    let output = machine.alloc(length);
    machine.write(input, &bytes);
    machine.write(output, &UNWRITTEN.to_le_bytes().repeat(length / 8));
    let launch = Launch {
        grid: [1, 1, 1],
        block: [CASES as u32, 1, 1],
        dynamic_shared_bytes: 0,
        local_bytes: 256 << 10,
        max_steps: 1 << 26,
    };
    let parameters: [&[u8]; 3] = [
        &input.to_le_bytes(),
        &output.to_le_bytes(),
        &(cases as u32).to_le_bytes(),
    ];
    machine
        .launch(&kernel.name, &launch, &parameters)
        .map_err(|fault| fault.to_string())?;
    Ok(machine
        .read(output, length)
        .as_chunks()
        .0
        .iter()
        .map(|&chunk| u64::from_le_bytes(chunk))
        .collect())
}
