//! The whole way in one call: device, plan, launch, check.

use std::fmt;
use std::time::Instant;

use serde::Serialize;
use tilewright_contract::{Activation, GemmShape, Operand, Precision};

use crate::check::{Expected, Verify};
use crate::device::DeviceProfile;
use crate::dispatch::{Plan, PlanError, Policy};
use crate::element::{Accumulator, Element};
use crate::error::{Error, Result};
use crate::launch::Gpu;
use crate::problem::{Epilogue, Gemm, OutputOf, activate, activation_name, check_bias, check_group_ends, products};
use crate::reference::{self, check_lengths};
use crate::simulate::{SimOptions, simulate};

mod report;

pub use report::Report;
use report::{decimal, gflops};

/// Where to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The GPU, or the CPU where there is none, or none of its kernels has what is asked for.
    #[default]
    Auto,
    /// The CUDA device of the options; [`Error::Unavailable`] where there is none.
    Gpu,
    /// The tiled loop nest on all cores.
    Cpu,
    /// The GPU's kernels in the simulator, each access checked: to find what is wrong with a kernel, not to be fast.
    Sim,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Auto => "auto",
            Backend::Gpu => "gpu",
            Backend::Cpu => "cpu",
            Backend::Sim => "sim",
        })
    }
}

/// What the caller of [`gemm`](crate::gemm()) leaves open and what not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Where to compute.
    pub backend: Backend,
    /// Kernel, tile and shared-memory limit.
    pub policy: Policy,
    /// What to compare.
    pub verify: Verify,
    /// The CUDA device, counted from 0 as the driver counts.
    pub device: u32,
}

/// A product and how it was computed.
#[derive(Clone, Debug)]
pub struct Product<T> {
    /// C, `shape.span_elems(Operand::C)` elements, row-major with the shape's leading dimension; padding is zero.
    pub c: Vec<T>,
    /// How.
    pub report: Report,
}

/// Computes a problem as a new C: as [`gemm`](crate::gemm()) with what C holds `before`, of the leading dimension of C,
/// and zeros between the rows of the result. Besides A, B and `before` it holds one C on the host.
///
/// # Errors
/// As for [`gemm`](crate::gemm()); [`Error::InvalidArgument`] for a beta other than 0 and nothing before.
pub fn product<T: Element, C: OutputOf<T>>(
    problem: &Gemm<&[T], T::Accumulator>,
    a: &[T],
    b: &[T],
    before: Option<&[C]>,
    options: &Options,
) -> Result<Product<C>> {
    let epilogue = problem.epilogue;
    let before = before.filter(|_| epilogue.factors.reads_c());
    if epilogue.factors.reads_c() && before.is_none() {
        return Err(Error::InvalidArgument(format!(
            "{} scale what C holds before, and it holds nothing",
            epilogue.factors
        )));
    }
    let problem = Problem {
        shape: &problem.shape,
        group_ends: problem.group_ends,
        a,
        b,
        epilogue,
        before,
    };
    compute(&problem, options)
}

/// What is computed: `activation(alpha · op(A) · op(B) + beta · C + bias)`.
struct Problem<'a, T: Element, C> {
    shape: &'a GemmShape,
    group_ends: Option<&'a [u32]>,
    a: &'a [T],
    b: &'a [T],
    epilogue: Epilogue<&'a [T], T::Accumulator>,
    /// C before, where beta is not 0.
    before: Option<&'a [C]>,
}

impl<'a, T: Element, C: OutputOf<T>> Problem<'a, T, C> {
    fn gemm(&self) -> Gemm<&'a [T], T::Accumulator> {
        Gemm {
            shape: *self.shape,
            group_ends: self.group_ends,
            epilogue: self.epilogue,
        }
    }

    /// What is summed: with alpha 0 nothing.
    fn summed(&self) -> GemmShape {
        match self.epilogue.factors.reads_operands() {
            true => *self.shape,
            false => self.shape.without_k(),
        }
    }

    /// A plan for it; the user's policy leaves open what follows the sums.
    fn plan(&self, device: &DeviceProfile, policy: &Policy) -> Result<Plan> {
        self.gemm().plan::<T, C>(device, policy)
    }

    /// Compares a result with the reference.
    fn verify(&self, product: &Product<C>, verify: Verify) -> Result<()> {
        if verify == Verify::None {
            return Ok(());
        }
        let expected = Expected::of_groups(self.shape, self.group_ends, self.a, self.b)?
            .with_precision(product.report.precision)?;
        let expected = expected.with_epilogue(self.epilogue, self.before.unwrap_or_default())?;
        expected.verify(&product.c, verify)
    }
}

/// Computes and compares; the C of the result has zeros between its rows.
fn compute<T: Element, C: OutputOf<T>>(problem: &Problem<'_, T, C>, options: &Options) -> Result<Product<C>> {
    let Problem {
        shape, a, b, before, ..
    } = *problem;
    let before_len = before.map_or(usize::MAX, <[C]>::len);
    check_bias(shape.n(), problem.epilogue.bias.map(<[T]>::len))?;
    check_group_ends(shape, problem.group_ends)?;
    check_lengths(
        shape,
        &[(Operand::A, a.len()), (Operand::B, b.len()), (Operand::C, before_len)],
    )?;
    let mut product = match options.backend {
        Backend::Cpu => on_cpu(problem, &options.policy)?,
        Backend::Sim => in_simulator(problem, &options.policy)?,
        Backend::Gpu => on_gpu(&Gpu::open(options.device)?, problem, &options.policy)?,
        Backend::Auto => match Gpu::open(options.device) {
            Ok(gpu) => match on_gpu(&gpu, problem, &options.policy) {
                // Where the choice is open, what no kernel computes the CPU does.
                Err(Error::InvalidPlan(
                    lacking @ (PlanError::NoFactors { .. } | PlanError::NoEpilogue { .. } | PlanError::NoGroups { .. }),
                )) if options.policy.named_family().is_none() => {
                    let mut product = on_cpu(problem, &options.policy)?;
                    product.report.fallback = Some(lacking.to_string());
                    product
                }
                computed => computed?,
            },
            Err(Error::Unavailable(reason)) => {
                if let Some(family) = options.policy.named_family() {
                    return Err(Error::Unavailable(format!(
                        "{family} runs on a GPU or, with the backend sim, in the simulator: {reason}"
                    )));
                }
                let mut product = on_cpu(problem, &options.policy)?;
                product.report.fallback = Some(reason);
                product
            }
            Err(error) => return Err(error),
        },
    };
    problem.verify(&product, options.verify)?;
    product.report.verified = options.verify;
    Ok(product)
}

fn on_gpu<T: Element, C: OutputOf<T>>(gpu: &Gpu, problem: &Problem<'_, T, C>, policy: &Policy) -> Result<Product<C>> {
    let plan = problem.plan(gpu.profile(), policy)?;
    let mut c = zeros(problem.shape.span_elems(Operand::C))?;
    if let Some(before) = problem.before {
        copy_rows(&problem.gemm(), before, &mut c);
    }
    let (a, b, mut c_device) = (gpu.upload(problem.a)?, gpu.upload(problem.b)?, gpu.upload(&c)?);
    let bias = problem.epilogue.bias.map(|bias| gpu.upload(bias)).transpose()?;
    let group_ends = problem.group_ends.map(|ends| gpu.upload_group_ends(ends)).transpose()?;
    let epilogue = Epilogue {
        factors: problem.epilogue.factors,
        bias: bias.as_ref(),
        activation: problem.epilogue.activation,
    };
    let gemm = Gemm {
        shape: *problem.shape,
        group_ends: group_ends.as_ref(),
        epilogue,
    };
    let launch = || gpu.launch(&plan, &gemm, &a, &b, &mut c_device);
    let kernel_ms = f64::from(gpu.time_ms(launch)?);
    gpu.synchronize()?;
    c_device.download(&mut c)?;
    let report = of_plan(&plan, problem, Backend::Gpu, gpu.profile().name.clone(), kernel_ms);
    Ok(Product { c, report })
}

fn in_simulator<T: Element, C: OutputOf<T>>(problem: &Problem<'_, T, C>, policy: &Policy) -> Result<Product<C>> {
    let options = SimOptions {
        // What lines cost is for `tilewright sim` to say.
        checks: cuda_sim::Checks::Faults,
        ..SimOptions::default()
    };
    let &Problem { a, b, before, .. } = problem;
    let plan = problem.plan(&DeviceProfile::of_arch(options.architecture), policy)?;
    let product = simulate(&plan, &problem.gemm(), a, b, before, &options)?;
    let mut kernel_ms = 0.0;
    if let Some(report) = product.report {
        kernel_ms = report.seconds * 1e3;
        if !report.is_clean() {
            return Err(Error::Faults(Box::new(report)));
        }
    }
    let device = format!("simulator ({} limits)", options.architecture.name);
    Ok(Product {
        c: product.c,
        report: of_plan(&plan, problem, Backend::Sim, device, kernel_ms),
    })
}

/// The report of a plan that was launched.
fn of_plan<T: Element, C: OutputOf<T>>(
    plan: &Plan,
    problem: &Problem<'_, T, C>,
    backend: Backend,
    device: String,
    kernel_ms: f64,
) -> Report {
    let epilogue = problem.epilogue;
    let shape = &plan.shape();
    let summary = plan.summary();
    Report {
        backend,
        device,
        kernel: summary.kernel,
        m: shape.m(),
        n: shape.n(),
        k: shape.k(),
        batch: shape.batch().count,
        dtype: plan.kernel().dtype.name(),
        precision: plan.kernel().precision,
        alpha: decimal(epilogue.factors.alpha),
        beta: decimal(epilogue.factors.beta),
        bias: epilogue.bias.is_some(),
        activation: activation_name(epilogue.activation),
        output: C::DTYPE.name(),
        tile: summary.tile,
        splits: summary.splits,
        block: summary.block,
        grid: summary.grid,
        static_smem_bytes: summary.static_smem_bytes,
        dynamic_smem_bytes: summary.dynamic_smem_bytes,
        a_part_bytes: summary.a_part_bytes,
        b_part_bytes: summary.b_part_bytes,
        limit_bytes: summary.limit_bytes,
        opt_in: summary.opt_in,
        padded_ld: summary.padded_ld,
        padded_bytes: summary.padded_bytes,
        kernel_ms,
        gflops: gflops(&problem.summed(), kernel_ms),
        verified: Verify::None,
        reasons: plan.reasons().to_vec(),
        fallback: None,
    }
}

fn on_cpu<T: Element, C: OutputOf<T>>(problem: &Problem<'_, T, C>, policy: &Policy) -> Result<Product<C>> {
    let &Problem {
        shape, a, b, epilogue, ..
    } = problem;
    if let Some(family) = policy.named_family() {
        return Err(Error::InvalidArgument(format!(
            "{family} runs on a GPU or in the simulator; the CPU has its own kernel"
        )));
    }
    let tile = policy.tile.map_or(reference::DEFAULT_TILE_WIDTH, |tile| tile as usize);
    let mut c = zeros(shape.span_elems(Operand::C))?;
    let start = Instant::now();
    let finish_rows = |from_c, row, sums: &[_], rows: &mut [_]| finish_sums(problem, [from_c, row], sums, rows);
    reference::tiled_parallel_finished(&problem.summed(), tile, problem.group_ends, [a, b], &mut c, finish_rows)?;
    let kernel_ms = start.elapsed().as_secs_f64() * 1e3;
    let mut reasons = vec![format!(
        "tile width {tile}: {}",
        if policy.tile.is_some() {
            "asked for by the user"
        } else {
            "default"
        }
    )];
    if let Some(limit) = policy.smem_limit {
        reasons.push(format!("limit {limit}: without effect, the CPU has no shared memory"));
    }
    let report = Report {
        backend: Backend::Cpu,
        device: format!("CPU, {} threads", rayon::current_num_threads()),
        kernel: "cpu_tiled",
        m: shape.m(),
        n: shape.n(),
        k: shape.k(),
        batch: shape.batch().count,
        dtype: T::DTYPE.name(),
        precision: Precision::Ieee,
        alpha: decimal(epilogue.factors.alpha),
        beta: decimal(epilogue.factors.beta),
        bias: epilogue.bias.is_some(),
        activation: activation_name(epilogue.activation),
        output: C::DTYPE.name(),
        tile: [u32::try_from(tile).unwrap_or(u32::MAX); 2],
        splits: 1,
        block: [0; 3],
        grid: [0; 3],
        static_smem_bytes: 0,
        dynamic_smem_bytes: 0,
        a_part_bytes: 0,
        b_part_bytes: 0,
        limit_bytes: 0,
        opt_in: false,
        padded_ld: [None; 2],
        padded_bytes: 0,
        kernel_ms,
        gflops: gflops(&problem.summed(), kernel_ms),
        verified: Verify::None,
        reasons,
        fallback: None,
    };
    Ok(Product { c, report })
}

/// What follows the sums of the rows from `first_row` on, of the product whose C starts at element `from_c`, each
/// rounded once, to the type of C.
fn finish_sums<T: Element, C: OutputOf<T>>(
    &Problem {
        shape,
        epilogue,
        before,
        ..
    }: &Problem<'_, T, C>,
    [from_c, first_row]: [usize; 2],
    sums: &[T::Accumulator],
    c: &mut [C],
) {
    let (_, columns, ld) = shape.extents(Operand::C);
    let before = before.map(|before| &before[from_c + first_row * ld..]);
    let [alpha, beta] = epilogue.factors.to_f64().map(T::Accumulator::from_f64);
    for (row, (elements, sums)) in c.chunks_mut(ld.max(1)).zip(sums.chunks(ld.max(1))).enumerate() {
        for (column, (element, &sum)) in elements[..columns].iter_mut().zip(sums).enumerate() {
            let mut value = alpha * sum;
            if let Some(before) = before {
                value = value + beta * before[row * ld + column].to_accumulator();
            }
            if let Some(bias) = epilogue.bias {
                value = value + bias[column].to_accumulator();
            }
            *element = match epilogue.activation {
                Activation::None => C::from_accumulator(value),
                activation => C::from_f64(activate(activation, value.to_f64())),
            };
        }
    }
}

/// Copies the rows of one C to another, those of every product, and nothing between them.
pub(crate) fn copy_rows<T: Element, F: Accumulator, C: Element>(problem: &Gemm<&[T], F>, from: &[C], to: &mut [C]) {
    for (product, [.., start]) in products(&problem.shape, problem.group_ends) {
        let (rows, columns, ld) = product.extents(Operand::C);
        for first in (0..rows).map(|row| start + row * ld).filter(|_| columns > 0) {
            to[first..][..columns].copy_from_slice(&from[first..][..columns]);
        }
    }
}

/// Zeros for a result. Small operands can have a product that no memory holds: that is the user's to know, not a crash.
pub(crate) fn zeros<T: Element>(len: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(len).map_err(|_| {
        Error::InvalidArgument(format!(
            "C has {len} elements of {} B: more than there is memory",
            size_of::<T>()
        ))
    })?;
    elements.resize(len, T::from_f64(0.0));
    Ok(elements)
}
