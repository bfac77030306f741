//! Epilogues: bias, activation, C of f32. `mma_sync` in the simulator, without a GPU, and the
//! CPU's own product, against f64.

mod support;

use half::{bf16, f16};
use proptest::prelude::*;
use support::{Ask, operand};
use tilewright::check::Expected;
use tilewright::dispatch::Policy;
use tilewright::random::random_matrix;
use tilewright::{
    Activation, Backend, DType, Element, Epilogue, Factors, Family, Gemm, GemmShape, KERNELS, Kernel, Operand, Options,
    OutputOf, Transpose, Verify, gemm,
};
use tilewright_contract::Alignment;

const ACTIVATIONS: [Activation; 3] = [Activation::None, Activation::Relu, Activation::Gelu];

fn bias<T: Element<Accumulator = f32>>(shape: &GemmShape) -> Vec<T> {
    random_matrix(4, shape.n())
}

/// Simulates, and asserts that nothing is wrong.
fn is_right<T: Element<Accumulator = f32>, C: OutputOf<T>>(
    kernel: &'static Kernel,
    shape: &GemmShape,
    epilogue: Epilogue<&[T]>,
) {
    Ask::of(kernel).is_right_for::<T, C>(&Gemm::new(*shape).epilogue(epilogue));
}

/// B lies transposed: then C may have any number of columns.
const LAYOUT: [Transpose; 2] = [Transpose::No, Transpose::Yes];

/// Whether it is a kernel of this layout that loads vectors.
fn is_of_mma_sync<T: Element<Accumulator = f32>>(kernel: &Kernel, transpose: [Transpose; 2]) -> bool {
    kernel.family == Family::MMA_SYNC
        && kernel.alignment != Alignment::NONE
        && kernel.dtype == T::DTYPE
        && kernel.transposes() == transpose
}

fn of_mma_sync<T: Element<Accumulator = f32>>() -> &'static Kernel {
    let is_it = |kernel: &&Kernel| is_of_mma_sync::<T>(kernel, LAYOUT);
    KERNELS.iter().find(is_it).expect("in the table")
}

/// Every combination, with rows of C that take vectors of 16 bytes, pairs, and neither.
fn every_combination<T: Element<Accumulator = f32>, C: OutputOf<T>>() {
    let kernel = of_mma_sync::<T>();
    for (n, ldc) in [(24, 32), (26, 26), (23, 25)] {
        let shape = GemmShape::with_transposes(37, n, 24, LAYOUT, [24, 32, ldc]).expect("small");
        let bias = bias::<T>(&shape);
        for activation in ACTIVATIONS {
            for bias in [None, Some(&bias[..])] {
                for (alpha, beta) in [(1.0, 0.0), (0.5, -2.0)] {
                    let epilogue = Epilogue {
                        factors: Factors { alpha, beta },
                        bias,
                        activation,
                    };
                    is_right::<T, C>(kernel, &shape, epilogue);
                }
            }
        }
    }
}

#[test]
fn f16_to_f16() {
    every_combination::<f16, f16>();
}

#[test]
fn f16_to_f32() {
    every_combination::<f16, f32>();
}

#[test]
fn bf16_to_bf16() {
    every_combination::<bf16, bf16>();
}

#[test]
fn bf16_to_f32() {
    every_combination::<bf16, f32>();
}

/// Each entry point once, over more than one tile.
#[test]
fn every_entry_point_finishes_its_sums() {
    let mut run = 0;
    for kernel in KERNELS
        .iter()
        .filter(|kernel| kernel.supports.epilogue && kernel.supports.batch)
    {
        match kernel.dtype {
            DType::F16 => finishes_its_sums::<f16, f32>(kernel, Activation::Gelu),
            DType::F32 => finishes_its_sums::<f32, f32>(kernel, Activation::Gelu),
            DType::Bf16 => finishes_its_sums::<bf16, bf16>(kernel, Activation::Relu),
            DType::F64 => panic!("{} has a bias of f64", kernel.symbol),
        }
        run += 1;
    }
    assert!(run > 0);
}

/// With a factor and a bias.
fn finishes_its_sums<T: Element<Accumulator = f32>, C: OutputOf<T>>(kernel: &'static Kernel, activation: Activation) {
    let shape = GemmShape::packed_transposed(136, 136, 16, kernel.transposes()).expect("small");
    let bias = bias::<T>(&shape);
    let epilogue = Epilogue {
        factors: Factors { alpha: 2.0, beta: 0.0 },
        bias: Some(&bias[..]),
        activation,
    };
    is_right::<T, C>(kernel, &shape, epilogue);
}

/// The CPU's product, compared in full and by samples.
fn on_cpu<T: Element<Accumulator = f32>, C: OutputOf<T>>(
    shape: &GemmShape,
    epilogue: Epilogue<&[T]>,
) -> Result<(), TestCaseError> {
    let (a, b) = (operand::<T>(shape, Operand::A), operand::<T>(shape, Operand::B));
    for verify in [Verify::Full, Verify::Sample] {
        let mut c = operand::<C>(shape, Operand::C);
        let options = Options {
            backend: Backend::Cpu,
            verify,
            ..Options::default()
        };
        let done = gemm(&Gemm::new(*shape).epilogue(epilogue), &a, &b, &mut c, &options);
        prop_assert!(done.is_ok(), "{shape} {epilogue:?}: {done:?}");
    }
    Ok(())
}

fn of_type<T: Element<Accumulator = f32>>(
    shape: &GemmShape,
    factors: Factors,
    activation: Activation,
    with_bias: bool,
) -> Result<(), TestCaseError>
where
    f32: OutputOf<T>,
{
    let bias = bias::<T>(shape);
    let epilogue = Epilogue {
        factors,
        bias: with_bias.then_some(&bias[..]),
        activation,
    };
    on_cpu::<T, f32>(shape, epilogue)?;
    on_cpu::<T, T>(shape, epilogue)
}

/// In one call; every row begins at an odd element or follows one that does.
#[test]
fn operands_that_are_copied_first() {
    // Rows in memory have 35 elements; or 33 and 45.
    for (transpose, lds, bytes) in [
        (LAYOUT, [40, 40], 2 * (33 * 40 + 45 * 40)),
        ([Transpose::Yes, Transpose::No], [40, 48], 2 * (35 * 40 + 35 * 48)),
    ] {
        let shape = GemmShape::packed_transposed(33, 45, 35, transpose).expect("small");
        let (a, b) = (operand::<bf16>(&shape, Operand::A), operand::<bf16>(&shape, Operand::B));
        let bias = bias::<bf16>(&shape);
        let mut c = operand::<f32>(&shape, Operand::C);
        let epilogue = Epilogue {
            factors: Factors { alpha: 0.5, beta: -2.0 },
            bias: Some(&bias[..]),
            activation: Activation::Gelu,
        };
        let options = Options {
            backend: Backend::Sim,
            policy: Policy {
                kernel: KERNELS.iter().find(|kernel| is_of_mma_sync::<bf16>(kernel, transpose)),
                ..Policy::default()
            },
            verify: Verify::Full,
            ..Options::default()
        };
        let report =
            gemm(&Gemm::new(shape).epilogue(epilogue), &a, &b, &mut c, &options).expect("computes what it says");
        assert_eq!(report.padded_ld, lds.map(Some), "{transpose:?}");
        assert_eq!(report.padded_bytes, bytes, "{transpose:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_cpu_agrees_with_f64(
        (m, n, k) in (1_usize..40, 1_usize..40, 0_usize..70),
        alpha in -3.0_f32..3.0,
        beta in prop_oneof![Just(0.0_f32), -2.0_f32..2.0],
        activation in proptest::sample::select(ACTIVATIONS.to_vec()),
        with_bias in any::<bool>(),
    ) {
        let shape = GemmShape::packed(m, n, k).expect("small");
        let factors = Factors { alpha, beta };
        of_type::<f16>(&shape, factors, activation, with_bias)?;
        of_type::<bf16>(&shape, factors, activation, with_bias)?;
        of_type::<f32>(&shape, factors, activation, with_bias)?;
    }
}

#[test]
fn a_wrong_bias_and_a_wrong_activation_are_found() {
    let shape = GemmShape::packed(20, 24, 16).expect("small");
    let (a, b, bias) = (
        operand::<f16>(&shape, Operand::A),
        operand::<f16>(&shape, Operand::B),
        bias::<f16>(&shape),
    );
    let epilogue = |bias, activation| Epilogue {
        bias,
        activation,
        ..Epilogue::default()
    };
    let computed = |epilogue: Epilogue<&[f16]>| {
        let mut c = vec![0.0_f32; 20 * 24];
        let options = Options {
            backend: Backend::Cpu,
            ..Options::default()
        };
        gemm(&Gemm::new(shape).epilogue(epilogue), &a, &b, &mut c, &options).expect("computes");
        c
    };
    let mut shifted = bias.clone();
    shifted.rotate_left(1);
    for activation in ACTIVATIONS {
        let expected = Expected::product(&shape, &a, &b).expect("lengths fit");
        let expected = expected
            .with_epilogue::<f32>(epilogue(Some(&bias[..]), activation), &[])
            .expect("finite");
        for right in [Some(&bias[..]), None, Some(&shifted[..])] {
            let verdict = expected
                .full(&computed(epilogue(right, activation)))
                .expect("lengths fit");
            assert_eq!(verdict.passed(), right == Some(&bias[..]), "{activation:?}: {verdict}");
        }
        for other in ACTIVATIONS.into_iter().filter(|&other| other != activation) {
            let verdict = expected
                .full(&computed(epilogue(Some(&bias[..]), other)))
                .expect("lengths fit");
            assert!(!verdict.passed(), "{other:?} for {activation:?}");
        }
    }
    let short = gemm(
        &Gemm::new(shape).bias(&bias[..23]),
        &a,
        &b,
        &mut [0.0_f32; 480],
        &Options::default(),
    );
    let text = short.map(drop).expect_err("too short").to_string();
    assert!(text.contains("23 elements") && text.contains("24 columns"), "{text}");
}
