//! Quantizes a matrix in device memory to FP8: elements along K, and their scales.
//!
//! ```text
//! a CTA has a tile of 128 rows x 128 of K, all of it in registers: of each of 16 lines of the source, as it is
//! stored, a lane holds 4 neighbors
//!
//! load the tile                                       16 vectors under way per thread
//! largest magnitude of each row (1x128), or of all    redux.sync; across warps through shared memory
//!     row, tensor: the largest of the partials that `largest` has written
//! scale = largest / largest of the format
//! element = the nearest FP8 number to number / scale  div.rn.f32, cvt.rn.satfinite
//! store 128 bytes of a row per warp                   transposed: the tile goes through shared memory, as bytes
//! ```
//!
//! The numbers of a thread are along rows in a source of `k x rows`: it has 16 of K of each of 4 rows, which are 16
//! bytes of a row once they are FP8. It stores them in shared memory as one vector each. Vector `v` of row `r` is at
//! `v ^ r / 4 % 8` of the row's 8: the 8 lanes that store at once have rows 4 apart, those that load at once have one
//! row, and in both cases each has 4 banks of its own.
//!
//! Past the end of the matrix a lane loads its last lines and vectors again, which are of the same tile: they change
//! no largest magnitude, and what becomes of them is not stored.
//!
//! Magnitudes are compared as integers, the bits of an f32 without the sign: one `redux.sync` for a warp. An infinity
//! is larger than all numbers that way, and NaN larger than that, so either one decides the scale
//! ([`Fp8::scale_for`]): it is NaN then, and so are all elements of that scale.
//!
//! Shapes, launches and shared memory are those of [`Fp8QuantizeKernel`].

mod along_k;
mod source;
mod transposed;

use cuda_std::warp::{WarpReductionOp, warp_reduce};
use cuda_std::{shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};
#[cfg(doc)]
use tilewright_contract::Fp8;
use tilewright_contract::{Fp8QuantizeKernel, Fp8QuantizeParams, Fp8Scaling};

use crate::block::element::Element;
use crate::block::unroll::unrolled;
use source::{Source, largest};

/// Rows and elements along K of a tile.
const TILE: u32 = Fp8QuantizeKernel::TILE;
/// Lines of a tile that a warp holds.
const LINES: usize = Fp8QuantizeKernel::LINES as usize;
/// Elements of a line that a lane holds.
const VECTOR: usize = Fp8QuantizeKernel::VECTOR as usize;
/// Warps of a CTA.
const WARPS: usize = Fp8QuantizeKernel::WARPS as usize;

/// A kernel as a type: its source, and which elements share a scale.
pub trait Quantizer {
    /// The type of the source's elements.
    type Source: Element<Acc = f32>;
    /// Which elements share a scale.
    const SCALING: Fp8Scaling;
    /// Whether the source is `k x rows`.
    const IS_TRANSPOSED: bool;
}

/// What a thread holds of a tile: of line `16 * warp + i` the elements from `4 * lane` on.
type Tile<T> = [[T; VECTOR]; LINES];

/// Number of this thread's warp, and its lane.
#[inline(always)]
fn warp_and_lane() -> (u32, u32) {
    let thread = thread::thread_idx_x();
    (thread / 32, thread % 32)
}

/// Writes elements and scales of a tile.
///
/// # Safety
/// `params` describes the source in global memory, of the kernel's type and at a multiple of its size, and memory for
/// elements and scales, none of which overlap; `partials` are those of [`largest_magnitudes`] for the same source, of
/// an earlier launch, if `splits` is not 0. The grid has a CTA for each tile, of [`Fp8QuantizeKernel::THREADS`]
/// threads.
#[inline(always)]
pub unsafe fn quantize<Q: Quantizer>(params: &Fp8QuantizeParams) {
    // Never 0: without elements nothing is launched. Stated to the compiler, the division has no case for it.
    let k_tiles = params.k.div_ceil(TILE).max(1);
    let cta = thread::block_idx_x();
    let [row, k] = [cta / k_tiles * TILE, cta % k_tiles * TILE];
    // SAFETY: the caller's promise.
    unsafe {
        let source = Source::<Q::Source>::new(params, const { Q::IS_TRANSPOSED });
        if const { Q::IS_TRANSPOSED } {
            let tile = source.load([k, row]);
            transposed::quantize::<Q>(params, [row, k], &tile);
        } else {
            let tile = source.load([row, k]);
            along_k::quantize::<Q>(params, [row, k], &tile);
        }
    }
}

/// Writes partial largest magnitudes: of rows, those in every `splits`-th tile along K, from tile `split` on; of a
/// tensor, those in every `splits`-th tile.
///
/// # Safety
/// `params` describes the source in global memory, of the kernel's type and at a multiple of its size, and memory for
/// the partials, which do not overlap. The grid has `splits` CTAs of [`Fp8QuantizeKernel::THREADS`] threads for a
/// tensor, and of rows `splits` for each 128.
#[inline(always)]
pub unsafe fn largest_magnitudes<Q: Quantizer>(params: &Fp8QuantizeParams) {
    const { assert!(!Q::SCALING.is_blocked(), "a tile has whole blocks") };
    // SAFETY: the caller's promise.
    unsafe {
        let source = Source::<Q::Source>::new(params, const { Q::IS_TRANSPOSED });
        match const { (Q::SCALING, Q::IS_TRANSPOSED) } {
            (Fp8Scaling::Rows, false) => along_k::largest_of_rows(params, source),
            (Fp8Scaling::Rows, true) => transposed::largest_of_rows(params, source),
            _ => largest_of_tensor(params, source),
        }
    }
}

/// # Safety
/// As for [`largest_magnitudes`].
#[inline(always)]
unsafe fn largest_of_tensor<T: Element<Acc = f32>>(params: &Fp8QuantizeParams, source: Source<T>) {
    let k_tiles = params.k.div_ceil(TILE).max(1);
    let tiles = params.rows.div_ceil(TILE) * k_tiles;
    let split = thread::block_idx_x();
    let (mut most, mut at) = (0, split);
    while at < tiles {
        // SAFETY: the caller's promise; a tile of the matrix.
        let tile = unsafe { source.load([at / k_tiles * TILE, at % k_tiles * TILE]) };
        unrolled!(const LINES, at most 16, |i| most = largest(most, &tile[i]));
        at += params.splits;
    }
    // SAFETY: whole CTAs are here; the partial is this CTA's own.
    unsafe {
        let most = largest_of_cta(most);
        if thread::thread_idx_x() == 0 {
            partials(params, 1).set(split as usize, most);
        }
    }
}

/// The largest of all threads of the CTA.
///
/// # Safety
/// Every thread of the CTA calls this, once.
#[inline(always)]
unsafe fn largest_of_cta(mine: u32) -> u32 {
    let (warp, lane) = warp_and_lane();
    // SAFETY: all lanes are here; each element is written by one warp, and read after the barrier.
    unsafe {
        let of_warps = Shared::<u32>::new(shared_array![u128; WARPS / 4].cast(), WARPS);
        let of_warp = largest_of_warp(mine);
        if lane == 0 {
            of_warps.set(warp as usize, of_warp);
        }
        // RAW: each thread reads the magnitudes of all warps.
        thread::sync_threads();
        let mut most = 0;
        unrolled!(const WARPS / 4, |i| {
            let four = of_warps.get_vec::<4>(4 * i);
            most = most.max(four[0]).max(four[1]).max(four[2]).max(four[3]);
        });
        most
    }
}

/// The largest of all lanes of the warp.
///
/// # Safety
/// All lanes of the warp call this.
#[inline(always)]
unsafe fn largest_of_warp(mine: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { warp_reduce(u32::MAX, mine, WarpReductionOp::Max) }
}

/// The largest magnitude of what all elements of this tile share a scale with: of the tile, or of the tensor.
///
/// # Safety
/// As for [`quantize`]; every thread of the CTA calls this, once.
#[inline(always)]
unsafe fn shared_largest<Q: Quantizer>(params: &Fp8QuantizeParams, tile: &Tile<Q::Source>) -> u32 {
    let mut most = 0;
    // SAFETY: the caller's promise; partials that there are.
    unsafe {
        if const { matches!(Q::SCALING, Fp8Scaling::Blocks128) } {
            unrolled!(const LINES, at most 16, |i| most = largest(most, &tile[i]));
            largest_of_cta(most)
        } else {
            let (_, lane) = warp_and_lane();
            let partials = written_partials(params, 1);
            let mut split = lane;
            while split < params.splits {
                most = most.max(partials.get(split as usize));
                split += 32;
            }
            largest_of_warp(most)
        }
    }
}

/// The scale of the elements with this largest magnitude.
#[inline(always)]
fn scale_for(params: &Fp8QuantizeParams, largest: u32) -> f32 {
    params.format.scale_for(f32::from_bits(largest))
}

/// Stores the scale of the tile at `[row, k]`, or in the first tile that of the tensor. The last tile along K clears
/// what pads a line of scales.
///
/// # Safety
/// As for [`quantize`]; every thread of the CTA calls this.
#[inline(always)]
unsafe fn store_shared_scale<Q: Quantizer>(params: &Fp8QuantizeParams, [row, k]: [u32; 2], scale: f32) {
    let thread = thread::thread_idx_x();
    if const { matches!(Q::SCALING, Fp8Scaling::Tensor) } {
        if row == 0 && k == 0 && thread == 0 {
            // SAFETY: the one scale.
            unsafe { GlobalMut::new(params.scales, 1).set(0, scale) };
        }
        return;
    }
    let k_tile = k / TILE;
    let is_last = k + TILE >= params.k;
    let count = if is_last { params.scale_ld - k_tile } else { 1 };
    if thread < count {
        let lines = params.rows.div_ceil(TILE) as usize;
        let value = if thread == 0 { scale } else { 0.0 };
        let at = (row / TILE) as usize * params.scale_ld as usize + (k_tile + thread) as usize;
        // SAFETY: a scale of the tile's line, which no other CTA stores.
        unsafe { GlobalMut::new_with(params.scales, || lines * params.scale_ld as usize).set(at, value) };
    }
}

/// The partials of `units` rows, or of one tensor, to be written.
///
/// # Safety
/// As for [`largest_magnitudes`].
#[inline(always)]
unsafe fn partials(params: &Fp8QuantizeParams, units: u32) -> GlobalMut<u32> {
    // SAFETY: the caller's promise.
    unsafe { GlobalMut::new_with(params.partials, || params.splits as usize * units as usize) }
}

/// The same, written by an earlier launch.
///
/// # Safety
/// As for [`quantize`].
#[inline(always)]
unsafe fn written_partials(params: &Fp8QuantizeParams, units: u32) -> Global<u32> {
    let len = || params.splits as usize * units as usize;
    // SAFETY: the caller's promise.
    unsafe { Global::new_with(params.partials.cast_const(), len) }
}
