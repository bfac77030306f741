//! [`strips`](super::strips) of rows that begin at even elements: pairs, loaded ahead by `cp.async`.
//!
//! ```text
//! start the loads of k-tiles 0 and 1 of the strip, one group each
//! for each tile, for each of its k-tiles:
//!     wait for the k-tile; barrier    RAW: its stages are full; WAR: those of the k-tile before are drained
//!     start the loads of the k-tile two further into those stages, whichever tile it is of
//!     acc += mma of the fragments of its k-blocks
//!     at the last k-tile: C = acc, rounded
//! ```
//!
//! Loads are in flight while C is stored, which is nearly all of the time. As there, A is loaded once for all tiles of
//! a row, if there are stages for all of its k-tiles.

use cuda_std::{thread, warp};
use cuda_views::{Global, GlobalMut, Shared};
use tilewright_contract::{GemmParams, span_elems};

use super::loader::{GmemLoader, OperandTile, WarpLoader, is_whole_vectors};
use super::strips::{ATOMS, Acc, Strip, k_blocks, shared_memory, store};
use super::{Tile, mma_tile, parts};
use crate::block::element::TensorElement;
use crate::block::major::{OperandMajor, span};
use crate::block::sector_store::SectorStore;
use crate::ptx::{async_copy, optimization_barrier};

/// The k-tile of a strip whose loads start next.
struct Ahead<E> {
    strip: Strip,
    k: u32,
    /// Whether A is loaded, or there from the tile before.
    loads_a: bool,
    /// Stages: of the A of the tile's first k-tile, and of this B.
    stage_a: u32,
    stage_b: u32,
    a: Global<E>,
    b: Global<E>,
}

impl<E: TensorElement> Ahead<E> {
    /// Starts the loads of the k-tile, if there is one, as a group, and goes on to the next one.
    ///
    /// # Safety
    /// The operands are as `params` says. No thread uses the k-tile's stages until each has waited for the group.
    #[inline(always)]
    unsafe fn load<T: Tile, LA: OperandMajor, LB: OperandMajor, const WHOLE: bool>(
        &mut self,
        stages: Shared<E>,
        params: &GemmParams<E>,
    ) {
        let tile = const { T::TILE };
        if self.strip.tiles_left > 0 && self.k < params.k {
            let (tile_a, tile_b) = const { (OperandTile::a(T::TILE), OperandTile::b(T::TILE)) };
            // Computed again for each k-tile: kept, it would take registers from the accumulators.
            let t = thread::thread_idx_x() + optimization_barrier::zero();
            let left = params.k - self.k;
            // SAFETY: the caller's promise; a stage is in the pipeline.
            unsafe {
                if self.loads_a {
                    let [to, _] = parts(stages, tile, stage_of::<T>(self.stage_a + self.k / tile.k));
                    let mut a = GmemLoader::new::<LA>(self.a, tile_a, t, self.strip.row, params.m, params.lda);
                    a.advance::<LA>(self.k);
                    a.load::<LA, WHOLE>(tile_a, to, left);
                }
                let [_, to] = parts(stages, tile, stage_of::<T>(self.stage_b));
                let mut b = GmemLoader::new::<LB>(self.b, tile_b, t, self.strip.first_column(), params.n, params.ldb);
                b.advance::<LB>(self.k);
                b.load::<LB, WHOLE>(tile_b, to, left);
            }
            self.stage_b += 1;
            self.k += tile.k;
            if self.k >= params.k {
                let is_new_row = self.strip.next::<T>();
                self.strip.tiles_left -= 1;
                self.loads_a = loads_a::<T>(is_new_row, params.k);
                if self.loads_a {
                    self.stage_a += self.k / tile.k;
                }
                self.k = 0;
            }
        }
        async_copy::commit();
    }
}

/// Whether a tile loads A: the first of its row does, and each where there are not stages for all k-tiles.
#[inline(always)]
fn loads_a<T: Tile>(is_new_row: bool, k: u32) -> bool {
    is_new_row || k > const { T::TILE.stages * T::TILE.k }
}

/// First element of the stage of the k-tile with this number.
#[inline(always)]
fn stage_of<T: Tile>(number: u32) -> u32 {
    number % const { T::TILE.stages } * const { T::TILE.stage_elems() }
}

/// Computes this CTA's strips.
///
/// # Safety
/// As for [`gemm`](super::gemm), but for the grid: at most as many CTAs as there are tiles, along x. It is one product.
#[inline(always)]
pub(super) unsafe fn gemm<E: TensorElement, T: Tile, LA: OperandMajor, LB: OperandMajor>(params: &GemmParams<E>) {
    // SAFETY: the caller's promise.
    unsafe {
        if is_whole_vectors::<LA>(params.m, params.k) && is_whole_vectors::<LB>(params.n, params.k) {
            strip::<E, T, LA, LB, true>(params);
        } else {
            strip::<E, T, LA, LB, false>(params);
        }
    }
}

/// [`gemm`]. `WHOLE`: the operands consist of whole pairs.
///
/// # Safety
/// As for [`gemm`].
#[inline(always)]
unsafe fn strip<E: TensorElement, T: Tile, LA: OperandMajor, LB: OperandMajor, const WHOLE: bool>(
    params: &GemmParams<E>,
) {
    const {
        assert!(
            !T::TILE.strips || LA::VECTOR == 1 || T::TILE.stages == 3,
            "two k-tiles are loaded ahead of the one that is used"
        )
    };
    let tile = const { T::TILE };
    let mut strip = Strip::of_cta::<T>([params.m, params.n]);
    let t = thread::thread_idx_x();
    let (number, lane) = (t / 32, t % 32);
    // SAFETY: the caller's promise.
    let (stages, buffer) = unsafe { shared_memory::<E, T>(number) };
    let (tile_a, tile_b) = const { (OperandTile::a(T::TILE), OperandTile::b(T::TILE)) };
    let fragments = WarpLoader::new::<LA, LB>([tile_a, tile_b], [number * tile.warp_m, 0], lane);
    let (mut stage_a, mut stage_b) = (0, 0);
    // SAFETY: operands and C are as `params` says. Loads into a stage start after the barrier that has drained it, and
    // it is read after the wait for them and the barrier that follows; the whole warp is here. The buffer is the
    // warp's.
    unsafe {
        let mut ahead = Ahead {
            strip,
            k: 0,
            loads_a: true,
            stage_a: 0,
            stage_b: 0,
            a: Global::new_with(params.a, || span::<LA>(params.m, params.k, params.lda)),
            b: Global::new_with(params.b, || span::<LB>(params.n, params.k, params.ldb)),
        };
        let c = GlobalMut::new_with(params.c, || {
            span_elems(params.m as usize, params.n as usize, params.ldc as usize)
        });
        let rows = SectorStore::new(c, params.ldc, [params.m, params.n], buffer);
        ahead.load::<T, LA, LB, WHOLE>(stages, params);
        ahead.load::<T, LA, LB, WHOLE>(stages, params);
        loop {
            let mut acc: Acc = [[[0.0; 4]; ATOMS]; 1];
            let mut k = 0;
            while k < params.k {
                async_copy::wait::<1>();
                // RAW: every thread's loads of this k-tile are there. WAR: no thread reads the stages of the k-tile
                // before any more, which the next loads write.
                thread::sync_threads();
                ahead.load::<T, LA, LB, WHOLE>(stages, params);
                let mut k_block = optimization_barrier::zero();
                while k_block < k_blocks::<T>(params.k - k) {
                    let (mut fragments_a, mut fragments_b) = ([[0; 4]; 1], [[0; 2]; ATOMS]);
                    let from = [
                        parts(stages, tile, stage_of::<T>(stage_a + k / tile.k))[0],
                        parts(stages, tile, stage_of::<T>(stage_b))[1],
                    ];
                    fragments.load::<E, LA, LB>(from, &mut fragments_a, &mut fragments_b, k_block);
                    mma_tile::<E, 1, ATOMS>(&mut acc, &fragments_a, &fragments_b);
                    k_block += 1;
                }
                stage_b += 1;
                k += tile.k;
            }
            store(&acc, [strip.row + number * tile.warp_m, strip.column], rows);
            strip.tiles_left -= 1;
            if strip.tiles_left == 0 {
                return;
            }
            if loads_a::<T>(strip.next::<T>(), params.k) {
                stage_a += k / tile.k;
            }
            // WAR: the warp's elements are read. With K of no k-tile there is no other barrier.
            warp::sync_warp(u32::MAX);
        }
    }
}
