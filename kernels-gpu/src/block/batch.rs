//! The product of a batch that a CTA computes: along y the grid has a row for each.

use tilewright_contract::GemmParams;

use crate::ptx::ctaid;

/// Address of A of this CTA's product.
#[inline(always)]
pub fn a<E>(params: &GemmParams<E>) -> *const E {
    params.a.wrapping_add(this(params.stride_a))
}

/// Address of B of this CTA's product.
#[inline(always)]
pub fn b<E>(params: &GemmParams<E>) -> *const E {
    params.b.wrapping_add(this(params.stride_b))
}

/// Address of C, of elements of `O`, of this CTA's product.
#[inline(always)]
pub fn c<E, O>(params: &GemmParams<E>) -> *mut O {
    params.c.cast::<O>().wrapping_add(this(params.stride_c))
}

/// Elements from the first matrix of a batch to that of this CTA's product.
#[inline(always)]
fn this(stride: u64) -> usize {
    offset(stride, ctaid::y())
}

/// Elements from the first matrix of a batch to that of product `index`.
#[inline(always)]
pub fn offset(stride: u64, index: u32) -> usize {
    stride as usize * index as usize
}
