//! The kernel in the simulator.

use std::ptr::null;

use cuda_sim::GlobalBuffer;
use kernels_gpu::ptx::tensor_map::TensorMap;
use tilewright_contract::{BlockScaledParams, GemmParams};

use super::maps::{Addresses, maps};
use super::{BlockScaledGemm, Plan};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::OutputOf;
use crate::scaled::{Simulated, launch};
use crate::simulate::SimOptions;
use crate::tensor_map;

/// A kernel with C of `E`.
type EntryPoint<E> = unsafe fn(&GemmParams<E>, &BlockScaledParams, &TensorMap, &TensorMap, &TensorMap, &TensorMap);

/// Simulates a product by a plan. `before`: what C holds before, `None` for memory that nobody has written.
///
/// What is wrong with the kernel is no error: it is in the report.
///
/// # Errors
/// [`Error::InvalidArgument`] for a plan of other extents, format or type, and for a bias or a C of another length;
/// [`Error::Resources`] where this machine has no memory or threads to simulate with.
pub fn simulate<E, C>(
    plan: &Plan,
    gemm: &BlockScaledGemm<'_, E>,
    before: Option<&[C]>,
    options: &SimOptions,
) -> Result<Simulated<C>>
where
    E: Element<Accumulator = f32>,
    C: OutputOf<E>,
{
    plan.check::<E>(gemm)?;
    gemm.check(before.map(<[C]>::len))?;
    let kernel = plan.kernel();
    let entry_point = cuda_sim::device::find_kernel::<EntryPoint<E>>(kernel.symbol)
        .ok_or_else(|| Error::InvalidArgument(format!("{} is not linked into this program", kernel.symbol)))?;
    let [m, n, _] = gemm.extents();
    if plan.ctas() == 0 {
        return Ok(Simulated::EMPTY);
    }
    let row_bytes = gemm.a.row_bytes();
    let words = |bytes: &[u8]| -> Vec<u32> {
        let (words, _) = bytes.as_chunks::<4>();
        words.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect()
    };
    let data = [gemm.a, gemm.b].map(|matrix| GlobalBuffer::matrix(matrix.data(), matrix.rows(), row_bytes, row_bytes));
    let scales = [gemm.a, gemm.b].map(|matrix| GlobalBuffer::from_slice(&words(matrix.scales())));
    let c = match before {
        Some(before) => GlobalBuffer::from_slice(before),
        None => GlobalBuffer::<C>::uninit(m * n),
    };
    let bias = gemm.epilogue.bias.map(GlobalBuffer::from_slice);
    let of = |address: *const u8| address.expose_provenance() as u64;
    let addresses = Addresses {
        data: [0, 1].map(|i| of(data[i].as_ptr())),
        scales: [0, 1].map(|i| of(scales[i].as_ptr().cast())),
    };
    let [a, b, scale_a, scale_b] = maps(plan, addresses, tensor_map::simulated)?;
    let params = |c: *mut C| GemmParams {
        bias: bias.as_ref().map_or(null(), GlobalBuffer::as_ptr),
        alpha: gemm.alpha(),
        beta: gemm.epilogue.factors.beta,
        activation: gemm.epilogue.activation,
        output: C::OUTPUT,
        ..GemmParams::product(null::<E>(), null(), c.cast(), plan.args())
    };
    // Raw pointers are not shared between threads; the kernel takes values.
    let c_address = c.as_mut_ptr().expose_provenance();
    let launch = launch(
        options,
        plan.ctas(),
        kernel.tile.threads(),
        plan.smem().dynamic_bytes().get(),
    );
    // SAFETY: the buffers hold what the parameters and the maps describe, C is a buffer of its own; grid, CTA and
    // dynamic bytes are those of the plan.
    let report = launch.run(|| unsafe {
        let params = params(std::ptr::with_exposed_provenance_mut(c_address));
        let scaled = plan.params(
            addresses
                .scales
                .map(|scales| std::ptr::with_exposed_provenance(scales as usize)),
        );
        entry_point(&params, &scaled, &a, &b, &scale_a, &scale_b);
    });
    Simulated::of(c.to_vec(), report)
}
