//! Block-scaled kernels, on a GPU of compute capability 12.x. Nothing has run them there yet.

use cust::memory::{CopyDestination, DeviceBuffer};
use half::{bf16, f16};
use tilewright::block_scaled::{
    BLOCK_SCALED_KERNELS, BlockScaled, BlockScaledGemm, BlockScaledKernel, Policy, check, plan,
};
use tilewright::launch::{BlockScaledOperands, Gpu};
use tilewright::random::random_matrix;
use tilewright::{Activation, Bytes, DType, Element, Factors, OutputOf};

use crate::Outcome;
use crate::trial::Trial;

/// None where the device of this compute capability does not run them.
pub fn trials(capability: (u32, u32)) -> Vec<Trial> {
    let kernels = BLOCK_SCALED_KERNELS
        .iter()
        .filter(|_| BlockScaledKernel::runs_on(capability));
    kernels
        .map(|kernel| Trial::test(format!("block_scaled::{}", kernel.symbol), || every_case(kernel)))
        .collect()
}

/// Tiles with residues, few and many stages, both types of C, an epilogue.
fn every_case(kernel: &'static BlockScaledKernel) -> Outcome {
    let gpu = Gpu::open(0)?;
    let limit = Bytes(gpu.profile().smem_per_block_optin);
    for (extents, stages) in [
        ([1, 1, 32], kernel.tile.least_stages()),
        ([257, 129, 480], kernel.tile.least_stages()),
        ([300, 520, 2080], kernel.tile.most_stages(limit)),
        ([1024, 1024, 4096], kernel.tile.most_stages(limit)),
    ] {
        let of_case = match kernel.output {
            DType::F16 => is_right::<f16, f16>(&gpu, kernel, extents, stages),
            _ => is_right::<bf16, bf16>(&gpu, kernel, extents, stages),
        };
        of_case.map_err(|error| format!("{extents:?}, {stages} stages: {error:?}"))?;
        let of_case = match kernel.output {
            DType::F16 => is_right::<f16, f32>(&gpu, kernel, extents, stages),
            _ => is_right::<bf16, f32>(&gpu, kernel, extents, stages),
        };
        of_case.map_err(|error| format!("{extents:?}, {stages} stages, C of f32: {error:?}"))?;
    }
    Ok(())
}

fn is_right<E, C>(gpu: &Gpu, kernel: &'static BlockScaledKernel, [m, n, k]: [usize; 3], stages: u32) -> Outcome
where
    E: Element<Accumulator = f32>,
    C: OutputOf<E>,
{
    let quantized =
        |seed, rows: usize| BlockScaled::quantize(kernel.tile.format, rows, k, &random_matrix::<f32>(seed, rows * k));
    let (a, b) = (quantized(1, m)?, quantized(2, n)?);
    let bias = random_matrix::<E>(3, n);
    let before = random_matrix::<C>(4, m * n);
    let policy = Policy {
        kernel: Some(kernel),
        stages: Some(stages),
        ..Policy::default()
    };
    let plan = plan(kernel.tile.format, [m, n, k], kernel.output, gpu.profile(), &policy)?;
    // The product alone into C that holds NaN, and everything that follows a product.
    for (factors, bias) in [
        (Factors::default(), None),
        (Factors { alpha: -1.5, beta: 0.5 }, Some(&bias[..])),
    ] {
        let mut gemm = BlockScaledGemm::<E>::new(&a, &b)?.factors(factors);
        if let Some(bias) = bias {
            gemm = gemm.bias(bias).activation(Activation::Gelu);
        }
        let prepared = gpu
            .kernels()
            .prepare_block_scaled::<E, C>(&plan, bias.is_some(), gemm.epilogue.activation)?;
        let nan = vec![C::from_f64(f64::NAN); m * n];
        let on_c = DeviceBuffer::from_slice(if factors.beta == 0.0 { &nan } else { &before })?;
        let data = [DeviceBuffer::from_slice(a.data())?, DeviceBuffer::from_slice(b.data())?];
        let scales = [
            DeviceBuffer::from_slice(a.scales())?,
            DeviceBuffer::from_slice(b.scales())?,
        ];
        let on_bias = bias.map(DeviceBuffer::from_slice).transpose()?;
        let operands = BlockScaledOperands {
            data: data.each_ref().map(|buffer| buffer.as_device_ptr().as_raw()),
            scales: scales.each_ref().map(|buffer| buffer.as_device_ptr().as_raw()),
            c: on_c.as_device_ptr().as_raw(),
            bias: on_bias.as_ref().map_or(0, |buffer| buffer.as_device_ptr().as_raw()),
            group_ends: 0,
            factors: Factors {
                alpha: gemm.alpha(),
                ..factors
            },
        };
        // SAFETY: the buffers are as long as the plan says, and live until the stream is done.
        unsafe { prepared.enqueue(gpu.stream().as_inner(), &operands)? };
        gpu.stream().synchronize()?;
        let mut c = vec![C::from_f64(0.0); m * n];
        on_c.copy_to(&mut c)?;
        let before: Vec<f64> = before.iter().map(|c| c.to_f64()).collect();
        let checked = check(&gemm, Some(&before), &c)?;
        if !checked.passed() {
            return Err(checked.to_string().into());
        }
    }
    Ok(())
}
