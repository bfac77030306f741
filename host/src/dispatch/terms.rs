//! Terms of the cost model: what a launch does, counted, each in microseconds per unit of its coefficient.
//!
//! The estimate is a sum: every term times its coefficient, none of them negative. A sum prices a launch whose limits
//! overlap better than their maximum, and its coefficients have one best fit. Clock, SMs and bandwidth of the device
//! enter here, so that the coefficients are cycles, shares of a bandwidth or microseconds.

mod traffic;

use cuda_arch::Architecture;
use tilewright_contract::{GemmShape, Grid, Kernel, Operand, OperandCopy, SplitK, split_k};
use tilewright_plan::GpuModel;
use tilewright_plan::occupancy::occupancy;

use super::sheet::{gemm_type, path};
use super::usage;
use traffic::Traffic;

/// Terms with a coefficient of each kernel and tile width.
///
/// `step` is an element along K, `tile` a work tile of the busiest SM.
pub const KERNEL_TERMS: [&str; 9] = [
    // Microseconds of a launch.
    "launch",
    // Cycles of a step of a round of resident CTAs, divided by how many they are: each hides the latency of the others.
    "latency",
    // Cycles of a step of each of them.
    "work",
    // Cycles of a step of the average SM: what all of them share. SMs without a tile wait for the others.
    "mean-work",
    // Cycles of a step of each CTA that the average SM holds besides the first: those of one round start together, and
    // load at the same time.
    "co-resident",
    // Cycles of a byte that the average SM loads. Rows outside A and B are none.
    "loads",
    // Cycles of a tile besides its steps.
    "tile",
    // Cycles of a tile of single elements or pairs of C, whose rows are no whole vectors of 16 bytes; of vectors of 4 a
    // half.
    "store",
    // Microseconds of a level of the split-K reduction, and of each further round of tiles whose accumulators go to the
    // workspace.
    "split",
];

/// Terms with one coefficient for all kernels of an element type.
pub const SHARED_TERMS: [&str; 17] = [
    // Cycles of a k-tile of a round of resident CTAs, however many they are.
    "k-tile",
    // Microseconds of a launch that has to wait for the end of the grid before it, of a kernel that need not
    // (programmatic dependent launch).
    "no-overlap",
    // Microseconds of a launch by the share of SMs that have a CTA.
    "occupied-sms",
    // A and B once, by the bandwidth of device memory.
    "operands",
    // The same where K is split: where loads of A and B limit a launch, more CTAs gain less than the sum expects.
    "split-operands",
    // C once.
    "c",
    // What exceeds the half of L2 that an SM is near to.
    "beyond-l2",
    // C where it is stored in single elements or pairs; in vectors of 4 a half of it.
    "unaligned-c",
    // Cycles of a byte that an SM loads and L2 may not hold: of operands and C the share that exceeds that half.
    "missed-loads",
    // Cycles of a byte that TMA loads in rows that straddle two lines of L2.
    "straddling",
    // Cycles of a row of a box, wholly or in part outside an operand, of the average SM: all such rows are one request
    // to the same place.
    "out-of-bounds",
    // Cycles of a step of the average SM where threads load rows along M or N that are shorter than a line: all CTAs
    // ask for the same few lines.
    "narrow",
    // Microseconds that a CTA waits for the slots that its threads load at once.
    "slots",
    // Microseconds of an accumulator of a thread in a slot.
    "slot-element",
    // The workspace, written and read.
    "workspace",
    // Microseconds of a launch that copies operands.
    "copy",
    // Its bytes, read and written.
    "copied",
];

/// Coefficients of a kernel's own terms.
pub type KernelTerms = [f64; KERNEL_TERMS.len()];

/// Coefficients of the terms that an element type shares.
pub type SharedTerms = [f64; SHARED_TERMS.len()];

/// What is launched.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The kernel, with its tile.
    pub kernel: Kernel,
    /// Splits of K.
    pub splits: u32,
}

/// The terms of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// In the order of [`KERNEL_TERMS`].
    pub kernel: KernelTerms,
    /// In the order of [`SHARED_TERMS`].
    pub shared: SharedTerms,
}

impl Terms {
    /// The terms of a launch on a device, for coefficients that were measured on another architecture: its work,
    /// and the loads that come with it, is scaled by the rate of multiplications, its latencies are kept. That is good
    /// for an order of tiles, not for a time.
    ///
    /// `None` where no SM holds a CTA, for an empty C, and for more tiles than a grid holds.
    pub fn of(
        work: &Work,
        shape: &GemmShape,
        arch: &Architecture,
        gpu: &GpuModel,
        measured: &Architecture,
    ) -> Option<Self> {
        Machine::of(&work.kernel, arch, gpu, measured)?.terms(&work.kernel, work.splits, shape)
    }

    /// Microseconds with these coefficients.
    pub fn us(&self, kernel: &KernelTerms, shared: &SharedTerms) -> f64 {
        let sum = |terms: &[f64], by: &[f64]| -> f64 { terms.iter().zip(by).map(|(term, by)| term * by).sum() };
        sum(&self.kernel, kernel) + sum(&self.shared, shared)
    }
}

/// CTAs of a kernel that an SM holds at once; `None` for a kernel without a line in the table of registers.
pub(super) fn resident_per_sm(kernel: &Kernel, arch: &Architecture) -> Option<u32> {
    let used = usage(kernel.symbol, arch)?;
    Some(occupancy(arch, &used.block(kernel.threads(), kernel.dynamic_bytes().get())).blocks_per_sm)
}

/// Work tiles of an SM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    /// Rounds of resident CTAs in which the busiest SM computes its tiles, each of a CTA or one of several of a
    /// persistent one.
    pub(super) rounds: u64,
    /// Of the busiest SM, the rounds, each divided by the CTAs that are resident in it.
    pub(super) shared_rounds: f64,
    /// Of the busiest SM, as long as the subpartitions take that issue the most warps.
    pub(super) issued: f64,
    /// Of the average SM.
    pub(super) mean: f64,
}

impl Load {
    /// The load of a launch; `None` for an empty grid.
    pub(super) fn of(kernel: &Kernel, grid: &Grid, resident: u32, sms: u32, arch: &Architecture) -> Option<Self> {
        let tiles = u64::from(grid.tiles()) * u64::from(grid.products_per_launch());
        let tiles_of_cta = (!grid.is_empty()).then(|| tiles.div_ceil(grid.blocks()))?;
        let busiest = tiles_of_cta * grid.blocks().div_ceil(u64::from(sms));
        let resident = u64::from(resident);
        let (full_rounds, remainder) = (busiest / resident, busiest % resident);
        // A CTA of fewer warps than an SM has subpartitions, or of no multiple, leaves some of them idle.
        let (warps, parts) = (
            u64::from(kernel.threads().div_ceil(arch.warp_size)),
            u64::from(arch.subpartitions_per_sm),
        );
        let issued = |ctas: u64| ((ctas * warps).div_ceil(parts) * parts) as f64 / warps as f64;
        Some(Self {
            rounds: busiest.div_ceil(resident),
            shared_rounds: full_rounds as f64 / resident as f64
                + if remainder > 0 { 1.0 / remainder as f64 } else { 0.0 },
            issued: full_rounds as f64 * issued(resident) + issued(remainder),
            mean: tiles as f64 / f64::from(sms),
        })
    }
}

/// A device as one kernel finds it.
pub(super) struct Machine<'a> {
    arch: &'a Architecture,
    gpu: &'a GpuModel,
    /// CTAs of the kernel that an SM holds at once.
    resident: u32,
    /// By how much the device multiplies more slowly than the measured one, by clock.
    slower: f64,
}

impl<'a> Machine<'a> {
    /// `None` where no SM holds a CTA, and for instructions that the architecture lacks.
    pub(super) fn of(
        kernel: &Kernel,
        arch: &'a Architecture,
        gpu: &'a GpuModel,
        measured: &Architecture,
    ) -> Option<Self> {
        let rate = |arch| {
            Some(f64::from(
                path(kernel).support(arch, gemm_type(kernel))?.rate.flops_per_clock,
            ))
        };
        Some(Self {
            arch,
            gpu,
            resident: resident_per_sm(kernel, arch).filter(|&resident| resident > 0)?,
            slower: rate(measured)? / rate(arch)?,
        })
    }

    /// The terms of a launch of this kernel.
    pub(super) fn terms(&self, kernel: &Kernel, splits: u32, shape: &GemmShape) -> Option<Terms> {
        let sms = self.gpu.sms.max(1);
        let max_resident = self.resident.saturating_mul(sms);
        let grid = Grid::of_kernel(shape, kernel, splits, Some(max_resident)).ok()?;
        let load = Load::of(kernel, &grid, self.resident, sms, self.arch)?;
        let launches = f64::from(grid.launches());
        let k_tiles = f64::from(k_tiles_per_split(shape, kernel, splits));
        let steps = k_tiles * f64::from(kernel.tile.k);
        // Of several splits the last alone ends early, and the others take longer; the average one has its part of K.
        let granularity = kernel.k_granularity.unwrap_or(kernel.tile.k);
        let k = f64::from(shape.args().k.next_multiple_of(granularity));
        let (multiplied, mean_steps) = match splits {
            0 | 1 => (k, k),
            _ => (steps, k / f64::from(splits)),
        };
        let cycle_us = 1e3 / f64::from(self.gpu.clock_khz);
        let byte_us = 1e6 / self.gpu.dram_bytes_per_second as f64;
        let rounds = load.rounds as f64;
        let is_split = if splits > 1 { 1.0 } else { 0.0 };

        let [a, b, c] = matrix_bytes(shape, kernel);
        let beyond_l2 = (a + b + c - self.gpu.l2_bytes as f64 / 2.0).max(0.0);
        let missed = if beyond_l2 > 0.0 { beyond_l2 / (a + b + c) } else { 0.0 };
        let traffic = Traffic::of(kernel, &grid, shape, splits.max(1));
        let mean_us = cycle_us / f64::from(sms);
        let single = single_stores(shape, kernel);
        let is_serial = kernel.supports.dependent_launch && !gains_from_overlap(kernel, &grid, Some(max_resident), sms);
        // A launch of less than a round has some SMs idle: the average one counts.
        let co_resident = (load.mean.min(f64::from(self.resident)) - 1.0).max(0.0);

        let elems_per_thread = kernel.split_k.map_or(1, SplitK::elems_per_thread);
        let reduction = split_k::rounds(splits, split_k::slots_at_once(elems_per_thread));
        let slot_bytes = (size_of::<f32>() as u32 * kernel.split_k.map_or(0, |split_k| split_k.elems_per_tile)) as f64;
        let copies = kernel.copies(shape);
        let copied: u64 = copies.iter().flatten().map(OperandCopy::moved_bytes).sum();
        Some(Terms {
            kernel: [
                launches,
                launches * load.shared_rounds * multiplied * cycle_us,
                launches * load.issued * multiplied * cycle_us * self.slower,
                launches * load.mean.max(1.0) * mean_steps * cycle_us * self.slower,
                launches * co_resident * mean_steps * cycle_us,
                launches * traffic.bytes * mean_us * self.slower,
                launches * load.issued * cycle_us,
                launches * load.issued * cycle_us * single,
                launches * is_split * (rounds - 1.0 + f64::from(reduction.levels)),
            ],
            shared: [
                launches * rounds * k_tiles * cycle_us,
                if is_serial { launches } else { 0.0 },
                launches * load.mean.min(1.0),
                (a + b) * byte_us,
                (a + b) * byte_us * is_split,
                c * byte_us,
                beyond_l2 * byte_us,
                c * byte_us * single,
                launches * traffic.bytes * missed * mean_us,
                launches * traffic.straddling_bytes * mean_us,
                launches * traffic.rows_out_of_bounds * mean_us,
                if traffic.is_narrow {
                    launches * load.mean * mean_steps * cycle_us
                } else {
                    0.0
                },
                f64::from(reduction.waits),
                f64::from(reduction.slots * elems_per_thread),
                is_split * launches * load.mean * f64::from(sms) * 2.0 * slot_bytes * byte_us,
                OperandCopy::launches(&copies) as f64,
                copied as f64 * byte_us,
            ],
        })
    }

    /// Microseconds that device memory takes at least: what L2 cannot hold from one launch to the next.
    pub(super) fn least_us(&self, kernel: &Kernel, shape: &GemmShape) -> f64 {
        let bytes: f64 = matrix_bytes(shape, kernel).iter().sum();
        (bytes - self.gpu.l2_bytes as f64).max(0.0) * 1e6 / self.gpu.dram_bytes_per_second as f64
    }
}

/// Whether a launch gains from beginning while the grid before it ends (programmatic dependent launch): where no SM has
/// more than one of its CTAs. CTAs of other grids would fill the SMs that are free first, several of them on one, which
/// then takes longer than the launch gains.
pub(super) fn gains_from_overlap(kernel: &Kernel, grid: &Grid, max_resident: Option<u32>, sms: u32) -> bool {
    let one_each = grid.blocks() <= u64::from(sms) || max_resident.is_none_or(|most| most <= sms);
    kernel.supports.dependent_launch && one_each
}

/// The time of stores of C by that of single elements: none where rows are whole vectors of 16 bytes, nor of a kernel
/// whose tiles overlap, which stores whole sectors of any rows. Measured, pairs take as long as single elements
/// (docs/decisions/0056-calibrated-on-more-shapes.md).
fn single_stores(shape: &GemmShape, kernel: &Kernel) -> f64 {
    if kernel.overlap > 0 {
        return 0.0;
    }
    let is_vector = |elems: u32| {
        [shape.n() as u32, shape.args().ldc]
            .iter()
            .all(|row| row.is_multiple_of(elems))
    };
    if is_vector(16 / kernel.dtype.size_bytes()) {
        return 0.0;
    }
    if is_vector(4) { 0.5 } else { 1.0 }
}

/// K-tiles of each split but the last, which may have fewer.
pub(super) fn k_tiles_per_split(shape: &GemmShape, kernel: &Kernel, splits: u32) -> u32 {
    shape.args().k.div_ceil(kernel.tile.k).div_ceil(splits.max(1))
}

/// Bytes of an element of A or B as the kernel loads it: of all its parts, where it is split.
fn loaded_bytes(kernel: &Kernel) -> u32 {
    kernel.operand_dtype().size_bytes() * kernel.parts()
}

/// Bytes of all matrices A, B and C, A and B as the kernel loads them.
fn matrix_bytes(shape: &GemmShape, kernel: &Kernel) -> [f64; 3] {
    let loaded = loaded_bytes(kernel);
    [
        (Operand::A, loaded),
        (Operand::B, loaded),
        (Operand::C, kernel.dtype.size_bytes()),
    ]
    .map(|(operand, element_bytes)| {
        let (rows, columns, _) = shape.extents(operand);
        let matrices = f64::from(shape.batch().matrices(operand));
        rows as f64 * columns as f64 * matrices * f64::from(element_bytes)
    })
}

#[cfg(test)]
#[path = "terms/tests.rs"]
mod tests;
