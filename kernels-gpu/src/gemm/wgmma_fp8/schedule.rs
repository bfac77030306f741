//! The work tiles of a CTA, of one product or of several.
//!
//! Products are groups of rows of one A and one C, or those of a batch, each with rows of its own, of which it may have
//! fewer than there is room for. Where they end is known on the device alone. Their tiles are numbered one after the
//! other, and no number is left out: a CTA goes through the products once, adding up their tiles on its way.

use cuda_views::Global;
use tilewright_contract::{GemmParams, RasterTile};

use super::Fp8Tile;
use crate::block::split_k::SplitTile;
use crate::gemm::wgmma::tile_scheduler::{TileScheduler, WorkTile};
use crate::ptx::warp_uniform::warp_uniform;

/// The work tiles of a CTA: every so many of all.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    tiles: TileScheduler,
    /// The product of the last tile, and how many tiles those before it have.
    product: u32,
    before: u32,
}

impl Schedule {
    /// Of this CTA.
    #[inline(always)]
    pub(super) fn new<T: Fp8Tile>(params: &GemmParams<impl Sized>) -> Self {
        Self {
            tiles: TileScheduler::new::<T>(params),
            product: 0,
            before: 0,
        }
    }

    /// The CTA's rank in its cluster.
    #[inline(always)]
    pub(super) fn rank(&self) -> u32 {
        self.tiles.rank
    }

    /// The next work tile, or none.
    ///
    /// # Safety
    /// The schedule is of `params`, and their `group_ends` has an element for each product, or is null.
    #[inline(always)]
    pub(super) unsafe fn next<T: Fp8Tile>(&mut self, params: &GemmParams<impl Sized>) -> Option<WorkTile> {
        // SAFETY: the caller's promise.
        unsafe {
            if const { T::TILE.groups } {
                self.next_of_products::<T>(params)
            } else {
                self.tiles.next::<T>(params)
            }
        }
    }

    /// [`next`](Self::next) for a whole warp, so that `ptxas` knows that its lanes have one tile.
    ///
    /// # Safety
    /// As for [`next`](Self::next); all lanes of the warp execute it together.
    #[inline(always)]
    pub(super) unsafe fn next_of_warp<T: Fp8Tile>(&mut self, params: &GemmParams<impl Sized>) -> Option<WorkTile> {
        // SAFETY: the caller's promise.
        unsafe {
            if const { !T::TILE.groups } {
                return self.tiles.next_of_warp::<T>(params);
            }
            let next = self.next_of_products::<T>(params);
            let some = next.unwrap_or_default();
            (warp_uniform(u32::from(next.is_some())) != 0).then_some(WorkTile {
                row: warp_uniform(some.row),
                column: warp_uniform(some.column),
                k_tiles: warp_uniform(some.k_tiles),
                product: warp_uniform(some.product),
                end: warp_uniform(some.end),
                ..some
            })
        }
    }

    /// # Safety
    /// As for [`next`](Self::next).
    #[inline(always)]
    unsafe fn next_of_products<T: Fp8Tile>(&mut self, params: &GemmParams<impl Sized>) -> Option<WorkTile> {
        let GemmParams { m, batch, .. } = *params;
        let tile = const { T::TILE };
        let (shares_a, has_ends) = (params.stride_a == 0, !params.group_ends.is_null());
        // SAFETY: the caller's promise; not read where it is null.
        let ends = unsafe { Global::new_with(params.group_ends, || batch as usize) };
        // Whatever the ends are, no row past C's last is computed. SAFETY: inside the ends.
        let end_of = |product: u32| unsafe { ends.get_if(has_ends, || product as usize, m) }.min(m);
        while self.product < batch {
            let end = end_of(self.product);
            let start = if shares_a && self.product > 0 {
                end_of(self.product - 1)
            } else {
                0
            };
            let tiles_m = end.saturating_sub(start).div_ceil(tile.m);
            let tiles = tiles_m * self.tiles.tiles_n;
            let at = self.tiles.next - self.before;
            if at < tiles {
                self.tiles.next += self.tiles.stride;
                let at = RasterTile::of_block(at, tiles_m, self.tiles.tiles_n, RasterTile::group_m(tile.m));
                return Some(WorkTile {
                    row: start + at.tile_m * tile.m,
                    column: at.tile_n * tile.n,
                    k_tiles: params.k.div_ceil(const { T::TILE.k }),
                    product: self.product,
                    end,
                    ..WorkTile::default()
                });
            }
            self.before += tiles;
            self.product += 1;
        }
        None
    }

    /// The split of a warpgroup in a work tile.
    #[inline(always)]
    pub(super) fn split_tile<T: Fp8Tile>(self, work: WorkTile, warpgroup: u32) -> SplitTile {
        self.tiles.split_tile::<T>(work, warpgroup)
    }
}

/// The planes of a work tile: of A and C, one where products share them, and of B.
#[inline(always)]
pub(super) fn planes<T: Fp8Tile>(work: WorkTile, params: &GemmParams<impl Sized>) -> [u32; 2] {
    if const { !T::TILE.groups } {
        return [0; 2];
    }
    let of_a = if params.stride_a == 0 { 0 } else { work.product };
    [of_a, work.product]
}

/// Rows of blocks of B's scales before those of a work tile's columns, in a B of `n` columns.
#[inline(always)]
pub(super) fn blocks_before<T: Fp8Tile>(work: WorkTile, n: u32) -> u32 {
    let before = work.column / 128;
    if const { !T::TILE.groups } {
        return before;
    }
    work.product * n.div_ceil(128) + before
}
