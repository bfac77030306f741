//! Exercise 10.1: the phase that a consumer waits for.
//!
//! Warp 0 fills a stage three times, warp 1 reads it. Two mbarriers say when the stage is full and when it is empty.
//! The parity of a wait says which phase is meant: that of round r is r & 1.

use cuda_std::{kernel, thread};
use cuda_views::GlobalMut;
use cuda_views::mbarrier::{arrive, wait};

use crate::support::{init_all, memory};

/// Writes the words of three rounds.
///
/// # Safety
/// `to` has 96 elements; one CTA of 64 threads with the dynamic shared memory of [`memory`].
#[kernel]
pub unsafe fn rounds(to: *mut u32) {
    let (t, lane) = (thread::thread_idx_x(), thread::thread_idx_x() as usize % 32);
    let (barriers, words) = memory();
    let (full, empty) = (0, 1);
    // SAFETY: lane < 32.
    unsafe {
        init_all(barriers, 2, 32);
        for round in 0..3 {
            if t < 32 {
                if round > 0 {
                    // WAR: the consumers have drained the round before.
                    wait(barriers, empty, (round - 1) & 1);
                }
                words.set(lane, 100 * round + lane as u32);
                arrive(barriers, full);
            } else {
                // RAW: the producers have filled this round.
                wait(barriers, full, (round + 1) & 1);
                GlobalMut::new(to, 96).set(32 * round as usize + lane, words.get(31 - lane));
                arrive(barriers, empty);
            }
        }
    }
}
