//! Named barriers: `bar.sync` and `bar.arrive` with a number and a count, for some warps of a CTA (PTX ISA,
//! "Parallel Synchronization and Communication Instructions: bar, barrier").
//!
//! ```text
//! warps that produce                  warps that consume
//! write shared memory
//! arrive(1, threads)                  sync(1, threads)       RAW: written before `arrive`, read after `sync`
//! ```
//!
//! A CTA has 16 barriers; number 0 is that of `sync_threads`. A barrier opens when `threads` threads have come, be it
//! to wait or only to arrive, and can then be used again. Those who wait see what all others did before they came.
//! Those who only arrive see nothing of the others.

/// Arrives at barrier `id` and waits until `threads` threads have: `bar.sync id, threads`.
///
/// # Safety
/// - `id` is 1 to 15. `threads` is a multiple of 32, at most the CTA's, and the same wherever the barrier is used
///   until it opens.
/// - All 32 lanes of the warp execute this together, and the warp comes once until the barrier opens.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn sync(id: u32, threads: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise. The compiler takes it to access memory, and so moves no access across it.
    unsafe {
        core::arch::asm!("bar.sync {}, {};", in(reg32) id, in(reg32) threads, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_views::named_barrier::sync(id, threads);
}

/// Arrives at barrier `id`, which opens when `threads` threads have, and goes on: `bar.arrive id, threads`.
///
/// # Safety
/// As for [`sync`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn arrive(id: u32, threads: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as in `sync`.
    unsafe {
        core::arch::asm!("bar.arrive {}, {};", in(reg32) id, in(reg32) threads, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_views::named_barrier::arrive(id, threads);
}
