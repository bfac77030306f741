//@ arch = 61
use cuda_std::atomic::intrinsics::atomic_fetch_add_relaxed_u32_device;
use cuda_std::kernel;

/// The default architecture has no memory orderings.
#[kernel]
pub unsafe fn count(total: *mut u32) {
    unsafe { atomic_fetch_add_relaxed_u32_device(total, 1) };
}
