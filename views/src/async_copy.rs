//! Asynchronous copies in the simulator: the host side of `cp.async`.
//!
//! The function with the instruction is in the kernel crate; on the host it calls this module. The simulator reports
//! accesses to a copy's destination, and changes of its source, before the copying thread has waited for it.

use core::panic::Location;

use bytemuck::Pod;
use cuda_sim::access::{self, AsyncCopyAccess};
use cuda_sim::device;

use crate::{Global, Shared};

/// Starts a copy of `N` elements from element `from_index()` of `from` on to those from element `to_index` of `to` on,
/// all of them 4, 8 or 16 bytes. The first `valid` are read, the others are zero-filled; with 0 `from_index` is not
/// called.
///
/// # Safety
/// As for [every access](crate#safety-of-accesses): a read of elements `from_index() ..+ valid` of `from`, and a write
/// of elements `to_index ..+ N` of `to`, both until the thread has waited. `valid` is at most `N`, and both addresses
/// are multiples of the bytes of `N` elements.
#[track_caller]
pub unsafe fn copy<T: Pod, const N: usize>(
    to: Shared<T>,
    to_index: usize,
    from: Global<T>,
    from_index: impl FnOnce() -> usize,
    valid: usize,
) {
    const {
        assert!(matches!(N * size_of::<T>(), 4 | 8 | 16), "a copy has 4, 8 or 16 bytes");
    }
    assert!(valid <= N, "{valid} valid elements of a copy of {N}");
    let (to, from) = (to.0, from.0);
    let from_index = if valid > 0 { from_index() } else { 0 };
    let copy = AsyncCopyAccess {
        to: to.as_mut_ptr().wrapping_add(to_index).cast(),
        to_part: to.addresses(),
        from: from.as_mut_ptr().wrapping_add(from_index).cast_const().cast(),
        from_part: from.addresses(),
        bytes: N * size_of::<T>(),
        valid: valid * size_of::<T>(),
    };
    // SAFETY: the caller's promise.
    unsafe { access::async_copy(copy, Location::caller()) };
}

/// Commits the copies that the thread has started since its last commit.
#[track_caller]
pub fn commit() {
    device::async_commit();
}

/// Completes the thread's copies except those of its latest `pending` groups and uncommitted ones.
#[track_caller]
pub fn wait(pending: u32) {
    device::async_wait(pending);
}
