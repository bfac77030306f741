//! The table of mutants: one row is one change to a kernel's source or to its launch, and what a checker must say of it.
//!
//! `build.rs` compiles this module too, to make the changed sources.

mod async_copies;
mod barriers;
mod classics;
mod launches;
mod naive;
mod tiled;
mod warps;

/// A kernel whose source is changed.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// The entry point.
    pub name: &'static str,
    /// The files that it is made of, relative to the repository, the one with the entry point last. Files named in a row are
    /// copied with the change, the others without.
    pub files: &'static [&'static str],
    /// How many parameters it has.
    pub parameters: usize,
}

/// One text in one file, found exactly once, and what replaces it.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// The file, by its name without the folders.
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
    /// Faults: each kind of `all`, and of others none but those of `also`, which follow from the same mistake under some schedules.
    /// Kinds are named as by `FaultKind::name`.
    Faults {
        /// Kinds that must be reported.
        all: &'static [&'static str],
        /// Kinds that may be reported.
        also: &'static [&'static str],
    },
    /// No fault, but a result that differs from the CPU's.
    Mismatch,
}

/// Whether a mutant can run on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// It ends.
    Runs,
    /// It never ends there.
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

macro_rules! classic {
    ($name:literal, $file:literal, $parameters:literal) => {
        Kernel {
            name: $name,
            files: &[concat!("sim/classics/src/", $file)],
            parameters: $parameters,
        }
    };
}

macro_rules! rung {
    ($name:literal, $file:literal, $parameters:literal) => {
        Kernel {
            name: $name,
            files: &["kernels-gpu/src/tiled.rs", concat!("kernels-gpu/src/rungs/", $file)],
            parameters: $parameters,
        }
    };
}

/// The kernels that mutants are made from. Of those in the variant table only `f32` ones: the element type changes no access.
pub static KERNELS: &[Kernel] = &[
    classic!("reduce_tree", "reduction.rs", 3),
    classic!("reduce_warp", "reduction.rs", 3),
    classic!("reduce_shuffle", "reduction.rs", 3),
    classic!("transpose_tile", "transpose.rs", 4),
    classic!("transpose_padded", "transpose.rs", 4),
    classic!("scan_inclusive", "scan.rs", 3),
    classic!("histogram", "histogram.rs", 3),
    classic!("reverse_static", "reverse.rs", 1),
    classic!("reverse_dynamic", "reverse.rs", 2),
    classic!("stencil", "stencil.rs", 3),
    classic!("stencil_pipelined", "stencil_pipelined.rs", 3),
    classic!("pad_4_bytes", "padding.rs", 3),
    classic!("pad_8_bytes", "padding.rs", 3),
    classic!("pad_16_bytes", "padding.rs", 3),
    classic!("reduce_last_block", "last_block.rs", 5),
    classic!("row_sums", "row_sums.rs", 4),
    rung!("r01_naive_f32", "r01_naive.rs", 4),
    rung!("r02_tiled_static_16_f32", "r02_tiled_static.rs", 4),
    rung!("r03_tiled_dynamic_1x1_f32", "r03_tiled_dynamic.rs", 5),
    rung!("r03_tiled_dynamic_4x4_f32", "r03_tiled_dynamic.rs", 5),
];

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
        launches::ROWS,
        naive::ROWS,
        tiled::ROWS,
        warps::ROWS,
    ]
    .into_iter()
    .flatten()
}
