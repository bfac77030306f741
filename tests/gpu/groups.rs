//! Groups of rows as the library launches them: the planner's choice in every type that has them, few rows and many,
//! rows and weights that no vector is aligned to.

use half::{bf16, f16};
use tilewright::dispatch::{PlanError, Policy, plan};
use tilewright::launch::Gpu;
use tilewright::random::random_matrix;
use tilewright::{
    Activation, Backend, DType, Element, Gemm, GemmShape, Operand, Options, OutputOf, Transpose, Verify, product,
};
use tilewright_harness::verify::group_ends;

use crate::Outcome;
use crate::trial::Trial;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("groups::f32", every_layout::<f32>),
        Trial::test("groups::f16", every_layout::<f16>),
        Trial::test("groups::bf16", every_layout::<bf16>),
        Trial::test(
            "groups::experts_with_bias_and_activation",
            experts_with_bias_and_activation,
        ),
        Trial::test("groups::f64_has_no_kernel", f64_has_no_kernel),
    ]
}

/// Computes on the GPU, and compares every element of every group; rows of none are as they were.
fn is_right<T: Element, C: OutputOf<T>>(problem: &Gemm<&[T], T::Accumulator>) -> Outcome {
    let shape = &problem.shape;
    let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
    let (a, b) = (operand(Operand::A, 1), operand(Operand::B, 2));
    let before = random_matrix::<C>(3, shape.span_elems(Operand::C));
    let options = Options {
        backend: Backend::Gpu,
        verify: Verify::Full,
        ..Options::default()
    };
    let mut c = before.clone();
    tilewright::gemm(problem, &a, &b, &mut c, &options).map_err(|error| format!("{shape}: {error}"))?;
    let (_, _, ld) = shape.extents(Operand::C);
    let covered = problem
        .group_ends
        .and_then(<[u32]>::last)
        .map_or(0, |&end| end as usize * ld);
    let is_same = |at: usize| c[at].to_f64().to_bits() == before[at].to_f64().to_bits();
    match (covered.min(c.len())..c.len()).find(|&at| !is_same(at)) {
        Some(at) => Err(format!("{shape}: element {at} is of no group, and was overwritten").into()),
        None => Ok(()),
    }
}

fn every_layout<T: Element>() -> Outcome {
    for transpose in [[Transpose::No, Transpose::No], [Transpose::No, Transpose::Yes]] {
        for ([m, n, k], groups) in [
            ([7, 9, 5], 3),
            ([64, 64, 64], 64),
            ([1000, 200, 96], 8),
            ([4096, 512, 256], 16),
            ([513, 137, 333], 300),
        ] {
            let packed = GemmShape::packed_transposed(m, n, k, transpose)?;
            let span = packed.span_elems(Operand::B);
            for stride in [span, span + 3, 0] {
                let shape = packed.with_groups(groups, stride)?;
                let ends = group_ends(&shape).expect("it has groups");
                is_right::<T, T>(&Gemm::new(shape).group_ends(&ends[..]))?;
            }
        }
    }
    Ok(())
}

fn experts_with_bias_and_activation() -> Outcome {
    let shape = GemmShape::with_transposes(777, 264, 128, [Transpose::No, Transpose::Yes], [136, 128, 272])?;
    let shape = shape.with_groups(11, 264 * 128)?;
    let ends = group_ends(&shape).expect("it has groups");
    let bias = random_matrix::<bf16>(9, shape.n());
    let problem = Gemm::new(shape)
        .group_ends(&ends[..])
        .bias(&bias[..])
        .activation(Activation::Gelu);
    is_right::<bf16, bf16>(&problem)?;
    is_right::<bf16, f32>(&problem.alpha(0.5).beta(-1.0))
}

/// The planner says so; the CPU computes it.
fn f64_has_no_kernel() -> Outcome {
    let gpu = Gpu::open(0)?;
    let shape = GemmShape::packed(20, 8, 8)?.with_groups(3, 64)?;
    let error = plan(&shape, DType::F64, gpu.profile(), &Policy::default()).expect_err("no kernel");
    assert!(matches!(error, PlanError::NoGroups { .. }), "{error}");
    let ends = group_ends(&shape).expect("it has groups");
    let (a, b) = (vec![1.0; 160], vec![1.0; 192]);
    let problem = Gemm::<&[f64], f64>::new(shape).group_ends(&ends[..]);
    let product = product::<f64, f64>(&problem, &a, &b, None, &Options::default())?;
    match product.report.fallback {
        Some(_) => Ok(()),
        None => Err("the CPU was to compute it".into()),
    }
}
