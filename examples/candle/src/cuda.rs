//! The products on candle's GPU tensors: on their memory and their stream, without a copy through the host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaDType;
use candle_core::cuda_backend::cudarc::driver::{CudaSlice, CudaStream, DeviceRepr, ValidAsZeroBits};
use candle_core::{CudaStorage, DType, Error, Result, WithDType};
use half::{bf16, f16};
use tilewright::dispatch::Policy;
use tilewright::launch::{CudarcElement, Kernels, Prepared, Slices};
use tilewright::{Gemm, GemmShape, Operand};

use crate::layout::BatchedGemm;
use crate::op::{Computed, Element, NAME, Tilewright};

/// What is kept from product to product.
#[derive(Default)]
pub(crate) struct OnDevice {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The kernels of each device, by its ordinal.
    kernels: HashMap<usize, Kernels>,
    /// Products, by their device, type and shape.
    prepared: HashMap<(usize, DType, GemmShape), Arc<Prepared>>,
}

/// Enqueues the products of two tensors on the stream of their device.
///
/// # Errors
/// candle's own for a type that tilewright does not have; those of `prepare` and `enqueue`, wrapped.
pub(crate) fn multiply(
    engine: &Tilewright,
    name: &'static str,
    gemm: &BatchedGemm,
    a: &CudaStorage,
    b: &CudaStorage,
) -> Result<CudaStorage> {
    match a.dtype() {
        DType::F32 => enqueue::<f32>(engine, name, gemm, a, b),
        DType::F64 => enqueue::<f64>(engine, name, gemm, a, b),
        DType::F16 => enqueue::<f16>(engine, name, gemm, a, b),
        DType::BF16 => enqueue::<bf16>(engine, name, gemm, a, b),
        other => Err(Error::UnsupportedDTypeForOp(other, NAME).bt()),
    }
}

fn enqueue<T: Element + CudaDType + CudarcElement + DeviceRepr + ValidAsZeroBits>(
    engine: &Tilewright,
    name: &'static str,
    gemm: &BatchedGemm,
    a: &CudaStorage,
    b: &CudaStorage,
) -> Result<CudaStorage> {
    let device = a.device();
    let stream = device.cuda_stream();
    let (a, b) = (a.as_cuda_slice::<T>()?, b.as_cuda_slice::<T>()?);
    let elems = gemm.output.elem_count();
    if elems == 0 || gemm.shape.k() == 0 {
        return Ok(CudaStorage::wrap_cuda_slice(
            device.alloc_zeros::<T>(elems)?,
            device.clone(),
        ));
    }
    let prepared = engine
        .on_device()
        .prepared::<T>(&stream, gemm.shape)
        .map_err(Error::wrap)?;
    // The products of a stream run one after the other, so one workspace is enough.
    let mut workspace = prepared.cudarc_workspace(&stream).map_err(Error::wrap)?;
    // SAFETY: the products write every element before anything reads it, in the order of the stream.
    let mut c: CudaSlice<T> = unsafe { device.alloc(elems)? };
    let [a_elems, b_elems, c_elems] =
        [Operand::A, Operand::B, Operand::C].map(|operand| gemm.shape.span_elems(operand));
    for (at, &[a_at, b_at]) in gemm.offsets.iter().enumerate() {
        let outside = || Error::msg("a layout ends outside its storage");
        let a = a.try_slice(a_at..a_at + a_elems).ok_or_else(outside)?;
        let b = b.try_slice(b_at..b_at + b_elems).ok_or_else(outside)?;
        let mut c = c.try_slice_mut(at * c_elems..(at + 1) * c_elems).ok_or_else(outside)?;
        let mut slices = Slices::new(&a, &b, &mut c);
        slices.workspace = workspace.as_mut().map(|workspace| workspace as _);
        prepared.enqueue_slices(&stream, slices).map_err(Error::wrap)?;
    }
    engine.note(Computed {
        name,
        batch: gemm.offsets.len(),
        shape: gemm.shape,
        dtype: <T as WithDType>::DTYPE,
        kernel: prepared.plan().kernel().symbol,
        device: prepared.kernels().profile().name.clone(),
        fallback: None,
    });
    Ok(CudaStorage::wrap_cuda_slice(c, device.clone()))
}

impl OnDevice {
    /// The product of this shape, prepared when it is enqueued first: that loads its kernel.
    fn prepared<T: Element>(&self, stream: &CudaStream, shape: GemmShape) -> tilewright::Result<Arc<Prepared>> {
        let ordinal = stream.context().ordinal();
        let key = (ordinal, <T as WithDType>::DTYPE, shape);
        // Held while a kernel loads, so that no two threads load it.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = kept.prepared.get(&key) {
            return Ok(Arc::clone(prepared));
        }
        let kernels = match kept.kernels.get(&ordinal) {
            Some(kernels) => kernels.clone(),
            None => Kernels::of_cudarc(stream.context())?,
        };
        let gemm = Gemm::<(), _>::new(shape);
        let plan = gemm.plan::<T::Ours, T::Ours>(kernels.profile(), &Policy::default())?;
        let prepared = Arc::new(kernels.prepare::<T::Ours, T::Ours, _>(&plan, &gemm)?);
        kept.kernels.insert(ordinal, kernels);
        kept.prepared.insert(key, Arc::clone(&prepared));
        Ok(prepared)
    }
}
