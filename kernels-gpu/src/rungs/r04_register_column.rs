//! Rung 4: a column of registers for each thread.
//!
//! ```text
//! for each step of 8 along K:
//!     the block copies 64 x 8 of A, transposed, and 8 x 64 of B into shared memory   (outside: zeros)
//!     barrier                                                                        RAW: tiles filled
//!     for each k of the step:
//!         the thread loads 1 element of B_s and 8 of A_s, as two vectors of 16 bytes
//!         its 8 sums += their products
//!     barrier                                                                        WAR: tiles drained
//! C = sums
//! ```
//!
//! What changed since rung 3: a thread has 8 rows of one column, and an element of `B_s` that it loads is used for all
//! of them. The tile of C is 64 x 64 with 512 threads, and the step along K no longer as wide as the tile: 8.
//!
//! Shapes (elements): `A_s` is 8 x 64, `B_s` 8 x 64, both with a pitch of 68. A warp has 32 columns of the same 8 rows.
//!
//! Prediction at 4096 cubed on an H200: 20 TFLOP/s. A warp's 8 products of one k take 2 clocks of the four schedulers.
//! Its loads take 5 wavefronts, one for B_s and two for each vector of A_s, which all lanes share, and a multiprocessor
//! serves one a clock: 2 / 5 of the peak of 66.9, 26.8. To a step's 40 come 2 to store the tiles and about 4 of the
//! loads from global memory: 23. Barriers on both sides of so short a step take a part of that. Instructions are not
//! the limit: 112 a step, 64 of them FFMA.
//!
//! Costs: two loads from global memory for 64 products; both barriers wait for 16 warps. 39 registers: three blocks a
//! multiprocessor.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::Shared;
use tilewright_contract::{BlockTile, DType, GemmParams, TileOrigin, tiles};

use crate::operands::Operands;
use crate::unroll::unrolled;

const TILE: BlockTile = tiles::COLUMN_64X64;
/// Rows of a thread, one below the other.
const ROWS: u32 = TILE.thread_m;
const _: () = assert!(TILE.m * TILE.k == TILE.threads() && TILE.n * TILE.k == TILE.threads());
const _: () = assert!(TILE.m == TILE.n && TILE.thread_n == 1 && ROWS == 8);

/// Computes this block's tile of C.
///
/// # Safety
/// - `operands` describes matrices in global memory.
/// - `stage` is [`TILE`]'s stage in this block's shared memory, aligned to 16 bytes.
/// - The block is [`TILE`]'s, the grid covers C with it. Every thread of the block calls this.
#[inline(always)]
unsafe fn register_column(operands: Operands<f32>, stage: Shared<f32>) {
    let Operands { a, b, c, args } = operands;
    let t = thread::thread_idx_x();
    let origin = TileOrigin::of_block(thread::block_idx_x(), args.n, TILE.m);
    // The element of A that this thread copies, and that of B; its first row and its column of the tile of C.
    let (a_m, a_k) = (t / TILE.k, t % TILE.k);
    let (b_k, b_n) = (t / TILE.n, t % TILE.n);
    let (row, column) = (t / TILE.n * ROWS, t % TILE.n);

    let mut sums = [0.0; ROWS as usize];
    let mut k0 = 0;
    while k0 < args.k {
        let (a_row, a_column) = (origin.row + a_m, k0 + a_k);
        let (b_row, b_column) = (k0 + b_k, origin.column + b_n);
        // SAFETY: guarded by the matrices' extents; each element of a tile is written by one thread.
        unsafe {
            let from_a = a.get_if(
                a_row < args.m && a_column < args.k,
                || a_row as usize * args.lda as usize + a_column as usize,
                0.0,
            );
            let from_b = b.get_if(
                b_row < args.k && b_column < args.n,
                || b_row as usize * args.ldb as usize + b_column as usize,
                0.0,
            );
            stage.set((a_k * TILE.a_pitch() + a_m) as usize, from_a);
            stage.set((TILE.a_elems() + b_k * TILE.b_pitch() + b_n) as usize, from_b);
        }
        // RAW: the tiles are filled before any thread reads what others wrote.
        thread::sync_threads();
        unrolled!(TILE.k, at most 8, |kk| {
            // SAFETY: rows and column of the tile; the vectors start at multiples of 4 elements.
            let (low, high, from_b): ([f32; 4], [f32; 4], f32) = unsafe {
                (
                    stage.get_vec((kk * TILE.a_pitch() + row) as usize),
                    stage.get_vec((kk * TILE.a_pitch() + row + 4) as usize),
                    stage.get((TILE.a_elems() + kk * TILE.b_pitch() + column) as usize),
                )
            };
            for i in 0..4 {
                sums[i] += low[i] * from_b;
                sums[i + 4] += high[i] * from_b;
            }
        });
        // WAR: the tiles are drained before the next step overwrites them.
        thread::sync_threads();
        k0 += TILE.k;
    }

    let column = origin.column + column;
    unrolled!(sums.len(), at most 8, |i| {
        let row = origin.row + row + i as u32;
        // SAFETY: inside C, and inside this block's tile, which no other block writes.
        unsafe {
            c.set_if(
                row < args.m && column < args.n,
                || row as usize * args.ldc as usize + column as usize,
                || sums[i],
            );
        }
    });
}

/// Elements of `f32`; the module says how.
///
/// # Safety
/// As for the body: operands as `params` describes them, grid and block of the variant table.
#[kernel(max_threads = 512)]
pub unsafe fn r04_register_column_f32(#[grid_constant] params: &GemmParams<f32>) {
    const BYTES: usize = TILE.bytes(DType::F32).get() as usize;
    // u128: aligned for vectors of 16 bytes.
    let stage = shared_array![u128; BYTES / 16];
    // SAFETY: an array of so many elements; the rest is the caller's promise.
    unsafe { register_column(Operands::new(params), Shared::new(stage.cast(), BYTES / 4)) }
}
