//! Chapters 9 to 11 and 15: matrix instructions, TMA, mbarriers, clusters.

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::{GlobalBuffer, Launch};

use super::{buffer, numbers, pick};
use crate::course::{Outcome, Version};
use crate::support::{MEMORY_BYTES, OPERANDS, map_of};

/// A launch of one CTA with the mbarriers and boxes.
fn one_cta(threads: u32) -> Launch {
    Launch::new(1, threads).dynamic_shared_bytes(MEMORY_BYTES)
}

/// Eight matrices of 8 x 8.
pub fn ch09_ldmatrix(version: Version) -> Outcome {
    let kernel = pick!(version, ch09_ldmatrix::matrices);
    let to = GlobalBuffer::uninit(256).named("to");
    // SAFETY: lengths and shared memory as the kernel asks for.
    let run = || unsafe { kernel(to.as_mut_ptr()) };
    let report = Launch::new(1, 32).dynamic_shared_bytes(1024).run(run);
    // Lane l gets the elements 2 (l % 4) and the next of row l / 4.
    let word = |i: u32| {
        let (matrix, lane) = (i / 32, i % 32);
        let low = lane / 4 * 64 + 8 * matrix + 2 * (lane % 4);
        low | (low + 1) << 16
    };
    let expected: Vec<u32> = (0..256).map(word).collect();
    Outcome::default()
        .launch(report, &to.to_vec(), &expected)
        .at_most("wavefronts of ldmatrix", Space::Shared, AccessKind::Read, 8)
        .at_most(
            "wavefronts of stores to shared memory",
            Space::Shared,
            AccessKind::Write,
            8,
        )
}

/// Three products of a warpgroup.
pub fn ch09_fence(version: Version) -> Outcome {
    let kernel = pick!(version, ch09_fence::products);
    let to = GlobalBuffer::uninit(128).named("to");
    // SAFETY: lengths and shared memory as the kernel asks for.
    let run = || unsafe { kernel(to.as_mut_ptr()) };
    let report = Launch::new(1, 128).dynamic_shared_bytes(2 * OPERANDS as u32).run(run);
    Outcome::default().launch(report, &to.to_vec(), &[((16 * 2 + 16) * 2 + 16) * 2; 128])
}

/// Three rounds through one stage.
pub fn ch10_parity(version: Version) -> Outcome {
    let kernel = pick!(version, ch10_parity::rounds);
    let to = GlobalBuffer::uninit(96).named("to");
    // SAFETY: lengths and shared memory as the kernel asks for.
    let report = one_cta(64).run(|| unsafe { kernel(to.as_mut_ptr()) });
    let expected: Vec<u32> = (0..96).map(|i| i / 32 * 100 + 31 - i % 32).collect();
    Outcome::default().launch(report, &to.to_vec(), &expected)
}

/// Two boxes on one mbarrier.
pub fn ch10_bytes(version: Version) -> Outcome {
    let kernel = pick!(version, ch10_bytes::add);
    let (from, to) = (buffer("from", 0..64), GlobalBuffer::uninit(32).named("to"));
    let map = map_of(&from);
    // SAFETY: the map is of two boxes.
    let report = one_cta(32).run(|| unsafe { kernel(&raw const map, to.as_mut_ptr()) });
    let expected: Vec<u32> = (0..32).map(|i| 32 + 2 * i).collect();
    Outcome::default().launch(report, &to.to_vec(), &expected)
}

/// One box stored by TMA.
pub fn ch10_store(version: Version) -> Outcome {
    let kernel = pick!(version, ch10_store::store);
    let to = GlobalBuffer::uninit(32).named("to");
    let map = map_of(&to);
    // SAFETY: the map is of one box.
    let report = one_cta(32).run(|| unsafe { kernel(&raw const map) });
    let expected: Vec<u32> = (0..32).map(|i| 7 * i).collect();
    Outcome::default().launch(report, &to.to_vec(), &expected)
}

/// A kernel of two CTAs of a cluster that read each other's words.
fn exchanged(kernel: unsafe fn(*mut u32)) -> Outcome {
    let to = GlobalBuffer::uninit(64).named("to");
    let launch = Launch::new(2, 32).cluster(2).dynamic_shared_bytes(MEMORY_BYTES);
    // SAFETY: lengths and shared memory as the kernel asks for.
    let report = launch.run(|| unsafe { kernel(to.as_mut_ptr()) });
    let expected: Vec<u32> = (0..64).map(|i| i ^ 32).collect();
    Outcome::default().launch(report, &to.to_vec(), &expected)
}

/// An exchange whose first barrier is in question.
pub fn ch11_filled(version: Version) -> Outcome {
    exchanged(pick!(version, ch11_filled::exchange))
}

/// An exchange whose last barrier is in question.
pub fn ch11_exit(version: Version) -> Outcome {
    exchanged(pick!(version, ch11_exit::exchange))
}

/// Two boxes stored from one buffer.
pub fn ch15_reuse(version: Version) -> Outcome {
    let kernel = pick!(version, ch15_reuse::epilogue);
    let to = GlobalBuffer::uninit(64).named("to");
    let map = map_of(&to);
    // SAFETY: the map is of two boxes.
    let report = one_cta(32).run(|| unsafe { kernel(&raw const map) });
    Outcome::default().launch(report, &to.to_vec(), &numbers(0..64))
}

/// One box loaded by TMA.
pub fn ch15_init(version: Version) -> Outcome {
    let kernel = pick!(version, ch15_init::copy);
    let (from, to) = (buffer("from", 0..32), GlobalBuffer::uninit(32).named("to"));
    let map = map_of(&from);
    // SAFETY: the map is of one box.
    let report = one_cta(32).run(|| unsafe { kernel(&raw const map, to.as_mut_ptr()) });
    Outcome::default().launch(report, &to.to_vec(), &numbers(0..32))
}
