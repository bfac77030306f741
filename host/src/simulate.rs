//! Products in the simulator: the kernels' own source, run on the CPU thread by thread, with every access checked.
//!
//! ```
//! use tilewright::simulate::{SimOptions, simulate};
//! use tilewright::{Gemm, GemmShape, device::DeviceProfile, dispatch::Policy, random::random_matrix};
//!
//! let shape = GemmShape::packed(20, 30, 10)?;
//! let (a, b) = (random_matrix::<f32>(1, 20 * 10), random_matrix::<f32>(2, 10 * 30));
//! let (gemm, options) = (Gemm::new(shape), SimOptions::default());
//! let plan = gemm.plan::<f32, f32>(&DeviceProfile::of_arch(options.architecture), &Policy::default())?;
//! let product = simulate(&plan, &gemm, &a, &b, None::<&[f32]>, &options)?;
//! product.assert_clean();
//! assert!(tilewright::check::full(&shape, &a, &b, &product.c)?.passed());
//! # Ok::<(), tilewright::Error>(())
//! ```
//!
//! Where a plan copies A or B first, the kernel that copies is simulated before the product.
//!
//! A and B, and copies of them, are uploaded as matrices whose padding is off limits, C as one that nobody has written.
//! What a fault is and what the report says is [`cuda_sim`]'s. What this module does not do: it compares nothing with
//! the reference (that is [`check`](crate::check)), and it predicts no time on a GPU.

use std::fmt;
use std::ptr::{null, null_mut, with_exposed_provenance, with_exposed_provenance_mut};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use cuda_arch::Architecture;
use cuda_sim::wgmma::Fp8Accumulation;
use cuda_sim::{Checks, GlobalBuffer, Launch, Limits, Report, Schedule, Synchronizations};
use half::bf16;
use kernels_gpu::gemm::pad_rows::copy_rows_b16;
use kernels_gpu::gemm::split_rows::split_rows_f32;
use kernels_gpu::gemm::transpose_rows::transpose_rows_b32;
use kernels_gpu::host;
use tilewright_contract::{CopyKind, CopyRows, GemmParams, GemmShape, Operand, OperandCopy};

use crate::dispatch::Plan;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::{Gemm, OutputOf, check_group_ends};
use crate::reference::check_lengths;
use crate::tensor_map;

#[cfg(test)]
mod overlap;

/// The architecture whose limits hold where none is named.
pub const DEFAULT_ARCHITECTURE: &str = "sm_90";

/// How long the threads of a block may run without meeting.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a thread's step along K adds to it: many times what it takes.
const STEP: Duration = Duration::from_micros(2);

/// Told how many blocks of how many are done.
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// How to simulate.
#[derive(Clone)]
pub struct SimOptions {
    /// Whose limits hold.
    pub architecture: &'static Architecture,
    /// The order of threads and blocks.
    pub schedule: Schedule,
    /// What is looked at.
    pub checks: Checks,
    /// Whether barriers, waits and fences are listed, and which one does nothing.
    pub synchronizations: Synchronizations,
    /// How `wgmma` of FP8 adds up.
    pub fp8_accumulation: Fp8Accumulation,
    /// Blocks that run at one time; 0 is as many as there are cores.
    pub workers: usize,
    /// Called now and then during a run.
    pub on_progress: Option<Progress>,
}

impl Default for SimOptions {
    /// [`DEFAULT_ARCHITECTURE`], forward, every check, all cores.
    fn default() -> Self {
        Self {
            architecture: cuda_arch::find(DEFAULT_ARCHITECTURE).expect("in the table"),
            schedule: Schedule::Forward,
            checks: Checks::Full,
            synchronizations: Synchronizations::Unlisted,
            fp8_accumulation: Fp8Accumulation::Exact,
            workers: 0,
            on_progress: None,
        }
    }
}

impl fmt::Debug for SimOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimOptions")
            .field("architecture", &self.architecture.name)
            .field("schedule", &self.schedule)
            .field("checks", &self.checks)
            .field("synchronizations", &self.synchronizations)
            .field("fp8_accumulation", &self.fp8_accumulation)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

/// A simulated product.
#[derive(Clone, Debug)]
pub struct SimulatedProduct<T> {
    /// C, `shape.span_elems(Operand::C)` elements, row-major with the shape's leading dimension; padding is zero. An
    /// element that the kernel did not write is NaN, a row of no group zero.
    pub c: Vec<T>,
    /// The launch.
    pub plan: Plan,
    /// What the simulator found; `None` for an empty C, for which nothing is launched. Where something is wrong with a
    /// copy of A or B, it is the report of that, and nothing else was launched: C is all zero.
    pub report: Option<Report>,
}

impl<T> SimulatedProduct<T> {
    /// Whether nothing is wrong with the kernel's accesses and barriers. It says nothing of the values in C.
    pub fn is_clean(&self) -> bool {
        self.report.as_ref().is_none_or(Report::is_clean)
    }

    /// # Panics
    /// If something is wrong, with the text of every fault.
    #[track_caller]
    pub fn assert_clean(&self) {
        if let Some(report) = &self.report {
            report.assert_clean();
        }
    }
}

/// Simulates a problem, `C = activation(alpha · A · B + beta · C + bias)`, with C of the type of A and B or of f32, by
/// a plan that was made for whatever device, within the limits of the options' architecture. With `alpha` 0 neither A
/// nor B is read. `before`: what C holds before, `None` for memory that nobody has written, which is a fault to read.
///
/// What is wrong with the kernel is no error here: it is in the report. A kernel from outside the table is called as a
/// function: what it accesses other than through `cuda_views` nobody checks.
///
/// # Errors
/// [`Error::InvalidArgument`] for a slice shorter than its operand, for a plan of another shape or element type, for
/// what the kernel does not have, for ends of groups that are none of the shape, and for a bias shorter than a row of
/// C; [`Error::Resources`] where this machine has no memory or no thread to simulate with.
pub fn simulate<T: Element, C: OutputOf<T>>(
    plan: &Plan,
    problem: &Gemm<&[T], T::Accumulator>,
    a: &[T],
    b: &[T],
    before: Option<&[C]>,
    options: &SimOptions,
) -> Result<SimulatedProduct<C>> {
    problem.check_planned(plan.shape())?;
    let epilogue = problem.epilogue;
    epilogue.check::<T, C>(plan.kernel(), plan.shape().n(), |bias| bias.len())?;
    check_group_ends(&problem.shape, problem.group_ends)?;
    let without_k;
    let plan = match epilogue.factors.reads_operands() {
        true => plan,
        false => {
            without_k = plan.without_k();
            &without_k
        }
    };
    let (shape, kernel) = (&plan.shape(), plan.kernel());
    let entry_point = host::find::<T>(kernel.symbol)
        .ok_or_else(|| Error::InvalidArgument(format!("there is no {} for {}", kernel.symbol, T::DTYPE)))?;
    let c_len = before.map_or(usize::MAX, <[C]>::len);
    check_lengths(
        shape,
        &[(Operand::A, a.len()), (Operand::B, b.len()), (Operand::C, c_len)],
    )?;
    let mut c = crate::matmul::zeros(shape.span_elems(Operand::C))?;
    if plan.grid().is_empty() {
        return Ok(SimulatedProduct {
            c,
            plan: plan.clone(),
            report: None,
        });
    }
    let taken = plan.taken();
    // A machine that could not simulate has found nothing out.
    let simulated = |c, report: Report| match report.lacks() {
        Some(problem) => Err(Error::Resources(problem.to_owned())),
        None => Ok(SimulatedProduct {
            c,
            plan: plan.clone(),
            report: Some(report),
        }),
    };
    let [copy_a, copy_b] = plan.copies();
    let upload = |operand, elements: &[T], copy: Option<OperandCopy>| -> std::result::Result<_, Box<Report>> {
        let (rows, columns, ld) = shape.extents(operand);
        let batch = shape.batch();
        let (count, stride) = (batch.matrices(operand) as usize, batch.stride(operand) as usize);
        let uploaded = GlobalBuffer::batch(elements, [rows, columns, ld], count, stride);
        match copy {
            Some(copy) => {
                let (rows, columns, ld) = taken.extents(operand);
                // What a kernel may load of a row: its whole last vector, unless it ends loads at any element.
                let vector = match kernel.alignment.residue {
                    true => 1,
                    false => kernel.alignment.elems[operand as usize] as usize,
                };
                let extents = [rows, columns.next_multiple_of(vector), ld];
                match copy.kind {
                    CopyKind::Pad | CopyKind::Transpose => {
                        Ok(Uploaded::Whole(simulate_copy(&uploaded, copy, extents, options)?))
                    }
                    CopyKind::Split => Ok(Uploaded::Parts(simulate_copy(&uploaded, copy, extents, options)?)),
                }
            }
            None => Ok(Uploaded::Whole(uploaded)),
        }
    };
    let (rows, columns, ld) = shape.extents(Operand::C);
    let (count, stride) = (
        shape.matrices_of_c() as usize,
        shape.batch().stride(Operand::C) as usize,
    );
    let (a, b) = match (upload(Operand::A, a, copy_a), upload(Operand::B, b, copy_b)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(faults), _) | (_, Err(faults)) => {
            return simulated(c, *faults);
        }
    };
    let on_device = match before {
        Some(before) => GlobalBuffer::batch(before, [rows, columns, ld], count, stride),
        None => GlobalBuffer::<C>::batch_uninit([rows, columns, ld], count, stride),
    };

    let [x, y] = kernel.block;
    // A thread of a kernel without barriers takes all its steps along K in one go, and it is no fault that they are
    // many.
    let steps = shape.k() as u64 * u64::from(plan.kernel().threads());
    let grid = plan.grid();
    let launch = |products| {
        let launch = Launch::new(grid.extents(products), (x, y))
            .cluster(kernel.cluster)
            .dynamic_shared_bytes(plan.dynamic_bytes().get())
            .limits(Limits::from(options.architecture))
            .schedule(options.schedule)
            .checks(options.checks)
            .synchronizations(options.synchronizations.clone())
            .workers(options.workers)
            .time_limit(PATIENCE + STEP * u32::try_from(steps).unwrap_or(u32::MAX));
        match options.on_progress.clone() {
            Some(progress) => launch.on_progress(move |done, blocks| progress(done, blocks)),
            None => launch,
        }
    };
    let workspace = GlobalBuffer::<f32>::uninit(plan.workspace_elems());
    let counters = GlobalBuffer::from_slice(&vec![0; plan.counters()]);
    let factors = epilogue.factors.to_f64();
    let bias = epilogue.bias.map(|bias| GlobalBuffer::from_slice(&bias[..shape.n()]));
    let group_ends = problem.group_ends.map(GlobalBuffer::from_slice);
    let run = |first: u32, products: u32| {
        let at = |operand| taken.offset(operand, first);
        let c = on_device.as_mut_ptr().wrapping_add(at(Operand::C));
        let addresses = [
            a.address(at(Operand::A)),
            b.address(at(Operand::B)),
            c.expose_provenance() as u64,
        ];
        let maps = match kernel.takes_tensor_maps() {
            true => Some(tensor_map::maps(
                kernel,
                &taken,
                products,
                addresses,
                tensor_map::simulated,
            )?),
            false => None,
        };
        let [a, b, c] = addresses.map(|address| address as usize);
        // SAFETY: 1. the buffers hold the matrices that the parameters describe, C is a buffer of its own, and so is
        // the workspace. 2. Grid, block and dynamic bytes are those of the plan, which only `plan()` makes, from the
        // layout that the kernel indexes with.
        Ok::<_, Error>(launch(products).run(|| unsafe {
            let params = GemmParams {
                a: with_exposed_provenance(a),
                b: with_exposed_provenance(b),
                c: with_exposed_provenance_mut(c),
                bias: bias.as_ref().map_or(null(), GlobalBuffer::as_ptr),
                workspace: workspace.as_mut_ptr(),
                counters: counters.as_mut_ptr(),
                group_ends: group_ends.as_ref().map_or(null(), GlobalBuffer::as_ptr),
                activation: epilogue.activation,
                output: C::OUTPUT,
                ..plan.params(products, factors)
            };
            entry_point.call(&params, maps.as_ref());
        }))
    };
    // One launch, unless a grid does not hold the batch; the report is that of the last one, or of one with a fault.
    let most = grid.products_per_launch();
    let mut report = run(0, most)?;
    let mut first = most;
    while first < grid.batch && report.is_clean() {
        let products = most.min(grid.batch - first);
        report = run(first, products)?;
        first += products;
    }

    let computed = on_device.to_vec();
    crate::matmul::copy_rows(problem, &computed, &mut c);
    simulated(c, report)
}

/// An operand in the simulator's memory.
enum Uploaded<T> {
    /// In elements of its type.
    Whole(GlobalBuffer<T>),
    /// In parts.
    Parts(GlobalBuffer<bf16>),
}

impl<T: Element> Uploaded<T> {
    /// The address of this element, or this element of a part.
    fn address(&self, elem: usize) -> u64 {
        match self {
            Self::Whole(elements) => elements.as_ptr().wrapping_add(elem).expose_provenance() as u64,
            Self::Parts(elements) => elements.as_ptr().wrapping_add(elem).expose_provenance() as u64,
        }
    }
}

/// Simulates a copy of an operand, to elements of `To`. What comes out is a matrix of its own for each part, with these
/// rows, columns and leading dimension, so that what the product may not load of its padding is off limits.
///
/// # Errors
/// The report of the copy, where something is wrong with it.
fn simulate_copy<T: Element, To: Element>(
    from: &GlobalBuffer<T>,
    copy: OperandCopy,
    [rows, columns, ld]: [usize; 3],
    options: &SimOptions,
) -> std::result::Result<GlobalBuffer<To>, Box<Report>> {
    let (geometry, parts) = (copy.rows, copy.kind.parts() as usize);
    let matrices = geometry.matrices as usize * parts;
    let elems = rows * ld;
    let to = GlobalBuffer::<To>::uninit(matrices * elems);
    for (first, matrices) in geometry.launches() {
        let first = first as usize;
        // Strides are counted in elements of the kind.
        let from = from
            .as_ptr()
            .wrapping_byte_add(first * geometry.from_stride as usize * copy.kind.from_bytes() as usize)
            .expose_provenance();
        let to = to.as_mut_ptr().wrapping_add(first * parts * elems).expose_provenance();
        let report = Launch::new((copy.blocks(), matrices), CopyRows::THREADS)
            .limits(Limits::from(options.architecture))
            .schedule(options.schedule)
            .checks(options.checks)
            .workers(options.workers)
            .time_limit(PATIENCE)
            // SAFETY: the elements have the bytes of the kind, which the type and the kernel decide; the buffers are
            // what the copy says.
            .run(|| unsafe {
                // Each operand in a launch of its own.
                macro_rules! copy {
                    ($kernel:ident) => {
                        $kernel(
                            with_exposed_provenance(from),
                            with_exposed_provenance_mut(to),
                            CopyRows {
                                matrices,
                                ..geometry
                            },
                            null(),
                            null_mut(),
                            CopyRows::NONE,
                        )
                    };
                }
                match copy.kind {
                    CopyKind::Pad => copy!(copy_rows_b16),
                    CopyKind::Transpose => copy!(transpose_rows_b32),
                    CopyKind::Split => copy!(split_rows_f32),
                }
            });
        if !report.is_clean() {
            return Err(Box::new(report));
        }
    }
    Ok(GlobalBuffer::batch(&to.to_vec(), [rows, columns, ld], matrices, elems))
}

/// How long a simulation takes on this machine, roughly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Seconds of one block.
    pub block_seconds: f64,
    /// Blocks of a run.
    pub blocks: u64,
    /// Runs: as many as the schedule has orders.
    pub runs: u64,
    /// Blocks that run at one time.
    pub workers: u64,
}

impl Estimate {
    /// Seconds of the whole.
    pub fn seconds(&self) -> f64 {
        let turns = self.blocks.div_ceil(self.workers.max(1)) * self.runs;
        self.block_seconds * turns as f64
    }
}

/// Simulates one block of `plan`, twice, over its first steps along K, and concludes from the second how long the whole
/// takes.
pub fn estimate<T: Element>(plan: &Plan, options: &SimOptions) -> Estimate {
    /// Steps along K.
    const STEPS: usize = 8;
    let tile = plan.kernel().tile;
    let depth = tile.k as usize;
    let (m, n, k) = (plan.shape().m(), plan.shape().n(), plan.shape().k());
    let steps = k.min(STEPS * depth);
    let runs = match options.schedule {
        Schedule::All => Schedule::EVERY.len() as u64,
        Schedule::Standard => 2,
        _ => 1,
    };
    let workers = match options.workers {
        0 => available_parallelism().map_or(1, usize::from),
        workers => workers,
    };
    let mut estimate = Estimate {
        block_seconds: 0.0,
        blocks: plan.grid().blocks() * u64::from(plan.grid().launches()),
        runs,
        workers: workers as u64,
    };
    let transpose = [Operand::A, Operand::B].map(|operand| plan.shape().transpose(operand));
    let Ok(shape) = GemmShape::packed_transposed(m.min(tile.m as usize), n.min(tile.n as usize), steps, transpose)
    else {
        return estimate;
    };
    if estimate.blocks == 0 {
        return estimate;
    }
    let Ok(one_block) = plan.for_shape(shape) else {
        return estimate;
    };
    let options = SimOptions {
        schedule: Schedule::Forward,
        workers: 1,
        on_progress: None,
        ..options.clone()
    };
    let ones = |operand| vec![T::from_f64(1.0); shape.span_elems(operand)];
    let (a, b) = (ones(Operand::A), ones(Operand::B));
    // The first run also pays for what the process does only once.
    for _ in 0..2 {
        let seconds = simulate(&one_block, &Gemm::new(shape), &a, &b, None::<&[T]>, &options)
            .ok()
            .and_then(|product| product.report)
            .map_or(0.0, |report| report.seconds);
        estimate.block_seconds = seconds * (k as f64 / steps.max(1) as f64).max(1.0);
    }
    estimate
}
