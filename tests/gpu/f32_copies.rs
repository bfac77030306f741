//! f32 whose operands are copied before the product: padded, or transposed.

use ::mutants::products;
use cust::module::Module;
use tilewright::check::Expected;
use tilewright::dispatch::{Policy, plan};
use tilewright::launch::Gpu;
use tilewright::random::random_matrix;
use tilewright::{DType, Gemm, GemmShape, KERNELS, Kernel, Operand, Precision, ptx};
use tilewright_contract::CopyKind;

use crate::gemm::LAYOUTS;
use crate::odd::uses_no_local_memory;
use crate::trial::Trial;
use crate::{Outcome, cases};

/// Those of tf32 where the device of this compute capability runs them.
pub fn trials(capability: (u32, u32)) -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("kernels::transpose_rows_b32", transposes_of_every_size),
        Trial::test("usage::transpose_rows_b32", || {
            uses_no_local_memory(CopyKind::Transpose)
        }),
        Trial::test("copies::ieee_f32", || products_of_every_layout(Precision::Ieee)),
    ];
    let is_tf32 = |kernel: &&Kernel| kernel.precision == Precision::Tf32;
    if KERNELS
        .iter()
        .find(is_tf32)
        .is_some_and(|kernel| kernel.target.runs_on(capability))
    {
        trials.push(Trial::test("copies::tf32", || {
            products_of_every_layout(Precision::Tf32)
        }));
    }
    trials
}

/// The kernel alone, against the transpose on the host.
fn transposes_of_every_size() -> Outcome {
    let gpu = Gpu::open(0)?;
    let symbol = CopyKind::Transpose.symbol();
    let mut levels = ptx::levels_for(gpu.profile().compute_capability);
    let text = levels
        .find_map(|level| ptx::module(level, &[symbol]))
        .ok_or("not embedded")?;
    // In the context of `gpu`.
    let module = Module::from_ptx(text, &[])?;
    for extents in [
        [1, 1, 0],
        [1, 130, 3],
        [130, 1, 0],
        [32, 32, 0],
        [45, 67, 2],
        [300, 513, 1],
    ] {
        let case = products::transpose_rows(extents);
        cases::run(&module, symbol, &case).map_err(|problem| format!("{extents:?}: {problem:?}"))?;
    }
    Ok(())
}

/// Every layout with rows of every distance, batches, one operand for all products, with each kernel that copies an
/// operand for it, whatever would be fastest.
fn products_of_every_layout(precision: Precision) -> Outcome {
    let gpu = Gpu::open(0)?;
    let mut kinds = Vec::new();
    for ([m, n, k], gap, batch) in [
        ([65, 67, 69], 0, [1, 0, 0]),
        ([130, 1, 257], 1, [3, 7, 0]),
        ([259, 514, 131], 2, [3, 4, 4]),
        ([1023, 1025, 1027], 0, [1, 0, 0]),
    ] {
        for transpose in LAYOUTS {
            let packed = GemmShape::packed_transposed(m, n, k, transpose)?;
            let ld = |operand| packed.extents(operand).1 + gap;
            let shape = packed.with_operand_lds([ld(Operand::A), ld(Operand::B)])?;
            let [count, a, b] = batch;
            let stride = |operand, apart: usize| match apart {
                0 => 0,
                _ => shape.span_elems(operand) + apart,
            };
            let strides = [stride(Operand::A, a), stride(Operand::B, b), m * n];
            let shape = if count > 1 {
                shape.with_batch(count, strides)?
            } else {
                shape
            };
            let copies = |kernel: &&Kernel| kernel.copies(&shape).iter().any(Option::is_some);
            let of_precision = |kernel: &&Kernel| kernel.precision == precision && kernel.dtype == DType::F32;
            let runs = |kernel: &&Kernel| kernel.target.runs_on(gpu.profile().compute_capability);
            for kernel in KERNELS.iter().filter(of_precision).filter(copies).filter(runs) {
                kinds.extend(kernel.copies(&shape).into_iter().flatten().map(|copy| copy.kind));
                let policy = Policy {
                    kernel: Some(kernel),
                    ..Policy::default()
                };
                is_right(&gpu, &shape, &policy)
                    .map_err(|error| format!("{} {shape} {transpose:?}: {error:?}", kernel.symbol))?;
            }
        }
    }
    let is_tried = |kind| kinds.contains(&kind);
    match is_tried(CopyKind::Pad) && is_tried(CopyKind::Transpose) {
        true => Ok(()),
        false => Err(format!("only {kinds:?}").into()),
    }
}

fn is_right(gpu: &Gpu, shape: &GemmShape, policy: &Policy) -> Outcome {
    let operand = |operand, seed| random_matrix::<f32>(seed, shape.span_elems(operand));
    let (a, b) = (operand(Operand::A, 5), operand(Operand::B, 6));
    let plan = plan(shape, DType::F32, gpu.profile(), policy)?;
    let (on_a, on_b) = (gpu.upload(&a)?, gpu.upload(&b)?);
    let mut on_c = gpu.upload(&vec![f32::NAN; shape.span_elems(Operand::C)])?;
    gpu.launch(&plan, &Gemm::new(*shape), &on_a, &on_b, &mut on_c)?;
    let mut c = vec![0.0; on_c.len()];
    on_c.download(&mut c)?;
    let expected = Expected::product(shape, &a, &b)?.with_precision(plan.kernel().precision)?;
    let verdict = match shape.m() > 1000 {
        true => expected.sampled(&c, 7)?,
        false => expected.full(&c)?,
    };
    verdict.into_result()?;
    Ok(())
}
