use cuda_std::{address_space, kernel};

#[address_space(local)]
static mut MINE: [u32; 4] = [0; 4];

#[kernel]
pub unsafe fn mine(out: *mut u32) {
    unsafe { *out = MINE[0] }
}
