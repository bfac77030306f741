//! How long a product takes with a template: a model of throughput, for ranking templates against each other.
//!
//! ```
//! use tilewright_plan::{GemmType, GpuModel, Shape, Template, TileShape, estimate, worksheet};
//!
//! let gpu = GpuModel::find("H200").expect("in the table");
//! let sm_90 = gpu.architecture()?;
//! let template = Template::usual(sm_90, GemmType::Bf16, TileShape::new(128, 256, 64), 4).expect("wgmma");
//! let sheet = worksheet(&template, sm_90, 0).expect("a legal tile");
//! let shape = Shape { m: 4096, n: 4096, k: 4096 };
//! let estimate = estimate(&sheet, &shape, gpu).expect("the template runs on an H200");
//! assert_eq!(estimate.waves, 4.0);
//! # Ok::<(), cuda_arch::UnknownArchitecture>(())
//! ```
//!
//! The CTAs of a product are dealt to the SMs; the busiest has `ceil(CTAs / SMs)` of them, which is where the partial
//! last wave costs. For the whole product the model adds up what each resource has to do:
//!
//! - *compute*: the multiplications of the busiest SM's tiles, edges included, at the path's rate;
//! - *shared memory*: the bytes that the instructions read of their operands (and, without TMA loads, write);
//! - *L2*: the operands' bytes into each SM, and out of the cache in all, which multicast in clusters lessens;
//! - *DRAM*: the operands once where they fit the cache, else what each wave's rectangle of tiles needs, and C;
//! - *latency*: the chain of one CTA's steps, in which a buffer is refilled no sooner than memory answers.
//!
//! The resources work at the same time, so the slowest decides; [`OVERLAP`] of what the others need comes on top.
//! Launch, filling the pipeline, the epilogue and the sum of split parts are added.
//!
//! What it does not know: power, other kernels, hash conflicts of the cache, the quality of the code, and `tcgen05` by
//! two SMs (`cta_group::2`), which halves what each needs of B; the worksheet has all of B in each CTA.

use serde::Serialize;

use crate::gpu_models::GpuModel;
use crate::template::Shape;
use crate::worksheet::Worksheet;

mod machine;
mod resources;
mod work;

pub(crate) use machine::Machine;
pub(crate) use work::Work;

/// What of the time of the resources that do not decide comes on top, as they do not overlap perfectly. Fitted: with it
/// the model has an H100 SXM at 753 TFLOPS for bf16 at 4096^3 and 783 at 8192^3, where the best public kernel reaches
/// 764 and 808 (pranjalssh/fast.cu) and cuBLAS 716 to 762 and 750 to 795.
pub const OVERLAP: f64 = 0.05;
/// What of the peak rate tensor instructions reach by themselves (arXiv 2501.12084: wgmma 96 %).
pub const TENSOR_EFFICIENCY: f64 = 0.96;
/// Bytes that an SM's shared memory moves in a clock: 32 banks of 4 bytes.
pub const SHARED_MEMORY_BYTES: f64 = 128.0;
/// Bytes that an SM takes in from the L2 cache in a clock (DeepGEMM's heuristics; A100 white paper).
pub const PORT_BYTES: f64 = 64.0;
/// What of the device memory's peak a streaming kernel reaches.
pub const DRAM_EFFICIENCY: f64 = 0.9;
/// What of the L2 cache holds operands from one wave to the next; the rest is C, and lines that came too early.
pub const L2_SHARE: f64 = 0.5;
/// Clocks from a load to its data. H100, measured without load: 260 out of the L2 cache, 571 out of device memory,
/// which takes longer when busy; the CTAs of a wave wait for the one of them that has to go there.
pub const LATENCY: f64 = 700.0;
/// Clocks of a step that are not multiplications, where the math warps also wait for the buffer and issue the loads:
/// about what a barrier of the CTA takes.
pub const STEP_CLOCKS: f64 = 30.0;
/// The same where multiplications are asynchronous: the next are queued while a barrier is waited for, which leaves
/// little.
pub const ASYNC_STEP_CLOCKS: f64 = 10.0;
/// What a subpartition reaches with one warp that multiplies synchronously: nothing covers its loads out of shared
/// memory. Judged: two warps are usually enough, one loses a seventh.
pub const LONE_WARP: f64 = 0.85;
/// Clocks that a CTA takes to begin and to end, besides loading and storing: set-up of barriers, the last accumulators.
pub const BLOCK_CLOCKS: f64 = 800.0;
/// Bytes of C that an SM sends out in a clock.
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
    /// The L2 cache.
    L2,
    /// Device memory.
    Dram,
    /// The latency of loads and barriers, which too few buffers or CTAs hide.
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
    /// How often the device is filled with CTAs, the last time perhaps in part.
    pub waves: f64,
    /// If only multiplications took time, and the waits in which no resident CTA multiplies.
    pub compute_us: f64,
    /// If only reads of shared memory took time.
    pub smem_us: f64,
    /// If only the L2 cache took time.
    pub l2_us: f64,
    /// If only device memory took time.
    pub dram_us: f64,
    /// If only latency took time.
    pub latency_us: f64,
    /// Launch, filling the first CTA, storing the last, summing split parts.
    pub overhead_us: f64,
    /// Multiplications that are part of the product, of all that are done: the rest is edges of tiles.
    pub useful_fraction: f64,
    /// What decides.
    pub bound: Bound,
}

/// Estimates the time of a product with the template of a worksheet, as the [module](self) says. `None` where no CTA is
/// ever resident, where the architecture has no such instructions, or where there is nothing to compute.
pub fn estimate(sheet: &Worksheet, shape: &Shape, gpu: &GpuModel) -> Option<Estimate> {
    let arch = cuda_arch::find(sheet.arch).ok()?;
    let support = sheet.template.path.support(arch, sheet.template.ty)?;
    let machine = Machine::new(arch, gpu, support);
    Work::new(sheet, shape, &machine)?.estimate(&machine)
}
