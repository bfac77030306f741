//! f32 by `fma`, a tile of registers for each thread: for devices without `cp.async`.
//!
//! ```text
//! for each k-tile of DEPTH elements:
//!     the CTA loads WIDTH x DEPTH of A, transposed, and DEPTH x WIDTH of B into shared memory      (outside: zeros)
//!     barrier                                                                                      RAW: tiles filled
//!     for each k of the k-tile:
//!         the thread loads 8 elements of A_s and 8 of B_s, as four vec4s
//!         its 8 x 8 acc += their outer product
//!     barrier                                                                                      WAR: tiles drained
//! C = acc
//! ```
//!
//! Shapes (elements): `A_s` is DEPTH x WIDTH with a pitch of WIDTH + 4, so that the 4 x 8 elements that a warp stores
//! fall into different banks; `B_s` is DEPTH x WIDTH. A thread's rows are `4 ty..` and `4 ty + 64..`, four each, its
//! columns likewise by `tx`.
//!
//! The tile of C is as wide as registers allow, the k-tile as short as reuse allows: 16 elements loaded from shared
//! memory feed 64 FMA. 64 accumulators and 16 operands per thread take fewer than 128 registers on sm_90, so two CTAs
//! of 256 threads share an SM. `max_threads` tells the compiler so.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::Shared;
use tilewright_contract::{GemmParams, RegisterTile, TileOrigin};

use crate::block::operands::Operands;

const WIDTH: u32 = RegisterTile::WIDTH;
const DEPTH: u32 = RegisterTile::DEPTH;
const PITCH: u32 = RegisterTile::A_PITCH;
const THREADS: u32 = RegisterTile::THREADS;
/// Threads along each side of the CTA; a quarter of the way from a thread's first rows to its last.
const SIDE: u32 = 16;

/// Accumulators of one thread.
type Accumulators = [[f32; 8]; 8];

/// Computes this CTA's tile of C.
///
/// # Safety
/// - The operands are as `params` describes them, in global memory.
/// - The CTA has 16 x 16 threads, the grid covers C with tiles of `WIDTH` along x, and has a row along y for each
///   product. Every thread of the CTA calls this.
#[inline(always)]
unsafe fn register_tile(params: &GemmParams<f32>) {
    const A_ELEMS: usize = (DEPTH * PITCH) as usize;
    const B_ELEMS: usize = (DEPTH * WIDTH) as usize;
    // u128: aligned for vectors of 16 bytes.
    let a_s = shared_array![u128; A_ELEMS / 4];
    let b_s = shared_array![u128; B_ELEMS / 4];
    // SAFETY: two arrays of so many elements.
    let (a_s, b_s) = unsafe {
        (
            Shared::<f32>::new(a_s.cast(), A_ELEMS),
            Shared::<f32>::new(b_s.cast(), B_ELEMS),
        )
    };
    // SAFETY: the matrices are as `params` says.
    let Operands { a, b, c, args } = unsafe { Operands::of_batch(params) };
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let first = ty * SIDE + tx;
    let origin = TileOrigin::of_block(thread::block_idx_x(), args.n, WIDTH);

    let mut acc: Accumulators = [[0.0; 8]; 8];
    let mut k0 = 0;
    while k0 < args.k {
        for i in 0..WIDTH * DEPTH / THREADS {
            let element = first + i * THREADS;
            let (a_m, a_k) = (element / DEPTH, element % DEPTH);
            let (b_k, b_n) = (element / WIDTH, element % WIDTH);
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
                a_s.set((a_k * PITCH + a_m) as usize, from_a);
                b_s.set(element as usize, from_b);
            }
        }
        // RAW: the tiles are filled before any thread reads what others wrote.
        thread::sync_threads();
        for kk in 0..DEPTH {
            // SAFETY: 4 ty + 67 and 4 tx + 67 are below WIDTH; every start is a multiple of 4 elements.
            let (low_a, high_a, low_b, high_b): ([f32; 4], [f32; 4], [f32; 4], [f32; 4]) = unsafe {
                (
                    a_s.get_vec((kk * PITCH + 4 * ty) as usize),
                    a_s.get_vec((kk * PITCH + 4 * ty + WIDTH / 2) as usize),
                    b_s.get_vec((kk * WIDTH + 4 * tx) as usize),
                    b_s.get_vec((kk * WIDTH + 4 * tx + WIDTH / 2) as usize),
                )
            };
            for i in 0..8 {
                let from_a = if i < 4 { low_a[i] } else { high_a[i - 4] };
                for j in 0..8 {
                    let from_b = if j < 4 { low_b[j] } else { high_b[j - 4] };
                    acc[i][j] += from_a * from_b;
                }
            }
        }
        // WAR: the tiles are drained before the next k-tile overwrites them.
        thread::sync_threads();
        k0 += DEPTH;
    }

    // Unrolled: accumulators that are indexed at run time would be in local memory.
    macro_rules! store {
        ($($i:literal)*) => {$(
            let row = origin.row + 4 * ty + $i % 4 + $i / 4 * (WIDTH / 2);
            for (j, &value) in acc[$i].iter().enumerate() {
                let j = j as u32;
                let column = origin.column + 4 * tx + j % 4 + j / 4 * (WIDTH / 2);
                // SAFETY: inside C, and inside this CTA's tile, which no other CTA writes.
                unsafe {
                    c.set_if(
                        row < args.m && column < args.n,
                        || row as usize * args.ldc as usize + column as usize,
                        || value,
                    );
                }
            }
        )*};
    }
    store!(0 1 2 3 4 5 6 7);
}

/// `C = A * B`, row-major, f32.
///
/// # Safety
/// As for the body: operands as `params` describes them, grid and CTA of the kernel table.
#[kernel(max_threads = 256)]
pub unsafe fn register_tile_f32(#[grid_constant] params: &GemmParams<f32>) {
    // SAFETY: the caller's promise.
    unsafe { register_tile(params) }
}
