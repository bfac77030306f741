//! Operands as the reference and the checks read them: not transposed.

use std::borrow::Cow;

use rayon::prelude::*;
use tilewright_contract::{GemmShape, Operand, Transpose};

use crate::element::Element;

/// A shape whose A and B are not transposed, with the operands to it.
pub(crate) struct Plain<'a, T: Element> {
    pub(crate) shape: GemmShape,
    pub(crate) a: Cow<'a, [T]>,
    pub(crate) b: Cow<'a, [T]>,
}

impl<'a, T: Element> Plain<'a, T> {
    /// Transposes what has to be, of one product. The slices are as long as the shape says.
    pub(crate) fn new(shape: &GemmShape, a: &'a [T], b: &'a [T]) -> Self {
        let (a, lda) = plain(shape, Operand::A, a);
        let (b, ldb) = plain(shape, Operand::B, b);
        let (_, _, ldc) = shape.extents(Operand::C);
        let shape = GemmShape::with_ld(shape.m(), shape.n(), shape.k(), lda, ldb, ldc).expect("no extent is new");
        Self { shape, a, b }
    }
}

/// An operand and its leading dimension.
fn plain<'a, T: Element>(shape: &GemmShape, operand: Operand, stored: &'a [T]) -> (Cow<'a, [T]>, usize) {
    let (rows, columns, ld) = shape.extents(operand);
    match shape.transpose(operand) {
        Transpose::No => (Cow::Borrowed(stored), ld),
        Transpose::Yes => {
            // Row by row of the result: `rows` of what is stored are its columns.
            let mut transposed = vec![T::from_f64(0.0); rows * columns];
            transposed
                .par_chunks_mut(rows.max(1))
                .enumerate()
                .for_each(|(column, line)| {
                    for (row, element) in line.iter_mut().enumerate() {
                        *element = stored[row * ld + column];
                    }
                });
            (Cow::Owned(transposed), rows)
        }
    }
}
