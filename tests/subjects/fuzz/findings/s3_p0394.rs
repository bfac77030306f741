//! Made of: slice_views, chosen_reference.
//! Inputs: seed 3, program 394
//! Fails with: 1.99.1, --opt 3
//! Seen: fault: access of 1 bytes out of bounds at 0x800 in shared memory (PTX line 84, function r0000,
//!     block 0,0,0, thread 16,0,0)

pub fn program(input: &[u64; 8], output: &mut [u64; 8]) {
    shared!(memory23: [u8; 16]);
    let slice24: &[u8] = &memory23[(input[4] as usize) & 7..8 + ((input[5] as usize) & 7)];
    output[5] = ({
        let needle = (input[0] as u8);
        slice24.iter().position(|x| *x == needle).unwrap_or(99)
    })
    .word();
}
