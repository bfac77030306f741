//! Addresses within shared memory, as instructions take them (PTX ISA, "Data Movement and Conversion Instructions:
//! cvta").

use bytemuck::Pod;
use cuda_views::Shared;

/// The address of element `index` of a view in the CTA's shared memory, in bytes: a number below 2^18.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn shared_address<T: Pod>(view: Shared<T>, index: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        use cuda_std::ptr::{AddressSpace, convert_generic_to_specific_address_space as convert};
        // The start of the view is converted, not the address of an element: in a loop that leaves no conversion.
        // SAFETY: the view starts in shared memory.
        let start = unsafe { convert(view.as_mut_ptr().cast_const(), AddressSpace::Shared).addr() as u32 };
        start + index * size_of::<T>() as u32
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_views::wgmma::shared_address(view, index)
}
