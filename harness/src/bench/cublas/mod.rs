//! NVIDIA's product on the same device: cuBLAS and cublasLt, loaded at run time.
//!
//! cuBLAS is column-major. A row-major matrix read by columns is its transpose, so the row-major `C = A · B` is the
//! column-major `Cᵀ = Bᵀ · Aᵀ`: B goes first, A second, m and n change places, and every leading dimension stays. What
//! is stored transposed here is stored transposed there.

mod ffi;
mod lt;

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr;

use tilewright::fp8::Fp8;
use tilewright::launch::{CUdeviceptr, DeviceMatrix, Fp8Operands, Gpu};
use tilewright::{Element, Error, Result};
use tilewright_contract::{DType, Precision};

use super::fp8::Fp8Row;
use super::rows::Row;

/// Workspace of either library, in bytes: what cuBLAS takes by itself on Hopper.
const WORKSPACE_BYTES: usize = 32 << 20;

/// alpha = 1 and beta = 0, in the type that sums are taken in.
static SCALARS_F32: [f32; 2] = [1.0, 0.0];
static SCALARS_F64: [f64; 2] = [1.0, 0.0];

/// Both libraries, on a device and its stream.
pub struct Cublas<'gpu> {
    blas: ffi::Blas,
    lt: ffi::Lt,
    handle: ffi::Opaque,
    lt_handle: ffi::Opaque,
    workspace: DeviceMatrix<'gpu, f32>,
    gpu: &'gpu Gpu,
}

impl<'gpu> Cublas<'gpu> {
    /// Loads the libraries from `folder`, or from where the system's loader and the toolkit have them. Maths are the
    /// default: f32 is f32 unless TF32 is asked for, provided that the environment does not say `NVIDIA_TF32_OVERRIDE`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without the libraries, [`Error::Tool`] when they cannot be used, [`Error::Driver`]
    /// without memory.
    pub fn load(gpu: &'gpu Gpu, folder: Option<&Path>) -> Result<Self> {
        let (blas, lt) = ffi::load(folder)?;
        let mut cublas = Self {
            blas,
            lt,
            handle: ptr::null_mut(),
            lt_handle: ptr::null_mut(),
            workspace: gpu.uninitialized(WORKSPACE_BYTES / size_of::<f32>())?,
            gpu,
        };
        let stream = gpu.stream().as_inner().cast();
        let workspace = cublas.workspace.as_device_ptr().as_raw() as *mut c_void;
        // SAFETY: the device's context is current to this thread, which `Gpu` is bound to; each handle is written
        // before it is used; stream and workspace outlive the handles, which `drop` destroys.
        unsafe {
            ffi::check("cublasCreate", (cublas.blas.create)(&raw mut cublas.handle))?;
            ffi::check("cublasLtCreate", (cublas.lt.create)(&raw mut cublas.lt_handle))?;
            ffi::check("cublasSetStream", (cublas.blas.set_stream)(cublas.handle, stream))?;
            let status = (cublas.blas.set_workspace)(cublas.handle, workspace, WORKSPACE_BYTES);
            ffi::check("cublasSetWorkspace", status)?;
            let status = (cublas.blas.set_math_mode)(cublas.handle, ffi::DEFAULT_MATH);
            ffi::check("cublasSetMathMode", status)?;
        }
        Ok(cublas)
    }

    /// The library's version, such as `13.0.2`.
    ///
    /// # Errors
    /// [`Error::Tool`] when the library does not tell.
    pub fn version(&self) -> Result<String> {
        let mut version = 0;
        // SAFETY: the handle is alive; the number outlives the call.
        ffi::check("cublasGetVersion", unsafe {
            (self.blas.get_version)(self.handle, &raw mut version)
        })?;
        // cublas_api.h: CUBLAS_VERSION is major * 10000 + minor * 100 + patch.
        Ok(format!("{}.{}.{}", version / 10000, version / 100 % 100, version % 100))
    }

    /// The product of a row, as cuBLAS takes it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] beyond 2³¹ - 1.
    pub fn product(&self, row: &Row) -> Result<Product<'_>> {
        let call = Call::new(row)?;
        Ok(Product {
            lt: lt::Description::new(&self.lt, &call),
            cublas: self,
            call,
        })
    }

    fn stream(&self) -> ffi::Opaque {
        self.gpu.stream().as_inner().cast()
    }
}

impl Drop for Cublas<'_> {
    fn drop(&mut self) {
        // SAFETY: handles of these libraries or null, used by nobody afterwards. A status has nobody to go to.
        unsafe {
            if !self.lt_handle.is_null() {
                let _ = (self.lt.destroy)(self.lt_handle);
            }
            if !self.handle.is_null() {
                let _ = (self.blas.destroy)(self.handle);
            }
        }
    }
}

/// A product in cuBLAS's terms: column-major, B before A.
struct Call {
    /// Of A, B and C; of C alone with `fp8`.
    dtype: DType,
    fp8: Option<Fp8Row>,
    precision: Precision,
    /// Of B, then of A.
    operations: [c_int; 2],
    /// Rows and columns of Cᵀ, terms of each sum.
    extents: [c_int; 3],
    /// Of B, of A, of C.
    leading: [c_int; 3],
    /// Products.
    batch: c_int,
    /// Elements from one B, A, C to the next.
    strides: [i64; 3],
}

impl Call {
    fn new(row: &Row) -> Result<Self> {
        let int = |extent: usize| {
            c_int::try_from(extent)
                .map_err(|_| Error::InvalidArgument(format!("cuBLAS takes extents up to {}, not {extent}", c_int::MAX)))
        };
        let Row {
            m, n, k, batch, layout, ..
        } = *row;
        let operation = |transposed| if transposed { ffi::OP_T } else { ffi::OP_N };
        Ok(Self {
            dtype: row.dtype,
            fp8: row.fp8,
            precision: row.precision(),
            operations: [operation(layout.trans_b()), operation(layout.trans_a())],
            extents: [int(n)?, int(m)?, int(k)?],
            // The length of a stored row.
            leading: [
                int(if layout.trans_b() { k } else { n })?,
                int(if layout.trans_a() { m } else { k })?,
                int(n)?,
            ],
            batch: int(batch)?,
            // Packed, and each far below 2^63: the extents are below 2^31.
            strides: [k * n, m * k, m * n].map(|elems| elems as i64),
        })
    }

    /// `cudaDataType_t` of the elements.
    fn data_type(&self) -> c_int {
        match self.dtype {
            DType::F32 => 0,
            DType::F64 => 1,
            DType::F16 => 2,
            DType::Bf16 => 14,
        }
    }

    /// The same of B, A and C.
    fn data_types(&self) -> [c_int; 3] {
        let of_operands = match self.fp8 {
            None => self.data_type(),
            Some(_) => match Fp8Row::FORMAT {
                Fp8::E4m3 => 28,
                Fp8::E5m2 => 29,
            },
        };
        [of_operands, of_operands, self.data_type()]
    }

    /// `cudaDataType_t` of the scalars: the type that sums are taken in.
    fn scalar_type(&self) -> c_int {
        match self.dtype.accumulator() {
            DType::F64 => 1,
            _ => 0,
        }
    }

    /// `cublasComputeType_t`: `CUBLAS_COMPUTE_64F`, `CUBLAS_COMPUTE_32F_FAST_TF32`, else `CUBLAS_COMPUTE_32F`.
    fn compute_type(&self) -> c_int {
        match self.dtype.accumulator() {
            DType::F64 => 70,
            _ if self.precision == Precision::Tf32 => 77,
            _ => 68,
        }
    }

    /// The addresses of alpha and beta.
    fn scalars(&self) -> [*const c_void; 2] {
        match self.dtype.accumulator() {
            DType::F64 => [&raw const SCALARS_F64[0], &raw const SCALARS_F64[1]].map(|scalar| scalar.cast()),
            _ => [&raw const SCALARS_F32[0], &raw const SCALARS_F32[1]].map(|scalar| scalar.cast()),
        }
    }
}

/// A way to compute a product.
#[derive(Clone, Copy)]
pub enum Algorithm {
    /// `cublasSgemm_v2`.
    Sgemm,
    /// `cublasGemmEx` with its default algorithm.
    GemmEx,
    /// `cublasGemmStridedBatchedEx` with its default algorithm.
    GemmStridedBatchedEx,
    /// `cublasLtMatmul` with one of the algorithms that its heuristics name.
    Lt(lt::Choice),
}

impl Algorithm {
    /// The function, and for cublasLt the place of the algorithm among those that the heuristics name, from 1.
    pub fn name(&self) -> String {
        match self {
            Algorithm::Sgemm => "cublasSgemm".to_owned(),
            Algorithm::GemmEx => "cublasGemmEx".to_owned(),
            Algorithm::GemmStridedBatchedEx => "cublasGemmStridedBatchedEx".to_owned(),
            Algorithm::Lt(choice) => format!("cublasLt #{}", choice.place),
        }
    }
}

/// A product that cuBLAS is to compute.
pub struct Product<'c> {
    cublas: &'c Cublas<'c>,
    call: Call,
    /// As cublasLt takes it, or why it does not.
    lt: Result<lt::Description<'c>>,
}

impl Product<'_> {
    /// The precision that is asked for: f32, or TF32.
    pub fn precision(&self) -> Precision {
        self.call.precision
    }

    /// Every way that there is, those of cublasLt in the order of its heuristics; and why there is none of cublasLt,
    /// where that is so.
    pub fn algorithms(&self) -> (Vec<Algorithm>, Option<String>) {
        let mut algorithms = match (self.call.batch, self.call.dtype) {
            // Scales are for cublasLt alone.
            _ if self.call.fp8.is_some() => Vec::new(),
            // In the mode of the handle, which is f32.
            (1, DType::F32) if self.call.precision == Precision::Ieee => vec![Algorithm::Sgemm, Algorithm::GemmEx],
            (1, _) => vec![Algorithm::GemmEx],
            (..) => vec![Algorithm::GemmStridedBatchedEx],
        };
        let choices = match &self.lt {
            Ok(described) => described
                .heuristics(self.cublas.lt_handle, WORKSPACE_BYTES)
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match choices {
            Ok(choices) => {
                algorithms.extend(choices.into_iter().map(Algorithm::Lt));
                (algorithms, None)
            }
            Err(problem) => (algorithms, Some(problem)),
        }
    }

    /// Enqueues the product on the device's stream.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for operands of another type or too short, [`Error::Tool`] when the library refuses.
    pub fn launch<T: Element>(
        &self,
        algorithm: &Algorithm,
        a: &DeviceMatrix<'_, T>,
        b: &DeviceMatrix<'_, T>,
        c: &mut DeviceMatrix<'_, T>,
    ) -> Result<()> {
        let Call {
            operations: [of_b, of_a],
            extents: [n, m, k],
            leading: [ldb, lda, ldc],
            batch,
            strides: [stride_b, stride_a, stride_c],
            ..
        } = self.call;
        let elements = |rows: c_int, columns: c_int| batch as usize * rows as usize * columns as usize;
        let fits = a.len() >= elements(m, k) && b.len() >= elements(k, n) && c.len() >= elements(m, n);
        if T::DTYPE != self.call.dtype || self.call.fp8.is_some() || !fits {
            return Err(Error::InvalidArgument(format!(
                "{m} x {n} x {k} of {} does not fit {}, {}, {} elements of {}",
                self.call.dtype,
                a.len(),
                b.len(),
                c.len(),
                T::DTYPE
            )));
        }
        let (cublas, ty) = (self.cublas, self.call.data_type());
        let [a, b, c] =
            [a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr()].map(|matrix| matrix.as_raw() as *mut c_void);
        let [alpha, beta] = self.call.scalars();
        // SAFETY: the handles are alive and their context is current; the operands hold what the extents and leading
        // dimensions say (packed, checked above); C is borrowed exclusively; the scalars are static and of the type
        // that the call names, f32 for `sgemm`, which is offered for f32 only.
        unsafe {
            match algorithm {
                Algorithm::Sgemm => {
                    let status = (cublas.blas.sgemm)(
                        cublas.handle,
                        of_b,
                        of_a,
                        n,
                        m,
                        k,
                        alpha.cast(),
                        b.cast(),
                        ldb,
                        a.cast(),
                        lda,
                        beta.cast(),
                        c.cast(),
                        ldc,
                    );
                    ffi::check("cublasSgemm", status)
                }
                Algorithm::GemmEx => {
                    let status = (cublas.blas.gemm_ex)(
                        cublas.handle,
                        of_b,
                        of_a,
                        n,
                        m,
                        k,
                        alpha,
                        b,
                        ty,
                        ldb,
                        a,
                        ty,
                        lda,
                        beta,
                        c,
                        ty,
                        ldc,
                        self.call.compute_type(),
                        ffi::GEMM_DEFAULT,
                    );
                    ffi::check("cublasGemmEx", status)
                }
                Algorithm::GemmStridedBatchedEx => {
                    let status = (cublas.blas.gemm_strided_batched_ex)(
                        cublas.handle,
                        of_b,
                        of_a,
                        n,
                        m,
                        k,
                        alpha,
                        b,
                        ty,
                        ldb,
                        stride_b,
                        a,
                        ty,
                        lda,
                        stride_a,
                        beta,
                        c,
                        ty,
                        ldc,
                        stride_c,
                        batch,
                        self.call.compute_type(),
                        ffi::GEMM_DEFAULT,
                    );
                    ffi::check("cublasGemmStridedBatchedEx", status)
                }
                Algorithm::Lt(choice) => self.launch_lt(choice, [b, a, c]),
            }
        }
    }

    /// Sets where the scales of A and of B are, for an FP8 product: the heuristics may ask for their alignment.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for one that cublasLt does not take, [`Error::Tool`] when it refuses.
    pub fn set_scales(&self, scales: [CUdeviceptr; 2]) -> Result<()> {
        self.described()?.set_scales(scales)
    }

    /// Enqueues an FP8 product on the device's stream.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a product that is none of FP8 or an algorithm that is none of cublasLt,
    /// [`Error::Tool`] when the library refuses.
    ///
    /// # Safety
    /// A, B, their scales and C are as long as the product asks for, and live until the device is done with them.
    pub unsafe fn launch_fp8(&self, algorithm: &Algorithm, operands: &Fp8Operands) -> Result<()> {
        let (Some(_), Algorithm::Lt(choice)) = (self.call.fp8, algorithm) else {
            return Err(Error::InvalidArgument(format!(
                "{} takes no FP8 operands here",
                algorithm.name()
            )));
        };
        self.set_scales(operands.scales)?;
        let [a, b] = operands.data;
        // SAFETY: the caller's promise.
        unsafe { self.launch_lt(choice, [b, a, operands.c].map(|matrix| matrix as *mut c_void)) }
    }

    /// Enqueues the product of B and A by an algorithm of cublasLt.
    ///
    /// # Safety
    /// B, A and C are as described, and live until the device is done with them.
    unsafe fn launch_lt(&self, choice: &lt::Choice, matrices: [*mut c_void; 3]) -> Result<()> {
        let cublas = self.cublas;
        let workspace = cublas.workspace.as_device_ptr().as_raw() as *mut c_void;
        let handles = (cublas.lt_handle, cublas.stream());
        let workspace = (workspace, WORKSPACE_BYTES);
        // SAFETY: the handles are alive and their context is current; the workspace is as long as that; the rest is the
        // caller's promise.
        unsafe {
            self.described()?
                .launch(handles, choice, self.call.scalars(), matrices, workspace)
        }
    }

    /// The product as cublasLt takes it.
    fn described(&self) -> Result<&lt::Description<'_>> {
        let described = self.lt.as_ref();
        described.map_err(|error| Error::InvalidArgument(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Layout;
    use super::super::{Selection, Suite};
    use super::*;

    #[test]
    fn a_row_major_product_becomes_the_transposed_one() {
        let suite = Suite::of_product([3, 5, 7], 11, &Selection::default()).expect("small");
        let mut row = suite.rows[0].clone();
        for (layout, operations, leading) in [
            (Layout::NN, [ffi::OP_N, ffi::OP_N], [5, 7, 5]),
            (Layout::NT, [ffi::OP_T, ffi::OP_N], [7, 7, 5]),
            (Layout::TN, [ffi::OP_N, ffi::OP_T], [5, 3, 5]),
            (Layout::TT, [ffi::OP_T, ffi::OP_T], [7, 3, 5]),
        ] {
            row.layout = layout;
            let call = Call::new(&row).expect("small");
            assert_eq!((call.extents, call.batch, call.strides), ([5, 3, 7], 11, [35, 21, 15]));
            assert_eq!((call.operations, call.leading), (operations, leading), "{layout:?}");
        }
        row.k = 1 << 31;
        assert!(matches!(Call::new(&row), Err(Error::InvalidArgument(_))));
    }

    #[test]
    fn an_fp8_product_is_of_bytes_along_k_with_a_c_of_bf16() {
        let suite = Suite::named("fp8", &Selection::default()).expect("a suite");
        let call = Call::new(suite.rows.last().expect("rows")).expect("small");
        assert_eq!((call.extents, call.leading), ([7168, 4096, 2048], [2048, 2048, 7168]));
        // CUDA_R_8F_E4M3 and CUDA_R_16BF.
        assert_eq!(
            (call.operations, call.data_types()),
            ([ffi::OP_T, ffi::OP_N], [28, 28, 14])
        );
        assert_eq!((call.scalar_type(), call.compute_type()), (0, 68));
        let plain = Suite::named("half", &Selection::default()).expect("a suite");
        assert_eq!(Call::new(&plain.rows[0]).expect("small").data_types(), [2; 3]);
    }

    #[test]
    fn a_folder_without_the_libraries_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let problem = ffi::load(Some(folder.path())).err().expect("nothing there").to_string();
        assert!(problem.contains(&folder.path().display().to_string()), "{problem}");
    }
}
