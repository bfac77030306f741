//! FP8 kernels, on a GPU of compute capability 9.0.

use cust::memory::{CopyDestination, DeviceBuffer};
use half::{bf16, f16};
use tilewright::fp8::{
    Arithmetic, FP8_KERNELS, Fp8Gemm, Fp8Kernel, Fp8Matrix, Fp8Mode, Fp8ScaleLayout, Fp8Scaling, Policy, check, plan,
    reference,
};
use tilewright::launch::{Fp8Operands, Gpu};
use tilewright::random::random_matrix;
use tilewright::{Activation, DType, Element, Factors, OutputOf};

use crate::trial::Trial;
use crate::{Outcome, fp8_groups, rows};

/// None where the device of this compute capability does not run them.
pub fn trials(capability: (u32, u32)) -> Vec<Trial> {
    let kernels = FP8_KERNELS.iter().filter(|_| Fp8Kernel::runs_on(capability));
    let case_of = |kernel: &'static Fp8Kernel| match kernel.tile.groups {
        true => fp8_groups::every_case(kernel),
        false => every_case(kernel),
    };
    kernels
        .map(|kernel| Trial::test(format!("kernels::{}", kernel.symbol), move || case_of(kernel)))
        .collect()
}

/// What the operands hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// Small integers and powers of two for scales: every sum is exact in the 14 bits of the tensor cores.
    Exact,
    /// Random numbers, quantized.
    Random,
}

/// How many cases: all, or so many, the small ones, where a tool watches: with the large ones it takes minutes.
pub fn cases(small: usize) -> usize {
    if rows::is_watched() { small } else { usize::MAX }
}

/// Tiles with residues in M and N, a K that is no multiple of 128, more k-tiles than stages, more tiles than SMs, a
/// long K; both types of C, every scaling.
fn every_case(kernel: &'static Fp8Kernel) -> Outcome {
    let gpu = Gpu::open(0)?;
    let scalings: &[[Fp8Scaling; 2]] = match kernel.mode {
        Fp8Mode::Blocks => &[[Fp8Scaling::Rows128, Fp8Scaling::Blocks128]],
        Fp8Mode::Fast | Fp8Mode::Promoted => &[
            [Fp8Scaling::Rows; 2],
            [Fp8Scaling::Tensor; 2],
            [Fp8Scaling::Tensor, Fp8Scaling::Rows],
        ],
    };
    for (extents, content) in [
        ([1, 1, 16], Content::Exact),
        ([257, 129, 1040], Content::Exact),
        ([300, 520, 2064], Content::Random),
        ([2048, 2176, 272], Content::Exact),
        ([256, 384, 4096], Content::Random),
    ]
    .into_iter()
    .take(cases(2))
    {
        for &scalings in scalings {
            let of_case = match kernel.output {
                DType::F16 => is_right::<f16, f16>(&gpu, kernel, scalings, extents, content),
                _ => is_right::<bf16, bf16>(&gpu, kernel, scalings, extents, content),
            };
            of_case.map_err(|error| format!("{extents:?}, {scalings:?}, {content:?}: {error:?}"))?;
            let of_case = match kernel.output {
                DType::F16 => is_right::<f16, f32>(&gpu, kernel, scalings, extents, content),
                _ => is_right::<bf16, f32>(&gpu, kernel, scalings, extents, content),
            };
            of_case.map_err(|error| format!("{extents:?}, {scalings:?}, {content:?}, C of f32: {error:?}"))?;
        }
    }
    Ok(())
}

/// An operand: A is 0, B 1; other numbers are those of another seed.
pub fn operand(
    kernel: &Fp8Kernel,
    at: usize,
    scaling: Fp8Scaling,
    [rows, k]: [usize; 2],
    content: Content,
) -> tilewright::Result<Fp8Matrix> {
    let format = kernel.formats[at % 2];
    let noise = random_matrix::<f32>(1 + at as u64, rows * k);
    match content {
        Content::Random => Fp8Matrix::quantize(format, scaling, rows, k, &noise),
        Content::Exact => {
            let pick = |index: usize| (noise[index % noise.len()].abs() * 1000.0) as usize;
            // 0, 1, -1 and 2: below, the sign and the lowest bits of exponents.
            let one = match format {
                tilewright::fp8::Fp8::E4m3 => 0x38,
                tilewright::fp8::Fp8::E5m2 => 0x3c,
            };
            let data = (0..rows * k)
                .map(|at| [0, one, one | 0x80, 0x40][pick(at) % 4])
                .collect();
            let layout = Fp8ScaleLayout::of(scaling, rows, k);
            let scales = (0..layout.lines * layout.columns).map(|at| [0.5, 1.0, 2.0][(pick(7 * at) + at) % 3]);
            let scales: Vec<f32> = scales.collect();
            Fp8Matrix::with_packed_scales(format, scaling, [rows, k], data, &scales)
        }
    }
}

fn is_right<E, C>(
    gpu: &Gpu,
    kernel: &'static Fp8Kernel,
    [of_a, of_b]: [Fp8Scaling; 2],
    [m, n, k]: [usize; 3],
    content: Content,
) -> Outcome
where
    E: Element<Accumulator = f32>,
    C: OutputOf<E>,
{
    let (a, b) = (
        operand(kernel, 0, of_a, [m, k], content)?,
        operand(kernel, 1, of_b, [n, k], content)?,
    );
    let bias = random_matrix::<E>(3, n);
    let before = random_matrix::<C>(4, m * n);
    let policy = Policy {
        kernel: Some(kernel),
        ..Policy::default()
    };
    // The product alone into C that holds NaN, and everything that follows a product.
    for (factors, bias) in [
        (Factors::default(), None),
        (Factors { alpha: -1.5, beta: 0.5 }, Some(&bias[..])),
    ] {
        let mut gemm = Fp8Gemm::<E>::new(&a, &b)?.factors(factors);
        if let Some(bias) = bias {
            gemm = gemm.bias(bias).activation(Activation::Gelu);
        }
        let plan = plan(&gemm.problem(), gpu.profile(), &policy)?;
        let prepared = gpu
            .kernels()
            .prepare_fp8::<E, C>(&plan, bias.is_some(), gemm.epilogue.activation)?;
        let nan = vec![C::from_f64(f64::NAN); m * n];
        let on_c = DeviceBuffer::from_slice(if factors.beta == 0.0 { &nan } else { &before })?;
        let data = [DeviceBuffer::from_slice(a.data())?, DeviceBuffer::from_slice(b.data())?];
        let scales = [
            DeviceBuffer::from_slice(a.scales())?,
            DeviceBuffer::from_slice(b.scales())?,
        ];
        let on_bias = bias.map(DeviceBuffer::from_slice).transpose()?;
        let operands = Fp8Operands {
            data: data.each_ref().map(|buffer| buffer.as_device_ptr().as_raw()),
            scales: scales.each_ref().map(|buffer| buffer.as_device_ptr().as_raw()),
            c: on_c.as_device_ptr().as_raw(),
            bias: on_bias.as_ref().map_or(0, |buffer| buffer.as_device_ptr().as_raw()),
            group_ends: 0,
            factors,
        };
        // SAFETY: the buffers are as long as the plan says, and live until the stream is done.
        unsafe { prepared.enqueue(gpu.stream().as_inner(), &operands)? };
        gpu.stream().synchronize()?;
        let mut c = vec![C::from_f64(0.0); m * n];
        on_c.copy_to(&mut c)?;
        let before: Vec<f64> = before.iter().map(|c| c.to_f64()).collect();
        let arithmetic = match content {
            Content::Exact => Arithmetic::F32,
            Content::Random => Arithmetic::TensorCores,
        };
        let checked = check(&gemm, kernel.mode, arithmetic, Some(&before), &c)?;
        if !checked.passed() {
            return Err(checked.to_string().into());
        }
        if content == Content::Exact && bias.is_none() {
            let exact = reference(&gemm, None);
            let wrong = c
                .iter()
                .zip(&exact)
                .position(|(c, exact)| c.to_f64() != C::from_f64(*exact).to_f64());
            if let Some(at) = wrong {
                let (row, column) = (at / n, at % n);
                let (found, exact) = (c[at].to_f64(), exact[at]);
                return Err(format!("row {row}, column {column} is {found}, a sum that is exact is {exact}").into());
            }
        }
    }
    Ok(())
}
