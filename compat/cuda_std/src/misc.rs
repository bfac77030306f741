//! Breakpoints, performance counters and the clock.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Stops the thread for a debugger (PTX 9.7.19.2, `brkpt`). Without one the launch fails.
///
/// # On the host
///
/// The thread ends with a fault.
#[gpu_only(sim = { cuda_sim::device::trap("breakpoint") })]
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: a breakpoint changes nothing that the program sees.
    unsafe { asm!("brkpt;", options(nostack, preserves_flags)) };
}

/// Counts one event on hardware counter `counter`, 0 to 7, once per warp (PTX 9.7.19.3, `pmevent`).
///
/// # Panics
///
/// Panics if `counter` is above 7.
///
/// # On the host
///
/// Nothing is counted.
#[gpu_only(sim = { if counter > 7 { panic!("a profiler counter is a number from 0 to 7") } })]
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    // The instruction takes its counter as an immediate only.
    macro_rules! count {
        ($($number:literal)*) => {
            match counter {
                // SAFETY: a counter is no memory of the program.
                $($number => unsafe {
                    asm!(concat!("pmevent ", $number, ";"), options(nomem, nostack, preserves_flags));
                },)*
                _ => panic!("a profiler counter is a number from 0 to 7"),
            }
        };
    }
    count!(0 1 2 3 4 5 6 7)
}

/// The clock cycles that the SM has counted, wrapping (PTX 10.23, `%clock64`). Only differences on one SM mean
/// something.
///
/// # On the host
///
/// A number that rises as the launch goes on, of no meaning beyond that.
#[gpu_only(sim = cuda_sim::device::clock)]
#[inline(always)]
pub fn clock() -> u64 {
    let cycles: u64;
    // SAFETY: this reads a special register. Neither `pure` nor `nomem`: every call must read anew, and stay between
    // the accesses it times.
    unsafe { asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nostack, preserves_flags)) };
    cycles
}
