//! Which kernel, how many stages, and what that takes.

use cuda_arch::Architecture;
use cuda_sim::GlobalBuffer;
use kernels_gpu::ptx::tensor_map::{TensorMap, TensorMapParts};
use serde::Serialize;
use tilewright_contract::{
    BLOCK_SCALED_KERNELS, Batch, BlockFormat, BlockScaledKernel, BlockScaledParams, Bytes, DType, GemmShape, Grid,
    ScaleLayout, ScaleSource, SmemLayout, Transpose,
};
use tilewright_plan::estimate::{BLOCK_CLOCKS, LATENCY};

use super::maps::maps;
use super::matrix::check_k;
use super::{BlockScaled, BlockScaledGemm};
use crate::device::DeviceProfile;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::scaled::{Addresses, GroupEnds, ScaledLaunch, ScaledPlan};

/// What a plan has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// This kernel.
    pub kernel: Option<&'static BlockScaledKernel>,
    /// So many stages, in place of as many as fit, up to [`Plan::USUAL_STAGES`].
    pub stages: Option<u32>,
    /// Scales from there; without it from the stage.
    pub scales: Option<ScaleSource>,
}

/// A launch: kernel, stages and shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    kernel: &'static BlockScaledKernel,
    stages: u32,
    grid: Grid,
    shape: GemmShape,
}

/// A plan in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The entry point.
    pub kernel: &'static str,
    /// Stages of the pipeline.
    pub stages: u32,
    /// Bytes of a stage: elements of A and of B, scales of A and of B.
    pub stage_bytes: [u32; 4],
    /// Bytes of dynamic shared memory, the mbarriers included.
    pub dynamic_bytes: u32,
    /// What a CTA may have.
    pub limit_bytes: u32,
    /// CTAs.
    pub ctas: u32,
    /// Threads of a CTA.
    pub threads: u32,
}

impl Plan {
    /// Stages at most where nobody asks for more: enough loads in flight to cover the latency of device memory.
    pub const USUAL_STAGES: u32 = 5;

    /// The kernel.
    pub fn kernel(&self) -> &'static BlockScaledKernel {
        self.kernel
    }

    /// Stages of the pipeline.
    pub fn stages(&self) -> u32 {
        self.stages
    }

    /// Shared memory of a CTA.
    pub fn smem(&self) -> SmemLayout {
        self.kernel.tile.smem(self.stages)
    }

    /// CTAs of the grid, along x.
    pub fn ctas(&self) -> u32 {
        self.grid.tiles()
    }

    /// M, N and K.
    pub fn extents(&self) -> [usize; 3] {
        [self.shape.m(), self.shape.n(), self.shape.k()]
    }

    /// The plan in numbers, for a device.
    pub fn summary(&self, device: &DeviceProfile) -> Summary {
        let tile = self.kernel.tile;
        Summary {
            kernel: self.kernel.symbol,
            stages: self.stages,
            stage_bytes: [
                tile.a_bytes(),
                tile.b_bytes(),
                tile.scale_bytes(tile.m),
                tile.scale_bytes(tile.n),
            ],
            dynamic_bytes: self.smem().dynamic_bytes().get(),
            limit_bytes: device.smem_per_block_optin,
            ctas: self.ctas(),
            threads: tile.threads(),
        }
    }
}

impl ScaledPlan for Plan {
    type Matrix = BlockScaled;
    type Scale = u32;
    type Params = BlockScaledParams;
    const WAITS: bool = false;

    fn check<E: Element<Accumulator = f32>>(&self, gemm: &BlockScaledGemm<'_, E>) -> Result<()> {
        let kernel = self.kernel;
        let (planned, extents) = (self.extents(), gemm.extents());
        if planned != extents {
            return Err(Error::InvalidArgument(format!(
                "the plan is for M, N, K = {planned:?}, the problem has {extents:?}"
            )));
        }
        if kernel.tile.format != gemm.format() {
            return Err(Error::InvalidArgument(format!(
                "{} takes {}, the problem has {}",
                kernel.symbol,
                kernel.tile.format,
                gemm.format()
            )));
        }
        self.launch().check_output(E::DTYPE)
    }

    fn launch(&self) -> ScaledLaunch {
        let (kernel, [m, n, k]) = (self.kernel, self.extents());
        let format = kernel.tile.format;
        ScaledLaunch {
            symbol: kernel.symbol,
            output: kernel.output,
            extents: self.extents(),
            args: self.shape.args(),
            batch: Batch::ONE,
            group_ends: GroupEnds::None,
            rows: [m, n],
            ctas: self.ctas(),
            cluster: 1,
            threads: kernel.tile.threads(),
            dynamic_bytes: self.smem().dynamic_bytes().get(),
            row_bytes: format.bytes(k),
            scale_bytes: [m, n].map(|rows| ScaleLayout::of(format, rows, k).bytes()),
            scale_alignment_bytes: [16; 2],
        }
    }

    fn params(&self, scales: [*const u32; 2]) -> BlockScaledParams {
        let [m, _, k] = self.extents();
        BlockScaledParams {
            scales,
            // Below 2^31 elements.
            scale_k_tiles: ScaleLayout::of(self.kernel.tile.format, m, k).k_tiles as u32,
            stages: self.stages,
        }
    }

    fn maps(
        &self,
        addresses: Addresses,
        _c: DType,
        encode: impl Fn(&TensorMapParts) -> Result<TensorMap>,
    ) -> Result<[TensorMap; 4]> {
        maps(self, addresses, encode)
    }

    fn simulated_scales(matrix: &BlockScaled) -> GlobalBuffer<u32> {
        let (words, _) = matrix.scales().as_chunks::<4>();
        let words: Vec<_> = words.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        GlobalBuffer::from_slice(&words)
    }
}

/// Plans a product of these extents (m, n, k) with C of `output` or of f32, for a device. Of the kernels that fit it
/// takes the one whose busiest SM is done first, by a model that no GPU has calibrated: rounds of CTAs, each of its
/// multiplications at the rate of the tensor cores and a start.
///
/// # Errors
/// [`Error::InvalidArgument`], with the numbers: for a device that is not of compute capability 12.x; a policy's kernel
/// of another format or type; stages that do not fit; more CTAs than a grid has.
pub fn plan(
    format: BlockFormat,
    [m, n, k]: [usize; 3],
    output: DType,
    device: &DeviceProfile,
    policy: &Policy,
) -> Result<Plan> {
    let refuse = |message: String| Err(Error::InvalidArgument(message));
    if !BlockScaledKernel::runs_on(device.compute_capability) {
        return refuse(format!(
            "{format} needs compute capability 12.0 or 12.1, {} has {}",
            device.name,
            device.compute_capability_name()
        ));
    }
    check_k(format, k)?;
    let shape = GemmShape::packed_transposed(m, n, k, [Transpose::No, Transpose::Yes])?;
    let limit = Bytes(device.smem_per_block_optin);
    let is_wanted = |kernel: &&'static BlockScaledKernel| match policy.kernel {
        Some(named) => **kernel == *named,
        None => kernel.tile.scales == policy.scales.unwrap_or(ScaleSource::Stage),
    };
    let computes = |kernel: &&'static BlockScaledKernel| kernel.tile.format == format && kernel.output == output;
    let (mut over, mut many) = (None, None);
    let mut best: Option<(f64, Plan)> = None;
    for kernel in BLOCK_SCALED_KERNELS.iter().filter(is_wanted).filter(computes) {
        let most = kernel.tile.most_stages(limit);
        let stages = policy.stages.unwrap_or(most.min(Plan::USUAL_STAGES));
        if stages < kernel.tile.least_stages() || stages > most {
            over = Some((kernel, stages, most));
            continue;
        }
        let grid = match Grid::cover(shape.args(), kernel.tile.m, kernel.tile.n, 1) {
            Ok(grid) => grid,
            Err(error) => {
                many = Some(error);
                continue;
            }
        };
        let plan = Plan {
            kernel,
            stages,
            grid,
            shape,
        };
        let clocks = clocks(&plan, device);
        if best.as_ref().is_none_or(|(fastest, _)| clocks < *fastest) {
            best = Some((clocks, plan));
        }
    }
    if let (None, None, Some(error)) = (&best, over, many) {
        return refuse(error.to_string());
    }
    match (best, over, policy.kernel) {
        (Some((_, plan)), _, _) => Ok(plan),
        (None, Some((kernel, stages, most)), _) => refuse(format!(
            "{stages} stages of {} are {} B of shared memory, a CTA of {} has {} B: {} to {most} are possible",
            kernel.symbol,
            u64::from(stages) * u64::from(kernel.tile.stage_bytes() + 16),
            device.name,
            limit.get(),
            kernel.tile.least_stages()
        )),
        (None, None, Some(kernel)) => refuse(format!(
            "{} takes {} with C of {} or f32, not {format} with C of {output}",
            kernel.symbol, kernel.tile.format, kernel.output
        )),
        (None, None, None) => refuse(format!("no kernel takes {format} with C of {output} and these scales")),
    }
}

/// Multiply-adds of an SM in a clock: 1,676 TFLOP/s of an RTX 5090 with NVFP4, 170 SMs at 2.407 GHz; of 8-bit elements
/// half of it.
const FP4_PER_CLOCK: f64 = 2048.0;

/// Clocks of the busiest SM.
fn clocks(plan: &Plan, device: &DeviceProfile) -> f64 {
    let tile = plan.kernel.tile;
    let sms = device.installed.as_ref().map_or(1, |installed| installed.sms.max(1));
    let rounds = plan.ctas().div_ceil(sms);
    let rate = FP4_PER_CLOCK * 4.0 / f64::from(tile.format.element_bits());
    let multiplications = f64::from(tile.m) * f64::from(tile.n) * plan.shape.k() as f64;
    f64::from(rounds) * (multiplications / rate + BLOCK_CLOCKS + LATENCY)
}

/// The architecture whose limits a plan without a device is for.
pub fn default_architecture() -> &'static Architecture {
    cuda_arch::find("sm_120").expect("in the table")
}
