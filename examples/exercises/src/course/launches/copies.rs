//! Chapters 8, 12 to 14, 16 and 17: `cp.async`, budgets, spills, reductions, tests and families.

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::{GlobalBuffer, Launch, Limits, Schedule};

use super::{buffer, numbers, pick, reversed_rows, small};
use crate::course::{Outcome, Version};
use crate::support::Shape;

/// 64 elements, loaded by `cp.async`.
pub fn ch08_commit(version: Version) -> Outcome {
    let kernel = pick!(version, ch08_commit::reverse);
    let (from, to) = (buffer("from", 0..64), GlobalBuffer::uninit(64).named("to"));
    // SAFETY: 64 elements.
    let report = Launch::new(1, 64).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr()) });
    Outcome::default().launch(report, &to.to_vec(), &reversed_rows(64, 64))
}

/// Seven tiles through three stages.
pub fn ch08_groups(version: Version) -> Outcome {
    let kernel = pick!(version, ch08_groups::double);
    let (from, to) = (buffer("from", 0..224), GlobalBuffer::uninit(224).named("to"));
    // SAFETY: seven tiles of 32 elements.
    let report = Launch::new(1, 32).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), 7) });
    let expected: Vec<u32> = (0..224).map(|i| 2 * i).collect();
    Outcome::default().launch(report, &to.to_vec(), &expected)
}

/// Five tiles through two stages.
pub fn ch08_refill(version: Version) -> Outcome {
    let kernel = pick!(version, ch08_refill::reverse);
    let (from, to) = (buffer("from", 0..320), GlobalBuffer::uninit(320).named("to"));
    // SAFETY: five tiles of 64 elements.
    let report = Launch::new(1, 64).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), 5) });
    Outcome::default().launch(report, &to.to_vec(), &reversed_rows(320, 64))
}

/// As many stages as two architectures hold.
pub fn ch12_stages(version: Version) -> Outcome {
    let (kernel, stages) = (pick!(version, ch12_stages::sums), pick!(version, ch12_stages::stages));
    let stage_bytes = pick!(version, ch12_stages::STAGE_BYTES);
    let mut outcome = Outcome::default();
    for (arch, expected) in [("sm_90", 4_u32), ("sm_75", 2), ("sm_120", 4)] {
        let Some(limits) = Limits::of_arch(arch) else { continue };
        let count = stages(limits.shared_bytes);
        let from = buffer("from", 0..64 * count);
        let to = GlobalBuffer::uninit(count as usize).named("to");
        // SAFETY: lengths and shared memory as the kernel asks for.
        let run = || unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), count as usize) };
        let launch = Launch::new(1, 64)
            .limits(limits)
            .dynamic_shared_bytes(count * stage_bytes);
        let sums: Vec<u32> = (0..expected).map(|stage| 64 * 64 * stage + 32 * 63).collect();
        outcome = outcome.launch(launch.run(run), &to.to_vec(), &sums);
    }
    outcome
}

/// The scales of three stages.
pub fn ch12_scales(version: Version) -> Outcome {
    let kernel = pick!(version, ch12_scales::scales);
    let bytes = pick!(version, ch12_scales::dynamic_bytes)(3) as u32;
    let to = GlobalBuffer::uninit(1).named("to");
    // SAFETY: the simulator refuses what the shared memory does not hold.
    let run = || unsafe { kernel(to.as_mut_ptr(), 3) };
    let report = Launch::new(1, 128).dynamic_shared_bytes(bytes).run(run);
    Outcome::default().launch(report, &to.to_vec(), &[128 * 3])
}

/// Eight values of 128 threads.
pub fn ch13_slots(version: Version) -> Outcome {
    let kernel = pick!(version, ch13_slots::spilled);
    let (from, to) = (buffer("from", 0..1024), GlobalBuffer::uninit(128).named("to"));
    // SAFETY: 1024 elements.
    let report = Launch::new(1, 128).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr()) });
    let expected: Vec<u32> = (0..128).map(|t| (0..8).map(|slot| slot * 128 + t).sum()).collect();
    Outcome::default()
        .launch(report, &to.to_vec(), &expected)
        .at_most(
            "wavefronts of stores to shared memory",
            Space::Shared,
            AccessKind::Write,
            32,
        )
        .at_most(
            "wavefronts of loads from shared memory",
            Space::Shared,
            AccessKind::Read,
            32,
        )
}

/// Four values of 256 threads.
pub fn ch13_bounds(version: Version) -> Outcome {
    let kernel = pick!(version, ch13_bounds::spilled);
    let (from, to) = (buffer("from", 0..1024), GlobalBuffer::uninit(256).named("to"));
    // SAFETY: 1024 elements.
    let report = Launch::new(1, 256).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr()) });
    let expected: Vec<u32> = (0..256).map(|t| (0..4).map(|slot| slot * 256 + t).sum()).collect();
    Outcome::default().launch(report, &to.to_vec(), &expected)
}

/// The sum of 64 elements in four splits.
pub fn ch14_fence(version: Version) -> Outcome {
    let kernel = pick!(version, ch14_fence::sum);
    let (from, partial) = (buffer("from", 0..64), GlobalBuffer::uninit(4).named("partial"));
    let (counter, total) = (GlobalBuffer::zeroed(1), GlobalBuffer::uninit(1).named("total"));
    let run = || {
        // SAFETY: 16 elements for each of four CTAs.
        unsafe {
            kernel(
                from.as_ptr(),
                partial.as_mut_ptr(),
                counter.as_mut_ptr(),
                total.as_mut_ptr(),
            )
        }
    };
    let report = Launch::new(4, 1).run(run);
    Outcome::default().launch(report, &total.to_vec(), &[numbers(0..64).iter().sum()])
}

/// Even elements of 256, counted by four CTAs.
pub fn ch14_scope(version: Version) -> Outcome {
    let kernel = pick!(version, ch14_scope::count_even);
    let (from, count) = (buffer("from", 0..256), GlobalBuffer::zeroed(1).named("count"));
    // SAFETY: an element for each thread.
    let report = Launch::new(4, 64).run(|| unsafe { kernel(from.as_ptr(), count.as_mut_ptr(), 256) });
    Outcome::default().launch(report, &count.to_vec(), &[128])
}

/// Sums of neighbors, of many lengths.
pub fn ch16_lengths(version: Version) -> Outcome {
    let kernel = pick!(version, ch16_lengths::add_neighbors);
    let mut outcome = Outcome::default();
    for len in [64_u32, 128, 1, 63, 65, 130] {
        let (from, to) = (buffer("from", 0..len), GlobalBuffer::uninit(len as usize).named("to"));
        // SAFETY: `len` elements.
        let run = || unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), len as usize) };
        let report = Launch::new(len.div_ceil(64), 64).run(run);
        let expected: Vec<u32> = (0..len).map(|i| if i + 1 < len { 2 * i + 1 } else { i }).collect();
        outcome = outcome.launch(report, &to.to_vec(), &expected);
    }
    outcome
}

/// 128 elements doubled, under every schedule.
pub fn ch16_order(version: Version) -> Outcome {
    let kernel = pick!(version, ch16_order::double);
    let (from, to) = (buffer("from", 0..128), GlobalBuffer::uninit(128).named("to"));
    let counter = GlobalBuffer::zeroed(1);
    // SAFETY: an element for each thread.
    let run = || unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), counter.as_mut_ptr(), 128) };
    let report = Launch::new(2, 64).schedule(Schedule::All).run(run);
    let expected: Vec<u32> = (0..128).map(|i| 2 * i).collect();
    Outcome::default().launch(report, &to.to_vec(), &expected)
}

/// Tiles that are square and tiles that are not.
pub fn ch17_layout(version: Version) -> Outcome {
    let kernel = pick!(version, ch17_layout::ones);
    let bytes = pick!(version, ch17_layout::dynamic_bytes);
    let mut outcome = Outcome::default();
    for tile @ [m, n, k] in [[8, 8, 8], [4, 8, 16], [8, 4, 2]] {
        let to = GlobalBuffer::<f32>::uninit(m * n).named("to");
        // SAFETY: the simulator refuses what the shared memory does not hold.
        let run = || unsafe { kernel(to.as_mut_ptr(), m, n, k) };
        let launch = Launch::new(1, (n as u32, m as u32)).dynamic_shared_bytes(bytes(tile) as u32);
        outcome = outcome.launch(launch.run(run), &to.to_vec(), &vec![k as f32; m * n]);
    }
    outcome
}

/// A product of square matrices, and one of no such extents, with longer rows.
pub fn ch17_general(version: Version) -> Outcome {
    let kernel = pick!(version, ch17_general::product);
    let mut outcome = Outcome::default();
    for shape in [
        Shape {
            m: 8,
            n: 8,
            k: 8,
            ld: [8; 3],
        },
        Shape {
            m: 9,
            n: 13,
            k: 5,
            ld: [7, 14, 16],
        },
    ] {
        let Shape { m, n, k, ld } = shape;
        let matrix = |rows: usize, columns: usize, ld: usize, seed: usize, name: &str| {
            let elems = small(seed, (rows - 1) * ld + columns);
            (GlobalBuffer::matrix(&elems, rows, columns, ld).named(name), elems)
        };
        let ((on_a, a), (on_b, b)) = (matrix(m, k, ld[0], 1, "a"), matrix(k, n, ld[1], 2, "b"));
        let c = GlobalBuffer::<f32>::matrix_uninit(m, n, ld[2]).named("c");
        // SAFETY: the matrices are those of the shape.
        let run = || unsafe { kernel(on_a.as_ptr(), on_b.as_ptr(), c.as_mut_ptr(), shape) };
        let report = Launch::new((n.div_ceil(8) as u32, m.div_ceil(8) as u32), (8, 8)).run(run);
        let all = c.to_vec();
        let found: Vec<f32> = (0..m * n).map(|i| all[i / n * ld[2] + i % n]).collect();
        let element = |i: usize| {
            let products = (0..k).map(|l| a[i / n * ld[0] + l] * b[l * ld[1] + i % n]);
            products.sum()
        };
        let expected: Vec<f32> = (0..m * n).map(element).collect();
        outcome = outcome.launch(report, &found, &expected);
    }
    outcome
}
