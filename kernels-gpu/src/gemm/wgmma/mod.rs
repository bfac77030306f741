//! The body of the kernels that multiply by `wgmma` and copy by tensor maps: f16 or bf16 in, sums in f32.
//!
//! ```text
//! one thread makes the barriers of the ring: full and empty for each stage; barrier
//!
//! the last warpgroup, one thread:              the others, 64 rows of C each:
//! for each tile of this block                  for each tile of this block
//!     for each step along K                        for each step along K
//!         wait until the stage is empty                wait until the stage is full
//!         copy A's and B's boxes to it;                sums += A's rows * B, four wgmmas
//!         as they arrive it is full                    the stage of the step before is empty
//!                                                  C = activation(alpha * sums + beta * C + bias)
//! ```
//!
//! Loads run ahead, also into the next tile of a persistent CTA; in a cluster each CTA multicasts a part of B to all;
//! TMA stores C while the next tile is computed. [`WgmmaTile`] has the numbers.

mod copies;
mod entry;
mod epilogue;
mod products;
mod work;

use cuda_std::{shared, thread, warp};
use cuda_views::Shared;
use tilewright_contract::{GemmParams, WgmmaTile};

use crate::gemm::mma_sync::TensorElement;
use crate::ptx::elect::elect;
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::uniform::uniform;
use crate::ptx::wgmma::{ProductElement, Sums};
use crate::ptx::{bulk_copy, cluster, grid_dependency, mbarrier, setmaxnreg};
use copies::copy;
pub(crate) use entry::entry_points;
pub use epilogue::Target;
use products::multiply;
use work::Work;

/// A tile as a type, so that its numbers are constants of the kernel.
pub trait Tile {
    /// The geometry.
    const TILE: WgmmaTile;
}

/// An element of A and B.
pub trait Element: TensorElement + ProductElement {}

impl<E: TensorElement + ProductElement> Element for E {}

/// The block's dynamic shared memory: stages, C's panels, barriers.
#[derive(Clone, Copy)]
struct Ring<E> {
    /// Elements of all stages, then of all panels of C.
    elems: Shared<E>,
    /// All of it, as barriers. A view of the barriers alone would begin at an address that `ptxas` computes anew in
    /// each step (`SR_SWINHI`).
    barriers: Shared<u64>,
}

/// The barrier of a stage whose copies have arrived.
#[inline(always)]
fn full<T: Tile>(stage: u32) -> u32 {
    T::TILE.barriers_at().get() / 8 + stage
}

/// The barrier of a stage that nobody in the cluster multiplies any more.
#[inline(always)]
fn empty<T: Tile>(stage: u32) -> u32 {
    full::<T>(T::TILE.stages + stage)
}

/// Which stage comes next, and which phase of its barriers.
#[derive(Clone, Copy)]
struct Turn {
    stage: u32,
    parity: u32,
}

impl Turn {
    const FIRST: Self = Self { stage: 0, parity: 0 };

    /// The one that is `steps` further, in a ring of so many stages.
    #[inline(always)]
    fn behind(self, steps: u32, stages: u32) -> Self {
        let at = self.stage + steps;
        Self {
            stage: at % stages,
            parity: self.parity ^ (at / stages % 2),
        }
    }

    /// The one behind it, in a ring of so many stages.
    #[inline(always)]
    fn next(self, stages: u32) -> Self {
        if self.stage + 1 == stages {
            Self {
                stage: 0,
                parity: self.parity ^ 1,
            }
        } else {
            Self {
                stage: self.stage + 1,
                ..self
            }
        }
    }
}

/// Computes this block's tiles of C. `GROUPS`: how many times 64 rows a warpgroup has of a tile; `SUMS`: half the
/// tile's columns.
///
/// # Safety
/// - `a` and `b` are the maps of the matrices that `target.params` describes, with boxes of [`WgmmaTile::box_rows`] by
///   64 elements and the 128-byte swizzle. A is stored transposed if `A_IS_M_MAJOR`, B if not `B_IS_N_MAJOR`. `target`
///   is as it says, and C overlaps neither A nor B.
/// - The block has the tile's threads along x, its bytes of dynamic shared memory and no other, and is one of a cluster
///   of the tile's size, whose blocks are neighbours along x.
#[inline(always)]
pub unsafe fn product<
    E: Element,
    T: Tile,
    const A_IS_M_MAJOR: bool,
    const B_IS_N_MAJOR: bool,
    const GROUPS: usize,
    const SUMS: usize,
>(
    [a, b]: [&TensorMap; 2],
    target: Target<'_, E>,
) where
    [f32; SUMS]: Sums,
{
    const { assert!(GROUPS as u32 == T::TILE.m_tiles_per_warpgroup() && 2 * SUMS as u32 == T::TILE.n) };
    const {
        assert!(
            !B_IS_N_MAJOR || (T::TILE.n / T::TILE.cluster).is_multiple_of(WgmmaTile::PANEL),
            "each block of a cluster loads whole panels of B"
        )
    };
    let tile = const { T::TILE.checked() };
    // SAFETY: whole warps execute this.
    let number = unsafe { uniform(thread::thread_idx_x() / 32) };
    // SAFETY: the allocation is the tile's: stages, panels of C, barriers, in this order.
    let ring = unsafe {
        let start = shared::dynamic_shared_mem::<E>();
        let elems = const { (T::TILE.ring_elems() + T::TILE.c_elems()) as usize };
        Ring {
            elems: Shared::new(start, elems),
            barriers: Shared::new(start.cast(), const { T::TILE.bytes().get() as usize / 8 }),
        }
    };
    // SAFETY: the barriers are in nobody's use yet. All threads of the block, and of the cluster, meet.
    unsafe {
        if number == 0 && elect(u32::MAX) {
            bulk_copy::prefetch(a);
            bulk_copy::prefetch(b);
            bulk_copy::prefetch(target.map);
            let mut stage = 0;
            while stage < tile.stages {
                mbarrier::init(ring.barriers, full::<T>(stage), 1);
                // One thread of each warpgroup that reads what this block copies.
                mbarrier::init(ring.barriers, empty::<T>(stage), tile.readers() * tile.cluster);
                stage += 1;
            }
            mbarrier::fence_init();
        }
    }
    // What the block begins with is computed before the barrier, while one thread makes the barriers of the ring: the
    // first copy waits for both.
    let mut work = Work::new::<T>(target.params);
    let first = work.next::<T>();
    let GemmParams { m, n, .. } = *target.params;
    let rows = tile.copied_rows([A_IS_M_MAJOR, B_IS_N_MAJOR], [m, n]);
    // SAFETY: as above.
    unsafe {
        if const { T::TILE.cluster == 1 } && rows != [tile.m, tile.n] {
            clear_rest::<E, T>(ring, rows);
        }
        if const { T::TILE.cluster > 1 } {
            cluster::arrive();
        }
        // RAW: the barriers of the block are there.
        thread::sync_threads();
    }
    // RAW, WAR, WAW: what launches before this one wrote and read in A, B, C, the workspace and its counters. All above
    // accesses the block's shared memory and the kernel's parameters only, and takes place while those launches end.
    grid_dependency::wait();
    // The next launch may do the same from now on; its blocks come as this grid's end.
    grid_dependency::launch_dependents();
    let warpgroup = number / 4;
    // SAFETY: the caller's promise; the two parts of the block meet at the ring's barriers only. A warpgroup goes one
    // way as a whole.
    unsafe {
        if warpgroup == tile.consumers() {
            if const { T::TILE.reallocates_registers() } {
                setmaxnreg::decrease::<{ WgmmaTile::COPY_REGISTERS }>();
            }
            if const { T::TILE.cluster > 1 } {
                // RAW: the barriers of the other blocks are there, to which copies go. Who multiplies needs them later
                // than that.
                cluster::wait();
            }
            // Elected, not by its number: `ptxas` then knows that it is one thread, and keeps addresses in uniform
            // registers.
            if number == tile.consumers() * 4 && elect(u32::MAX) {
                copy::<E, T, A_IS_M_MAJOR, B_IS_N_MAJOR>([a, b], ring, rows, first, work);
            }
            // The lanes meet again here, and not at the end of the kernel, where the other warpgroups' way ends too:
            // `ptxas` would take their way for one on which lanes may be apart, too, and keep no descriptor in uniform
            // registers.
            warp::sync_warp(u32::MAX);
        } else {
            if const { T::TILE.reallocates_registers() } {
                setmaxnreg::increase::<{ WgmmaTile::MULTIPLY_REGISTERS }>();
            }
            multiply::<E, T, A_IS_M_MAJOR, B_IS_N_MAJOR, GROUPS, SUMS>(warpgroup, ring, first, work, target);
            if const { T::TILE.cluster > 1 } {
                // Long complete; each arrival wants its wait.
                cluster::wait();
            }
        }
    }
}

/// Clears the rows of all stages that no copy brings: of a product with fewer rows or columns than a tile. They are
/// multiplied like the others, and what comes of them is not stored.
///
/// # Safety
/// All threads of the block execute it, before its barrier; nobody reads the ring before that.
#[inline(always)]
unsafe fn clear_rest<E: Element, T: Tile>(ring: Ring<E>, rows: [u32; 2]) {
    const CHUNK: u32 = 8;
    let tile = const { T::TILE };
    let clear = |start: u32, rows: u32, all: u32| {
        let end = start + all * WgmmaTile::K;
        let mut at = start + rows * WgmmaTile::K + CHUNK * thread::thread_idx_x();
        while at < end {
            // SAFETY: whole chunks of the stage, each of one thread, where no copy writes.
            unsafe { ring.barriers.set_vec((at / 4) as usize, [0_u64; 2]) };
            at += CHUNK * tile.threads();
        }
    };
    let mut stage = 0;
    while stage < tile.stages {
        let start = stage * tile.stage_elems();
        clear(start, rows[0], tile.m);
        clear(start + tile.a_elems(), rows[1], tile.n);
        stage += 1;
    }
    // `wgmma` reads by the async proxy.
    bulk_copy::proxy_fence();
}
