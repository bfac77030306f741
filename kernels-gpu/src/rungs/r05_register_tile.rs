//! Rung 5: a tile of registers for each thread.
//!
//! The idea, over rung 3: the tile of C is as wide as registers allow, the step along K as short as reuse allows. Rung
//! 3 ties both to one width, and its shared memory grows with the square. Here 16 elements loaded from shared memory
//! feed 64 multiplications, four a load instead of one, and the tiles take 8320 bytes.
//!
//! Shapes and steps: [`register_tile`](mod@crate::register_tile), the body.
//!
//! Costs: 64 sums and 16 operands a thread: 118 registers on sm_90, so two blocks of 256 threads share a
//! multiprocessor. `max_threads` tells the compiler so much.

use cuda_std::kernel;
use tilewright_contract::GemmParams;

use crate::register_tile::register_tile;

/// Elements of `f32`; the module says how.
///
/// # Safety
/// As for the body: operands as `params` describes them, grid and block of the variant table.
#[kernel(max_threads = 256)]
pub unsafe fn r05_register_tile_f32(#[grid_constant] params: &GemmParams<f32>) {
    // SAFETY: the caller's promise.
    unsafe { register_tile(params) }
}
