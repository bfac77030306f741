//! Exercise 12.1: as many stages as fit.
//!
//! A pipeline with stages of 24 KiB runs on every architecture, with as many stages as the opt-in limit of its CTAs
//! holds, four at most. `stages` has been tuned on an H100.

use cuda_std::{kernel, shared::dynamic_shared_mem, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Bytes of a stage.
pub const STAGE_BYTES: u32 = 24 * 1024;
/// Words of a stage.
const STAGE: usize = STAGE_BYTES as usize / 4;
/// Threads of the CTA.
const THREADS: usize = 64;

/// Stages of a launch where a CTA may have `optin_bytes` of shared memory.
pub fn stages(optin_bytes: u32) -> u32 {
    optin_bytes.div_ceil(STAGE_BYTES).min(5)
}

/// Writes the sum of the elements that pass through each stage.
///
/// # Safety
/// `from` has `64 * stages` elements, `to` one for each stage; one CTA of 64 threads with dynamic shared memory for all
/// stages.
#[kernel]
pub unsafe fn sums(from: *const u32, to: *mut u32, stages: usize) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS < STAGE.
    unsafe {
        let from = Global::new(from, THREADS * stages);
        let memory = Shared::new(dynamic_shared_mem::<u32>(), stages * STAGE);
        for stage in 0..stages {
            memory.set(stage * STAGE + t, from.get(stage * THREADS + t));
        }
        // RAW: all stages are filled.
        thread::sync_threads();
        if t < stages {
            let sum = (0..THREADS).map(|i| memory.get(t * STAGE + i)).sum();
            GlobalMut::new(to, stages).set(t, sum);
        }
    }
}
