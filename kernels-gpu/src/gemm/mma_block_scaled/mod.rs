//! The body of the `mma_block_scaled` family: NVFP4, MXFP4 or MXFP8 with rows along K, accumulators in f32.
//!
//! ```text
//! producer warp, one thread:                   consumer warps:
//! for each k-tile:                             for each k-tile:
//!     wait until its stage is empty                wait until its stage is full
//!     start its TMA loads: A, B, scales            for each k-block, 32 bytes of k:
//!                                                      load fragments and scales
//!                                                      acc += mma of the fragments
//!                                                  the stage is empty
//!                                              C = activation(alpha * acc + beta * C + bias)
//! ```
//!
//! Stages, `full` and `empty` mbarriers are those of the `wgmma` kernels; the launch chooses how many stages there are,
//! by the dynamic shared memory that it passes. Fragments are those of the 16-bit kernels, since `ldmatrix` moves
//! bytes; so is the epilogue.
//!
//! Scales: a lane loads one word a k-block for each 32 rows of A and each 32 columns of B of its warp, which serve two
//! and four `mma`. TMA loads whole tiles of 128 rows, zeros outside, so the last k-tile is no special case. Of a kernel
//! whose scales are in L2 lanes load the same words from global memory.

mod scales;

use cuda_std::{shared, thread, warp};
use cuda_views::Shared;
use tilewright_contract::{
    BlockFormat, BlockScaledParams, BlockScaledTile, GemmParams, RasterTile, ScaleSource, TensorTile,
};

use crate::block::element::TensorElement;
use crate::block::major::KMajor;
use crate::block::unroll::unrolled;
use crate::gemm::mma_sync::loader::{OperandTile, WarpLoader};
use crate::gemm::mma_sync::{self, Accumulators, Position, epilogue};
use crate::ptx::elect::elect;
use crate::ptx::mma::{FragmentA, FragmentB};
use crate::ptx::mma_block_scaled::{Format, ScaleSelector};
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::warp_uniform::warp_uniform;
use crate::ptx::{bulk_copy, mbarrier, named_barrier};
use scales::WarpScales;

/// A tile as a type, so that its numbers are constants of the kernel.
pub trait Tile {
    /// The format of A and B.
    type Format: Format;
    /// The geometry.
    const TILE: BlockScaledTile;
}

/// The same tile in halves.
struct InHalves<T>(core::marker::PhantomData<T>);

impl<T: Tile> mma_sync::Tile for InHalves<T> {
    const TILE: TensorTile = T::TILE.in_halves();
    const STAGES_C: bool = T::TILE.stages_c;

    #[inline(always)]
    unsafe fn drain() {
        // WAR: every consumer warp has read the last stages; the producer fills none any more.
        // SAFETY: every consumer warp is here.
        unsafe { named_barrier::sync(CONSUMERS, const { 32 * T::TILE.consumer_warps() }) };
    }
}

/// The named barrier of the consumer warps.
const CONSUMERS: u32 = 1;

/// The CTA's dynamic shared memory.
#[derive(Clone, Copy)]
struct Pipeline {
    /// The stages in units of 2 bytes.
    halves: Shared<u16>,
    /// The stages in words.
    words: Shared<u32>,
    /// All of it as mbarriers.
    barriers: Shared<u64>,
    /// Stages.
    stages: u32,
}

impl Pipeline {
    /// # Safety
    /// The CTA's dynamic shared memory is that of the tile with so many stages.
    #[inline(always)]
    unsafe fn new<T: Tile>(stages: u32) -> Self {
        let bytes = (stages * const { T::TILE.stage_bytes() }) as usize;
        let barrier_bytes = 16 * stages as usize;
        // SAFETY: the caller's promise; the allocation is aligned to more than any of these types asks for.
        unsafe {
            Self {
                halves: Shared::new(shared::dynamic_shared_mem::<u16>(), bytes / 2),
                words: Shared::new(shared::dynamic_shared_mem::<u32>(), bytes / 4),
                barriers: Shared::new(shared::dynamic_shared_mem::<u64>(), (bytes + barrier_bytes) / 8),
                stages,
            }
        }
    }

    /// Index of the full barrier of a stage: its loads have arrived.
    #[inline(always)]
    fn full<T: Tile>(self, stage: u32) -> u32 {
        self.stages * const { T::TILE.stage_bytes() / 8 } + stage
    }

    /// Index of the empty barrier of a stage: every consumer warp has released it.
    #[inline(always)]
    fn empty<T: Tile>(self, stage: u32) -> u32 {
        self.full::<T>(self.stages + stage)
    }
}

/// Stage and phase parity of a k-tile.
#[derive(Clone, Copy)]
struct PipelineState {
    stage: u32,
    phase: u32,
}

impl PipelineState {
    const FIRST: Self = Self { stage: 0, phase: 0 };

    #[inline(always)]
    fn advance(self, stages: u32) -> Self {
        if self.stage + 1 == stages {
            Self {
                stage: 0,
                phase: self.phase ^ 1,
            }
        } else {
            Self {
                stage: self.stage + 1,
                phase: self.phase,
            }
        }
    }
}

/// Computes this CTA's tile of C. `M` and `N`: 16-row and 8-column MMA atoms of a warp. `maps`: of A and of B, in
/// bytes, and of their scales, in words with a row for each row of tiles.
///
/// # Safety
/// - C, bias, extents, alpha and beta are as `params` describes them; A and B are what the maps say, of the format,
///   with boxes of the tile, and so are the scales, which a kernel with [`ScaleSource::L2`] finds where `scaled` says.
/// - The CTA has the tile's threads along x and the bytes of [`BlockScaledTile::smem`] of `scaled.stages`, at least
///   [`BlockScaledTile::least_stages`], in dynamic shared memory; the grid covers C once along x.
#[inline(always)]
pub unsafe fn gemm<E: TensorElement, T: Tile, const M: usize, const N: usize>(
    params: &GemmParams<E>,
    scaled: &BlockScaledParams,
    maps: [&TensorMap; 4],
) {
    let tile = const { T::TILE.checked() };
    const {
        assert!(M as u32 * 16 == T::TILE.warp_m && N as u32 * 8 == T::TILE.warp_n);
        assert!(T::Format::FORMAT as u32 == T::TILE.format as u32);
    }
    let (tiles_m, tiles_n) = (params.m.div_ceil(tile.m), params.n.div_ceil(tile.n));
    let group_m = const { RasterTile::group_m(T::TILE.m) };
    let at = RasterTile::of_block(thread::block_idx_x(), tiles_m, tiles_n, group_m);
    let (row, column) = (at.tile_m * tile.m, at.tile_n * tile.n);
    let consumer_warps = const { T::TILE.consumer_warps() };
    // SAFETY: the caller's promise.
    unsafe {
        // From lane 0 for the whole warp: ptxas keeps what it knows to be uniform in uniform registers.
        let warp = warp_uniform(thread::thread_idx_x() / 32);
        let pipeline = Pipeline::new::<T>(scaled.stages);
        if thread::thread_idx_x() == 0 {
            let mut stage = 0;
            while stage < pipeline.stages {
                mbarrier::init(pipeline.barriers, pipeline.full::<T>(stage), 1);
                mbarrier::init(pipeline.barriers, pipeline.empty::<T>(stage), consumer_warps);
                stage += 1;
            }
            mbarrier::fence_init();
        }
        // RAW: the mbarriers are initialized.
        thread::sync_threads();
        if warp == consumer_warps {
            if elect(u32::MAX) {
                produce::<T>(maps, pipeline, [row, column], params.k);
            }
            return;
        }
        let warps_m = const { T::TILE.m / T::TILE.warp_m };
        let position = Position {
            row,
            column,
            warp_row: warp % warps_m * tile.warp_m,
            warp_column: warp / warps_m * tile.warp_n,
        };
        let mut acc = consume::<E, T, M, N>(pipeline, scaled, position, params);
        let elems = pipeline.stages * const { T::TILE.stage_bytes() / size_of::<E>() as u32 };
        let stages = Shared::new(pipeline.halves.as_mut_ptr().cast::<E>(), elems as usize);
        epilogue::store::<E, InHalves<T>, M, N>(&mut acc, position, params, stages);
    }
}

/// Producer: loads every k-tile of A, B and their scales.
///
/// # Safety
/// As for [`gemm`]; one thread of the CTA executes it.
#[inline(always)]
unsafe fn produce<T: Tile>(
    [map_a, map_b, map_scale_a, map_scale_b]: [&TensorMap; 4],
    pipeline: Pipeline,
    [row, column]: [u32; 2],
    k: u32,
) {
    let tile = const { T::TILE };
    let [a_bytes, b_bytes, scale_a_bytes] =
        const { [T::TILE.a_bytes(), T::TILE.b_bytes(), T::TILE.scale_bytes(T::TILE.m)] };
    let stage_bytes = const { T::TILE.stage_bytes() };
    let mut state = PipelineState::FIRST;
    let mut k_tile = 0;
    while k_tile * tile.k < k {
        let PipelineState { stage, phase } = state;
        let (start, full) = (stage * stage_bytes, pipeline.full::<T>(stage));
        let barrier = (pipeline.barriers, full);
        let k_byte = (k_tile * const { T::TILE.k_bytes() }) as i32;
        // SAFETY: the stage is in the pipeline and empty: unused at first, later released by the consumers. The boxes
        // have the bytes that the barrier expects.
        unsafe {
            // WAR: the stage is drained. The phase before the first one counts as complete.
            mbarrier::wait(pipeline.barriers, pipeline.empty::<T>(stage), phase ^ 1);
            mbarrier::arrive_expect_tx(pipeline.barriers, full, stage_bytes);
            bulk_copy::load_2d(pipeline.halves, start / 2, map_a, [k_byte, row as i32], barrier);
            let at_b = start + a_bytes;
            bulk_copy::load_2d(pipeline.halves, at_b / 2, map_b, [k_byte, column as i32], barrier);
            if const { matches!(T::TILE.scales, ScaleSource::Stage) } {
                let word = (k_tile * const { T::TILE.scale_k_tiles() * scales::TILE_WORDS }) as i32;
                let at_scales = at_b + b_bytes;
                let load = |map: &TensorMap, to: u32, first: u32| {
                    // SAFETY: as above.
                    bulk_copy::load_2d(
                        pipeline.words,
                        to / 4,
                        map,
                        [word, (first / scales::TILE_ROWS) as i32],
                        barrier,
                    );
                };
                load(map_scale_a, at_scales, row);
                load(map_scale_b, at_scales + scale_a_bytes, column);
            }
        }
        state = state.advance(pipeline.stages);
        k_tile += 1;
    }
}

/// Consumer: computes the accumulators of a lane.
///
/// # Safety
/// As for [`gemm`]; every consumer warp executes it, with its position.
#[inline(always)]
unsafe fn consume<E, T: Tile, const M: usize, const N: usize>(
    pipeline: Pipeline,
    scaled: &BlockScaledParams,
    position: Position,
    params: &GemmParams<E>,
) -> Accumulators<M, N> {
    let tile = const { T::TILE };
    let lane = thread::thread_idx_x() % 32;
    let tiles = const { [OperandTile::a(T::TILE.in_halves()), OperandTile::b(T::TILE.in_halves())] };
    let fragments = WarpLoader::new::<KMajor, KMajor>(tiles, [position.warp_row, position.warp_column], lane);
    let scales = WarpScales::new::<T>(pipeline.words, scaled, position, [params.m, params.n], lane);
    let mut acc = [[[0.0; 4]; N]; M];
    let mut state = PipelineState::FIRST;
    let mut k_tile = 0;
    while k_tile * tile.k < params.k {
        let start = state.stage * const { T::TILE.stage_bytes() };
        // SAFETY: the stage is in the pipeline and full; all lanes of the warp are here.
        unsafe {
            // RAW: the stage is filled.
            mbarrier::wait(pipeline.barriers, pipeline.full::<T>(state.stage), state.phase);
            let a = pipeline
                .halves
                .part(start as usize / 2, const { T::TILE.a_bytes() as usize / 2 });
            let at_b = start + const { T::TILE.a_bytes() };
            let b = pipeline
                .halves
                .part(at_b as usize / 2, const { T::TILE.b_bytes() as usize / 2 });
            unrolled!(const T::TILE.k_blocks(), |k_block| {
                let (mut fragments_a, mut fragments_b) = ([[0; 4]; M], [[0; 2]; N]);
                fragments.load::<u16, KMajor, KMajor>([a, b], &mut fragments_a, &mut fragments_b, k_block);
                let (scales_a, scales_b) = scales.load::<T>(start, k_tile, k_block);
                let byte = const { ScaleByte::<T>::PER_TILE } & k_block;
                mma_tile::<T::Format, M, N>(
                    &mut acc,
                    (&fragments_a, scales_a),
                    (&fragments_b, scales_b),
                    (byte * const { T::TILE.format.mma_scales() }) as u16,
                );
            });
            // WAR: every lane has loaded what it needs of the stage; one arrival releases it.
            warp::sync_warp(u32::MAX);
            if lane == 0 {
                mbarrier::arrive(pipeline.barriers, pipeline.empty::<T>(state.stage));
            }
        }
        state = state.advance(pipeline.stages);
        k_tile += 1;
    }
    acc
}

/// Which `mma` of those that share a tile of scales along K, 1, 2 or 4, a k-block is: a mask.
struct ScaleByte<T>(core::marker::PhantomData<T>);

impl<T: Tile> ScaleByte<T> {
    const PER_TILE: u32 = BlockFormat::scale_tile_k(T::TILE.format) / BlockFormat::mma_k(T::TILE.format) - 1;
}

/// `acc += a * b` with their scales, row by row in serpentine order: consecutive mma share a fragment.
///
/// # Safety
/// All lanes of the warp are here.
#[inline(always)]
unsafe fn mma_tile<F: Format, const M: usize, const N: usize>(
    acc: &mut Accumulators<M, N>,
    (a, scales_a): (&[FragmentA; M], [u32; 2]),
    (b, scales_b): (&[FragmentB; N], [u32; 2]),
    byte: u16,
) {
    unrolled!(const M, |i| {
        let mut step = 0;
        while step < N {
            let j = if i % 2 == 0 { step } else { N - 1 - step };
            let selector = ScaleSelector {
                byte,
                half: (i % 2) as u16,
                part: (j % 4) as u16,
            };
            // SAFETY: the caller's promise.
            unsafe { F::mma(&mut acc[i][j], a[i], b[j], scales_a[i / 2 % 2], scales_b[j / 4 % 2], selector) };
            step += 1;
        }
    });
}
