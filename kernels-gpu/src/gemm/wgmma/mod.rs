//! The body of the `wgmma` families: f16 or bf16, or f32 as the sum of three bf16 or rounded to tf32; accumulators in
//! f32, TMA loads and stores.
//!
//! ```text
//! one thread initializes the pipeline's barriers, full and empty for each stage; barrier
//!
//! producer warp, one thread:                   consumer warpgroups, 64 rows of C each:
//! for each work tile of this CTA               for each work tile of this CTA
//!     for each k-tile                              for each k-tile
//!         wait until the stage is empty                wait until the stage is full
//!         load A's and B's boxes into it;              acc += A's rows * B, four wgmma
//!         their arrival makes it full                  release the stage of the previous k-tile
//!                                                  C = activation(alpha * acc + beta * C + bias)
//! ```
//!
//! Loads run ahead, also into the next tile of a persistent CTA; in a cluster each CTA multicasts a part of B to all;
//! TMA stores C while the next tile is computed. [`WgmmaTile`] has the numbers.

pub(crate) mod consumer;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))]
mod entry;
pub(crate) mod epilogue;
mod parts;
mod producer;
mod store_registers;
mod tf32;
pub(crate) mod tile_scheduler;

use bytemuck::Pod;
use cuda_std::{shared, thread, warp};
use cuda_views::Shared;
use half::f16;
use tilewright_contract::{GemmParams, WgmmaTile};

use crate::block::element::TensorElement;
use crate::ptx::elect::elect;
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::warp_uniform::warp_uniform;
use crate::ptx::wgmma::{Accumulators, WgmmaElement};
use crate::ptx::{bulk_copy, cluster, griddepcontrol, mbarrier, setmaxnreg};
use consumer::consume;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))]
pub(crate) use entry::entry_points;
pub use epilogue::Target;
use producer::produce;
use tile_scheduler::TileScheduler;

/// A tile as a type, so that its numbers are constants of the kernel.
pub trait Tile {
    /// The geometry.
    const TILE: WgmmaTile;
}

/// An element of A and B of 2 bytes.
pub trait Element: TensorElement + WgmmaElement {}

impl<E: TensorElement + WgmmaElement> Element for E {}

/// An element of A and B in shared memory.
pub trait Staged: Pod {
    /// Itself if it has 2 bytes; of others any that has.
    type Half: Element;
}

impl<E: Element> Staged for E {
    type Half = E;
}

impl Staged for f32 {
    type Half = f16;
}

/// Pipeline between producer and consumers: the CTA's dynamic shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Pipeline<E> {
    /// Elements of all stages, then of all epilogue subtiles.
    pub(crate) elems: Shared<E>,
    /// All of it, as barriers. A view of the barriers alone would start at an address that `ptxas` recomputes for each
    /// k-tile (`SR_SWINHI`).
    pub(crate) barriers: Shared<u64>,
}

impl<E: Pod> Pipeline<E> {
    /// The same of elements of another type.
    ///
    /// # Safety
    /// The elements are of that type.
    #[inline(always)]
    pub(crate) unsafe fn cast<T: Tile, Q: Pod>(self) -> Pipeline<Q> {
        let elems = const { (T::TILE.barriers_at().get() as usize) / size_of::<Q>() };
        Pipeline {
            // SAFETY: as many bytes.
            elems: unsafe { Shared::new(self.elems.as_mut_ptr().cast(), elems) },
            barriers: self.barriers,
        }
    }
}

/// Index of the full barrier of a stage: its loads have arrived.
#[inline(always)]
pub(crate) fn full<T: Tile>(stage: u32) -> u32 {
    T::TILE.barriers_at().get() / 8 + stage
}

/// Index of the empty barrier of a stage: every consumer of the cluster has released it.
#[inline(always)]
pub(crate) fn empty<T: Tile>(stage: u32) -> u32 {
    full::<T>(T::TILE.stages + stage)
}

/// Index of the flag of a consumer warpgroup, in a tile that has flags.
#[inline(always)]
fn flag<T: Tile>(warpgroup: u32) -> u32 {
    full::<T>(T::TILE.barriers() + warpgroup)
}

/// Stage and phase of one user of the pipeline.
#[derive(Clone, Copy)]
pub(crate) struct PipelineState {
    pub(crate) stage: u32,
    /// Parity of the phase of the stage's barriers.
    pub(crate) phase: u32,
}

impl PipelineState {
    pub(crate) const FIRST: Self = Self { stage: 0, phase: 0 };

    /// The state `k_tiles` further.
    #[inline(always)]
    fn advance_by(self, k_tiles: u32, stages: u32) -> Self {
        let at = self.stage + k_tiles;
        Self {
            stage: at % stages,
            phase: self.phase ^ (at / stages % 2),
        }
    }

    /// The next state.
    #[inline(always)]
    pub(crate) fn advance(self, stages: u32) -> Self {
        if self.stage + 1 == stages {
            Self {
                stage: 0,
                phase: self.phase ^ 1,
            }
        } else {
            Self {
                stage: self.stage + 1,
                ..self
            }
        }
    }
}

/// Computes this CTA's tiles of C. `E`: the elements of A and B in shared memory; `P`: those of the operands, the same
/// unless they are in parts. With a transposed tile A is B^T, B is A^T and C is C^T throughout. `M_TILES`: 64-row MMA
/// tiles per warpgroup; `ACCUMULATORS`: half the tile's columns.
///
/// # Safety
/// - `a` and `b` are the maps of the matrices that `target.params` describes, of rank 3 with those of a batch along the
///   third dimension, one where its stride is 0, the parts of each one after the other, with boxes of
///   [`WgmmaTile::box_rows`] by 128 bytes and the 128-byte swizzle. A is M-major (transposed) if `A_IS_MN_MAJOR`, B is
///   N-major (as it is) if `B_IS_MN_MAJOR`. `target` is as it says, and C overlaps neither A nor B.
/// - With [`groups`](crate::block::groups) their ends are in global memory.
/// - The CTA has the tile's threads along x, its bytes of dynamic shared memory and no other, and is one of a cluster
///   of the tile's size, whose CTAs are neighbors along x.
#[inline(always)]
pub unsafe fn gemm<
    E: Staged,
    P,
    T: Tile,
    const A_IS_MN_MAJOR: bool,
    const B_IS_MN_MAJOR: bool,
    const M_TILES: usize,
    const ACCUMULATORS: usize,
>(
    [a, b]: [&TensorMap; 2],
    target: Target<'_, P>,
) where
    [f32; ACCUMULATORS]: Accumulators,
{
    const { assert!(M_TILES as u32 == T::TILE.m_tiles_per_warpgroup() && 2 * ACCUMULATORS as u32 == T::TILE.n) };
    const { assert!(size_of::<P>() == size_of::<E>() && T::TILE.parts == 1 || size_of::<P>() == 4 && M_TILES == 1) };
    const { assert!(size_of::<E>() == T::TILE.element_bytes as usize) };
    const {
        assert!(
            !B_IS_MN_MAJOR || (T::TILE.n / T::TILE.cluster).is_multiple_of(T::TILE.k),
            "each CTA of a cluster loads whole swizzle atoms of B"
        )
    };
    let tile = const { T::TILE.checked() };
    // SAFETY: whole warps execute this.
    let warp = unsafe { warp_uniform(thread::thread_idx_x() / 32) };
    // SAFETY: the allocation is the tile's: stages, epilogue subtiles, barriers, flags, in this order.
    let pipeline = unsafe {
        let start = shared::dynamic_shared_mem::<E>();
        let elems = const { (T::TILE.barriers_at().get() / T::TILE.element_bytes) as usize };
        Pipeline {
            elems: Shared::new(start, elems),
            barriers: Shared::new(start.cast(), const { T::TILE.bytes().get() as usize / 8 }),
        }
    };
    // SAFETY: nobody uses the barriers yet. A barrier of the CTA, or of the cluster, follows below.
    unsafe {
        if warp == 0 && elect(u32::MAX) {
            bulk_copy::prefetch(a);
            bulk_copy::prefetch(b);
            bulk_copy::prefetch(target.map);
            let mut stage = 0;
            while stage < tile.stages {
                mbarrier::init(pipeline.barriers, full::<T>(stage), 1);
                // One thread of each warpgroup that reads what this CTA loads, or of each of its warps.
                let arrivals = tile.readers() * tile.cluster * const { tf32::arrivals::<T, A_IS_MN_MAJOR>() };
                mbarrier::init(pipeline.barriers, empty::<T>(stage), arrivals);
                stage += 1;
            }
            mbarrier::fence_init();
        }
    }
    // The first work tile is computed before the barrier, while one thread initializes the pipeline: the first load
    // waits for both.
    let mut scheduler = TileScheduler::new::<T>(target.params);
    if const { T::TILE.groups } {
        // RAW: the previous grid has written where the groups end.
        griddepcontrol::wait();
    }
    // SAFETY: whole warps execute this; the groups are there.
    let first = unsafe { scheduler.next_of_warp::<T>(target.params) };
    let GemmParams { m, n, .. } = *target.params;
    let rows = tile.loaded_rows(
        [A_IS_MN_MAJOR, B_IS_MN_MAJOR],
        if const { T::TILE.is_transposed } {
            [n, m]
        } else {
            [m, n]
        },
    );
    // SAFETY: as above.
    unsafe {
        if const { T::TILE.cluster == 1 } && rows != [tile.m, tile.n] {
            zero_fill_out_of_bounds::<E, T>(pipeline, rows);
        }
        if const { T::TILE.cluster > 1 } {
            cluster::arrive();
        }
        // RAW: the CTA's barriers are initialized.
        thread::sync_threads();
    }
    // RAW, WAR, WAW: the previous grids of the stream have written and read A, B, C, the workspace and its counters.
    // All above accesses shared memory and the kernel's parameters only, and overlaps the end of those grids.
    griddepcontrol::wait();
    // From here on the next grid may be scheduled (PDL); its CTAs start as ours exit.
    griddepcontrol::launch_dependents();
    let warpgroup = warp / 4;
    // SAFETY: the caller's promise; producer and consumers wait at the pipeline's barriers only. A warpgroup takes one
    // branch as a whole. The target's elements are P: E itself, or with parts f32.
    unsafe {
        if warpgroup == tile.consumers() {
            if const { T::TILE.reallocates_registers() } {
                if const { T::TILE.parts > 1 } {
                    setmaxnreg::decrease::<{ WgmmaTile::PARTS_PRODUCER_REGISTERS }>();
                } else {
                    setmaxnreg::decrease::<{ WgmmaTile::PRODUCER_REGISTERS }>();
                }
            }
            if const { T::TILE.cluster > 1 } {
                // RAW: the barriers of the other CTAs, to which loads are multicast, are initialized. Consumers need
                // them later.
                cluster::wait();
            }
            // Elected, not chosen by its number: `ptxas` then knows that it is one thread, and keeps addresses in
            // uniform registers.
            if warp == tile.consumers() * 4 && elect(u32::MAX) {
                produce::<E, T, A_IS_MN_MAJOR, B_IS_MN_MAJOR>([a, b], pipeline, rows, first, scheduler, target.params);
            }
            // The lanes reconverge here, not at the end of the kernel, where the consumers' branch ends, too: `ptxas`
            // would take that branch for divergent and keep no descriptor in uniform registers.
            warp::sync_warp(u32::MAX);
        } else {
            if const { T::TILE.reallocates_registers() } {
                if const { T::TILE.parts > 1 } {
                    setmaxnreg::increase::<{ WgmmaTile::PARTS_CONSUMER_REGISTERS }>();
                } else {
                    setmaxnreg::increase::<{ WgmmaTile::CONSUMER_REGISTERS }>();
                }
            }
            if const { T::TILE.element_bytes == 4 } {
                tf32::consume::<T, A_IS_MN_MAJOR, B_IS_MN_MAJOR, ACCUMULATORS>(
                    warpgroup,
                    pipeline.cast::<T, _>(),
                    first,
                    scheduler,
                    target.cast(),
                );
            } else if const { T::TILE.parts > 1 } {
                parts::consume::<E::Half, T, A_IS_MN_MAJOR, B_IS_MN_MAJOR, ACCUMULATORS>(
                    warpgroup,
                    pipeline.cast::<T, _>(),
                    first,
                    scheduler,
                    target.cast(),
                );
            } else {
                consume::<E::Half, T, A_IS_MN_MAJOR, B_IS_MN_MAJOR, M_TILES, ACCUMULATORS>(
                    warpgroup,
                    pipeline.cast::<T, _>(),
                    first,
                    scheduler,
                    target.cast(),
                );
            }
            if const { T::TILE.cluster > 1 } {
                // Long complete; each arrival needs its wait.
                cluster::wait();
            }
        }
    }
}

/// Zero-fills the rows of each stage that TMA does not write: C has fewer rows or columns than a tile. The mma read
/// them; their results are not stored.
///
/// # Safety
/// All threads of the CTA execute it before its barrier; nobody reads the pipeline before that.
#[inline(always)]
pub(crate) unsafe fn zero_fill_out_of_bounds<E: Pod, T: Tile>(pipeline: Pipeline<E>, rows: [u32; 2]) {
    let tile = const { T::TILE };
    // Elements of a 16-byte vector, and of 8 bytes.
    let vector = const { 16 / T::TILE.element_bytes };
    let zero_fill = |start: u32, rows: u32, all: u32| {
        let end = start + all * const { T::TILE.k };
        let mut at = start + rows * const { T::TILE.k } + vector * thread::thread_idx_x();
        while at < end {
            // SAFETY: whole vectors of the stage, each of one thread, where TMA does not write.
            unsafe { pipeline.barriers.set_vec((at / (vector / 2)) as usize, [0_u64; 2]) };
            at += vector * tile.threads();
        }
    };
    let mut stage = 0;
    while stage < tile.stages {
        let start = stage * tile.stage_elems();
        zero_fill(start, rows[0], tile.m);
        zero_fill(start + tile.a_elems(), rows[1], tile.n);
        stage += 1;
    }
    // `wgmma` reads through the async proxy.
    bulk_copy::proxy_fence();
}
