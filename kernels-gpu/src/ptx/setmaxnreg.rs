//! Registers that the threads of a warpgroup give back or take (PTX ISA, "Miscellaneous Instructions: setmaxnreg"), for
//! `sm_90a`.
//!
//! The kernel has to be compiled for a fixed number of registers (`#[kernel(max_registers = ..)]`, or `max_threads`
//! with `min_blocks`): `ptxas` ignores the instruction otherwise. All threads of the warpgroup execute it together.

macro_rules! checked {
    ($count:ident) => {
        const {
            assert!(
                $count >= 24 && $count <= 256 && $count.is_multiple_of(8),
                "a multiple of 8 from 24 to 256"
            );
        }
    };
}

/// Lets each thread have `COUNT` registers, fewer than now: `setmaxnreg.dec`.
///
/// # Safety
/// All threads of the warpgroup execute it together, and have at least as many registers.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn decrease<const COUNT: u32>() {
    checked!(COUNT);
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: ptxas keeps to the number of registers behind it.
    unsafe {
        core::arch::asm!("setmaxnreg.dec.sync.aligned.u32 {};", const COUNT, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_views::wgmma::set_max_registers(COUNT);
}

/// Lets each thread have `COUNT` registers, more than now, once other warpgroups of the CTA have given back as many:
/// `setmaxnreg.inc`.
///
/// # Safety
/// All threads of the warpgroup execute it together, and have at most as many registers. The CTA has been launched
/// with, or gives back, as many.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn increase<const COUNT: u32>() {
    checked!(COUNT);
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as in `decrease`.
    unsafe {
        core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 {};", const COUNT, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_views::wgmma::set_max_registers(COUNT);
}
