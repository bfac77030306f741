use cuda_std::{address_space, kernel};

const fn counted<const N: usize>() -> [f32; N] {
    let mut values = [0.0; N];
    let mut i = 0;
    while i < N {
        values[i] = i as f32;
        i += 1;
    }
    values
}

#[address_space(constant)]
static TABLE: [f32; 16_000] = counted();
#[address_space(constant)]
static WEIGHTS: [f32; 1_000] = counted();

#[kernel]
pub unsafe fn lookup(i: u32, out: *mut f32) {
    unsafe { *out = TABLE[i as usize] + WEIGHTS[i as usize] }
}
