//! Lesson 3: tiles in dynamic shared memory.
//!
//! ```text
//! A_s = base
//! B_s = base + a_part                  a_part: bytes of A_s, a parameter of the launch
//! ... as in lesson 2
//! ```
//!
//! **What changed since lesson 2.** The program contains no array. The launch passes a number of bytes, the kernel gets
//! one pointer to so many and carves both tiles out of them. Nothing else changes, neither the machine code of the loop
//! nor the speed.
//!
//! **Why.** The size can be chosen at launch, and only dynamic shared memory may exceed 48 KiB, after the host has
//! raised the kernel's limit. Lessons 9 to 15 need that.
//!
//! **Pitfall.** The sizes of the parts are bytes. Added to a `*mut f32` they would count elements, and `B_s` would
//! begin four times too far. Here a number of bytes is a type, and the pointer that it is added to is a `*mut u8`.
//!
//! **Shared memory.** 8192 bytes, dynamic: `A_s`, then `B_s`.
//!
//! Source: CUDA C++ Programming Guide, "Shared Memory" and "Execution Configuration".

use cuda_std::{kernel, shared, thread};
use cuda_views::Shared;
use tilewright_contract::{Bytes, GemmArgs, GemmParams, TileOrigin, lessons};

use crate::block::operands::Operands;
use crate::block::unroll::unrolled;
use crate::ptx::optimization_barrier;

/// Rows and columns of C of a CTA, and the depth of a k-tile.
const TILE: u32 = 32;
/// One for each element of the tile.
const THREADS: u32 = TILE * TILE;
/// Elements of `A_s`, and of `B_s`.
const ELEMS: usize = (TILE * TILE) as usize;

const _: () = assert!(lessons::DYNAMIC_TILES.has_geometry([TILE; 3], [TILE; 2], Bytes(8 * TILE * TILE)));

/// C = A * B, row-major, any extents and leading dimensions.
///
/// # Safety
/// `params` describes matrices in global memory. The CTA has TILE x TILE threads and dynamic shared memory for both
/// tiles, of which `A_s` takes the first `params.a_part` bytes. The grid covers C.
#[kernel(max_threads = THREADS)]
pub unsafe fn lesson_03_dynamic_tiles(#[grid_constant] params: &GemmParams<f32>) {
    let GemmArgs { m, n, k, lda, ldb, ldc } = params.args();
    let at = |row: u32, column: u32, ld: u32| row as usize * ld as usize + column as usize;

    // SAFETY: the allocation holds both tiles. The rest as in lesson 2.
    unsafe {
        let Operands { a, b, c, .. } = Operands::new(params);
        let base: *mut u8 = shared::dynamic_shared_mem();
        // The opaque zero hides the allocation's alignment, which static arrays of f32 do not have: the compiler would
        // join loads of A_s to vectors, and on an H200 the loop would be 7 % slower.
        let a_s = Shared::new(base.add(optimization_barrier::zero() as usize).cast::<f32>(), ELEMS);
        let b_s = Shared::new(base.add(params.a_part.get() as usize).cast::<f32>(), ELEMS);

        let tile = TileOrigin::of_block(thread::block_idx_x(), n, TILE);
        let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
        let (row, column) = (tile.row + ty, tile.column + tx);

        let mut sum = 0.0;
        let mut k0 = 0;
        while k0 < k {
            let (a_k, b_k) = (k0 + tx, k0 + ty);
            a_s.set(
                at(ty, tx, TILE),
                a.get_if(row < m && a_k < k, || at(row, a_k, lda), 0.0),
            );
            b_s.set(
                at(ty, tx, TILE),
                b.get_if(b_k < k && column < n, || at(b_k, column, ldb), 0.0),
            );
            // RAW: both tiles are filled before any thread reads what others wrote.
            thread::sync_threads();
            unrolled!(TILE, |i| sum += a_s.get(at(ty, i, TILE)) * b_s.get(at(i, tx, TILE)));
            // WAR: both tiles are drained before the next k-tile overwrites them.
            thread::sync_threads();
            k0 += TILE;
        }
        c.set_if(row < m && column < n, || at(row, column, ldc), || sum);
    }
}
