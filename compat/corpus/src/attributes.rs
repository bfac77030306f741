//! The options of `#[kernel(..)]`, which the published macro has not. None of them changes what a kernel computes.

use cuda_std::prelude::*;

/// The rows of a block of [`bounded_square`].
const ROWS: u32 = 8;

/// Every option that every architecture has, with a number that only the compiler knows.
#[kernel(max_threads = (16, ROWS), min_blocks = 2, max_registers = 64)]
pub unsafe fn bounded_square(out: *mut u32) {
    let t = thread::thread_idx_y() * 16 + thread::thread_idx_x();
    *out.add((thread::block_idx_x() * 128 + t) as usize) = t * t;
}

/// Its name in the PTX is not that in the source.
#[kernel(max_threads = 64, block_dim = 1d)]
#[export_name = "corpus_bounded_line"]
pub unsafe fn bounded_line(out: *mut u32) {
    let i = thread::index_1d() as usize;
    *out.add(i) = 5 * i as u32;
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case};

    let squares = (0..256).map(|t: u32| (t % 128) * (t % 128));
    let mut square = Case::new(entry!(bounded_square(_)), 2, 16, vec![Argument::out_u32(squares)]);
    square.block = [16, ROWS, 1];
    let mut line = Case::new(
        entry!(bounded_line(_)),
        2,
        64,
        vec![Argument::out_u32((0..128).map(|i| 5 * i))],
    );
    line.kernel = "corpus_bounded_line";
    vec![square, line]
}
