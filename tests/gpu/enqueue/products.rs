//! Fourteen products, one of every kind that a launch tells apart, with inputs and the results that they must have.

use cust::memory::{CopyDestination, DeviceBuffer};
use cust_raw::CUstream;
use half::{bf16, f16};
use libtest_mimic::Failed;
use tilewright::check::Expected;
use tilewright::dispatch::{Plan, Policy};
use tilewright::launch::{Gpu, Operands, Prepared};
use tilewright::random::random_matrix;
use tilewright::{
    Activation, Element, Epilogue, Factors, Family, Gemm, GemmShape, Kernel, Operand, OutputOf, Transpose,
};
use tilewright_harness::verify::{elements_of, group_ends};

use super::driver;
use crate::Outcome;

/// Inputs of each product.
pub const SETS: usize = 4;

/// What buffers are rounded up to: `cp.async` with fewer valid bytes than it copies reads only those, but memcheck
/// takes it for a read of all 16.
const ROUNDED_TO_BYTES: usize = 16;

/// A, B, the bias, the ends of groups and C, in this order.
type Buffers = [DeviceBuffer<u8>; 5];

/// A product that is prepared, its inputs, and what they give.
pub struct Product {
    pub name: &'static str,
    pub prepared: Prepared,
    factors: Factors<f64>,
    /// What the buffers hold before a call.
    inputs: Vec<Buffers>,
    /// The bytes of C after, each compared with the reference.
    outputs: Vec<Vec<u8>>,
}

/// Device memory that a product is enqueued on.
pub struct Memory(Buffers);

impl Memory {
    /// The operands, without a workspace.
    pub fn operands(&self, product: &Product) -> Operands {
        let [a, b, bias, ends, c] = self.0.each_ref().map(driver::address);
        Operands::new(a, b, c)
            .bias(bias)
            .group_ends(ends)
            .factors(product.factors)
    }

    /// Enqueues what a set holds before a call: the inputs, and C with NaN wherever it is not read.
    pub fn fill(&self, product: &Product, set: usize, stream: CUstream) -> Outcome {
        for (to, from) in self.0.iter().zip(&product.inputs[set % SETS]) {
            driver::copy(to, from, stream)?;
        }
        Ok(())
    }

    /// The bytes of C. What was enqueued is done.
    pub fn c(&self) -> Result<Vec<u8>, Failed> {
        let [.., c] = &self.0;
        let mut found = vec![0; c.len()];
        c.copy_to(&mut found)?;
        Ok(found)
    }

    /// Compares C with what a set gives, bit for bit. What was enqueued is done.
    pub fn check(&self, product: &Product, set: usize) -> Outcome {
        let found = self.c()?;
        let expected = &product.outputs[set % SETS];
        match (0..found.len()).find(|&at| found[at] != expected[at]) {
            None => Ok(()),
            Some(at) => Err(format!(
                "{}, set {}: byte {at} of C is {:#x}, not {:#x}",
                product.name,
                set % SETS,
                found[at],
                expected[at]
            )
            .into()),
        }
    }
}

impl Product {
    /// Fresh device memory for it, full of NaN.
    pub fn memory(&self) -> Result<Memory, Failed> {
        let [a, b, bias, ends, c] = self.inputs[0]
            .each_ref()
            .map(|like| device_bytes(&vec![0xff; like.len()]));
        Ok(Memory([a?, b?, bias?, ends?, c?]))
    }

    /// Device memory for its workspace, full of garbage.
    pub fn workspace(&self) -> Result<DeviceBuffer<u8>, Failed> {
        device_bytes(&vec![0xa5; self.prepared.workspace_bytes()])
    }

    pub fn plan(&self) -> &Plan {
        self.prepared.plan()
    }
}

pub fn device_bytes(bytes: &[u8]) -> Result<DeviceBuffer<u8>, Failed> {
    Ok(DeviceBuffer::from_slice(bytes)?)
}

/// The bytes of elements, and 0xff up to whole vectors.
fn rounded_bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    // SAFETY: elements are numbers without padding, and any bytes are u8.
    let bytes = unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements)) };
    let mut rounded = bytes.to_vec();
    rounded.resize(bytes.len().next_multiple_of(ROUNDED_TO_BYTES), 0xff);
    rounded
}

/// Prepares a product with its inputs. Their results come from launches of their own, compared whole with the CPU's.
pub fn product<T: Element, C: OutputOf<T>>(
    gpu: &Gpu,
    name: &'static str,
    shape: GemmShape,
    stated: Gemm<(), T::Accumulator>,
    policy: &Policy,
) -> Result<Product, Failed> {
    let stated = Gemm { shape, ..stated };
    let plan = stated.plan::<T, C>(gpu.profile(), policy)?;
    let prepared = gpu.kernels().prepare::<T, C, ()>(&plan, &stated)?;
    let epilogue = stated.epilogue;
    let is_element = elements_of(&shape, Operand::C);
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for set in 0..SETS {
        let random = |operand, seed: u64| random_matrix::<T>(seed + 10 * set as u64, shape.span_elems(operand));
        let (a, b) = (random(Operand::A, 1), random(Operand::B, 2));
        let bias = random_matrix::<T>(4 + 10 * set as u64, if epilogue.bias.is_some() { shape.n() } else { 0 });
        let mut before = random_matrix::<C>(3 + 10 * set as u64, shape.span_elems(Operand::C));
        let is_read = epilogue.factors.beta != Default::default();
        for (element, is_element) in before.iter_mut().zip(&is_element) {
            if !(is_read && *is_element) {
                *element = C::from_f64(f64::NAN);
            }
        }
        // Of each set others: fewer rows.
        let of_set = |ends: Vec<u32>| ends.into_iter().map(|end| end * (SETS - set) as u32 / SETS as u32);
        let ends: Option<Vec<u32>> = group_ends(&shape).map(|ends| of_set(ends).collect());
        let on_host = Epilogue {
            factors: epilogue.factors,
            bias: epilogue.bias.map(|()| &bias[..]),
            activation: epilogue.activation,
        };
        let c = {
            let (on_a, on_b) = (gpu.upload(&a)?, gpu.upload(&b)?);
            let on_bias = epilogue.bias.map(|()| gpu.upload(&bias)).transpose()?;
            let mut on_c = gpu.upload(&before)?;
            let epilogue = Epilogue {
                factors: epilogue.factors,
                bias: on_bias.as_ref(),
                activation: epilogue.activation,
            };
            let on_ends = ends.as_ref().map(|ends| gpu.upload_group_ends(ends)).transpose()?;
            let problem = Gemm {
                shape,
                group_ends: on_ends.as_ref(),
                epilogue,
            };
            gpu.launch(&plan, &problem, &on_a, &on_b, &mut on_c)?;
            let mut c = before.clone();
            on_c.download(&mut c)?;
            c
        };
        let verdict = Expected::of_groups(&shape, ends.as_deref(), &a, &b)?
            .with_precision(plan.kernel().precision)?
            .with_epilogue(on_host, &before)?
            .full(&c)?;
        if !verdict.passed() {
            return Err(format!("{name}, {}: {verdict}", plan.kernel().symbol).into());
        }
        let [a, b, bias] = [&a, &b, &bias].map(|matrix| device_bytes(&rounded_bytes(matrix)));
        let ends: Vec<u8> = ends.iter().flatten().flat_map(|end| end.to_ne_bytes()).collect();
        inputs.push([
            a?,
            b?,
            bias?,
            device_bytes(&ends)?,
            device_bytes(&rounded_bytes(&before))?,
        ]);
        outputs.push(rounded_bytes(&c));
    }
    let [alpha, beta] = [epilogue.factors.alpha, epilogue.factors.beta].map(|factor| factor.to_f64());
    Ok(Product {
        name,
        prepared,
        factors: Factors { alpha, beta },
        inputs,
        outputs,
    })
}

/// A policy with a family and, where it is not 0, a number of splits.
fn policy(family: Family, splits: u32) -> Policy {
    Policy {
        family: Some(family),
        splits: (splits > 0).then_some(splits),
        ..Policy::default()
    }
}

/// The product alone; the shape follows.
fn plain<T: Element>() -> Gemm<(), T::Accumulator> {
    Gemm::new(GemmShape::packed(0, 0, 0).expect("empty"))
}

/// f32 with split-K.
pub fn split_k(gpu: &Gpu) -> Result<Product, Failed> {
    let shape = GemmShape::packed(96, 64, 300)?;
    product::<f32, f32>(gpu, "f32, split-K", shape, plain::<f32>(), &policy(Family::SIMT, 4))
}

/// f16 with A and B padded.
pub fn padded(gpu: &Gpu) -> Result<Product, Failed> {
    let shape = GemmShape::with_ld(301, 131, 133, 133, 131, 131)?;
    let policy = Policy {
        kernel: Kernel::named("mma_sync_nn_128x128_f16"),
        ..policy(Family::MMA_SYNC, 0)
    };
    product::<f16, f16>(gpu, "f16, A and B padded", shape, plain::<f16>(), &policy)
}

/// f16 to f32 with alpha, beta, bias and GELU, by the kernels with the newest tensor cores that the device has.
pub fn epilogue(gpu: &Gpu) -> Result<Product, Failed> {
    let shape = GemmShape::with_ld(130, 72, 64, 64, 72, 76)?;
    let stated = plain::<f16>()
        .alpha(0.5)
        .beta(2.0)
        .bias(())
        .activation(Activation::Gelu);
    product::<f16, f32>(
        gpu,
        "f16 to f32, bias and GELU",
        shape,
        stated,
        &policy(tensor_cores(gpu), 0),
    )
}

/// The newest family of tensor cores that the device runs.
fn tensor_cores(gpu: &Gpu) -> Family {
    match Family::WGMMA.target().runs_on(gpu.profile().compute_capability) {
        true => Family::WGMMA,
        false => Family::MMA_SYNC,
    }
}

/// One of every kind.
pub fn every_kind(gpu: &Gpu) -> Result<Vec<Product>, Failed> {
    let tensor_cores = tensor_cores(gpu);
    // `mma_sync` has no split-K.
    let splits = |splits| if tensor_cores == Family::WGMMA { splits } else { 0 };
    let transposed = GemmShape::packed_transposed(72, 60, 52, [Transpose::Yes, Transpose::No])?;
    let padded_b = GemmShape::with_ld(128, 131, 256, 256, 131, 132)?;
    Ok(vec![
        product::<f32, f32>(
            gpu,
            "f32",
            GemmShape::packed(65, 47, 81)?,
            plain::<f32>(),
            &policy(Family::TILED_STATIC, 0),
        )?,
        split_k(gpu)?,
        product::<f32, f32>(
            gpu,
            "f32, A transposed, alpha and beta",
            transposed,
            plain::<f32>().alpha(-2.5).beta(0.5),
            &policy(Family::SIMT, 0),
        )?,
        product::<f32, f32>(
            gpu,
            "f32, matrix and vector, split-K",
            GemmShape::packed(40, 1, 4096)?,
            plain::<f32>(),
            &policy(Family::MATRIX_VECTOR, 2),
        )?,
        product::<f64, f64>(
            gpu,
            "f64, B transposed, alpha and beta, split-K",
            GemmShape::packed_transposed(33, 35, 310, [Transpose::No, Transpose::Yes])?,
            plain::<f64>().alpha(0.1).beta(-1.5),
            &policy(Family::MMA_F64, 3),
        )?,
        product::<f16, f16>(
            gpu,
            "f16, bias and ReLU",
            GemmShape::packed(80, 72, 96)?,
            plain::<f16>().bias(()).activation(Activation::Relu),
            &policy(Family::MMA_SYNC, 0),
        )?,
        epilogue(gpu)?,
        product::<bf16, bf16>(
            gpu,
            "bf16, split-K",
            GemmShape::packed(128, 256, 512)?,
            plain::<bf16>(),
            &policy(tensor_cores, splits(3)),
        )?,
        padded(gpu)?,
        product::<bf16, f32>(
            gpu,
            "bf16 to f32, B padded, split-K, bias and beta",
            padded_b,
            plain::<bf16>().beta(-1.0).bias(()),
            &policy(tensor_cores, splits(2)),
        )?,
        product::<f32, f32>(
            gpu,
            "f32, batch with one B, split-K",
            GemmShape::packed(40, 64, 300)?.with_batch(5, [40 * 300, 0, 40 * 64])?,
            plain::<f32>(),
            &policy(Family::SIMT, 2),
        )?,
        product::<f16, f16>(
            gpu,
            "f16, batch side by side, A padded, bias",
            GemmShape::with_ld(70, 64, 40, 40, 64, 200)?.with_batch(3, [2801, 40 * 64, 64])?,
            plain::<f16>().bias(()),
            &policy(tensor_cores, 0),
        )?,
        product::<f32, f32>(
            gpu,
            "f32, groups, beta",
            GemmShape::packed(300, 47, 81)?.with_groups(6, 81 * 47)?,
            plain::<f32>().beta(0.5),
            &policy(Family::SIMT, 0),
        )?,
        product::<bf16, bf16>(
            gpu,
            "bf16, groups, A padded, bias",
            GemmShape::with_ld(700, 136, 129, 131, 136, 136)?.with_groups(9, 129 * 136)?,
            plain::<bf16>().bias(()),
            &policy(tensor_cores, 0),
        )?,
    ])
}
