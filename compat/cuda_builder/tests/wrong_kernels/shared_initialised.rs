use cuda_std::{address_space, kernel};

#[address_space(shared)]
static mut TILE: [u32; 32] = [7; 32];

#[kernel]
pub unsafe fn sums(out: *mut u32) {
    unsafe { *out = TILE[0] }
}
