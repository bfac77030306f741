//! Epilogue: from the accumulators of a warp to C.

use cuda_std::{thread, warp};
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{GemmParams, Output, Swizzle, TensorTile, span_elems};

use super::{Accumulators, Position, Tile};
use crate::block::batch;
use crate::block::element::TensorElement;
use crate::block::epilogue::Epilogue;
use crate::block::narrow_store;
use crate::block::split_k::reduce_atoms;
use crate::block::unroll::unrolled;
use crate::block::warp_store::{self, BUFFER_ELEMS, WarpTile};
use crate::ptx::mma::c_place;

/// Applies the epilogue of `params` to a lane's accumulators and stores them, after the split-K reduction if there is
/// one. If C is of the type of A and B, takes 16-byte vectors and is not read, all of a warp's part goes through shared
/// memory at once, so that 8 lanes store 128 bytes of a row; else by the [predicated store](warp_store).
///
/// # Safety
/// C and the bias are as `params` says, workspace and counters as [`reduce_atoms`] asks for; the position is a warp's.
/// `stages` are the CTA's, which no thread uses after [`Tile::drain`]. Every thread with a position calls this.
#[inline(always)]
pub(crate) unsafe fn store<E: TensorElement, T: Tile, const M: usize, const N: usize>(
    acc: &mut Accumulators<M, N>,
    position: Position,
    params: &GemmParams<E>,
    stages: Shared<E>,
) {
    if const { T::TILE.supports_split_k } && params.splits > 1 {
        let tile = const { T::TILE };
        const {
            assert!(
                !T::TILE.supports_split_k || matches!(M * N, 2 | 8),
                "see `reduce_atoms`"
            )
        };
        // SAFETY: the caller's promise.
        let is_complete = unsafe { reduce_atoms(acc, [tile.m, tile.n], tile.threads(), params) };
        if !is_complete {
            return;
        }
    }
    let GemmParams { n, ldc: ld, .. } = *params;
    let c = batch::c::<E, E>(params);
    let in_f32 = params.output == Output::F32;
    let takes_vectors = n.is_multiple_of(8) && ld.is_multiple_of(8) && c.addr().is_multiple_of(16);
    // SAFETY: the caller's promise; C is of f32 where `output` says so, else of E. Every thread calls this.
    unsafe {
        T::drain();
        if const { T::STAGES_C } && takes_vectors && params.beta == 0.0 && !in_f32 {
            apply_epilogue(acc, position, params);
            store_via_smem::<E, T, M, N>(c, acc, position, params, stages);
            return;
        }
        const {
            let bytes = T::TILE.stages * T::TILE.stage_bytes().get();
            assert!(
                T::TILE.threads() / 32 * TensorTile::STORE_BYTES <= bytes,
                "the stages hold a buffer for each warp"
            );
        }
        let buffers = Shared::<f32>::new(
            stages.as_mut_ptr().cast(),
            const { T::TILE.threads() as usize / 32 * BUFFER_ELEMS },
        );
        let warp = (thread::thread_idx_x() / 32) as usize;
        let buffer = buffers.part(warp * BUFFER_ELEMS, BUFFER_ELEMS);
        let at = WarpTile {
            row: position.row + position.warp_row,
            column: position.column + position.warp_column,
            end: params.m,
        };
        if params.beta == 0.0 && !in_f32 {
            apply_epilogue(acc, position, params);
            narrow_store::store::<E, M>(acc.as_flattened().as_flattened(), 1.0, at, c, params, buffer);
            return;
        }
        let acc = acc.as_flattened().as_flattened();
        macro_rules! store_as {
            ($c:ty, $elems:literal) => {
                warp_store::store::<E, $c, M, $elems>(acc, at, batch::c(params), params, buffer)
            };
        }
        // Few accumulators leave registers for all elements of a part; a tile that does not fit the stages leaves few.
        let elems = const {
            match (M * N, T::STAGES_C) {
                (..=8, _) => 16,
                (_, true) => 8,
                (_, false) => 4,
            }
        };
        match (in_f32, elems) {
            (true, 16) => store_as!(f32, 16),
            (false, 16) => store_as!(E, 16),
            (true, 8) => store_as!(f32, 8),
            (false, 8) => store_as!(E, 8),
            (true, _) => store_as!(f32, 4),
            (false, _) => store_as!(E, 4),
        }
    }
}

/// `acc = activation(alpha * acc + bias)`.
///
/// # Safety
/// The bias is as `params` says.
#[inline(always)]
unsafe fn apply_epilogue<E: TensorElement, const M: usize, const N: usize>(
    acc: &mut Accumulators<M, N>,
    position: Position,
    params: &GemmParams<E>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let epilogue = Epilogue::new(params);
        let first_column = position.column + position.warp_column + c_place(thread::thread_idx_x() % 32, 0).1;
        unrolled!(const N, at most 16, |j| {
            let bias = epilogue.bias(first_column + 8 * j as u32);
            unrolled!(const M, |i| {
                let [above, above_next, below, below_next] = acc[i][j].map(|sum| params.alpha * sum);
                let [above, above_next] = epilogue.apply([above, above_next], bias);
                let [below, below_next] = epilogue.apply([below, below_next], bias);
                acc[i][j] = [above, above_next, below, below_next];
            });
        });
    }
}

/// Stores through shared memory: a warp's part of C as rows of its own, [`Swizzle`]d, so that neither the lanes that
/// store pairs nor those that load vectors have bank conflicts.
///
/// # Safety
/// As for [`store`]; the stages are drained. C, as words of two elements, starts at a multiple of 16 bytes, with rows
/// of whole 16-byte vectors a multiple of 16 bytes apart.
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
