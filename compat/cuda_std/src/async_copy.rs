//! `cp.async`: copies from global to shared memory that proceed while the thread continues (PTX 9.7.9.25.3). Beyond
//! 0.2.2.
//!
//! A thread issues copies, seals those that it has issued into a group, and waits for groups, which finish in order.
//! The wait is for the thread's own copies: other threads of the block see the bytes after a barrier that follows it.
//!
//! The instructions exist from compute capability 8.0 on. For 7.5 a copy is a load and a store, complete when the
//! function returns.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use {
    crate::cfg::ComputeCapability,
    crate::ptr::{AddressSpace, convert_generic_to_specific_address_space as convert},
    core::arch::asm,
};
#[cfg(not(target_arch = "nvptx64"))]
use {
    core::panic::Location,
    cuda_sim::access::{self, AsyncCopyAccess},
    cuda_sim::device,
};

/// Whether the architecture that is compiled for has the instructions.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn available() -> bool {
    ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute80
}

/// Issues one copy by `$operator` (`ca.shared.global` or `cg.shared.global`), with the number of bytes as a literal.
#[cfg(target_arch = "nvptx64")]
macro_rules! issue {
    ($operator:literal, $bytes:literal, $dst:ident, $src:ident) => {
        asm!(
            concat!("cp.async.", $operator, " [{}], [{}], ", $bytes, ";"),
            in(reg32) $dst,
            in(reg64) $src,
            options(nostack, preserves_flags),
        )
    };
}

/// Copies a `T` of 4, 8 or 16 bytes from global to shared memory through L1 and L2 (`cp.async.ca`). Any other size does
/// not compile.
///
/// The bytes are there once [`cp_async_wait_group`] covers the group of the copy, or [`cp_async_wait_all`] returns.
///
/// # Safety
///
/// - `dst` must be valid for writes and lie in shared memory, `src` must be valid for reads and lie in global memory;
///   both aligned to the size of `T`.
/// - Until the thread has waited, no thread may access `*dst` or write `*src`.
#[gpu_only(sim = {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async copies 4, 8 or 16 bytes") };
    // SAFETY: as the caller promises.
    unsafe { copy_on_host(dst, src) }
})]
#[inline(always)]
pub unsafe fn cp_async_ca<T>(dst: *mut T, src: *const T) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async copies 4, 8 or 16 bytes") };
    // SAFETY: as the caller promises. Addresses within shared memory have 32 bits.
    unsafe {
        if !available() {
            return dst.copy_from_nonoverlapping(src, 1);
        }
        let dst = convert(dst, AddressSpace::Shared) as u32;
        let src = convert(src, AddressSpace::Global);
        match size_of::<T>() {
            4 => issue!("ca.shared.global", "4", dst, src),
            8 => issue!("ca.shared.global", "8", dst, src),
            _ => issue!("ca.shared.global", "16", dst, src),
        }
    }
}

/// Copies a `T` of 16 bytes from global to shared memory through L2 only (`cp.async.cg`), for data that is read once.
/// Any other size does not compile.
///
/// # Safety
///
/// As for [`cp_async_ca`].
#[gpu_only(sim = {
    const { assert!(size_of::<T>() == 16, "cp.async.cg copies 16 bytes") };
    // SAFETY: as the caller promises.
    unsafe { copy_on_host(dst, src) }
})]
#[inline(always)]
pub unsafe fn cp_async_cg<T>(dst: *mut T, src: *const T) {
    const { assert!(size_of::<T>() == 16, "cp.async.cg copies 16 bytes") };
    // SAFETY: as the caller promises. Addresses within shared memory have 32 bits.
    unsafe {
        if !available() {
            return dst.copy_from_nonoverlapping(src, 1);
        }
        let dst = convert(dst, AddressSpace::Shared) as u32;
        let src = convert(src, AddressSpace::Global);
        issue!("cg.shared.global", "16", dst, src);
    }
}

/// Makes one group of the copies that the thread has issued since it last did, or an empty one
/// (`cp.async.commit_group`).
#[gpu_only(sim = device::async_commit)]
#[inline(always)]
pub fn cp_async_commit_group() {
    if available() {
        // SAFETY: the copies keep what their callers promised.
        unsafe { asm!("cp.async.commit_group;", options(nostack, preserves_flags)) };
    }
}

/// Waits until at most `N` of the thread's latest groups are still under way (`cp.async.wait_group`). Copies in no
/// group are not waited for.
#[gpu_only(sim = { device::async_wait(N) })]
#[inline(always)]
pub fn cp_async_wait_group<const N: u32>() {
    if available() {
        // SAFETY: shared memory changes only where the callers of the copies promised that no thread looks.
        unsafe { asm!("cp.async.wait_group {};", const N, options(nostack, preserves_flags)) };
    }
}

/// Waits for all copies of the thread, in a group or not (`cp.async.wait_all`).
#[gpu_only(sim = {
    device::async_commit();
    device::async_wait(0);
})]
#[inline(always)]
pub fn cp_async_wait_all() {
    if available() {
        // SAFETY: as in `cp_async_wait_group`.
        unsafe { asm!("cp.async.wait_all;", options(nostack, preserves_flags)) };
    }
}

/// A copy in the simulator, which checks both ends.
///
/// # Safety
///
/// As for [`cp_async_ca`].
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
unsafe fn copy_on_host<T>(dst: *mut T, src: *const T) {
    let bytes = size_of::<T>();
    let copy = AsyncCopyAccess {
        to: dst.cast(),
        to_part: dst.addr()..dst.addr() + bytes,
        from: src.cast(),
        from_part: src.addr()..src.addr() + bytes,
        bytes,
        valid: bytes,
    };
    // SAFETY: as the caller promises.
    unsafe { access::async_copy(copy, Location::caller()) };
}
