//! The inputs of a program: random words, with many that lie at an edge.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::generator::INPUTS;

/// Cases of each program: the threads of one block.
pub const CASES: usize = 32;

/// The inputs of program `number` of `seed`: [`CASES`] times [`INPUTS`] words.
pub fn inputs(seed: u64, number: u64) -> Vec<u64> {
    let mut random = ChaCha8Rng::seed_from_u64(!seed);
    random.set_stream(number);
    (0..CASES * INPUTS).map(|_| word(&mut random)).collect()
}

fn word(random: &mut ChaCha8Rng) -> u64 {
    let any = random.next_u64();
    let other = random.next_u64();
    match other % 10 {
        0 => any % 4,
        1 => any % 32,
        2 => any % 1000,
        3 => (any % 16).wrapping_neg(),
        4 => 1 << (any % 64),
        5 => (1u64 << (any % 64)).wrapping_sub(1),
        // A float of moderate size, as f64 or in the low half as f32.
        6 => (((any % 200_001) as f64 - 100_000.0) / 64.0).to_bits(),
        7 => u64::from((((any % 20_001) as f32 - 10_000.0) / 8.0).to_bits()),
        8 => any & 0xffff_ffff,
        _ => any,
    }
}
