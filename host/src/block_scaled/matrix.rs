//! A block-scaled matrix in host memory, and its quantizer.

use rayon::prelude::*;
use tilewright_contract::{BlockFormat, ScaleLayout};

use super::number::{LARGEST_UE4M3, element, is_scale, largest, nearest, scale, scale_for};
use crate::error::{Error, Result};
use crate::scaled::{self, check_numbers, largest_magnitude};

/// A block-scaled matrix: rows along K, packed, with a scale for each block and a factor for all.
///
/// The value of an element is `factor * scale * element`. A is stored as its rows; B, which is `k x n`, as its
/// columns: `rows` is n then.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockScaled {
    format: BlockFormat,
    rows: usize,
    k: usize,
    data: Vec<u8>,
    scales: Vec<u8>,
    factor: f32,
}

impl BlockScaled {
    /// A matrix of these bytes: `format.bytes(k)` of elements a row; scales in tiles of 128 rows x 4 ([`ScaleLayout`]),
    /// as cuBLASLt takes them. MX formats have factor 1.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with both numbers where K is no multiple of 32, where data or scales have another
    /// length, for a scale that is NaN or has a sign, an element that is NaN, and a factor that is not finite.
    pub fn from_parts(
        format: BlockFormat,
        [rows, k]: [usize; 2],
        data: Vec<u8>,
        scales: Vec<u8>,
        factor: f32,
    ) -> Result<Self> {
        let refuse = |message: String| Err(Error::InvalidArgument(message));
        check_k(format, k)?;
        let matrix = Self {
            format,
            rows,
            k,
            data,
            scales,
            factor,
        };
        let needed = rows.checked_mul(matrix.row_bytes());
        if needed != Some(matrix.data.len()) {
            return refuse(format!(
                "{rows} x {k} elements of {format} are {} B, got {}",
                needed.map_or("too many".to_owned(), |bytes| bytes.to_string()),
                matrix.data.len()
            ));
        }
        let layout = matrix.scale_layout();
        if layout.bytes() != matrix.scales.len() {
            return refuse(format!(
                "scales of {rows} x {k} elements of {format} are {} x {} tiles of 512 B, {} B, got {} B; \
                 tiles of 128 rows x 4 scales are whole",
                layout.row_tiles,
                layout.k_tiles,
                layout.bytes(),
                matrix.scales.len()
            ));
        }
        if !factor.is_finite() {
            return refuse(format!("the factor of a block-scaled matrix is {factor}, not a number"));
        }
        for row in 0..rows {
            for block in 0..matrix.blocks() {
                let bits = matrix.scales[layout.offset(row, block)];
                if !is_scale(format, bits) {
                    return refuse(format!(
                        "scale {block} of row {row} is {bits:#04x}, {}",
                        match format.scale_is_exponent() || bits == 0x7f {
                            true => "NaN",
                            false => "negative or NaN: ue4m3 has no sign",
                        }
                    ));
                }
            }
        }
        if format == BlockFormat::Mxfp8
            && let Some(at) = matrix.data.iter().position(|bits| bits & 0x7f == 0x7f)
        {
            return refuse(format!("element {} of row {} is NaN", at % k, at / k));
        }
        Ok(matrix)
    }

    /// The same with scales row by row, `k / block` bytes each, as most quantizers write them.
    ///
    /// # Errors
    /// As for [`Self::from_parts`].
    pub fn with_row_major_scales(
        format: BlockFormat,
        [rows, k]: [usize; 2],
        data: Vec<u8>,
        scales: &[u8],
        factor: f32,
    ) -> Result<Self> {
        check_k(format, k)?;
        let blocks = k / format.block() as usize;
        if scales.len() != rows * blocks {
            return Err(Error::InvalidArgument(format!(
                "scales of {rows} x {k} elements of {format} are {rows} x {blocks}, {} B, got {} B",
                rows * blocks,
                scales.len()
            )));
        }
        Self::from_parts(format, [rows, k], data, tiled(format, [rows, k], scales), factor)
    }

    /// Quantizes `rows x k` numbers, row by row, to the nearest elements, ties to even.
    ///
    /// NVFP4: the factor brings the largest magnitude of all to 6 x 448; a block's scale is the ue4m3 nearest to its
    /// largest magnitude / 6. MX formats: a block's scale is the power of two of OCP MX 1.0, section 6.3.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where K is no multiple of 32, for another number of elements, and for one that is
    /// infinite or NaN, with its place.
    pub fn quantize(format: BlockFormat, rows: usize, k: usize, elements: &[f32]) -> Result<Self> {
        check_k(format, k)?;
        check_numbers(format, [rows, k], elements)?;
        let factor = match (format.scale_is_exponent(), largest_magnitude(elements)) {
            (false, most) if most > 0.0 => ((most / (largest(format) * LARGEST_UE4M3)) as f32).max(f32::MIN_POSITIVE),
            _ => 1.0,
        };
        let (block, blocks) = (format.block() as usize, k / format.block() as usize);
        let mut scales = vec![0; rows * blocks];
        let mut data = vec![0; rows * format.bytes(k)];
        let chunks = elements.par_chunks(block).zip(data.par_chunks_mut(format.bytes(block)));
        chunks.zip(&mut scales).for_each(|((elements, data), bits)| {
            *bits = scale_for(format, largest_magnitude(elements) / f64::from(factor));
            let unit = scale(format, *bits) * f64::from(factor);
            let element = |value: &f32| match unit == 0.0 {
                true => 0,
                false => nearest(format, f64::from(*value) / unit),
            };
            match format.element_bits() {
                4 => {
                    for (byte, pair) in data.iter_mut().zip(elements.chunks(2)) {
                        *byte = element(&pair[0]) | element(&pair[1]) << 4;
                    }
                }
                _ => data
                    .iter_mut()
                    .zip(elements)
                    .for_each(|(byte, value)| *byte = element(value)),
            }
        });
        Ok(Self {
            format,
            rows,
            k,
            data,
            scales: tiled(format, [rows, k], &scales),
            factor,
        })
    }

    /// The numbers that it stands for, row by row, rounded to f32.
    pub fn dequantize(&self) -> Vec<f32> {
        let mut all = vec![0.0; self.rows * self.k];
        all.par_chunks_mut(self.k.max(1)).enumerate().for_each(|(row, to)| {
            let of_row = self.scaled_row(row);
            to.iter_mut()
                .zip(&of_row)
                .for_each(|(to, value)| *to = (value * f64::from(self.factor)) as f32);
        });
        all
    }

    /// The elements of a row times their scales, without the factor; exact.
    pub(super) fn scaled_row(&self, row: usize) -> Vec<f64> {
        let layout = self.scale_layout();
        let bytes = &self.data[row * self.row_bytes()..][..self.row_bytes()];
        let block = self.format.block() as usize;
        let value = |index: usize| {
            let bits = match self.format.element_bits() {
                4 => bytes[index / 2] >> (index % 2 * 4) & 15,
                _ => bytes[index],
            };
            let scale = scale(self.format, self.scales[layout.offset(row, index / block)]);
            element(self.format, bits) * scale
        };
        (0..self.k).map(value).collect()
    }

    /// The format.
    pub fn format(&self) -> BlockFormat {
        self.format
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

    /// The scales, in tiles ([`Self::scale_layout`]).
    pub fn scales(&self) -> &[u8] {
        &self.scales
    }

    /// Where scales are.
    pub fn scale_layout(&self) -> ScaleLayout {
        ScaleLayout::of(self.format, self.rows, self.k)
    }

    /// The scales row by row, `k / block` each.
    pub fn row_major_scales(&self) -> Vec<u8> {
        let (layout, blocks) = (self.scale_layout(), self.blocks());
        let offsets = (0..self.rows).flat_map(|row| (0..blocks).map(move |block| layout.offset(row, block)));
        offsets.map(|offset| self.scales[offset]).collect()
    }

    /// The factor of all elements.
    pub fn factor(&self) -> f32 {
        self.factor
    }

    /// Bytes of a row of elements.
    pub(super) fn row_bytes(&self) -> usize {
        self.format.bytes(self.k)
    }

    fn blocks(&self) -> usize {
        self.k / self.format.block() as usize
    }
}

/// Scales in tiles, of scales row by row; zeros outside.
fn tiled(format: BlockFormat, [rows, k]: [usize; 2], scales: &[u8]) -> Vec<u8> {
    let layout = ScaleLayout::of(format, rows, k);
    let blocks = k / format.block() as usize;
    let mut tiles = vec![0; layout.bytes()];
    for (row, scales) in scales.chunks(blocks.max(1)).enumerate() {
        for (block, &bits) in scales.iter().enumerate() {
            tiles[layout.offset(row, block)] = bits;
        }
    }
    tiles
}

/// Refuses a K that is no whole number of blocks, or of 16 bytes.
pub(super) fn check_k(format: BlockFormat, k: usize) -> Result<()> {
    scaled::check_k(format, k, format.k_multiple())
}
