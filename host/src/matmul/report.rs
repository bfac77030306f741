//! How a product was computed, for people and for scripts.

use serde::{Serialize, Serializer};
use tilewright_contract::{GemmShape, Precision};

use super::Backend;
use crate::check::Verify;
use crate::element::Accumulator;

/// How a product was computed: what `tilewright matmul --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// `gpu`, `cpu` or `sim`.
    pub backend: Backend,
    /// The device's name, `CPU` with the number of threads, or `simulator` with the architecture whose limits hold.
    pub device: String,
    /// The entry point's symbol, or `cpu_tiled`.
    pub kernel: &'static str,
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// The summed extent.
    pub k: usize,
    /// Products of this shape.
    pub batch: u32,
    /// Element type.
    pub dtype: &'static str,
    /// The arithmetic of its products: `ieee` or `emulated-f32`.
    #[serde(serialize_with = "name")]
    pub precision: Precision,
    /// The factor of the product, by its shortest decimal: an f32 that is written 0.1 is 0.1 here.
    #[serde(serialize_with = "number")]
    pub alpha: f64,
    /// The factor of what C held before.
    #[serde(serialize_with = "number")]
    pub beta: f64,
    /// Whether a bias was added to each row.
    pub bias: bool,
    /// What was applied to each element at last: `none`, `relu` or `gelu`.
    pub activation: &'static str,
    /// The element type of C.
    pub output: &'static str,
    /// Rows and columns of a tile of C, in elements.
    pub tile: [u32; 2],
    /// Parts of K with blocks of their own.
    pub splits: u32,
    /// Threads of a block along x, y, z (0 on the CPU).
    pub block: [u32; 3],
    /// Blocks along x, y, z (0 on the CPU).
    pub grid: [u32; 3],
    /// Static shared memory of a block (0 on the CPU).
    pub static_smem_bytes: u32,
    /// Dynamic shared memory of a block (0 on the CPU).
    pub dynamic_smem_bytes: u32,
    /// Bytes of the part of A_s, static or dynamic (0 without shared memory and on the CPU).
    pub a_part_bytes: u32,
    /// Bytes of the part of B_s.
    pub b_part_bytes: u32,
    /// What a block may use (0 on the CPU).
    pub limit_bytes: u32,
    /// Whether the launch opted in above the default limit.
    pub opt_in: bool,
    /// Elements from row to row of the copies of A and B that were made on the device before the product, in rows that
    /// its kernel takes; `None` for an operand that was taken as it lies.
    pub padded_ld: [Option<u32>; 2],
    /// Bytes of device memory of these copies.
    pub padded_bytes: u64,
    /// Milliseconds of the product: device time between events, with the copies of `padded_ld`; wall time on the CPU.
    /// Copies between host and device are not in it. In the simulator, wall time of the simulation: it says nothing of
    /// a GPU's.
    pub kernel_ms: f64,
    /// 10⁹ multiplications and additions a second: `2 m n k / kernel_ms`, of a batch as often as it has products; 0
    /// where alpha is 0.
    pub gflops: f64,
    /// What was compared with the reference; a report with a mismatch does not exist.
    pub verified: Verify,
    /// Why this plan; one line each.
    pub reasons: Vec<String>,
    /// Why the CPU was taken although the choice was open; `None` otherwise.
    pub fallback: Option<String>,
}

/// Writes the name of an arithmetic.
fn name<S: Serializer>(precision: &Precision, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(precision.name())
}

/// Writes a factor as a number, or as text where JSON has no such number: `inf`, `-inf`, `NaN`.
fn number<S: Serializer>(factor: &f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    match factor.is_finite() {
        true => serializer.serialize_f64(*factor),
        false => serializer.collect_str(factor),
    }
}

/// The f64 of a factor's shortest decimal, which is what its user wrote.
pub(super) fn decimal<F: Accumulator>(factor: F) -> f64 {
    factor.to_string().parse().unwrap_or_else(|_| factor.to_f64())
}

/// 10⁹ operations a second; 0 for an empty product.
pub(super) fn gflops(shape: &GemmShape, ms: f64) -> f64 {
    if ms > 0.0 { shape.flops() / (ms * 1e6) } else { 0.0 }
}
