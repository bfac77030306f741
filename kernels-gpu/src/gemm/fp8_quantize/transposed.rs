//! A source of `k x rows`: a warp holds 16 elements along K of every row of the tile, a lane those of 4 rows.

use cuda_std::{shared_array, thread};
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{Fp8QuantizeParams, Fp8Scaling};

use super::source::{Source, magnitude};
use super::{
    LINES, Quantizer, TILE, Tile, VECTOR, WARPS, partials, scale_for, shared_largest, store_shared_scale,
    warp_and_lane, written_partials,
};
use crate::block::element::Element;
use crate::block::unroll::unrolled;
use crate::ptx::convert::f32_to_fp8x2;

/// Words of a row of the tile in FP8.
const WORDS_OF_ROW: u32 = TILE / 4;

/// Words of the tile in FP8.
const WORDS: usize = (TILE * WORDS_OF_ROW) as usize;

/// Threads that reduce the partials of a row, each every second one.
const HALVES: usize = 2;

/// Quantizes the tile at `[row, k]`.
///
/// # Safety
/// As for [`super::quantize`].
#[inline(always)]
pub(super) unsafe fn quantize<Q: Quantizer>(params: &Fp8QuantizeParams, [row, k]: [u32; 2], tile: &Tile<Q::Source>) {
    let (warp, lane) = warp_and_lane();
    // SAFETY: the caller's promise; all threads are here.
    let scales = unsafe {
        match const { Q::SCALING } {
            Fp8Scaling::Rows | Fp8Scaling::Rows128 => {
                let most = match const { Q::SCALING } {
                    Fp8Scaling::Rows => largest_of_partials(params, row),
                    _ => largest_of_warps(largest_of_columns([0; VECTOR], tile)),
                };
                let scales = most.map(|most| scale_for(params, most));
                store_scales_of_rows::<Q>(params, [row, k], scales);
                scales
            }
            Fp8Scaling::Tensor | Fp8Scaling::Blocks128 => {
                let scale = scale_for(params, shared_largest::<Q>(params, tile));
                store_shared_scale::<Q>(params, [row, k], scale);
                [scale; VECTOR]
            }
        }
    };
    // SAFETY: each vector of the array is stored by one thread, and loaded after the barrier; K is a multiple of 16, so
    // a vector is inside the row as a whole, and no other thread stores it.
    unsafe {
        let bytes = Shared::<u32>::new(shared_array![u128; WORDS / 4].cast(), WORDS);
        unrolled!(const VECTOR, |j| {
            let mut words = [0; 4];
            unrolled!(4, at most 4, |word| {
                let quotient = |i: usize| tile[4 * word + i][j].widen() / scales[j];
                let low = f32_to_fp8x2(params.format, [quotient(0), quotient(1)]);
                let high = f32_to_fp8x2(params.format, [quotient(2), quotient(3)]);
                words[word] = low | high << 16;
            });
            bytes.set_vec::<4>(place(VECTOR as u32 * lane + j as u32, warp), words);
        });
        // RAW: a warp loads rows that all warps have stored 16 bytes of each.
        thread::sync_threads();
        let words_of_row = (params.k / 4) as usize;
        let data = GlobalMut::new_with(params.data.cast::<u32>(), || params.rows as usize * words_of_row);
        // Each warp stores 4 rows at once, 8 lanes a row.
        unrolled!(4, at most 4, |i| {
            let of_tile = 32 * i as u32 + 4 * warp + lane / 8;
            let vector = lane % 8;
            let (row, k) = (row + of_tile, k + 16 * vector);
            if row < params.rows && k < params.k {
                let words = bytes.get_vec::<4>(place(of_tile, vector));
                data.set_vec::<4>(row as usize * words_of_row + (k / 4) as usize, words);
            }
        });
    }
}

/// Index of the first word of vector `vector` of a row of the tile in FP8, swizzled.
#[inline(always)]
fn place(row: u32, vector: u32) -> usize {
    (row * WORDS_OF_ROW + 4 * (vector ^ (row / 4 % 8))) as usize
}

/// The larger of `most` and the largest magnitude of each of the thread's 4 rows.
#[inline(always)]
fn largest_of_columns<T: Element<Acc = f32>>(mut most: [u32; VECTOR], tile: &Tile<T>) -> [u32; VECTOR] {
    unrolled!(const LINES, at most 16, |i| {
        most = core::array::from_fn(|j| most[j].max(magnitude(tile[i][j])));
    });
    most
}

/// The largest of each of this lane's 4 rows, of all warps.
///
/// # Safety
/// Every thread of the CTA calls this, once.
#[inline(always)]
unsafe fn largest_of_warps(mine: [u32; VECTOR]) -> [u32; VECTOR] {
    const ELEMS: usize = WARPS * TILE as usize;
    let (warp, lane) = warp_and_lane();
    // SAFETY: each vector is written by one thread, and read after the barrier.
    unsafe {
        let of_warps = Shared::<u32>::new(shared_array![u128; ELEMS / 4].cast(), ELEMS);
        of_warps.set_vec::<VECTOR>((TILE * warp + VECTOR as u32 * lane) as usize, mine);
        // RAW: each thread reads what all warps have of its rows.
        thread::sync_threads();
        largest_of_lines::<WARPS>(of_warps)
    }
}

/// The largest of each of this lane's 4 rows, of the partials.
///
/// # Safety
/// As for [`super::quantize`]; every thread of the CTA calls this, once.
#[inline(always)]
unsafe fn largest_of_partials(params: &Fp8QuantizeParams, first_row: u32) -> [u32; VECTOR] {
    const ELEMS: usize = HALVES * TILE as usize;
    let thread = thread::thread_idx_x();
    let row = (first_row + thread % TILE).min(params.rows - 1) as usize;
    let (mut most, mut split) = (0, thread / TILE);
    // SAFETY: partials that there are; each element of the array is written by one thread, and read after the barrier.
    unsafe {
        let partials = written_partials(params, params.rows);
        while split < params.splits {
            most = most.max(partials.get(split as usize * params.rows as usize + row));
            split += HALVES as u32;
        }
        let of_halves = Shared::<u32>::new(shared_array![u128; ELEMS / 4].cast(), ELEMS);
        of_halves.set(thread as usize, most);
        // RAW: each thread reads both halves of its rows.
        thread::sync_threads();
        largest_of_lines::<HALVES>(of_halves)
    }
}

/// The largest of each of this lane's 4 rows, of `COUNT` lines of 128 rows.
///
/// # Safety
/// As many lines are in the view, and a barrier is between their stores and this.
#[inline(always)]
unsafe fn largest_of_lines<const COUNT: usize>(lines: Shared<u32>) -> [u32; VECTOR] {
    let (_, lane) = warp_and_lane();
    let mut most = [0; VECTOR];
    unrolled!(const COUNT, |i| {
        // SAFETY: the caller's promise.
        let line = unsafe { lines.get_vec::<VECTOR>(TILE as usize * i + VECTOR * lane as usize) };
        most = core::array::from_fn(|j| most[j].max(line[j]));
    });
    most
}

/// Stores the scales of this lane's 4 rows, by the first warp of the CTA that has the tile, or the first tile along K.
/// What pads a line of scales is cleared.
///
/// # Safety
/// As for [`super::quantize`].
#[inline(always)]
unsafe fn store_scales_of_rows<Q: Quantizer>(params: &Fp8QuantizeParams, [row, k]: [u32; 2], scales: [f32; VECTOR]) {
    let (warp, lane) = warp_and_lane();
    let first = row + VECTOR as u32 * lane;
    let ld = params.scale_ld as usize;
    // SAFETY: scales of the tile's rows, which no other thread stores.
    unsafe {
        if const { matches!(Q::SCALING, Fp8Scaling::Rows) } {
            let of_rows = GlobalMut::new_with(params.scales, || ld);
            unrolled!(const VECTOR, |j| {
                let row = first + j as u32;
                of_rows.set_if(warp == 0 && k == 0 && row < params.rows, || row as usize, || scales[j]);
            });
        } else if warp == 0 && first < params.scale_ld {
            // A line has whole vectors.
            let lines = || params.k.div_ceil(TILE) as usize * ld;
            let values = core::array::from_fn(|j| {
                if first + (j as u32) < params.rows {
                    scales[j]
                } else {
                    0.0
                }
            });
            let of_blocks = GlobalMut::new_with(params.scales, lines);
            of_blocks.set_vec::<VECTOR>((k / TILE) as usize * ld + first as usize, values);
        }
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
    let mut most = [0; VECTOR];
    let mut k_tile = split;
    while k_tile < k_tiles {
        // SAFETY: the caller's promise; a tile of the matrix.
        let tile = unsafe { source.load([k_tile * TILE, row]) };
        most = largest_of_columns(most, &tile);
        k_tile += splits;
    }
    let (warp, lane) = warp_and_lane();
    let first = row + VECTOR as u32 * lane;
    // SAFETY: all threads are here; partials that no other thread stores.
    unsafe {
        let most = largest_of_warps(most);
        let partials = partials(params, params.rows);
        unrolled!(const VECTOR, |j| {
            let row = first + j as u32;
            let at = || split as usize * params.rows as usize + row as usize;
            partials.set_if(warp == 0 && row < params.rows, at, || most[j]);
        });
    }
}
