//! A source of `rows x k`: a warp holds 16 rows of the tile, each spread over its lanes.

use cuda_std::thread;
use cuda_std::warp::warp_shuffle_idx;
use cuda_views::GlobalMut;
use tilewright_contract::{Fp8QuantizeParams, Fp8Scaling};

use super::source::{Source, largest};
use super::{
    LINES, Quantizer, TILE, Tile, VECTOR, largest_of_warp, partials, scale_for, shared_largest, store_shared_scale,
    warp_and_lane, written_partials,
};
use crate::block::element::Element;
use crate::block::unroll::unrolled;
use crate::ptx::convert::f32_to_fp8x2;

/// Rows of a warp.
const ROWS: u32 = LINES as u32;

/// Quantizes the tile at `[row, k]`.
///
/// # Safety
/// As for [`super::quantize`].
#[inline(always)]
pub(super) unsafe fn quantize<Q: Quantizer>(params: &Fp8QuantizeParams, [row, k]: [u32; 2], tile: &Tile<Q::Source>) {
    let (warp, lane) = warp_and_lane();
    let first_row = row + ROWS * warp;
    let is_by_row = const { matches!(Q::SCALING, Fp8Scaling::Rows | Fp8Scaling::Rows128) };
    // SAFETY: the caller's promise; all threads are here.
    let scale = unsafe {
        if is_by_row {
            // Lane i has the scale of row i of the warp: one division, and one store of 64 bytes.
            let most = match const { Q::SCALING } {
                Fp8Scaling::Rows => largest_of_partials(params, first_row),
                _ => {
                    let mut most = [0; LINES];
                    unrolled!(const LINES, at most 16, |i| most[i] = largest(0, &tile[i]));
                    largest_of_each_row(most)
                }
            };
            let scale = scale_for(params, most);
            store_scale_of_row::<Q>(params, [first_row + lane, k], scale);
            scale
        } else {
            let scale = scale_for(params, shared_largest::<Q>(params, tile));
            store_shared_scale::<Q>(params, [row, k], scale);
            scale
        }
    };
    let column = k + VECTOR as u32 * lane;
    // SAFETY: as above; K is a multiple of 16, so a vector is inside the row as a whole; no other thread stores it.
    unsafe {
        let words_of_row = (params.k / 4) as usize;
        let data = GlobalMut::new_with(params.data.cast::<u32>(), || params.rows as usize * words_of_row);
        unrolled!(const LINES, at most 16, |i| {
            let scale = match is_by_row {
                true => warp_shuffle_idx(u32::MAX, scale, i as u32, 32).0,
                false => scale,
            };
            let [a, b, c, d] = tile[i].map(|element| element.widen() / scale);
            let low = f32_to_fp8x2(params.format, [a, b]);
            let high = f32_to_fp8x2(params.format, [c, d]);
            let row = first_row + i as u32;
            let at = || row as usize * words_of_row + (column / 4) as usize;
            data.set_if(row < params.rows && column < params.k, at, || low | high << 16);
        });
    }
}

/// Lane i gets the largest magnitude of row i of the warp, of `of_lane[i]` of all lanes; those after the last row, 0.
///
/// # Safety
/// All lanes of the warp call this.
#[inline(always)]
unsafe fn largest_of_each_row(of_lane: [u32; LINES]) -> u32 {
    let (_, lane) = warp_and_lane();
    let mut mine = 0;
    unrolled!(const LINES, at most 16, |i| {
        // SAFETY: the caller's promise.
        let most = unsafe { largest_of_warp(of_lane[i]) };
        mine = if lane == i as u32 { most } else { mine };
    });
    mine
}

/// Lane i, of the lower 16, gets the largest of the partials of row `first_row + i`; past the last row, that row's.
///
/// # Safety
/// As for [`super::quantize`].
#[inline(always)]
unsafe fn largest_of_partials(params: &Fp8QuantizeParams, first_row: u32) -> u32 {
    let (_, lane) = warp_and_lane();
    let row = (first_row + lane % ROWS).min(params.rows - 1) as usize;
    let (mut most, mut split) = (0, 0);
    // SAFETY: the caller's promise; partials that there are.
    unsafe {
        let partials = written_partials(params, params.rows);
        while split < params.splits {
            most = most.max(partials.get(split as usize * params.rows as usize + row));
            split += 1;
        }
    }
    most
}

/// Stores the scale of a row: of each of the lower 16 lanes, in the CTA that has its tile, or the first tile along K.
/// What pads a line of scales is cleared.
///
/// # Safety
/// As for [`super::quantize`].
#[inline(always)]
unsafe fn store_scale_of_row<Q: Quantizer>(params: &Fp8QuantizeParams, [row, k]: [u32; 2], scale: f32) {
    let (_, lane) = warp_and_lane();
    let k_tile = k / TILE;
    let is_whole_row = const { matches!(Q::SCALING, Fp8Scaling::Rows) };
    let lines = if is_whole_row { 1 } else { params.k.div_ceil(TILE) };
    let is_mine = lane < ROWS && row < params.scale_ld && (!is_whole_row || k_tile == 0);
    if is_mine {
        let ld = params.scale_ld as usize;
        let at = if is_whole_row { 0 } else { k_tile as usize * ld };
        let value = if row < params.rows { scale } else { 0.0 };
        // SAFETY: the caller's promise; a scale that no other thread stores.
        unsafe { GlobalMut::new_with(params.scales, || lines as usize * ld).set(at + row as usize, value) };
    }
}

/// Writes the partial largest magnitudes of 128 rows.
///
/// # Safety
/// As for [`super::largest_magnitudes`].
#[inline(always)]
pub(super) unsafe fn largest_of_rows<T: Element<Acc = f32>>(params: &Fp8QuantizeParams, source: Source<T>) {
    let splits = params.splits.max(1);
    let cta = thread::block_idx_x();
    let (row, split) = (cta / splits * TILE, cta % splits);
    let k_tiles = params.k.div_ceil(TILE);
    let mut most = [0; LINES];
    let mut k_tile = split;
    while k_tile < k_tiles {
        // SAFETY: the caller's promise; a tile of the matrix.
        let tile = unsafe { source.load([row, k_tile * TILE]) };
        unrolled!(const LINES, at most 16, |i| most[i] = largest(most[i], &tile[i]));
        k_tile += splits;
    }
    let (warp, lane) = warp_and_lane();
    let row = row + ROWS * warp + lane;
    // SAFETY: all lanes are here; a partial that no other thread stores.
    unsafe {
        let mine = largest_of_each_row(most);
        if lane < ROWS && row < params.rows {
            partials(params, params.rows).set(split as usize * params.rows as usize + row as usize, mine);
        }
    }
}
