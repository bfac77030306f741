//! `griddepcontrol`: launches of one stream that overlap (PTX ISA, "Parallel Synchronization and Communication
//! Instructions: griddepcontrol"; CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization").
//!
//! A grid that was launched with the attribute `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION` may begin when
//! every block of the one before it has executed [`launch_dependents`], or ended; [`wait`] is where it waits for the
//! end of that one. Without the attribute both do nothing.
//!
//! Exists from `sm_90` on. In the simulator one launch ends before the next begins, so that both do nothing, too.

/// Lets the next grid of the stream begin, as soon as every block of this one has executed this or ended. It says
/// nothing of memory: what this grid writes the next one sees behind its [`wait`].
#[inline(always)]
pub fn launch_dependents() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: accesses no memory, and may be executed by any threads any number of times.
    unsafe {
        core::arch::asm!("griddepcontrol.launch_dependents;", options(nostack, preserves_flags));
    }
}

/// Waits until the grids before this one have ended, and what they wrote is visible.
#[inline(always)]
pub fn wait() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: may be executed by any threads any number of times. Not `nomem`: what is read behind it is not read
    // before.
    unsafe {
        core::arch::asm!("griddepcontrol.wait;", options(nostack, preserves_flags));
    }
}
