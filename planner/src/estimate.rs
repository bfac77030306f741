//! How long a product takes with a template: a model of throughput, for ranking templates against each other.
//!
//! ```
//! use tilewright_plan::{GemmType, Product, Shape, Template, TileShape, estimate, worksheet};
//!
//! let product = Product::find("H200").expect("in the table");
//! let sm_90 = product.architecture()?;
//! let template = Template::usual(sm_90, GemmType::Bf16, TileShape::new(128, 256, 64), 4).expect("wgmma");
//! let sheet = worksheet(&template, sm_90, 0).expect("a legal tile");
//! let shape = Shape { m: 4096, n: 4096, k: 4096 };
//! let estimate = estimate(&sheet, &shape, product).expect("the template runs on an H200");
//! assert_eq!(estimate.waves, 4.0);
//! # Ok::<(), cuda_arch::UnknownArchitecture>(())
//! ```
//!
//! The blocks of a product are dealt to the multiprocessors; the busiest has `ceil(blocks / multiprocessors)` of them, which is
//! where the partial last wave costs. For the whole product the model adds up what each resource has to do:
//!
//! - *compute*: the multiplications of the busiest multiprocessor's tiles, edges included, at the path's rate;
//! - *shared memory*: the bytes that the instructions read of their operands (and, without bulk copies, write);
//! - *L2*: the operands' bytes into each multiprocessor, and out of the cache in all, which multicast in clusters lessens;
//! - *DRAM*: the operands once where they fit the cache, else what each wave's rectangle of tiles needs, and C;
//! - *latency*: the chain of one block's steps, in which a buffer is refilled no sooner than memory answers.
//!
//! The resources work at the same time, so the slowest decides; [`OVERLAP`] of what the others need comes on top. Launch,
//! filling the pipeline, the epilogue and the sum of split parts are added.
//!
//! What it does not know: power, other kernels, hash conflicts of the cache, the quality of the code, and `tcgen05` by two
//! multiprocessors (`cta_group::2`), which halves what each needs of B; the worksheet has all of B in each block.

use cuda_arch::Architecture;
use libm::{ceil, sqrt};
use serde::Serialize;

use crate::path::{Path, Support};
use crate::products::Product;
use crate::template::{Accumulator, Shape, Template, Widening, warp_grid};
use crate::worksheet::Worksheet;

/// What of the time of the resources that do not decide comes on top, as they do not overlap perfectly. Fitted: with it the model
/// has an H100 SXM at 761 TFLOPS for bf16 at 4096^3 and 784 at 8192^3, where the best public kernel reaches 764 and 808
/// (pranjalssh/fast.cu) and cuBLAS 716 to 762 and 750 to 795.
pub const OVERLAP: f64 = 0.05;
/// What of the peak rate tensor instructions reach by themselves (arXiv 2501.12084: wgmma 96 %).
pub const TENSOR_EFFICIENCY: f64 = 0.96;
/// Bytes that a multiprocessor's shared memory moves in a clock: 32 banks of 4 bytes.
pub const SHARED_MEMORY_BYTES: f64 = 128.0;
/// Bytes that a multiprocessor takes in from the second-level cache in a clock (DeepGEMM's heuristics; A100 white paper).
pub const PORT_BYTES: f64 = 64.0;
/// What of the device memory's peak a streaming kernel reaches.
pub const DRAM_EFFICIENCY: f64 = 0.9;
/// What of the second-level cache holds operands from one wave to the next; the rest is C, and lines that came too early.
pub const L2_SHARE: f64 = 0.5;
/// Clocks from a load to its data. H100, measured without load: 260 out of the second-level cache, 571 out of device memory, which
/// takes longer when busy; the blocks of a wave wait for the one of them that has to go there.
pub const LATENCY: f64 = 700.0;
/// Clocks of a step that are not multiplications, where the warps that multiply also wait for the buffer and issue the loads:
/// about what a barrier of the block takes.
pub const STEP_CLOCKS: f64 = 30.0;
/// The same where multiplications are asynchronous: the next are queued while a barrier is waited for, which leaves little.
pub const ASYNC_STEP_CLOCKS: f64 = 10.0;
/// What a subpartition reaches with one warp that multiplies synchronously: nothing covers its loads out of shared memory.
/// Judged: two warps are usually enough, one loses a seventh.
pub const LONE_WARP: f64 = 0.85;
/// Clocks that a block takes to begin and to end, besides loading and storing: set-up of barriers, the last sums.
pub const BLOCK_CLOCKS: f64 = 800.0;
/// Bytes of C that a multiprocessor sends out in a clock.
pub const STORE_BYTES: f64 = 32.0;
/// Microseconds from one kernel's launch to the next, as back-to-back launches take at least.
pub const LAUNCH_US: f64 = 2.5;

/// Microseconds that the kernel which sums split parts takes at least: its launch, and two for any kernel at all.
pub const SPLIT_US: f64 = 4.5;

/// What decides the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Multiplications.
    Compute,
    /// Reads of operands out of shared memory.
    SharedMemory,
    /// The second-level cache.
    L2,
    /// Device memory.
    Dram,
    /// The latency of loads and barriers, which too few buffers or blocks hide.
    Latency,
}

impl Bound {
    /// What reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Bound::Compute => "multiplications",
            Bound::SharedMemory => "shared memory",
            Bound::L2 => "L2",
            Bound::Dram => "device memory",
            Bound::Latency => "latency",
        }
    }
}

/// An estimate. Times in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// All of it.
    pub us: f64,
    /// How often the device is filled with blocks, the last time perhaps in part.
    pub waves: f64,
    /// If only multiplications took time, and the waits in which no resident block multiplies.
    pub compute_us: f64,
    /// If only reads of shared memory took time.
    pub smem_us: f64,
    /// If only the second-level cache took time.
    pub l2_us: f64,
    /// If only device memory took time.
    pub dram_us: f64,
    /// If only latency took time.
    pub latency_us: f64,
    /// Launch, filling the first block, storing the last, summing split parts.
    pub overhead_us: f64,
    /// Multiplications that are part of the product, of all that are done: the rest is edges of tiles.
    pub useful_fraction: f64,
    /// What decides.
    pub bound: Bound,
}

/// Estimates the time of a product with the template of a worksheet. `None` where no block is ever resident, where the
/// architecture has no such instructions, or where there is nothing to compute.
pub fn estimate(sheet: &Worksheet, shape: &Shape, product: &Product) -> Option<Estimate> {
    let arch = cuda_arch::find(sheet.arch).ok()?;
    let support = sheet.template.path.support(arch, sheet.template.ty)?;
    let machine = Machine::new(arch, product, support);
    Work::new(sheet, shape, &machine)?.estimate(&machine)
}

/// What the model needs of a device for one path and type.
pub(crate) struct Machine<'a> {
    arch: &'a Architecture,
    multiprocessors: f64,
    clock_hz: f64,
    /// Operations of a multiprocessor in a clock.
    flops: f64,
    support: Support,
    /// Bytes a clock that the second-level cache gives out in all.
    l2_bytes_per_clock: f64,
    dram_bytes_per_clock: f64,
    l2_bytes: f64,
    /// Groups of multiprocessors that a cluster cannot straddle.
    cluster_groups: f64,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(arch: &'a Architecture, product: &Product, support: Support) -> Self {
        let clock_hz = product.clock_hz();
        let multiprocessors = f64::from(product.multiprocessors);
        Self {
            arch,
            multiprocessors,
            clock_hz,
            flops: product.flops_per_clock(support.rate),
            support,
            l2_bytes_per_clock: multiprocessors * l2_bytes_per_clock(arch),
            dram_bytes_per_clock: product.dram_bytes_per_second as f64 * DRAM_EFFICIENCY / clock_hz,
            l2_bytes: product.l2_bytes as f64,
            cluster_groups: if arch.compute_capability.major == 11 { 3.0 } else { 8.0 },
        }
    }

    /// Multiprocessors that clusters of so many blocks reach. A cluster stays within a GPC, whose multiprocessors come in pairs:
    /// up to two blocks always fit, of larger clusters each GPC leaves `(blocks - 2) / 2` multiprocessors idle on average.
    fn reach(&self, cluster: u32) -> f64 {
        let idle = self.cluster_groups * f64::from(cluster.saturating_sub(2)) / 2.0;
        (self.multiprocessors - idle)
            .max(f64::from(cluster))
            .min(self.multiprocessors)
    }
}

/// Bytes that the second-level cache gives each multiprocessor in a clock when all ask: 46 on 8.0 and 9.0 (DeepGEMM's heuristics:
/// 8 TB/s at 1.3 GHz for 132); all that the port takes on 10.x (derived: cuBLASLt's 2147 TFLOPS at 8192^3 on B200 need it with
/// tiles of 256 x 256 for two multiprocessors); about 20 on the others (measured by third parties: T4 1.27 TB/s, RTX 4090 5 TB/s).
fn l2_bytes_per_clock(arch: &Architecture) -> f64 {
    match (arch.compute_capability.major, arch.compute_capability.minor) {
        (8, 0) | (9, _) => 46.0,
        (10, _) => PORT_BYTES,
        _ => 20.0,
    }
}

/// What a template does for a shape, in units of the machine.
pub(crate) struct Work {
    /// Blocks, split parts counted.
    blocks: f64,
    /// Multiprocessors that work, and blocks that each holds.
    reach: f64,
    resident: f64,
    /// Steps of the main loop in a block.
    steps: f64,
    compute: f64,
    shared: f64,
    /// Bytes that a step brings to a multiprocessor, and takes from the second-level cache.
    load: f64,
    l2: f64,
    /// Bytes of device memory in all.
    dram: f64,
    buffers: f64,
    step_overhead: f64,
    /// Warps of a block that multiply; no limit where they need not wait for it.
    warps: f64,
    /// Clocks of a block's beginning and end, and what of them its own multiplications do not cover.
    end: f64,
    uncovered_end: f64,
    split: f64,
    outputs: f64,
    useful: f64,
}

impl Work {
    pub(crate) fn new(sheet: &Worksheet, shape: &Shape, machine: &Machine<'_>) -> Option<Self> {
        let template = &sheet.template;
        let resident = f64::from(sheet.occupancy.blocks_per_sm);
        let [m, n, k] = [shape.m, shape.n, shape.k].map(|extent| extent as f64);
        if resident == 0.0 || m == 0.0 || n == 0.0 || k == 0.0 {
            return None;
        }
        let [tile_m, tile_n, tile_k] = [template.tile.m, template.tile.n, template.tile.k].map(f64::from);
        let split = f64::from(template.split_k);
        let [cluster_m, cluster_n] = [template.cluster.0, template.cluster.1].map(f64::from);
        let (tiles_m, tiles_n) = (ceil(m / tile_m), ceil(n / tile_n));
        let across = |tiles: f64, cluster: f64| ceil(tiles / cluster) * cluster;
        let blocks = across(tiles_m, cluster_m) * across(tiles_n, cluster_n) * split;
        let steps = ceil(ceil(k / tile_k) / split);

        // Rows beyond the matrix are not fetched.
        let (rows, columns) = (m / tiles_m, n / tiles_n);
        let depth = (k / split / steps).min(tile_k);
        let [a_bytes, b_bytes] = bytes_per_element(template);
        let (load_a, load_b) = (rows * depth * a_bytes, columns * depth * b_bytes);
        // Multicast: the blocks of a cluster along n share A, those along m share B.
        let l2 = load_a / cluster_n + load_b / cluster_m;
        let load = load_a + load_b;

        let reach = machine.reach(template.cluster.0 * template.cluster.1);
        let wave = (reach * resident).min(blocks);
        let dram_in = operands_from_dram(Operands {
            tiles: [tiles_m, tiles_n],
            panel: [rows * k * a_bytes, columns * k * b_bytes],
            split,
            wave,
            cache: machine.l2_bytes * L2_SHARE,
        });
        let outputs = m * n;
        let out_bytes = outputs * f64::from(template.output_bytes);
        let (compute, shared) = step_clocks(template, machine);
        let end = BLOCK_CLOCKS + rows * columns * f64::from(template.output_bytes) / STORE_BYTES;
        let asynchronous = matches!(template.path, Path::Wgmma | Path::Tcgen05);
        Some(Self {
            blocks,
            reach,
            resident,
            steps,
            compute,
            shared,
            load,
            l2,
            dram: dram_in + out_bytes,
            buffers: f64::from(sheet.buffers),
            step_overhead: match (asynchronous, sheet.buffers) {
                (true, _) => ASYNC_STEP_CLOCKS,
                // The block waits twice: for the tile to be filled, and to be drained.
                (false, 1) => 2.0 * STEP_CLOCKS,
                (false, _) => STEP_CLOCKS,
            },
            warps: if asynchronous {
                f64::INFINITY
            } else {
                f64::from(template.warps)
            },
            end,
            // With a second accumulator the next tile's multiplications run on.
            uncovered_end: if template.accumulator_buffers > 1 { 0.0 } else { end },
            split,
            outputs,
            useful: (m * n * k) / (blocks / split * tile_m * tile_n * tile_k * steps * split),
        })
    }

    pub(crate) fn estimate(&self, machine: &Machine<'_>) -> Option<Estimate> {
        let clocks_to_us = 1e6 / machine.clock_hz;
        // Blocks that the busiest multiprocessor computes, and how often it is filled.
        let rounds = ceil(self.blocks / self.reach);
        let waves = ceil(self.blocks / (self.reach * self.resident));
        let together = self.resident.min(rounds);

        // Warps are dealt to four subpartitions. A block takes its own time for a step, and all resident ones share the units;
        // they cover each other's waits and ends.
        let math = |blocks: f64| self.compute / filled(self.warps * blocks / 4.0);
        let own = self.steps * (math(1.0) + self.step_overhead) + self.uncovered_end;
        let compute = (rounds * self.steps * math(together)).max(waves * own);
        let shared = rounds * self.steps * self.shared;
        let port = rounds * self.steps * self.load / PORT_BYTES;
        let l2 = self.blocks * self.steps * self.l2 / machine.l2_bytes_per_clock;
        let dram = self.dram / machine.dram_bytes_per_clock;
        // A buffer is filled again when its step is over and memory has answered.
        let step = math(1.0).max(self.shared) + self.step_overhead;
        let latency = waves * (self.steps * (LATENCY + step) / self.buffers + self.uncovered_end);

        let terms = [
            (compute, Bound::Compute),
            (shared, Bound::SharedMemory),
            (port, Bound::L2),
            (l2, Bound::L2),
            (dram, Bound::Dram),
            (latency, Bound::Latency),
        ];
        let (slowest, bound) = terms
            .into_iter()
            .reduce(|most, term| if term.0 > most.0 { term } else { most })?;
        let sum: f64 = terms.iter().map(|term| term.0).sum();
        let main = slowest + OVERLAP * (sum - slowest);

        let overhead_us = (LATENCY + self.end) * clocks_to_us + LAUNCH_US + self.split_us(machine);
        Some(Estimate {
            us: main * clocks_to_us + overhead_us,
            waves,
            compute_us: compute * clocks_to_us,
            smem_us: shared * clocks_to_us,
            l2_us: l2.max(port) * clocks_to_us,
            dram_us: dram * clocks_to_us,
            latency_us: latency * clocks_to_us,
            overhead_us,
            useful_fraction: self.useful,
            bound,
        })
    }

    /// Summing split parts: each is written and read once as 32-bit sums, by way of the second-level cache where they fit, and a
    /// second kernel does it.
    fn split_us(&self, machine: &Machine<'_>) -> f64 {
        if self.split == 1.0 {
            return 0.0;
        }
        let workspace = self.outputs * self.split * 4.0;
        let bytes_per_clock = if workspace <= machine.l2_bytes * L2_SHARE {
            machine.l2_bytes_per_clock
        } else {
            machine.dram_bytes_per_clock
        };
        SPLIT_US + 2.0 * workspace / bytes_per_clock * 1e6 / machine.clock_hz
    }
}

/// What a subpartition reaches of its rate with so many warps on average.
fn filled(warps: f64) -> f64 {
    if warps <= 1.0 {
        warps * LONE_WARP
    } else {
        (LONE_WARP + (warps - 1.0) * (1.0 - LONE_WARP)).min(1.0)
    }
}

/// Bytes of an element of A and of B where they are loaded from, their scales included.
fn bytes_per_element(template: &Template) -> [f64; 2] {
    let scale = template
        .ty
        .scale()
        .map_or(0.0, |scale| f64::from(scale.bytes) / f64::from(scale.elements));
    template.ty.stored_bits().map(|bits| f64::from(bits) / 8.0 + scale)
}

/// What [`operands_from_dram`] needs.
struct Operands {
    /// Tiles along m and n.
    tiles: [f64; 2],
    /// Bytes of A that a row of tiles needs, and of B that a column needs, over all of k.
    panel: [f64; 2],
    split: f64,
    /// Blocks at work at a time.
    wave: f64,
    /// Bytes that the second-level cache keeps.
    cache: f64,
}

/// Bytes of A and B that come out of device memory.
fn operands_from_dram(operands: Operands) -> f64 {
    let Operands {
        tiles: [tiles_m, tiles_n],
        panel: [panel_a, panel_b],
        split,
        wave,
        cache,
    } = operands;
    let once = tiles_m * panel_a + tiles_n * panel_b;
    if once <= cache {
        return once;
    }
    // A wave's tiles as the rectangle that needs least of A and B together: kernels walk over C in groups for that.
    let area = (wave / split).max(1.0).min(tiles_m * tiles_n);
    let high = sqrt(area * panel_b / panel_a).clamp(1.0, tiles_m);
    let wide = (area / high).clamp(1.0, tiles_n);
    let high = (area / wide).clamp(1.0, tiles_m);
    let waves = tiles_m * tiles_n / (high * wide);
    let streamed = waves * (high * panel_a + wide * panel_b);
    // Where the rectangle's rows of A stay in the cache, the walk along n loads them once; and so for B.
    let keep_a = if high * panel_a <= cache {
        tiles_m * panel_a + tiles_n * panel_b * (tiles_m / high)
    } else {
        f64::INFINITY
    };
    let keep_b = if wide * panel_b <= cache {
        tiles_n * panel_b + tiles_m * panel_a * (tiles_n / wide)
    } else {
        f64::INFINITY
    };
    streamed.min(keep_a).min(keep_b).max(once)
}

/// Clocks that one block's step keeps the multiplying units busy, and shared memory.
fn step_clocks(template: &Template, machine: &Machine<'_>) -> (f64, f64) {
    let (compute, shared) = operand_clocks(template, machine);
    let sums = match template.accumulator {
        // Read and written once a step.
        Accumulator::SharedMemory => {
            2.0 * (template.tile.outputs() * u64::from(template.ty.accumulator_bytes())) as f64
        }
        Accumulator::Registers | Accumulator::TensorMemory => 0.0,
    };
    (compute, shared + sums / SHARED_MEMORY_BYTES)
}

/// The same with sums in registers or tensor memory.
fn operand_clocks(template: &Template, machine: &Machine<'_>) -> (f64, f64) {
    let [m, n, k] = [template.tile.m, template.tile.n, template.tile.k].map(f64::from);
    let bits = if machine.support.widens(template.ty) {
        match template.widening {
            Widening::Loading => template.ty.stored_bits(),
            Widening::Staging => [16; 2],
        }
    } else {
        template.ty.staged_bits()
    };
    let [a, b] = bits.map(|bits| f64::from(bits) / 8.0);
    let flops = machine.flops
        * if template.path == Path::Simt {
            1.0
        } else {
            TENSOR_EFFICIENCY
        };
    match template.path {
        Path::Simt => {
            let warps = f64::from(template.warps.max(1));
            // A thread's square of outputs; the lanes of a warp as 4 x 8 such squares.
            let side = sqrt(m * n / (warps * 32.0)).max(1.0);
            // Vector loads of 16 bytes; a warp's share of A or B is one wavefront each.
            let words = template.ty.accumulator_bytes().max(4) as f64;
            let loads = 2.0 * (side * words / 16.0).max(1.0);
            let multiplications = side * side * 2.0 * 32.0 / flops;
            // Each of four schedulers issues one instruction a clock, loads and multiplications alike.
            let issued = (side * side + loads) / 4.0;
            (warps * k * multiplications.max(issued), warps * k * loads)
        }
        Path::MmaSync => {
            let (along_m, along_n) = warp_grid(template.tile, template.warps, [8, 8]).unwrap_or((1, template.warps));
            let reads = (m * f64::from(along_n) * a + n * f64::from(along_m) * b) * k;
            // cp.async and stores share the way with the reads; a bulk copy has its own.
            let writes = if template.copies_by_tma(machine.arch) {
                0.0
            } else {
                (m * a + n * b) * k
            };
            (2.0 * m * n * k / flops, (reads + writes) / SHARED_MEMORY_BYTES)
        }
        Path::Wgmma => {
            // Every instruction of 64 rows reads its rows of A and all its columns of B.
            let (_, across) = warp_grid(template.tile, template.warps / 4, [64, 8]).unwrap_or((1, 1));
            let reads = (m * f64::from(across) * a + m / 64.0 * n * b) * k;
            (2.0 * m * n * k / flops, reads / SHARED_MEMORY_BYTES)
        }
        Path::Tcgen05 => {
            // 64 rows use half of the lanes.
            let rows = ceil(m / 128.0) * 128.0;
            let reads = (m * a + ceil(m / 128.0) * n * b) * k;
            (2.0 * rows * n * k / flops, reads / SHARED_MEMORY_BYTES)
        }
    }
}
