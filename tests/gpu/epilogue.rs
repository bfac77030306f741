//! Bias, activation and C of f32 on the GPU: the tensor-core kernels as the library launches them.

use half::{bf16, f16};
use tilewright::check::Expected;
use tilewright::dispatch::{Policy, plan};
use tilewright::launch::Gpu;
use tilewright::random::random_matrix;
use tilewright::{
    Activation, Backend, DType, Element, Epilogue, Error, Factors, Family, Gemm, GemmShape, Kernel, Operand, Options,
    OutputOf, Transpose, Verify, gemm,
};

use crate::Outcome;
use crate::trial::Trial;

pub fn trials(kernels: &[&'static Kernel]) -> Vec<Trial> {
    // Groups have tests of their own.
    let with_epilogue = kernels
        .iter()
        .filter(|kernel| kernel.supports.epilogue && !kernel.supports.groups);
    // Together they take longer than a test may.
    let of_each = with_epilogue.map(|&kernel| {
        Trial::test(format!("epilogue::{}", kernel.symbol), move || {
            finishes_its_sums(kernel)
        })
    });
    of_each
        .chain([
            Trial::test("epilogue::large_products", large_products),
            Trial::test("epilogue::refuses_kernels_without", refuses_kernels_without),
        ])
        .collect()
}

const ACTIVATIONS: [Activation; 3] = [Activation::None, Activation::Relu, Activation::Gelu];

/// Launches on random operands, with the elements between the rows of C full of NaN, and compares.
fn is_right<T: Element<Accumulator = f32>, C: OutputOf<T>>(
    gpu: &Gpu,
    kernel: &'static Kernel,
    shape: &GemmShape,
    epilogue: Epilogue<()>,
) -> Outcome {
    let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
    let (a, b, bias) = (
        operand(Operand::A, 1),
        operand(Operand::B, 2),
        random_matrix::<T>(4, shape.n()),
    );
    let (_, columns, ld) = shape.extents(Operand::C);
    let mut before = random_matrix::<C>(3, shape.span_elems(Operand::C));
    before.extend([C::from_f64(f64::NAN); 64]);
    for row in before.chunks_mut(ld) {
        let end = columns.min(row.len());
        row[end..].fill(C::from_f64(f64::NAN));
    }
    let policy = Policy {
        family: Some(kernel.family),
        kernel: Some(kernel),
        epilogue: true,
        ..Policy::default()
    };
    let plan = plan(shape, T::DTYPE, gpu.profile(), &policy)?;
    let (on_a, on_b, on_bias, mut on_c) = (
        gpu.upload(&a)?,
        gpu.upload(&b)?,
        gpu.upload(&bias)?,
        gpu.upload(&before)?,
    );
    let Epilogue {
        factors, activation, ..
    } = epilogue;
    let on_gpu = Epilogue {
        factors,
        bias: epilogue.bias.map(|()| &on_bias),
        activation,
    };
    gpu.launch(&plan, &Gemm::new(*shape).epilogue(on_gpu), &on_a, &on_b, &mut on_c)?;
    let mut c = vec![C::from_f64(0.0); before.len()];
    on_c.download(&mut c)?;
    let on_host = Epilogue {
        factors,
        bias: epilogue.bias.map(|()| &bias[..]),
        activation,
    };
    let what = || format!("{} {shape} to {}, {epilogue:?}", kernel.symbol, C::DTYPE);
    let verdict = Expected::product(shape, &a, &b)?
        .with_precision(kernel.precision)?
        .with_epilogue(on_host, &before)?
        .full(&c)?;
    if !verdict.passed() {
        return Err(format!("{}: {verdict}", what()).into());
    }
    let span = shape.span_elems(Operand::C);
    let outside = |at: &usize| *at >= span || at % ld >= columns;
    match (0..c.len()).filter(outside).find(|&at| !c[at].to_f64().is_nan()) {
        Some(at) => Err(format!("{}: element {at} outside of C was written", what()).into()),
        None => Ok(()),
    }
}

fn finishes_its_sums(kernel: &'static Kernel) -> Outcome {
    let gpu = Gpu::open(0)?;
    // Rows of C that take vectors of 16 bytes, pairs, and neither.
    for (n, pad_c) in [(264, 8), (266, 0), (263, 2)] {
        let [a, b] = kernel.transposes();
        let (m, k) = (300, 136_usize);
        let row = |transpose, plain: usize, transposed: usize| match transpose {
            Transpose::No => plain.next_multiple_of(8),
            Transpose::Yes => transposed.next_multiple_of(8),
        };
        let lds = [row(a, k, m) + 8, row(b, n, k), n + pad_c];
        let shape = GemmShape::with_transposes(m, n, k, kernel.transposes(), lds)?;
        for activation in ACTIVATIONS {
            for bias in [None, Some(())] {
                for (alpha, beta) in [(1.0, 0.0), (0.5, -2.0)] {
                    let epilogue = Epilogue {
                        factors: Factors { alpha, beta },
                        bias,
                        activation,
                    };
                    match kernel.dtype {
                        DType::F16 => {
                            is_right::<f16, f16>(&gpu, kernel, &shape, epilogue)?;
                            is_right::<f16, f32>(&gpu, kernel, &shape, epilogue)?;
                        }
                        DType::F32 => is_right::<f32, f32>(&gpu, kernel, &shape, epilogue)?,
                        _ => {
                            is_right::<bf16, bf16>(&gpu, kernel, &shape, epilogue)?;
                            is_right::<bf16, f32>(&gpu, kernel, &shape, epilogue)?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// In one call, with what the planner picks.
fn large_products() -> Outcome {
    for activation in ACTIVATIONS {
        let shape = GemmShape::packed(2048, 1024, 512)?;
        let operand = |operand, seed| random_matrix::<f16>(seed, shape.span_elems(operand));
        let (a, b, bias) = (
            operand(Operand::A, 1),
            operand(Operand::B, 2),
            random_matrix::<f16>(4, shape.n()),
        );
        let mut c = random_matrix::<f32>(3, shape.span_elems(Operand::C));
        let epilogue = Epilogue {
            factors: Factors { alpha: 0.5, beta: 2.0 },
            bias: Some(&bias[..]),
            activation,
        };
        let options = Options {
            backend: Backend::Gpu,
            verify: Verify::Sample,
            ..Options::default()
        };
        gemm(&Gemm::new(shape).epilogue(epilogue), &a, &b, &mut c, &options)?;
    }
    Ok(())
}

fn refuses_kernels_without() -> Outcome {
    let gpu = Gpu::open(0)?;
    let shape = GemmShape::packed(16, 16, 16)?;
    let policy = Policy {
        family: Some(Family::TILED_STATIC),
        ..Policy::default()
    };
    let plain = plan(&shape, DType::F16, gpu.profile(), &policy)?;
    let (a, b) = (gpu.upload(&[f16::ONE; 256])?, gpu.upload(&[f16::ONE; 256])?);
    let mut c = gpu.upload(&[0.0_f32; 256])?;
    match gpu.launch(&plain, &Gemm::new(shape), &a, &b, &mut c) {
        Err(Error::InvalidArgument(_)) => Ok(()),
        other => Err(format!("C of f32 by a kernel that has none: {other:?}").into()),
    }
}
