//! Why a plan cannot work.

use std::fmt;

use tilewright_contract::{Bytes, DType, Family, GridError, Kernel, Target, TileError, Transpose};

/// What a policy names, as its errors name it: what an entry point lacks others of its family may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A family; also one that could have been taken where the choice is open.
    Family(Family),
    /// An entry point, by its symbol.
    Kernel(&'static str),
}

impl Named {
    /// That it is not made for something.
    fn none_for(self, what: impl fmt::Display) -> String {
        match self {
            Named::Family(family) => format!("{family} has no kernel for {what}"),
            Named::Kernel(symbol) => format!("{symbol} is no kernel for {what}"),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Named::Family(family) => family.fmt(f),
            Named::Kernel(symbol) => f.write_str(symbol),
        }
    }
}

/// A configuration that cannot work, with the nearest that can.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// A tile that no kernel computes.
    Tile(TileError),
    /// More tiles than a grid holds.
    Grid(GridError),
    /// The kernel is not compiled for this tile width.
    NoSuchWidth {
        /// What was named.
        named: Named,
        /// The width asked for, in elements.
        requested: u32,
        /// The nearest width that it has; `None` where none of its tiles is a square, which is what a width asks for.
        nearest: Option<u32>,
    },
    /// The kernel is not compiled for these elements.
    NoSuchType {
        /// What was named.
        named: Named,
        /// The type asked for.
        requested: DType,
        /// A type that it has.
        nearest: DType,
    },
    /// The kernel multiplies a matrix with a vector, and these are two matrices.
    NoVector {
        /// What was named.
        named: Named,
        /// Rows and columns of C.
        c: [usize; 2],
    },
    /// No kernel that is left open takes the operands as they lie.
    NoSuchLayout {
        /// What was named.
        named: Named,
        /// The element type.
        dtype: DType,
        /// How A and B lie.
        transpose: [Transpose; 2],
    },
    /// The kernel does not support split-K, or 0 splits were asked for.
    NoSplitK {
        /// What was named.
        named: Named,
        /// The splits asked for.
        requested: u32,
    },
    /// The kernel has no alpha and beta.
    NoFactors {
        /// What was named.
        named: Named,
        /// The element type.
        dtype: DType,
    },
    /// The kernel computes one product, and these are several.
    NoBatch {
        /// What was named.
        named: Named,
        /// Products of the batch.
        count: u32,
    },
    /// The kernel takes no groups of rows, or nothing but groups.
    NoGroups {
        /// What was named.
        named: Named,
        /// The element type.
        dtype: DType,
        /// The groups asked for; `None` for a product without.
        groups: Option<u32>,
    },
    /// The kernel has no bias, no activation and no C of another type.
    NoEpilogue {
        /// What was named.
        named: Named,
        /// The element type.
        dtype: DType,
    },
    /// The kernel's instructions are newer than the device, or of another architecture.
    ComputeCapability {
        /// What was named.
        named: Named,
        /// What it needs.
        needed: Target,
        /// What the device has.
        available: (u32, u32),
    },
    /// The kernel needs more shared memory than a block may use.
    SharedMemory {
        /// The kernel, with its tile.
        kernel: Box<Kernel>,
        /// What a block may use.
        limit: Bytes,
        /// The largest tile that fits and its bytes, if any does.
        nearest: Option<Box<Kernel>>,
    },
    /// The block has more threads than the device allows.
    Threads {
        /// Threads of the block.
        requested: u32,
        /// Threads that the device allows.
        available: u32,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Tile(error) => error.fmt(f),
            PlanError::Grid(error) => error.fmt(f),
            PlanError::NoSuchWidth {
                named,
                requested,
                nearest,
            } => {
                let width = format_args!("tile width {requested}");
                write!(f, "{}; ", named.none_for(width))?;
                match nearest {
                    Some(nearest) => write!(f, "nearest: {nearest}"),
                    None => write!(f, "none of its tiles is a square: leave the width open"),
                }
            }
            PlanError::NoVector { named, c: [m, n] } => write!(
                f,
                "{named} computes a C of one row or one column, not {m} x {n}; {} takes every shape",
                Family::SIMT
            ),
            PlanError::NoBatch { named, count } => write!(
                f,
                "{named} computes one product, not a batch of {count}; {} takes batches of every type",
                Family::TILED_DYNAMIC
            ),
            PlanError::NoGroups {
                named,
                dtype,
                groups: Some(groups),
            } => write!(
                f,
                "{} that takes {groups} groups of rows; {} has one for f32, {} for f16 and bf16",
                named.none_for(*dtype),
                Family::SIMT,
                Family::MMA_SYNC
            ),
            PlanError::NoGroups { named, .. } => write!(f, "{named} takes groups of rows alone"),
            PlanError::NoSuchType {
                named,
                requested,
                nearest,
            } => write!(
                f,
                "{}; nearest: {nearest}; {} takes every type",
                named.none_for(*requested),
                Family::TILED_DYNAMIC
            ),
            PlanError::NoSuchLayout {
                named,
                dtype,
                transpose,
            } => {
                let (other, of) = match dtype {
                    DType::F64 => (Family::MMA_F64, DType::F64),
                    _ => (Family::SIMT, DType::F32),
                };
                let [a, b] = transpose.map(Transpose::letter);
                write!(
                    f,
                    "{} with A and B as {a}{b} and these leading dimensions; {other} takes every layout of {of}",
                    named.none_for(*dtype)
                )?;
                // Operands of other types are copied where they lie further apart.
                match dtype {
                    DType::F64 => write!(f, ", with leading dimensions up to {}", Kernel::MAX_LD),
                    _ => Ok(()),
                }
            }
            PlanError::NoSplitK { named, requested } => write!(
                f,
                "{named} cannot split K {requested} ways; nearest: 1; {} splits it any number of ways",
                Family::SIMT
            ),
            PlanError::NoFactors { named, dtype } => {
                write!(f, "{} with alpha and beta; ", named.none_for(*dtype))?;
                match dtype {
                    DType::F64 => write!(
                        f,
                        "{} has them, from compute capability 8.0 on, and the CPU",
                        Family::MMA_F64
                    ),
                    _ => write!(f, "{} has them, in f32", Family::SIMT),
                }
            }
            PlanError::NoEpilogue { named, dtype } => write!(
                f,
                "{} with bias, activation or C of another type; {} has them, in f16 and bf16",
                named.none_for(*dtype),
                Family::MMA_SYNC
            ),
            PlanError::ComputeCapability {
                named,
                needed,
                available,
            } => write!(
                f,
                "{named} needs compute capability {}.{}{}, the device has {}.{}",
                needed.compute_capability.0,
                needed.compute_capability.1,
                if needed.is_architecture_specific {
                    " and no other"
                } else {
                    ""
                },
                available.0,
                available.1
            ),
            PlanError::SharedMemory { kernel, limit, nearest } => {
                let (family, tile, needed) = (kernel.family, kernel.tile_name(), kernel.smem.total());
                write!(
                    f,
                    "{family} with {tile} needs {} B of shared memory ({} static, {} dynamic), {limit} are available: \
                     {} B too many; ",
                    needed.get(),
                    kernel.static_bytes(),
                    kernel.dynamic_bytes(),
                    needed.get().saturating_sub(limit.get())
                )?;
                match nearest {
                    Some(kernel) => {
                        write!(f, "nearest that fits: {} ({})", kernel.tile_name(), kernel.smem.total())
                    }
                    None => write!(f, "no tile width fits"),
                }
            }
            PlanError::Threads { requested, available } => {
                write!(
                    f,
                    "the block has {requested} threads, device and kernel allow {available}; take a narrower tile"
                )
            }
        }
    }
}

impl std::error::Error for PlanError {}
