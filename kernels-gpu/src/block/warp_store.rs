//! Predicated store of the accumulators of tensor-core kernels: `C = activation(alpha * acc + beta * C + bias)`.
//!
//! A lane holds pairs of neighbors of 16 rows. Stored from registers, each instruction would reach a few bytes of eight
//! rows: eight sectors of 32 bytes for what two or four could hold, and where C's rows begin at odd elements twice as
//! many instructions. So a warp passes 16 rows of 32 columns at a time through shared memory, and its lanes store whole
//! rows of them, in vectors as long as C allows in every row: 4, 2 or 1 elements.

use cuda_std::{thread, warp};
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{GemmParams, TensorTile, span_elems};

use crate::block::element::{Element, Narrowed};
use crate::block::epilogue::{Epilogue, linear_combination};
use crate::block::unroll::unrolled;
use crate::ptx::mma::c_place;
use crate::ptx::optimization_barrier;

/// Columns that a warp has in shared memory at once.
const COLUMNS: u32 = 32;

/// Rows: those of an MMA atom.
const ROWS: u32 = 16;

/// Elements of a warp's buffer in shared memory: [`TensorTile::STORE_BYTES`].
pub const BUFFER_ELEMS: usize = (ROWS * COLUMNS) as usize;

const _: () = assert!(BUFFER_ELEMS * size_of::<f32>() == TensorTile::STORE_BYTES as usize);

/// Index of a vec4 of a row of the buffer: XORed so that neither pairs of columns of 8 rows nor whole rows have bank
/// conflicts.
#[inline(always)]
const fn vec4_elem(row: u32, vec4: u32) -> u32 {
    row * COLUMNS + (vec4 ^ (row % 4 * 2)) * 4
}

/// Index of an element of the buffer.
#[inline(always)]
const fn elem(row: u32, column: u32) -> u32 {
    vec4_elem(row, column / 4) + column % 4
}

/// A warp's part of C.
#[derive(Clone, Copy)]
pub struct WarpTile {
    /// First row.
    pub row: u32,
    /// First column.
    pub column: u32,
    /// Where the rows end: those of C, or of the group.
    pub end: u32,
}

/// C as the lanes of a warp load and store 16 rows of 32 columns: lane by lane along a row, in vectors of `V`, the same
/// in every method.
#[derive(Clone, Copy)]
struct Rows<F> {
    c: GlobalMut<F>,
    ld: usize,
    /// The lane's first row and column within the 16 and 32.
    below: u32,
    right: u32,
    /// The same in C.
    row: u32,
    column: u32,
    /// Where rows and columns end.
    end: [u32; 2],
}

impl<F: Narrowed> Rows<F> {
    /// Rows from `row` on and columns from `column` on, up to `end`.
    #[inline(always)]
    fn new<const V: usize>(c: GlobalMut<F>, ld: usize, [row, column]: [u32; 2], end: [u32; 2]) -> Self {
        // Computed for each part: kept over all of them, these numbers would take registers from the accumulators.
        let first = (thread::thread_idx_x() + optimization_barrier::zero()) % 32 * V as u32;
        let (below, right) = (first / COLUMNS, first % COLUMNS);
        Self {
            c,
            ld,
            below,
            right,
            row: row + below,
            column: column + right,
            end,
        }
    }

    /// Index of the lane's vector of a row.
    #[inline(always)]
    fn index(self, row: u32) -> usize {
        row as usize * self.ld + self.column as usize
    }

    /// The rows from `further` on.
    #[inline(always)]
    fn below(self, further: u32) -> Self {
        Self {
            below: self.below + further,
            row: self.row + further,
            ..self
        }
    }

    /// Loads the lane's first `L` elements. No branch between the loads, which would wait for each: a row past the last
    /// one is replaced by the lane's first.
    ///
    /// # Safety
    /// C is as the launch says; vectors are aligned in every row, of which they have a whole number. No other thread
    /// writes the elements.
    #[inline(always)]
    unsafe fn load<const V: usize, const L: usize>(self) -> [F; L] {
        let mut source = [F::ZERO; L];
        let [end_row, end_column] = self.end;
        if self.row < end_row && self.column < end_column {
            unrolled!(const L / V, at most 16, |pass| {
                let row = self.row + (V * pass) as u32;
                // SAFETY: inside C, and the caller's promise.
                let values = unsafe { self.c.get_vec::<V>(self.index(if row < end_row { row } else { self.row })) };
                source[V * pass..V * pass + V].copy_from_slice(&values);
            });
        }
        source
    }

    /// Stores `activation(alpha * acc + beta * C + bias)` of the lane's elements, whose accumulators are in the buffer:
    /// `L` at a time, those of as many rows. More at once would take registers that a kernel of many accumulators does
    /// not have.
    ///
    /// # Safety
    /// As for [`load`](Self::load); no other thread accesses the elements. The buffer is written; the bias is as
    /// `params` says.
    #[inline(always)]
    unsafe fn store<P: Element<Acc = f32>, const V: usize, const L: usize>(
        self,
        buffer: Shared<f32>,
        params: &GemmParams<P>,
    ) {
        // A loop of one turn is none: its offset is known.
        let is_one_turn = const { L == ROWS as usize };
        let mut further = if is_one_turn { 0 } else { optimization_barrier::zero() };
        while further < ROWS {
            // The lanes have as many elements of a row as it has columns: `L` of each are of `L` rows.
            let rows = self.below(further);
            // SAFETY: the caller's promise.
            unsafe {
                let source = match params.beta != 0.0 {
                    true => rows.load::<V, L>(),
                    false => [F::ZERO; L],
                };
                rows.store_first::<P, V, L>(buffer, &source, params);
            }
            further += L as u32;
        }
    }

    /// [`store`](Self::store) of the first `L` elements, with those of C.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn store_first<P: Element<Acc = f32>, const V: usize, const L: usize>(
        self,
        buffer: Shared<f32>,
        source: &[F; L],
        params: &GemmParams<P>,
    ) {
        let [end_row, end_column] = self.end;
        // SAFETY: the caller's promise; inside the buffer and inside C.
        unsafe {
            let epilogue = Epilogue::new(params);
            let first = epilogue.bias(self.column);
            let bias = if V == 4 {
                [first, epilogue.bias(self.column + 2)]
            } else {
                [first; 2]
            };
            unrolled!(const L / V, at most 16, |pass| {
                let below = self.below + (V * pass) as u32;
                let acc = buffer.get_vec::<V>(elem(below, self.right) as usize);
                let row = self.row + (V * pass) as u32;
                if row < end_row && self.column < end_column {
                    let scaled = |i: usize| {
                        linear_combination(params.alpha, acc[i % V], params.beta, || source[V * pass + i % V].widen())
                    };
                    // Pairs, of which a single element is the first.
                    let mut values = [F::ZERO; V];
                    unrolled!(2, at most 2, |pair| {
                        if 2 * pair < V {
                            let two = epilogue.apply([scaled(2 * pair), scaled(2 * pair + 1)], bias[pair]);
                            let two = F::narrow_pair(two);
                            values[2 * pair] = two[0];
                            if V > 1 {
                                values[2 * pair + 1] = two[1];
                            }
                        }
                    });
                    self.c.set_vec::<V>(self.index(row), values);
                }
            });
        }
    }
}

/// Computes `activation(alpha * acc + beta * C + bias)` of a warp's accumulators and stores it as elements of `F`, with
/// bounds checks. `acc`: `SLABS` times those of 16 rows, of these four for each 8 columns one after the other, in the
/// places of the C of `mma.m16n8` and `wgmma`. Vectors of 4 are stored `L` elements of a lane at a time, 4, 8 or 16:
/// with more the latency of C's loads is paid less often, with less fewer registers are taken from the accumulators.
/// Shorter vectors likewise if `L` is 16, all of a lane's elements; else 4 at a time.
///
/// # Safety
/// - C, of elements of `F`, and the bias are as `params` describes them; no other thread accesses the elements of C
///   that this warp stores.
/// - The buffer has [`BUFFER_ELEMS`] elements, which no other warp accesses. All lanes of the warp are here.
#[inline(always)]
pub unsafe fn store<P: Element<Acc = f32>, F: Narrowed, const SLABS: usize, const L: usize>(
    acc: &[f32],
    tile: WarpTile,
    c: *mut F,
    params: &GemmParams<P>,
    buffer: Shared<f32>,
) {
    let n = params.n;
    let has_vectors = |elems: u32| {
        n.is_multiple_of(elems)
            && params.ldc.is_multiple_of(elems)
            && c.addr().is_multiple_of(elems as usize * size_of::<F>())
    };
    let vector = match (has_vectors(4), has_vectors(2)) {
        (true, _) => 4,
        (_, true) => 2,
        _ => 1,
    };
    // SAFETY: the caller's promise; n is a multiple of a vector.
    unsafe {
        match (vector, const { L == ROWS as usize }) {
            (4, _) => store_vectors::<P, F, SLABS, 4, L>(acc, tile, c, params, buffer),
            (2, true) => store_vectors::<P, F, SLABS, 2, L>(acc, tile, c, params, buffer),
            (2, false) => store_vectors::<P, F, SLABS, 2, 4>(acc, tile, c, params, buffer),
            (_, true) => store_vectors::<P, F, SLABS, 1, L>(acc, tile, c, params, buffer),
            (_, false) => store_vectors::<P, F, SLABS, 1, 4>(acc, tile, c, params, buffer),
        }
    }
}

/// [`store`] in vectors of `V` elements, `L` of a lane at a time.
///
/// # Safety
/// As there; vectors are aligned in every row, of which they have a whole number.
#[inline(always)]
unsafe fn store_vectors<P: Element<Acc = f32>, F: Narrowed, const SLABS: usize, const V: usize, const L: usize>(
    acc: &[f32],
    tile: WarpTile,
    c: *mut F,
    params: &GemmParams<P>,
    buffer: Shared<f32>,
) {
    let (n, ld) = (params.n, params.ldc as usize);
    let (own_row, own_column) = c_place(thread::thread_idx_x() % 32, 0);
    // SAFETY: C and the bias are as `params` says; a vector is inside C or outside, since n is a multiple of its
    // elements.
    unsafe {
        let c = GlobalMut::new_with(c, || span_elems(tile.end as usize, n as usize, ld));
        // Constants once this is inlined.
        let of_slab = acc.len() / SLABS;
        let columns = 2 * of_slab as u32;
        let parts_of_slab = columns.div_ceil(COLUMNS);
        let parts = SLABS as u32 * parts_of_slab;
        // The tile's columns may end before those of its last part, and C's before both.
        let end = [tile.end, n.min(tile.column + columns)];
        let mut part = optimization_barrier::zero();
        while part < parts {
            let (slab, in_slab) = match SLABS {
                1 => (0, part),
                _ => (part / parts_of_slab, part % parts_of_slab),
            };
            let first = [tile.row + slab * ROWS, tile.column + in_slab * COLUMNS];
            let rows = Rows::new::<V>(c, ld, first, end);
            // Only the code that indexes the accumulators is unrolled over the parts; the rest is emitted once.
            unrolled!(parts, at most 8, |candidate| {
                if part == candidate {
                    let (slab, in_slab) = (candidate / parts_of_slab, candidate % parts_of_slab);
                    unrolled!(8, at most 8, |pair| {
                        let (below, right) = c_place(0, pair % 2 * 2);
                        let (row, column) = (own_row + below, own_column + right + pair / 2 * 8);
                        let i = (16 * in_slab + 2 * pair) as usize;
                        // The last part of a tile may have fewer columns.
                        if i < of_slab {
                            let i = slab as usize * of_slab + i;
                            buffer.set_vec(elem(row, column) as usize, [acc[i], acc[i + 1]]);
                        }
                    });
                }
            });
            // RAW: the warp's accumulators are written.
            warp::sync_warp(u32::MAX);
            rows.store::<P, V, L>(buffer, params);
            // WAR: the warp's accumulators are read.
            warp::sync_warp(u32::MAX);
            part += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Banks of the elements that lanes access at once are all different.
    fn are_spread(elems: impl Iterator<Item = u32>) -> bool {
        let mut seen = 0_u32;
        elems.map(|elem| elem % 32).all(|bank| {
            let is_new = seen >> bank & 1 == 0;
            seen |= 1 << bank;
            is_new
        })
    }

    #[test]
    fn neither_pairs_of_8_rows_nor_rows_have_bank_conflicts() {
        for pair in 0..8 {
            let (below, right) = (pair % 2 * 8, pair / 2 * 8);
            // 8 bytes of each lane: half a warp at a time.
            for half in 0..2 {
                let lanes = 16 * half..16 * half + 16;
                let pairs = lanes.flat_map(|lane| {
                    let (row, column) = c_place(lane, 0);
                    let first = elem(row + below, column + right);
                    [first, first + 1]
                });
                assert!(are_spread(pairs), "pair {pair}, half {half}");
            }
        }
        for row in 0..ROWS {
            assert!(are_spread((0..COLUMNS).map(|column| elem(row, column))), "row {row}");
        }
    }

    #[test]
    fn a_buffer_has_a_place_for_every_element() {
        let mut is_taken = [false; BUFFER_ELEMS];
        for place in (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| elem(row, column) as usize)) {
            assert!(!core::mem::replace(&mut is_taken[place], true), "{place}");
        }
        assert!(is_taken.iter().all(|&is_taken| is_taken));
    }
}
