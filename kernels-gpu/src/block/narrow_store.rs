//! Predicated store of a C of 16 bits that is not read: `C = alpha * acc`, rounded.
//!
//! As in the [store](crate::block::warp_store) of every C, a warp passes 16 rows at a time through shared memory, and
//! its lanes store whole rows. What is in shared memory is rounded already, so that the same buffer has 64 columns: an
//! instruction stores 128 bytes of a row, and half as many rows end in the middle of a sector of 32 bytes, which L2
//! writes slowly.
//!
//! Where a row of C begins at an odd element, no 4 bytes of it are a pair of neighbors in the buffer: a lane joins
//! halves of two. What is left over at both ends of the 16 rows is stored by one instruction more.

use bytemuck::{Pod, cast};
use cuda_std::{thread, warp};
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{GemmParams, span_elems};

use crate::block::element::Narrowed;
use crate::block::unroll::unrolled;
use crate::block::warp_store::{BUFFER_ELEMS, WarpTile};
use crate::ptx::mma::c_place;
use crate::ptx::optimization_barrier;

/// Rows: those of an MMA atom.
const ROWS: u32 = 16;

/// Vectors that a lane stores at once: more take registers that a kernel of many accumulators lacks.
const AT_ONCE: u32 = 4;

/// Words of 4 bytes, pairs of columns, that a row of the buffer has room for.
const MOST_WORDS: u32 = BUFFER_ELEMS as u32 / ROWS;

/// The buffer of a warp: rows of `words` words, 8, 16 or 32. All of it is known once this is inlined.
#[derive(Clone, Copy)]
struct Buffer {
    words: u32,
}

impl Buffer {
    /// For a warp's tile of so many columns.
    #[inline(always)]
    const fn of(columns: u32) -> Self {
        let words = columns / 2;
        Self {
            words: if words < MOST_WORDS { words } else { MOST_WORDS },
        }
    }

    /// Index of a word of a row: XORed so that neither pairs of columns of 8 rows nor whole rows have bank conflicts.
    #[inline(always)]
    const fn word(self, row: u32, word: u32) -> usize {
        let rows_of_banks = MOST_WORDS / self.words;
        (row * self.words + (word ^ (row / rows_of_banks % (self.words / 4) * 4))) as usize
    }
}

/// 16 rows of C, up to 64 columns of each.
#[derive(Clone, Copy)]
struct Rows<F> {
    c: GlobalMut<F>,
    ld: u32,
    /// The first row and column, and where rows end.
    row: u32,
    column: u32,
    end_row: u32,
    /// Columns that are in C.
    columns: u32,
    /// 1 if the address of the first row is no multiple of 4 bytes.
    first_odd: u32,
}

impl<F: Narrowed> Rows<F> {
    /// 1 if the address of a row is no multiple of 4 bytes.
    #[inline(always)]
    fn odd(self, below: u32) -> u32 {
        (self.first_odd + (below & self.ld)) % 2
    }

    /// Index of an element.
    #[inline(always)]
    fn index(self, below: u32, right: u32) -> usize {
        (self.row + below) as usize * self.ld as usize + (self.column + right) as usize
    }

    /// Stores what is in the buffer, in vectors of `V` elements, 2 or 4.
    ///
    /// # Safety
    /// C is as the launch says, and no other thread accesses these elements; rows are at a multiple of `V` elements, or
    /// `V` is 2. All lanes of the warp are here, and see the buffer.
    #[inline(always)]
    unsafe fn store<const V: usize>(self, buffer: Buffer, words: Shared<u32>) {
        let lane = (thread::thread_idx_x() + optimization_barrier::zero()) % 32;
        let (first, lanes_of_row) = (lane * const { V as u32 / 2 }, buffer.words / const { V as u32 / 2 });
        let (first_below, word) = (first / buffer.words, first % buffer.words);
        let rows_of_pass = 32 / lanes_of_row;
        let passes = ROWS / rows_of_pass;
        // SAFETY: inside the buffer, of which every word has been written that is in C; inside C, and aligned: the
        // address of element `odd` of a row is a multiple of 4 bytes, and `odd` is 0 where vectors are longer.
        unsafe {
            let mut done = optimization_barrier::zero();
            while done < passes {
                unrolled!(passes.min(AT_ONCE), at most 4, |pass| {
                    let below = first_below + (done + pass) * rows_of_pass;
                    let inside = self.row + below < self.end_row;
                    if V == 4 {
                        if inside && 2 * word < self.columns {
                            let [a, b] = words.get_vec::<2>(buffer.word(below, word)).map(pair::<F>);
                            self.c
                                .set_vec::<4>(self.index(below, 2 * word), [a[0], a[1], b[0], b[1]]);
                        }
                    } else {
                        let odd = self.odd(below);
                        let right = 2 * word + odd;
                        let is_stored = right + 1 < self.columns.min(2 * buffer.words);
                        let at = |word: u32| move || buffer.word(below, word);
                        let mut two = pair::<F>(words.get_if(is_stored, at(word), 0));
                        let next = pair::<F>(words.get_if(is_stored && odd != 0, at(word + 1), 0));
                        if odd != 0 {
                            two = [two[1], next[0]];
                        }
                        if inside && is_stored {
                            self.c.set_vec::<2>(self.index(below, right), two);
                        }
                    }
                });
                done += AT_ONCE;
            }
            // The ends of the rows, two lanes each.
            let columns = self.columns.min(2 * buffer.words);
            if V == 2 && !(self.first_odd | self.ld | columns).is_multiple_of(2) {
                let (below, is_last) = (lane / 2, !lane.is_multiple_of(2));
                let odd = self.odd(below);
                let right = if is_last { columns - 1 } else { 0 };
                let is_left_over = if is_last {
                    !(columns - odd).is_multiple_of(2)
                } else {
                    odd != 0
                };
                let two = pair::<F>(words.get(buffer.word(below, right / 2)));
                if is_left_over && self.row + below < self.end_row {
                    // Indexed by a variable, the pair would be in local memory.
                    let one = if right % 2 == 0 { two[0] } else { two[1] };
                    self.c.set(self.index(below, right), one);
                }
            }
        }
    }
}

/// The two elements of a word.
#[inline(always)]
fn pair<F: Pod>(word: u32) -> [F; 2] {
    cast(word)
}

/// Stores `alpha * acc` of a warp's accumulators, rounded to 16 bits, with bounds checks. `acc`: as for
/// [`warp_store::store`](crate::block::warp_store::store).
///
/// # Safety
/// As there; C is of `F`, which has 2 bytes, and its elements are not read.
#[inline(always)]
pub unsafe fn store<F: Narrowed, const SLABS: usize>(
    acc: &[f32],
    alpha: f32,
    tile: WarpTile,
    c: *mut F,
    params: &GemmParams<impl Sized>,
    buffer: Shared<f32>,
) {
    const { assert!(size_of::<F>() == 2, "a word of the buffer is two elements") };
    let (n, ld) = (params.n, params.ldc);
    let has_vectors = n.is_multiple_of(4) && ld.is_multiple_of(4) && c.addr().is_multiple_of(8);
    let first_odd = (c.addr() / 2 % 2) as u32;
    let (own_row, own_column) = c_place(thread::thread_idx_x() % 32, 0);
    // SAFETY: the buffer has as many words, and is this warp's. C is as `params` says.
    let (words, c) = unsafe {
        (
            Shared::<u32>::new(buffer.as_mut_ptr().cast(), BUFFER_ELEMS),
            GlobalMut::new_with(c, || span_elems(tile.end as usize, n as usize, ld as usize)),
        )
    };
    // Constants once this is inlined.
    let of_slab = acc.len() / SLABS;
    let layout = Buffer::of(2 * of_slab as u32);
    let of_part = layout.words as usize;
    let parts_of_slab = of_slab.div_ceil(of_part) as u32;
    let parts = SLABS as u32 * parts_of_slab;
    let end_column = n.min(tile.column + 2 * of_slab as u32);
    let mut part = optimization_barrier::zero();
    while part < parts {
        let (slab, in_slab) = (part / parts_of_slab, part % parts_of_slab);
        let (row, column) = (tile.row + slab * ROWS, tile.column + in_slab * 2 * layout.words);
        // Only the code that indexes the accumulators is unrolled over the parts; the rest is emitted once.
        unrolled!(parts, at most 8, |candidate| {
            if part == candidate {
                let (slab, in_slab) = ((candidate / parts_of_slab) as usize, (candidate % parts_of_slab) as usize);
                unrolled!(16, at most 16, |pair| {
                    let (below, right) = c_place(0, pair as u32 % 2 * 2);
                    let (row, column) = (own_row + below, own_column + right + pair as u32 / 2 * 8);
                    let i = of_part * in_slab + 2 * pair;
                    // The last part of a tile may have fewer columns.
                    if 2 * pair < of_part && i < of_slab {
                        let i = slab * of_slab + i;
                        let two = F::narrow_pair([alpha * acc[i], alpha * acc[i + 1]]);
                        // SAFETY: inside the buffer; each pair is one lane's.
                        unsafe { words.set(layout.word(row, column / 2), cast(two)) };
                    }
                });
            }
        });
        // RAW: the warp's elements are written. SAFETY: all lanes are here.
        unsafe { warp::sync_warp(u32::MAX) };
        let rows = Rows {
            c,
            ld,
            row,
            column,
            end_row: tile.end,
            columns: end_column.saturating_sub(column),
            first_odd: (first_odd + (row & ld) + column) % 2,
        };
        // SAFETY: the caller's promise.
        unsafe {
            match (rows.columns, has_vectors) {
                (0, _) => (),
                (_, true) => rows.store::<4>(layout, words),
                (_, false) => rows.store::<2>(layout, words),
            }
            // WAR: the warp's elements are read.
            warp::sync_warp(u32::MAX);
        }
        part += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Banks of the words that lanes access at once are all different.
    fn are_spread(words: impl Iterator<Item = usize>) -> bool {
        let mut seen = 0_u32;
        words.map(|word| word % 32).all(|bank| {
            let is_new = seen >> bank & 1 == 0;
            seen |= 1 << bank;
            is_new
        })
    }

    #[test]
    fn neither_pairs_of_8_rows_nor_rows_have_bank_conflicts() {
        for columns in [16, 32, 64, 256] {
            let buffer = Buffer::of(columns);
            for pair in 0..buffer.words / 2 {
                let (below, right) = (pair % 2 * 8, pair / 2 * 8);
                let words = (0..32).map(|lane| {
                    let (row, column) = c_place(lane, 0);
                    buffer.word(row + below, (column + right) / 2)
                });
                assert!(are_spread(words), "{columns} columns, pair {pair}");
            }
            for first in (0..16).step_by((32 / buffer.words) as usize) {
                for next in 0..2 {
                    let words = (0..32).map(|lane| {
                        let (row, word) = (first + lane / buffer.words, lane % buffer.words);
                        buffer.word(row, (word + next) % buffer.words)
                    });
                    assert!(are_spread(words), "{columns} columns, row {first}");
                }
            }
        }
    }

    #[test]
    fn a_buffer_has_a_place_for_every_word() {
        for columns in [16, 32, 64, 256] {
            let buffer = Buffer::of(columns);
            let mut is_taken = [false; BUFFER_ELEMS];
            for place in (0..ROWS).flat_map(|row| (0..buffer.words).map(move |word| buffer.word(row, word))) {
                assert!(!core::mem::replace(&mut is_taken[place], true), "{place}");
            }
            assert_eq!(
                is_taken.iter().filter(|&&is_taken| is_taken).count() as u32,
                ROWS * buffer.words
            );
        }
    }
}
