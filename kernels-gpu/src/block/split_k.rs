//! Split-K reduction: the CTAs that share a tile of C add up their accumulators.

use cuda_std::atomic::intrinsics::atomic_fetch_add_relaxed_u32_device;
use cuda_std::thread;
use cuda_views::GlobalMut;
use tilewright_contract::GemmParams;
use tilewright_contract::split_k::{GROUP, GROUP_SHIFT, slots_at_once};

use crate::block::element::Accumulator;
use crate::block::unroll::unrolled;
use crate::ptx::{ctaid, optimization_barrier};

/// The part of C and of K that a thread group computes.
#[derive(Clone, Copy)]
pub struct SplitTile {
    /// Index of the tile.
    pub tile: u32,
    /// Number of tiles.
    pub tiles: u32,
    /// Index of the split.
    pub split: u32,
    /// Number of splits.
    pub splits: u32,
    /// Threads of the group.
    pub threads: u32,
}

impl SplitTile {
    /// That of this CTA, whose tile has `m x n` elements and which works on it with all its `threads`: along x the grid
    /// has a CTA for each tile of the first split, then those of the next; along y a row for each product.
    ///
    /// Computed after the main loop: kept since the start, these numbers would take registers from the accumulators.
    #[inline(always)]
    pub fn of_cta<E>(params: &GemmParams<E>, [m, n]: [u32; 2], threads: u32) -> Self {
        let cta = thread::block_idx_x() + optimization_barrier::zero();
        let tiles = params.m.div_ceil(m) * params.n.div_ceil(n);
        Self {
            tile: cta % tiles.max(1) + ctaid::y() * tiles,
            tiles: tiles * params.batch,
            split: cta / tiles.max(1),
            splits: params.splits,
            threads,
        }
    }
}

/// The threads of a CTA that compute a tile together.
pub trait ThreadGroup {
    /// This thread's index in the group.
    fn thread(&self) -> u32;

    /// Barrier of the group.
    ///
    /// # Safety
    /// All its threads call it.
    unsafe fn sync(&self);

    /// Barrier that broadcasts thread 0's flag to the whole group; the other threads pass false.
    ///
    /// # Safety
    /// All threads of the group call it.
    unsafe fn broadcast(&self, flag: bool) -> bool;
}

/// All threads of the CTA.
#[derive(Clone, Copy, Debug)]
pub struct WholeCta;

impl ThreadGroup for WholeCta {
    #[inline(always)]
    fn thread(&self) -> u32 {
        thread::thread_idx_x()
    }

    #[inline(always)]
    unsafe fn sync(&self) {
        thread::sync_threads();
    }

    #[inline(always)]
    unsafe fn broadcast(&self, flag: bool) -> bool {
        thread::sync_threads_or(u32::from(flag)) != 0
    }
}

/// So many accumulators of a thread, in f32.
const fn elems_per_thread<A>(accumulators: usize) -> u32 {
    (accumulators * size_of::<A>() / size_of::<f32>()) as u32
}

/// Adds up the accumulators of all splits. Returns whether this group holds the total: exactly one group of the tile
/// does, the others are done.
///
/// A tree: among [`GROUP`] neighboring slots the CTA that arrives last adds them up, in the order of the slots
/// whichever CTA that is, so the result is bitwise reproducible. No CTA waits for another.
///
/// # Safety
/// The workspace of `params` has `M * N` elements for each split of each tile and each thread of a group, and a counter
/// for each split of each tile. Every thread of the group calls this, and the groups of all splits of the tile do.
#[inline(always)]
// Accumulators are indexed by row and column throughout.
#[allow(clippy::needless_range_loop)]
pub unsafe fn reduce<E, A: Accumulator, const M: usize, const N: usize>(
    group: &impl ThreadGroup,
    acc: &mut [[A; N]; M],
    split: SplitTile,
    params: &GemmParams<E>,
) -> bool {
    let SplitTile {
        tile,
        tiles,
        split,
        splits,
        threads,
    } = split;
    let t = group.thread();
    let threads = threads as usize;
    let slot_elem = |slot: u32| (slot as usize * tiles as usize + tile as usize) * (M * N * threads) + t as usize;
    // SAFETY: the caller's promise.
    let workspace = unsafe {
        GlobalMut::new_with(params.workspace.cast::<A>(), || {
            splits as usize * tiles as usize * (M * N * threads)
        })
    };
    // This CTA's slot, and the binary logarithm of the distance to its neighbors.
    let mut slot = split;
    let mut shift = 0;
    while splits > 1 << shift {
        let first = slot & !((GROUP << shift) - 1);
        let end = splits.min(first + (GROUP << shift));
        let members = (end - first).div_ceil(1 << shift);
        // A CTA that is alone in its group has nothing to add.
        if members > 1 {
            let own = slot_elem(slot);
            // SAFETY: the slot is this CTA's: first that of its split, later that of the group that it has added up.
            unsafe {
                unrolled!(const M, at most 16, |i| {
                    for j in 0..N {
                        workspace.set(own + (i * N + j) * threads, acc[i][j]);
                    }
                });
            }
            // RAW: every thread's accumulators are stored before thread 0 counts the CTA.
            // SAFETY: every thread of the group is here.
            unsafe { group.sync() };
            let mut last = false;
            if t == 0 {
                // What the barrier made visible to this thread, the CTA's accumulators, is visible to the GPU before
                // the CTA is counted.
                thread::device_fence();
                // SAFETY: one counter per split of a tile. Each group has its own: distances are powers of 8, so
                // `first` is a multiple of more than `shift` is, and a group of two is longer than `shift`.
                unsafe {
                    let counter = params.counters.add((tile * splits + first + shift) as usize);
                    let arrived = atomic_fetch_add_relaxed_u32_device(counter, 1);
                    last = arrived == members - 1;
                    if last {
                        // The next launch counts from 0. Every CTA of this group has been counted.
                        atomic_fetch_add_relaxed_u32_device(counter, members.wrapping_neg());
                    }
                }
                // What the other CTAs stored before they were counted is visible after.
                thread::device_fence();
            }
            // RAW: all threads follow thread 0's fence, and learn whether this CTA is the last.
            // SAFETY: every thread of the group is here.
            if !unsafe { group.broadcast(last) } {
                return false;
            }
            unrolled!(const M, at most 16, |i| {
                for j in 0..N {
                    acc[i][j] = A::ZERO;
                }
            });
            let mut from = first;
            while from < end {
                // The slots after the first are loaded before it is added, so that the latency of L2 counts once.
                let mut held = [[[A::ZERO; N]; M]; GROUP as usize];
                unrolled!(const slots_at_once(elems_per_thread::<A>(M * N)) - 1, |number| {
                    let slot = from + ((number + 1) << shift);
                    // SAFETY: before the end, a slot of the group, whose CTA has been counted.
                    held[number as usize] = unsafe { load_slot(workspace, slot_elem(slot), threads, slot < end) };
                });
                let at = slot_elem(from);
                // SAFETY: a slot of the group, whose CTA has been counted.
                unsafe {
                    unrolled!(const M, at most 16, |i| {
                        for j in 0..N {
                            acc[i][j] = acc[i][j] + workspace.get(at + (i * N + j) * threads);
                        }
                    });
                }
                unrolled!(const slots_at_once(elems_per_thread::<A>(M * N)) - 1, |number| {
                    add_slot(acc, &held[number as usize]);
                });
                from += const { slots_at_once(elems_per_thread::<A>(M * N)) } << shift;
            }
        }
        slot = first;
        shift += GROUP_SHIFT;
    }
    true
}

/// A thread's accumulators of a slot, from element `at` on; zeros unless it is `inside`.
///
/// # Safety
/// If `inside`, they are in the workspace, and every thread has stored them.
#[inline(always)]
// Accumulators are indexed by row and column throughout.
#[allow(clippy::needless_range_loop)]
unsafe fn load_slot<A: Accumulator, const M: usize, const N: usize>(
    workspace: GlobalMut<A>,
    at: usize,
    threads: usize,
    inside: bool,
) -> [[A; N]; M] {
    let mut slot = [[A::ZERO; N]; M];
    unrolled!(const M, at most 16, |i| {
        for j in 0..N {
            // SAFETY: the caller's promise.
            slot[i][j] = unsafe { workspace.get_if(inside, || at + (i * N + j) * threads, A::ZERO) };
        }
    });
    slot
}

/// Adds a slot to the accumulators.
#[inline(always)]
// Accumulators are indexed by row and column throughout.
#[allow(clippy::needless_range_loop)]
fn add_slot<A: Accumulator, const M: usize, const N: usize>(acc: &mut [[A; N]; M], slot: &[[A; N]; M]) {
    unrolled!(const M, at most 16, |i| {
        for j in 0..N {
            acc[i][j] = acc[i][j] + slot[i][j];
        }
    });
}

/// [`reduce`] of a lane's accumulators of `M x N` MMA atoms, 2 or 8 of them, with the tile that [`SplitTile::of_cta`]
/// finds.
///
/// # Safety
/// As for [`reduce`]: a thread has four elements in the workspace for each atom. `M * N` is 2 or 8.
#[inline(always)]
pub unsafe fn reduce_atoms<E, A: Accumulator, const M: usize, const N: usize>(
    acc: &mut [[[A; 4]; N]; M],
    tile: [u32; 2],
    threads: u32,
    params: &GemmParams<E>,
) -> bool {
    let split = SplitTile::of_cta(params, tile, threads);
    let atoms = acc.as_mut_ptr();
    // SAFETY: as many accumulators, a row for each atom; the caller's promise.
    unsafe {
        match const { M * N } {
            8 => reduce::<E, A, 8, 4>(&WholeCta, &mut *atoms.cast(), split, params),
            _ => reduce::<E, A, 2, 4>(&WholeCta, &mut *atoms.cast(), split, params),
        }
    }
}
