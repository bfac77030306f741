//! `ptr`: which memory an address is in, and conversions between address spaces.

use cuda_std::prelude::*;
use cuda_std::ptr::{
    convert_generic_to_specific_address_space, convert_specific_address_space_to_generic, is_in_address_space,
    AddressSpace,
};
use cuda_std::{address_space, shared_array};

#[address_space(constant)]
static CONSTANT: [u32; 4] = [4, 3, 2, 1];

const SPACES: [AddressSpace; 4] = [
    AddressSpace::Global,
    AddressSpace::Shared,
    AddressSpace::Constant,
    AddressSpace::Local,
];

/// One bit for each space that contains the address, in the order of [`SPACES`]. Two more tell whether a conversion to
/// the space and back gives the address, and whether the address in the space is the smaller number.
unsafe fn describe(ptr: *const u32, space: AddressSpace) -> u32 {
    let mut bits = 0;
    for (i, &candidate) in SPACES.iter().enumerate() {
        bits |= (is_in_address_space(ptr, candidate) as u32) << i;
    }
    let specific = convert_generic_to_specific_address_space(ptr, space);
    let back = convert_specific_address_space_to_generic(specific, space);
    bits | ((back == ptr) as u32) << 4 | ((specific <= ptr) as u32) << 5
}

/// Writes a description of an address in each space. `index` must be below 4: it keeps the constant in constant memory.
#[kernel]
pub unsafe fn address_spaces(index: u32, out: *mut u32) {
    let shared = shared_array![u32; 4];
    let mut local = [index; 4];
    core::hint::black_box(&mut local);
    *shared = CONSTANT[index as usize];
    *out = describe(out, AddressSpace::Global);
    *out.add(1) = describe(shared, AddressSpace::Shared);
    *out.add(2) = describe(CONSTANT.as_ptr().add(index as usize), AddressSpace::Constant);
    *out.add(3) = describe(local.as_ptr(), AddressSpace::Local);
    *out.add(4) = *shared;
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case};

    let expected = [0b11_0001, 0b11_0010, 0b11_0100, 0b11_1000, 3];
    vec![Case::new(
        entry!(address_spaces(_, _)),
        1,
        1,
        vec![Argument::u32(1), Argument::out_u32(expected)],
    )]
}
