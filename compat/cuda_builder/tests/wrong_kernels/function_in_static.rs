// Builds: a table of functions.
use cuda_std::kernel;

fn one() -> u32 { 1 }
fn two() -> u32 { 2 }
static TABLE: [fn() -> u32; 2] = [one, two];

#[kernel]
pub unsafe fn indirect(i: u32, out: *mut u32) {
    unsafe { *out = TABLE[i as usize]() }
}
