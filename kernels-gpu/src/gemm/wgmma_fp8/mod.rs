//! FP8 with scales: A and B of e4m3 or e5m2, both K-major, C of 16 bits or f32.
//!
//! ```text
//! fast: for each k-tile                        promoted, blocks: for each k-tile
//!     wait until the stage is full                 wait until the stage is full
//!     acc += A's rows * B, four wgmma              part = A's rows * B, four wgmma
//!     wait for those of the previous               load the scales of this thread's rows (blocks)
//!     k-tile and release its stage                 wait for the part of the previous k-tile and release its stage
//!                                                  acc += that part, or acc += scales * that part
//! acc *= scale of the row * scale of the column (fast, promoted)
//! C = activation(alpha * acc + beta * C + bias)
//! ```
//!
//! Hopper keeps some 14 bits where it adds products of FP8. A k-tile is 128 terms, which is as many as should be added
//! that way (DeepSeek-V3, arXiv 2412.19437, section 3.3.2): their sum, `part`, is promoted, that is, added in f32. The
//! first `wgmma` of a k-tile ignores what is in `part`, so that nothing has to be cleared.
//!
//! Parts are two, in registers of their own: while the threads promote one, 64 FMA each, the tensor cores compute the
//! other. It is not enough that there are two warpgroups: both wait for the same stages, and promote at the same time
//! (decision 43).
//!
//! Stages, their barriers, the tile scheduler and the epilogue are those of [`wgmma`](crate::gemm::wgmma). What is set
//! up before the two branches stands here again: it differs in the arrivals and the scales.

mod consumer;
mod producer;
mod schedule;

use core::marker::PhantomData;

use cuda_std::{shared, thread, warp};
use cuda_views::Shared;
use tilewright_contract::{Fp8Mode, Fp8Params, GemmParams, WgmmaTile};

use crate::gemm::wgmma::{Element, Pipeline, Target, Tile, empty, full, zero_fill_out_of_bounds};
use crate::ptx::elect::elect;
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::warp_uniform::warp_uniform;
use crate::ptx::wgmma::{Accumulators, Fp8Element};
use crate::ptx::{bulk_copy, cluster, griddepcontrol, mbarrier, setmaxnreg};
use consumer::consume;
use producer::produce;
use schedule::Schedule;

/// A kernel as a type: its tile, how it adds up, and the formats of A and B.
pub trait Fp8Tile: Tile {
    /// Accumulation and scales.
    const MODE: Fp8Mode;
    /// The format of A.
    type A: Fp8Element;
    /// The format of B.
    type B: Fp8Element;
    /// Whether a stage has the scales of A's rows.
    const SCALES: bool = matches!(Self::MODE, Fp8Mode::Blocks);
}

/// The same tile in units of 2 bytes, for the epilogue.
struct InHalves<T>(PhantomData<T>);

impl<T: Fp8Tile> Tile for InHalves<T> {
    const TILE: WgmmaTile = T::TILE.in_halves();
}

/// The scales of A in shared memory.
struct Scales;

impl Scales {
    /// All of the CTA's dynamic shared memory, in f32.
    #[inline(always)]
    fn of<T: Fp8Tile>(pipeline: Pipeline<u8>) -> Shared<f32> {
        let elems = const { T::MODE.bytes(T::TILE).get() / 4 };
        // SAFETY: within the allocation, which is aligned for more.
        unsafe { Shared::new(pipeline.elems.as_mut_ptr().cast(), elems as usize) }
    }

    /// Index of the first scale of a stage.
    #[inline(always)]
    fn first<T: Fp8Tile>(stage: u32) -> u32 {
        stage * const { T::MODE.scale_bytes(T::TILE) / 4 } + const { T::MODE.scales_at(T::TILE) / 4 }
    }

    /// How many scales a stage has before that of a tile's first row.
    #[inline(always)]
    fn before<T: Fp8Tile>(row: u32) -> u32 {
        if const { T::TILE.groups } {
            row % Fp8Mode::SCALES_PER_UNIT
        } else {
            0
        }
    }
}

/// Arrivals of a warpgroup that release a stage: one, or where threads load scales from it one of each warp.
const fn arrivals<T: Fp8Tile>() -> u32 {
    if T::SCALES { 4 } else { 1 }
}

/// Computes this CTA's tiles of C. `O`: the type of the bias, and of C unless it is f32; `ACCUMULATORS`: half the
/// tile's columns. `maps`: of A and of B in bytes, of C, and of the scales of A.
///
/// # Safety
/// - As for [`wgmma::gemm`](crate::gemm::wgmma::gemm), with K-major maps of bytes, one product, no split-K, no groups.
/// - `scaled` is as it says: with [`Fp8Mode::Blocks`] there is a scale for each 128 columns of C and 128 of K; else
///   one for each row and each column, or one where a stride is 0. The map of A's scales is of rank 2, with a row for
///   each 128 of K, and boxes of [`Fp8Mode::scale_rows`]; without `Blocks` any map will do.
#[inline(always)]
pub unsafe fn gemm<O: Element, T: Fp8Tile, const ACCUMULATORS: usize>(
    [a, b, c, scales]: [&TensorMap; 4],
    target: Target<'_, O>,
    scaled: &Fp8Params,
) where
    [f32; ACCUMULATORS]: Accumulators,
{
    const {
        assert!(T::TILE.element_bytes == 1 && T::TILE.m_tiles_per_warpgroup() == 1);
        assert!(2 * ACCUMULATORS as u32 == T::TILE.n);
        assert!(
            !T::SCALES || T::TILE.cluster == 1 && 128_u32.is_multiple_of(T::TILE.n),
            "the CTA that reads scales loads them, and a tile has one scale of B"
        );
    };
    let tile = const { T::TILE.checked() };
    // SAFETY: whole warps execute this.
    let warp = unsafe { warp_uniform(thread::thread_idx_x() / 32) };
    // SAFETY: the allocation is the tile's: stages, epilogue subtiles, barriers, scales, in this order.
    let pipeline = unsafe {
        let start = shared::dynamic_shared_mem::<u8>();
        Pipeline {
            elems: Shared::new(start, const { T::TILE.barriers_at().get() as usize }),
            barriers: Shared::new(start.cast(), const { T::TILE.bytes().get() as usize / 8 }),
        }
    };
    // SAFETY: nobody uses the barriers yet. A barrier of the CTA, or of the cluster, follows below.
    unsafe {
        if warp == 0 && elect(u32::MAX) {
            bulk_copy::prefetch(a);
            bulk_copy::prefetch(b);
            bulk_copy::prefetch(c);
            if const { T::SCALES } {
                bulk_copy::prefetch(scales);
            }
            let mut stage = 0;
            while stage < tile.stages {
                mbarrier::init(pipeline.barriers, full::<T>(stage), 1);
                let arrivals = tile.readers() * tile.cluster * const { arrivals::<T>() };
                mbarrier::init(pipeline.barriers, empty::<T>(stage), arrivals);
                stage += 1;
            }
            mbarrier::fence_init();
        }
    }
    // The first work tile is computed before the barrier, while one thread initializes the pipeline: the first load
    // waits for both.
    let mut schedule = Schedule::new::<T>(target.params);
    if const { T::TILE.groups } {
        // RAW: the previous grid has written where the groups end.
        griddepcontrol::wait();
    }
    // SAFETY: whole warps execute this; the groups are there.
    let first = unsafe { schedule.next_of_warp::<T>(target.params) };
    let GemmParams { m, n, .. } = *target.params;
    let rows = tile.loaded_rows([false; 2], [m, n]);
    // SAFETY: as above.
    unsafe {
        if const { T::TILE.cluster == 1 } && rows != [tile.m, tile.n] {
            zero_fill_out_of_bounds::<u8, T>(pipeline, rows);
        }
        if const { T::TILE.cluster > 1 } {
            cluster::arrive();
        }
        // RAW: the CTA's barriers are initialized.
        thread::sync_threads();
    }
    // RAW, WAR, WAW: the previous grids of the stream have written and read A, B, C and the scales. All above accesses
    // shared memory and the kernel's parameters only, and overlaps the end of those grids.
    griddepcontrol::wait();
    // From here on the next grid may be scheduled (PDL); its CTAs start as ours exit.
    griddepcontrol::launch_dependents();
    let warpgroup = warp / 4;
    // SAFETY: the caller's promise; producer and consumers wait at the pipeline's barriers only. A warpgroup takes one
    // branch as a whole.
    unsafe {
        if warpgroup == tile.consumers() {
            if const { T::TILE.reallocates_registers() } {
                setmaxnreg::decrease::<{ WgmmaTile::PRODUCER_REGISTERS }>();
            }
            if const { T::TILE.cluster > 1 } {
                // RAW: the barriers of the other CTAs, to which loads are multicast, are initialized. Consumers need
                // them later.
                cluster::wait();
            }
            // Elected, not chosen by its number: `ptxas` then knows that it is one thread, and keeps addresses in
            // uniform registers.
            if warp == tile.consumers() * 4 && elect(u32::MAX) {
                produce::<T>([a, b, scales], pipeline, rows, first, schedule, target.params);
            }
            // The lanes reconverge here, not at the end of the kernel, where the consumers' branch ends, too: `ptxas`
            // would take that branch for divergent and keep no descriptor in uniform registers.
            warp::sync_warp(u32::MAX);
        } else {
            if const { T::TILE.reallocates_registers() } {
                setmaxnreg::increase::<{ WgmmaTile::CONSUMER_REGISTERS }>();
            }
            consume::<O, T, ACCUMULATORS>(warpgroup, pipeline, first, schedule, target, scaled);
            if const { T::TILE.cluster > 1 } {
                // Long complete; each arrival needs its wait.
                cluster::wait();
            }
        }
    }
}
