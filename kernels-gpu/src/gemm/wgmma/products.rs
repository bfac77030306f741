//! The warpgroups that multiply.

use cuda_std::thread;
use tilewright_contract::WgmmaTile;

use super::epilogue::{self, Target};
use super::work::{Item, Work};
use super::{Element, Ring, Tile, Turn, empty, full};
use crate::block::unroll::unrolled;
use crate::ptx::shared_address::shared_address;
use crate::ptx::wgmma::{self, Descriptor, Sums};
use crate::ptx::{bulk_copy, cluster, mbarrier, named_barrier};

/// Bytes from 64 rows of A or columns of B to the next 64: a panel.
const PANEL_BYTES: u32 = WgmmaTile::PANEL * WgmmaTile::K * WgmmaTile::ELEMENT_BYTES;

/// The named barriers of the turns of two warpgroups: `TURN + w` is where warpgroup w waits for its turn.
const TURN: u32 = 13;

/// Where an operand lies, and bytes from one 16 along K to the next.
#[inline(always)]
const fn operand<const LIES_ACROSS: bool>(address: u32) -> (Descriptor, u32) {
    if LIES_ACROSS {
        (Descriptor::mn_major(address, PANEL_BYTES), 2048)
    } else {
        (Descriptor::k_major(address), 32)
    }
}

/// Computes the rows of warpgroup `warpgroup`, which is this one, of all tiles of the block: `first`, then those of
/// `work`; where warpgroups take turns, all rows of every other tile.
///
/// # Safety
/// As for [`product`](super::product); the threads of a warpgroup other than the last execute it together.
#[inline(always)]
pub(super) unsafe fn multiply<
    E: Element,
    T: Tile,
    const A_IS_M_MAJOR: bool,
    const B_IS_N_MAJOR: bool,
    const GROUPS: usize,
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
    // Its first 64 rows of a tile.
    let rows = if const { T::TILE.ping_pong } { 0 } else { warpgroup };
    let (of_a, a_bytes) = operand::<A_IS_M_MAJOR>(start + rows * PANEL_BYTES);
    let (of_b, b_bytes) = operand::<B_IS_N_MAJOR>(start + tile.a_elems() * WgmmaTile::ELEMENT_BYTES);
    let mut turn = Turn::FIRST;
    let mut next = first;
    let start_of_block = first.map_or(0, |first| first.number);
    if const { T::TILE.ping_pong } {
        (next, work) = work.in_turns::<T>(warpgroup, first);
        if warpgroup > 0
            && let Some(first) = first
        {
            turn = turn.behind(first.steps, tile.stages);
        }
    }
    while let Some(item) = next {
        next = work.next::<T>();
        // Here, and not before the loop: what flowed in from the tile before would make `ptxas` take turns with the
        // products (C7515).
        let mut sums = [const { core::mem::MaybeUninit::<[f32; SUMS]>::uninit() }; GROUPS];
        unrolled!(const GROUPS, |group| {
            sums[group].write(<[f32; SUMS]>::zero());
        });
        // SAFETY: each has been written.
        let mut sums = sums.map(|sums| unsafe { sums.assume_init() });
        if const { T::TILE.ping_pong } && item.number != start_of_block {
            // RAW: the other warpgroup has waited for all steps of the tile before. A wait tells a phase of a stage's
            // barrier from the next one, not from the one behind that. SAFETY: both warpgroups as a whole, each in its
            // turn.
            unsafe { named_barrier::sync(TURN + warpgroup, 2 * WgmmaTile::WARPGROUP) };
        }
        let mut step = 0;
        let mut last = 0;
        while step < item.steps {
            let Turn { stage, parity } = turn;
            let at = stage * tile.stage_bytes().get();
            // SAFETY: the warpgroup is here as a whole. The stage is in the ring, and filled; who fills it again waits
            // until it is released.
            unsafe {
                // RAW: the stage is filled.
                mbarrier::wait(ring.barriers, full::<T>(stage), parity);
                unrolled!(const GROUPS, |group| wgmma::fence(&mut sums[group]));
                unrolled!(const WgmmaTile::K / 16, |i| {
                    let b = of_b.advanced(at + b_bytes * i);
                    unrolled!(const GROUPS, |group| {
                        let a = of_a.advanced(at + a_bytes * i + PANEL_BYTES * group as u32);
                        wgmma::product::<E, A_IS_M_MAJOR, B_IS_N_MAJOR, _>(&mut sums[group], a, b, true);
                    });
                });
                wgmma::commit();
                // The products of the step before are done; these go on.
                unrolled!(const GROUPS, |group| wgmma::wait::<1, _>(&mut sums[group]));
                if step > 0 {
                    release::<T>(ring, last, t);
                }
            }
            last = stage;
            turn = turn.next(tile.stages);
            step += 1;
        }
        if const { T::TILE.ping_pong } && work.goes_on(item) {
            // SAFETY: as above.
            unsafe { named_barrier::arrive(TURN + 1 - warpgroup, 2 * WgmmaTile::WARPGROUP) };
        }
        // SAFETY: as above; the sums are those of this warpgroup's rows, and its panels are in nobody else's use.
        unsafe {
            unrolled!(const GROUPS, |group| wgmma::wait::<0, _>(&mut sums[group]));
            if item.steps > 0 {
                release::<T>(ring, last, t);
            }
            if const { T::TILE.ping_pong } {
                // The other warpgroup's tile, which has as many: K is not cut.
                turn = turn.behind(item.steps, tile.stages);
            }
            let share = work.share::<T>(item, warpgroup);
            unrolled!(const GROUPS, |group| {
                let at = [item.row + (rows + group as u32) * WgmmaTile::ROWS, item.column];
                let groups = [warpgroup, group as u32];
                epilogue::store::<E, T, SUMS>(sums[group], groups, share, at, next.is_none(), target, ring.elems);
            });
        }
    }
    // The block's shared memory is read to the end.
    bulk_copy::wait_read::<0>();
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
