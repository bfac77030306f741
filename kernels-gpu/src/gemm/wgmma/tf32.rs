//! Consumer (math) warpgroups of tf32.
//!
//! Of tf32 both operands of a `wgmma` in shared memory must be K-major; B is here. An M-major A is loaded into
//! registers, from the tile that TMA has left: rows of 32 elements of M, one for each k. There the transpose is free:
//! each thread loads what its fragment has. A product whose B is N-major and whose A is K-major is the transpose of
//! such a one.
//!
//! ```text
//! for each k-tile, A in shared memory:      for each half of a k-tile, A in registers:
//!     wait until the stage is full              wait until the stage is full
//!                                               load A's fragments of two k-blocks
//!     acc += A's rows * B, four wgmma           acc += A's rows * B, two wgmma
//!     wait for those of the previous            wait for those of the previous half, whose fragments
//!     k-tile and release its stage              the next half overwrites; release the previous stage
//! ```
//!
//! TMA rounds elements as it loads them: the maps are of tf32.

use cuda_std::{thread, warp};
use cuda_views::Shared;
use tilewright_contract::WgmmaTile;

use super::consumer::ATOM_BYTES;
use super::epilogue::{Place, Target};
use super::store_registers::store;
use super::tile_scheduler::{TileScheduler, WorkTile};
use super::{Pipeline, PipelineState, Tile, empty, flag, full};
use crate::block::split_k::{ThreadGroup, reduce};
use crate::block::unroll::unrolled;
use crate::ptx::shared_address::shared_address;
use crate::ptx::warp_uniform::warp_uniform;
use crate::ptx::wgmma::{self, Accumulators, Descriptor, Tf32Fragment};
use crate::ptx::{cluster, mbarrier, named_barrier};

/// Bytes of a k-block of 8 elements in a row of K.
const K_BLOCK_BYTES: u32 = 32;

/// Row of C in a warpgroup's 64 that a thread's accumulators of the first row are of, where A's fragments are loaded
/// from an M-major tile; those of the second row are of the next. Any order will do: rows are independent.
///
/// Lane 4 g + p loads 8 bytes of row k = p (mod 4) of a swizzle atom: two neighbors of vector v, which the swizzle has
/// moved to v XOR k. This order gives lanes of four g, which the hardware serves at once, vectors x and x + 4, each
/// with both its halves: over p they are in all banks.
pub(super) const fn fragment_row(thread: u32) -> u32 {
    let (warp, g) = (thread / 32, thread % 32 / 4);
    let vector = 2 * (warp % 2) + g / 4 + 4 * (g / 2 % 2);
    32 * (warp / 2) + 4 * vector + 2 * (g % 2)
}

/// Loads fragments of A from an M-major tile.
#[derive(Clone, Copy)]
struct FragmentLoader {
    elems: Shared<f32>,
    /// Index of the first elements of the thread in row p of a stage, and in row p + 4.
    first: [u32; 2],
}

impl FragmentLoader {
    #[inline(always)]
    fn new(elems: Shared<f32>, warpgroup: u32, t: u32) -> Self {
        let (m, p) = (WgmmaTile::ROWS * warpgroup + fragment_row(t), t % 4);
        let atom = m / 32 * (32 * 32);
        let of_row = |k: u32| atom + 32 * k + ((m % 32 / 4) ^ k) * 4 + m % 4;
        Self {
            elems,
            first: [of_row(p), of_row(p + 4)],
        }
    }

    /// The fragment of k-block `k_block` of the stage that begins at element `stage`.
    ///
    /// # Safety
    /// The stage is in the pipeline and full.
    #[inline(always)]
    unsafe fn load(self, stage: u32, k_block: u32) -> Tf32Fragment {
        let at = stage + 8 * 32 * k_block;
        // SAFETY: inside the stage, which nobody writes.
        let [[a0, a1], [a2, a3]] = self
            .first
            .map(|first| unsafe { self.elems.get_vec((at + first) as usize) });
        [a0, a1, a2, a3]
    }
}

/// Arrivals of a warpgroup that release a stage: one, or with fragments one of each warp.
pub(super) const fn arrivals<T: Tile, const A_IS_MN_MAJOR: bool>() -> u32 {
    if T::TILE.element_bytes == 4 && A_IS_MN_MAJOR {
        4
    } else {
        1
    }
}

/// Consumer release: returns a stage to every CTA that loads into it. Where the threads of a warp have loaded fragments
/// from it, one of them arrives for all.
///
/// # Safety
/// No pending mma of the warpgroup reads the stage; each of its threads calls this once per k-tile.
#[inline(always)]
unsafe fn release<T: Tile, const A_IS_MN_MAJOR: bool>(pipeline: Pipeline<f32>, stage: u32, t: u32) {
    const { assert!(T::TILE.cluster > 1 || T::TILE.element_bytes != 4) };
    let mut first = t;
    if const { arrivals::<T, A_IS_MN_MAJOR>() > 1 } {
        // WAR: the warp's threads have loaded their fragments. SAFETY: the whole warp is here.
        unsafe { warp::sync_warp(u32::MAX) };
        first = t % 32;
    }
    if first < T::TILE.cluster {
        // SAFETY: the barrier's phase lacks this arrival. The values of all loads are there: mma that take them are
        // complete.
        unsafe { cluster::arrive_at_after_products(cluster::map(pipeline.barriers, empty::<T>(stage), first)) };
    }
}

/// A consumer warpgroup that adds up splits of K.
struct Warpgroup {
    number: u32,
    /// Its flag, and the pipeline's barriers before it.
    words: Shared<u64>,
    /// Index of the flag.
    flag: u32,
}

impl ThreadGroup for Warpgroup {
    #[inline(always)]
    fn thread(&self) -> u32 {
        thread::thread_idx_x() % WgmmaTile::WARPGROUP
    }

    #[inline(always)]
    unsafe fn sync(&self) {
        // SAFETY: whole warps, each once; nobody else uses the warpgroup's barrier.
        unsafe { named_barrier::sync(1 + self.number, WgmmaTile::WARPGROUP) };
    }

    #[inline(always)]
    unsafe fn broadcast(&self, flag: bool) -> bool {
        // SAFETY: the flag is the warpgroup's, written by one thread; barriers separate it from every other access.
        unsafe {
            if self.thread() == 0 {
                self.words.set(self.flag as usize, u64::from(flag));
            }
            // RAW: the flag is written.
            self.sync();
            let flag = warp_uniform(self.words.get(self.flag as usize) as u32) != 0;
            // WAR: all have read it.
            self.sync();
            flag
        }
    }
}

/// Computes the rows of this warpgroup, number `warpgroup`, of all work tiles of the CTA: `first`, then those of
/// `scheduler`.
///
/// # Safety
/// As for [`gemm`](super::gemm); the threads of a consumer warpgroup execute it together.
#[inline(always)]
pub(super) unsafe fn consume<T: Tile, const A_IS_MN_MAJOR: bool, const B_IS_MN_MAJOR: bool, const ACCUMULATORS: usize>(
    warpgroup: u32,
    pipeline: Pipeline<f32>,
    first: Option<WorkTile>,
    mut scheduler: TileScheduler,
    target: Target<'_, f32>,
) where
    [f32; ACCUMULATORS]: Accumulators,
{
    const { assert!(!B_IS_MN_MAJOR || T::TILE.element_bytes != 4) };
    let tile = const { T::TILE };
    let t = thread::thread_idx_x() % WgmmaTile::WARPGROUP;
    let start = shared_address(pipeline.elems, 0);
    let desc_a = Descriptor::k_major(start + warpgroup * ATOM_BYTES);
    let desc_b = Descriptor::k_major(start + tile.a_elems() * tile.element_bytes);
    let fragments = FragmentLoader::new(pipeline.elems, warpgroup, t);
    let mut state = PipelineState::FIRST;
    let mut next = first;
    while let Some(work) = next {
        // Found while the first loads arrive. SAFETY: the whole warp is here.
        next = unsafe { scheduler.next_of_warp::<T>(target.params) };
        let mut acc = <[f32; ACCUMULATORS]>::zero();
        let mut k_tile = 0;
        let mut last = 0;
        while k_tile < work.k_tiles {
            let PipelineState { stage, phase } = state;
            let at = stage * tile.stage_bytes().get();
            // SAFETY: the whole warpgroup is here. The stage is in the pipeline and full; the producer refills it only
            // after it is released. A fragment is overwritten two groups of mma later, when its own has been waited
            // for.
            unsafe {
                // RAW: the stage is full.
                mbarrier::wait(pipeline.barriers, full::<T>(stage), phase);
                unrolled!(const if A_IS_MN_MAJOR { 2 } else { 1 }, |half| {
                    if const { A_IS_MN_MAJOR } {
                        let [a0, a1] = [0, 1].map(|i| fragments.load(stage * tile.stage_elems(), 2 * half + i));
                        wgmma::fence(&mut acc);
                        let b = desc_b.advanced(at + K_BLOCK_BYTES * 2 * half);
                        wgmma::mma_async_tf32_fragment(&mut acc, a0, b);
                        wgmma::mma_async_tf32_fragment(&mut acc, a1, b.advanced(K_BLOCK_BYTES));
                    } else {
                        wgmma::fence(&mut acc);
                        unrolled!(const WgmmaTile::ROW_BYTES / K_BLOCK_BYTES, |k_block| {
                            let bytes = at + K_BLOCK_BYTES * k_block;
                            wgmma::mma_async_tf32(&mut acc, desc_a.advanced(bytes), desc_b.advanced(bytes));
                        });
                    }
                    wgmma::commit();
                    // The mma of the previous k-tile, or half of one, are complete; these stay in flight.
                    wgmma::wait::<1, _>(&mut acc);
                    if half == 0 && k_tile > 0 {
                        release::<T, A_IS_MN_MAJOR>(pipeline, last, t);
                    }
                });
            }
            last = stage;
            state = state.advance(tile.stages);
            k_tile += 1;
        }
        // SAFETY: as above; the accumulators are those of this warpgroup's rows.
        unsafe {
            wgmma::wait::<0, _>(&mut acc);
            if work.k_tiles > 0 {
                release::<T, A_IS_MN_MAJOR>(pipeline, last, t);
            }
            let split = scheduler.split_tile::<T>(work, warpgroup);
            if const { T::TILE.flags() > 0 } && split.splits > 1 {
                const { assert!(T::TILE.flags() == 0 || matches!(ACCUMULATORS, 32 | 64)) };
                let group = Warpgroup {
                    number: warpgroup,
                    words: pipeline.barriers,
                    flag: flag::<T>(warpgroup),
                };
                // As rows of 8.
                let rows = acc.as_mut_ptr();
                let is_complete = match const { ACCUMULATORS } {
                    32 => reduce::<f32, f32, 4, 8>(&group, &mut *rows.cast(), split, target.params),
                    _ => reduce::<f32, f32, 8, 8>(&group, &mut *rows.cast(), split, target.params),
                };
                if !is_complete {
                    continue;
                }
            }
            let at = Place {
                row: work.row + warpgroup * WgmmaTile::ROWS,
                column: work.column,
                product: work.product,
                end: work.end,
            };
            if const { T::TILE.is_transposed } {
                store::<true, true, ACCUMULATORS>(&acc, at, target);
            } else {
                store::<A_IS_MN_MAJOR, false, ACCUMULATORS>(&acc, at, target);
            }
        }
    }
}
