//! Kernels that quantize a matrix to FP8 in device memory, for compute capability 9.0.
//!
//! ```text
//! scaling     launches
//! 1x128       quantize: a CTA reads its tile once
//! 128x128     quantize: the same
//! row         largest: partial largest magnitudes of each row; quantize: each CTA reduces those of its rows
//! tensor      largest: one partial a CTA; quantize: each CTA reduces all of them
//! ```
//!
//! No atomics, and no workspace that has to be cleared: each partial is written by one CTA.

use crate::dtype::DType;
use crate::fp8::{Fp8, Fp8Scaling};
use crate::units::Bytes;

/// What a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fp8Pass {
    /// Writes partial largest magnitudes to the workspace.
    Largest,
    /// Writes elements and scales.
    Quantize,
}

/// A kernel that takes part in a quantization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fp8QuantizeKernel {
    /// The entry point in PTX.
    pub symbol: &'static str,
    /// What it does.
    pub pass: Fp8Pass,
    /// Which elements share a scale.
    pub scaling: Fp8Scaling,
    /// The type of the source: f32, f16 or bf16.
    pub source: DType,
    /// Whether the source is `k x rows`. The largest magnitude of a tensor is one kernel for both.
    pub is_transposed: bool,
}

impl Fp8QuantizeKernel {
    /// Rows and elements along K of the tile of a CTA: a block of scales.
    pub const TILE: u32 = 128;
    /// Threads of a CTA.
    pub const THREADS: u32 = 256;
    /// Warps of a CTA.
    pub const WARPS: u32 = Self::THREADS / 32;
    /// Lines of the tile, as the source has them, that a warp holds.
    pub const LINES: u32 = Self::TILE / Self::WARPS;
    /// Neighboring elements of a line that a lane holds: loaded as one vector where the source allows.
    pub const VECTOR: u32 = Self::TILE / 32;
    /// Partials of a row at most: each CTA reads those of its 128 rows, 8 KiB, beside a tile of 32 or 64 KiB.
    pub const ROW_SPLITS: u32 = 16;
    /// Partials of a tensor at most: each warp reads all of them, 16 a lane.
    pub const TENSOR_SPLITS: u32 = 512;

    /// The kernel of this pass, if a quantization with this scaling has it.
    pub fn of(pass: Fp8Pass, scaling: Fp8Scaling, source: DType, is_transposed: bool) -> Option<&'static Self> {
        let is_one_for_both = pass == Fp8Pass::Largest && scaling == Fp8Scaling::Tensor;
        let is_transposed = is_transposed && !is_one_for_both;
        let wanted = (pass, scaling, source, is_transposed);
        let found = |kernel: &&Self| (kernel.pass, kernel.scaling, kernel.source, kernel.is_transposed) == wanted;
        FP8_QUANTIZE_KERNELS.iter().find(found)
    }

    /// Partial largest magnitudes of each row, or of the tensor; 0 where a tile has whole blocks.
    pub const fn splits(scaling: Fp8Scaling, rows: u32, k: u32) -> u32 {
        let (strips, k_tiles) = (rows.div_ceil(Self::TILE), k.div_ceil(Self::TILE));
        let (tiles, most) = match scaling {
            Fp8Scaling::Tensor => (strips as u64 * k_tiles as u64, Self::TENSOR_SPLITS),
            Fp8Scaling::Rows => (k_tiles as u64, Self::ROW_SPLITS),
            Fp8Scaling::Rows128 | Fp8Scaling::Blocks128 => (0, 0),
        };
        if tiles < most as u64 { tiles as u32 } else { most }
    }

    /// Static shared memory of a CTA.
    ///
    /// ```text
    /// quantize, transposed        the tile in FP8                         16 KiB
    /// 1x128, transposed;          largest magnitude of 128 rows, by warp   4 KiB
    /// largest of rows, transposed
    /// row, transposed             largest magnitude of 128 rows, by half   1 KiB
    /// 128x128; largest of all     largest magnitude of each warp          32 B
    /// ```
    pub const fn smem(&self) -> Bytes {
        let is_quantize = matches!(self.pass, Fp8Pass::Quantize);
        let tile = if is_quantize && self.is_transposed {
            Self::TILE * Self::TILE
        } else {
            0
        };
        let of_rows = match (self.scaling, self.is_transposed) {
            (Fp8Scaling::Rows128, true) => Self::WARPS,
            (Fp8Scaling::Rows, true) if is_quantize => 2,
            (Fp8Scaling::Rows, true) => Self::WARPS,
            _ => 0,
        };
        let of_warps = match self.scaling {
            Fp8Scaling::Blocks128 => Self::WARPS,
            Fp8Scaling::Tensor if !is_quantize => Self::WARPS,
            _ => 0,
        };
        Bytes(tile + 4 * (of_rows * Self::TILE + of_warps))
    }
}

/// The parameters of both passes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp8QuantizeParams {
    /// The source, of the kernel's type: `rows x k`, or `k x rows`.
    pub source: *const u8,
    /// The elements, `rows x k` bytes, packed; at a multiple of 16 bytes. Not read by [`Fp8Pass::Largest`].
    pub data: *mut u8,
    /// The scales ([`Fp8ScaleLayout`](crate::Fp8ScaleLayout)); of blocks at a multiple of 16 bytes. Not read by
    /// [`Fp8Pass::Largest`].
    pub scales: *mut f32,
    /// Partial largest magnitudes, the bits of an f32 each: `splits` of a tensor, `splits x rows` of rows. Not read
    /// where `splits` is 0.
    pub partials: *mut u32,
    /// Rows.
    pub rows: u32,
    /// Elements of a row: a multiple of 16, but for the largest magnitude of a tensor, which takes the lines and
    /// columns of the source as it lies for rows and K.
    pub k: u32,
    /// Elements from one line of the source to the next.
    pub ld: u32,
    /// Scales from one line of them to the next.
    pub scale_ld: u32,
    /// Partials ([`Fp8QuantizeKernel::splits`]).
    pub splits: u32,
    /// The format of the elements.
    pub format: Fp8,
}

/// The kernels: calls `$callback!` with rows `symbol: pass, scaling, type of the source, whether it is transposed;`.
#[macro_export]
macro_rules! fp8_quantize_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            fp8_largest_tensor_f32: largest, Tensor, f32, false;
            fp8_largest_tensor_f16: largest, Tensor, f16, false;
            fp8_largest_tensor_bf16: largest, Tensor, bf16, false;
            fp8_largest_rows_f32: largest, Rows, f32, false;
            fp8_largest_rows_f16: largest, Rows, f16, false;
            fp8_largest_rows_bf16: largest, Rows, bf16, false;
            fp8_largest_rows_f32_transposed: largest, Rows, f32, true;
            fp8_largest_rows_f16_transposed: largest, Rows, f16, true;
            fp8_largest_rows_bf16_transposed: largest, Rows, bf16, true;
            fp8_quantize_tensor_f32: quantize, Tensor, f32, false;
            fp8_quantize_tensor_f16: quantize, Tensor, f16, false;
            fp8_quantize_tensor_bf16: quantize, Tensor, bf16, false;
            fp8_quantize_tensor_f32_transposed: quantize, Tensor, f32, true;
            fp8_quantize_tensor_f16_transposed: quantize, Tensor, f16, true;
            fp8_quantize_tensor_bf16_transposed: quantize, Tensor, bf16, true;
            fp8_quantize_rows_f32: quantize, Rows, f32, false;
            fp8_quantize_rows_f16: quantize, Rows, f16, false;
            fp8_quantize_rows_bf16: quantize, Rows, bf16, false;
            fp8_quantize_rows_f32_transposed: quantize, Rows, f32, true;
            fp8_quantize_rows_f16_transposed: quantize, Rows, f16, true;
            fp8_quantize_rows_bf16_transposed: quantize, Rows, bf16, true;
            fp8_quantize_1x128_f32: quantize, Rows128, f32, false;
            fp8_quantize_1x128_f16: quantize, Rows128, f16, false;
            fp8_quantize_1x128_bf16: quantize, Rows128, bf16, false;
            fp8_quantize_1x128_f32_transposed: quantize, Rows128, f32, true;
            fp8_quantize_1x128_f16_transposed: quantize, Rows128, f16, true;
            fp8_quantize_1x128_bf16_transposed: quantize, Rows128, bf16, true;
            fp8_quantize_128x128_f32: quantize, Blocks128, f32, false;
            fp8_quantize_128x128_f16: quantize, Blocks128, f16, false;
            fp8_quantize_128x128_bf16: quantize, Blocks128, bf16, false;
            fp8_quantize_128x128_f32_transposed: quantize, Blocks128, f32, true;
            fp8_quantize_128x128_f16_transposed: quantize, Blocks128, f16, true;
            fp8_quantize_128x128_bf16_transposed: quantize, Blocks128, bf16, true;
        }
    };
}

/// [`Fp8Pass`] by the name of the body.
macro_rules! pass {
    (largest) => {
        Fp8Pass::Largest
    };
    (quantize) => {
        Fp8Pass::Quantize
    };
}

macro_rules! rows {
    ($($symbol:ident: $pass:ident, $scaling:ident, $source:ident, $is_transposed:literal;)*) => {
        [$(Fp8QuantizeKernel {
            symbol: stringify!($symbol),
            pass: pass!($pass),
            scaling: Fp8Scaling::$scaling,
            source: $crate::family::dtype!($source),
            is_transposed: $is_transposed,
        }),*]
    };
}

/// Every kernel that takes part in a quantization to FP8.
pub static FP8_QUANTIZE_KERNELS: [Fp8QuantizeKernel; 33] = crate::fp8_quantize_kernels!(rows);

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;

    const SOURCES: [DType; 3] = [DType::F32, DType::F16, DType::Bf16];

    #[test]
    fn symbols_say_what_the_rows_do() {
        for kernel in &FP8_QUANTIZE_KERNELS {
            let pass = match kernel.pass {
                Fp8Pass::Largest => "largest",
                Fp8Pass::Quantize => "quantize",
            };
            let scaling = match kernel.scaling {
                Fp8Scaling::Rows => "rows",
                other => other.name(),
            };
            let transposed = if kernel.is_transposed { "_transposed" } else { "" };
            let symbol = format!("fp8_{pass}_{scaling}_{}{transposed}", kernel.source);
            assert_eq!(kernel.symbol, symbol);
            let found = Fp8QuantizeKernel::of(kernel.pass, kernel.scaling, kernel.source, kernel.is_transposed);
            assert_eq!(found, Some(kernel));
        }
    }

    #[test]
    fn every_quantization_has_its_kernels() {
        for source in SOURCES {
            for scaling in Fp8Scaling::ALL {
                for is_transposed in [false, true] {
                    let of = |pass| Fp8QuantizeKernel::of(pass, scaling, source, is_transposed);
                    assert!(of(Fp8Pass::Quantize).is_some());
                    let splits = Fp8QuantizeKernel::splits(scaling, 300, 300);
                    assert_eq!(of(Fp8Pass::Largest).is_some(), splits > 0);
                    assert_eq!(scaling.is_blocked(), splits == 0);
                }
            }
        }
        assert!(Fp8QuantizeKernel::of(Fp8Pass::Quantize, Fp8Scaling::Rows, DType::F64, false).is_none());
    }

    #[test]
    fn partials_are_bounded() {
        use Fp8Scaling::*;
        for (scaling, rows, k, splits) in [
            (Tensor, 300, 272, 9),
            (Tensor, 8192, 8192, 512),
            (Tensor, u32::MAX / 2, u32::MAX / 2, 512),
            (Tensor, 0, 16, 0),
            (Rows, 300, 272, 3),
            (Rows, 300, 1 << 20, 16),
            (Rows128, 300, 272, 0),
        ] {
            assert_eq!(
                Fp8QuantizeKernel::splits(scaling, rows, k),
                splits,
                "{scaling} {rows} x {k}"
            );
        }
    }
}
