//! Barriers in shared memory that count arrivals and bytes (PTX ISA, "Parallel Synchronization and Communication
//! Instructions: mbarrier"), for `sm_90` and later.
//!
//! ```text
//! init(count), fence_init()          one thread; then a barrier of the CTA
//! arrive_expect_tx(bytes), loads     the producer: one arrival, and the bytes that its TMA loads will write
//! wait(parity)                       the consumers: until all arrivals and all bytes of the phase are there
//! ```
//!
//! A phase is complete when `count` arrivals have come and no byte that was expected is missing; then the next one
//! begins. Phases are numbered from 0; a wait names the parity of its phase, and goes on while the barrier is in the
//! phase after. (A wait for parity 1 on a fresh barrier thus returns at once: the phase before the first one counts as
//! complete, which makes a ring's first round need no exception.)
//!
//! An arrival releases what its thread has done, a wait acquires what the arrivals of the phase have released and what
//! its TMA loads have written.
//!
//! Each function takes a view of barriers, 8 bytes each, and the index of one of them.

use cuda_views::Shared;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_views::mbarrier;

#[cfg(target_arch = "nvptx64")]
use super::shared_address::shared_address;

/// Makes a barrier, whose phases expect `count` arrivals each, of 8 bytes: `mbarrier.init`.
///
/// # Safety
/// - The barrier is in the view, and not initialized yet.
/// - `count` is 1 to 2^20 - 1.
/// - A barrier of the CTA precedes its first use by other threads, and [`fence_init`] its first use by TMA.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn init(barriers: Shared<u64>, index: u32, count: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "mbarrier.init.shared::cta.b64 [{}], {};",
            in(reg32) shared_address(barriers, index),
            in(reg32) count,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    mbarrier::init(barriers, index, count);
}

/// Makes ordinary memory of a barrier: `mbarrier.inval`.
///
/// # Safety
/// It is a barrier that nobody uses any more: a barrier of the CTA separates the two.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn invalidate(barriers: Shared<u64>, index: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "mbarrier.inval.shared::cta.b64 [{}];",
            in(reg32) shared_address(barriers, index),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    mbarrier::invalidate(barriers, index);
}

/// Arrives at the current phase: `mbarrier.arrive`, which releases to the CTA.
///
/// # Safety
/// It is a barrier whose phase lacks this arrival.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn arrive(barriers: Shared<u64>, index: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "mbarrier.arrive.shared::cta.b64 _, [{}];",
            in(reg32) shared_address(barriers, index),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    mbarrier::arrive(barriers, index);
}

/// Lets the current phase expect `bytes` more bytes, then arrives at it: `mbarrier.arrive.expect_tx`.
///
/// # Safety
/// It is a barrier whose phase lacks this arrival. At no time does it wait for more than 2^20 - 1 bytes.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn arrive_expect_tx(barriers: Shared<u64>, index: u32, bytes: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};",
            in(reg32) shared_address(barriers, index),
            in(reg32) bytes,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    mbarrier::arrive_expect_tx(barriers, index, bytes);
}

/// Lets the current phase expect `bytes` more bytes: `mbarrier.expect_tx`.
///
/// # Safety
/// It is a barrier. At no time does it wait for more than 2^20 - 1 bytes.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn expect_tx(barriers: Shared<u64>, index: u32, bytes: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{}], {};",
            in(reg32) shared_address(barriers, index),
            in(reg32) bytes,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    mbarrier::expect_tx(barriers, index, bytes);
}

/// Whether the phase of parity `parity` (0 or 1) is complete: `mbarrier.try_wait.parity`, which acquires if it is, and
/// may wait a while before it says no.
///
/// # Safety
/// It is a barrier, and `parity` that of its current phase or of the one before.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn try_wait(barriers: Shared<u64>, index: u32, parity: u32) -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        let complete: u32;
        // SAFETY: the caller's promise.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred complete;",
                "mbarrier.try_wait.parity.shared::cta.b64 complete, [{barrier}], {parity};",
                "selp.b32 {complete}, 1, 0, complete; }}",
                barrier = in(reg32) shared_address(barriers, index),
                parity = in(reg32) parity,
                complete = out(reg32) complete,
                options(nostack, preserves_flags),
            );
        }
        complete != 0
    }
    #[cfg(not(target_arch = "nvptx64"))]
    mbarrier::try_wait(barriers, index, parity)
}

/// Waits until the phase of parity `parity` (0 or 1) is complete, and acquires what it has released.
///
/// # Safety
/// As for [`try_wait`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn wait(barriers: Shared<u64>, index: u32, parity: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    while !unsafe { try_wait(barriers, index, parity) } {}
    // The simulator then knows what is waited for, and says so where it never comes.
    #[cfg(not(target_arch = "nvptx64"))]
    mbarrier::wait(barriers, index, parity);
}

/// Makes the barriers that this thread has initialized visible to TMA and to the cluster:
/// `fence.mbarrier_init`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn fence_init() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a fence accesses nothing.
    unsafe {
        core::arch::asm!(
            "fence.mbarrier_init.release.cluster;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    mbarrier::fence_init();
}
