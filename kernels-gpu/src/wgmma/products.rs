//! The warpgroups that multiply.

use cuda_std::thread;
use tilewright_contract::WgmmaTile;

use super::epilogue::{self, Target};
use super::work::{Item, Work};
use super::{Element, Ring, Tile, Turn, empty, full};
use crate::primitives::shared_address::shared_address;
use crate::primitives::wgmma::{self, Descriptor, Sums};
use crate::primitives::{bulk_copy, cluster, mbarrier};
use crate::unroll::unrolled;

/// Bytes from 64 rows of A or columns of B to the next 64: a panel.
const PANEL_BYTES: u32 = WgmmaTile::PANEL * WgmmaTile::K * WgmmaTile::ELEMENT_BYTES;

/// Where an operand lies, and bytes from one 16 along K to the next.
#[inline(always)]
const fn operand<const LIES_ACROSS: bool>(address: u32) -> (Descriptor, u32) {
    if LIES_ACROSS {
        (Descriptor::mn_major(address, PANEL_BYTES), 2048)
    } else {
        (Descriptor::k_major(address), 32)
    }
}

/// Computes the rows of warpgroup `warpgroup`, which is this one, of all tiles of the block: `first`, then those of `work`.
///
/// # Safety
/// As for [`product`](super::product); the threads of a warpgroup other than the last execute it together.
#[inline(always)]
pub(super) unsafe fn multiply<
    E: Element,
    T: Tile,
    const A_IS_M_MAJOR: bool,
    const B_IS_N_MAJOR: bool,
    const SUMS: usize,
>(
    warpgroup: u32,
    ring: Ring<E>,
    first: Option<Item>,
    mut work: Work,
    target: Target<'_, E>,
) where
    [f32; SUMS]: Sums,
{
    let tile = const { T::TILE };
    let t = thread::thread_idx_x() % WgmmaTile::WARPGROUP;
    let start = shared_address(ring.elems, 0);
    let (of_a, a_bytes) = operand::<A_IS_M_MAJOR>(start + warpgroup * PANEL_BYTES);
    let (of_b, b_bytes) = operand::<B_IS_N_MAJOR>(start + tile.a_elems() * WgmmaTile::ELEMENT_BYTES);
    let mut turn = Turn::FIRST;
    let mut next = first;
    while let Some(item) = next {
        next = work.next::<T>();
        // Here, and not before the loop: what flowed in from the tile before would make `ptxas` take turns with the products (C7515).
        let mut sums = <[f32; SUMS]>::zero();
        let mut step = 0;
        let mut last = 0;
        while step < item.steps {
            let Turn { stage, parity } = turn;
            let at = stage * tile.stage_bytes().get();
            // SAFETY: the warpgroup is here as a whole. The stage is in the ring, and filled; who fills it again waits until it is released.
            unsafe {
                // RAW: the stage is filled.
                mbarrier::wait(ring.barriers, full::<T>(stage), parity);
                wgmma::fence(&mut sums);
                unrolled!(const { WgmmaTile::K / 16 }, at most 8, |i| {
                    let (a, b) = (of_a.advanced(at + a_bytes * i), of_b.advanced(at + b_bytes * i));
                    wgmma::product::<E, A_IS_M_MAJOR, B_IS_N_MAJOR, _>(&mut sums, a, b, true);
                });
                wgmma::commit();
                if const { T::TILE.stages > 1 } {
                    // The products of the step before are done; these go on.
                    wgmma::wait::<1, _>(&mut sums);
                    if step > 0 {
                        release::<T>(ring, last, t);
                    }
                } else {
                    wgmma::wait::<0, _>(&mut sums);
                    release::<T>(ring, stage, t);
                }
            }
            last = stage;
            turn = turn.next(tile.stages);
            step += 1;
        }
        // SAFETY: as above; the sums are those of this warpgroup's rows, and its panels are in nobody else's use.
        unsafe {
            if const { T::TILE.stages > 1 } {
                wgmma::wait::<0, _>(&mut sums);
                if item.steps > 0 {
                    release::<T>(ring, last, t);
                }
            }
            let share = work.share::<T>(item, warpgroup);
            let at = [item.row + warpgroup * WgmmaTile::ROWS, item.column];
            epilogue::store::<E, T, SUMS>(sums, warpgroup, share, at, next.is_none(), target, ring.elems);
        }
    }
    if const { T::TILE.bulk_store } {
        // The block's shared memory is read to the end.
        bulk_copy::wait_read::<0>();
    }
}

/// Says that this warpgroup is done with a stage, to every block that copies to it.
///
/// # Safety
/// No product of the warpgroup reads the stage any more; each of its threads calls this once a step.
#[inline(always)]
unsafe fn release<T: Tile>(ring: Ring<impl Element>, stage: u32, t: u32) {
    // SAFETY: the barrier's phase lacks this arrival: it is one of a thread of each warpgroup for each of its blocks.
    unsafe {
        if const { T::TILE.cluster > 1 } {
            if t < T::TILE.cluster {
                cluster::arrive_at_after_products(cluster::map(ring.barriers, empty::<T>(stage), t));
            }
        } else if t == 0 {
            mbarrier::arrive(ring.barriers, empty::<T>(stage));
        }
    }
}
