//! Exercise 9.1: rows of 128 bytes.
//!
//! One warp stores 8 rows of 64 elements of 2 bytes and loads eight matrices of 8 x 8 with `ldmatrix`. A row is 128
//! bytes, so the eight rows of a matrix start in the same banks. Permute the 16-byte vectors of each row.

use cuda_std::{kernel, shared::dynamic_shared_mem, thread, warp};
use cuda_views::{GlobalMut, Shared, matrix};

/// Elements of a row: eight 16-byte vectors of 8.
const ROW: usize = 64;
/// Rows.
const ROWS: usize = 8;

/// The element at which a vector of a row starts.
fn at(row: usize, vector: usize) -> usize {
    row * ROW + 8 * vector
}

/// Writes the words that each lane receives of eight matrices.
///
/// # Safety
/// `to` has 8 x 32 elements; one CTA of 32 threads with 1024 bytes of dynamic shared memory.
#[kernel]
pub unsafe fn matrices(to: *mut u32) {
    let lane = thread::thread_idx_x() as usize;
    // SAFETY: all lanes reach every instruction; rows are below ROWS, vectors below 8.
    unsafe {
        let to = GlobalMut::new(to, 8 * 32);
        let tile = Shared::new(dynamic_shared_mem::<u16>(), ROW * ROWS);
        let words = Shared::new(dynamic_shared_mem::<u32>(), ROW * ROWS / 2);
        for pass in 0..2 {
            // Eight lanes store the eight vectors of a row.
            let (row, vector) = (4 * pass + lane / 8, lane % 8);
            let first = (row * ROW + 8 * vector) as u32;
            let pair = |i: u32| (first + 2 * i) | ((first + 2 * i + 1) << 16);
            words.set_vec(at(row, vector) / 2, [pair(0), pair(1), pair(2), pair(3)]);
        }
        // RAW: `ldmatrix` reads what other lanes stored.
        warp::sync_warp(u32::MAX);
        for half in 0..2 {
            // Lane 8 i + r supplies the address of row r of matrix i.
            let words: [u32; 4] = matrix::load(tile, at(lane % 8, 4 * half + lane / 8), false);
            for (i, word) in words.into_iter().enumerate() {
                to.set((4 * half + i) * 32 + lane, word);
            }
        }
    }
}
