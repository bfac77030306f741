//! f32 that is split into three bf16: the split alone, and products of what it leaves.

use ::mutants::products;
use cust::module::Module;
use tilewright::check::Expected;
use tilewright::dispatch::{Policy, plan};
use tilewright::launch::Gpu;
use tilewright::random::random_matrix;
use tilewright::{DType, Family, Gemm, GemmShape, Operand, ptx};
use tilewright_contract::CopyKind;

use crate::gemm::LAYOUTS;
use crate::odd::uses_no_local_memory;
use crate::trial::Trial;
use crate::{Outcome, cases};

/// None where the device of this compute capability does not run the kernels.
pub fn trials(capability: (u32, u32)) -> Vec<Trial> {
    if !Family::WGMMA_BF16X6.target().runs_on(capability) {
        return Vec::new();
    }
    vec![
        Trial::test("kernels::split_rows_f32", splits_of_every_size),
        Trial::test("usage::split_rows_f32", || uses_no_local_memory(CopyKind::Split)),
        Trial::test("parts::products", products_of_every_kind),
    ]
}

/// The kernel alone, so that racecheck comes to an end, against the split on the host, bit for bit.
fn splits_of_every_size() -> Outcome {
    let gpu = Gpu::open(0)?;
    let symbol = CopyKind::Split.symbol();
    let mut levels = ptx::levels_for(gpu.profile().compute_capability);
    let text = levels
        .find_map(|level| ptx::module(level, &[symbol]))
        .ok_or("not embedded")?;
    // In the context of `gpu`.
    let module = Module::from_ptx(text, &[])?;
    for extents in [
        [1, 1, 0],
        [7, 67, 2],
        [300, 8, 0],
        [33, 130, 1],
        [2, 1024, 4],
        [65, 511, 3],
    ] {
        let case = products::split_rows(extents);
        cases::run(&module, symbol, &case).map_err(|problem| format!("{extents:?}: {problem:?}"))?;
    }
    Ok(())
}

/// Rows of every length and distance, batches, and one operand for all products: what the parts of each element add up
/// to is what the products are of.
fn products_of_every_kind() -> Outcome {
    let gpu = Gpu::open(0)?;
    let policy = Policy {
        family: Some(Family::WGMMA_BF16X6),
        ..Policy::default()
    };
    for ([m, n, k], gap, batch) in [
        ([65, 67, 69], 0, [1, 0, 0]),
        ([33, 512, 1], 3, [1, 0, 0]),
        ([1, 130, 257], 1, [3, 7, 0]),
        ([129, 1, 64], 0, [2, 0, 5]),
        ([256, 255, 130], 2, [3, 4, 4]),
    ] {
        let lds = [k + gap, n + gap, n];
        let [count, a, b] = batch;
        let stride = |rows: usize, ld: usize, apart: usize| if apart == 0 { 0 } else { rows * ld + apart };
        let strides = [stride(m, lds[0], a), stride(k, lds[1], b), m * n];
        let shape = GemmShape::with_transposes(m, n, k, LAYOUTS[0], lds)?;
        let shape = if count > 1 {
            shape.with_batch(count, strides)?
        } else {
            shape
        };
        let operand = |operand, seed| random_matrix::<f32>(seed, shape.span_elems(operand));
        let (a, b) = (operand(Operand::A, 5), operand(Operand::B, 6));
        let plan = plan(&shape, DType::F32, gpu.profile(), &policy)?;
        let (on_a, on_b) = (gpu.upload(&a)?, gpu.upload(&b)?);
        let mut on_c = gpu.upload(&vec![f32::NAN; shape.span_elems(Operand::C)])?;
        gpu.launch(&plan, &Gemm::new(shape), &on_a, &on_b, &mut on_c)?;
        let mut c = vec![0.0; on_c.len()];
        on_c.download(&mut c)?;
        let expected = Expected::product(&shape, &a, &b)?.with_precision(plan.kernel().precision)?;
        expected.full(&c)?.into_result()?;
    }
    Ok(())
}
