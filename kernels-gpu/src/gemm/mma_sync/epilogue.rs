//! Epilogue: from the accumulators of a warp to C.

use cuda_std::{thread, warp};
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{GemmParams, Output, Swizzle, span_elems};

use super::{Accumulators, Position, Tile};
use crate::block::batch;
use crate::block::element::{Narrowed, TensorElement};
use crate::block::epilogue::Epilogue;
use crate::block::unroll::unrolled;
use crate::ptx::mma::c_place;

/// Applies the epilogue of `params` to a lane's accumulators and stores them. If C is of the type of A and B, takes
/// 16-byte vectors and is not read, through shared memory, so that 8 lanes store 128 bytes of a row; else directly, two
/// neighbors at once if C allows that: 4 lanes then store 32 bytes of f32, a sector.
///
/// # Safety
/// C and the bias are as `params` says; the position is the warp's own. `stages` are the CTA's, which no thread uses
/// any more after [`Tile::drain`]. Every thread with a position calls this.
#[inline(always)]
pub(crate) unsafe fn store<E: TensorElement, T: Tile, const M: usize, const N: usize>(
    acc: &mut Accumulators<M, N>,
    position: Position,
    params: &GemmParams<E>,
    stages: Shared<E>,
) {
    let GemmParams { n, ldc: ld, .. } = *params;
    let c = batch::c::<E, E>(params);
    let in_f32 = params.output == Output::F32;
    let takes_vectors = n.is_multiple_of(8) && ld.is_multiple_of(8) && c.addr().is_multiple_of(16);
    // SAFETY: the caller's promise; C is of f32 where `output` says so, else of E.
    unsafe {
        if in_f32 {
            DirectStore::<f32>::new(batch::c(params), position, params).scale(acc, params);
        } else {
            DirectStore::new(c, position, params).scale(acc, params);
        }
        let epilogue = Epilogue::new(params);
        let first_column = position.column + position.warp_column + c_place(thread::thread_idx_x() % 32, 0).1;
        unrolled!(const N, at most 16, |j| {
            let bias = epilogue.bias(first_column + 8 * j as u32);
            unrolled!(const M, |i| {
                let [above, above_next, below, below_next] = acc[i][j];
                let [above, above_next] = epilogue.apply([above, above_next], bias);
                let [below, below_next] = epilogue.apply([below, below_next], bias);
                acc[i][j] = [above, above_next, below, below_next];
            });
        });
        if in_f32 {
            DirectStore::<f32>::new(batch::c(params), position, params).store(acc);
        } else if const { T::STAGES_C } && takes_vectors && params.beta == 0.0 {
            store_via_smem::<E, T, M, N>(c, acc, position, params, stages);
        } else {
            DirectStore::new(c, position, params).store(acc);
        }
    }
}

/// Stores through shared memory: a warp's part of C as rows of its own, [`Swizzle`]d, so that neither the lanes that
/// store pairs nor those that load vectors have bank conflicts.
///
/// # Safety
/// As for [`store`]; C, as words of two elements, starts at a multiple of 16 bytes, with rows of whole 16-byte vectors
/// a multiple of 16 bytes apart.
#[inline(always)]
unsafe fn store_via_smem<E: TensorElement, T: Tile, const M: usize, const N: usize>(
    c: *mut E,
    acc: &Accumulators<M, N>,
    position: Position,
    params: &GemmParams<E>,
    stages: Shared<E>,
) {
    let (m, n, ld) = (params.m, params.n, params.ldc as usize);
    let tile = const { T::TILE };
    let elems = const { T::TILE.warp_m * T::TILE.warp_n };
    const {
        assert!(
            !T::STAGES_C || T::TILE.m * T::TILE.n <= T::TILE.stages * T::TILE.stage_elems(),
            "the stages hold a tile of C"
        )
    };
    let swizzle = const { Swizzle::of_row(T::TILE.warp_n) };
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    // SAFETY: every thread with a position is here.
    unsafe { T::drain() };
    // SAFETY: the part is the warp's own, and the stages hold those of all warps. A vector is inside C or outside.
    unsafe {
        let own = stages.part((warp * elems) as usize, elems as usize);
        unrolled!(const M, |i| {
            unrolled!(const N, at most 16, |j| {
                let mut half = 0;
                while half < 2 {
                    let (row, column) = c_place(lane, 2 * half);
                    let index = swizzle.elem(16 * i as u32 + row, j as u32) + column;
                    let two = [acc[i][j][2 * half as usize], acc[i][j][2 * half as usize + 1]];
                    own.set_vec(index as usize, E::narrow_pair(two));
                    half += 1;
                }
            });
        });
        // RAW: the warp's part is written.
        warp::sync_warp(u32::MAX);
        let words = Shared::<u32>::new(own.as_mut_ptr().cast(), elems as usize / 2);
        let c = GlobalMut::new_with(c.cast::<u32>(), || span_elems(m as usize, n as usize, ld) / 2);
        let rows = 32 / swizzle.vectors();
        let mut first = 0;
        while first < tile.warp_m {
            let (row, vector) = (first + lane / swizzle.vectors(), lane % swizzle.vectors());
            let (in_c, column) = (
                position.row + position.warp_row + row,
                position.column + position.warp_column + vector * 8,
            );
            if in_c < m && column < n {
                let words = words.get_vec::<4>(swizzle.elem(row, vector) as usize / 2);
                c.set_vec((in_c as usize * ld + column as usize) / 2, words);
            }
            first += rows;
        }
    }
}

/// Direct store of a lane's elements: in pairs, or one by one.
#[derive(Clone, Copy)]
struct DirectStore<O> {
    c: GlobalMut<O>,
    m: u32,
    n: u32,
    ld: usize,
    /// The lane's first element.
    row: u32,
    column: u32,
    /// Whether pairs are aligned in every row; n is then even, so that both elements are inside C or neither.
    pairs: bool,
}

impl<O: Narrowed> DirectStore<O> {
    /// # Safety
    /// C is as `params` says, of `O`.
    #[inline(always)]
    unsafe fn new<E>(c: *mut O, position: Position, params: &GemmParams<E>) -> Self {
        let (m, n, ld) = (params.m, params.n, params.ldc as usize);
        let (row, column) = c_place(thread::thread_idx_x() % 32, 0);
        Self {
            // SAFETY: the caller's promise.
            c: unsafe { GlobalMut::new_with(c, || span_elems(m as usize, n as usize, ld)) },
            m,
            n,
            ld,
            row: position.row + position.warp_row + row,
            column: position.column + position.warp_column + column,
            pairs: n.is_multiple_of(2) && ld.is_multiple_of(2) && c.addr().is_multiple_of(2 * size_of::<O>()),
        }
    }

    /// Index of a pair, the upper (`half` 0) or the lower one (1) of a fragment, and which of its elements are inside
    /// C.
    #[inline(always)]
    fn pair(self, i: usize, j: usize, half: usize) -> (usize, [bool; 2]) {
        let row = self.row + 16 * i as u32 + 8 * half as u32;
        let column = self.column + 8 * j as u32;
        let inside = [column, column + 1].map(|column| row < self.m && column < self.n);
        (row as usize * self.ld + column as usize, inside)
    }

    /// `acc = alpha * acc + beta * C`; with beta 0 C is not read.
    ///
    /// # Safety
    /// No other thread accesses the lane's elements.
    #[inline(always)]
    unsafe fn scale<E, const M: usize, const N: usize>(self, acc: &mut Accumulators<M, N>, params: &GemmParams<E>) {
        unrolled!(const M, |i| {
            unrolled!(const N, at most 16, |j| {
                acc[i][j] = acc[i][j].map(|sum| params.alpha * sum);
                let mut half = 0;
                while half < 2 && params.beta != 0.0 {
                    let (index, inside) = self.pair(i, j, half);
                    // SAFETY: inside C, and the caller's promise.
                    let source = unsafe {
                        if self.pairs && inside[0] {
                            self.c.get_vec::<2>(index)
                        } else {
                            [0, 1].map(|next| self.c.get_if(inside[next] && !self.pairs, || index + next, O::ZERO))
                        }
                    };
                    acc[i][j][2 * half] += params.beta * source[0].widen();
                    acc[i][j][2 * half + 1] += params.beta * source[1].widen();
                    half += 1;
                }
            });
        });
    }

    /// `C = acc`.
    ///
    /// # Safety
    /// No other thread accesses the lane's elements.
    #[inline(always)]
    unsafe fn store<const M: usize, const N: usize>(self, acc: &Accumulators<M, N>) {
        unrolled!(const M, |i| {
            unrolled!(const N, at most 16, |j| {
                let mut half = 0;
                while half < 2 {
                    let (index, inside) = self.pair(i, j, half);
                    let pair = O::narrow_pair([acc[i][j][2 * half], acc[i][j][2 * half + 1]]);
                    // SAFETY: inside C, and the caller's promise.
                    unsafe {
                        if self.pairs {
                            if inside[0] {
                                self.c.set_vec(index, pair);
                            }
                        } else {
                            self.c.set_if(inside[0], || index, || pair[0]);
                            self.c.set_if(inside[1], || index + 1, || pair[1]);
                        }
                    }
                    half += 1;
                }
            });
        });
    }
}
