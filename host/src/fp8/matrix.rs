//! An FP8 matrix in host memory, and its quantizers.

use std::ops::Range;

use rayon::prelude::*;
use tilewright_contract::{Fp8, Fp8ScaleLayout, Fp8Scaling};

use super::number::{element, nearest};
use crate::error::{Error, Result};
use crate::scaled::{self, ScaledMatrix, check_numbers, largest_magnitude};

/// An FP8 matrix: rows along K, packed, and their scales.
///
/// The value of an element is `scale * element`. A is stored as its rows; B, which is `k x n`, as its columns: `rows`
/// is n then. Scales are where [`Fp8ScaleLayout`] says.
#[derive(Clone, Debug, PartialEq)]
pub struct Fp8Matrix {
    format: Fp8,
    rows: usize,
    k: usize,
    data: Vec<u8>,
    layout: Fp8ScaleLayout,
    scales: Vec<f32>,
}

impl Fp8Matrix {
    /// A matrix of these bytes, `k` a row, and these scales, `ld` from line to line ([`Fp8ScaleLayout`]), as cuBLASLt
    /// takes them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with both numbers where K is no multiple of 16, and where data or scales have another
    /// length; for a scale or an element that is infinite or NaN, and for a negative scale, with its place.
    pub fn from_parts(
        format: Fp8,
        scaling: Fp8Scaling,
        [rows, k]: [usize; 2],
        data: Vec<u8>,
        scales: Vec<f32>,
    ) -> Result<Self> {
        let refuse = |message: String| Err(Error::InvalidArgument(message));
        check_k(format, k)?;
        let needed = rows.checked_mul(k);
        if needed != Some(data.len()) {
            return refuse(format!(
                "{rows} x {k} elements of {format} are {} B, got {}",
                needed.map_or("too many".to_owned(), |bytes| bytes.to_string()),
                data.len()
            ));
        }
        let layout = Fp8ScaleLayout::of(scaling, rows, k);
        if layout.elems() != scales.len() {
            return refuse(format!(
                "{scaling} scales of {rows} x {k} elements are {} x {} with {} from line to line, {} in all, got {}",
                layout.lines,
                layout.columns,
                layout.ld,
                layout.elems(),
                scales.len()
            ));
        }
        for (line, of_line) in scales.chunks(layout.ld.max(1)).enumerate() {
            let of_line = &of_line[..layout.columns];
            let is_scale = |scale: &f32| scale.is_finite() && *scale >= 0.0;
            if let Some(column) = of_line.iter().position(|scale| !is_scale(scale)) {
                let scale = of_line[column];
                let problem = if scale.is_finite() { "negative" } else { "not a number" };
                return refuse(format!("scale {column} of line {line} is {scale}, {problem}"));
            }
        }
        if let Some(at) = data.iter().position(|&bits| !element(format, bits).is_finite()) {
            return refuse(format!(
                "element {} of row {} is {:#04x}, infinite or NaN in {format}",
                at % k,
                at / k,
                data[at]
            ));
        }
        Ok(Self {
            format,
            rows,
            k,
            data,
            layout,
            scales,
        })
    }

    /// The same with scales without room between their lines.
    ///
    /// # Errors
    /// As for [`Self::from_parts`].
    pub fn with_packed_scales(
        format: Fp8,
        scaling: Fp8Scaling,
        [rows, k]: [usize; 2],
        data: Vec<u8>,
        scales: &[f32],
    ) -> Result<Self> {
        let layout = Fp8ScaleLayout::of(scaling, rows, k);
        if layout.lines * layout.columns != scales.len() {
            return Err(Error::InvalidArgument(format!(
                "{scaling} scales of {rows} x {k} elements are {} x {}, {} in all, got {}",
                layout.lines,
                layout.columns,
                layout.lines * layout.columns,
                scales.len()
            )));
        }
        let mut padded = vec![0.0; layout.elems()];
        let lines = padded.chunks_mut(layout.ld.max(1));
        for (to, from) in lines.zip(scales.chunks(layout.columns.max(1))) {
            to[..from.len()].copy_from_slice(from);
        }
        Self::from_parts(format, scaling, [rows, k], data, padded)
    }

    /// Quantizes `rows x k` numbers, row by row, with the arithmetic of [the GPU](super::Fp8Quantize): to equal bits.
    ///
    /// A scale is the largest magnitude of its elements over the largest of the format, in f32, at least the smallest
    /// normal one; 1 where all are 0. An element is rounded twice: number / scale to f32, that quotient to the format,
    /// each to nearest, ties to even. Where the quotient is within half a unit of f32 of the middle of two elements,
    /// the second rounding may take the farther one, by 2^-24 of it. Subnormal numbers are kept.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where K is no multiple of 16, for another number of elements, and for one that is
    /// infinite or NaN, with its place.
    pub fn quantize(format: Fp8, scaling: Fp8Scaling, rows: usize, k: usize, elements: &[f32]) -> Result<Self> {
        check_k(format, k)?;
        check_numbers(format, [rows, k], elements)?;
        let layout = Fp8ScaleLayout::of(scaling, rows, k);
        let blocks = k.div_ceil(Fp8Scaling::BLOCK);
        // Of each block of a row.
        let of_blocks: Vec<f64> = elements
            .par_chunks(k)
            .flat_map_iter(|row| row.chunks(Fp8Scaling::BLOCK).map(largest_magnitude))
            .collect();
        let mut largest = vec![0.0_f64; layout.elems()];
        for (at, magnitude) in of_blocks.into_iter().enumerate() {
            let index = layout.index(at / blocks, at % blocks * Fp8Scaling::BLOCK);
            largest[index] = largest[index].max(magnitude);
        }
        let mut scales = vec![0.0; layout.elems()];
        let lines = scales.chunks_mut(layout.ld.max(1));
        for (to, from) in lines.zip(largest.chunks(layout.ld.max(1))) {
            for (scale, &magnitude) in to[..layout.columns].iter_mut().zip(from) {
                // Exact: it is that of an f32.
                *scale = format.scale_for(magnitude as f32);
            }
        }
        let mut data = vec![0; rows * k];
        let of_rows = data.par_chunks_mut(k).zip(elements.par_chunks(k)).enumerate();
        of_rows.for_each(|(row, (to, from))| {
            for (at, (bits, value)) in to.iter_mut().zip(from).enumerate() {
                let scale = scales[layout.index(row, at)];
                *bits = nearest(format, f64::from(value / scale));
            }
        });
        Ok(Self {
            format,
            rows,
            k,
            data,
            layout,
            scales,
        })
    }

    /// The same of a matrix whose rows are along the other dimension, `k x rows`: an A that is stored transposed, or a
    /// B as `k x n`. `wgmma` of FP8 takes operands along K alone.
    ///
    /// # Errors
    /// As for [`Self::quantize`].
    pub fn quantize_transposed(
        format: Fp8,
        scaling: Fp8Scaling,
        rows: usize,
        k: usize,
        elements: &[f32],
    ) -> Result<Self> {
        check_numbers(format, [k, rows], elements)?;
        let along_k: Vec<f32> = (0..rows * k)
            .into_par_iter()
            .map(|at| elements[at % k * rows + at / k])
            .collect();
        Self::quantize(format, scaling, rows, k, &along_k)
    }

    /// The numbers that it stands for, row by row, rounded to f32.
    pub fn dequantize(&self) -> Vec<f32> {
        (0..self.rows)
            .into_par_iter()
            .flat_map_iter(|row| self.row(row).into_iter().map(|value| value as f32))
            .collect()
    }

    /// The format of the elements.
    pub fn format(&self) -> Fp8 {
        self.format
    }

    /// Which elements share a scale.
    pub fn scaling(&self) -> Fp8Scaling {
        self.layout.scaling
    }

    /// Rows: of A; columns of B.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements of a row.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The elements, packed, row after row.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The scales, with room between their lines ([`Self::scale_layout`]).
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// Where scales are.
    pub fn scale_layout(&self) -> Fp8ScaleLayout {
        self.layout
    }

    /// The scales without room between their lines.
    pub fn packed_scales(&self) -> Vec<f32> {
        let lines = self.scales.chunks(self.layout.ld.max(1));
        lines.flat_map(|line| line[..self.layout.columns].to_vec()).collect()
    }
}

impl Fp8Matrix {
    /// Some of the rows of an A whose scales are of rows, `1x128` ones among them, or of all of it.
    pub(super) fn part(&self, rows: Range<usize>) -> Self {
        let layout = Fp8ScaleLayout::of(self.layout.scaling, rows.len(), self.k);
        let of_line = |line: usize| match layout.scaling {
            Fp8Scaling::Tensor => &self.scales[..],
            _ => &self.scales[line * self.layout.ld..][rows.clone()],
        };
        let mut scales = vec![0.0; layout.elems()];
        for (line, to) in scales.chunks_mut(layout.ld.max(1)).enumerate() {
            to[..layout.columns].copy_from_slice(of_line(line));
        }
        Self {
            format: self.format,
            rows: rows.len(),
            k: self.k,
            data: self.data[rows.start * self.k..rows.end * self.k].to_vec(),
            layout,
            scales,
        }
    }
}

impl ScaledMatrix for Fp8Matrix {
    fn rows(&self) -> usize {
        self.rows
    }

    fn k(&self) -> usize {
        self.k
    }

    fn data(&self) -> &[u8] {
        &self.data
    }

    fn row(&self, row: usize) -> Vec<f64> {
        let bytes = self.data[row * self.k..][..self.k].iter().enumerate();
        let value = |(at, &bits)| element(self.format, bits) * f64::from(self.scales[self.layout.index(row, at)]);
        bytes.map(value).collect()
    }

    fn check_pair(&self, b: &Self) -> Result<()> {
        let a = self;
        if a.k == b.k {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "A has K = {}, B has K = {}: they have to be the same",
            a.k, b.k
        )))
    }
}

/// Refuses a K that is no whole number of 16-byte vectors.
pub(super) fn check_k(format: Fp8, k: usize) -> Result<()> {
    scaled::check_k(format, k, Fp8::K_MULTIPLE)
}
