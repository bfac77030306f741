//! The body of the `mma_sync` family: f16 or bf16, accumulators in f32, C of the type of A and B or of f32.
//!
//! ```text
//! load k-tiles 0 .. STAGES - 1, one group each
//! wait for the first; barrier                                     RAW: stage 0 is full
//! for each k-tile:
//!     for each k-block, 16 of k:
//!         load the fragments of the next k-block (at the last one: wait, barrier, then of the next stage)
//!         at the first k-block: start the loads of k-tile + STAGES - 1
//!         acc += mma of the fragments of the k-block
//! C = activation(alpha * acc + beta * C + bias)
//! ```
//!
//! As in [`simt`](crate::gemm::simt), loads run STAGES - 1 k-tiles ahead of their use and fragments one k-block, in a
//! [pipeline](crate::block::pipeline) of `cp.async` loads.
//!
//! Operands whose rows begin at even elements are loaded in pairs, by `cp.async` of 4 bytes in place of 16; those whose
//! rows begin anywhere are loaded through registers (`through_registers`), element by element. For short K there are
//! [`strips`](TensorTile::strips).
//!
//! A warp computes 64 x 64 elements of C (or those of its tile): per k-block it loads 16 x 16 elements of A and of B
//! four times each, by one `ldmatrix` a time, and issues 32 `mma.m16n8k16`. Neither loads nor fragments have bank
//! conflicts ([`Swizzle`](tilewright_contract::Swizzle)).

pub(super) mod epilogue;
pub(super) mod loader;
mod strips;
mod strips_ahead;
mod through_registers;

use cuda_std::{shared, thread};
use cuda_views::{Global, Shared};
use tilewright_contract::{GemmParams, RasterTile, TensorTile};

use crate::block::element::TensorElement;
use crate::block::major::{OperandMajor, k_tile_elems, span};
use crate::block::pipeline::CpAsyncPipeline;
use crate::block::unroll::unrolled;
use crate::block::{batch, groups};
use crate::ptx::async_copy;
use crate::ptx::mma::{FragmentA, FragmentB, FragmentC, mma};
use loader::{GmemLoader, OperandTile, WarpLoader, is_whole_vectors};

/// A tile as a type, so that its numbers are constants of the kernel.
pub trait Tile {
    /// The geometry.
    const TILE: TensorTile;
    /// Whether C goes through the stages where it can be stored in vectors.
    const STAGES_C: bool = true;

    /// Waits until the stages hold nothing that is needed, and no load into them is in flight.
    ///
    /// # Safety
    /// Every thread with a position executes this, after its last fragments.
    #[inline(always)]
    unsafe fn drain() {
        // Loads past the last k-tile may still be in flight, and would overwrite what is stored next.
        async_copy::wait::<0>();
        // WAR: no thread reads the stages any more, and none loads into them.
        thread::sync_threads();
    }
}

/// Computes this CTA's tile of C. `M` and `N`: 16-row and 8-column MMA atoms of a warp. A load has as many elements of
/// A and of B, 8, 2 or 1, as `LA` and `LB` say.
///
/// # Safety
/// - The operands are as `params` describes them, A and B with majors `LA` and `LB`, in global memory; workspace and
///   counters are as [`reduce`](crate::block::split_k::reduce) asks for.
/// - With loads of 8 or 2 elements A and B start at multiples of their bytes, and leading dimensions and strides are
///   multiples of as many elements. 256 of their rows span less than 2^32 elements.
/// - The CTA has the tile's threads along x and its bytes of dynamic shared memory; the grid covers C once per split
///   along x, and has a row along y for each product; or along x it covers the tiles of all [`groups`], or, of strips,
///   has no more CTAs than there are tiles.
/// - `splits` is 1 where the tile does not [support more](TensorTile::supports_split_k). `k_per_split` is a multiple of
///   the tile's k; `splits * k_per_split` is at least `k`.
#[inline(always)]
pub unsafe fn gemm<E: TensorElement, T: Tile, LA: OperandMajor, LB: OperandMajor, const M: usize, const N: usize>(
    params: &GemmParams<E>,
) {
    const {
        assert!(M as u32 * 16 == T::TILE.warp_m && N as u32 * 8 == T::TILE.warp_n);
        assert!(
            LA::VECTOR == LB::VECTOR && matches!(LA::VECTOR, 1 | 2 | 8),
            "the same for both"
        );
    }
    let tile = const { T::TILE.checked() };
    let cta = thread::block_idx_x();
    let tiles_n = params.n.div_ceil(tile.n);
    // SAFETY: the caller's promise.
    unsafe {
        if const { T::TILE.strips } {
            if const { LA::VECTOR == 2 } {
                strips_ahead::gemm::<E, T, LA, LB>(params);
            } else {
                strips::gemm::<E, T, LA, LB, 8, 16>(params);
            }
        } else if const { T::TILE.groups } {
            if let Some(at) = groups::find(params, cta, tile.m, tiles_n) {
                let params = &groups::params_of(params, at);
                gemm_tile::<E, T, LA, LB, M, N>(params, [at.row, at.tile_n * tile.n], 0);
            }
        } else {
            let tiles_m = params.m.div_ceil(tile.m);
            let at = RasterTile::of_block(cta, tiles_m, tiles_n, const { RasterTile::group_m(T::TILE.m) });
            gemm_tile::<E, T, LA, LB, M, N>(params, [at.tile_m * tile.m, at.tile_n * tile.n], at.split);
        }
    }
}

/// Computes the tile of C that begins at `row` and `column`, or its split of it.
///
/// # Safety
/// As for [`gemm`]; the tile begins inside C.
#[inline(always)]
unsafe fn gemm_tile<E: TensorElement, T: Tile, LA: OperandMajor, LB: OperandMajor, const M: usize, const N: usize>(
    params: &GemmParams<E>,
    [row, column]: [u32; 2],
    split: u32,
) {
    let tile = const { T::TILE };
    let args = params.args();
    let warp = thread::thread_idx_x() / 32;
    let position = Position {
        row,
        column,
        warp_row: warp % tile.warps_m() * tile.warp_m,
        warp_column: warp / tile.warps_m() * tile.warp_n,
    };
    let elems = const { T::TILE.stages * T::TILE.stage_elems() };
    // SAFETY: the allocation holds all stages. It is aligned to 16 bytes, more than the type asks for.
    let stages = unsafe { Shared::new(shared::dynamic_shared_mem::<f32>().cast::<E>(), elems as usize) };
    // SAFETY: the matrices are as `params` says.
    let (from_a, from_b) = unsafe {
        (
            Global::new_with(batch::a(params), || span::<LA>(args.m, args.k, args.lda)),
            Global::new_with(batch::b(params), || span::<LB>(args.n, args.k, args.ldb)),
        )
    };
    // SAFETY: the caller's promise; the position is the warp's, and after the mainloop only the epilogue uses the
    // stages.
    unsafe {
        const {
            assert!(
                !T::TILE.supports_split_k || LA::VECTOR <= 2,
                "splits are those of single elements and pairs"
            )
        };
        // A split of pairs is the product of its part of K.
        let part;
        let (mut from_a, mut from_b, mut of_split) = (from_a, from_b, params);
        if const { T::TILE.supports_split_k && LA::VECTOR > 1 } {
            let k_begin = args.k.min(split * params.k_per_split);
            part = GemmParams {
                k: (args.k - k_begin).min(params.k_per_split),
                ..*params
            };
            of_split = &part;
            from_a = from_a.shifted(k_tile_elems::<LA>(k_begin, args.lda));
            from_b = from_b.shifted(k_tile_elems::<LB>(k_begin, args.ldb));
        }
        let mut acc = if const { LA::VECTOR == 1 } {
            through_registers::mainloop::<E, T, LA, LB, M, N>(from_a, from_b, stages, position, split, params)
        } else if is_whole_vectors::<LA>(args.m, args.k) && is_whole_vectors::<LB>(args.n, args.k) {
            mainloop::<E, T, LA, LB, M, N, true>(from_a, from_b, stages, position, of_split)
        } else {
            mainloop::<E, T, LA, LB, M, N, false>(from_a, from_b, stages, position, of_split)
        };
        epilogue::store::<E, T, M, N>(&mut acc, position, params, stages);
    }
}

/// Position of a warp's part of C.
#[derive(Clone, Copy)]
pub(super) struct Position {
    /// First row and column of the CTA's tile.
    pub row: u32,
    pub column: u32,
    /// First ones of the warp, within the tile.
    pub warp_row: u32,
    pub warp_column: u32,
}

/// Accumulators of a lane.
pub(super) type Accumulators<const M: usize, const N: usize> = [[FragmentC; N]; M];

/// A's and B's part of a stage.
///
/// # Safety
/// The stage is in the pipeline.
#[inline(always)]
unsafe fn parts<E: TensorElement>(stages: Shared<E>, tile: TensorTile, stage: u32) -> [Shared<E>; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        [
            stages.part(stage as usize, tile.a_elems() as usize),
            stages.part((stage + tile.a_elems()) as usize, tile.b_elems() as usize),
        ]
    }
}

/// Computes the accumulators of a lane. `WHOLE`: the operands consist of whole vectors, or pairs.
///
/// # Safety
/// As for [`gemm`].
#[inline(always)]
unsafe fn mainloop<E, T, LA, LB, const M: usize, const N: usize, const WHOLE: bool>(
    a: Global<E>,
    b: Global<E>,
    stages: Shared<E>,
    position: Position,
    params: &GemmParams<E>,
) -> Accumulators<M, N>
where
    E: TensorElement,
    T: Tile,
    LA: OperandMajor,
    LB: OperandMajor,
{
    let tile = const { T::TILE };
    let (tile_a, tile_b) = const { (OperandTile::a(T::TILE), OperandTile::b(T::TILE)) };
    let t = thread::thread_idx_x();
    let mut loader_a = GmemLoader::new::<LA>(a, tile_a, t, position.row, params.m, params.lda);
    let mut loader_b = GmemLoader::new::<LB>(b, tile_b, t, position.column, params.n, params.ldb);

    let pipeline = const {
        CpAsyncPipeline {
            stages: T::TILE.stages,
            stage_elems: T::TILE.stage_elems(),
        }
    };
    // What is left along K for the k-tile that is loaded, and its stage.
    let mut left = params.k;
    let mut load_stage = 0;
    macro_rules! load_k_tile {
        () => {
            // SAFETY: the stage is in the pipeline. At first nobody has used it; later the last barrier has drained it.
            unsafe {
                let [to_a, to_b] = parts(stages, tile, load_stage);
                loader_a.load::<LA, WHOLE>(tile_a, to_a, left);
                loader_b.load::<LB, WHOLE>(tile_b, to_b, left);
            }
            async_copy::commit();
            loader_a.advance::<LA>(tile.k);
            loader_b.advance::<LB>(tile.k);
            // Past the end, zeros are loaded.
            left = left.saturating_sub(tile.k);
            load_stage = pipeline.next(load_stage);
        };
    }
    let mut stage = 0;
    while stage + 1 < tile.stages {
        load_k_tile!();
        stage += 1;
    }

    let lane = t % 32;
    let warp_part = [position.warp_row, position.warp_column];
    let fragments = WarpLoader::new::<LA, LB>([tile_a, tile_b], warp_part, lane);
    let mut acc = [[[0.0; 4]; N]; M];
    let mut fragments_a = [[[0; 4]; M]; 2];
    let mut fragments_b = [[[0; 2]; N]; 2];
    // SAFETY: the stage is in the pipeline and full; all lanes of the warp are here.
    let load = |fragments_a: &mut [FragmentA; M], fragments_b: &mut [FragmentB; N], stage: u32, k_block: u32| unsafe {
        fragments.load::<E, LA, LB>(parts(stages, tile, stage), fragments_a, fragments_b, k_block);
    };

    pipeline.wait();
    // RAW: every thread's loads of stage 0 are there.
    thread::sync_threads();
    let mut stage = 0;
    load(&mut fragments_a[0], &mut fragments_b[0], stage, 0);
    let k_blocks = const { T::TILE.k / TensorTile::MMA_ATOM };
    let mut k = 0;
    while k < params.k {
        unrolled!(const T::TILE.k / TensorTile::MMA_ATOM, |k_block| {
            let (now, next) = ((k_block % 2) as usize, ((k_block + 1) % 2) as usize);
            if k_block + 1 == k_blocks {
                pipeline.wait();
                // RAW: every thread's loads of the next stage are there. WAR: no thread reads this stage any more,
                // which the next loads write.
                thread::sync_threads();
                stage = pipeline.next(stage);
                load(&mut fragments_a[next], &mut fragments_b[next], stage, 0);
            } else {
                load(&mut fragments_a[next], &mut fragments_b[next], stage, k_block + 1);
            }
            if k_block == 0 {
                load_k_tile!();
            }
            mma_tile::<E, M, N>(&mut acc, &fragments_a[now], &fragments_b[now]);
        });
        k += tile.k;
    }
    acc
}

/// `acc += a * b`, row by row in serpentine order: consecutive mma share a fragment.
#[inline(always)]
fn mma_tile<E: TensorElement, const M: usize, const N: usize>(
    acc: &mut Accumulators<M, N>,
    a: &[FragmentA; M],
    b: &[FragmentB; N],
) {
    unrolled!(const M, |i| {
        let mut column = 0;
        while column < N {
            let j = if i % 2 == 0 { column } else { N - 1 - column };
            // SAFETY: the whole warp is here: no lane has branched on a value of its own.
            unsafe { mma::<E>(&mut acc[i][j], a[i], b[j]) };
            column += 1;
        }
    });
}
