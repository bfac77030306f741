//! Rung 1: global memory only.
//!
//! ```text
//! row, column = the thread's element of C
//! sum = 0
//! for k: sum += A[row][k] * B[k][column]
//! C[row][column] = sum
//! ```
//!
//! Every element of A is read by n threads and every element of B by m threads, each time from global memory: 2 loads a
//! multiply-add. Neighbouring threads take neighbouring columns, so the loads of B and the stores of C are coalesced
//! and the loads of A are broadcast; the caches turn that into fewer bytes from DRAM, but not into fewer load
//! instructions.
//!
//! Block: 16 x 16 threads. Shared memory: none.

use cuda_std::{kernel, thread};
use half::{bf16, f16};
use tilewright_contract::{GemmParams, TileGeometry, TileOrigin};

use crate::element::{Element, Sum};
use crate::operands::Operands;

/// Rows and columns of C that one block computes.
const WIDTH: u32 = 16;

const _: () = assert!(WIDTH <= TileGeometry::MAX_WIDTH);

/// # Safety
/// - The grid is [`Grid::cover`](tilewright_contract::Grid::cover) of a [`WIDTH`]-wide tile, the block WIDTH x WIDTH
///   threads.
#[inline(always)]
unsafe fn naive<E: Element>(operands: Operands<E>) {
    let Operands { a, b, c, args } = operands;
    let origin = TileOrigin::of_block(thread::block_idx_x(), args.n, WIDTH);
    let row = origin.row + thread::thread_idx_y();
    let column = origin.column + thread::thread_idx_x();
    if row >= args.m || column >= args.n {
        return;
    }
    let mut sum = E::Sum::ZERO;
    for i in 0..args.k as usize {
        // SAFETY: row < m, column < n and i < k: both elements lie inside their matrices. 64-bit offsets, since an
        // operand may exceed 2^32 elements.
        let (x, y) = unsafe {
            (
                a.get(row as usize * args.lda as usize + i),
                b.get(i * args.ldb as usize + column as usize),
            )
        };
        sum = sum + x.widen() * y.widen();
    }
    let element = E::narrow(sum);
    // SAFETY: row < m and column < n; no other thread writes this element.
    unsafe { c.set(row as usize * args.ldc as usize + column as usize, element) };
}

macro_rules! entry_points {
    ($($symbol:ident: $element:ty;)*) => {
        $(
            #[doc = concat!("The body above with elements of `", stringify!($element), "`.")]
            ///
            /// # Safety
            /// As for the body: operands as `params` describes them, grid and block of the table of kernels.
            #[kernel]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<$element>) {
                // SAFETY: the caller's promise.
                unsafe { naive(Operands::new(params)) }
            }
        )*
    };
}

tilewright_contract::naive_kernels!(entry_points);
