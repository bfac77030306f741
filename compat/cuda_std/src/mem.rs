//! The device's allocator, and how much shared memory a block has.
//!
//! On the host a kernel's `Box` and `Vec` come from the host's allocator; `malloc`, `free` and the static that names
//! the allocator are the GPU's alone.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::{
    alloc::{GlobalAlloc, Layout},
    arch::asm,
    ffi::c_void,
};

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// Allocates `size` bytes, aligned to 16, on the device heap; null where it is full
    /// (CUDA guide, "Dynamic Global Memory Allocation and Operations").
    ///
    /// The heap has 8 MiB unless the host sets `CU_LIMIT_MALLOC_HEAP_SIZE`. An allocation outlives the launch.
    pub fn malloc(size: usize) -> *mut c_void;

    /// Gives back what [`malloc`] returned; null is ignored.
    pub fn free(ptr: *mut c_void);
}

/// The device heap as Rust's global allocator, which it is in every kernel: `Box`, `Vec` and `format!` work, slowly.
pub struct CUDAAllocator;

/// What `malloc` aligns to.
#[cfg(target_arch = "nvptx64")]
const MALLOC_ALIGN: usize = 16;

// SAFETY: blocks come from the device's `malloc` and are as large and as aligned as asked for.
#[cfg(target_arch = "nvptx64")]
unsafe impl GlobalAlloc for CUDAAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGN {
            // SAFETY: any size may be asked for.
            return unsafe { malloc(layout.size()) }.cast();
        }
        // Room to move the start up to the alignment, by at least one pointer, in which the true start is kept for
        // `dealloc`.
        let Some(size) = layout.size().checked_add(layout.align()) else {
            return core::ptr::null_mut();
        };
        // SAFETY: any size may be asked for.
        let start: *mut u8 = unsafe { malloc(size) }.cast();
        if start.is_null() {
            return start;
        }
        // `start` is aligned to 16 and the alignment is at least 32: this moves by 16 or more, and not past the room.
        let offset = layout.align() - (start.addr() & (layout.align() - 1));
        // SAFETY: `offset` is in 16..=align, so the aligned block and the pointer before it lie within the `size`
        // bytes.
        unsafe {
            let aligned = start.add(offset);
            aligned.cast::<*mut u8>().sub(1).write(start);
            aligned
        }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        let start = if layout.align() <= MALLOC_ALIGN {
            ptr
        } else {
            // SAFETY: `alloc` put the true start there for this layout.
            unsafe { ptr.cast::<*mut u8>().sub(1).read() }
        };
        // SAFETY: `start` came from `malloc` and is freed once.
        unsafe { free(start.cast()) }
    }
}

/// The allocator in use.
#[cfg(target_arch = "nvptx64")]
#[global_allocator]
pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;

/// The bytes of dynamic shared memory that the launch reserved for each block (PTX 10.27, `%dynamic_smem_size`).
#[gpu_only(sim = cuda_sim::device::dynamic_shared_bytes)]
#[inline(always)]
pub fn dynamic_smem_size() -> u32 {
    let bytes: u32;
    // SAFETY: this reads a special register that is fixed for the launch.
    unsafe {
        asm!("mov.u32 {}, %dynamic_smem_size;", out(reg32) bytes, options(pure, nomem, nostack, preserves_flags))
    };
    bytes
}

/// The bytes of shared memory of each block, static and dynamic together, rounded up to the unit in which the hardware
/// allocates it, without what the system itself reserves (PTX 10.25, `%total_smem_size`).
#[gpu_only(sim = cuda_sim::device::total_shared_bytes)]
#[inline(always)]
pub fn total_smem_size() -> u32 {
    let bytes: u32;
    // SAFETY: this reads a special register that is fixed for the launch.
    unsafe { asm!("mov.u32 {}, %total_smem_size;", out(reg32) bytes, options(pure, nomem, nostack, preserves_flags)) };
    bytes
}
