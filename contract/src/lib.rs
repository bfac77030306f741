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

mod args;
mod block;
mod dtype;
mod epilogue;
mod grid;
mod inverse8;
mod layout;
mod line;
mod row_copy;
mod rung;
mod shape;
mod spilling;
mod tensor;
mod tile;
mod units;
mod variants;
mod wgmma;

pub mod slices;

pub use args::{GemmArgs, GemmCall, TileParts, span_elems};
pub use block::BlockTile;
pub use dtype::DType;
pub use epilogue::{Activation, Epilogue, Output};
pub use grid::{Grid, GridError, GroupedTile, TileOrigin};
pub use inverse8::Inverse8;
pub use layout::{RegisterTile, TilePair};
pub use line::{LineTile, line_args, lines_of};
pub use row_copy::RowCopy;
pub use rung::Rung;
pub use shape::{GemmShape, Operand, ShapeError, Transpose};
pub use spilling::{Family, Spills, TWINS, Twin};
pub use tensor::{Swizzle, TensorTile, tensor_tiles};
pub use tile::{MAX_THREADS_PER_BLOCK, MAX_THREADS_PER_SIDE, OutputTile, TileError, TileGeometry};
pub use units::{Bytes, Elems};
pub use variants::{Attributes, Copies, SharedMemory, Tile, VARIANTS, Variant, tiles};
pub use wgmma::{WgmmaTile, wgmma_tiles};
