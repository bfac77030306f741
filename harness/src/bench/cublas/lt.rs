//! cublasLt: the product described, and the algorithms that its heuristics name for it.

use std::ffi::{c_int, c_void};
use std::ptr;

use tilewright::Result;
use tilewright::fp8::Fp8Scaling;

use super::super::fp8::Fp8Row;
use super::Call;
use super::ffi::{self, Lt, Opaque};

/// Algorithms that the heuristics are asked for.
const REQUESTED: usize = 12;

/// An algorithm and its place among those that the heuristics name, from 1.
#[derive(Clone, Copy)]
pub struct Choice {
    algo: ffi::Algo,
    pub place: usize,
}

/// A product in cublasLt's own objects.
pub struct Description<'c> {
    lt: &'c Lt,
    operation: Opaque,
    /// Of B, of A, of C.
    layouts: [Opaque; 3],
}

impl<'c> Description<'c> {
    /// Describes a product. Column-major: what is not transposed has as many rows as its leading dimension.
    pub fn new(lt: &'c Lt, call: &Call) -> Result<Self> {
        let mut made = Self {
            lt,
            operation: ptr::null_mut(),
            layouts: [ptr::null_mut(); 3],
        };
        let [n, m, k] = call.extents.map(|extent| extent as u64);
        let turned = |operation, rows, columns| {
            if operation == ffi::OP_T {
                (columns, rows)
            } else {
                (rows, columns)
            }
        };
        let extents = [
            turned(call.operations[0], n, k),
            turned(call.operations[1], k, m),
            (n, m),
        ];
        // SAFETY: each object is written before it is used, and destroyed once, by `drop`; attributes are of
        // the types that the header says.
        unsafe {
            let status = (lt.desc_create)(&raw mut made.operation, call.compute_type(), call.scalar_type());
            ffi::check("cublasLtMatmulDescCreate", status)?;
            for (attribute, operation) in [ffi::DESC_TRANSA, ffi::DESC_TRANSB].into_iter().zip(&call.operations) {
                made.set(attribute, operation)?;
            }
            if let Some(kind) = call.fp8 {
                made.set_fp8(kind)?;
            }
            let rows_apart = call.leading.into_iter().zip(call.strides);
            let of_operands = made.layouts.iter_mut().zip(call.data_types());
            for (((layout, ty), (rows, columns)), (ld, stride)) in of_operands.zip(extents).zip(rows_apart) {
                let status = (lt.layout_create)(layout, ty, rows, columns, ld.into());
                ffi::check("cublasLtMatrixLayoutCreate", status)?;
                let (count, stride): (*const c_int, *const i64) = (&raw const call.batch, &raw const stride);
                for (attribute, value, bytes) in [
                    (ffi::LAYOUT_BATCH_COUNT, count.cast(), size_of::<c_int>()),
                    (ffi::LAYOUT_STRIDED_BATCH_OFFSET, stride.cast(), size_of::<i64>()),
                ] {
                    let status = (lt.layout_set)(*layout, attribute, value, bytes);
                    ffi::check("cublasLtMatrixLayoutSetAttribute", status)?;
                }
            }
        }
        Ok(made)
    }

    /// Sets an attribute of the operation.
    ///
    /// # Safety
    /// The value is of the type that the header says.
    unsafe fn set<V>(&self, attribute: c_int, value: &V) -> Result<()> {
        let value: *const V = value;
        // SAFETY: the operation is alive; the caller's promise.
        let status = unsafe { (self.lt.desc_set)(self.operation, attribute, value.cast(), size_of::<V>()) };
        ffi::check("cublasLtMatmulDescSetAttribute", status)
    }

    /// Accumulation of FP8, and which elements share a scale. Versions without scale modes have those of tensors.
    fn set_fp8(&self, kind: Fp8Row) -> Result<()> {
        let mode = |scaling| match scaling {
            Fp8Scaling::Tensor => ffi::SCALE_SCALAR_32F,
            Fp8Scaling::Rows => ffi::SCALE_OUTER_VEC_32F,
            Fp8Scaling::Rows128 => ffi::SCALE_VEC128_32F,
            Fp8Scaling::Blocks128 => ffi::SCALE_BLK128X128_32F,
        };
        let [a, b] = kind.scalings().map(mode);
        // SAFETY: an i8, and numbers of an enum.
        unsafe {
            self.set(ffi::DESC_FAST_ACCUM, &i8::from(kind.is_fast()))?;
            for (attribute, mode) in [(ffi::DESC_A_SCALE_MODE, b), (ffi::DESC_B_SCALE_MODE, a)] {
                if mode != ffi::SCALE_SCALAR_32F {
                    self.set(attribute, &mode)?;
                }
            }
        }
        Ok(())
    }

    /// The addresses of the scales of A and of B, for launches from now on.
    pub fn set_scales(&self, [a, b]: [u64; 2]) -> Result<()> {
        // SAFETY: pointers of 64 bits.
        unsafe {
            self.set(ffi::DESC_A_SCALE_POINTER, &b)?;
            self.set(ffi::DESC_B_SCALE_POINTER, &a)
        }
    }

    /// The algorithms that the heuristics name, at most [`REQUESTED`], best guess first.
    pub fn heuristics(&self, handle: Opaque, workspace_bytes: usize) -> Result<Vec<Choice>> {
        let mut found = [ffi::Heuristic::default(); REQUESTED];
        let mut count = 0;
        let [b, a, c] = self.layouts;
        // SAFETY: handle and objects are alive; the array has room for as many results as are asked for; the preference
        // is destroyed here, whatever comes of it.
        let status = unsafe {
            let mut preference = ptr::null_mut();
            ffi::check(
                "cublasLtMatmulPreferenceCreate",
                (self.lt.preference_create)(&raw mut preference),
            )?;
            let bytes: *const usize = &raw const workspace_bytes;
            let mut status = (self.lt.preference_set)(
                preference,
                ffi::PREF_MAX_WORKSPACE_BYTES,
                bytes.cast(),
                size_of::<usize>(),
            );
            if status == 0 {
                status = (self.lt.heuristics)(
                    handle,
                    self.operation,
                    b,
                    a,
                    c,
                    c,
                    preference,
                    REQUESTED as c_int,
                    found.as_mut_ptr(),
                    &raw mut count,
                );
            }
            (self.lt.preference_destroy)(preference);
            status
        };
        if status == ffi::NOT_SUPPORTED {
            return Ok(Vec::new());
        }
        ffi::check("cublasLtMatmulAlgoGetHeuristic", status)?;
        let usable = |found: &&ffi::Heuristic| found.state == 0 && found.workspace_bytes <= workspace_bytes;
        Ok(found[..(count.max(0) as usize).min(REQUESTED)]
            .iter()
            .filter(usable)
            .enumerate()
            .map(|(index, found)| Choice {
                algo: found.algo,
                place: index + 1,
            })
            .collect())
    }

    /// Enqueues the product.
    ///
    /// # Safety
    /// Handle and stream of one device whose context is current; alpha and beta, B, A and C as described, workspace of
    /// so many bytes, all alive until the product is done.
    pub unsafe fn launch(
        &self,
        (handle, stream): (Opaque, Opaque),
        choice: &Choice,
        [alpha, beta]: [*const c_void; 2],
        [b, a, c]: [*mut c_void; 3],
        (workspace, workspace_bytes): (*mut c_void, usize),
    ) -> Result<()> {
        let [of_b, of_a, of_c] = self.layouts;
        // SAFETY: the caller's promise; C is both C and D, of one layout.
        let status = unsafe {
            (self.lt.matmul)(
                handle,
                self.operation,
                alpha,
                b,
                of_b,
                a,
                of_a,
                beta,
                c,
                of_c,
                c,
                of_c,
                &raw const choice.algo,
                workspace,
                workspace_bytes,
                stream,
            )
        };
        ffi::check("cublasLtMatmul", status)
    }
}

impl Drop for Description<'_> {
    fn drop(&mut self) {
        // SAFETY: objects of this library or null, used by nobody afterwards. A status has nobody to go to.
        unsafe {
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                let _ = (self.lt.layout_destroy)(layout);
            }
            if !self.operation.is_null() {
                let _ = (self.lt.desc_destroy)(self.operation);
            }
        }
    }
}
