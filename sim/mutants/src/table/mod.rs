//! The table of mutants: one row is one change to a kernel's source or to its launch, and what a checker must say of
//! it.
//!
//! `build.rs` compiles this module too, to make the changed sources.

mod async_copies;
mod barriers;
mod classics;
mod clusters;
mod kernels;
mod launches;
mod lines;
mod naive;
mod pipeline;
mod registers;
mod ring;
mod slices;
mod stores;
mod tensor;
mod tiled;
mod turns;
mod warps;

pub use kernels::KERNELS;

/// A kernel whose source is changed, with a launch that mutants and original share.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// What it is called here: the entry point, where that has no other launch.
    pub name: &'static str,
    /// The entry point.
    pub symbol: &'static str,
    /// The files that it is made of, relative to the repository, the one with the entry point last; of a folder, all
    /// files in it. Each is copied, with the change where a row names it.
    pub files: &'static [&'static str],
    /// How many parameters it has.
    pub parameters: usize,
    /// The PTX that it is compiled into.
    pub module: Module,
    /// What is launched.
    pub task: Task,
}

/// A module of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// For devices of 8.0 and later.
    General,
    /// With `wgmma`, for devices of 9.0 alone.
    Wgmma,
}

/// What a kernel has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// The launch of its own that a classic comes with.
    Classic,
    /// A product of matrices.
    Product(Product),
    /// A copy of so many rows of so many elements, with so many elements behind each.
    RowCopy([u32; 3]),
}

/// A product of matrices, as it is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// m, n and k.
    pub extents: [usize; 3],
    /// Elements behind each row of A, B and C, as they are stored.
    pub gaps: [usize; 3],
    /// The width of a tile, where the entry point has several.
    pub tile: Option<u32>,
    /// Slices of K.
    pub slices: u32,
    /// Multiprocessors of the device, which a persistent kernel has a block on each of.
    pub multiprocessors: u32,
}

/// A product whose rows are packed, of one slice.
pub const fn product(extents: [usize; 3]) -> Product {
    Product {
        extents,
        gaps: [0; 3],
        tile: None,
        slices: 1,
        multiprocessors: 132,
    }
}

/// One text in one file, found exactly once, and what replaces it.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// The end of the file's path, which no other file of the kernel has.
    pub file: &'static str,
    /// What is there.
    pub find: &'static str,
    /// What the mutant has instead.
    pub replace: &'static str,
}

/// A change to the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// The kernel's own.
    Unchanged,
    /// So many bytes of dynamic shared memory.
    DynamicBytes(u32),
    /// A block of this shape, in threads.
    Block([u32; 3]),
    /// A grid of this shape, in blocks.
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

/// What the simulator must say of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing: the change does no harm.
    Clean,
    /// Nothing but more shared-memory wavefronts or global sectors than the unchanged kernel has.
    Slower,
    /// Faults: each kind of `all`, and of others none but those of `also`, which follow from the same mistake under
    /// some schedules. Kinds are named as by `FaultKind::name`.
    Faults {
        /// Kinds that must be reported.
        all: &'static [&'static str],
        /// Kinds that may be reported.
        also: &'static [&'static str],
    },
    /// One or more of these kinds, by the order in which things happen, and no others.
    Any(&'static [&'static str]),
    /// No fault, but a result that differs from the CPU's.
    Mismatch,
}

/// Whether a mutant can run on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// It ends.
    Runs,
    /// It never ends there, or may not.
    Hangs,
    /// It does not get there, for this reason.
    Refused(&'static str),
}

/// One mutant.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name, and that of its entry point.
    pub id: &'static str,
    /// The kernel that it is made from.
    pub kernel: &'static str,
    /// The mistake, in words.
    pub what: &'static str,
    /// The changes to the source.
    pub edits: &'static [Edit],
    /// The change to the launch.
    pub launch: Launch,
    /// What the simulator must say.
    pub expect: Expect,
    /// The tools of compute-sanitizer that are expected to see it.
    pub seen_by: &'static [Tool],
    /// Whether it runs on a GPU.
    pub device: Device,
}

/// What most rows have in common.
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
        classics::ROWS,
        clusters::ROWS,
        launches::ROWS,
        lines::ROWS,
        naive::ROWS,
        pipeline::ROWS,
        registers::ROWS,
        ring::ROWS,
        slices::ROWS,
        stores::ROWS,
        tensor::ROWS,
        tiled::ROWS,
        turns::ROWS,
        warps::ROWS,
    ]
    .into_iter()
    .flatten()
}
