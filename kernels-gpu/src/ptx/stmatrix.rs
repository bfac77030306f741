//! `stmatrix`: a warp stores 8 x 8 matrices of elements of 2 bytes to shared memory (PTX ISA, "Warp Level Matrix
//! Instructions: stmatrix").
//!
//! The counterpart of [`ldmatrix`](super::ldmatrix): the same lanes bring the same rows, and each lane gives the
//! elements that it would get there ([`ldmatrix::element`](super::ldmatrix::element)). A row is thus written by four
//! lanes, and others see it after a barrier.
//!
//! Exists from `sm_90` on.

use bytemuck::Pod;
use cuda_views::Shared;

/// Stores `N` matrices, 1, 2 or 4: `stmatrix.sync.aligned.m8n8.xN.shared.b16`. This lane's row begins at element
/// `index` of `to`.
///
/// # Safety
/// - All 32 lanes of the warp execute this together.
/// - Elements `index ..+ 8` of every lane, also of those that bring no row of a matrix, lie in `to`; their address is a
///   multiple of 16.
/// - Nobody accesses the rows of the matrices at the same time, and no two of them overlap.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn store<T: Pod, const N: usize>(to: Shared<T>, index: u32, elements: [u32; N]) {
    // SAFETY: the caller's promise.
    unsafe { any::<T, N, false>(to, index, elements) }
}

/// [`store`], with rows and columns of each matrix exchanged: `.trans`.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn store_transposed<T: Pod, const N: usize>(to: Shared<T>, index: u32, elements: [u32; N]) {
    // SAFETY: the caller's promise.
    unsafe { any::<T, N, true>(to, index, elements) }
}

/// Either.
///
/// # Safety
/// As for [`store`].
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
#[track_caller]
unsafe fn any<T: Pod, const N: usize, const TRANSPOSED: bool>(to: Shared<T>, index: u32, elements: [u32; N]) {
    // SAFETY: the caller's promise.
    unsafe { cuda_views::matrix::store(to, index as usize, elements, TRANSPOSED) }
}

/// Either.
///
/// # Safety
/// As for [`store`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn any<T: Pod, const N: usize, const TRANSPOSED: bool>(to: Shared<T>, index: u32, elements: [u32; N]) {
    const {
        assert!(super::async_copy::ARCH >= 900, "stmatrix exists from sm_90 on");
        assert!(matches!(N, 1 | 2 | 4), "1, 2 or 4 matrices");
        assert!(size_of::<T>() == 2, "elements have 2 bytes");
    }
    let row = super::shared_address::shared_address(to, index);
    macro_rules! stmatrix {
        ($instruction:literal, $registers:literal, $($register:literal)*) => {
            // SAFETY: the caller's promise.
            unsafe {
                core::arch::asm!(
                    concat!("stmatrix.sync.aligned.m8n8.", $instruction, ".shared.b16 [{row}], {{", $registers, "}};"),
                    $(in(reg32) elements[const { if $register < N { $register } else { 0 } }],)*
                    row = in(reg32) row,
                    options(nostack, preserves_flags),
                )
            }
        };
    }
    match const { (N, TRANSPOSED) } {
        (1, false) => stmatrix!("x1", "{0}", 0),
        (2, false) => stmatrix!("x2", "{0}, {1}", 0 1),
        (_, false) => stmatrix!("x4", "{0}, {1}, {2}, {3}", 0 1 2 3),
        (1, true) => stmatrix!("x1.trans", "{0}", 0),
        (2, true) => stmatrix!("x2.trans", "{0}, {1}", 0 1),
        (_, true) => stmatrix!("x4.trans", "{0}, {1}, {2}, {3}", 0 1 2 3),
    }
}
