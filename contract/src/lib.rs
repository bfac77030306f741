//! All that host and device must agree on, stated once: element types, shapes and leading dimensions, tile geometry,
//! the layout of `A_s` and `B_s` in shared memory, the grid mapping, the kernels' argument structs and the tables of
//! kernels.
//!
//! Device code indexes with these functions, the sizing sums with them, the launch passes their totals. Nothing here
//! knows a driver, a matrix or a floating-point value.
//!
//! Everywhere: `m`, `n`, `k` are those of `C (m x n) = A (m x k) · B (k x n)`, matrices are row-major (A and B may be
//! transposed), leading dimensions count elements, and a number of bytes is a [`Bytes`], never a bare integer.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod args;
mod batch;
mod block_scale;
mod dtype;
mod epilogue;
mod fp8;
mod grid;
mod kernel;
mod major;
mod operand_copy;
mod params;
mod precision;
mod shape;
mod smem;
mod units;

pub mod family;
pub mod split_k;

pub use args::{GemmArgs, span_elems};
pub use batch::Batch;
pub use block_scale::{BlockFormat, ScaleLayout};
pub use dtype::DType;
pub use epilogue::{Activation, Output};
pub use family::fp8_quantize::{FP8_QUANTIZE_KERNELS, Fp8Pass, Fp8QuantizeKernel, Fp8QuantizeParams};
pub use family::matrix_vector::{MatrixVectorTile, matrix_of};
pub use family::mma_block_scaled::{
    BLOCK_SCALED_KERNELS, BlockScaledKernel, BlockScaledParams, BlockScaledTile, ScaleSource, block_scaled_tiles,
};
pub use family::mma_f64::{F64Tile, f64_tiles};
pub use family::mma_sync::{TensorTile, tensor_tiles};
pub use family::register_tile::RegisterTile;
pub use family::simt::{BlockTile, tiles};
pub use family::swizzle::Swizzle;
pub use family::tiled::{MAX_THREADS_PER_BLOCK, MAX_THREADS_PER_SIDE, TileError, TileGeometry, TilePair};
pub use family::wgmma::{WgmmaTile, wgmma_tiles};
pub use family::wgmma_fp8::{FP8_KERNELS, Fp8Kernel, Fp8Mode, Fp8Params, fp8_tiles};
pub use family::{Family, KERNELS, lessons};
pub use fp8::{Fp8, Fp8ScaleLayout, Fp8Scaling};
pub use grid::{Grid, GridError, RasterTile, TileOrigin, first_tile_of_group, overlapped_columns};
pub use kernel::{Alignment, Features, Kernel, Loads, MmaPath, Operands, Schedule, SplitK, Target, TileShape};
pub use major::Major;
pub use operand_copy::{CopyKind, CopyRows, OperandCopy, padded_ld};
pub use params::GemmParams;
pub use precision::Precision;
pub use shape::{GemmShape, Operand, ShapeError, Transpose};
pub use smem::{EpilogueBuffers, SmemLayout, Storage};
pub use units::{Bytes, Elems};
