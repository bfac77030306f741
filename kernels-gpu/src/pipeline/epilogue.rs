//! From the sums of a block to C.

use cuda_std::atomic::intrinsics::atomic_fetch_add_relaxed_u32_device;
use cuda_std::thread;
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{BlockTile, GemmCall, GroupedTile, span_elems};

use super::Tile;
use crate::primitives::async_copy;
use crate::unroll::unrolled;

/// Where a kernel leaves its results.
#[derive(Clone, Copy)]
pub struct Results {
    /// C, m x n.
    pub c: *mut f32,
    /// With slices: `slices * tiles * m * n` elements of the tile, no matter what is in them.
    pub workspace: *mut f32,
    /// With slices: one counter a tile, all 0, and 0 again at the end.
    pub counters: *mut u32,
}

/// Row and column of C of a thread's first element.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) row: u32,
    pub(super) column: u32,
}

/// Stores a thread's sums. With slices: leaves them in the workspace, and the block that comes last to a tile adds up the sums of all slices, in the
/// order of the slices, whichever came last: the result is the same to the bit each time.
///
/// # Safety
/// - `ring` is the block's ring of stages, of which this thread uses nothing any more.
/// - `results` are as it says, for the grid and the tile of `call`. The place is the thread's own. Every thread of the block calls this.
#[inline(always)]
// Sums are indexed by row and column throughout.
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn store<T: Tile, const M: usize, const N: usize>(
    mut sums: [[f32; N]; M],
    place: Place,
    at: GroupedTile,
    tiles: u32,
    results: Results,
    call: GemmCall,
    ring: Shared<f32>,
) {
    let slices = const { T::TILE.takes_slices() };
    if slices && call.slices > 1 {
        // Copies of steps behind the end may still be under way, and would come to the ring after what is written there below.
        async_copy::wait::<0>();
        let tile = const { T::TILE };
        // Any numbering of the tiles will do.
        let index = at.tile_m + at.tile_n * call.args.m.div_ceil(tile.m);
        let t = thread::thread_idx_x();
        let threads = tile.threads() as usize;
        let of_slice = |slice: u32| (slice as usize * tiles as usize + index as usize) * (M * N * threads) + t as usize;
        let elems = || call.slices as usize * tiles as usize * (M * N * threads);
        // SAFETY: the workspace has so many elements, the counters so many tiles; the ring has at least one element.
        unsafe {
            let workspace = GlobalMut::new_with(results.workspace, elems);
            let mine = of_slice(at.slice);
            unrolled!(M, at most 16, |i| {
                for j in 0..N {
                    workspace.set(mine + (i * N + j) * threads, sums[i][j]);
                }
            });
            // RAW: every thread's sums are there before thread 0 counts the block. WAR: no thread copies to the ring or reads from it any more.
            thread::sync_threads();
            if t == 0 {
                // What the barrier made visible to this thread, all sums of the block, is visible to the GPU before the block is counted.
                thread::device_fence();
                let counter = results.counters.add(index as usize);
                let before = atomic_fetch_add_relaxed_u32_device(counter, 1);
                let last = before == call.slices - 1;
                if last {
                    // The next launch counts from 0. Every block of this tile has been counted.
                    atomic_fetch_add_relaxed_u32_device(counter, before.wrapping_add(1).wrapping_neg());
                }
                // What the other blocks left before they were counted is visible after.
                thread::device_fence();
                ring.set(0, if last { 1.0 } else { 0.0 });
            }
            // RAW: thread 0 has said whether this block is the last, and all threads follow its fence.
            thread::sync_threads();
            if ring.get(0) == 0.0 {
                return;
            }
            unrolled!(M, at most 16, |i| {
                for j in 0..N {
                    sums[i][j] = 0.0;
                }
            });
            let mut slice = 0;
            while slice < call.slices {
                let from = of_slice(slice);
                unrolled!(M, at most 16, |i| {
                    for j in 0..N {
                        sums[i][j] += workspace.get(from + (i * N + j) * threads);
                    }
                });
                slice += 1;
            }
        }
    }
    let (m, n, ld) = (call.args.m, call.args.n, call.args.ldc as usize);
    // SAFETY: C is as `call` says.
    let c = unsafe { GlobalMut::new_with(results.c, || span_elems(m as usize, n as usize, ld)) };
    // `ptxas` gives the four sums of a vector neighbouring registers, in the same banks as the vector of B has, so that each `fma` reads two operands from
    // one bank. Single stores leave it free.
    let vectors = slices && n.is_multiple_of(4) && ld.is_multiple_of(4) && results.c.addr().is_multiple_of(16);
    let scaled = |sum: f32, index: usize, inside: bool| {
        let product = call.alpha * sum;
        if call.beta == 0.0 {
            product
        } else {
            // SAFETY: inside C; no other thread writes this element.
            product + call.beta * unsafe { c.get_if(inside, || index, 0.0) }
        }
    };
    unrolled!(M, at most 16, |i| {
        let row = place.row + (i / 4) as u32 * (4 * BlockTile::LANES_M) + (i % 4) as u32;
        let mut vector = 0;
        while vector < N / 4 {
            let column = place.column + vector as u32 * (4 * BlockTile::LANES_N);
            let index = row as usize * ld + column as usize;
            if vectors {
                if row < m && column < n {
                    let values: [f32; 4] = core::array::from_fn(|j| scaled(sums[i][4 * vector + j], index + j, true));
                    // SAFETY: n is a multiple of 4, so the whole vector is inside C and this thread's; its address is a multiple of 16.
                    unsafe { c.set_vec(index, values) };
                }
            } else {
                for j in 0..4 {
                    let inside = row < m && column + (j as u32) < n;
                    let value = scaled(sums[i][4 * vector + j], index + j, inside);
                    // SAFETY: inside C; no other thread writes this element.
                    unsafe { c.set_if(inside, || index + j, || value) };
                }
            }
            vector += 1;
        }
    });
}
