// Builds: an empty static.
use cuda_std::{address_space, kernel};

#[address_space(constant)]
static EMPTY: [u32; 0] = [];

#[kernel]
pub unsafe fn lookup(out: *mut usize) {
    unsafe { *out = (&raw const EMPTY) as usize }
}
