//! Epilogue of f32: from the accumulators of a warpgroup to C without shared memory.
//!
//! Each thread stores pairs of neighbors; four lanes, of the transpose two vectors of four, store whole sectors of 32
//! bytes.

use cuda_std::thread;
use cuda_views::GlobalMut;
use tilewright_contract::{Activation, WgmmaTile, span_elems};

use super::epilogue::{Place, Target};
use super::tf32::fragment_row;
use crate::block::batch::offset;
use crate::block::epilogue::{Epilogue, linear_combination};
use crate::block::unroll::unrolled;
use crate::ptx::optimization_barrier;
use crate::ptx::wgmma::accumulator_position;

/// Accumulators that are stored at once where there is more to do than to store them: those of 32 columns.
const PART: usize = 16;

/// Where a thread's accumulators go in C.
#[derive(Clone, Copy)]
struct Places<const IS_TRANSPOSED: bool> {
    /// Rows of the tile: of a thread's first and second pair of each four accumulators.
    rows: [u32; 2],
    /// Column of the tile of the first pair.
    column: u32,
}

impl<const IS_TRANSPOSED: bool> Places<IS_TRANSPOSED> {
    /// Of pair `pair` of the four accumulators from `4 * four` on: the two accumulators, neighbors in C.
    #[inline(always)]
    const fn pair(four: usize, pair: usize) -> [usize; 2] {
        if IS_TRANSPOSED {
            [4 * four + pair, 4 * four + 2 + pair]
        } else {
            [4 * four + 2 * pair, 4 * four + 2 * pair + 1]
        }
    }

    /// Row and column of C of the first of them.
    #[inline(always)]
    const fn of(self, four: u32, pair: usize) -> [u32; 2] {
        let right = self.column + 8 * four;
        if IS_TRANSPOSED {
            [right + pair as u32, self.rows[0]]
        } else {
            [self.rows[pair], right]
        }
    }
}

/// Computes `activation(alpha * acc + beta * C + bias)` and stores it, with bounds checks. With a transposed tile
/// `at.row` is a column of C and `at.column` a row. `A_IS_MN_MAJOR`: rows are those of [`fragment_row`].
///
/// # Safety
/// `target` is as it says; a thread accesses elements of C that no other does.
#[inline(always)]
pub(super) unsafe fn store<const A_IS_MN_MAJOR: bool, const IS_TRANSPOSED: bool, const ACCUMULATORS: usize>(
    acc: &[f32; ACCUMULATORS],
    at: Place,
    target: Target<'_, f32>,
) {
    const {
        assert!(
            A_IS_MN_MAJOR || !IS_TRANSPOSED,
            "columns of C are stored in pairs: a thread has neighbors"
        )
    };
    let params = target.params;
    let (m, n, ld) = (params.m, params.n, params.ldc as usize);
    let t = thread::thread_idx_x() % WgmmaTile::WARPGROUP;
    let rows = if A_IS_MN_MAJOR {
        let row = at.row + fragment_row(t);
        [row, row + 1]
    } else {
        let row = at.row + accumulator_position(t, 0).0;
        [row, row + 8]
    };
    let column = at.column + accumulator_position(t, 0).1;
    let places = Places::<IS_TRANSPOSED> { rows, column };
    let c = params.c.wrapping_add(offset(params.stride_c, at.product));
    // Pairs of C are aligned in every row.
    let is_vec2 = n.is_multiple_of(2) && ld.is_multiple_of(2) && c.addr().is_multiple_of(8);
    // SAFETY: C is as the target says.
    let c = unsafe { GlobalMut::new_with(c, || span_elems(m as usize, n as usize, ld)) };
    let right = if IS_TRANSPOSED { m } else { n };
    let is_whole = at.row + WgmmaTile::ROWS <= at.end && at.column + 2 * ACCUMULATORS as u32 <= right;
    let is_plain = params.beta == 0.0 && params.bias.is_null() && params.activation == Activation::None;
    if is_whole && is_plain && is_vec2 {
        let [row, column] = places.of(0, 0);
        let first = row as usize * ld + column as usize;
        // From one pair to the next, and from one four to the next.
        let [next, right] = if IS_TRANSPOSED {
            [ld, 8 * ld]
        } else {
            [(rows[1] - rows[0]) as usize * ld, 8]
        };
        unrolled!(ACCUMULATORS / 4, |four| {
            unrolled!(2, at most 2, |pair| {
                let two = Places::<IS_TRANSPOSED>::pair(four, pair).map(|i| params.alpha * acc[i]);
                // SAFETY: both are inside C, and aligned.
                unsafe { c.set_vec(first + four * right + pair * next, two) };
            });
        });
        return;
    }
    // SAFETY: the bias is as the target says; accesses to C are inside, of elements that no other thread accesses. With
    // `is_vec2` n is even: pairs are inside or outside.
    unsafe {
        let epilogue = Epilogue::new(params);
        let parts = const { (ACCUMULATORS / PART) as u32 };
        let mut part = optimization_barrier::zero();
        while part < parts {
            let mut values = [0.0; PART];
            // Only the code that indexes the accumulators is unrolled over the parts; the rest is emitted once.
            unrolled!(parts, at most 8, |candidate| {
                if part == candidate {
                    unrolled!(PART, at most 16, |i| {
                        values[i] = acc[PART * candidate as usize + i];
                    });
                }
            });
            let first = PART as u32 / 4 * part;
            let mut source = [0.0; PART];
            let [row, column] = places.of(first, 0);
            if params.beta != 0.0 && row < m && column < n {
                // No branch around a load, which would wait for each: a pair outside is replaced by the first. If that
                // is outside, all are.
                unrolled!(4, at most 4, |four| {
                    unrolled!(2, at most 2, |pair| {
                        let [i, j] = Places::<IS_TRANSPOSED>::pair(four, pair);
                        let at = places.of(first + four as u32, pair);
                        let [row, column] = if at[0] < m && at[1] < n { at } else { [row, column] };
                        let index = row as usize * ld + column as usize;
                        if is_vec2 {
                            [source[i], source[j]] = c.get_vec::<2>(index);
                        } else {
                            source[i] = c.get(index);
                            source[j] = c.get_if(column + 1 < n, || index + 1, 0.0);
                        }
                    });
                });
            }
            unrolled!(4, at most 4, |four| {
                unrolled!(2, at most 2, |pair| {
                    let two = Places::<IS_TRANSPOSED>::pair(four, pair);
                    let [row, column] = places.of(first + four as u32, pair);
                    let index = row as usize * ld + column as usize;
                    let scaled =
                        two.map(|i| linear_combination(params.alpha, values[i], params.beta, || source[i]));
                    if row < m && column < n {
                        let two = epilogue.apply(scaled, epilogue.bias(column));
                        if is_vec2 {
                            c.set_vec(index, two);
                        } else {
                            c.set(index, two[0]);
                            c.set_if(column + 1 < n, || index + 1, || two[1]);
                        }
                    }
                });
            });
            part += 1;
        }
    }
}
