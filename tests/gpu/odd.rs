//! f16 and bf16 whose rows begin at no multiples of 16 bytes: operands that are copied before the product.

use half::{bf16, f16};
use tilewright::check::Expected;
use tilewright::dispatch::{Policy, plan};
use tilewright::launch::Gpu;
use tilewright::random::random_matrix;
use tilewright::{
    Activation, Backend, Element, Epilogue, Factors, Family, Gemm, GemmShape, KERNELS, Kernel, Operand, Options,
    OutputOf, Transpose, Verify, gemm, product,
};
use tilewright_contract::{CopyKind, CopyRows, Loads};

use crate::Outcome;
use crate::gemm::LAYOUTS;
use crate::trial::Trial;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("odd::matmul_f16", matmul_in_every_layout::<f16>),
        Trial::test("odd::matmul_bf16", matmul_in_every_layout::<bf16>),
        Trial::test("odd::finished_f16", finished_in_every_layout::<f16, f16>),
        Trial::test("odd::finished_bf16_to_f32", finished_in_every_layout::<bf16, f32>),
        // Copies of every size follow one another.
        Trial::test("kernels::copy_rows_b16", copies_follow_one_another),
        Trial::test("odd::operands_stay_as_they_are", operands_stay_as_they_are),
        Trial::test("usage::copy_rows_b16", || uses_no_local_memory(CopyKind::Pad)),
    ]
}

/// Which of A and B have rows at odd elements.
const ODD: [[bool; 2]; 3] = [[true, false], [false, true], [true, true]];

/// Rows have at least `gap` elements behind them. Those that are to be odd are an odd number of elements apart, the
/// others a multiple of 8.
fn shape(
    [m, n, k]: [usize; 3],
    transpose: [Transpose; 2],
    odd: [bool; 2],
    gap: usize,
) -> tilewright::Result<GemmShape> {
    let packed = GemmShape::packed_transposed(m, n, k, transpose)?;
    let ld = |operand, odd: bool| {
        let least = packed.extents(operand).1 + gap;
        if odd { least | 1 } else { least.next_multiple_of(8) }
    };
    Ok(packed.with_operand_lds([ld(Operand::A, odd[0]), ld(Operand::B, odd[1])])?)
}

fn on_gpu(verify: Verify) -> Options {
    Options {
        backend: Backend::Gpu,
        verify,
        ..Options::default()
    }
}

/// Extents, and how much is compared.
const EXTENTS: [([usize; 3], Verify); 6] = [
    ([1, 1, 1], Verify::Full),
    ([5, 3, 2], Verify::Full),
    ([129, 67, 65], Verify::Full),
    ([300, 263, 133], Verify::Full),
    ([1023, 1025, 1027], Verify::Sample),
    ([2049, 4099, 1031], Verify::Sample),
];

fn matmul_in_every_layout<T: Element<Accumulator = f32>>() -> Outcome {
    for (extents, verify) in EXTENTS {
        for (transpose, odd) in LAYOUTS
            .into_iter()
            .flat_map(|transpose| ODD.map(|odd| (transpose, odd)))
        {
            for gap in [0, 4] {
                let shape = shape(extents, transpose, odd, gap)?;
                let what = |problem: String| format!("{shape} {transpose:?} {odd:?} {gap}: {problem}");
                let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
                let (a, b) = (operand(Operand::A, 1), operand(Operand::B, 2));
                let product = product(&Gemm::new(shape), &a, &b, None::<&[T]>, &on_gpu(verify))
                    .map_err(|error| what(error.to_string()))?;
                // Small products may be computed without tensor cores, which take rows anywhere.
                let is_large = extents.into_iter().min() > Some(1000);
                let copied = product.report.padded_ld.map(|ld| ld.is_some());
                if is_large && copied != odd {
                    return Err(what(format!("{} with copies {copied:?}", product.report.kernel)).into());
                }
            }
        }
    }
    Ok(())
}

fn finished_in_every_layout<T: Element<Accumulator = f32>, C: OutputOf<T>>() -> Outcome {
    for (transpose, odd) in LAYOUTS
        .into_iter()
        .flat_map(|transpose| ODD.map(|odd| (transpose, odd)))
    {
        let shape = shape([301, 261, 515], transpose, odd, 0)?;
        let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
        let (a, b) = (operand(Operand::A, 1), operand(Operand::B, 2));
        let bias = random_matrix::<T>(4, shape.n());
        let mut c = random_matrix::<C>(3, shape.span_elems(Operand::C));
        let epilogue = Epilogue {
            factors: Factors { alpha: 0.5, beta: 2.0 },
            bias: Some(&bias[..]),
            activation: Activation::Gelu,
        };
        let report = gemm(
            &Gemm::new(shape).epilogue(epilogue),
            &a,
            &b,
            &mut c,
            &on_gpu(Verify::Full),
        )
        .map_err(|error| format!("{transpose:?} {odd:?}: {error}"))?;
        // No other kernels have bias and activation.
        if report.padded_ld.map(|ld| ld.is_some()) != odd {
            return Err(format!(
                "{transpose:?} {odd:?}: {} with copies {:?}",
                report.kernel, report.padded_ld
            )
            .into());
        }
    }
    Ok(())
}

/// Launches one behind the other, whose copies are longer and shorter than those before, and no wait between them.
fn copies_follow_one_another() -> Outcome {
    let gpu = Gpu::open(0)?;
    let mut launched = Vec::new();
    for (extents, odd) in [
        ([65, 67, 69], ODD[2]),
        ([511, 1023, 767], ODD[0]),
        ([33, 35, 37], ODD[1]),
        ([1025, 513, 1031], ODD[2]),
        ([65, 67, 69], ODD[2]),
    ] {
        let shape = shape(extents, LAYOUTS[1], odd, 0)?;
        let operand = |operand, seed| random_matrix::<bf16>(seed, shape.span_elems(operand));
        let (a, b) = (operand(Operand::A, 5), operand(Operand::B, 6));
        // Kernels of single elements would take the small ones as they are.
        let loads_vectors = |kernel: &&Kernel| {
            let is_layout = kernel.family == Family::MMA_SYNC && kernel.transposes() == LAYOUTS[1];
            is_layout && kernel.dtype == bf16::DTYPE && kernel.loads == Loads::CpAsync && !kernel.supports.groups
        };
        let policy = Policy {
            kernel: KERNELS.iter().find(loads_vectors),
            ..Policy::default()
        };
        let plan = plan(&shape, bf16::DTYPE, gpu.profile(), &policy)?;
        if plan.copies().map(|copy| copy.is_some()) != odd {
            return Err(format!("{shape}: {:?}", plan.copies()).into());
        }
        let (on_a, on_b) = (gpu.upload(&a)?, gpu.upload(&b)?);
        let c = gpu.uninitialized::<bf16>(shape.span_elems(Operand::C))?;
        launched.push((shape, plan, a, b, on_a, on_b, c));
    }
    for (_, plan, _, _, on_a, on_b, c) in &mut launched {
        gpu.launch(plan, &Gemm::new(plan.shape()), on_a, on_b, c)?;
    }
    for (shape, _, a, b, _, _, on_c) in &launched {
        let mut c = vec![bf16::ZERO; on_c.len()];
        on_c.download(&mut c)?;
        let verdict = Expected::product(shape, a, b)?.full(&c)?;
        if !verdict.passed() {
            return Err(format!("{shape}: {verdict}").into());
        }
    }
    Ok(())
}

fn operands_stay_as_they_are() -> Outcome {
    let gpu = Gpu::open(0)?;
    let shape = shape([513, 515, 517], LAYOUTS[2], ODD[2], 2)?;
    let operand = |operand, seed| random_matrix::<f16>(seed, shape.span_elems(operand));
    let (a, b) = (operand(Operand::A, 7), operand(Operand::B, 8));
    let (on_a, on_b) = (gpu.upload(&a)?, gpu.upload(&b)?);
    let mut c = gpu.uninitialized::<f16>(shape.span_elems(Operand::C))?;
    let policy = Policy {
        family: Some(Family::MMA_SYNC),
        ..Policy::default()
    };
    let plan = plan(&shape, f16::DTYPE, gpu.profile(), &policy)?;
    gpu.launch(&plan, &Gemm::new(plan.shape()), &on_a, &on_b, &mut c)?;
    gpu.synchronize()?;
    for (name, before, on_device) in [("A", &a, &on_a), ("B", &b, &on_b)] {
        let mut after = vec![f16::ZERO; before.len()];
        on_device.download(&mut after)?;
        if after != *before {
            return Err(format!("{name} was changed").into());
        }
    }
    Ok(())
}

/// The driver's numbers of a kernel that copies operands.
pub fn uses_no_local_memory(kind: CopyKind) -> Outcome {
    let usage = Gpu::open(0)?.copy_usage(kind)?;
    let static_bytes = match kind {
        // Its tile.
        CopyKind::Transpose => 4 * CopyRows::TILE * (CopyRows::TILE + 1),
        CopyKind::Pad | CopyKind::Split => 0,
    };
    if (usage.local_bytes, usage.static_smem_bytes) == (0, static_bytes) {
        Ok(())
    } else {
        Err(format!("{usage:?}").into())
    }
}
