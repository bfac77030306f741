//! Consumer (math) warpgroups of FP8.

use core::marker::PhantomData;

use cuda_std::{thread, warp};
use cuda_views::Global;
use tilewright_contract::{Fp8Mode, Fp8Params, WgmmaTile};

use super::schedule::{Schedule, blocks_before, planes};
use super::{Fp8Tile, InHalves, Scales};
use crate::block::split_k::SplitTile;
use crate::block::unroll::unrolled;
use crate::gemm::wgmma::consumer::ATOM_BYTES;
use crate::gemm::wgmma::epilogue::{self, Place};
use crate::gemm::wgmma::tile_scheduler::WorkTile;
use crate::gemm::wgmma::{Element, Pipeline, PipelineState, Target, empty, full};
use crate::ptx::fma::fma;
use crate::ptx::shared_address::shared_address;
use crate::ptx::wgmma::{self, Accumulators, Descriptor, accumulator_position};
use crate::ptx::{bulk_copy, cluster, mbarrier, optimization_barrier};

/// Bytes of a k-block of 32 elements in a row of K.
const K_BLOCK_BYTES: u32 = 32;

/// Accumulators whose scales of columns are loaded at once: those of 128 columns.
const PART: usize = 64;

/// Computes the rows of this warpgroup, number `warpgroup`, of all work tiles of the CTA: `first`, then those of
/// `schedule`.
///
/// # Safety
/// As for [`gemm`](super::gemm); the threads of a consumer warpgroup execute it together.
#[inline(always)]
pub(super) unsafe fn consume<O: Element, T: Fp8Tile, const ACCUMULATORS: usize>(
    warpgroup: u32,
    pipeline: Pipeline<u8>,
    first: Option<WorkTile>,
    mut schedule: Schedule,
    target: Target<'_, O>,
    scaled: &Fp8Params,
) where
    [f32; ACCUMULATORS]: Accumulators,
{
    let mut rows = Rows::<T>::new(pipeline, warpgroup);
    let mut next = first;
    while let Some(work) = next {
        // Found while the first loads arrive. SAFETY: the whole warp is here.
        next = unsafe { schedule.next_of_warp::<T>(target.params) };
        // Initialize the accumulators inside the loop. If they are carried across tiles, `ptxas` serializes the wgmmas
        // (C7515).
        let mut acc = <[f32; ACCUMULATORS]>::zero();
        let at = Place {
            row: work.row + warpgroup * WgmmaTile::ROWS,
            column: work.column,
            product: planes::<T>(work, target.params)[0],
            end: work.end,
        };
        // SAFETY: the caller's promise; the whole warpgroup is here.
        unsafe {
            match T::MODE {
                Fp8Mode::Fast => rows.accumulate(&mut acc, work.k_tiles),
                Fp8Mode::Promoted | Fp8Mode::Blocks => rows.promote(&mut acc, work, target.params.n, scaled),
            }
            if const { !T::SCALES } {
                apply_scales(&mut acc, at, target, scaled);
            }
            // A constant, so that nothing of split-K is compiled.
            let split = SplitTile {
                splits: 1,
                ..schedule.split_tile::<T>(work, warpgroup)
            };
            let halves = pipeline.cast::<T, O>().elems;
            let rows = [warpgroup, 0];
            epilogue::store::<O, InHalves<T>, ACCUMULATORS>(acc, rows, split, at, next.is_none(), target, halves);
        }
    }
    // TMA stores read shared memory: it must live until they have.
    bulk_copy::wait_read::<0>();
}

/// The product of a k-tile.
struct Part<const ACCUMULATORS: usize> {
    acc: [f32; ACCUMULATORS],
    /// Of the thread's two rows, each with that of the columns.
    scales: [f32; 2],
    /// The stage that the mma read.
    stage: u32,
}

impl<const ACCUMULATORS: usize> Part<ACCUMULATORS>
where
    [f32; ACCUMULATORS]: Accumulators,
{
    #[inline(always)]
    fn new() -> Self {
        Self {
            acc: <[f32; ACCUMULATORS]>::zero(),
            scales: [1.0; 2],
            stage: 0,
        }
    }
}

/// The rows of a warpgroup in the stages, and where it is in the pipeline.
struct Rows<T> {
    pipeline: Pipeline<u8>,
    state: PipelineState,
    /// Descriptors of A and B in the first stage.
    descriptors: [Descriptor; 2],
    /// The thread's number in the warpgroup.
    thread: u32,
    /// The thread's first row in the tile; the second is 8 further.
    row: u32,
    tile: PhantomData<T>,
}

impl<T: Fp8Tile> Rows<T> {
    /// Of the warpgroup of this number.
    #[inline(always)]
    fn new(pipeline: Pipeline<u8>, warpgroup: u32) -> Self {
        let start = shared_address(pipeline.elems, 0);
        let thread = thread::thread_idx_x() % WgmmaTile::WARPGROUP;
        Self {
            pipeline,
            state: PipelineState::FIRST,
            descriptors: [warpgroup * ATOM_BYTES, const { T::TILE.a_elems() }]
                .map(|offset| Descriptor::k_major(start + offset)),
            thread,
            row: warpgroup * WgmmaTile::ROWS + accumulator_position(thread, 0).0,
            tile: PhantomData,
        }
    }

    /// Waits for a k-tile and starts its four mma, one group: `acc += a * b`, or with `replaces` `acc = a * b`. Returns
    /// its stage.
    ///
    /// # Safety
    /// The whole warpgroup executes it; it releases the stage once it has waited for the group.
    #[inline(always)]
    unsafe fn start<const ACCUMULATORS: usize>(&mut self, acc: &mut [f32; ACCUMULATORS], replaces: bool) -> u32
    where
        [f32; ACCUMULATORS]: Accumulators,
    {
        let PipelineState { stage, phase } = self.state;
        let at = stage * const { T::TILE.stage_bytes().get() };
        let [a, b] = self.descriptors;
        // SAFETY: the stage is in the pipeline and full; the producer refills it only after it is released.
        unsafe {
            // RAW: the stage is full.
            mbarrier::wait(self.pipeline.barriers, full::<T>(stage), phase);
            wgmma::fence(acc);
            unrolled!(const WgmmaTile::ROW_BYTES / K_BLOCK_BYTES, |k_block| {
                let bytes = at + K_BLOCK_BYTES * k_block;
                let accumulates = !replaces || k_block > 0;
                wgmma::mma_async_fp8::<T::A, T::B, _>(acc, a.advanced(bytes), b.advanced(bytes), accumulates);
            });
            wgmma::commit();
        }
        self.state = self.state.advance(const { T::TILE.stages });
        stage
    }

    /// `acc += A's rows * B` over all k-tiles, by the tensor cores alone.
    ///
    /// # Safety
    /// As for the body; the whole warpgroup executes it.
    #[inline(always)]
    unsafe fn accumulate<const ACCUMULATORS: usize>(&mut self, acc: &mut [f32; ACCUMULATORS], k_tiles: u32)
    where
        [f32; ACCUMULATORS]: Accumulators,
    {
        let mut k_tile = 0;
        let mut last = 0;
        // SAFETY: the caller's promise.
        unsafe {
            while k_tile < k_tiles {
                let stage = self.start(acc, false);
                // The mma of the previous k-tile are complete; those of this one stay in flight.
                wgmma::wait::<1, _>(acc);
                if k_tile > 0 {
                    self.release(last);
                }
                last = stage;
                k_tile += 1;
            }
            wgmma::wait::<0, _>(acc);
            if k_tiles > 0 {
                self.release(last);
            }
        }
    }

    /// `acc += scales * (A's rows * B)` over all k-tiles, each k-tile's product added in f32; without
    /// [`Fp8Mode::Blocks`] scales are 1.
    ///
    /// Two products take turns: while the threads add one, the tensor cores compute the other.
    ///
    /// # Safety
    /// As for the body; the whole warpgroup executes it.
    #[inline(always)]
    unsafe fn promote<const ACCUMULATORS: usize>(
        &mut self,
        acc: &mut [f32; ACCUMULATORS],
        work: WorkTile,
        n: u32,
        scaled: &Fp8Params,
    ) where
        [f32; ACCUMULATORS]: Accumulators,
    {
        let k_tiles = work.k_tiles;
        if k_tiles == 0 {
            return;
        }
        let before = Scales::before::<T>(work.row);
        let (mut even, mut odd) = (Part::new(), Part::new());
        let mut k_tile = 0;
        // SAFETY: the caller's promise: the scales of these 128 columns of B, one for each k-tile.
        unsafe {
            let first = (blocks_before::<T>(work, n) * scaled.block_ld) as usize;
            let of_columns = Global::<f32>::new_unbounded(scaled.scales[1].wrapping_add(first));
            let start = |rows: &mut Self, part: &mut Part<ACCUMULATORS>, k_tile: u32| {
                rows.start_part(part, before, of_columns, k_tile);
            };
            start(self, &mut even, 0);
            // Each step two, so that each product has registers of its own.
            while k_tile + 2 < k_tiles {
                start(self, &mut odd, k_tile + 1);
                self.add::<ACCUMULATORS, 1>(acc, &mut even);
                start(self, &mut even, k_tile + 2);
                self.add::<ACCUMULATORS, 1>(acc, &mut odd);
                k_tile += 2;
            }
            if k_tile + 1 < k_tiles {
                start(self, &mut odd, k_tile + 1);
                self.add::<ACCUMULATORS, 1>(acc, &mut even);
                self.add::<ACCUMULATORS, 0>(acc, &mut odd);
            } else {
                self.add::<ACCUMULATORS, 0>(acc, &mut even);
            }
        }
    }

    /// Starts the product of a k-tile. The scales of A of a tile's rows begin `before` further in the stage.
    ///
    /// # Safety
    /// As for [`start`](Self::start); there is a scale of the columns for the k-tile.
    #[inline(always)]
    unsafe fn start_part<const ACCUMULATORS: usize>(
        &mut self,
        part: &mut Part<ACCUMULATORS>,
        before: u32,
        of_columns: Global<f32>,
        k_tile: u32,
    ) where
        [f32; ACCUMULATORS]: Accumulators,
    {
        // SAFETY: the caller's promise. The scales of A are in the stage, which is full once the mma have started.
        unsafe {
            if const { T::SCALES } {
                // Loaded before the wait for the stage.
                let of_column = of_columns.get(k_tile as usize);
                part.stage = self.start(&mut part.acc, true);
                let first = Scales::first::<T>(part.stage) + self.row + before;
                let of_rows = Scales::of::<T>(self.pipeline);
                part.scales = [0, 8].map(|below| of_rows.get((first + below) as usize) * of_column);
            } else {
                part.stage = self.start(&mut part.acc, true);
            }
        }
    }

    /// Waits for a k-tile's product, all started groups but the latest `PENDING`, releases its stage and adds it.
    ///
    /// # Safety
    /// The whole warpgroup executes it, after [`start_part`](Self::start_part).
    #[inline(always)]
    unsafe fn add<const ACCUMULATORS: usize, const PENDING: u32>(
        &self,
        acc: &mut [f32; ACCUMULATORS],
        part: &mut Part<ACCUMULATORS>,
    ) where
        [f32; ACCUMULATORS]: Accumulators,
    {
        // SAFETY: the caller's promise.
        unsafe {
            // RAW: the k-tile's product is there.
            wgmma::wait::<PENDING, _>(&mut part.acc);
            self.release(part.stage);
        }
        unrolled!(ACCUMULATORS / 4, |vec4| {
            unrolled!(4, at most 4, |i| {
                // Accumulators 0 and 1 of each four are of the first row, 2 and 3 of the second. Multiplied by 1, too,
                // since this stays where it is: moved past the next mma, `ptxas` would wait for those (C7517).
                fma(&mut acc[4 * vec4 + i], part.scales[i / 2], part.acc[4 * vec4 + i]);
            });
        });
    }

    /// Consumer release: returns a stage to every CTA that loads into it. Where threads have loaded scales from it, one
    /// of each warp arrives for all.
    ///
    /// # Safety
    /// No pending mma of the warpgroup reads the stage; each of its threads calls this once per k-tile.
    #[inline(always)]
    unsafe fn release(&self, stage: u32) {
        let barriers = self.pipeline.barriers;
        let mut first = self.thread;
        if const { T::SCALES } {
            // WAR: the warp's threads have loaded their scales. SAFETY: the whole warp is here.
            unsafe { warp::sync_warp(u32::MAX) };
            first = self.thread % 32;
        }
        // SAFETY: the barrier's phase lacks this arrival: it expects one thread of each warpgroup of each CTA, or of
        // each of its warps. A cluster has no scales in its stages, only operands of mma that are complete.
        unsafe {
            if const { T::TILE.cluster > 1 } {
                if first < T::TILE.cluster {
                    cluster::arrive_at_after_products(cluster::map(barriers, empty::<T>(stage), first));
                }
            } else if first == 0 {
                mbarrier::arrive(barriers, empty::<T>(stage));
            }
        }
    }
}

/// `acc *= scale of the row * scale of the column`.
///
/// # Safety
/// `scaled` and `target` are as they say.
#[inline(always)]
unsafe fn apply_scales<O, const ACCUMULATORS: usize>(
    acc: &mut [f32; ACCUMULATORS],
    at: Place,
    target: Target<'_, O>,
    scaled: &Fp8Params,
) {
    let (m, n) = (target.params.m, target.params.n);
    let [of_rows, of_columns] = scaled.scales;
    let [row_stride, column_stride] = scaled.row_strides;
    // From the first scale to the last one.
    let len = |extent: u32, stride: u32| (extent.saturating_sub(1) * stride) as usize + 1;
    // SAFETY: the caller's promise.
    let (of_rows, of_columns) = unsafe {
        (
            Global::new_with(of_rows, || len(m, row_stride)),
            Global::new_with(of_columns, || len(n, column_stride)),
        )
    };
    let (below, right) = accumulator_position(thread::thread_idx_x() % WgmmaTile::WARPGROUP, 0);
    let (row, column) = (at.row + below, at.column + right);
    // SAFETY: scales of rows and columns of C, which has some; those outside have the last one's, and are not stored.
    unsafe {
        let of_row = [row, row + 8].map(|row| of_rows.get((row.min(m - 1) * row_stride) as usize));
        if column_stride == 0 {
            let of_column = of_columns.get(0);
            let scales = of_row.map(|of_row| of_row * of_column);
            unrolled!(ACCUMULATORS / 4, |vec4| {
                unrolled!(4, at most 4, |i| acc[4 * vec4 + i] *= scales[i / 2]);
            });
            return;
        }
        let parts = const { (ACCUMULATORS / PART) as u32 };
        // As many loads are under way as there are registers for.
        let mut part = optimization_barrier::zero();
        while part < parts {
            let mut scales = [[0.0; 2]; PART / 4];
            unrolled!(const PART / 4, at most 16, |vec4| {
                let column = column + 2 * PART as u32 * part + 8 * vec4 as u32;
                scales[vec4] = [column, column + 1].map(|column| of_columns.get(column.min(n - 1) as usize));
            });
            // Only the code that indexes the accumulators is unrolled over the parts; the rest is emitted once.
            unrolled!(const ACCUMULATORS / PART, |candidate| {
                if part == candidate as u32 {
                    unrolled!(const PART / 4, at most 16, |vec4| {
                        unrolled!(4, at most 4, |i| {
                            acc[PART * candidate + 4 * vec4 + i] *= of_row[i / 2] * scales[vec4][i % 2];
                        });
                    });
                }
            });
            part += 1;
        }
    }
}
