//! PTX instructions that Rust has no words for, one family a file. Each has a host body with the same result.

pub mod async_copy;
pub mod convert;
pub mod elect;
pub mod fma;
pub mod ldmatrix;
pub mod mma;
pub mod named_barrier;
pub mod opaque;
pub mod stmatrix;

/// The address of a view's first element within shared memory, as inline assembly takes it.
///
/// # Safety
/// The view lies in shared memory.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn shared_address<T: bytemuck::Pod>(view: cuda_views::Shared<T>) -> u32 {
    use cuda_std::ptr::{AddressSpace, convert_generic_to_specific_address_space as convert};

    // The start of the view is converted, not the address of an element: in a loop that leaves no conversion.
    // SAFETY: the caller's promise.
    unsafe { convert(view.as_mut_ptr().cast_const(), AddressSpace::Shared).addr() as u32 }
}
