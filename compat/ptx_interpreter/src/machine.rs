//! The modules, the machine that holds their memory, and launches.

use std::collections::HashMap;

use crate::ast::File;
use crate::block;
use crate::decode;
use crate::fault::{Fault, FaultKind, ParseError};
use crate::layout::{Layout, Symbol};
use crate::memory::{Memory, SharedWindow};
use crate::op::Function;
use crate::parser;
use crate::thread::{Dimensions, Thread};
use crate::types::Space;

/// The bytes that `malloc` may hand out, as the driver's default.
const HEAP_BYTES: u64 = 8 << 20;

/// The granules between the allocations of the host.
const GAP: usize = 16;

/// A PTX text, decoded.
#[derive(Clone, Debug)]
pub struct Module {
    functions: Vec<Function>,
    layout: Layout,
}

impl Module {
    /// Reads a text, to be run as on a GPU of its `.target`. Instructions that are not known become faults only where
    /// a thread reaches them.
    ///
    /// # Errors
    ///
    /// With the line, if the text has not the form of PTX, or an initialiser or branch names what is not there.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let file = parser::parse(text)?;
        let window = file.window.ok_or_else(|| ParseError::new(1, "no .target sm_NN"))?;
        Self::decode(&file, window)
    }

    /// As [`Self::parse`], to be run as on a GPU with the given window: a newer one than the `.target` names runs the
    /// text too.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`], but for the `.target`.
    pub fn parse_for(text: &str, window: SharedWindow) -> Result<Self, ParseError> {
        Self::decode(&parser::parse(text)?, window)
    }

    fn decode(file: &File<'_>, window: SharedWindow) -> Result<Self, ParseError> {
        let (chosen, mut indices) = chosen_functions(file);
        for (alias, of) in &file.aliases {
            if let Some(&index) = indices.get(of) {
                indices.insert(alias, index);
            }
        }
        let layout = Layout::new(file, &indices, window)?;
        let functions = chosen
            .into_iter()
            .map(|at| decode::decode(&file.functions[at], &layout));
        let functions = functions.collect::<Result<Vec<Function>, ParseError>>()?;
        Ok(Self { functions, layout })
    }

    /// The names of the kernels, in the text's order.
    pub fn kernels(&self) -> Vec<&str> {
        let kernels = self.functions.iter().filter(|function| function.kernel.is_some());
        kernels.map(|function| function.name.as_str()).collect()
    }
}

/// One function of each name, a definition rather than a declaration: their places in the file, and the names' indices.
fn chosen_functions<'a>(file: &File<'a>) -> (Vec<usize>, HashMap<&'a str, u32>) {
    let mut chosen: Vec<usize> = Vec::new();
    let mut indices: HashMap<&str, u32> = HashMap::new();
    for (at, function) in file.functions.iter().enumerate() {
        match indices.get(function.name) {
            Some(&index) if function.body.is_some() => chosen[index as usize] = at,
            Some(_) => {}
            None => {
                indices.insert(function.name, chosen.len() as u32);
                chosen.push(at);
            }
        }
    }
    (chosen, indices)
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// The CTAs of the grid.
    pub grid: [u32; 3],
    /// The threads of a CTA.
    pub block: [u32; 3],
    /// The dynamic shared memory of a CTA.
    pub dynamic_shared_bytes: u32,
    /// The local memory of a thread, its stack; 16 MiB at most.
    pub local_bytes: usize,
    /// The steps of all threads together after which the launch fails.
    pub max_steps: u64,
}

impl Launch {
    /// A launch of `blocks` times `threads` threads, with 256 KiB of stack and 2^30 steps.
    pub fn new(blocks: u32, threads: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            dynamic_shared_bytes: 0,
            local_bytes: 256 << 10,
            max_steps: 1 << 30,
        }
    }
}

/// What a launch took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// The instructions that all threads ran.
    pub steps: u64,
}

/// What the threads of a launch share.
pub(crate) struct Environment<'m> {
    pub functions: &'m [Function],
    pub memory: Memory,
    pub printed: String,
    pub heap_left: u64,
    pub dimensions: Dimensions,
    pub steps: u64,
    pub max_steps: u64,
    /// The steps that the running thread may take, of which its budget is left.
    pub slice: u64,
}

impl Environment<'_> {
    /// `malloc`: null where the heap is full.
    pub fn allocate(&mut self, bytes: u64) -> u64 {
        match self.heap_left.checked_sub(bytes) {
            Some(left) if bytes > 0 => {
                self.heap_left = left;
                self.memory.global.allocate_releasable(bytes as usize)
            }
            _ => 0,
        }
    }

    /// `free`: null is let pass.
    pub fn free(&mut self, address: u64) -> Result<(), FaultKind> {
        if address == 0 {
            return Ok(());
        }
        let space = Space::Global;
        let fault = FaultKind::OutOfBounds {
            address,
            space,
            bytes: 0,
        };
        self.heap_left += self.memory.global.release(address).ok_or(fault)? as u64;
        Ok(())
    }
}

/// A module with its memory. It keeps what launches leave in it.
pub struct Machine<'m> {
    environment: Environment<'m>,
    layout: &'m Layout,
    threads: Vec<Thread>,
}

impl<'m> Machine<'m> {
    /// Lays out the module's statics with their first contents.
    ///
    /// # Errors
    ///
    /// None today: a module that could be parsed can be loaded.
    pub fn new(module: &'m Module) -> Result<Self, Fault> {
        let dimensions = Dimensions {
            grid: [1; 3],
            block: [1; 3],
            block_index: [0; 3],
            dynamic_shared_bytes: 0,
        };
        Ok(Self {
            environment: Environment {
                functions: &module.functions,
                memory: Memory {
                    window: module.layout.window,
                    global: module.layout.global.clone(),
                    constant: module.layout.constant.clone(),
                    param: Vec::new(),
                    shared: Vec::new(),
                },
                printed: String::new(),
                heap_left: HEAP_BYTES,
                dimensions,
                steps: 0,
                max_steps: 0,
                slice: 0,
            },
            layout: &module.layout,
            threads: Vec::new(),
        })
    }

    /// Allocates zeroed global memory, aligned to 256 bytes.
    pub fn alloc(&mut self, bytes: usize) -> u64 {
        self.environment.memory.global.allocate(bytes, 256, GAP)
    }

    /// Writes global memory.
    ///
    /// # Panics
    ///
    /// If the bytes are not all in one allocation.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let target = self.environment.memory.global.get(address, bytes.len());
        target
            .expect("the bytes to write are in one allocation")
            .copy_from_slice(bytes);
    }

    /// Reads global memory.
    ///
    /// # Panics
    ///
    /// If the bytes are not all in one allocation.
    pub fn read(&mut self, address: u64, bytes: usize) -> Vec<u8> {
        let source = self.environment.memory.global.get(address, bytes);
        source.expect("the bytes to read are in one allocation").to_vec()
    }

    /// The address of a `.global` static.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        match self.layout.symbols.get(name) {
            Some(&Symbol::Address {
                space: Space::Global,
                address,
            }) => Some(address),
            _ => None,
        }
    }

    /// What `vprintf` has written so far.
    pub fn printed(&self) -> &str {
        &self.environment.printed
    }

    /// Sets the bytes that `malloc` can still hand out; 8 MiB at first, as on a GPU.
    pub fn set_heap_bytes(&mut self, bytes: u64) {
        self.environment.heap_left = bytes;
    }

    /// Runs a kernel to its end; `parameters` holds the bytes of each, in order.
    ///
    /// # Errors
    ///
    /// If the kernel fails, or cannot be launched so.
    pub fn launch(&mut self, kernel: &str, launch: &Launch, parameters: &[&[u8]]) -> Result<Stats, Fault> {
        let functions = self.environment.functions;
        let wrong = |what: String| Fault {
            kind: FaultKind::Launch(what),
            place: None,
        };
        let index = functions.iter().position(|f| f.name == kernel && f.kernel.is_some());
        let index = index.ok_or_else(|| wrong(format!("there is no kernel {kernel}")))?;
        self.pass(&functions[index], parameters).map_err(wrong)?;
        let count = launch.block.iter().product::<u32>();
        if count == 0 || count > 1024 {
            return Err(wrong(format!("{count} threads in a block")));
        }
        let local_bytes = launch.local_bytes.next_multiple_of(16).min(16 << 20);
        self.threads.retain(|thread| thread.local.len() == local_bytes);
        self.threads.resize_with(count as usize, || Thread::new(local_bytes));
        let environment = &mut self.environment;
        environment.dimensions = Dimensions {
            grid: launch.grid,
            block: launch.block,
            block_index: [0; 3],
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
        };
        environment.steps = 0;
        environment.max_steps = launch.max_steps;
        let shared = self.layout.dynamic_start() as usize + launch.dynamic_shared_bytes as usize;
        for block_index in indices(launch.grid) {
            environment.dimensions.block_index = block_index;
            environment.memory.shared.clear();
            environment.memory.shared.resize(shared, 0);
            for (linear, (thread, at)) in self.threads.iter_mut().zip(indices(launch.block)).enumerate() {
                if let Err(kind) = thread.start(functions, index as u32, at, linear as u32) {
                    return Err(block::fault(environment, thread, kind));
                }
            }
            block::run(environment, &mut self.threads)?;
        }
        Ok(Stats {
            steps: environment.steps,
        })
    }

    fn pass(&mut self, kernel: &Function, parameters: &[&[u8]]) -> Result<(), String> {
        let expected = kernel.kernel.as_deref().unwrap_or_default();
        if expected.len() != parameters.len() {
            return Err(format!(
                "{} takes {} parameters, not {}",
                kernel.name,
                expected.len(),
                parameters.len()
            ));
        }
        let param = &mut self.environment.memory.param;
        param.clear();
        for (number, (slot, bytes)) in expected.iter().zip(parameters).enumerate() {
            if slot.bytes as usize != bytes.len() {
                let (expected, found) = (slot.bytes, bytes.len());
                return Err(format!("parameter {number} has {expected} bytes, not {found}"));
            }
            param.resize(slot.offset as usize, 0);
            param.extend_from_slice(bytes);
        }
        Ok(())
    }
}

/// All indices of an extent, x first.
fn indices([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
}
