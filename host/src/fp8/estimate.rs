//! How long an FP8 product takes: five terms, and their coefficients in [`Speeds`](crate::dispatch::Speeds), which
//! `gpu_pick --fit-fp8` fits to the times of the suite `fp8-choice`.

use tilewright_contract::{Fp8Kernel, WgmmaTile};
use tilewright_plan::GpuModel;

use super::{Fp8Problem, Fp8Products};

/// What a launch does, counted, each in microseconds per unit of its coefficient.
pub const FP8_TERMS: [&str; 5] = [
    // Cycles of a launch.
    "launch",   // Cycles of a tile of the busiest SM besides its k-tiles.
    "tile",     // Cycles of a k-tile of that SM besides its multiplications.
    "k-tile",   // The multiplications of that SM, by the rate of the tensor cores.
    "multiply", // A, B and C once, by the bandwidth of device memory.
    "memory",
];

/// A number for each of [`FP8_TERMS`].
pub type Fp8Terms = [f64; FP8_TERMS.len()];

/// Multiply-adds of an SM in a clock: 1,979 TFLOP/s of an H200, 132 SMs at 1.83 GHz (NVIDIA data sheet).
const FP8_PER_CLOCK: f64 = 4096.0;

/// The terms of a product with a kernel.
pub fn fp8_terms(kernel: &Fp8Kernel, problem: &Fp8Problem, gpu: &GpuModel) -> Fp8Terms {
    let tile = kernel.tile;
    let clock_us = 1e6 / gpu.clock_hz();
    let tiles = tiles(tile, problem).expected.div_ceil(u128::from(gpu.sms.max(1))) as f64;
    let [m, n, k] = problem.extents.map(|extent| extent as f64);
    let k_tiles = tiles * (k / f64::from(tile.k)).ceil();
    let multiplied = f64::from(tile.m) * f64::from(tile.n) * f64::from(tile.k) / FP8_PER_CLOCK;
    let [matrices, count] = [problem.products.matrices(), problem.products.count()].map(f64::from);
    let bytes = matrices * m * k + count * n * k + matrices * m * n * f64::from(problem.output.size_bytes());
    [
        clock_us,
        tiles * clock_us,
        k_tiles * clock_us,
        k_tiles * multiplied * clock_us,
        bytes * 1e6 / gpu.dram_bytes_per_second as f64,
    ]
}

/// Microseconds.
pub fn estimate_fp8_us(terms: &Fp8Terms, coefficients: &Fp8Terms) -> f64 {
    terms.iter().zip(coefficients).map(|(term, of)| term * of).sum()
}

/// Tiles of C, those of whole clusters.
pub(super) struct Tiles {
    /// At most.
    pub most: u128,
    /// As many as are to be expected, which are fewer of groups. Where groups end is not known; they are expected to
    /// have the same number of rows.
    pub expected: u128,
}

/// Tiles of a kernel for a problem.
pub(super) fn tiles(tile: WgmmaTile, problem: &Fp8Problem) -> Tiles {
    let [m, n, _] = problem.extents.map(|extent| extent as u128);
    let [tile_m, tile_n, cluster] = [tile.m, tile.n, tile.cluster].map(u128::from);
    let tiles_of = |rows: u128| rows.div_ceil(tile_m * cluster) * cluster;
    let tiles_n = n.div_ceil(tile_n);
    let count = u128::from(problem.products.count());
    let [most, expected] = match problem.products {
        // Nothing to compute, and no matrix that a map could be of.
        _ if m == 0 => [0; 2],
        // Each group may have a tile that is not full.
        Fp8Products::Groups(_) => [m / tile_m + count, count * tiles_of(m.div_ceil(count))].map(|rows| rows * tiles_n),
        Fp8Products::One | Fp8Products::Batch(_) => [count * tiles_of(m) * tiles_n; 2],
    };
    Tiles { most, expected }
}
