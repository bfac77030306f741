//! The matrices of one product.

use cuda_views::{Global, GlobalMut};
use tilewright_contract::{GemmArgs, GemmParams, Operand};

use crate::block::element::Element;

/// The operands of one product in global memory, row-major, as `args` describes them.
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
    /// Those of a launch. Each view reaches from the first to the last element of its matrix.
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
