//! Sequences of different lengths, filled up with zeros to one length: asynchronous copies that read less than they
//! write.
//!
//! ```text
//! copy(own elements of the stage, own elements of the sequence, as many as it has)
//! commit, wait                                no barrier: each thread reads what it copied itself
//! output = own elements of the stage
//! ```
//!
//! One kernel for each number of bytes that a copy can have.
//!
//! Block: 32 threads, as many elements as they copy at once. Grid: one block for each sequence.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

use crate::ptx::async_copy;

/// Threads of a block.
pub const THREADS: usize = 32;

/// Sixteen bytes aligned to as many.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub struct Vector(#[allow(dead_code)] [u32; 4]);

/// Writes to `output` sequence `block` of `input`, of `lens[block]` elements, followed by zeros. `N` elements a copy.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
unsafe fn pad<const N: usize>(input: *const u32, lens: *const u32, output: *mut u32) {
    let (t, block, blocks) = (
        thread::thread_idx_x() as usize,
        thread::block_idx_x() as usize,
        thread::grid_dim_x() as usize,
    );
    let pitch = N * THREADS;
    // SAFETY: so many elements there are; each thread has N of the stage and of the output. `len` is at most `pitch`.
    unsafe {
        let (input, output) = (
            Global::new(input, blocks * pitch),
            GlobalMut::new(output, blocks * pitch),
        );
        let stage = Shared::new(shared_array![Vector; THREADS].cast::<u32>(), 4 * THREADS);
        let len = Global::new(lens, blocks).get(block) as usize;
        let valid = len.saturating_sub(N * t).min(N);
        let first = block * pitch + N * t;
        async_copy::copy::<u32, N>(stage, (N * t) as u32, input, || first, valid as u32);
        async_copy::commit();
        async_copy::wait::<0>();
        for i in 0..N {
            output.set(first + i, stage.get(N * t + i));
        }
    }
}

/// Copies 4 bytes at a time.
///
/// # Safety
/// - `input` and `output` have `THREADS` elements for each block in global memory and do not overlap.
/// - `lens` has an element for each block, each at most as much.
/// - The block has [`THREADS`] threads along x.
#[kernel]
pub unsafe fn pad_4_bytes(input: *const u32, lens: *const u32, output: *mut u32) {
    // SAFETY: the caller's promise.
    unsafe { pad::<1>(input, lens, output) };
}

/// Copies 8 bytes at a time.
///
/// # Safety
/// As for [`pad_4_bytes`], with twice as many elements; `input` is aligned to 8 bytes.
#[kernel]
pub unsafe fn pad_8_bytes(input: *const u32, lens: *const u32, output: *mut u32) {
    // SAFETY: the caller's promise.
    unsafe { pad::<2>(input, lens, output) };
}

/// Copies 16 bytes at a time.
///
/// # Safety
/// As for [`pad_4_bytes`], with four times as many elements; `input` is aligned to 16 bytes.
#[kernel]
pub unsafe fn pad_16_bytes(input: *const u32, lens: *const u32, output: *mut u32) {
    // SAFETY: the caller's promise.
    unsafe { pad::<4>(input, lens, output) };
}
