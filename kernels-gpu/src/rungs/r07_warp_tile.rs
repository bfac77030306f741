//! Rung 7: the lanes of a warp in a rectangle.
//!
//! ```text
//! warp   = a tile of 32 x 64 of the block's 128 x 128, 4 warps along M, 2 along N
//! lane   = row 0 to 3, column 0 to 7: a vector of 4 rows and one of 4 columns, and those 16 rows, 32 columns further
//! lane n and n ^ 1 have the same rows, n and n ^ 2 the same columns
//! ```
//!
//! What changed since rung 6: only which elements of the tile a thread has. There a warp has 2 vectors of rows and 16
//! of columns, here 4 and 8. A load of 16 bytes is served by quarters of the warp, 4 wavefronts, or by halves, 2, where
//! neighbours in pairs want the same ([`Lane`]). In rung 6 that holds for A only.
//!
//! Prediction at 4096 cubed on an H200: 44 TFLOP/s. A k takes a warp 8 wavefronts in place of 12, a step 72 with its
//! stores in place of 104: shared memory is busy half of the 143 clocks in which the step's 573 instructions are
//! issued. The instructions are the same, so is the limit of 59.8. What is gained is the waiting of warps whose loads
//! queue up behind each other's; what remains are the barriers and the wait for global memory.
//!
//! Costs: none. A warp stores 4 x 128 bytes of C at once, in rung 6 it was 2 x 256.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::Shared;
use tilewright_contract::{BlockTile, DType, GemmParams, tiles};

use crate::operands::Operands;
use crate::register::{Place, allow_vectors, one_stage};
use crate::warp::Lane;

const TILE: BlockTile = tiles::ONE_STAGE_128X128;

/// Where the elements of thread `t` are.
#[inline(always)]
pub(super) fn place(t: u32) -> Place {
    let (warp, lane) = (t / 32, Lane::of(t % 32));
    let (warp_row, warp_column) = (warp % TILE.warps_m(), warp / TILE.warps_m());
    Place {
        row: warp_row * (BlockTile::LANES_M * TILE.thread_m) + 4 * lane.row,
        rows_apart: 4 * BlockTile::LANES_M,
        column: warp_column * (BlockTile::LANES_N * TILE.thread_n) + 4 * lane.column,
        columns_apart: 4 * BlockTile::LANES_N,
    }
}

/// Elements of `f32`; the module says how.
///
/// # Safety
/// As for the body: operands as `params` describes them, grid and block of the variant table.
#[kernel(max_threads = 256)]
pub unsafe fn r07_warp_tile_f32(#[grid_constant] params: &GemmParams<f32>) {
    const BYTES: usize = TILE.bytes(DType::F32).get() as usize;
    // u128: aligned for vectors of 16 bytes.
    let stage = shared_array![u128; BYTES / 16];
    let place = place(thread::thread_idx_x());
    // SAFETY: an array of so many elements; the rest is the caller's promise.
    unsafe {
        let (operands, stage) = (Operands::new(params), Shared::new(stage.cast(), BYTES / 4));
        if allow_vectors(operands) {
            one_stage::<true>(operands, stage, place);
        } else {
            one_stage::<false>(operands, stage, place);
        }
    }
}
