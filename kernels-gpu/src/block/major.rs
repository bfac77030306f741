//! Majors of A and B as types, so that they are constants of a kernel.

use tilewright_contract::{Major, span_elems};

/// Major of an operand, and how many elements one load of it has.
pub trait OperandMajor {
    /// The contiguous index in global memory.
    const MAJOR: Major;
    /// Elements of one load.
    const VECTOR: u32;
}

/// Contiguous along K: A as it is, B transposed. `VECTOR` elements per load.
pub struct KMajor<const VECTOR: u32 = 8>;

impl<const VECTOR: u32> OperandMajor for KMajor<VECTOR> {
    const MAJOR: Major = Major::K;
    const VECTOR: u32 = VECTOR;
}

/// Contiguous along M or N: A transposed, B as it is. `VECTOR` elements per load.
pub struct MnMajor<const VECTOR: u32 = 8>;

impl<const VECTOR: u32> OperandMajor for MnMajor<VECTOR> {
    const MAJOR: Major = Major::Mn;
    const VECTOR: u32 = VECTOR;
}

/// Elements of a whole operand, from its first to its last; `mn` is its extent along M or N.
#[inline(always)]
pub fn span<L: OperandMajor>(mn: u32, k: u32, ld: u32) -> usize {
    let (mn, k, ld) = (mn as usize, k as usize, ld as usize);
    if const { L::MAJOR.is_k() } {
        span_elems(mn, k, ld)
    } else {
        span_elems(k, mn, ld)
    }
}

/// Elements from one k-tile of `block_k` elements to the next.
#[inline(always)]
pub fn k_tile_elems<L: OperandMajor>(block_k: u32, ld: u32) -> usize {
    block_k as usize * if const { L::MAJOR.is_k() } { 1 } else { ld as usize }
}
