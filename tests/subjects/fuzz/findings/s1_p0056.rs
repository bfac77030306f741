//! Made of: bool_offsets, merge.
//! Inputs: seed 1, program 56
//! Fails with: 1.95.0, --opt 3
//! Seen: case 0, word 6: host 0x1e08, device 0x0

pub fn program(input: &[u64; 8], output: &mut [u64; 8]) {
    let mut local12: [u64; 8] = [0u64, 0u64, input[(0usize) & 7], 0u64, 0u64, 0u64, input[7], 0u64];
    let from13 = local12.as_ptr();
    let mut to14 = [<u64>::default(); 8];
    unsafe {
        let (mut left, mut right) = (from13, from13.add(4));
        let (mut left_back, mut right_back) = (from13.add(3), from13.add(7));
        let mut out = to14.as_mut_ptr();
        let mut out_back = to14.as_mut_ptr().add(7);
        for _ in 0..4 {
            {
                let c = !(*right_back >= *left_back);
                *out_back = if c { *right_back } else { *left_back };
                right_back = right_back.wrapping_sub(c as usize);
                left_back = left_back.wrapping_sub(!c as usize);
                out_back = out_back.wrapping_sub(1);
            }
        }
    }
    unsafe {
        *output.as_mut_ptr().add(6) = (to14
            .iter()
            .fold(0u64, |sum, value| sum.wrapping_mul(31).wrapping_add((*value).word())))
        .word()
        .rotate_left(3);
    }
}
