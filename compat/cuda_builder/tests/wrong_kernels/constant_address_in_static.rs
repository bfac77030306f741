// Builds: the address of constant memory in a static.
use cuda_std::{address_space, kernel};

#[address_space(constant)]
static TABLE: [u32; 4] = [1, 2, 3, 4];
static TABLES: [&[u32; 4]; 2] = [&TABLE, &[5, 6, 7, 8]];

#[kernel]
pub unsafe fn indirect(i: u32, out: *mut u32) {
    unsafe { *out = TABLES[i as usize][0] }
}
