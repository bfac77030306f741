//! Made of: option_reference, iterators, chosen_reference.
//! Inputs: seed 1, program 2
//! Fails with: the repository's toolchain, --opt 3
//! Seen: fault: access of 4 bytes out of bounds at 0x7f4b00000000 in generic memory (PTX line 162,
//!     function _RNvNtCsbnAaJLRDG5b_16programs_own_3_05r00066show12, block 0,0,0, thread 0,0,0)

#[inline(never)]
fn show12(x: Option<&u32>) -> u32 {
    match x {
        Some(x) => *x,
        None => 5u32,
    }
}
constant!(TABLE13: [u32; 8] = [
    u32::MAX, (12045931745912512731u64 as u32), (16203691099960049109u64 as u32), 19u32, 1u32,
    (1u32 << 20), 18u32, (8440627218229600645u64 as u32),
]);
pub fn program(input: &[u64; 8], output: &mut [u64; 8]) {
    let mut last14: Option<&u32> = None;
    last14 = (input[0] & 1 == 1).then(|| &TABLE13[(0usize) & 7]).or(last14);
    let extra = match last14 {
        Some(x) if *x > (1u32 << 25) => 7u64,
        _ => 0,
    };
    output[3] = output[3].rotate_left(7) ^ (show12(last14).word().wrapping_add(extra)).word();
}
