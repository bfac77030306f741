//! Kernels of matrices with scales in the simulator.

use std::ptr::{null, with_exposed_provenance, with_exposed_provenance_mut};
use std::time::Duration;

use bytemuck::Pod;
use cuda_sim::{GlobalBuffer, Launch, Limits, Report};
use kernels_gpu::ptx::tensor_map::TensorMap;
use tilewright_contract::GemmParams;

use super::{Addresses, ScaledGemm, ScaledMatrix, ScaledPlan};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::{Epilogue, OutputOf};
use crate::simulate::SimOptions;
use crate::tensor_map;

/// How long the threads of a CTA may run without meeting.
const PATIENCE: Duration = Duration::from_secs(120);

/// A kernel with C of `E` and parameters of its own.
type EntryPoint<E, P> = unsafe fn(&GemmParams<E>, &P, &TensorMap, &TensorMap, &TensorMap, &TensorMap);

/// Simulates a product by a plan. `before`: what C holds before, `None` for memory that nobody has written.
///
/// What is wrong with the kernel is no error: it is in the report.
///
/// # Errors
/// [`Error::InvalidArgument`] for a plan of another problem, and for a bias or a C of another length;
/// [`Error::Resources`] where this machine has no memory or threads to simulate with.
pub fn simulate<P, E, C>(
    plan: &P,
    gemm: &ScaledGemm<'_, P::Matrix, E>,
    before: Option<&[C]>,
    options: &SimOptions,
) -> Result<Simulated<C>>
where
    P: ScaledPlan,
    E: Element<Accumulator = f32>,
    C: OutputOf<E>,
{
    plan.check(gemm)?;
    gemm.check(before.map(<[C]>::len))?;
    launch(plan, || Inputs::of::<P>(gemm), before, options)
}

/// What a launch reads besides C.
pub(crate) struct Inputs<'a, S: Pod, E> {
    /// Elements of A and of B, of all products.
    pub data: [GlobalBuffer<u8>; 2],
    /// Their scales.
    pub scales: [GlobalBuffer<S>; 2],
    /// Where groups end, or how many rows of each product count.
    pub group_ends: Option<&'a [u32]>,
    /// What follows each product.
    pub epilogue: Epilogue<&'a [E]>,
    /// Alpha, with the operands' own factors.
    pub alpha: f32,
}

impl<'a, S: Pod, E: Element<Accumulator = f32>> Inputs<'a, S, E> {
    /// Those of one product.
    fn of<P: ScaledPlan<Scale = S>>(gemm: &ScaledGemm<'a, P::Matrix, E>) -> Self {
        Self {
            data: [gemm.a, gemm.b].map(|matrix| GlobalBuffer::from_slice(matrix.data())),
            scales: [gemm.a, gemm.b].map(P::simulated_scales),
            group_ends: None,
            epilogue: gemm.epilogue,
            alpha: gemm.alpha(),
        }
    }
}

/// Simulates a plan's launch on inputs that are those of its problem.
///
/// # Errors
/// As for [`simulate`].
pub(crate) fn launch<'a, P, E, C>(
    plan: &P,
    inputs: impl FnOnce() -> Inputs<'a, P::Scale, E>,
    before: Option<&[C]>,
    options: &SimOptions,
) -> Result<Simulated<C>>
where
    P: ScaledPlan,
    E: Element<Accumulator = f32>,
    C: OutputOf<E>,
{
    let planned = plan.launch();
    let entry_point = cuda_sim::device::find_kernel::<EntryPoint<E, P::Params>>(planned.symbol)
        .ok_or_else(|| Error::InvalidArgument(format!("{} is not linked into this program", planned.symbol)))?;
    if planned.ctas == 0 {
        return Ok(Simulated::EMPTY);
    }
    let Inputs {
        data,
        scales,
        group_ends,
        epilogue,
        alpha,
    } = inputs();
    let c = match before {
        Some(before) => GlobalBuffer::from_slice(before),
        None => GlobalBuffer::<C>::uninit(planned.rows[0] * planned.extents[1]),
    };
    let bias = epilogue.bias.map(GlobalBuffer::from_slice);
    let group_ends = group_ends.map(GlobalBuffer::from_slice);
    // Raw pointers are not shared between threads; the kernel takes values.
    let c_address = c.as_mut_ptr().expose_provenance();
    let scale_addresses = [0, 1].map(|at| scales[at].as_ptr().expose_provenance());
    let addresses = Addresses {
        data: [0, 1].map(|at| data[at].as_ptr().expose_provenance() as u64),
        scales: scale_addresses.map(|address| address as u64),
        c: c_address as u64,
    };
    let [first, second, third, fourth] = plan.maps(addresses, C::DTYPE, tensor_map::simulated)?;
    let params = |c: *mut C| GemmParams {
        bias: bias.as_ref().map_or(null(), GlobalBuffer::as_ptr),
        alpha,
        beta: epilogue.factors.beta,
        activation: epilogue.activation,
        output: C::OUTPUT,
        ..planned.params::<E>(c.cast(), group_ends.as_ref().map_or(null(), GlobalBuffer::as_ptr))
    };
    let simulated = Launch::new(planned.ctas, planned.threads)
        .cluster(planned.cluster)
        .dynamic_shared_bytes(planned.dynamic_bytes)
        .limits(Limits::from(options.architecture))
        .schedule(options.schedule)
        .checks(options.checks)
        .synchronizations(options.synchronizations.clone())
        .fp8_accumulation(options.fp8_accumulation)
        .workers(options.workers)
        .time_limit(PATIENCE);
    // SAFETY: the buffers hold what the parameters and the maps describe, C is a buffer of its own; grid, CTA and
    // dynamic bytes are those of the plan.
    let report = simulated.run(|| unsafe {
        let params = params(with_exposed_provenance_mut(c_address));
        let scaled = plan.params(scale_addresses.map(with_exposed_provenance));
        entry_point(&params, &scaled, &first, &second, &third, &fourth);
    });
    Simulated::of(c.to_vec(), report)
}

/// A simulated product.
#[derive(Clone, Debug)]
pub struct Simulated<C> {
    /// C, m x n elements, row by row, one product after the other. One that the kernel did not write is NaN.
    pub c: Vec<C>,
    /// What the simulator found; `None` for an empty C, for which nothing is launched.
    pub report: Option<Report>,
}

impl<C> Simulated<C> {
    /// # Panics
    /// If something is wrong, with the text of every fault.
    #[track_caller]
    pub fn assert_clean(&self) {
        if let Some(report) = &self.report {
            report.assert_clean();
        }
    }

    /// C and the report of a launch.
    ///
    /// # Errors
    /// [`Error::Resources`] where this machine had no memory or threads to simulate with.
    fn of(c: Vec<C>, report: Report) -> Result<Self> {
        match report.lacks() {
            Some(problem) => Err(Error::Resources(problem.to_owned())),
            None => Ok(Self {
                c,
                report: Some(report),
            }),
        }
    }

    /// An empty C, for which nothing is launched.
    const EMPTY: Self = Self {
        c: Vec::new(),
        report: None,
    };
}
