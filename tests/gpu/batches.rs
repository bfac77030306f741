//! Batches as the library launches them: the planner's choice in every type, one operand for all, matrices side by
//! side, and more products than a grid has rows.

use half::{bf16, f16};
use tilewright::dispatch::Policy;
use tilewright::random::random_matrix;
use tilewright::{
    Activation, Backend, Element, Family, Gemm, GemmShape, Operand, Options, OutputOf, Transpose, Verify, product,
};

use crate::Outcome;
use crate::gemm::LAYOUTS;
use crate::trial::Trial;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("batches::f32", every_layout::<f32>),
        Trial::test("batches::f64", every_layout::<f64>),
        Trial::test("batches::f16", every_layout::<f16>),
        Trial::test("batches::bf16", every_layout::<bf16>),
        Trial::test("batches::heads_of_attention", heads_of_attention),
        Trial::test(
            "batches::more_products_than_a_grid_has_rows",
            more_products_than_a_grid_has_rows,
        ),
    ]
}

/// Computes on the GPU, and compares every element.
fn is_right<T: Element, C: OutputOf<T>>(problem: &Gemm<&[T], T::Accumulator>, policy: Policy) -> Outcome {
    let shape = &problem.shape;
    let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
    let (a, b) = (operand(Operand::A, 1), operand(Operand::B, 2));
    let before = random_matrix::<C>(3, shape.span_elems(Operand::C));
    let options = Options {
        backend: Backend::Gpu,
        verify: Verify::Full,
        policy,
        ..Options::default()
    };
    let computed = product(problem, &a, &b, Some(&before[..]), &options);
    computed.map(drop).map_err(|error| format!("{shape}: {error}").into())
}

/// Small products, and products of several tiles, packed and with strides that no vector is aligned to.
fn every_layout<T: Element>() -> Outcome {
    for transpose in LAYOUTS {
        for ([m, n, k], count) in [([7, 9, 5], 300), ([64, 64, 64], 40), ([200, 137, 300], 5)] {
            let single = GemmShape::packed_transposed(m, n, k, transpose)?;
            let [a, b, c] = [Operand::A, Operand::B, Operand::C].map(|operand| single.span_elems(operand));
            for strides in [[a, b, c], [a + 1, b + 3, c + 5], [0, b, c], [a, 0, c]] {
                let shape = single.with_batch(count, strides)?;
                is_right::<T, T>(&Gemm::new(shape), Policy::default())?;
            }
        }
    }
    Ok(())
}

/// Queries times transposed keys, and weights times values: the heads are columns of one matrix.
fn heads_of_attention() -> Outcome {
    const HEADS: usize = 12;
    const WIDTH: usize = 64;
    let (tokens, row) = (200, HEADS * WIDTH);
    let scores = GemmShape::with_transposes(
        tokens,
        tokens,
        WIDTH,
        [Transpose::No, Transpose::Yes],
        [row, row, tokens],
    )?;
    let scores = scores.with_batch(HEADS, [WIDTH, WIDTH, tokens * tokens])?;
    is_right::<f16, f32>(&Gemm::new(scores).alpha(0.125), Policy::default())?;
    let values = GemmShape::with_ld(tokens, WIDTH, tokens, tokens, row, row)?;
    let values = values.with_batch(HEADS, [tokens * tokens, WIDTH, WIDTH])?;
    is_right::<bf16, bf16>(&Gemm::new(values).beta(1.0), Policy::default())?;
    let bias = random_matrix::<f16>(9, WIDTH);
    let problem = Gemm::new(values).bias(&bias[..]).activation(Activation::Gelu);
    is_right::<f16, f16>(&problem, Policy::default())
}

fn more_products_than_a_grid_has_rows() -> Outcome {
    let of = |family| Policy {
        family: Some(family),
        ..Policy::default()
    };
    let packed = GemmShape::packed(3, 5, 4)?.with_packed_batch(70_000)?;
    for family in [Family::TILED_STATIC, Family::SIMT] {
        is_right::<f32, f32>(&Gemm::new(packed), of(family))?;
    }
    // Matrices at odd elements: each is padded first.
    let odd = GemmShape::packed(3, 5, 4)?.with_batch(70_000, [13, 21, 15])?;
    is_right::<f16, f16>(&Gemm::new(odd), of(Family::MMA_SYNC))
}
