//! Several FP8 products in one launch, on a GPU of compute capability 9.0.

use cust::memory::{CopyDestination, DeviceBuffer};
use half::bf16;
use tilewright::fp8::{Arithmetic, Fp8Batch, Fp8Kernel, Fp8Matrix, Fp8Products, Fp8Scaling, Policy, plan};
use tilewright::launch::{Fp8Operands, Gpu};
use tilewright::random::random_matrix;
use tilewright::{Activation, Factors, OutputOf};

use crate::Outcome;
use crate::fp8::{Content, cases, operand};

/// Groups with residues, empty ones, rows of none and ends past the last row; batches with all rows and with some; more
/// k-tiles than stages, more tiles than SMs, and both types of C.
pub fn every_case(kernel: &'static Fp8Kernel) -> Outcome {
    let gpu = Gpu::open(0)?;
    for (content, [m, n, k]) in [
        (Content::Exact, [300, 136, 1040]),
        (Content::Exact, [263, 131, 272]),
        (Content::Random, [520, 264, 2064]),
        (Content::Exact, [3000, 2176, 272]),
    ]
    .into_iter()
    .take(cases(1))
    {
        let matrices = |of: usize, scaling, rows: usize| {
            let all = (0..6).map(|at| operand(kernel, 2 * at + of, scaling, [rows, k], content));
            all.collect::<tilewright::Result<Vec<Fp8Matrix>>>()
        };
        let b = matrices(1, Fp8Scaling::Blocks128, n)?;
        let a = operand(kernel, 0, Fp8Scaling::Rows128, [m, k], content)?;
        let rows = m as u32;
        for ends in [
            [7, 7, rows / 3, rows / 3 + 1, rows - 20, rows - 7],
            [0, 64, 192, 192, rows, rows],
            [1, 129, 130, 131, rows + 50, u32::MAX],
            [0; 6],
        ] {
            let groups = Fp8Batch::of_groups(&a, &b, &ends)?;
            both_types(&gpu, kernel, groups, content).map_err(|error| format!("ends {ends:?}: {error:?}"))?;
        }
        // Of the rows of a batch each product has a third.
        let room = m / 3;
        let a = matrices(0, Fp8Scaling::Rows128, room)?;
        let all = Fp8Batch::new(&a, &b)?;
        both_types(&gpu, kernel, all, content).map_err(|error| format!("a batch: {error:?}"))?;
        for counts in [[0, 1, 65, room as u32, u32::MAX, 0], [0; 6]] {
            let some = all.counts(&counts)?;
            both_types(&gpu, kernel, some, content).map_err(|error| format!("counts {counts:?}: {error:?}"))?;
        }
    }
    Ok(())
}

fn both_types(gpu: &Gpu, kernel: &'static Fp8Kernel, products: Fp8Batch<'_, bf16>, content: Content) -> Outcome {
    is_right::<bf16>(gpu, kernel, products, content)?;
    is_right::<f32>(gpu, kernel, products, content).map_err(|error| format!("C of f32: {error:?}").into())
}

/// The products alone and with everything that follows a product, into C that holds numbers: rows that are not computed
/// keep them.
fn is_right<C: OutputOf<bf16>>(
    gpu: &Gpu,
    kernel: &'static Fp8Kernel,
    products: Fp8Batch<'_, bf16>,
    content: Content,
) -> Outcome {
    let policy = Policy {
        kernel: Some(kernel),
        ..Policy::default()
    };
    let plan = plan(&products.problem(), gpu.profile(), &policy)?;
    let [m, n, _] = plan.extents();
    let m = match products.problem().products {
        Fp8Products::Batch(count) => m * count as usize,
        _ => m,
    };
    let bias = random_matrix::<bf16>(3, n);
    for (factors, bias) in [
        (Factors::default(), None),
        (Factors { alpha: -1.5, beta: 0.5 }, Some(&bias[..])),
    ] {
        let mut products = products.factors(factors);
        let mut activation = Activation::None;
        if let Some(bias) = bias {
            activation = Activation::Gelu;
            products = products.bias(bias).activation(activation);
        }
        let before = random_matrix::<C>(4, m * n);
        let before_f64: Vec<f64> = before.iter().map(|c| c.to_f64()).collect();
        let prepared = gpu
            .kernels()
            .prepare_fp8::<bf16, C>(&plan, bias.is_some(), activation)?;
        let on_c = DeviceBuffer::from_slice(&before)?;
        let [a, b] = products.data();
        let data = [DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?];
        let [of_a, of_b] = products.scales();
        let scales = [DeviceBuffer::from_slice(&of_a)?, DeviceBuffer::from_slice(&of_b)?];
        let on_bias = bias.map(DeviceBuffer::from_slice).transpose()?;
        let ends = products.ends().map(DeviceBuffer::from_slice).transpose()?;
        let operands = Fp8Operands {
            data: data.each_ref().map(|buffer| buffer.as_device_ptr().as_raw()),
            scales: scales.each_ref().map(|buffer| buffer.as_device_ptr().as_raw()),
            c: on_c.as_device_ptr().as_raw(),
            bias: on_bias.as_ref().map_or(0, |buffer| buffer.as_device_ptr().as_raw()),
            group_ends: ends.as_ref().map_or(0, |buffer| buffer.as_device_ptr().as_raw()),
            factors,
        };
        // SAFETY: the buffers are as long as the plan says, and live until the stream is done.
        unsafe { prepared.enqueue(gpu.stream().as_inner(), &operands)? };
        gpu.stream().synchronize()?;
        let mut c = before;
        on_c.copy_to(&mut c)?;
        let arithmetic = match content {
            Content::Exact => Arithmetic::F32,
            Content::Random => Arithmetic::TensorCores,
        };
        let checked = products.check(arithmetic, Some(&before_f64), &c)?;
        if !checked.passed() {
            return Err(checked.to_string().into());
        }
        if content == Content::Exact && bias.is_none() {
            let exact = products.reference(Some(&before_f64));
            let is_wrong = |(c, exact): (&C, &f64)| c.to_f64() != C::from_f64(*exact).to_f64();
            if let Some(at) = c.iter().zip(&exact).position(is_wrong) {
                let (row, column, found) = (at / n, at % n, c[at].to_f64());
                let exact = exact[at];
                return Err(format!("row {row}, column {column} is {found}, a sum that is exact is {exact}").into());
            }
        }
    }
    Ok(())
}
