//! The products as an op of candle's.

use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp2, DType, Error, Layout, Result, Shape, Tensor, WithDType};
use half::{bf16, f16};
use tilewright::{Backend, Gemm, GemmShape, Options};

use crate::block::Products;
use crate::layout::{BatchedGemm, Matrices};

/// The op's name in candle's errors.
pub const NAME: &str = "tilewright";

/// Bytes that the address of an operand on a GPU is a multiple of: the longest vector that a kernel loads.
const VECTOR_BYTES: usize = 16;

/// An element type of candle's that tilewright multiplies.
pub(crate) trait Element: WithDType + Pod {
    /// The same type as tilewright has it: its `half` is 1.8, candle's is 2.
    type Ours: tilewright::Element + Pod;
}

impl Element for f32 {
    type Ours = f32;
}
impl Element for f64 {
    type Ours = f64;
}
impl Element for f16 {
    type Ours = tilewright::half::f16;
}
impl Element for bf16 {
    type Ours = tilewright::half::bf16;
}

/// A batch of products that was computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// The name that the caller gave.
    pub name: &'static str,
    /// How many products.
    pub batch: usize,
    /// One of them.
    pub shape: GemmShape,
    /// Its element type.
    pub dtype: DType,
    /// The kernel's symbol.
    pub kernel: &'static str,
    /// What it ran on.
    pub device: String,
    /// Why it ran on the CPU, where the choice was free.
    pub fallback: Option<String>,
}

/// Multiplies tensors by tilewright. A clone is the same: one list of what was computed, one set of kernels.
#[derive(Clone)]
pub struct Tilewright(Arc<Shared>);

struct Shared {
    options: Options,
    computed: Mutex<Vec<Computed>>,
    #[cfg(feature = "cuda")]
    on_device: crate::cuda::OnDevice,
}

impl Tilewright {
    /// `backend` is where products of tensors of the CPU are computed; those of a GPU are computed there.
    pub fn new(backend: Backend) -> Self {
        let options = Options {
            backend,
            ..Options::default()
        };
        Self(Arc::new(Shared {
            options,
            computed: Mutex::default(),
            #[cfg(feature = "cuda")]
            on_device: crate::cuda::OnDevice::default(),
        }))
    }

    /// The product of two tensors, as candle's `matmul`: of their last two dimensions, for each index of those before,
    /// which are equal. With gradients. A transposed operand, and one whose rows are parts of longer rows, is not
    /// copied; one with other strides is.
    ///
    /// # Errors
    /// candle's own for shapes or types that do not go together; those of [`tilewright::gemm()`], wrapped.
    pub fn matmul(&self, name: &'static str, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let product = Product {
            name,
            engine: self.clone(),
        };
        readable(a)?.apply_op2(&readable(b)?, product)
    }

    /// Takes the list of what was computed so far, forward and backward, in its order.
    pub fn take_computed(&self) -> Vec<Computed> {
        std::mem::take(&mut self.0.computed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn note(&self, computed: Computed) {
        let mut list = self.0.computed.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(computed);
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn on_device(&self) -> &crate::cuda::OnDevice {
        &self.0.on_device
    }
}

impl Products for Tilewright {
    fn product(&self, name: &'static str, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.matmul(name, a, b)
    }
}

/// The tensor, or a copy where the op cannot read it in place.
fn readable(tensor: &Tensor) -> Result<Tensor> {
    // candle has types of less than a byte, which the op refuses.
    let vector_elems = VECTOR_BYTES / tensor.dtype().size_in_bytes().max(1);
    match Matrices::of(tensor.layout()) {
        None => tensor.contiguous(),
        // `contiguous` copies nothing that is contiguous, wherever in its storage it starts.
        Some(matrices) if tensor.device().is_cuda() && !matrices.start_at_multiples_of(vector_elems) => {
            tensor.force_contiguous()
        }
        Some(_) => Ok(tensor.clone()),
    }
}

/// The op: one product, by its name.
struct Product {
    name: &'static str,
    engine: Tilewright,
}

impl CustomOp2 for Product {
    fn name(&self) -> &'static str {
        NAME
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        a_layout: &Layout,
        b: &CpuStorage,
        b_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let gemm = BatchedGemm::of((a_layout, a.dtype()), (b_layout, b.dtype()))?;
        let c = match a.dtype() {
            DType::F32 => self.on_host::<f32>(&gemm, a, b),
            DType::F64 => self.on_host::<f64>(&gemm, a, b),
            DType::F16 => self.on_host::<f16>(&gemm, a, b),
            DType::BF16 => self.on_host::<bf16>(&gemm, a, b),
            other => Err(Error::UnsupportedDTypeForOp(other, NAME).bt()),
        }?;
        Ok((c, gemm.output))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        a: &candle_core::CudaStorage,
        a_layout: &Layout,
        b: &candle_core::CudaStorage,
        b_layout: &Layout,
    ) -> Result<(candle_core::CudaStorage, Shape)> {
        let gemm = BatchedGemm::of((a_layout, a.dtype()), (b_layout, b.dtype()))?;
        let c = crate::cuda::multiply(&self.engine, self.name, &gemm, a, b)?;
        Ok((c, gemm.output))
    }

    /// `dA = dC · Bᵀ`, `dB = Aᵀ · dC`; the transposes are layouts, not copies.
    fn bwd(&self, a: &Tensor, b: &Tensor, _: &Tensor, dc: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let da = self.engine.matmul(self.name, dc, &b.t()?)?;
        let db = self.engine.matmul(self.name, &a.t()?, dc)?;
        Ok((Some(da), Some(db)))
    }
}

impl Product {
    /// The products of host slices, one after the other.
    fn on_host<T: Element>(&self, gemm: &BatchedGemm, a: &CpuStorage, b: &CpuStorage) -> Result<CpuStorage> {
        let (a, b) = (T::cpu_storage_as_slice(a)?, T::cpu_storage_as_slice(b)?);
        let (a, b): (&[T::Ours], &[T::Ours]) = (bytemuck::cast_slice(a), bytemuck::cast_slice(b));
        let mut c = vec![T::zero(); gemm.output.elem_count()];
        let matrix_elems = gemm.shape.m() * gemm.shape.n();
        let matrices = bytemuck::cast_slice_mut::<T, T::Ours>(&mut c).chunks_exact_mut(matrix_elems.max(1));
        let problem = Gemm::new(gemm.shape);
        let mut report = None;
        for (&[a_at, b_at], c) in gemm.offsets.iter().zip(matrices) {
            // An offset past the end leaves no elements, and that is an error of the product.
            let [a, b] = [a.get(a_at..), b.get(b_at..)].map(Option::unwrap_or_default);
            let done = tilewright::gemm(&problem, a, b, c, &self.engine.0.options);
            report = Some(done.map_err(Error::wrap)?);
        }
        // Nothing was computed for a result of no elements.
        if let Some(report) = report {
            self.engine.note(Computed {
                name: self.name,
                batch: gemm.offsets.len(),
                shape: gemm.shape,
                dtype: T::DTYPE,
                kernel: report.kernel,
                device: report.device,
                fallback: report.fallback,
            });
        }
        Ok(T::to_cpu_storage_owned(c))
    }
}
