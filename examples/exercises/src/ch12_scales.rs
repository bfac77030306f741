//! Exercise 12.2: the scales that the sum forgot.
//!
//! A stage holds 128 x 64 elements of 4 bits and one byte of scale for every 16 of them. The formula of the launch
//! knows the elements.

use cuda_std::{kernel, shared::dynamic_shared_mem, thread};
use cuda_views::{GlobalMut, Shared};

/// Elements of a stage.
const ELEMS: usize = 128 * 64;
/// Bytes of the elements of a stage, two of them in a byte.
const ELEM_BYTES: usize = ELEMS / 2;
/// Bytes of the scales of a stage, one for 16 elements.
const SCALE_BYTES: usize = ELEMS / 16;

/// Dynamic shared memory of a launch.
pub const fn dynamic_bytes(stages: usize) -> usize {
    stages * ELEM_BYTES
}

/// Fills the scales of each stage with its number, and writes their sum.
///
/// # Safety
/// `to` has one element; one CTA of 128 threads with [`dynamic_bytes`] of dynamic shared memory.
#[kernel]
pub unsafe fn scales(to: *mut u32, stages: usize) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < 128.
    unsafe {
        // Elements of all stages first, then their scales, one word of four scales at a time.
        let start = dynamic_shared_mem::<u8>().add(stages * ELEM_BYTES).cast::<u32>();
        let scales = Shared::new(start, stages * SCALE_BYTES / 4);
        for stage in 0..stages {
            scales.set(stage * SCALE_BYTES / 4 + t, stage as u32);
        }
        // RAW: all scales are written.
        thread::sync_threads();
        if t == 0 {
            let sum = (0..stages * SCALE_BYTES / 4).map(|i| scales.get(i)).sum();
            GlobalMut::new(to, 1).set(0, sum);
        }
    }
}
