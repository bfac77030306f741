//! Consumer (math) warpgroups.

use cuda_std::thread;
use tilewright_contract::WgmmaTile;

use super::epilogue::{self, Place, Target};
use super::tile_scheduler::{TileScheduler, WorkTile};
use super::{Element, Pipeline, PipelineState, Tile, empty, full};
use crate::block::unroll::unrolled;
use crate::ptx::shared_address::shared_address;
use crate::ptx::wgmma::{self, Accumulators, Descriptor};
use crate::ptx::{bulk_copy, cluster, mbarrier, named_barrier};

/// Bytes of 64 rows of A or 64 columns of B: from one swizzle atom along M or N to the next.
pub(crate) const ATOM_BYTES: u32 = WgmmaTile::SWIZZLE_ATOM * WgmmaTile::K * WgmmaTile::ELEMENT_BYTES;

/// Named barriers of the ping-pong schedule: warpgroup w waits for its turn at `ORDER + w`.
const ORDER: u32 = 13;

/// Descriptor of an operand tile, and bytes from one k-block to the next.
#[inline(always)]
pub(super) const fn operand<const IS_MN_MAJOR: bool>(address: u32) -> (Descriptor, u32) {
    if IS_MN_MAJOR {
        (Descriptor::mn_major(address, ATOM_BYTES), 2048)
    } else {
        (Descriptor::k_major(address), 32)
    }
}

/// Computes the rows of this warpgroup, number `warpgroup`, of all work tiles of the CTA: `first`, then those of
/// `scheduler`. In the ping-pong schedule it computes all rows of every other work tile.
///
/// # Safety
/// As for [`gemm`](super::gemm); the threads of a consumer warpgroup execute it together.
#[inline(always)]
pub(super) unsafe fn consume<
    E: Element,
    T: Tile,
    const A_IS_MN_MAJOR: bool,
    const B_IS_MN_MAJOR: bool,
    const M_TILES: usize,
    const ACCUMULATORS: usize,
>(
    warpgroup: u32,
    pipeline: Pipeline<E>,
    first: Option<WorkTile>,
    mut scheduler: TileScheduler,
    target: Target<'_, E>,
) where
    [f32; ACCUMULATORS]: Accumulators,
{
    let tile = const { T::TILE };
    let t = thread::thread_idx_x() % WgmmaTile::WARPGROUP;
    let start = shared_address(pipeline.elems, 0);
    // Its first MMA tile of 64 rows.
    let m_tile = if const { T::TILE.ping_pong } { 0 } else { warpgroup };
    let (desc_a, a_bytes) = operand::<A_IS_MN_MAJOR>(start + m_tile * ATOM_BYTES);
    let (desc_b, b_bytes) = operand::<B_IS_MN_MAJOR>(start + tile.a_elems() * WgmmaTile::ELEMENT_BYTES);
    let mut state = PipelineState::FIRST;
    let mut next = first;
    let first_index = first.map_or(0, |first| first.index);
    if const { T::TILE.ping_pong } {
        (next, scheduler) = scheduler.ping_pong::<T>(target.params, warpgroup, first);
        if warpgroup > 0
            && let Some(first) = first
        {
            state = state.advance_by(first.k_tiles, tile.stages);
        }
    }
    while let Some(work) = next {
        // Found while the first loads arrive. In the ping-pong schedule, where registers are short, at the end: the
        // other warpgroup's mma hide it.
        if !const { T::TILE.ping_pong } {
            // SAFETY: the whole warp is here.
            next = unsafe { scheduler.next_of_warp::<T>(target.params) };
        }
        // Initialize the accumulators inside the loop. If they are carried across tiles, `ptxas` serializes the wgmmas
        // (C7515).
        let mut acc = [const { core::mem::MaybeUninit::<[f32; ACCUMULATORS]>::uninit() }; M_TILES];
        unrolled!(const M_TILES, |m| {
            acc[m].write(<[f32; ACCUMULATORS]>::zero());
        });
        // SAFETY: each has been written.
        let mut acc = acc.map(|acc| unsafe { acc.assume_init() });
        if const { T::TILE.ping_pong } && work.index != first_index {
            // RAW: the other warpgroup has waited for all k-tiles of the previous tile. The parity bit distinguishes
            // adjacent phases only, so a consumer must never be two phases late. SAFETY: both warpgroups as a
            // whole, in turn.
            unsafe { named_barrier::sync(ORDER + warpgroup, 2 * WgmmaTile::WARPGROUP) };
        }
        let mut k_tile = 0;
        let mut last = 0;
        while k_tile < work.k_tiles {
            let PipelineState { stage, phase } = state;
            let at = stage * tile.stage_bytes().get();
            // SAFETY: the whole warpgroup is here. The stage is in the pipeline and full; the producer refills it only
            // after it is released.
            unsafe {
                // RAW: the stage is full.
                mbarrier::wait(pipeline.barriers, full::<T>(stage), phase);
                unrolled!(const M_TILES, |m| wgmma::fence(&mut acc[m]));
                unrolled!(const WgmmaTile::K / 16, |k_block| {
                    let b = desc_b.advanced(at + b_bytes * k_block);
                    unrolled!(const M_TILES, |m| {
                        let a = desc_a.advanced(at + a_bytes * k_block + ATOM_BYTES * m as u32);
                        wgmma::mma_async::<E, A_IS_MN_MAJOR, B_IS_MN_MAJOR, _>(&mut acc[m], a, b, true);
                    });
                });
                wgmma::commit();
                // The mma of the previous k-tile are complete; those of this one stay in flight.
                unrolled!(const M_TILES, |m| wgmma::wait::<1, _>(&mut acc[m]));
                if k_tile > 0 {
                    release::<T>(pipeline, last, t);
                }
            }
            last = stage;
            state = state.advance(tile.stages);
            k_tile += 1;
        }
        if const { T::TILE.ping_pong } && scheduler.has_next(work) {
            // SAFETY: as above.
            unsafe { named_barrier::arrive(ORDER + 1 - warpgroup, 2 * WgmmaTile::WARPGROUP) };
        }
        // SAFETY: as above; the accumulators are those of this warpgroup's rows, and nobody else uses its epilogue
        // subtiles.
        unsafe {
            unrolled!(const M_TILES, |m| wgmma::wait::<0, _>(&mut acc[m]));
            if work.k_tiles > 0 {
                release::<T>(pipeline, last, t);
            }
            if const { T::TILE.ping_pong } {
                // Skip the other warpgroup's tile, which has as many k-tiles: there is no split-K.
                state = state.advance_by(work.k_tiles, tile.stages);
            }
            let split = scheduler.split_tile::<T>(work, warpgroup);
            let is_last = if const { T::TILE.ping_pong } {
                scheduler.is_done()
            } else {
                next.is_none()
            };
            unrolled!(const M_TILES, |m| {
                let at = Place {
                    row: work.row + (m_tile + m as u32) * WgmmaTile::ROWS,
                    column: work.column,
                    // Groups are of rows of one C.
                    product: if const { T::TILE.groups } { 0 } else { work.product },
                    end: work.end,
                };
                let rows = [warpgroup, m as u32];
                epilogue::store::<E, T, ACCUMULATORS>(acc[m], rows, split, at, is_last, target, pipeline.elems);
            });
        }
        if const { T::TILE.ping_pong } {
            // SAFETY: the whole warp is here.
            next = unsafe { scheduler.next_of_warp::<T>(target.params) };
        }
    }
    // TMA stores read shared memory: it must live until they have.
    bulk_copy::wait_read::<0>();
}

/// Consumer release: returns a stage to every CTA that loads into it.
///
/// # Safety
/// No pending mma of the warpgroup reads the stage; each of its threads calls this once per k-tile.
#[inline(always)]
pub(super) unsafe fn release<T: Tile>(pipeline: Pipeline<impl Element>, stage: u32, t: u32) {
    // SAFETY: the barrier's phase lacks this arrival: it expects one thread of each warpgroup of each CTA.
    unsafe {
        if const { T::TILE.cluster > 1 } {
            if t < T::TILE.cluster {
                cluster::arrive_at_after_products(cluster::map(pipeline.barriers, empty::<T>(stage), t));
            }
        } else if t == 0 {
            mbarrier::arrive(pipeline.barriers, empty::<T>(stage));
        }
    }
}
