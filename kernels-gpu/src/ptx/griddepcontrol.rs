//! `griddepcontrol`: programmatic dependent launch (PTX ISA, "Parallel Synchronization and Communication
//! Instructions: griddepcontrol"; CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization").
//!
//! A grid that was launched with the attribute `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION` may begin when
//! every CTA of the previous grid has executed [`launch_dependents`], or exited; [`wait`] waits for the end of that
//! grid. Without the attribute both do nothing.
//!
//! Exists from `sm_90` on. In the simulator launches overlap in a `cuda_sim::Stream`.

#[cfg(not(target_arch = "nvptx64"))]
use cuda_views::griddepcontrol;

/// Lets the next grid of the stream start as soon as every CTA of this one has executed this or exited. It orders no
/// memory: the next grid sees the writes of this one after its [`wait`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn launch_dependents() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: accesses no memory, and may be executed by any threads any number of times.
    unsafe {
        core::arch::asm!("griddepcontrol.launch_dependents;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    griddepcontrol::launch_dependents();
}

/// Waits until the grids before this one have ended, and what they wrote is visible.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn wait() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: may be executed by any threads any number of times. Not `nomem`: no read moves up over
    // it.
    unsafe {
        core::arch::asm!("griddepcontrol.wait;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    griddepcontrol::wait();
}
