//! `ldmatrix`: a warp loads 8 x 8 matrices of elements of 2 bytes from shared memory, as [`mma`](super::mma) takes them
//! (PTX ISA, "Warp Level Matrix Instructions: ldmatrix").
//!
//! # Addresses
//!
//! A row of a matrix is 8 neighboring elements, 16 bytes at a multiple of 16; rows may be anywhere.
//!
//! ```text
//! lanes     0 - 7        8 - 15       16 - 23      24 - 31
//! bring     rows 0 - 7   rows 0 - 7   rows 0 - 7   rows 0 - 7
//! of matrix 0            1            2            3            1 matrix: lanes 0 - 7 alone; 2: lanes 0 - 15
//! ```
//!
//! # Fragments
//!
//! Of each matrix a lane gets two elements in one register, the first one in the lower half:
//!
//! ```text
//!                    rows                           columns
//! load               lane / 4                       2 (lane % 4), 2 (lane % 4) + 1
//! load_transposed    2 (lane % 4), 2 (lane % 4) + 1 lane / 4
//! ```
//!
//! which is [`element`]. A row that one lane addresses thus goes to four others: what they read must be ordered before,
//! by a barrier or, for rows of the own warp, `sync_warp`. The instruction orders no memory.
//!
//! Each matrix is one pass through the banks where its 8 rows lie in 8 different sixteenths of 128 bytes.

use bytemuck::Pod;
use cuda_views::Shared;

/// Row and column of element `which` (0 or 1: the lower half of the register, the upper) of `lane` in a matrix.
#[inline(always)]
pub const fn element(lane: u32, which: u32, transposed: bool) -> (u32, u32) {
    let (along, pair) = (lane / 4, 2 * (lane % 4) + which);
    if transposed { (pair, along) } else { (along, pair) }
}

/// Loads `N` matrices, 1, 2 or 4: `ldmatrix.sync.aligned.m8n8.xN.shared.b16`. This lane's row begins at element `index`
/// of `from`.
///
/// Exists from `sm_75` on.
///
/// # Safety
/// - All 32 lanes of the warp execute this together.
/// - Elements `index ..+ 8` of every lane, also of those that feed no matrix, lie in `from`; their address is a
///   multiple of 16.
/// - Nobody writes the rows of the matrices at the same time.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load<T: Pod, const N: usize>(from: Shared<T>, index: u32) -> [u32; N] {
    // SAFETY: the caller's promise.
    unsafe { any::<T, N, false>(from, index) }
}

/// [`load`], with rows and columns of each matrix exchanged: `.trans`.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_transposed<T: Pod, const N: usize>(from: Shared<T>, index: u32) -> [u32; N] {
    // SAFETY: the caller's promise.
    unsafe { any::<T, N, true>(from, index) }
}

/// Either.
///
/// # Safety
/// As for [`load`].
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
#[track_caller]
unsafe fn any<T: Pod, const N: usize, const TRANSPOSED: bool>(from: Shared<T>, index: u32) -> [u32; N] {
    // SAFETY: the caller's promise.
    unsafe { cuda_views::matrix::load(from, index as usize, TRANSPOSED) }
}

/// Either.
///
/// # Safety
/// As for [`load`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn any<T: Pod, const N: usize, const TRANSPOSED: bool>(from: Shared<T>, index: u32) -> [u32; N] {
    const {
        assert!(matches!(N, 1 | 2 | 4), "1, 2 or 4 matrices");
        assert!(size_of::<T>() == 2, "elements have 2 bytes");
    }
    let row = super::shared_address::shared_address(from, index);
    let mut to = [0_u32; 4];
    macro_rules! ldmatrix {
        ($instruction:literal, $registers:literal, $($register:literal)*) => {
            // SAFETY: the caller's promise. Loads in the order of the program with other accesses to memory, and not
            // `pure`: it stays where all lanes are.
            unsafe {
                core::arch::asm!(
                    concat!("ldmatrix.sync.aligned.m8n8.", $instruction, ".shared.b16 {{", $registers, "}}, [{row}];"),
                    $(out(reg32) to[$register],)*
                    row = in(reg32) row,
                    options(readonly, nostack, preserves_flags),
                )
            }
        };
    }
    match const { (N, TRANSPOSED) } {
        (1, false) => ldmatrix!("x1", "{0}", 0),
        (2, false) => ldmatrix!("x2", "{0}, {1}", 0 1),
        (_, false) => ldmatrix!("x4", "{0}, {1}, {2}, {3}", 0 1 2 3),
        (1, true) => ldmatrix!("x1.trans", "{0}", 0),
        (2, true) => ldmatrix!("x2.trans", "{0}, {1}", 0 1),
        (_, true) => ldmatrix!("x4.trans", "{0}, {1}, {2}, {3}", 0 1 2 3),
    }
    core::array::from_fn(|matrix| to[matrix])
}
