//! Chapters 1 to 4: tiles, static and dynamic shared memory, sizes, what the simulator sees.

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::{GlobalBuffer, Launch, Limits};

use super::{buffer, numbers, pick, reversed_rows, small, square_product};
use crate::course::{Outcome, Version};

/// The product of two matrices of 20 x 20 by CTAs of 16 x 16.
pub fn ch01_edges(version: Version) -> Outcome {
    const WIDTH: usize = 20;
    let kernel = pick!(version, ch01_edges::product);
    let (a, b) = (small(1, WIDTH * WIDTH), small(2, WIDTH * WIDTH));
    let [on_a, on_b] = [("a", &a), ("b", &b)].map(|(name, of)| GlobalBuffer::from_slice(of).named(name));
    let p = GlobalBuffer::<f32>::uninit(WIDTH * WIDTH).named("p");
    // SAFETY: the matrices have WIDTH * WIDTH elements, and the grid covers them.
    let run = || unsafe { kernel(on_a.as_ptr(), on_b.as_ptr(), p.as_mut_ptr(), WIDTH) };
    let report = Launch::new((2, 2), (16, 16)).run(run);
    Outcome::default().launch(report, &p.to_vec(), &square_product(&a, &b, WIDTH))
}

/// The product of two matrices of 32 x 32, and what it loads from global memory.
pub fn ch01_reuse(version: Version) -> Outcome {
    const WIDTH: usize = 32;
    let kernel = pick!(version, ch01_reuse::product);
    let (a, b) = (small(1, WIDTH * WIDTH), small(2, WIDTH * WIDTH));
    let (on_a, on_b) = (GlobalBuffer::from_slice(&a), GlobalBuffer::from_slice(&b));
    let p = GlobalBuffer::<f32>::uninit(WIDTH * WIDTH);
    // SAFETY: the matrices have WIDTH * WIDTH elements, and the grid covers them.
    let run = || unsafe { kernel(on_a.as_ptr(), on_b.as_ptr(), p.as_mut_ptr(), WIDTH) };
    let report = Launch::new((2, 2), (16, 16)).run(run);
    // Each CTA loads two tiles of A and two of B, of 1024 bytes.
    let most = 4 * 4 * 1024 / 32;
    Outcome::default()
        .launch(report, &p.to_vec(), &square_product(&a, &b, WIDTH))
        .at_most(
            "sectors loaded from global memory",
            Space::Global,
            AccessKind::Read,
            most,
        )
}

/// Two CTAs reverse 64 elements each.
pub fn ch02_filled(version: Version) -> Outcome {
    let kernel = pick!(version, ch02_filled::reverse);
    let data = buffer("data", 0..128);
    // SAFETY: 128 elements for two CTAs of 64 threads.
    let report = Launch::new(2, 64).run(|| unsafe { kernel(data.as_mut_ptr(), 128) });
    Outcome::default().launch(report, &data.to_vec(), &reversed_rows(128, 64))
}

/// A CTA reverses four rows of 64 elements.
pub fn ch02_drained(version: Version) -> Outcome {
    let kernel = pick!(version, ch02_drained::reverse_rows);
    let (from, to) = (buffer("from", 0..256), GlobalBuffer::uninit(256).named("to"));
    // SAFETY: four rows of 64 elements.
    let report = Launch::new(1, 64).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), 4) });
    Outcome::default().launch(report, &to.to_vec(), &reversed_rows(256, 64))
}

/// Two arrays of 64 words in one allocation.
pub fn ch02_offsets(version: Version) -> Outcome {
    let kernel = pick!(version, ch02_offsets::add_rows);
    let (from, to) = (buffer("from", 0..128), GlobalBuffer::uninit(64).named("to"));
    // SAFETY: lengths and shared memory as the kernel asks for.
    let run = || unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), 4 * 64) };
    let report = Launch::new(1, 64).dynamic_shared_bytes(2 * 4 * 64).run(run);
    let expected: Vec<u32> = (0..64).map(|i| i + 127 - i).collect();
    Outcome::default().launch(report, &to.to_vec(), &expected)
}

/// As much dynamic shared memory as three architectures allow.
pub fn ch03_limit(version: Version) -> Outcome {
    let (kernel, bytes) = (
        pick!(version, ch03_limit::fill),
        pick!(version, ch03_limit::dynamic_bytes),
    );
    let mut outcome = Outcome::default();
    for arch in ["sm_75", "sm_120", "sm_90"] {
        let Some(limits) = Limits::of_arch(arch) else { continue };
        let (optin, fixed) = (limits.shared_bytes, 4 * 64);
        let dynamic = bytes(optin);
        let to = GlobalBuffer::uninit(64).named("to");
        // SAFETY: the launch has the words.
        let run = || unsafe { kernel(to.as_mut_ptr(), dynamic as usize / 4) };
        let report = Launch::new(1, 64).limits(limits).dynamic_shared_bytes(dynamic).run(run);
        outcome = outcome.launch(report, &to.to_vec(), &[(optin - fixed) / 4; 64]);
    }
    outcome
}

/// Vectors after 33 words.
pub fn ch03_alignment(version: Version) -> Outcome {
    let kernel = pick!(version, ch03_alignment::sums);
    let offset = pick!(version, ch03_alignment::tile_offset)();
    let (from, to) = (buffer("from", 0..128), GlobalBuffer::uninit(32).named("to"));
    let bytes = (offset + 4 * pick!(version, ch03_alignment::TILE)) as u32;
    // SAFETY: lengths and shared memory as the kernel asks for.
    let run = || unsafe { kernel(from.as_ptr(), to.as_mut_ptr()) };
    let report = Launch::new(1, 32).dynamic_shared_bytes(bytes).run(run);
    let expected: Vec<u32> = (0..32).map(|t| 16 * t + 6).collect();
    Outcome::default().launch(report, &to.to_vec(), &expected)
}

/// Sums of three neighbors.
pub fn ch04_halo(version: Version) -> Outcome {
    let kernel = pick!(version, ch04_halo::stencil);
    let (from, to) = (buffer("from", 1..65), GlobalBuffer::uninit(64).named("to"));
    // SAFETY: 64 elements.
    let report = Launch::new(1, 64).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr()) });
    let expected: Vec<u32> = (1..65).map(|i| if i == 64 { 63 + 64 } else { 3 * i }).collect();
    Outcome::default().launch(report, &to.to_vec(), &expected)
}

/// The sum of 50 elements by 64 threads.
pub fn ch04_return(version: Version) -> Outcome {
    let kernel = pick!(version, ch04_return::sum);
    let (from, to) = (buffer("from", 0..50), GlobalBuffer::uninit(1).named("to"));
    // SAFETY: 50 elements.
    let report = Launch::new(1, 64).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), 50) });
    Outcome::default().launch(report, &to.to_vec(), &[numbers(0..50).iter().sum()])
}

/// The sum of 32 elements by one warp.
pub fn ch04_lockstep(version: Version) -> Outcome {
    let kernel = pick!(version, ch04_lockstep::sum);
    let (from, to) = (buffer("from", 0..32), GlobalBuffer::uninit(1).named("to"));
    // SAFETY: 32 elements.
    let report = Launch::new(1, 32).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr()) });
    Outcome::default().launch(report, &to.to_vec(), &[numbers(0..32).iter().sum()])
}
