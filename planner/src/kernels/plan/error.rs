//! Why a plan cannot work.

use core::fmt;

use tilewright_contract::{Bytes, DType, GridError, OutputTile, Rung, TileError, Transpose};

/// A configuration that cannot work, with the nearest that can.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// A tile that no kernel computes.
    Tile(TileError),
    /// More tiles than a grid holds.
    Grid(GridError),
    /// The kernel is not compiled for this tile width.
    NoSuchVariant {
        /// The kernel.
        rung: Rung,
        /// The width asked for, in elements.
        requested: u32,
        /// The nearest width that it has; `None` where none of its tiles is a square, which is what a width asks for.
        nearest: Option<u32>,
    },
    /// The kernel is not compiled for these elements.
    NoSuchType {
        /// The kernel.
        rung: Rung,
        /// The type asked for.
        requested: DType,
        /// A type that it has.
        nearest: DType,
    },
    /// The kernel multiplies a matrix with a vector, and these are two matrices.
    NoVector {
        /// The kernel.
        rung: Rung,
        /// Rows and columns of C.
        c: [usize; 2],
    },
    /// No kernel that is left open takes the operands as they lie.
    NoSuchLayout {
        /// The kernel.
        rung: Rung,
        /// The element type.
        dtype: DType,
        /// How A and B lie.
        transpose: [Transpose; 2],
    },
    /// The kernel does not cut K into slices, or into none.
    NoSlices {
        /// The kernel.
        rung: Rung,
        /// The slices asked for.
        requested: u32,
    },
    /// The kernel has no alpha and beta.
    NoFactors {
        /// The kernel.
        rung: Rung,
        /// The element type.
        dtype: DType,
    },
    /// The kernel has no bias, no activation and no C of another type.
    NoEpilogue {
        /// The kernel.
        rung: Rung,
        /// The element type.
        dtype: DType,
    },
    /// The kernel's instructions are newer than the device, or of another architecture.
    ComputeCapability {
        /// The kernel.
        rung: Rung,
        /// What it needs: at least, or exactly where it is [architecture-specific](Rung::is_architecture_specific).
        needed: (u32, u32),
        /// What the device has.
        available: (u32, u32),
    },
    /// The kernel needs more shared memory than a block may use.
    SharedMemory {
        /// The kernel.
        rung: Rung,
        /// Its tile.
        tile: OutputTile,
        /// Static bytes that it needs.
        static_bytes: Bytes,
        /// Dynamic bytes that it needs.
        dynamic_bytes: Bytes,
        /// What a block may use.
        limit: Bytes,
        /// The largest tile that fits and its bytes, if any does.
        nearest: Option<(OutputTile, Bytes)>,
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
            PlanError::NoSuchVariant {
                rung,
                requested,
                nearest,
            } => {
                write!(f, "{rung} has no kernel for tile width {requested}; ")?;
                match nearest {
                    Some(nearest) => write!(f, "nearest: {nearest}"),
                    None => write!(f, "none of its tiles is a square: leave the width open"),
                }
            }
            PlanError::NoVector { rung, c: [m, n] } => write!(
                f,
                "{rung} computes a C of one row or one column, not {m} x {n}; {} takes every shape",
                Rung::Gemm
            ),
            PlanError::NoSuchType {
                rung,
                requested,
                nearest,
            } => write!(
                f,
                "{rung} has no kernel for {requested}; nearest: {nearest}; {} takes every type",
                Rung::TiledDynamic
            ),
            PlanError::NoSuchLayout { rung, dtype, transpose } => write!(
                f,
                "{rung} has no kernel for {dtype} with A and B as {}{} and these leading dimensions; {} takes every layout of f32",
                transpose[0].letter(),
                transpose[1].letter(),
                Rung::Gemm
            ),
            PlanError::NoSlices { rung, requested } => write!(
                f,
                "{rung} cannot compute {requested} slices of K; nearest: 1; {} takes any number from 1",
                Rung::Gemm
            ),
            PlanError::NoFactors { dtype: DType::F64, .. } => {
                f.write_str("no kernel for f64 has alpha and beta; the CPU scales products of f64")
            }
            PlanError::NoFactors { rung, dtype } => {
                write!(
                    f,
                    "{rung} has no kernel for {dtype} with alpha and beta; {} has, in f32",
                    Rung::Gemm
                )
            }
            PlanError::NoEpilogue { rung, dtype } => {
                write!(
                    f,
                    "{rung} has no kernel for {dtype} with bias, activation or C of another type; {} has, in f16 and bf16",
                    Rung::MmaSync
                )
            }
            PlanError::ComputeCapability {
                rung,
                needed,
                available,
            } => write!(
                f,
                "{rung} needs compute capability {}.{}{}, the device has {}.{}",
                needed.0,
                needed.1,
                if rung.is_architecture_specific() {
                    " and no other"
                } else {
                    ""
                },
                available.0,
                available.1
            ),
            PlanError::SharedMemory {
                rung,
                tile,
                static_bytes,
                dynamic_bytes,
                limit,
                nearest,
            } => {
                let needed = u64::from(static_bytes.get()) + u64::from(dynamic_bytes.get());
                write!(
                    f,
                    "{rung} with {tile} needs {needed} B of shared memory ({static_bytes} static, {dynamic_bytes} \
                     dynamic), {limit} are available: {} B too many; ",
                    needed.saturating_sub(limit.get().into())
                )?;
                match nearest {
                    Some((tile, bytes)) => write!(f, "nearest that fits: {tile} ({bytes})"),
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

impl core::error::Error for PlanError {}
