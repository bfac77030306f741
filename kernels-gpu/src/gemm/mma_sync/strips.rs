//! The body of short K: a CTA computes a strip, neighboring tiles along N one after the other.
//!
//! ```text
//! for each tile, for each of its k-tiles:
//!     load A, unless it is there, and B through registers, each into its next stage
//!     barrier                         RAW: both stages are full; WAR: those of the k-tile before are drained
//!     acc += mma of the fragments of its k-blocks
//!     at the last k-tile: C = acc, rounded
//! ```
//!
//! With short K nearly all of the time is the store of C. A warp has 16 rows of C for itself and stores them in whole
//! sectors wherever they begin ([`SectorStore`]). A is loaded once for all tiles of a row, if there are stages for all
//! of its k-tiles. Nothing is loaded ahead: CTAs hide the latency of each other, and registers limit how many there
//! are. For the same reason, and since a CTA of few tiles waits for its instructions, these kernels compute the product
//! alone.
//!
//! A thread loads pairs of neighbors, so that the lanes of a warp load one or two rows at once.

use cuda_std::{shared, thread, warp};
use cuda_views::{Global, GlobalMut, Shared};
use tilewright_contract::{GemmParams, TensorTile, overlapped_columns, span_elems};

use super::loader::{OperandTile, PairLoader, WarpLoader};
use super::{Accumulators, Tile, mma_tile, parts};
use crate::block::element::TensorElement;
use crate::block::major::{OperandMajor, span};
use crate::block::sector_store::{self, SectorStore};
use crate::block::unroll::unrolled;
use crate::ptx::mma::c_place;
use crate::ptx::optimization_barrier;

/// MMA atoms of a warp along N.
pub(super) const ATOMS: usize = sector_store::COLUMNS as usize / 8;

/// Accumulators of a lane.
pub(super) type Acc = Accumulators<1, ATOMS>;

/// What is left of a CTA's strip.
#[derive(Clone, Copy)]
pub(super) struct Strip {
    /// First row of the next tile.
    pub row: u32,
    /// The first of its columns that is stored, of rows without a shift.
    pub column: u32,
    /// Tiles, this one included.
    pub tiles_left: u32,
    /// Columns of all tiles.
    columns: u32,
}

impl Strip {
    /// Of this CTA, for a C of these extents.
    #[inline(always)]
    pub fn of_cta<T: Tile>([m, n]: [u32; 2]) -> Self {
        let (tile, stored) = const { (T::TILE, T::TILE.n - TensorTile::OVERLAP) };
        let columns = overlapped_columns(n, TensorTile::OVERLAP);
        // A CTA means that there are tiles. The maxima state it to the compiler, which would keep panics otherwise.
        let tiles_n = columns.div_ceil(stored).max(1);
        let (cta, ctas) = (thread::block_idx_x(), thread::grid_dim_x().max(1));
        // As many tiles for each CTA, and one more for the first ones.
        let tiles = m.div_ceil(tile.m) * tiles_n;
        let (of_each, more) = (tiles / ctas, tiles % ctas);
        let first = cta * of_each + cta.min(more);
        Self {
            row: first / tiles_n * tile.m,
            column: first % tiles_n * stored,
            tiles_left: of_each + u32::from(cta < more),
            columns,
        }
    }

    /// The first column that is computed: a sector before the first one, where there is one.
    #[inline(always)]
    pub fn first_column(self) -> u32 {
        self.column.saturating_sub(TensorTile::OVERLAP)
    }

    /// Goes on to the next tile; whether it begins a row of tiles.
    #[inline(always)]
    pub fn next<T: Tile>(&mut self) -> bool {
        self.column += const { T::TILE.n - TensorTile::OVERLAP };
        let is_new_row = self.column >= self.columns;
        if is_new_row {
            self.column = 0;
            self.row += const { T::TILE.m };
        }
        is_new_row
    }
}

/// The stages, and the buffer of C's rows of warp `number` that follows them.
///
/// # Safety
/// The CTA has the tile's threads and its bytes of dynamic shared memory; `number` is that of one of its warps.
#[inline(always)]
pub(super) unsafe fn shared_memory<E: TensorElement, T: Tile>(number: u32) -> (Shared<E>, Shared<E>) {
    const {
        let elems = T::TILE.threads() / 32 * sector_store::BUFFER_ELEMS;
        let [rows, padding] = T::TILE.c_elems();
        assert!(
            !T::TILE.strips || T::TILE.n == sector_store::COLUMNS && rows + padding == elems,
            "a warp has its rows in a buffer"
        );
    }
    // SAFETY: the caller's promise: the allocation holds all stages and C's buffers. It is aligned to 16 bytes, more
    // than the type asks for.
    unsafe {
        let elems = const { (T::TILE.stages * T::TILE.stage_elems()) as usize };
        let all = shared::dynamic_shared_mem::<f32>().cast::<E>();
        let of_warp = sector_store::BUFFER_ELEMS as usize;
        let buffers = Shared::new(
            all.wrapping_add(elems),
            const { T::TILE.threads() as usize / 32 } * of_warp,
        );
        (
            Shared::new(all, elems),
            buffers.part(number as usize * of_warp, of_warp),
        )
    }
}

/// Computes this CTA's strips. `PAIRS_A` and `PAIRS_B`: pairs that a thread loads of a k-tile.
///
/// # Safety
/// As for [`gemm`](super::gemm), but for the grid: at most as many CTAs as there are tiles, along x. It is one product.
#[inline(always)]
pub(super) unsafe fn gemm<E, T, LA, LB, const PAIRS_A: usize, const PAIRS_B: usize>(params: &GemmParams<E>)
where
    E: TensorElement,
    T: Tile,
    LA: OperandMajor,
    LB: OperandMajor,
{
    const {
        let (tile_a, tile_b) = (OperandTile::a(T::TILE), OperandTile::b(T::TILE));
        assert!(
            !T::TILE.strips || PairLoader::count(tile_a) == PAIRS_A && PairLoader::count(tile_b) == PAIRS_B,
            "threads load the whole k-tile"
        );
    }
    let tile = const { T::TILE };
    let mut strip = Strip::of_cta::<T>([params.m, params.n]);

    let t = thread::thread_idx_x();
    let (number, lane) = (t / 32, t % 32);
    let (tile_a, tile_b) = const { (OperandTile::a(T::TILE), OperandTile::b(T::TILE)) };
    // SAFETY: the caller's promise.
    let (stages, buffer) = unsafe { shared_memory::<E, T>(number) };
    // SAFETY: the stage is in the pipeline.
    let stage = |stage: u32| unsafe { parts(stages, tile, stage % tile.stages * tile.stage_elems()) };
    let pairs_a = PairLoader::new::<LA>(tile_a, t);
    let fragments = WarpLoader::new::<LA, LB>([tile_a, tile_b], [number * tile.warp_m, 0], lane);
    // Stages: of the A of the tile's first k-tile, and of the next B.
    let (mut stage_a, mut stage_b) = (0_u32, 0);
    let mut loads_a = true;
    // SAFETY: operands and C are as `params` says. A stage is stored after the barrier that has drained it, and read
    // after the one that follows its stores; the whole warp is here. The buffer is the warp's.
    unsafe {
        let from_a = Global::new_with(params.a, || span::<LA>(params.m, params.k, params.lda));
        let from_b = Global::new_with(params.b, || span::<LB>(params.n, params.k, params.ldb));
        let c = GlobalMut::new_with(params.c, || {
            span_elems(params.m as usize, params.n as usize, params.ldc as usize)
        });
        let rows = SectorStore::new(c, params.ldc, [params.m, params.n], buffer);
        loop {
            let mut acc: Acc = [[[0.0; 4]; ATOMS]; 1];
            // Computed from a sector before the first column on, where there is one.
            let first_column = strip.first_column();
            let mut k = 0;
            while k < params.k {
                if loads_a {
                    let extents = [params.m, params.k];
                    let a = pairs_a.load::<E, LA, PAIRS_A>(tile_a, from_a, params.lda, [strip.row, k], extents);
                    pairs_a.store::<E, LA, PAIRS_A>(tile_a, stage(stage_a + k / tile.k)[0], &a);
                }
                // Computed again for each k-tile: kept, it would take registers from the accumulators.
                let pairs_b = PairLoader::new::<LB>(tile_b, thread::thread_idx_x() + optimization_barrier::zero());
                let extents = [params.n, params.k];
                let b = pairs_b.load::<E, LB, PAIRS_B>(tile_b, from_b, params.ldb, [first_column, k], extents);
                pairs_b.store::<E, LB, PAIRS_B>(tile_b, stage(stage_b)[1], &b);
                // RAW: every thread's elements of these stages are stored. WAR: no thread reads those of the k-tile
                // before any more, which are stored to next.
                thread::sync_threads();
                let mut k_block = optimization_barrier::zero();
                while k_block < k_blocks::<T>(params.k - k) {
                    let (mut fragments_a, mut fragments_b) = ([[0; 4]; 1], [[0; 2]; ATOMS]);
                    let from = [stage(stage_a + k / tile.k)[0], stage(stage_b)[1]];
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
            let is_new_row = strip.next::<T>();
            loads_a = is_new_row || params.k > const { T::TILE.stages * T::TILE.k };
            if loads_a {
                stage_a += k / tile.k;
            }
            // WAR: the warp's elements are read. With K of no k-tile there is no other barrier.
            warp::sync_warp(u32::MAX);
        }
    }
}

/// K-blocks of a k-tile with `left` elements of K from its first one on: past the end of K there are zeros.
#[inline(always)]
pub(super) fn k_blocks<T: Tile>(left: u32) -> u32 {
    left.min(const { T::TILE.k })
        .div_ceil(const { T::TILE.k_granularity() })
}

/// Stores a warp's part of a tile.
///
/// # Safety
/// As for [`SectorStore::store`].
#[inline(always)]
pub(super) unsafe fn store<E: TensorElement>(acc: &Acc, [row, column]: [u32; 2], rows: SectorStore<E>) {
    let (own_row, own_column) = c_place(thread::thread_idx_x() % 32, 0);
    // SAFETY: the caller's promise.
    unsafe {
        unrolled!(2, at most 2, |half| {
            let to = rows.row(row, own_row + 8 * half as u32, column);
            unrolled!(const ATOMS, at most 16, |j| {
                let two = E::narrow_pair([acc[0][j][2 * half], acc[0][j][2 * half + 1]]);
                to.set_vec(own_column as usize + 8 * j, two);
            });
        });
        rows.store(row, column);
    }
}
