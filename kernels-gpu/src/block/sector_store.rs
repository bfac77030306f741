//! Stores of C of 16 bits in whole sectors of 32 bytes, wherever its rows begin: `C = acc`, rounded.
//!
//! L2 takes a sector that is written in part for about twice as long as a whole one. So a tile stores other columns of
//! each row of C: those of whole sectors, which begin up to 15 elements to the left of its own first column, the row's
//! shift. It computes as many columns more, and its neighbor on the left computes them too. Only the ends of a row of C
//! are stored in part.
//!
//! A warp passes 16 rows through a buffer in shared memory, where the first sector of a row is at the same place
//! whatever its shift. Pairs of neighbors are stored there as words: where the shift is odd, one element further than
//! said, and the lane that loads a vector takes halves of five words.

use bytemuck::{Pod, cast};
use cuda_std::{thread, warp};
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{Swizzle, TensorTile};

use crate::block::unroll::unrolled;
use crate::ptx::{optimization_barrier, permute};

/// Rows of a warp: those of an MMA atom.
const ROWS: u32 = TensorTile::MMA_ATOM;

/// Elements of a sector, and of a vector.
const SECTOR: u32 = TensorTile::OVERLAP;
const VECTOR: u32 = Swizzle::VECTOR;

/// Columns that a tile computes, and those that it stores.
pub const COLUMNS: u32 = 128;
const STORED: u32 = COLUMNS - SECTOR;

/// Elements of a row of the buffer: a sector before the first one, and as many after the last one, that no element is
/// outside. Neither pairs of 8 rows nor vectors of a row have bank conflicts.
const PITCH: u32 = COLUMNS + TensorTile::STORE_PADDING;

/// Elements of the buffer of a warp.
pub const BUFFER_ELEMS: u32 = ROWS * PITCH;

/// Lanes of a row, of which those with a vector of it load.
const LANES_OF_ROW: u32 = COLUMNS / VECTOR;
const ROWS_OF_PASS: u32 = 32 / LANES_OF_ROW;

/// Vectors of a lane.
const PASSES: usize = (ROWS / ROWS_OF_PASS) as usize;

/// 16 rows of a warp's tiles of C.
#[derive(Clone, Copy)]
pub struct SectorStore<F> {
    c: GlobalMut<F>,
    buffer: Shared<F>,
    ld: u32,
    /// Where rows and columns of C end.
    end: [u32; 2],
    /// Elements from a multiple of 32 bytes to C.
    first: u32,
}

impl<F: Pod> SectorStore<F> {
    /// Rows of `c`, of so many rows and columns, which are `ld` elements apart; `buffer` has [`BUFFER_ELEMS`] elements
    /// and begins at a multiple of 16 bytes.
    #[inline(always)]
    pub fn new(c: GlobalMut<F>, ld: u32, end: [u32; 2], buffer: Shared<F>) -> Self {
        const { assert!(size_of::<F>() == 2, "words are pairs") };
        let first = (c.as_mut_ptr().addr() / 2) as u32 % SECTOR;
        Self {
            c,
            buffer,
            ld,
            end,
            first,
        }
    }

    /// Elements from a multiple of 32 bytes to a row of C.
    #[inline(always)]
    fn shift(self, row: u32) -> u32 {
        self.first.wrapping_add(row.wrapping_mul(self.ld)) % SECTOR
    }

    /// Where the columns of a row go that are computed, pairs as words; `column` is the tile's first one.
    #[inline(always)]
    pub fn row(self, row: u32, below: u32, column: u32) -> Shared<F> {
        let shift = self.shift(row + below).next_multiple_of(2);
        // What a tile computes begins a sector before its first column, where there is one.
        let at = if column == 0 { shift + SECTOR } else { shift };
        // SAFETY: as many columns are in a row of the buffer from there on.
        unsafe { self.buffer.part((below * PITCH + at) as usize, COLUMNS as usize) }
    }

    /// Stores the sectors of the tile that begins at `row` and `column`, whose elements are in the buffer.
    ///
    /// # Safety
    /// C is as the launch says; no other thread accesses the elements of C of this warp, nor the buffer. All lanes of
    /// the warp are here. Between this and the elements of the next tile there is a barrier.
    #[inline(always)]
    pub unsafe fn store(self, row: u32, column: u32) {
        // Computed again for each tile: kept, it would take registers from the accumulators.
        let lane = (thread::thread_idx_x() + optimization_barrier::zero()) % 32;
        let (first_below, at) = (lane / LANES_OF_ROW, lane % LANES_OF_ROW * VECTOR);
        // SAFETY: the caller's promise. Each vector is inside C, at a multiple of 16 bytes, and in the buffer.
        unsafe {
            // RAW: the warp's elements are written.
            warp::sync_warp(u32::MAX);
            let words = Shared::<u32>::new(self.buffer.as_mut_ptr().cast(), BUFFER_ELEMS as usize / 2);
            unrolled!(PASSES, at most 8, |pass| {
                let below = first_below + pass as u32 * ROWS_OF_PASS;
                let (row, shift) = (row + below, self.shift(row + below));
                // Counted from the row's first sector on.
                let from = column + at;
                let is_inside = shift <= from && from + VECTOR <= self.end[1] + shift;
                if at < STORED && row < self.end[0] && is_inside {
                    let word = (below * PITCH + SECTOR + at) as usize / 2;
                    let [a, b, c, d] = words.get_vec::<4>(word);
                    let is_odd = !shift.is_multiple_of(2);
                    let loaded = [a, b, c, d, words.get_if(is_odd, || word + 4, 0)];
                    let halves = if is_odd { permute::MIDDLE_WORD } else { permute::LOW_WORD };
                    let vector: [u32; 4] = core::array::from_fn(|i| permute::bytes(loaded[i], loaded[i + 1], halves));
                    self.c.set_vec::<8>(self.in_c(row, from - shift), cast(vector));
                }
            });
            if column == 0 || column + STORED >= self.end[1] {
                self.store_ends(row, column, lane);
            }
        }
    }

    /// Stores the elements of vectors that are C's in part, at both ends of a row: 8 lanes each.
    ///
    /// # Safety
    /// As for [`store`](Self::store).
    #[inline(always)]
    unsafe fn store_ends(self, row: u32, column: u32, lane: u32) {
        let mut pass = 0;
        while pass < 2 * ROWS / (32 / VECTOR) {
            let end = pass * (32 / VECTOR) + lane / VECTOR;
            let (below, is_right) = (end / 2, !end.is_multiple_of(2));
            let (row, shift) = (row + below, self.shift(row + below));
            // Counted from the row's first sector on.
            let right = self.end[1] + shift;
            let vector = if is_right { right } else { shift } / VECTOR * VECTOR;
            let is_other = is_right || vector != right / VECTOR * VECTOR;
            let in_part = vector < shift || vector + VECTOR > right;
            let at = vector + lane % VECTOR;
            let in_tile = column <= vector && vector < column + STORED;
            if row < self.end[0] && is_other && in_part && in_tile && shift <= at && at < right {
                // SAFETY: in the buffer and inside C.
                unsafe {
                    let place = below * PITCH + SECTOR + at - column + shift % 2;
                    let value = self.buffer.get(place as usize);
                    self.c.set(self.in_c(row, at - shift), value);
                }
            }
            pass += 1;
        }
    }

    /// Index of an element of C.
    #[inline(always)]
    fn in_c(self, row: u32, column: u32) -> usize {
        row as usize * self.ld as usize + column as usize
    }
}
