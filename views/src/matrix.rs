//! Warp matrix instructions in the simulator: the host side of `ldmatrix`, `stmatrix` and `mma.sync`.
//!
//! The functions with the instructions are in the kernel crate; on the host they call this module. All 32 lanes of a
//! warp must reach the same source location; if one does not, the others wait forever, which the simulator reports as a
//! deadlock. Nothing here orders memory accesses.

use core::panic::Location;

use bytemuck::Pod;
use cuda_sim::access::{self, MatrixAccess};

use crate::Shared;

pub use cuda_sim::device::{LaneWords, warp_gather};

/// Loads `N` matrices, 1, 2 or 4, of 8 x 8 elements of 2 bytes. Lane `8 i + r` passes element `index` of `from`, the
/// start of row `r` of matrix `i`. Each lane receives two elements of each matrix, the first one in the lower half: row
/// `lane / 4`, columns `2 (lane % 4)` and the next; or, `transposed`, column `lane / 4`, rows `2 (lane % 4)` and the
/// next.
///
/// # Safety
/// As for [every access](crate#safety-of-accesses): a read of elements `index ..+ 8` of `from` by every lane, also by
/// lanes whose row no matrix uses. Their address is a multiple of 16.
#[track_caller]
pub unsafe fn load<T: Pod, const N: usize>(from: Shared<T>, index: usize, transposed: bool) -> [u32; N] {
    let access = row::<T, N>(from, index, transposed);
    // SAFETY: the caller's promise.
    let elements = unsafe { access::load_matrices(&access, Location::caller()) };
    core::array::from_fn(|matrix| elements[matrix])
}

/// Stores `N` matrices, 1, 2 or 4, with rows and elements as for [`load`].
///
/// # Safety
/// As for [`load`], with a write of the matrices' rows.
#[track_caller]
pub unsafe fn store<T: Pod, const N: usize>(to: Shared<T>, index: usize, elements: [u32; N], transposed: bool) {
    let access = row::<T, N>(to, index, transposed);
    let mut all = [0; 4];
    all[..N].copy_from_slice(&elements);
    // SAFETY: the caller's promise.
    unsafe { access::store_matrices(&access, all, Location::caller()) };
}

fn row<T: Pod, const N: usize>(view: Shared<T>, index: usize, transposed: bool) -> MatrixAccess {
    const {
        assert!(matches!(N, 1 | 2 | 4), "1, 2 or 4 matrices");
        assert!(size_of::<T>() == 2, "elements have 2 bytes");
    }
    let view = view.0;
    MatrixAccess {
        row: view.as_mut_ptr().wrapping_add(index).cast(),
        part: view.addresses(),
        matrices: N,
        transposed,
    }
}
