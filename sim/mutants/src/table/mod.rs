//! The table of mutants. A row is one change to a kernel's source or launch, and the expected verdict of a checker.
//!
//! `build.rs` compiles this module, too, to generate the changed sources.

#[macro_use]
mod macros;

mod async_copies;
mod barriers;
mod batches;
mod block_scaled;
mod clusters;
mod f64;
mod fp8;
mod fp8_quantize;
mod kernels;
mod launches;
mod lessons;
mod lines;
mod pairs;
mod parts;
mod pipeline;
mod registers;
mod ring;
mod sample_kernels;
mod sectors;
mod sliced;
mod slices;
mod stores;
mod strips;
mod tensor;
mod tensor_lessons;
mod tf32;
mod tiled;
mod turns;
mod warps;

pub use kernels::KERNELS;

/// A kernel whose source is changed, with a launch that mutants and original share.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name in the table: the entry point, unless that has several launches.
    pub name: &'static str,
    /// The entry point.
    pub symbol: &'static str,
    /// Its source files, relative to the repository, the one with the entry point last; a folder stands for all its
    /// files. Each is copied, with the edits of a row.
    pub files: &'static [&'static str],
    /// The number of its parameters.
    pub parameters: usize,
    /// The PTX module that it is compiled into.
    pub module: Module,
    /// Its launch.
    pub task: Task,
}

/// A module of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// For devices of 8.0 and later.
    General,
    /// With `wgmma`, for devices of 9.0 alone.
    Wgmma,
    /// None: its kernels are block-scaled or of FP8, whose PTX is a module of its own, and run in the simulator alone.
    Simulated,
}

/// The computation of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// The launch that a sample kernel comes with.
    Sample,
    /// A matrix multiplication.
    Product(Product),
    /// A copy of a matrix: rows, columns, and padding elements after each row.
    PadRows([u32; 3]),
    /// The split of a matrix: the same.
    SplitRows([u32; 3]),
    /// The transpose of a matrix: the same.
    TransposeRows([u32; 3]),
    /// A block-scaled product: m, n and k, and the stages.
    BlockScaled([usize; 3], u32),
    /// An FP8 product: m, n and k.
    Fp8([usize; 3]),
    /// A quantization to FP8 with scales of blocks: rows, k, and padding elements after each line of the source.
    Fp8Quantize([usize; 3]),
}

/// The problem and plan of a matrix multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// m, n and k.
    pub extents: [usize; 3],
    /// Padding elements after each stored row of A, B and C.
    pub gaps: [usize; 3],
    /// The width of a tile, if the entry point has several.
    pub tile: Option<u32>,
    /// Number of K splits.
    pub slices: u32,
    /// SMs of the device: a persistent kernel has one CTA on each.
    pub sms: u32,
    /// Products, one after the other.
    pub batch: usize,
    /// Where groups of rows end, the last with the last row; empty for none.
    pub group_ends: &'static [u32],
}

/// A matrix multiplication with packed rows and without split-K.
pub const fn product(extents: [usize; 3]) -> Product {
    Product {
        extents,
        gaps: [0; 3],
        tile: None,
        slices: 1,
        sms: 132,
        batch: 1,
        group_ends: &[],
    }
}

/// One text in one file, found exactly once, and what replaces it.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// The end of the file's path, unique among the kernel's files.
    pub file: &'static str,
    /// The text in the kernel.
    pub find: &'static str,
    /// The text in the mutant.
    pub replace: &'static str,
}

/// A change to the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// The kernel's own.
    Unchanged,
    /// Dynamic shared memory, in bytes.
    DynamicBytes(u32),
    /// Extents of the block, in threads.
    Block([u32; 3]),
    /// Extents of the grid, in blocks.
    Grid([u32; 3]),
}

/// A tool of NVIDIA's compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// Addresses out of bounds and misaligned, errors of the hardware and of calls to the driver.
    Memcheck,
    /// Races in shared memory.
    Racecheck,
    /// Reads of global memory that was never written, by a kernel or by a copy to the host.
    Initcheck,
    /// Invalid use of barriers.
    Synccheck,
}

impl Tool {
    /// Every tool.
    pub const ALL: [Tool; 4] = [Tool::Memcheck, Tool::Racecheck, Tool::Initcheck, Tool::Synccheck];

    /// The name for `compute-sanitizer --tool`.
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Memcheck => "memcheck",
            Tool::Racecheck => "racecheck",
            Tool::Initcheck => "initcheck",
            Tool::Synccheck => "synccheck",
        }
    }
}

/// The expected verdict of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Clean: the change is harmless.
    Clean,
    /// Clean, but with more shared-memory wavefronts or global sectors than the unchanged kernel.
    Slower,
    /// Faults: each kind of `all`, and possibly kinds of `also`, which the same mistake causes under some schedules.
    /// Kinds are named as by `FaultKind::name`.
    Faults {
        /// Kinds that must be reported.
        all: &'static [&'static str],
        /// Kinds that may be reported.
        also: &'static [&'static str],
    },
    /// One or more of these kinds, depending on timing, and no others.
    Any(&'static [&'static str]),
    /// No fault, but a result that differs from the CPU's.
    Mismatch,
}

/// Whether a mutant can run on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// It ends.
    Runs,
    /// It may run forever.
    Hangs,
    /// It cannot be compiled or launched, for this reason.
    Refused(&'static str),
}

/// One mutant.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name, and its entry point's.
    pub id: &'static str,
    /// The original kernel.
    pub kernel: &'static str,
    /// The mistake, in words.
    pub what: &'static str,
    /// The changes to the source.
    pub edits: &'static [Edit],
    /// The change to the launch.
    pub launch: Launch,
    /// The expected verdict of the simulator.
    pub expect: Expect,
    /// The tools of compute-sanitizer that are expected to see it.
    pub seen_by: &'static [Tool],
    /// Whether it can run on a GPU.
    pub device: Device,
}

/// Defaults of a row.
const ROW: Row = Row {
    id: "",
    kernel: "",
    what: "",
    edits: &[],
    launch: Launch::Unchanged,
    expect: Expect::Clean,
    seen_by: &[],
    device: Device::Runs,
};

const fn faults(all: &'static [&'static str]) -> Expect {
    Expect::Faults { all, also: &[] }
}

const fn edit(file: &'static str, find: &'static str, replace: &'static str) -> Edit {
    Edit { file, find, replace }
}

/// The kernel of this name.
pub fn kernel(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}

/// Every mutant.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    [
        async_copies::ROWS,
        barriers::ROWS,
        batches::ROWS,
        block_scaled::ROWS,
        clusters::ROWS,
        f64::ROWS,
        fp8::ROWS,
        fp8_quantize::ROWS,
        launches::ROWS,
        lessons::ROWS,
        lines::ROWS,
        pairs::ROWS,
        parts::ROWS,
        pipeline::ROWS,
        registers::ROWS,
        ring::ROWS,
        sample_kernels::ROWS,
        sliced::ROWS,
        slices::ROWS,
        sectors::ROWS,
        strips::ROWS,
        stores::ROWS,
        tensor::ROWS,
        tensor_lessons::ROWS,
        tf32::ROWS,
        tiled::ROWS,
        turns::ROWS,
        warps::ROWS,
    ]
    .into_iter()
    .flatten()
}
