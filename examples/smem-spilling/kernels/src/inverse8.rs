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
//! pivoting is stable (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 9.5). A block-Jacobi
//! preconditioner inverts such blocks, one for each node of a grid with eight unknowns.
//!
//! Layout: interleaved. Element (i, j) of matrix t is at `(8 i + j) * count + t`, so that the lanes of a warp load
//! neighbors ([`index`]).
//!
//! Registers: 64 elements and what a step needs besides. f64 takes two registers an element, which leaves a
//! SM few warps; f32 takes one.

use core::ops::{Div, Mul, Sub};

use bytemuck::Pod;
use cuda_std::thread;
use cuda_views::{Global, GlobalMut};

/// Rows and columns of a matrix.
pub const SIDE: usize = 8;

/// The most matrices whose elements can be counted in 31 bits.
pub const MAX_COUNT: u32 = i32::MAX as u32 / (SIDE * SIDE) as u32;

/// Bytes of static shared memory of the body: all of it is registers.
pub const SHARED_BYTES: u32 = 0;

/// Elements of `count` matrices.
#[inline(always)]
pub const fn elems(count: u32) -> usize {
    SIDE * SIDE * count as usize
}

/// Where element (i, j) of matrix `t` of `count` is, in elements.
#[inline(always)]
pub const fn index(i: u32, j: u32, t: u32, count: u32) -> usize {
    (SIDE as u32 * i + j) as usize * count as usize + t as usize
}

/// An element type to eliminate with.
pub trait Scalar: Pod + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
}

impl Scalar for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
}

impl Scalar for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
}

/// `for $i in 0..SIDE`, on a GPU with every iteration written out: an array that is indexed at run time would live in
/// local memory. On the host it is a plain loop, which compiles faster.
macro_rules! unrolled {
    (|$i:ident| $body:expr) => {{
        #[cfg(target_arch = "nvptx64")]
        unrolled!(@ $i, $body, 0 1 2 3 4 5 6 7);
        #[cfg(not(target_arch = "nvptx64"))]
        for $i in 0..SIDE {
            $body;
        }
    }};
    (@ $i:ident, $body:expr, $($value:literal)*) => {$({
        let $i = $value;
        $body;
    })*};
}

/// One step of Gauss-Jordan, in place: pivot `(k, k)`.
#[inline(always)]
fn eliminate<T: Scalar>(m: &mut [[T; SIDE]; SIDE], k: usize) {
    let pivot = T::ONE / m[k][k];
    let mut row = m[k];
    unrolled!(|j| row[j] = if j == k { pivot } else { row[j] * pivot });
    unrolled!(|i| {
        if i != k {
            let factor = m[i][k];
            unrolled!(|j| {
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
/// `from` and `to` are `count` interleaved matrices in global memory each, at most [`MAX_COUNT`], and do not overlap.
/// Grid and CTA are one-dimensional.
#[inline(always)]
pub unsafe fn invert<T: Scalar>(from: *const T, to: *mut T, count: u32) {
    let t = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if t >= count {
        return;
    }
    // SAFETY: the caller's promise.
    let (from, to) = unsafe {
        (
            Global::new_with(from, || elems(count)),
            GlobalMut::new_with(to, || elems(count)),
        )
    };
    let mut m = [[T::ZERO; SIDE]; SIDE];
    macro_rules! each_row {
        ($($k:literal)*) => {
            $(unrolled!(|j| {
                // SAFETY: t < count.
                m[$k][j] = unsafe { from.get(index($k, j as u32, t, count)) };
            });)*
            $(eliminate(&mut m, $k);)*
            $(unrolled!(|j| {
                // SAFETY: t < count, and no other thread writes matrix t.
                unsafe { to.set(index($k, j as u32, t, count), m[$k][j]) };
            });)*
        };
    }
    each_row!(0 1 2 3 4 5 6 7);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_place_of_its_own() {
        const COUNT: u32 = 3;
        let mut taken = [false; elems(COUNT)];
        for place in 0..elems(COUNT) as u32 {
            let (i, j, t) = (place / (8 * COUNT), place / COUNT % 8, place % COUNT);
            assert!(
                !core::mem::replace(&mut taken[index(i, j, t, COUNT)], true),
                "({i}, {j}) of matrix {t}"
            );
        }
        assert!(elems(MAX_COUNT) <= i32::MAX as usize);
    }
}
