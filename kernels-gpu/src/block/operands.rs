//! A, B and C in global memory.

use cuda_views::{Global, GlobalMut};
use tilewright_contract::{GemmArgs, GemmParams, Operand};

use crate::block::batch;
use crate::block::element::Element;

/// A, B and C in global memory, row-major, as `args` describes them.
#[derive(Clone, Copy)]
pub struct Operands<E> {
    /// A, m x k.
    pub a: Global<E>,
    /// B, k x n.
    pub b: Global<E>,
    /// C, m x n; overlaps neither A nor B.
    pub c: GlobalMut<E>,
    /// Extents and leading dimensions.
    pub args: GemmArgs,
}

impl<E: Element> Operands<E> {
    /// The matrices of a launch of one product. Each view covers its matrix from the first to the last element.
    ///
    /// # Safety
    /// `params.a`, `.b`, `.c` are the matrices that `params` describes, in global memory, not transposed; `c` overlaps
    /// neither.
    #[inline(always)]
    pub unsafe fn new(params: &GemmParams<E>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::at(params.a, params.b, params.c, params) }
    }

    /// The matrices of this CTA's product of a [`batch`].
    ///
    /// # Safety
    /// As for [`new`](Self::new), of every product of the batch; the grid has a row along y for each.
    #[inline(always)]
    pub unsafe fn of_batch(params: &GemmParams<E>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::at(batch::a(params), batch::b(params), batch::c(params), params) }
    }

    /// # Safety
    /// As for [`new`](Self::new), with these addresses.
    #[inline(always)]
    unsafe fn at(a: *const E, b: *const E, c: *mut E, params: &GemmParams<E>) -> Self {
        let args = params.args();
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                a: Global::new_with(a, || args.span_elems(Operand::A)),
                b: Global::new_with(b, || args.span_elems(Operand::B)),
                c: GlobalMut::new_with(c, || args.span_elems(Operand::C)),
                args,
            }
        }
    }
}
