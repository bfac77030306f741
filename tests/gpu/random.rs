//! Products of random shapes, layouts and factors by the kernels that the planner picks, each compared whole.

use half::{bf16, f16};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tilewright::dispatch::Policy;
use tilewright::launch::Gpu;
use tilewright::{Element, Factors, GemmShape, Operand, Transpose};

use crate::Outcome;
use crate::gemm::is_right;
use crate::trial::Trial;

/// Products of each type.
const PRODUCTS: u32 = 500;

/// The reference computes at most so many multiplications of each.
const MOST: usize = 1 << 25;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("random::f16", || products::<f16>(1)),
        Trial::test("random::bf16", || products::<bf16>(2)),
    ]
}

fn products<T: Element<Accumulator = f32>>(seed: u64) -> Outcome {
    let gpu = Gpu::open(0)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |end: usize| random.next_u32() as usize % end;
    let mut left = PRODUCTS;
    while left > 0 {
        // As many of a few elements as of hundreds.
        let [m, n, k] = [(); 3].map(|()| {
            let most = 2 << below(11);
            1 + below(most)
        });
        if m * n * k > MOST {
            continue;
        }
        left -= 1;
        let transpose = [(); 2].map(|()| [Transpose::No, Transpose::Yes][below(2)]);
        let packed = GemmShape::packed_transposed(m, n, k, transpose)?;
        // Rows as they come, or with a gap, or at multiples of 16 bytes.
        let lds = [Operand::A, Operand::B, Operand::C].map(|operand| {
            let least = packed.extents(operand).1;
            [least, least + below(20), least.next_multiple_of(8)][below(3)]
        });
        let shape = GemmShape::with_transposes(m, n, k, transpose, lds)?;
        let factors = [Factors::default(), Factors { alpha: -2.5, beta: 0.5 }][below(2)];
        is_right::<T>(&gpu, &shape, factors, &Policy::default())?;
    }
    Ok(())
}
