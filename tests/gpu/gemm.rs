//! Alpha, beta, layouts and split-K on the GPU: the kernels of families 9 and 10 as the library launches them.

use libtest_mimic::Failed;
use tilewright::check::Expected;
use tilewright::dispatch::{PlanError, Policy, plan};
use tilewright::launch::Gpu;
use tilewright::random::random_matrix;
use tilewright::{
    Backend, DType, Element, Error, Factors, Family, Gemm, GemmShape, KERNELS, Kernel, Operand, Options, Transpose,
    Verify, gemm,
};
use tilewright_contract::Operands;
use tilewright_harness::verify;

use crate::Outcome;
use crate::trial::Trial;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("gemm::every_kernel_scales_and_adds", every_kernel_scales_and_adds),
        Trial::test("gemm::nothing_to_sum_scales_c", nothing_to_sum_scales_c),
        Trial::test("gemm::products_with_vectors", products_with_vectors),
        Trial::test("gemm::nan_stays_out_of_an_unread_c", nan_stays_out_of_an_unread_c),
        Trial::test("gemm::with_alpha_0_no_operand_is_read", with_alpha_0_no_operand_is_read),
        Trial::test(
            "gemm::f64_is_scaled_where_the_choice_is_open",
            f64_is_scaled_where_the_choice_is_open,
        ),
        Trial::test("gemm::the_workspace_is_reused", the_workspace_is_reused),
        Trial::test(
            "gemm::slices_give_the_same_bits_each_time",
            slices_give_the_same_bits_each_time,
        ),
        Trial::test("gemm::large_products_of_every_layout", large_products_of_every_layout),
        Trial::test(
            "gemm::refuses_factors_without_a_kernel",
            refuses_factors_without_a_kernel,
        ),
    ]
}

/// How A and B may lie.
pub const LAYOUTS: [[Transpose; 2]; 4] = [
    [Transpose::No, Transpose::No],
    [Transpose::No, Transpose::Yes],
    [Transpose::Yes, Transpose::No],
    [Transpose::Yes, Transpose::Yes],
];

/// Launches on random operands, with the elements between the rows of C and behind its last full of NaN, and compares.
pub fn is_right<T: Element<Accumulator = f32>>(
    gpu: &Gpu,
    shape: &GemmShape,
    factors: Factors,
    policy: &Policy,
) -> Outcome {
    let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
    let (a, b, mut before) = (operand(Operand::A, 1), operand(Operand::B, 2), operand(Operand::C, 3));
    let is_element = verify::elements_of(shape, Operand::C);
    let is_element = |at: usize| is_element.get(at).copied().unwrap_or(false);
    before.extend([T::from_f64(0.0); 64]);
    for (_, outside) in before.iter_mut().enumerate().filter(|(at, _)| !is_element(*at)) {
        *outside = T::from_f64(f64::NAN);
    }
    let policy = Policy {
        factors: !factors.is_product(),
        ..*policy
    };
    let plan = plan(shape, T::DTYPE, gpu.profile(), &policy)?;
    let what = || {
        let summary = plan.summary();
        format!("{} {shape}, split-K {}, {factors:?}", summary.kernel, summary.splits)
    };
    let (a_device, b_device, mut c_device) = (gpu.upload(&a)?, gpu.upload(&b)?, gpu.upload(&before)?);
    gpu.launch(
        &plan,
        &Gemm::new(*shape).factors(factors),
        &a_device,
        &b_device,
        &mut c_device,
    )?;
    let mut c = vec![T::from_f64(0.0); before.len()];
    c_device.download(&mut c)?;
    let expected = Expected::product(shape, &a, &b)?.with_precision(plan.kernel().precision)?;
    let expected = expected.scaled(factors, &before)?;
    let verdict = expected.full(&c)?;
    if !verdict.passed() {
        return Err(format!("{}: {verdict}", what()).into());
    }
    match (0..c.len())
        .filter(|&at| !is_element(at))
        .find(|&at| !c[at].to_f64().is_nan())
    {
        Some(at) => Err(format!("{}: element {at} outside of C was written", what()).into()),
        None => Ok(()),
    }
}

pub fn of_variant(kernel: &'static Kernel, splits: u32) -> Policy {
    Policy {
        family: Some(kernel.family),
        kernel: Some(kernel),
        splits: Some(splits),
        ..Policy::default()
    }
}

/// The pipelined entry points with alpha and beta, each with the split-K factors to try.
fn pipelined() -> impl Iterator<Item = (&'static Kernel, u32)> {
    KERNELS
        .iter()
        .filter(|kernel| kernel.family == Family::SIMT && !kernel.supports.groups && kernel.supports.alpha_beta)
        .flat_map(|kernel| match kernel.split_k.is_some() {
            true => vec![(kernel, 1), (kernel, 3)],
            false => vec![(kernel, 1)],
        })
}

fn every_kernel_scales_and_adds() -> Outcome {
    let gpu = Gpu::open(0)?;
    for (kernel, splits) in pipelined() {
        // Of every operand the rows are longer than the matrix, in vectors of 4 elements; C's are not.
        let [a, b] = kernel.transposes();
        let (m, n, k) = (300, 268, 132);
        let row = |transpose, plain, transposed| if transpose == Transpose::No { plain } else { transposed };
        let lds = [row(a, k, m) + 8, row(b, n, k) + 4, n + 3];
        let shape = GemmShape::with_transposes(m, n, k, kernel.transposes(), lds)?;
        for (alpha, beta) in [(1.0, 0.0), (-2.5, 0.0), (1.0, 1.0), (0.5, -3.0), (0.0, 2.0)] {
            is_right::<f32>(&gpu, &shape, Factors { alpha, beta }, &of_variant(kernel, splits))?;
        }
    }
    Ok(())
}

fn nothing_to_sum_scales_c() -> Outcome {
    let gpu = Gpu::open(0)?;
    for (kernel, splits) in pipelined() {
        let shape = GemmShape::packed_transposed(132, 36, 0, kernel.transposes())?;
        for (alpha, beta) in [(1.0, 0.0), (2.0, 1.0), (1.0, -0.5)] {
            is_right::<f32>(&gpu, &shape, Factors { alpha, beta }, &of_variant(kernel, splits))?;
        }
    }
    Ok(())
}

/// Every case of family 11, without and with split-K, scaled and added to what C holds.
fn products_with_vectors() -> Outcome {
    let gpu = Gpu::open(0)?;
    for kernel in &KERNELS {
        let Operands::MatrixAndVector(major) = kernel.operands else {
            continue;
        };
        let tile = [kernel.tile.m, kernel.tile.n, kernel.tile.k].map(|extent| extent as usize);
        let cases = verify::vector_cases(tile, major, kernel.alignment.elems[0] as usize);
        // And larger ones, of many splits.
        let large = [(700, 1, 3000), (1, 700, 3000), (100, 1, 40_000), (1, 100, 40_000)]
            .into_iter()
            .flat_map(|(m, n, k)| LAYOUTS.map(|layout| GemmShape::packed_transposed(m, n, k, layout)))
            .collect::<Result<Vec<_>, _>>()?;
        let shapes = cases.into_iter().map(|case| case.shape).chain(large);
        for shape in shapes.filter(|shape| kernel.accepts(shape)) {
            for splits in [1, 3, 8, 9, 70] {
                let factors = Factors { alpha: -2.5, beta: 0.5 };
                is_right::<f32>(&gpu, &shape, Factors::default(), &of_variant(kernel, splits))?;
                is_right::<f32>(&gpu, &shape, factors, &of_variant(kernel, splits))?;
            }
        }
    }
    Ok(())
}

fn nan_stays_out_of_an_unread_c() -> Outcome {
    let gpu = Gpu::open(0)?;
    let shape = GemmShape::packed(200, 100, 300)?;
    let (a, b) = (random_matrix::<f32>(1, 200 * 300), random_matrix::<f32>(2, 300 * 100));
    let (a_device, b_device) = (gpu.upload(&a)?, gpu.upload(&b)?);
    let factors = Factors { alpha: 3.0, beta: 0.0 };
    for (kernel, splits) in pipelined().filter(|(kernel, _)| kernel.accepts(&shape)) {
        let plan = plan(&shape, DType::F32, gpu.profile(), &of_variant(kernel, splits))?;
        let mut c_device = gpu.upload(&[f32::NAN; 200 * 100])?;
        gpu.launch(
            &plan,
            &Gemm::new(shape).factors(factors),
            &a_device,
            &b_device,
            &mut c_device,
        )?;
        let mut c = vec![0.0; 200 * 100];
        c_device.download(&mut c)?;
        let verdict = Expected::product(&shape, &a, &b)?.scaled(factors, &[])?.full(&c)?;
        if !verdict.passed() {
            return Err(format!("{}, split-K {splits}: {verdict}", kernel.symbol).into());
        }
    }
    Ok(())
}

/// Launches of several sizes and split-K factors, one after the other: each must find its counters at 0 and room for
/// its sums.
fn the_workspace_is_reused() -> Outcome {
    let gpu = Gpu::open(0)?;
    for (m, n, k, splits) in [
        (64, 64, 4096, 16),
        (64, 64, 4096, 16),
        (500, 300, 2000, 5),
        (64, 64, 4096, 32),
        (1000, 1000, 1000, 3),
        (10, 10, 10_000, 64),
        (500, 300, 2000, 1),
        (500, 300, 2000, 7),
    ] {
        let shape = GemmShape::packed(m, n, k)?;
        let policy = Policy {
            family: Some(Family::SIMT),
            splits: Some(splits),
            ..Policy::default()
        };
        is_right::<f32>(&gpu, &shape, Factors { alpha: 1.0, beta: 1.0 }, &policy)?;
    }
    Ok(())
}

fn slices_give_the_same_bits_each_time() -> Outcome {
    let gpu = Gpu::open(0)?;
    let shape = GemmShape::packed(300, 200, 8000)?;
    let (a, b) = (random_matrix::<f32>(1, 300 * 8000), random_matrix::<f32>(2, 8000 * 200));
    let (a, b) = (gpu.upload(&a)?, gpu.upload(&b)?);
    let policy = Policy {
        family: Some(Family::SIMT),
        splits: Some(12),
        ..Policy::default()
    };
    let plan = plan(&shape, DType::F32, gpu.profile(), &policy)?;
    let mut first: Option<Vec<u32>> = None;
    for round in 0..20 {
        let mut c_device = gpu.uninitialized(300 * 200)?;
        gpu.launch(&plan, &Gemm::new(plan.shape()), &a, &b, &mut c_device)?;
        let mut c = vec![0.0_f32; 300 * 200];
        c_device.download(&mut c)?;
        let bits: Vec<u32> = c.into_iter().map(f32::to_bits).collect();
        if *first.get_or_insert_with(|| bits.clone()) != bits {
            return Err(format!("launch {round} gave other bits than the first").into());
        }
    }
    Ok(())
}

/// In one call, with what the planner picks.
fn large_products_of_every_layout() -> Outcome {
    for (m, n, k) in [(2048, 1024, 512), (1999, 2003, 777), (33, 5000, 4000)] {
        for transpose in LAYOUTS {
            let shape = GemmShape::packed_transposed(m, n, k, transpose)?;
            let operand = |operand, seed| random_matrix::<f32>(seed, shape.span_elems(operand));
            let (a, b, mut c) = (operand(Operand::A, 1), operand(Operand::B, 2), operand(Operand::C, 3));
            let options = Options {
                backend: Backend::Gpu,
                verify: Verify::Sample,
                ..Options::default()
            };
            let report = gemm(&Gemm::new(shape).alpha(0.5).beta(2.0), &a, &b, &mut c, &options)
                .map_err(|error| Failed::from(format!("{shape} {transpose:?}: {error}")))?;
            if !report.kernel.starts_with(Family::SIMT.name()) {
                return Err(format!("{shape} {transpose:?}: {} has no alpha and beta", report.kernel).into());
            }
        }
    }
    Ok(())
}

/// A and B are NaN throughout; every kernel with factors, with K cut and not.
fn with_alpha_0_no_operand_is_read() -> Outcome {
    let gpu = Gpu::open(0)?;
    let runs = |kernel: &&Kernel| {
        kernel.dtype == DType::F32
            && kernel.supports.alpha_beta
            && kernel.target.runs_on(gpu.profile().compute_capability)
    };
    let factors = Factors { alpha: 0.0, beta: 2.0 };
    for kernel in KERNELS.iter().filter(runs) {
        let (m, n) = if kernel.takes_vector() { (200, 1) } else { (200, 72) };
        let shape = GemmShape::packed_transposed(m, n, 512, kernel.transposes())?;
        if !kernel.accepts(&shape) {
            continue;
        }
        for splits in [1, 3]
            .into_iter()
            .filter(|&splits| splits == 1 || kernel.split_k.is_some())
        {
            let plan = plan(&shape, DType::F32, gpu.profile(), &of_variant(kernel, splits))?;
            let nan = vec![f32::NAN; 512 * 200];
            let before = random_matrix::<f32>(3, shape.span_elems(Operand::C));
            let (a, b, mut c_device) = (gpu.upload(&nan)?, gpu.upload(&nan)?, gpu.upload(&before)?);
            gpu.launch(&plan, &Gemm::new(shape).factors(factors), &a, &b, &mut c_device)?;
            gpu.synchronize()?;
            let mut c = before.clone();
            c_device.download(&mut c)?;
            if let Some(at) = (0..c.len()).find(|&at| c[at] != 2.0 * before[at]) {
                return Err(format!("{}, split-K {splits}: element {at} is {}", kernel.symbol, c[at]).into());
            }
        }
    }
    Ok(())
}

/// Tensor cores multiply f64 from 8.0 on; for older devices the CPU computes it, and says why.
fn f64_is_scaled_where_the_choice_is_open() -> Outcome {
    let shape = GemmShape::packed(40, 30, 20)?;
    let of = |seed, operand| random_matrix::<f64>(seed, shape.span_elems(operand));
    let (a, b, mut c) = (of(1, Operand::A), of(2, Operand::B), of(3, Operand::C));
    let options = Options {
        verify: Verify::Full,
        ..Options::default()
    };
    let report = gemm(&Gemm::new(shape).alpha(0.1).beta(-1.5), &a, &b, &mut c, &options)?;
    match (report.backend, report.fallback) {
        (Backend::Gpu, None) if report.kernel.starts_with("mma_f64") => Ok(()),
        (Backend::Cpu, Some(reason)) if reason.contains("for f64 with alpha and beta") => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn refuses_factors_without_a_kernel() -> Outcome {
    let gpu = Gpu::open(0)?;
    let shape = GemmShape::packed(16, 16, 16)?;
    let factors = Factors { alpha: 2.0, beta: 0.0 };
    let policy = Policy {
        family: Some(Family::TILED_STATIC),
        ..Policy::default()
    };
    let ones = [1.0_f32; 256];
    let (a, b, mut c) = (gpu.upload(&ones)?, gpu.upload(&ones)?, gpu.upload(&ones)?);
    let plain = plan(&shape, DType::F32, gpu.profile(), &policy)?;
    if !matches!(
        gpu.launch(&plain, &Gemm::new(shape).factors(factors), &a, &b, &mut c),
        Err(Error::InvalidArgument(_))
    ) {
        return Err(Failed::from("a kernel without alpha was launched with one"));
    }
    let scaled = Policy {
        factors: true,
        ..policy
    };
    match plan(&shape, DType::F32, gpu.profile(), &scaled) {
        Err(PlanError::NoFactors { .. }) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}
