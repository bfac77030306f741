//! A, B and C in global memory.

use cuda_views::{Global, GlobalMut};
use tilewright_contract::{GemmArgs, GemmParams, Operand};

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
    /// The matrices of a launch. Each view covers its matrix from the first to the last element.
    ///
    /// # Safety
    /// `params.a`, `.b`, `.c` are the matrices that `params` describes, in global memory, not transposed; `c` overlaps
    /// neither.
    #[inline(always)]
    pub unsafe fn new(params: &GemmParams<E>) -> Self {
        let args = params.args();
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                a: Global::new_with(params.a, || args.span_elems(Operand::A)),
                b: Global::new_with(params.b, || args.span_elems(Operand::B)),
                c: GlobalMut::new_with(params.c, || args.span_elems(Operand::C)),
                args,
            }
        }
    }
}
