use cuda_std::{address_space, kernel};

#[address_space(shared)]
static mut LEFT: [u32; 32] = [0; 32];
#[address_space(shared)]
static mut RIGHT: [u32; 32] = [0; 32];
struct Tiles([*mut u32; 2]);
unsafe impl Sync for Tiles {}
static TILES: Tiles = Tiles([(&raw mut LEFT).cast(), (&raw mut RIGHT).cast()]);

#[kernel]
pub unsafe fn indirect(i: u32, out: *mut u32) {
    unsafe {
        LEFT[i as usize] = 1;
        RIGHT[i as usize] = 2;
        *out = *TILES.0[i as usize & 1];
    }
}
