//! Quantization to FP8, on a GPU of compute capability 9.0: the bits of the CPU's quantizer.

use cust::memory::{CopyDestination, DeviceBuffer};
use half::{bf16, f16};
use tilewright::fp8::{FP8_QUANTIZE_KERNELS, Fp8, Fp8Kernel, Fp8Matrix, Fp8Quantize, Fp8QuantizeKernel};
use tilewright::launch::{Fp8QuantizeOperands, Gpu};
use tilewright::{DType, Element};

use crate::Outcome;
use crate::fp8::cases;
use crate::quantize::{assert_equal_bits, laid_out, matrix};
use crate::trial::Trial;

/// A trial for each kernel, with those that go before it or come after it. None where the device of this compute
/// capability does not run them.
pub fn trials(capability: (u32, u32)) -> Vec<Trial> {
    let kernels = FP8_QUANTIZE_KERNELS.iter().filter(|_| Fp8Kernel::runs_on(capability));
    kernels
        .map(|kernel| Trial::test(format!("kernels::{}", kernel.symbol), || every_case(kernel)))
        .collect()
}

/// Whole tiles and residues, vectors and single elements, more tiles than partials; numbers, and one that is none.
fn every_case(kernel: &'static Fp8QuantizeKernel) -> Outcome {
    match kernel.source {
        DType::F16 => every_case_of::<f16>(kernel),
        DType::Bf16 => every_case_of::<bf16>(kernel),
        _ => every_case_of::<f32>(kernel),
    }
}

fn every_case_of<T: Element>(kernel: &'static Fp8QuantizeKernel) -> Outcome {
    let gpu = Gpu::open(0)?;
    for (at, (extents, padding)) in [
        ([1, 16], 0),
        ([128, 256], 0),
        ([130, 144], 4),
        ([301, 2384], 3),
        ([2049, 4112], 0),
        ([4096, 2048], 8),
    ]
    .into_iter()
    .enumerate()
    .take(cases(4))
    {
        for format in Fp8::ALL {
            for bad in [None, Some(f64::NAN), Some(f64::INFINITY)] {
                let elements = matrix::<T>(at as u64, kernel.scaling, extents);
                is_right(&gpu, kernel, format, (extents, padding), elements, bad)
                    .map_err(|error| format!("{extents:?}, {format}, {bad:?}: {error:?}"))?;
            }
        }
    }
    Ok(())
}

/// `bad`: what takes the place of the last element, whose scale and all elements with it are NaN then.
fn is_right<T: Element>(
    gpu: &Gpu,
    kernel: &'static Fp8QuantizeKernel,
    format: Fp8,
    (extents, padding): ([usize; 2], usize),
    mut elements: Vec<T>,
    bad: Option<f64>,
) -> Outcome {
    let [rows, k] = extents;
    let quantize = Fp8Quantize::new(format, kernel.scaling, kernel.source, rows, k);
    let quantize = match kernel.is_transposed {
        true => quantize.transposed().ld(rows + padding),
        false => quantize.ld(k + padding),
    };
    let plan = quantize.plan()?;
    let last = elements.len() - 1;
    if let Some(bad) = bad {
        elements[last] = T::from_f64(bad);
    }
    let source = DeviceBuffer::from_slice(&laid_out(&elements, extents, kernel.is_transposed, padding))?;
    let mut data = vec![0xff_u8; plan.data_bytes()];
    let mut scales = vec![f32::NAN; plan.scale_layout().elems()];
    let (on_data, on_scales) = (DeviceBuffer::from_slice(&data)?, DeviceBuffer::from_slice(&scales)?);
    // What a workspace contains does not matter: here the bits of NaN.
    let workspace = DeviceBuffer::from_slice(&vec![u32::MAX; plan.workspace_bytes().max(4) / 4])?;
    let operands = Fp8QuantizeOperands {
        source: source.as_device_ptr().as_raw(),
        data: on_data.as_device_ptr().as_raw(),
        scales: on_scales.as_device_ptr().as_raw(),
        workspace: workspace.as_device_ptr().as_raw(),
    };
    let prepared = gpu.kernels().prepare_fp8_quantize(&plan)?;
    // SAFETY: the buffers are as long as the plan says, and live until the stream is done.
    unsafe { prepared.enqueue(gpu.stream().as_inner(), &operands)? };
    gpu.stream().synchronize()?;
    on_data.copy_to(&mut data)?;
    on_scales.copy_to(&mut scales)?;
    if bad.is_some() {
        elements[last] = T::from_f64(0.0);
    }
    let numbers: Vec<f32> = elements.iter().map(|element| element.to_f64() as f32).collect();
    let on_cpu = Fp8Matrix::quantize(format, kernel.scaling, rows, k, &numbers)?;
    if bad.is_some() {
        let layout = on_cpu.scale_layout();
        let bad_scale = layout.index(rows - 1, k - 1);
        if !scales[bad_scale].is_nan() {
            return Err(format!("the scale is {}, not NaN", scales[bad_scale]).into());
        }
        scales[bad_scale] = on_cpu.scales()[bad_scale];
        for at in (0..data.len()).filter(|at| layout.index(at / k, at % k) == bad_scale) {
            if !format.is_nan(data[at]) {
                return Err(format!("element {} of row {} is {:#04x}, not NaN", at % k, at / k, data[at]).into());
            }
            data[at] = on_cpu.data()[at];
        }
    }
    Ok(assert_equal_bits(&on_cpu, &data, &scales)?)
}
