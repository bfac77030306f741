//! Split-K reduction: the CTAs that share a tile of C add up their accumulators.

use cuda_std::atomic::intrinsics::atomic_fetch_add_relaxed_u32_device;
use cuda_std::thread;
use cuda_views::GlobalMut;
use tilewright_contract::GemmParams;
use tilewright_contract::split_k::{GROUP, GROUP_SHIFT};

use crate::block::unroll::unrolled;

/// What of C and of K a party computes.
#[derive(Clone, Copy)]
pub struct Share {
    /// The tile, of `tiles`.
    pub tile: u32,
    /// All tiles.
    pub tiles: u32,
    /// The slice, of `slices`.
    pub slice: u32,
    /// All slices.
    pub slices: u32,
    /// Threads of a party.
    pub threads: u32,
}

/// The threads of a block that have a tile together.
pub trait Party {
    /// This thread's number among them.
    fn thread(&self) -> u32;

    /// A barrier of them all.
    ///
    /// # Safety
    /// All of them call it.
    unsafe fn sync(&self);

    /// A barrier of them all, behind which each knows whether thread 0 has said yes; the others say no.
    ///
    /// # Safety
    /// All of them call it.
    unsafe fn ask_first(&self, yes: bool) -> bool;
}

/// All threads of the block.
#[derive(Clone, Copy, Debug)]
pub struct WholeCta;

impl Party for WholeCta {
    #[inline(always)]
    fn thread(&self) -> u32 {
        thread::thread_idx_x()
    }

    #[inline(always)]
    unsafe fn sync(&self) {
        thread::sync_threads();
    }

    #[inline(always)]
    unsafe fn ask_first(&self, yes: bool) -> bool {
        thread::sync_threads_or(u32::from(yes)) != 0
    }
}

/// Adds up the sums of all slices. Returns whether this party has them now: one party of the tile has, the others are
/// done.
///
/// In groups of [`GROUP`] slots the block that comes last adds up, in the order of the slots, whichever block that is:
/// the result is the same to the bit each time.
///
/// # Safety
/// The workspace of `params` has `M * N` elements for each split of each tile and each thread of a party, and a counter
/// for each. Every thread of the party calls this, and the parties of all splits of the tile do.
#[inline(always)]
// Sums are indexed by row and column throughout.
#[allow(clippy::needless_range_loop)]
pub unsafe fn reduce<E, const M: usize, const N: usize>(
    party: &impl Party,
    sums: &mut [[f32; N]; M],
    share: Share,
    params: &GemmParams<E>,
) -> bool {
    let Share {
        tile,
        tiles,
        slice,
        slices,
        threads,
    } = share;
    let t = party.thread();
    let threads = threads as usize;
    let place = |slot: u32| (slot as usize * tiles as usize + tile as usize) * (M * N * threads) + t as usize;
    // SAFETY: the caller's promise.
    let workspace = unsafe {
        GlobalMut::new_with(params.workspace, || {
            slices as usize * tiles as usize * (M * N * threads)
        })
    };
    // This block's slot, and the binary logarithm of the distance to its neighbours.
    let mut slot = slice;
    let mut shift = 0;
    while slices > 1 << shift {
        let first = slot & !((GROUP << shift) - 1);
        let end = slices.min(first + (GROUP << shift));
        let members = (end - first).div_ceil(1 << shift);
        // Alone in its group a block has nothing to wait for.
        if members > 1 {
            let mine = place(slot);
            // SAFETY: the slot is this block's: at first it is its slice's, later that of the group whose slots it has
            // added up.
            unsafe {
                unrolled!(M, at most 16, |i| {
                    for j in 0..N {
                        workspace.set(mine + (i * N + j) * threads, sums[i][j]);
                    }
                });
            }
            // RAW: every thread's sums are there before thread 0 counts the block.
            // SAFETY: every thread of the party is here.
            unsafe { party.sync() };
            let mut last = false;
            if t == 0 {
                // What the barrier made visible to this thread, all sums of the block, is visible to the GPU before the
                // block is counted.
                thread::device_fence();
                // SAFETY: one counter a slice of a tile. Each group has one of its own: distances are powers of 8, so
                // `first` is a multiple of more than `shift` is, and a group of two is longer than `shift`.
                unsafe {
                    let counter = params.counters.add((tile * slices + first + shift) as usize);
                    let before = atomic_fetch_add_relaxed_u32_device(counter, 1);
                    last = before == members - 1;
                    if last {
                        // The next launch counts from 0. Every block of this group has been counted.
                        atomic_fetch_add_relaxed_u32_device(counter, members.wrapping_neg());
                    }
                }
                // What the other blocks left before they were counted is visible after.
                thread::device_fence();
            }
            // RAW: all threads follow thread 0's fence, and learn whether this block is the last.
            // SAFETY: every thread of the party is here.
            if !unsafe { party.ask_first(last) } {
                return false;
            }
            unrolled!(M, at most 16, |i| {
                for j in 0..N {
                    sums[i][j] = 0.0;
                }
            });
            let mut from = first;
            while from < end {
                let at = place(from);
                // SAFETY: a slot of the group, whose block has been counted.
                unsafe {
                    unrolled!(M, at most 16, |i| {
                        for j in 0..N {
                            sums[i][j] += workspace.get(at + (i * N + j) * threads);
                        }
                    });
                }
                from += 1 << shift;
            }
        }
        slot = first;
        shift += GROUP_SHIFT;
    }
    true
}
