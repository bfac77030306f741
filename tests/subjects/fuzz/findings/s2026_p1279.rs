//! Made of: pointer_walk, local_array, bool_offsets, atomic.
//! Inputs: seed 2026, program 1279
//! Fails with: the repository's toolchain, --opt 3
//! Seen: case 2, word 3: host 0x56df77c8e19f9515, device 0x569019462beb9515

pub fn program(input: &[u64; 8], output: &mut [u64; 8]) {
    let v5: i128 = 0i128;
    let mut local10: [i128; 8] = [v5, v5, v5, 0i128, 0i128, v5, v5, v5];
    for k in 0..7usize {
        local10[((0usize) ^ k) & 7] = local10[k & 7]
            ^ (6i128)
                .wrapping_shl((input[6] as u32).wrapping_shl((11271956363179331366u64 as u32)));
    }
    output[3] = output[3].rotate_left(7)
        ^ (local10.iter().fold(0u64, |sum, value| {
            sum.wrapping_mul(31).wrapping_add((*value).word())
        }))
        .word();
}
