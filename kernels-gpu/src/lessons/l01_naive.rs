//! Lesson 1: one thread per element of C.
//!
//! ```text
//! row, column = this thread's element of C
//! sum = 0
//! for i in 0..k: sum += A[row][i] * B[i][column]
//! C[row][column] = sum
//! ```
//!
//! **Idea.** Each thread computes one dot product. Adjacent threads compute adjacent columns: a warp's loads of B and
//! its stores of C are coalesced, and its loads of A are broadcasts.
//!
//! **Cost.** Two loads from global memory per FMA. Every element of A is loaded n times, every element of B m times.
//! The caches spare DRAM most of these bytes, but no load instruction.
//!
//! **Shared memory.** None.
//!
//! Source: CUDA C++ Programming Guide, "Shared Memory", whose first matrix multiplication does without.

use cuda_std::{kernel, thread};
use tilewright_contract::{Bytes, GemmArgs, GemmParams, TileOrigin, lessons};

use crate::block::operands::Operands;

/// Rows and columns of C of a CTA.
const TILE: u32 = 16;
/// One for each element of the tile.
const THREADS: u32 = TILE * TILE;

const _: () = assert!(lessons::NAIVE.has_geometry([TILE, TILE, 1], [TILE, TILE], Bytes(0)));

/// C = A * B, row-major, any extents and leading dimensions.
///
/// # Safety
/// `params` describes matrices in global memory. The CTA has TILE x TILE threads, the grid covers C.
#[kernel(max_threads = THREADS)]
pub unsafe fn lesson_01_naive(#[grid_constant] params: &GemmParams<f32>) {
    let GemmArgs { m, n, k, lda, ldb, ldc } = params.args();
    // SAFETY: the caller's promise.
    let Operands { a, b, c, .. } = unsafe { Operands::new(params) };
    // 64 bits: a matrix may have more than 2^32 elements.
    let at = |row: u32, column: u32, ld: u32| row as usize * ld as usize + column as usize;

    let tile = TileOrigin::of_block(thread::block_idx_x(), n, TILE);
    let row = tile.row + thread::thread_idx_y();
    let column = tile.column + thread::thread_idx_x();
    // The tiles at the edges of C are larger than what is left of it.
    if row >= m || column >= n {
        return;
    }
    let mut sum = 0.0;
    for i in 0..k {
        // SAFETY: row < m, column < n and i < k.
        sum += unsafe { a.get(at(row, i, lda)) * b.get(at(i, column, ldb)) };
    }
    // SAFETY: row < m and column < n; no other thread writes this element.
    unsafe { c.set(at(row, column, ldc), sum) };
}
