//! Rung 6: copies of 16 bytes.
//!
//! ```text
//! for each step of 8 along K:
//!     each thread loads 4 neighbours along K of A and 4 along N of B, 16 bytes each      (outside: zeros)
//!     and stores A's, transposed, as 4 elements into A_s, B's as one vector into B_s
//!     barrier                                                                            RAW: tiles filled
//!     for each k of the step: sums += outer product of fragments of A_s and B_s, as in rung 5
//!     barrier                                                                            WAR: tiles drained
//! C = sums, 16 bytes at a time
//! ```
//!
//! What changed since rung 5: one load, one guard and one address where there were four, on the way in and out. That
//! asks for addresses that are multiples of 16 bytes: where a matrix does not begin at one, or its columns or leading
//! dimension are no multiples of 4, the same kernel copies element by element. The choice is made once, for the whole
//! launch. The body is [`register`](crate::register), which the next rungs share.
//!
//! Shapes (elements): `A_s` and `B_s` are 8 x 128 with a pitch of 132. Two neighbouring lanes load a row of A's 8
//! elements, a sector; their 4 stores go to 2 x 16 different banks, since 4 rows further is 16 banks further.
//!
//! Prediction at 4096 cubed on an H200: 41 TFLOP/s. A warp's step is 573 instructions, 512 of them FFMA: 89 % of the
//! issue slots, at most 59.8 of the peak of 66.9; rung 5 has 666, 77 %, and makes 35.2, 53 % of the peak. The same part
//! of 89 % is 61 %. A warp's loads take 12 wavefronts for each k, 2 for each vector of A and 4 for each of B, with the
//! stores 104 a step, where four schedulers need 143 clocks to issue it: shared memory is busy 73 % of the time.
//!
//! Costs: 119 registers, two blocks a multiprocessor. Nothing is loaded ahead: after each second barrier a block waits
//! for global memory, and only the other block multiplies. Matrices that allow no vectors take four times the loads,
//! each of every fourth element.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::Shared;
use tilewright_contract::{BlockTile, DType, GemmParams, tiles};

use crate::operands::Operands;
use crate::register::{Place, allow_vectors, one_stage};

const TILE: BlockTile = tiles::ONE_STAGE_128X128;
/// Threads along each side of the tile.
const SIDE: u32 = TILE.n / TILE.thread_n;

/// Elements of `f32`; the module says how.
///
/// # Safety
/// As for the body: operands as `params` describes them, grid and block of the variant table.
#[kernel(max_threads = 256)]
pub unsafe fn r06_vector_copy_f32(#[grid_constant] params: &GemmParams<f32>) {
    const BYTES: usize = TILE.bytes(DType::F32).get() as usize;
    // u128: aligned for vectors of 16 bytes.
    let stage = shared_array![u128; BYTES / 16];
    let t = thread::thread_idx_x();
    // As in rung 5: 16 neighbouring threads have neighbouring vectors of columns, and the same rows.
    let place = Place {
        row: t / SIDE * 4,
        rows_apart: TILE.m / 2,
        column: t % SIDE * 4,
        columns_apart: TILE.n / 2,
    };
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
