// Builds: a compiler_fence.
use core::sync::atomic::{Ordering, compiler_fence};
use cuda_std::kernel;

#[kernel]
pub unsafe fn fenced(out: *mut u32) {
    unsafe { *out = 1 };
    compiler_fence(Ordering::SeqCst);
    unsafe { *out = 2 };
}
