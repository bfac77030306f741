//! How long a product takes with one of this project's kernels.
//!
//! A kernel of one stage alternates between loading and multiplying, so a block spends most of its time waiting, and
//! what an SM's other blocks do meanwhile decides the speed. Measured on an H200, the cycles that `b`
//! resident blocks take for a step along k are close to `latency + b * work`: a straight line in b, whose two numbers
//! [`Speeds`] has for each kernel and tile width, with the cycles that a block costs besides its steps.
//! `benches/gpu_pick` measures and fits them (`gpu_pick --calibrate`), on other shapes than those on which it judges
//! the choice.

use cuda_arch::Architecture;
use tilewright_contract::{GemmShape, Grid, Kernel, Loads, Operand, split_k};
use tilewright_plan::GpuModel;

use super::sheet::{gemm_type, path};
use super::speeds::Speeds;
use super::{kernel_sheet, usage};

/// Microseconds from one launch to the next of a kernel that does nothing, as measured on an H200 with CUDA 13.0.
pub const LAUNCH_US: f64 = 2.0;

/// What is launched.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The kernel, with its tile.
    pub kernel: Kernel,
    /// Splits of K.
    pub splits: u32,
}

/// What of a launch an estimate depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// Steps along k of a block; the last tile counts in full.
    pub steps: f64,
    /// Tiles that the busiest SM has in all, each a block's or one of several of a block that stays.
    pub blocks: u64,
    /// Blocks that an SM holds at once.
    pub resident: u64,
}

impl Rounds {
    /// The rounds of a launch; `None` for an empty C, and for more tiles than a grid holds.
    pub fn new(work: &Work, shape: &GemmShape, resident: u32, sms: u32) -> Option<Self> {
        let depth = work.kernel.tile.k as usize;
        let (resident, sms) = (resident.max(1), sms.max(1));
        let max_resident = resident.saturating_mul(sms);
        let grid = Grid::of_kernel(shape, &work.kernel, work.splits, Some(max_resident)).ok()?;
        let tiles = u64::from(grid.tiles()) * u64::from(grid.products_per_launch());
        let tiles_of_block = (!grid.is_empty()).then(|| tiles.div_ceil(grid.blocks()))?;
        Some(Self {
            steps: (shape.k().div_ceil(depth).div_ceil(work.splits as usize) * depth) as f64,
            blocks: tiles_of_block * grid.blocks().div_ceil(u64::from(sms)) * u64::from(grid.launches()),
            resident: resident.into(),
        })
    }

    /// By what latency, work and block cycles are multiplied to give all cycles.
    pub fn factors(&self) -> [f64; 3] {
        let rounds = self.blocks.div_ceil(self.resident) as f64;
        let blocks = self.blocks as f64;
        [rounds * self.steps, blocks * self.steps, blocks]
    }
}

/// Microseconds that a product takes; `None` where no SM holds a block, or nothing was measured of the
/// kernel.
///
/// On other architectures than the measured one the work is scaled by the rate of multiplications and the latency is
/// kept: good for an order of tile widths, not for a time.
pub fn estimate_us(
    work: &Work,
    shape: &GemmShape,
    arch: &Architecture,
    product: &GpuModel,
    speeds: &Speeds,
) -> Option<f64> {
    let kernel = &work.kernel;
    let sheet = kernel_sheet(kernel, usage(kernel.symbol, arch)?, arch).ok()?;
    let resident = sheet.occupancy.blocks_per_sm;
    if resident == 0 {
        return None;
    }
    let speed = speeds.of(kernel)?;
    let ty = gemm_type(kernel.operand_dtype());
    let rate = |arch| Some(f64::from(path(kernel).support(arch, ty)?.rate.flops_per_clock));
    let slower = rate(speeds.arch())? / rate(arch)?;
    let [latency, multiplied, block] = Rounds::new(work, shape, resident, product.sms)?.factors();
    let step = (speed.work * slower).max(l2_cycles(work, shape, product));
    let cycles = latency * speed.latency + multiplied * step + block * speed.block;
    let busy_us = cycles / f64::from(product.clock_khz) * 1e3;
    let element_bytes = kernel.dtype.size_bytes();
    let dram_us = least_bytes(shape, element_bytes) / product.dram_bytes_per_second as f64 * 1e6;
    Some(LAUNCH_US + busy_us.max(dram_us) + reduction_us(work, shape) + copying_us(kernel, shape, product))
}

/// Microseconds that pass before the product while operands are copied into rows that the kernel takes
/// ([`Kernel::taken`]): for each a launch, and reading and writing device memory. 0 where it takes both as they lie.
pub fn copying_us(kernel: &Kernel, shape: &GemmShape, product: &GpuModel) -> f64 {
    let copies = kernel.copies(shape);
    copies
        .iter()
        .flatten()
        .map(|copy| LAUNCH_US + copy.moved_bytes() as f64 / product.dram_bytes_per_second as f64 * 1e6)
        .sum()
}

/// Cycles that a block of the kernels with tensor maps waits for L2 for each element along K, where L2 gives all
/// SMs what it can; 0 for other kernels, whose lines have it.
///
/// A row of a box is 128 bytes. Where the rows of a matrix begin at no multiples of that, each lies in two lines of L2,
/// which is asked for both: on an H200 4104 x 4120 x 4136 took 347 us in tiles of 128 x 128, and 4096 cubed 210 us.
fn l2_cycles(work: &Work, shape: &GemmShape, product: &GpuModel) -> f64 {
    let Kernel { tile, cluster, .. } = work.kernel;
    let bytes = work.kernel.operand_dtype().size_bytes() * work.kernel.copy_kind().parts();
    if work.kernel.loads != Loads::Tma {
        return 0.0;
    }
    let args = work.kernel.taken(shape).unwrap_or(*shape).args();
    // A row of a box has the bytes of BLOCK_K elements, a line of L2.
    let lines = |ld: u32| if ld.is_multiple_of(tile.k) { 1 } else { 2 };
    // The CTAs of a cluster read B once.
    let rows = tile.m * lines(args.lda) + tile.n / cluster * lines(args.ldb);
    let tiles = f64::from(args.m.div_ceil(tile.m)) * f64::from(args.n.div_ceil(tile.n));
    let tiles = tiles * f64::from(work.splits) * f64::from(shape.matrices_of_c());
    let busy = (tiles / f64::from(product.sms)).min(1.0);
    busy * f64::from(rows * bytes) / L2_BYTES_PER_CYCLE
}

/// Bytes that an SM gets of L2 in a cycle while all others ask for as much (H200: 24 KiB in 384 to 440
/// cycles, 128 x 64 tiles of 1024 cubed, that is 56 to 64). Chosen by hand just above: with 60, 4104 x 4120 x 4136
/// would be given 128 x 256, which a script timed 6 to 8 % behind 128 x 168.
const L2_BYTES_PER_CYCLE: f64 = 65.0;

/// Microseconds that the split-K reduction takes ([`split_k`] says how); 0 for one split.
pub fn reduction_us(work: &Work, shape: &GemmShape) -> f64 {
    let (levels, reads) = split_k::rounds(work.splits);
    let Some(split_k) = work.kernel.split_k.filter(|_| levels > 0) else {
        return 0.0;
    };
    let Kernel { tile, .. } = work.kernel;
    let elems_per_thread = f64::from(split_k.elems_per_tile) / f64::from(work.kernel.threads());
    let tiles = shape.m().div_ceil(tile.m as usize) * shape.n().div_ceil(tile.n as usize);
    let all_bytes = tiles as f64
        * f64::from(shape.batch().count)
        * f64::from(work.splits)
        * f64::from(split_k.elems_per_tile * SUM_BYTES);
    f64::from(levels) * LEVEL_US
        + f64::from(reads) * (READ_US + SUM_US * elems_per_thread)
        + 2.0 * all_bytes / L2_BYTES_PER_US
}

/// Bytes of a sum in the workspace.
const SUM_BYTES: u32 = 4;

/// Microseconds from the last block of a group that leaves its sums to the first that may read them.
const LEVEL_US: f64 = 1.5;

/// Microseconds that a block takes to read and add one slot, and more for each sum of a thread. On an H200 64 slots
/// that one block added up took 22 us with 32 sums a thread and 30 us with 64.
const READ_US: f64 = 0.2;
const SUM_US: f64 = 0.0045;

/// Bytes a microsecond to and from L2 (H200).
const L2_BYTES_PER_US: f64 = 3.0e6;

/// Bytes that must cross the memory bus: each matrix once.
fn least_bytes(shape: &GemmShape, element_bytes: u32) -> f64 {
    let elems = [Operand::A, Operand::B, Operand::C].map(|operand| {
        let (rows, columns, _) = shape.extents(operand);
        rows as f64 * columns as f64 * f64::from(shape.batch().matrices(operand))
    });
    elems.iter().sum::<f64>() * f64::from(element_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_contract::{DType, Family};

    #[test]
    fn rounds_count_the_work_of_the_busiest_sm() {
        let shape = GemmShape::packed(100, 100, 20).expect("valid");
        // 7 x 7 tiles of 16 on 10 SMs: 5 on the busiest, 2 at once: 3 rounds; 2 tiles deep.
        let mut work = Work {
            kernel: Kernel::find(Family::TILED_DYNAMIC, DType::F32, 16).expect("exists"),
            splits: 1,
        };
        let rounds = Rounds::new(&work, &shape, 2, 10).expect("not empty");
        assert_eq!((rounds.steps, rounds.blocks, rounds.resident), (32.0, 5, 2));
        assert_eq!(rounds.factors(), [96.0, 160.0, 5.0]);
        // Split-K 2, one k-tile each.
        work.splits = 2;
        let rounds = Rounds::new(&work, &shape, 2, 10).expect("not empty");
        assert_eq!((rounds.steps, rounds.blocks), (16.0, 10));
    }

    #[test]
    fn blocks_that_stay_have_the_tiles_of_the_slowest() {
        let work = wgmma_work(64);
        // 5 x 5 tiles of 64, two blocks on each of 4 SMs: 8 blocks, of which one has 4 tiles, and so has
        // its neighbour for all we know.
        let shape = GemmShape::packed(300, 300, 100).expect("valid");
        let rounds = Rounds::new(&work, &shape, 2, 4).expect("not empty");
        assert_eq!((rounds.steps, rounds.blocks, rounds.resident), (128.0, 8, 2));
        // With room for all, one each.
        let rounds = Rounds::new(&work, &shape, 2, 100).expect("not empty");
        assert_eq!(rounds.blocks, 1);
        let empty = GemmShape::packed(0, 300, 100).expect("valid");
        assert_eq!(Rounds::new(&work, &empty, 2, 4), None);
    }

    #[test]
    fn operands_that_are_copied_take_their_launches_and_their_bytes() {
        let kernel = wgmma_work(128).kernel;
        let arch = cuda_arch::find("sm_90").expect("in the table");
        let product = GpuModel::assumed(arch).expect("in the table");
        let us = |lds| {
            let shape = GemmShape::packed(1001, 1001, 1001).and_then(|shape| shape.with_operand_lds(lds));
            copying_us(&kernel, &shape.expect("valid"), product)
        };
        // 1001 rows of 1001 elements are read, of 1024 written.
        let one = LAUNCH_US + f64::from(1001 * (1001 + 1024) * 2) / product.dram_bytes_per_second as f64 * 1e6;
        for (lds, expected) in [
            ([1008, 1016], 0.0),
            ([1001, 1008], one),
            ([1008, 1003], one),
            ([1001, 1001], 2.0 * one),
        ] {
            assert!((us(lds) - expected).abs() < 1e-9, "{lds:?}: {} us", us(lds));
        }
    }

    fn wgmma_work(width: u32) -> Work {
        Work {
            kernel: Kernel::find(Family::WGMMA, DType::F16, width).expect("in the table"),
            splits: 1,
        }
    }

    #[test]
    fn more_sms_and_a_faster_clock_are_never_slower() {
        let arch = cuda_arch::find("sm_90").expect("in the table");
        let product = GpuModel::assumed(arch).expect("in the table");
        let shape = GemmShape::packed(2000, 1500, 700).expect("valid");
        for (family, width) in [
            (Family::TILED_STATIC, 16),
            (Family::TILED_DYNAMIC, 64),
            (Family::TILED_DYNAMIC, 128),
        ] {
            let work = Work {
                kernel: Kernel::find(family, DType::F32, width).expect("exists"),
                splits: 1,
            };
            let speeds = Speeds::default();
            let us = |product: &GpuModel| estimate_us(&work, &shape, arch, product, &speeds).expect("fits");
            let mut larger = product.clone();
            larger.sms *= 2;
            let mut faster = product.clone();
            faster.clock_khz *= 2;
            assert!(
                us(&larger) <= us(product) && us(&faster) < us(product),
                "{family} {width}"
            );
            assert!(us(product) > LAUNCH_US);
        }
    }
}
