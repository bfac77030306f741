//! The functions of cuBLAS and cublasLt that are called here, found at run time.
//!
//! Types and numbers are those of `cublas_api.h`, `cublasLt.h` and `library_types.h`, the same in CUDA 12 and 13.

use std::ffi::{c_int, c_longlong, c_void};
use std::path::Path;

use libloading::Library;
use tilewright::{Error, Result};

/// `cublasStatus_t`; 0 is success.
pub type Status = c_int;
/// `cublasHandle_t`, `cublasLtHandle_t`, `cublasLtMatmulDesc_t` and their like: addresses of what only the library
/// knows.
pub type Opaque = *mut c_void;

/// `CUBLAS_STATUS_NOT_SUPPORTED`.
pub const NOT_SUPPORTED: Status = 15;
/// `cublasOperation_t`: the matrix as it is, or its transpose.
pub const OP_N: c_int = 0;
pub const OP_T: c_int = 1;
/// `CUBLAS_DEFAULT_MATH`: no TensorFloat-32 for f32.
pub const DEFAULT_MATH: c_int = 0;
/// `CUBLAS_GEMM_DEFAULT`: the library picks the algorithm.
pub const GEMM_DEFAULT: c_int = -1;
/// `CUBLASLT_MATMUL_DESC_TRANSA`, `CUBLASLT_MATMUL_DESC_TRANSB`.
pub const DESC_TRANSA: c_int = 3;
pub const DESC_TRANSB: c_int = 4;
/// `CUBLASLT_MATMUL_DESC_A_SCALE_POINTER`, `..._B_SCALE_POINTER`: addresses on the device.
pub const DESC_A_SCALE_POINTER: c_int = 17;
pub const DESC_B_SCALE_POINTER: c_int = 18;
/// `CUBLASLT_MATMUL_DESC_FAST_ACCUM`, an i8: 1 for accumulation by the tensor cores alone.
pub const DESC_FAST_ACCUM: c_int = 25;
/// `CUBLASLT_MATMUL_DESC_A_SCALE_MODE`, `..._B_SCALE_MODE`: `cublasLtMatmulMatrixScale_t`, since 12.8; `OUTER_VEC_32F`
/// and those of blocks since 12.9.
pub const DESC_A_SCALE_MODE: c_int = 31;
pub const DESC_B_SCALE_MODE: c_int = 32;
/// `CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F`, the default; `..._OUTER_VEC_32F`, `..._VEC128_32F`,
/// `..._BLK128x128_32F`.
pub const SCALE_SCALAR_32F: c_int = 0;
pub const SCALE_OUTER_VEC_32F: c_int = 3;
pub const SCALE_VEC128_32F: c_int = 4;
pub const SCALE_BLK128X128_32F: c_int = 5;
/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`.
pub const PREF_MAX_WORKSPACE_BYTES: c_int = 1;
/// `CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT`, an int, and `CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET`, an i64 in elements.
pub const LAYOUT_BATCH_COUNT: c_int = 5;
pub const LAYOUT_STRIDED_BATCH_OFFSET: c_int = 6;

/// `cublasLtMatmulAlgo_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Algo {
    data: [u64; 8],
}

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Heuristic {
    /// The algorithm.
    pub algo: Algo,
    /// Bytes of workspace that it needs.
    pub workspace_bytes: usize,
    /// Whether the algorithm can be used; 0 if so.
    pub state: Status,
    waves: f32,
    reserved: [c_int; 4],
}

/// A struct of function pointers, and how it is filled from a library.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($field:ident = $symbol:literal: fn($($argument:ty),* $(,)?);)* }) => {
        $(#[$doc])*
        pub struct $table {
            $(#[doc = concat!("`", $symbol, "`.")] pub $field: unsafe extern "C" fn($($argument),*) -> Status,)*
            // After the pointers into it.
            _library: Library,
        }

        impl $table {
            fn of(library: Library) -> Result<Self> {
                Ok(Self {
                    // SAFETY: each symbol has the type that NVIDIA's header declares; the library lives as long as the
                    // struct.
                    $($field: unsafe { library.get(concat!($symbol, "\0").as_bytes()) }
                        .map(|symbol| *symbol)
                        .map_err(|error| Error::Unavailable(format!("cuBLAS lacks {}: {error}", $symbol)))?,)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    /// `libcublas`.
    Blas {
        create = "cublasCreate_v2": fn(*mut Opaque);
        destroy = "cublasDestroy_v2": fn(Opaque);
        get_version = "cublasGetVersion_v2": fn(Opaque, *mut c_int);
        set_stream = "cublasSetStream_v2": fn(Opaque, Opaque);
        set_math_mode = "cublasSetMathMode": fn(Opaque, c_int);
        set_workspace = "cublasSetWorkspace_v2": fn(Opaque, *mut c_void, usize);
        // handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc
        sgemm = "cublasSgemm_v2": fn(
            Opaque, c_int, c_int, c_int, c_int, c_int, *const f32, *const f32, c_int, *const f32, c_int, *const f32,
            *mut f32, c_int,
        );
        // handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc, computeType, algo
        gemm_ex = "cublasGemmEx": fn(
            Opaque, c_int, c_int, c_int, c_int, c_int, *const c_void, *const c_void, c_int, c_int, *const c_void, c_int,
            c_int, *const c_void, *mut c_void, c_int, c_int, c_int, c_int,
        );
        // The same with strideA after lda, strideB after ldb, strideC and batchCount after ldc.
        gemm_strided_batched_ex = "cublasGemmStridedBatchedEx": fn(
            Opaque, c_int, c_int, c_int, c_int, c_int, *const c_void, *const c_void, c_int, c_int, c_longlong,
            *const c_void, c_int, c_int, c_longlong, *const c_void, *mut c_void, c_int, c_int, c_longlong, c_int, c_int,
            c_int,
        );
    }
}

functions! {
    /// `libcublasLt`.
    Lt {
        create = "cublasLtCreate": fn(*mut Opaque);
        destroy = "cublasLtDestroy": fn(Opaque);
        // desc, computeType, scaleType
        desc_create = "cublasLtMatmulDescCreate": fn(*mut Opaque, c_int, c_int);
        desc_destroy = "cublasLtMatmulDescDestroy": fn(Opaque);
        desc_set = "cublasLtMatmulDescSetAttribute": fn(Opaque, c_int, *const c_void, usize);
        // layout, type, rows, columns, ld
        layout_create = "cublasLtMatrixLayoutCreate": fn(*mut Opaque, c_int, u64, u64, i64);
        layout_set = "cublasLtMatrixLayoutSetAttribute": fn(Opaque, c_int, *const c_void, usize);
        layout_destroy = "cublasLtMatrixLayoutDestroy": fn(Opaque);
        preference_create = "cublasLtMatmulPreferenceCreate": fn(*mut Opaque);
        preference_destroy = "cublasLtMatmulPreferenceDestroy": fn(Opaque);
        preference_set = "cublasLtMatmulPreferenceSetAttribute": fn(Opaque, c_int, *const c_void, usize);
        // handle, desc, A, B, C, D, preference, requested, results, returned
        heuristics = "cublasLtMatmulAlgoGetHeuristic": fn(
            Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, c_int, *mut Heuristic, *mut c_int,
        );
        // handle, desc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc, algo, workspace, workspaceBytes, stream
        matmul = "cublasLtMatmul": fn(
            Opaque, Opaque, *const c_void, *const c_void, Opaque, *const c_void, Opaque, *const c_void, *const c_void,
            Opaque, *mut c_void, Opaque, *const Algo, *mut c_void, usize, Opaque,
        );
    }
}

/// Both libraries, of one version: those in `folder`, or without one those that the system's loader finds, or the
/// toolkit's.
///
/// # Errors
/// [`Error::Unavailable`] with what was tried.
pub fn load(folder: Option<&Path>) -> Result<(Blas, Lt)> {
    const VERSIONS: [&str; 3] = [".so.13", ".so.12", ".so"];
    const TOOLKIT: &str = "/usr/local/cuda/lib64";
    let folders = match folder {
        Some(folder) => vec![folder],
        None => vec![Path::new(""), Path::new(TOOLKIT)],
    };
    let mut problem = String::new();
    for folder in &folders {
        for version in VERSIONS {
            let open = |name: &str| {
                let path = folder.join(format!("{name}{version}"));
                // SAFETY: NVIDIA's libraries, or what the user named as such; their initialisers ask nothing of the
                // caller.
                unsafe { Library::new(path) }
            };
            // libcublas needs libcublasLt, and takes one of that name that is already loaded.
            match open("libcublasLt").and_then(|lt| Ok((lt, open("libcublas")?))) {
                Ok((lt, blas)) => return Ok((Blas::of(blas)?, Lt::of(lt)?)),
                // The first says most: what was looked for under its usual name.
                Err(error) if problem.is_empty() => problem = error.to_string(),
                Err(_) => {}
            }
        }
    }
    Err(Error::Unavailable(format!("no cuBLAS found: {problem}")))
}

/// Turns a status into an error.
pub fn check(call: &'static str, status: Status) -> Result<()> {
    let name = match status {
        0 => return Ok(()),
        1 => "CUBLAS_STATUS_NOT_INITIALIZED",
        3 => "CUBLAS_STATUS_ALLOC_FAILED",
        7 => "CUBLAS_STATUS_INVALID_VALUE",
        8 => "CUBLAS_STATUS_ARCH_MISMATCH",
        11 => "CUBLAS_STATUS_MAPPING_ERROR",
        13 => "CUBLAS_STATUS_EXECUTION_FAILED",
        14 => "CUBLAS_STATUS_INTERNAL_ERROR",
        NOT_SUPPORTED => "CUBLAS_STATUS_NOT_SUPPORTED",
        _ => "unknown status",
    };
    Err(Error::Tool {
        tool: "cuBLAS",
        message: format!("{call} returned {status} ({name})"),
    })
}
