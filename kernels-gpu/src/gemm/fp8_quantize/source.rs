//! The source: lines of columns, as it is stored.

use cuda_views::Global;
use tilewright_contract::{Fp8QuantizeParams, span_elems};

use super::{LINES, Tile, VECTOR, warp_and_lane};
use crate::block::element::Element;
use crate::block::unroll::unrolled;

/// The source as it is stored: `rows x k` has rows for lines, `k x rows` elements along K.
#[derive(Clone, Copy)]
pub(super) struct Source<T> {
    elements: Global<T>,
    lines: u32,
    columns: u32,
    ld: usize,
    /// Whether each line starts at a multiple of a vector's bytes.
    is_aligned: bool,
}

impl<T: Element<Acc = f32>> Source<T> {
    /// # Safety
    /// `params` describes a source of this type in global memory, `k x rows` if it is transposed.
    #[inline(always)]
    pub(super) unsafe fn new(params: &Fp8QuantizeParams, is_transposed: bool) -> Self {
        let [lines, columns] = match is_transposed {
            true => [params.k, params.rows],
            false => [params.rows, params.k],
        };
        let ld = params.ld as usize;
        let from = params.source.cast::<T>();
        let bytes = const { VECTOR * size_of::<T>() };
        Self {
            // SAFETY: the caller's promise.
            elements: unsafe { Global::new_with(from, || span_elems(lines as usize, columns as usize, ld)) },
            lines,
            columns,
            ld,
            is_aligned: from.addr().is_multiple_of(bytes) && ld.is_multiple_of(VECTOR),
        }
    }

    /// Loads this thread's part of the tile from line and column `first` on, which are multiples of 128 inside the
    /// matrix. Past its end, the last line or the last vector is loaded again: with a branch around each load, each
    /// would wait for the previous one.
    ///
    /// # Safety
    /// The source is as [`Self::new`] was told.
    #[inline(always)]
    pub(super) unsafe fn load(&self, first: [u32; 2]) -> Tile<T> {
        let (warp, lane) = warp_and_lane();
        let vector = const { VECTOR as u32 };
        let last = (self.columns - 1) / vector * vector;
        let column = (first[1] + vector * lane).min(last);
        let first_line = first[0] + const { LINES as u32 } * warp;
        let line = |i: usize| (first_line + i as u32).min(self.lines - 1) as usize * self.ld;
        let mut tile = [[T::ZERO; VECTOR]; LINES];
        // SAFETY: lines and columns of the source.
        unsafe {
            if self.is_aligned && column + vector <= self.columns {
                unrolled!(const LINES, at most 16, |i| {
                    tile[i] = self.elements.get_vec::<VECTOR>(line(i) + column as usize);
                });
            } else {
                let column = |j: u32| (column + j).min(self.columns - 1) as usize;
                unrolled!(const LINES, at most 16, |i| {
                    tile[i] = [0, 1, 2, 3].map(|j| self.elements.get(line(i) + column(j)));
                });
            }
        }
        tile
    }
}

/// The larger of `most` and the largest magnitude of a vector: the bits of an f32.
#[inline(always)]
pub(super) fn largest<T: Element<Acc = f32>>(most: u32, vector: &[T; VECTOR]) -> u32 {
    let [a, b, c, d] = vector.map(magnitude);
    most.max(a.max(b).max(c.max(d)))
}

/// The bits of a magnitude: an infinity above all numbers, NaN above that.
#[inline(always)]
pub(super) fn magnitude<T: Element<Acc = f32>>(element: T) -> u32 {
    element.widen().to_bits() & 0x7fff_ffff
}
