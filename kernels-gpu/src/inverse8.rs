//! The inverses of many 8 x 8 matrices, one matrix a thread: the whole matrix lives in registers.
//!
//! ```text
//! load the thread's matrix                                         64 loads, each coalesced over the warp
//! for each pivot k of 0 .. 8:                                      Gauss-Jordan in place, without pivoting
//!     p = 1 / m[k][k]
//!     row k *= p, and m[k][k] = p
//!     every other row i -= m[i][k] * row k, where its own column k counts as 0
//! store it
//! ```
//!
//! Precondition: the matrices are strictly diagonally dominant by rows or columns, for which elimination without
//! pivoting is stable (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 9.5). Such blocks are
//! what a block-Jacobi preconditioner inverts, one for each node of a grid with eight unknowns.
//!
//! Layout: interleaved. Element (i, j) of matrix t stands at `(8 i + j) * count + t`, so that the lanes of a warp load
//! neighbours ([`Inverse8::index`]).
//!
//! Registers: 64 elements and what a step needs besides. f64 takes two registers an element, which leaves a
//! multiprocessor of 65536 registers with at most 448 such threads: a good reason to think about spilling.

use core::ops::{Div, Mul, Sub};

use cuda_std::thread;
use cuda_views::{Global, GlobalMut};
use tilewright_contract::Inverse8;

use crate::element::Element;
use crate::unroll::unrolled;

const SIDE: usize = Inverse8::SIDE as usize;

/// A type to eliminate with.
pub trait Scalar: Element + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// One.
    const ONE: Self;
}

impl Scalar for f32 {
    const ONE: Self = 1.0;
}

impl Scalar for f64 {
    const ONE: Self = 1.0;
}

/// One step of Gauss-Jordan, in place: pivot `(k, k)`.
#[inline(always)]
fn eliminate<T: Scalar>(m: &mut [[T; SIDE]; SIDE], k: usize) {
    let pivot = T::ONE / m[k][k];
    let mut row = m[k];
    unrolled!(SIDE, at most 8, |j| row[j] = if j == k { pivot } else { row[j] * pivot });
    unrolled!(SIDE, at most 8, |i| {
        if i != k {
            let factor = m[i][k];
            unrolled!(SIDE, at most 8, |j| {
                let without = if j == k { T::ZERO } else { m[i][j] };
                m[i][j] = without - factor * row[j];
            });
        }
    });
    m[k] = row;
}

/// Inverts this thread's matrix: matrix `t` for thread `t` of the grid.
///
/// # Safety
/// `from` and `to` are `count` interleaved matrices in global memory each, and do not overlap. Grid and block are
/// one-dimensional.
#[inline(always)]
pub unsafe fn inverse8<T: Scalar>(from: *const T, to: *mut T, count: u32) {
    let t = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if t >= count {
        return;
    }
    // SAFETY: the caller's promise.
    let (from, to) = unsafe {
        (
            Global::new_with(from, || Inverse8::elems(count)),
            GlobalMut::new_with(to, || Inverse8::elems(count)),
        )
    };
    let mut m = [[T::ZERO; SIDE]; SIDE];
    // Every step written out: elements that are indexed at run time would live in local memory.
    macro_rules! each {
        ($($k:literal)*) => {
            $(unrolled!(SIDE, at most 8, |j| {
                // SAFETY: t < count.
                m[$k][j] = unsafe { from.get(Inverse8::index($k, j as u32, t, count)) };
            });)*
            $(eliminate(&mut m, $k);)*
            $(unrolled!(SIDE, at most 8, |j| {
                // SAFETY: t < count, and no other thread writes matrix t.
                unsafe { to.set(Inverse8::index($k, j as u32, t, count), m[$k][j]) };
            });)*
        };
    }
    each!(0 1 2 3 4 5 6 7);
}
