//! The kernel in the simulator.

use std::ptr::null;

use cuda_sim::GlobalBuffer;
use kernels_gpu::ptx::tensor_map::TensorMap;
use tilewright_contract::{Fp8Params, GemmParams};

use super::maps::{Addresses, maps};
use super::{Fp8Gemm, Plan};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::OutputOf;
use crate::scaled::{Simulated, launch};
use crate::simulate::SimOptions;
use crate::tensor_map;

/// A kernel with C of `E`.
type EntryPoint<E> = unsafe fn(&GemmParams<E>, &Fp8Params, &TensorMap, &TensorMap, &TensorMap, &TensorMap);

/// Simulates a product by a plan. `before`: what C holds before, `None` for memory that nobody has written.
///
/// What is wrong with the kernel is no error: it is in the report.
///
/// # Errors
/// [`Error::InvalidArgument`] for a plan of another problem, and for a bias or a C of another length;
/// [`Error::Resources`] where this machine has no memory or threads to simulate with.
pub fn simulate<E, C>(
    plan: &Plan,
    gemm: &Fp8Gemm<'_, E>,
    before: Option<&[C]>,
    options: &SimOptions,
) -> Result<Simulated<C>>
where
    E: Element<Accumulator = f32>,
    C: OutputOf<E>,
{
    plan.check(&gemm.problem())?;
    gemm.check(before.map(<[C]>::len))?;
    let kernel = plan.kernel();
    let entry_point = cuda_sim::device::find_kernel::<EntryPoint<E>>(kernel.symbol)
        .ok_or_else(|| Error::InvalidArgument(format!("{} is not linked into this program", kernel.symbol)))?;
    let [m, n, k] = gemm.extents();
    if plan.ctas() == 0 {
        return Ok(Simulated::EMPTY);
    }
    let data = [gemm.a, gemm.b].map(|matrix| GlobalBuffer::matrix(matrix.data(), matrix.rows(), k, k));
    let scales = [gemm.a, gemm.b].map(|matrix| {
        let layout = matrix.scale_layout();
        GlobalBuffer::matrix(matrix.scales(), layout.lines, layout.columns, layout.ld)
    });
    let c = match before {
        Some(before) => GlobalBuffer::from_slice(before),
        None => GlobalBuffer::<C>::uninit(m * n),
    };
    let bias = gemm.epilogue.bias.map(GlobalBuffer::from_slice);
    // Raw pointers are not shared between threads; the kernel takes values.
    let c_address = c.as_mut_ptr().expose_provenance();
    let scale_addresses = [0, 1].map(|at| scales[at].as_ptr().expose_provenance());
    let addresses = Addresses {
        data: [0, 1].map(|at| data[at].as_ptr().expose_provenance() as u64),
        c: c_address as u64,
        scales: scale_addresses[0] as u64,
    };
    let [of_a, of_b, of_c, of_scales] = maps(plan, addresses, C::DTYPE, tensor_map::simulated)?;
    let params = |c: *mut C| GemmParams {
        bias: bias.as_ref().map_or(null(), GlobalBuffer::as_ptr),
        alpha: gemm.alpha(),
        beta: gemm.epilogue.factors.beta,
        activation: gemm.epilogue.activation,
        output: C::OUTPUT,
        ..GemmParams::product(null::<E>(), null(), c.cast(), plan.args())
    };
    let launch = launch(
        options,
        plan.ctas(),
        kernel.tile.threads(),
        plan.smem().dynamic_bytes().get(),
    )
    .cluster(kernel.tile.cluster);
    // SAFETY: the buffers hold what the parameters and the maps describe, C is a buffer of its own; grid, CTA and
    // dynamic bytes are those of the plan.
    let report = launch.run(|| unsafe {
        let params = params(std::ptr::with_exposed_provenance_mut(c_address));
        let scaled = plan.params(scale_addresses.map(std::ptr::with_exposed_provenance));
        entry_point(&params, &scaled, &of_a, &of_b, &of_c, &of_scales);
    });
    Simulated::of(c.to_vec(), report)
}
