//! Which kernel, and what that takes.

use cuda_arch::Architecture;
use cuda_sim::GlobalBuffer;
use kernels_gpu::ptx::tensor_map::{TensorMap, TensorMapParts};
use serde::Serialize;
use tilewright_contract::{
    Bytes, DType, FP8_KERNELS, Fp8Kernel, Fp8Mode, Fp8Params, Fp8ScaleLayout, GemmArgs, GemmShape, SmemLayout,
    Transpose,
};

use super::estimate::{Tiles, estimate_fp8_us, fp8_terms, tiles};
use super::maps::maps;
use super::{Fp8Gemm, Fp8Matrix, Fp8Problem, Fp8Products};
use crate::device::DeviceProfile;
use crate::dispatch::Speeds;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::scaled::{Addresses, GroupEnds, ScaledLaunch, ScaledPlan};

/// What a plan has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// This kernel.
    pub kernel: Option<&'static Fp8Kernel>,
    /// Accumulation by the tensor cores alone, in place of promotion; not with scales of blocks. A policy's kernel
    /// decides by itself.
    pub fast: bool,
    /// CTAs at most, in place of one for each SM.
    pub max_ctas: Option<u32>,
    /// What is known of the kernels' speed.
    pub speeds: Speeds,
}

/// A launch: kernel, CTAs and shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    kernel: &'static Fp8Kernel,
    problem: Fp8Problem,
    shape: GemmShape,
    tiles: u32,
    ctas: u32,
}

/// A plan in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The entry point.
    pub kernel: &'static str,
    /// `fast`, `promoted` or `blocks`.
    pub mode: &'static str,
    /// Stages of the pipeline.
    pub stages: u32,
    /// Bytes of a stage: A, B, scales of A.
    pub stage_bytes: [u32; 3],
    /// Bytes of the epilogue subtiles of C.
    pub c_bytes: u32,
    /// Bytes of dynamic shared memory, the mbarriers included.
    pub dynamic_bytes: u32,
    /// What a CTA may have.
    pub limit_bytes: u32,
    /// Tiles of C, those of whole clusters; of several products at most.
    pub tiles: u32,
    /// CTAs, which take tile after tile.
    pub ctas: u32,
    /// Threads of a CTA.
    pub threads: u32,
}

impl Plan {
    /// The kernel.
    pub fn kernel(&self) -> &'static Fp8Kernel {
        self.kernel
    }

    /// What it was made for.
    pub fn problem(&self) -> &Fp8Problem {
        &self.problem
    }

    /// Shared memory of a CTA.
    pub fn smem(&self) -> SmemLayout {
        self.kernel.smem()
    }

    /// CTAs of the grid, along x.
    pub fn ctas(&self) -> u32 {
        self.ctas
    }

    /// M, N and K of the problem.
    pub fn extents(&self) -> [usize; 3] {
        self.problem.extents
    }

    /// Where the scales of A and of B are, those of one product.
    pub fn scale_layouts(&self) -> [Fp8ScaleLayout; 2] {
        let ([m, n, k], [a, b]) = (self.extents(), self.problem.scalings);
        [Fp8ScaleLayout::of(a, m, k), Fp8ScaleLayout::of(b, n, k)]
    }

    /// Refuses a problem other than the one that it was made for.
    pub(super) fn check_problem(&self, problem: &Fp8Problem) -> Result<()> {
        let planned = &self.problem;
        if planned == problem {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "the plan is for {}, the problem is {}",
            describe(planned),
            describe(problem)
        )))
    }

    /// Extents and leading dimensions, in elements.
    pub(super) fn args(&self) -> GemmArgs {
        self.shape.args()
    }

    /// The plan in numbers, for a device.
    pub fn summary(&self, device: &DeviceProfile) -> Summary {
        let (tile, smem) = (self.kernel.tile, self.smem());
        Summary {
            kernel: self.kernel.symbol,
            mode: self.kernel.mode.name(),
            stages: tile.stages,
            stage_bytes: [tile.a_elems(), tile.b_elems(), self.kernel.mode.scale_bytes(tile)],
            c_bytes: smem.c.get(),
            dynamic_bytes: smem.dynamic_bytes().get(),
            limit_bytes: device.smem_per_block_optin,
            tiles: self.tiles,
            ctas: self.ctas,
            threads: tile.threads(),
        }
    }
}

impl ScaledPlan for Plan {
    type Matrix = Fp8Matrix;
    type Scale = f32;
    type Params = Fp8Params;
    const WAITS: bool = true;

    fn check<E: Element<Accumulator = f32>>(&self, gemm: &Fp8Gemm<'_, E>) -> Result<()> {
        self.check_problem(&gemm.problem())
    }

    fn launch(&self) -> ScaledLaunch {
        let (kernel, layouts, products) = (self.kernel, self.scale_layouts(), self.problem.products);
        let [m, n, k] = self.extents();
        let matrices = [products.matrices(), products.count()].map(|count| count as usize);
        ScaledLaunch {
            symbol: kernel.symbol,
            output: kernel.output,
            extents: self.extents(),
            args: self.args(),
            batch: self.shape.batch(),
            group_ends: match products {
                Fp8Products::One => GroupEnds::None,
                Fp8Products::Groups(_) => GroupEnds::Needed,
                Fp8Products::Batch(_) => GroupEnds::Optional,
            },
            rows: [m * matrices[0], n * matrices[1]],
            ctas: self.ctas,
            cluster: kernel.tile.cluster,
            threads: kernel.tile.threads(),
            dynamic_bytes: self.smem().dynamic_bytes().get(),
            row_bytes: k,
            scale_bytes: [0, 1].map(|at| layouts[at].bytes() * matrices[at]),
            // TMA loads those of blocks, threads all others.
            scale_alignment_bytes: layouts.map(|layout| if layout.scaling.is_blocked() { 16 } else { 4 }),
        }
    }

    fn params(&self, scales: [*const f32; 2]) -> Fp8Params {
        let layouts = self.scale_layouts();
        Fp8Params {
            scales,
            row_strides: layouts.map(|layout| u32::from(layout.columns > 1)),
            // Below 2^31 elements.
            block_ld: layouts[1].ld as u32,
        }
    }

    fn maps(
        &self,
        addresses: Addresses,
        c: DType,
        encode: impl Fn(&TensorMapParts) -> Result<TensorMap>,
    ) -> Result<[TensorMap; 4]> {
        maps(self, addresses, c, encode)
    }

    fn simulated_scales(matrix: &Fp8Matrix) -> GlobalBuffer<f32> {
        let layout = matrix.scale_layout();
        GlobalBuffer::matrix(matrix.scales(), layout.lines, layout.columns, layout.ld)
    }
}

/// A problem in an error.
fn describe(problem: &Fp8Problem) -> String {
    let Fp8Problem {
        formats: [a, b],
        scalings: [of_a, of_b],
        extents,
        products,
        output,
        ..
    } = problem;
    let several = match products {
        Fp8Products::One => String::new(),
        Fp8Products::Groups(count) => format!(", in {count} groups"),
        Fp8Products::Batch(count) => format!(", a batch of {count}"),
    };
    format!("{a} ({of_a}) x {b} ({of_b}) with C of {output}, M, N, K = {extents:?}{several}")
}

/// The shape of a problem, and all of its products.
///
/// # Errors
/// [`Error::InvalidArgument`] with the numbers: for extents, a batch or groups that are too large, and for more scales
/// than the kernels count.
fn shape_of(problem: &Fp8Problem) -> Result<GemmShape> {
    let ([m, n, k], products) = (problem.extents, problem.products);
    let shape = GemmShape::packed_transposed(m, n, k, [Transpose::No, Transpose::Yes])?;
    let shape = match products {
        Fp8Products::One => return Ok(shape),
        Fp8Products::Groups(count) => shape.with_groups(count as usize, n * k)?,
        Fp8Products::Batch(count) => shape.with_packed_batch(count as usize)?,
    };
    // Lines of the scales of A are a coordinate of TMA, and the index of a scale of B has 32 bits.
    let of_a = Fp8ScaleLayout::of(problem.scalings[0], m, k).lines as u64 * u64::from(products.matrices());
    let of_b = Fp8ScaleLayout::of(problem.scalings[1], n, k).elems() as u64;
    let of_b = of_b.saturating_mul(u64::from(products.count()));
    for (what, count) in [("lines of scales of A", of_a), ("scales of B", of_b)] {
        if count > i32::MAX as u64 {
            return Err(Error::InvalidArgument(format!(
                "{} products have {count} {what}, at most {} can be counted",
                products.count(),
                i32::MAX
            )));
        }
    }
    Ok(shape)
}

/// Plans a product for a device: of the kernels that fit, the one with the least estimate. Without a line `fp8` in
/// [`Policy::speeds`], or for a device that is in no table, it is the first of them.
///
/// # Errors
/// [`Error::InvalidArgument`], with the numbers: for a device that is not of compute capability 9.0; those of
/// [`Fp8Problem::mode`]; formats or a C that no kernel has; a policy's kernel of another mode, format or type, or for
/// one product in place of several; a tile that does not fit; more tiles, products or scales than can be counted.
pub fn plan(problem: &Fp8Problem, device: &DeviceProfile, policy: &Policy) -> Result<Plan> {
    let refuse = |message: String| Err(Error::InvalidArgument(message));
    let Fp8Problem {
        formats: [a, b],
        extents: [m, n, _],
        products,
        output,
        ..
    } = *problem;
    if !Fp8Kernel::runs_on(device.compute_capability) {
        return refuse(format!(
            "FP8 kernels need compute capability 9.0 (wgmma of {a} and {b}), {} has {}",
            device.name,
            device.compute_capability_name()
        ));
    }
    let fast = policy.kernel.map_or(policy.fast, |kernel| kernel.mode == Fp8Mode::Fast);
    let mode = problem.mode(fast)?;
    let shape = shape_of(problem)?;
    let limit = Bytes(device.smem_per_block_optin);
    if let Some(kernel) = policy.kernel
        && kernel.tile.groups != products.are_several()
    {
        let of = |several: bool| if several { "groups and batches" } else { "one product" };
        return refuse(format!(
            "{} is a kernel of {}, the problem is {}",
            kernel.symbol,
            of(kernel.tile.groups),
            describe(problem)
        ));
    }
    let computes = |kernel: &Fp8Kernel| (kernel.mode, kernel.formats, kernel.output) == (mode, [a, b], output);
    if let Some(kernel) = policy.kernel
        && !computes(kernel)
    {
        return refuse(format!(
            "{} is a {} kernel of {} x {} with C of {} or f32, the problem asks for {} of {a} x {b} with C of {output}",
            kernel.symbol,
            kernel.mode.name(),
            kernel.formats[0],
            kernel.formats[1],
            kernel.output,
            mode.name()
        ));
    }
    let wanted = |kernel: &&Fp8Kernel| policy.kernel.is_none_or(|named| *named == **kernel);
    let gpu = device.gpu_model();
    let priced = gpu.as_deref().zip(policy.speeds.fp8());
    let mut best: Option<(f64, Plan)> = None;
    let mut problem_of_one = None;
    let of_products = |kernel: &&Fp8Kernel| kernel.tile.groups == products.are_several();
    let kernels = FP8_KERNELS.iter().filter(wanted).filter(of_products);
    for kernel in kernels.filter(|kernel| computes(kernel)) {
        let needed = kernel.smem().dynamic_bytes();
        if needed > limit {
            problem_of_one = Some(format!(
                "{} takes {} B of shared memory, a CTA of {} has {} B",
                kernel.symbol,
                needed.get(),
                device.name,
                limit.get()
            ));
            continue;
        }
        let tile = kernel.tile;
        let Tiles { most, .. } = tiles(tile, problem);
        // A CTA adds its stride to the number of a tile.
        let countable = if products.are_several() { u32::MAX / 2 } else { u32::MAX };
        if most > u128::from(countable) {
            problem_of_one = Some(format!(
                "{} has {most} tiles for M, N = {m}, {n}, at most {countable} can be counted",
                kernel.symbol
            ));
            continue;
        }
        let tiles = most as u32;
        let sms = device.installed.as_ref().map(|installed| installed.sms);
        let most = policy.max_ctas.or(sms.map(|sms| sms * tile.blocks));
        let ctas = most.map_or(tiles, |most| tiles.min((most / tile.cluster).max(1) * tile.cluster));
        let plan = Plan {
            kernel,
            problem: *problem,
            shape,
            tiles,
            ctas,
        };
        let us = priced.map_or(0.0, |(gpu, coefficients)| {
            estimate_fp8_us(&fp8_terms(kernel, problem, gpu), coefficients)
        });
        if best.as_ref().is_none_or(|(fastest, _)| us < *fastest) {
            best = Some((us, plan));
        }
    }
    match (best, problem_of_one) {
        (Some((_, plan)), _) => Ok(plan),
        (None, Some(problem)) => refuse(problem),
        (None, None) if products.are_several() => refuse(format!(
            "no kernel of groups and batches takes {}: they are of e4m3 (1x128) x e4m3 (128x128) with C of bf16 or f32",
            describe(problem)
        )),
        (None, None) => refuse(format!("no {} kernel takes {a} x {b} with C of {output}", mode.name())),
    }
}

/// The architecture whose limits a plan without a device is for.
pub fn default_architecture() -> &'static Architecture {
    cuda_arch::find("sm_90").expect("in the table")
}
