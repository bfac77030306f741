//! `cp.async`: asynchronous loads from global to shared memory (PTX ISA, "Data Movement and
//! Conversion Instructions: Non-bulk copy").
//!
//! ```text
//! copy(..), copy(..)      each thread starts its loads
//! commit()                they become one group; groups of a thread complete in the order of their commits
//! wait::<1>()             all groups of this thread but the latest are complete, and visible to this thread
//! barrier                 RAW: the whole CTA sees what its threads waited for
//! ```
//!
//! Until a thread's wait covers a load, nobody may access the bytes that it writes, or write those that it reads. Only
//! waits order the loads of one thread.
//!
//! The instructions exist from `sm_80` on. On older targets a load is synchronous, and commits and waits do nothing: a
//! kernel that is correct with the instructions is correct without.

use bytemuck::Pod;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_views::async_copy;
use cuda_views::{Global, Shared};

/// Elements `to_index ..+ N` of `to` become elements `from_index() ..+ N` of `from`, of which only the first `valid` (0
/// to `N`) are read; zeros take the place of the others. Asynchronous: they are complete once [`wait`] covers them.
///
/// `N * size_of::<T>()` is 4, 8 or 16 bytes. 16 bytes go past L1 (`cp.async.cg`), fewer through it (`cp.async.ca`).
/// Where the architecture's PTX has the hint (from `sm_87` on; `sm_80` and `sm_86` come with PTX 7.0 and 7.1, the hint
/// with 7.4), L2 is asked to fetch the 128 bytes around the source.
///
/// With `valid` 0 nothing is read: `from_index` may be left uncalled, or give an index outside `from`, but must not
/// panic. Partial copies, `valid` neither 0 nor `N`, cost `ptxas` a few more instructions than those that it sees to be
/// all or nothing, and compute-sanitizer's memcheck (2025.3) takes them for reads of all `N`: it ends a kernel that
/// makes one at the end of an allocation.
///
/// # Safety
/// - Elements `to_index ..+ N` are in `to`; their address is a multiple of all their bytes.
/// - `valid` is at most `N`. Elements `from_index() ..+ valid` are in `from`; the address of the first is a multiple of
///   the bytes of `N`.
/// - From here until this thread waits, no thread accesses those elements of `to`, and none writes those of `from`.
///   A barrier orders earlier accesses by other threads before this.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn copy<T: Pod, const N: usize>(
    to: Shared<T>,
    to_index: u32,
    from: Global<T>,
    from_index: impl FnOnce() -> usize,
    valid: u32,
) {
    const {
        assert!(matches!(N * size_of::<T>(), 4 | 8 | 16), "a copy has 4, 8 or 16 bytes");
    }
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "nvptx64")]
        if const { ARCH >= 800 } {
            start::<T, N>(to, to_index, from, from_index(), valid);
        } else {
            copy_now::<T, N>(to, to_index, from, from_index(), valid);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        async_copy::copy::<T, N>(to, to_index as usize, from, from_index, valid as usize);
    }
}

/// Makes one group of all loads that this thread has started since the last commit, or an empty one:
/// `cp.async.commit_group`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn commit() {
    #[cfg(target_arch = "nvptx64")]
    if const { ARCH >= 800 } {
        // SAFETY: copies that this thread has started keep what their starts promised.
        unsafe { core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags)) };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    async_copy::commit();
}

/// Waits until at most `PENDING` of the latest groups of this thread are pending: `cp.async.wait_group`. The others are
/// then visible to this thread, and after a barrier to other threads. Loads that were never committed are not waited
/// for.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn wait<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    if const { ARCH >= 800 } {
        // SAFETY: shared memory changes only where the starts of copies promised that nobody looks.
        unsafe { core::arch::asm!("cp.async.wait_group {};", const PENDING, options(nostack, preserves_flags)) };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    async_copy::wait(PENDING);
}

/// The architecture that is compiled for, as `cuda_builder` gives it: 900 for 9.0.
#[cfg(target_arch = "nvptx64")]
pub(super) const ARCH: u32 = match u32::from_str_radix(env!("CUDA_ARCH", "set by cuda_builder"), 10) {
    Ok(number) => number,
    Err(_) => panic!("CUDA_ARCH is no number"),
};

/// [`copy`] by `cp.async`.
///
/// # Safety
/// As for [`copy`]; the architecture has the instruction.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn start<T: Pod, const N: usize>(to: Shared<T>, to_index: u32, from: Global<T>, from_index: usize, valid: u32) {
    use cuda_std::ptr::{AddressSpace, convert_generic_to_specific_address_space as convert};

    let bytes = size_of::<T>();
    // The starts of the views are converted, not the addresses of the elements: in a loop that leaves no conversion.
    // SAFETY: each view starts in its memory.
    let (to, from) = unsafe {
        (
            convert(to.as_mut_ptr().cast_const(), AddressSpace::Shared).addr() as u32,
            convert(from.as_ptr(), AddressSpace::Global),
        )
    };
    let to = to + to_index * bytes as u32;
    let from = from.wrapping_add(from_index);
    let valid = valid * bytes as u32;
    macro_rules! cp_async {
        ($instruction:literal, $bytes:literal) => {
            // SAFETY: the caller's promise. With `valid` 0 the source is not read.
            unsafe {
                core::arch::asm!(
                    concat!($instruction, " [{to}], [{from}], ", $bytes, ", {valid};"),
                    to = in(reg32) to,
                    from = in(reg64) from,
                    valid = in(reg32) valid,
                    options(nostack, preserves_flags),
                )
            }
        };
    }
    match const { (N * size_of::<T>(), ARCH >= 870) } {
        (4, false) => cp_async!("cp.async.ca.shared.global", 4),
        (8, false) => cp_async!("cp.async.ca.shared.global", 8),
        (_, false) => cp_async!("cp.async.cg.shared.global", 16),
        (4, true) => cp_async!("cp.async.ca.shared.global.L2::128B", 4),
        (8, true) => cp_async!("cp.async.ca.shared.global.L2::128B", 8),
        (_, true) => cp_async!("cp.async.cg.shared.global.L2::128B", 16),
    }
}

/// [`copy`] by loads and stores.
///
/// # Safety
/// As for [`copy`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn copy_now<T: Pod, const N: usize>(
    to: Shared<T>,
    to_index: u32,
    from: Global<T>,
    from_index: usize,
    valid: u32,
) {
    for i in 0..N {
        // SAFETY: the caller's promise.
        unsafe {
            let element = from.get_if((i as u32) < valid, || from_index + i, T::zeroed());
            to.set(to_index as usize + i, element);
        }
    }
}
