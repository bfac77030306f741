//! Chapters 5 to 7: banks, registers, vectors and stages.

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::{Dim3, GlobalBuffer, Launch};

use super::{buffer, numbers, pick, reversed_rows, small, square_product};
use crate::course::{Outcome, Version};

const LOADS: &str = "wavefronts of loads from shared memory";
const STORES: &str = "wavefronts of stores to shared memory";

/// A kernel that transposes a matrix of 32 x 32.
type Transpose = unsafe fn(*const u32, *mut u32);

fn transposed(kernel: Transpose) -> Outcome {
    let (from, to) = (buffer("from", 0..1024), GlobalBuffer::uninit(1024).named("to"));
    // SAFETY: 32 x 32 elements.
    let report = Launch::new(1, (32, 8)).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr()) });
    let expected: Vec<u32> = (0..1024).map(|i| i % 32 * 32 + i / 32).collect();
    Outcome::default()
        .launch(report, &to.to_vec(), &expected)
        .at_most(LOADS, Space::Shared, AccessKind::Read, 32)
        .at_most(STORES, Space::Shared, AccessKind::Write, 32)
}

/// A transpose, with padding or not.
pub fn ch05_transpose(version: Version) -> Outcome {
    transposed(pick!(version, ch05_transpose::transpose))
}

/// The sum of 256 elements by a tree.
pub fn ch05_tree(version: Version) -> Outcome {
    let kernel = pick!(version, ch05_tree::sum);
    let (from, to) = (buffer("from", 0..256), GlobalBuffer::uninit(1).named("to"));
    // SAFETY: 256 elements.
    let report = Launch::new(1, 256).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr()) });
    // Two loads for each warp that is active on a level: 4, 2, 1 and five times 1 warps; and the result.
    let most = 2 * (4 + 2 + 1 + 5) + 1;
    Outcome::default()
        .launch(report, &to.to_vec(), &[numbers(0..256).iter().sum()])
        .at_most(LOADS, Space::Shared, AccessKind::Read, most)
}

/// A transpose with a swizzle.
pub fn ch05_swizzle(version: Version) -> Outcome {
    transposed(pick!(version, ch05_swizzle::transpose))
}

/// A product of 64 x 64 with some rows per thread.
pub fn ch06_column(version: Version) -> Outcome {
    const WIDTH: usize = 64;
    let kernel = pick!(version, ch06_column::product);
    let rows = pick!(version, ch06_column::ROWS).clamp(1, 32);
    let (a, b) = (small(1, WIDTH * WIDTH), small(2, WIDTH * WIDTH));
    let (on_a, on_b) = (GlobalBuffer::from_slice(&a), GlobalBuffer::from_slice(&b));
    let p = GlobalBuffer::<f32>::uninit(WIDTH * WIDTH);
    let block = Dim3::from((32, 32 / rows as u32));
    // SAFETY: the matrices have WIDTH * WIDTH elements, and the grid covers them.
    let run = || unsafe { kernel(on_a.as_ptr(), on_b.as_ptr(), p.as_mut_ptr(), WIDTH) };
    let report = Launch::new((2, 2), block).run(run);
    // For each i of 64, in each of 4 CTAs, 8 warps: one wavefront of B, four of A.
    let most = 64 * 4 * 8 * 5;
    Outcome::default()
        .launch(report, &p.to_vec(), &square_product(&a, &b, WIDTH))
        .at_most(LOADS, Space::Shared, AccessKind::Read, most)
}

/// A row of 64 columns, two for each lane.
pub fn ch06_spread(version: Version) -> Outcome {
    let kernel = pick!(version, ch06_spread::scale);
    let (from, to) = (buffer("from", 0..64), GlobalBuffer::uninit(64).named("to"));
    // SAFETY: 64 elements.
    let report = Launch::new(1, 32).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr()) });
    let expected: Vec<u32> = (0..64).map(|i| 3 * i).collect();
    Outcome::default()
        .launch(report, &to.to_vec(), &expected)
        .at_most(LOADS, Space::Shared, AccessKind::Read, 2)
}

/// Rows that start at multiples of 16 bytes, and rows that do not.
pub fn ch07_vectors(version: Version) -> Outcome {
    const ROWS: usize = 6;
    const COLUMNS: usize = 32;
    let kernel = pick!(version, ch07_vectors::pack);
    let mut outcome = Outcome::default();
    for ld in [36, 37, 34] {
        let elems = numbers(0..(ROWS * ld) as u32);
        let from = GlobalBuffer::matrix(&elems, ROWS, COLUMNS, ld).named("from");
        let to = GlobalBuffer::uninit(ROWS * COLUMNS).named("to");
        // SAFETY: the matrices are those that the kernel asks for.
        let run = || unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), ROWS, COLUMNS, ld) };
        let report = Launch::new(ROWS as u32, COLUMNS as u32 / 4).run(run);
        let expected: Vec<u32> = (0..ROWS * COLUMNS)
            .map(|i| (i / COLUMNS * ld + i % COLUMNS) as u32)
            .collect();
        outcome = outcome.launch(report, &to.to_vec(), &expected);
        if ld == 36 {
            // One request for each CTA, of 128 bytes: four sectors, or five where the row starts within one.
            outcome = outcome.at_most("sectors loaded where ld is 36", Space::Global, AccessKind::Read, 6 * 5);
        }
    }
    outcome
}

/// Four tiles of 64 elements.
pub fn ch07_double(version: Version) -> Outcome {
    let kernel = pick!(version, ch07_double::reverse);
    let (from, to) = (buffer("from", 0..256), GlobalBuffer::uninit(256).named("to"));
    // SAFETY: four tiles.
    let report = Launch::new(1, 64).run(|| unsafe { kernel(from.as_ptr(), to.as_mut_ptr(), 4) });
    Outcome::default().launch(report, &to.to_vec(), &reversed_rows(256, 64))
}
