//! FP8 kernels without a GPU: in the simulator against the CPU reference, and assembled by `ptxas`.

#[path = "support/scaled.rs"]
mod scaled;
#[path = "support/fp8.rs"]
mod support;

use cuda_sim::{Checks, Schedule, SyncKind, Synchronization};
use half::{bf16, f16};
use proptest::prelude::*;
use tilewright::device::DeviceProfile;
use tilewright::fp8::{
    Arithmetic, FP8_KERNELS, FP8_QUANTIZE_KERNELS, Fp8, Fp8Accumulation, Fp8Gemm, Fp8Kernel, Fp8Matrix, Fp8Mode,
    Fp8Problem, Fp8Products, Fp8ScaleLayout, Fp8Scaling, Major, Plan, Policy, check, plan, reference, simulate,
};
use tilewright::random::random_matrix;
use tilewright::{Activation, DType, Element, Factors, OutputOf, SimOptions, ptx};
use tilewright_harness::inspect::Ptxas;

use support::{device, exact, options, plan_of, random};

/// The scalings of A and of B that kernels of a mode take.
const ROWS: [Fp8Scaling; 2] = [Fp8Scaling::Rows; 2];
const TENSORS: [Fp8Scaling; 2] = [Fp8Scaling::Tensor; 2];
const MIXED: [[Fp8Scaling; 2]; 2] = [
    [Fp8Scaling::Tensor, Fp8Scaling::Rows],
    [Fp8Scaling::Rows, Fp8Scaling::Tensor],
];
const BLOCKS: [Fp8Scaling; 2] = [Fp8Scaling::Rows128, Fp8Scaling::Blocks128];

fn scalings(mode: Fp8Mode) -> &'static [[Fp8Scaling; 2]] {
    match mode {
        Fp8Mode::Blocks => &[BLOCKS],
        Fp8Mode::Fast | Fp8Mode::Promoted => &[ROWS, TENSORS, MIXED[0], MIXED[1]],
    }
}

/// Simulates, and demands that nothing is wrong and every element is within its bound.
fn assert_right<E: Element<Accumulator = f32>, C: OutputOf<E>>(
    gemm: &Fp8Gemm<'_, E>,
    before: Option<&[C]>,
    plan: &Plan,
    schedule: Schedule,
) {
    let product = simulate(plan, gemm, before, &options(schedule)).expect("it runs");
    product.assert_clean();
    let before: Option<Vec<f64>> = before.map(|before| before.iter().map(|c| c.to_f64()).collect());
    let kernel = plan.kernel();
    let checked = check(gemm, kernel.mode, Arithmetic::F32, before.as_deref(), &product.c).expect("as long");
    assert!(checked.passed(), "{}, {:?}: {checked}", kernel.symbol, plan.problem());
}

#[test]
fn sums_that_are_exact_have_the_bits_of_the_reference() {
    fn check<E: Element<Accumulator = f32>>(kernel: &'static Fp8Kernel, [a, b]: [&Fp8Matrix; 2])
    where
        f32: OutputOf<E>,
    {
        let gemm = Fp8Gemm::<E>::new(a, b).expect("alike");
        // Fewer CTAs than tiles: each takes some of them.
        let plan = plan_of(kernel, &gemm.problem(), Some(2));
        let expected: Vec<f32> = reference(&gemm, None).into_iter().map(|c| c as f32).collect();
        assert!(expected.iter().any(|&c| c != 0.0));
        for fp8_accumulation in [Fp8Accumulation::Exact, Fp8Accumulation::Truncated] {
            let options = SimOptions {
                fp8_accumulation,
                ..options(Schedule::Standard)
            };
            let product = simulate(&plan, &gemm, None::<&[f32]>, &options).expect("it runs");
            product.assert_clean();
            assert_eq!(product.c, expected, "{}, {fp8_accumulation:?}", kernel.symbol);
        }
    }
    for kernel in of_one_product() {
        let tile = kernel.tile;
        let (m, n, k) = (tile.m as usize + 17, tile.n as usize + 9, 3 * 128 + 48);
        let [of_a, of_b] = kernel.formats;
        for &[scales_a, scales_b] in &scalings(kernel.mode)[..1] {
            let (a, b) = (exact(of_a, scales_a, 1, [m, k]), exact(of_b, scales_b, 2, [n, k]));
            match kernel.output {
                DType::F16 => check::<f16>(kernel, [&a, &b]),
                _ => check::<bf16>(kernel, [&a, &b]),
            }
        }
    }
}

#[test]
fn every_order_of_threads_is_clean() {
    for symbol in [
        "wgmma_fp8_blocks_e4m3_e4m3_64x128_bf16",
        "wgmma_fp8_blocks_e4m3_e4m3_128x128_bf16",
        "wgmma_fp8_promoted_e4m3_e4m3_64x128_bf16",
        "wgmma_fp8_fast_e4m3_e4m3_64x128_bf16",
    ] {
        let kernel = Fp8Kernel::named(symbol).expect("a kernel");
        let [scales_a, scales_b] = scalings(kernel.mode)[0];
        // More k-tiles than stages, and a second tile for a CTA.
        let (m, n, k) = (40, 136, 9 * 128 + 16);
        let (a, b) = (
            random(Fp8::E4m3, scales_a, 1, [m, k]),
            random(Fp8::E4m3, scales_b, 2, [n, k]),
        );
        let gemm = Fp8Gemm::<bf16>::new(&a, &b).expect("alike");
        let plan = plan_of(kernel, &gemm.problem(), Some(1));
        assert_right(&gemm, None::<&[bf16]>, &plan, Schedule::All);
    }
}

/// What nothing in the simulator notices, in any `wgmma` kernel (docs/needed-barriers.md): lanes that come together for
/// `ptxas`, and with one consumer warpgroup the barrier of all of them.
fn is_redundant(synchronization: &Synchronization) -> bool {
    let file = synchronization.location.to_string();
    match synchronization.kind {
        SyncKind::WarpBarrier => file.contains("wgmma/epilogue.rs") || file.contains("wgmma_fp8/mod.rs"),
        SyncKind::NamedBarrier => file.contains("wgmma/epilogue.rs") && synchronization.executions == 128,
        _ => false,
    }
}

#[test]
fn every_barrier_is_needed() {
    for symbol in [
        "wgmma_fp8_blocks_e4m3_e4m3_64x128_bf16",
        "wgmma_fp8_fast_e4m3_e4m3_64x128_bf16",
    ] {
        let kernel = Fp8Kernel::named(symbol).expect("a kernel");
        let [scales_a, scales_b] = scalings(kernel.mode)[0];
        // The stages are filled twice, and a CTA has two tiles of C, whose subtiles are written again.
        let (m, n, k) = (72, 136, 9 * 128);
        let (a, b) = (
            random(Fp8::E4m3, scales_a, 8, [m, k]),
            random(Fp8::E4m3, scales_b, 9, [n, k]),
        );
        let gemm = Fp8Gemm::<bf16>::new(&a, &b).expect("alike");
        let plan = plan_of(kernel, &gemm.problem(), Some(1));
        let run = |synchronizations| {
            let options = SimOptions {
                synchronizations,
                checks: Checks::Faults,
                ..options(Schedule::Standard)
            };
            let product = simulate(&plan, &gemm, None::<&[bf16]>, &options).expect("it runs");
            let report = product.report.expect("a launch");
            let checked = check(&gemm, kernel.mode, Arithmetic::F32, None, &product.c).expect("as long");
            (report.is_clean() && checked.passed(), report.synchronizations)
        };
        assert_eq!(scaled::unnoticed(run, is_redundant), [], "{symbol}");
    }
}

#[test]
fn the_epilogue_is_that_of_every_family() {
    let kernel = Fp8Kernel::named("wgmma_fp8_promoted_e4m3_e4m3_128x128_bf16").expect("a kernel");
    for (m, n) in [(130, 136), (65, 67)] {
        let (a, b) = (
            random(Fp8::E4m3, Fp8Scaling::Rows, 3, [m, 144]),
            random(Fp8::E4m3, Fp8Scaling::Rows, 4, [n, 144]),
        );
        let bias = random_matrix::<bf16>(5, n);
        let factors = Factors { alpha: -1.5, beta: 0.5 };
        let gemm = Fp8Gemm::new(&a, &b).expect("alike");
        let gemm = gemm.factors(factors).bias(&bias).activation(Activation::Gelu);
        let plan = plan_of(kernel, &gemm.problem(), None);
        let before = random_matrix::<f32>(6, m * n);
        assert_right(&gemm, Some(&before[..]), &plan, Schedule::Forward);
        let before = random_matrix::<bf16>(7, m * n);
        assert_right(&gemm, Some(&before[..]), &plan, Schedule::Forward);
        let without = Fp8Gemm::new(&a, &b).expect("alike");
        let without = without.bias(&bias).activation(Activation::Relu);
        assert_right(&without, None::<&[bf16]>, &plan, Schedule::Forward);
    }
}

#[test]
fn promotion_keeps_what_the_tensor_cores_lose() {
    let (m, n, k) = (16, 16, 8192);
    // All positive: the sum grows, and what is added to it loses more and more.
    let positive = |seed, rows: usize| {
        let elements: Vec<f32> = random_matrix::<f32>(seed, rows * k).into_iter().map(f32::abs).collect();
        Fp8Matrix::quantize(Fp8::E4m3, Fp8Scaling::Tensor, rows, k, &elements).expect("numbers")
    };
    let (a, b) = (positive(1, m), positive(2, n));
    let gemm = Fp8Gemm::<bf16>::new(&a, &b).expect("alike");
    let exact = reference(&gemm, None);
    let worst = |mode: &str, fp8_accumulation| {
        let symbol = format!("wgmma_fp8_{mode}_e4m3_e4m3_64x128_bf16");
        let kernel = Fp8Kernel::named(&symbol).expect("a kernel");
        let plan = plan_of(kernel, &gemm.problem(), None);
        let options = SimOptions {
            fp8_accumulation,
            ..options(Schedule::Forward)
        };
        let product = simulate(&plan, &gemm, None::<&[f32]>, &options).expect("it runs");
        product.assert_clean();
        let arithmetic = match fp8_accumulation {
            Fp8Accumulation::Exact => Arithmetic::F32,
            Fp8Accumulation::Truncated => Arithmetic::TensorCores,
        };
        let checked = check(&gemm, kernel.mode, arithmetic, None, &product.c).expect("as long");
        assert!(checked.passed(), "{symbol}, {fp8_accumulation:?}: {checked}");
        let errors = product
            .c
            .iter()
            .zip(&exact)
            .map(|(&c, exact)| (f64::from(c) - exact).abs() / exact);
        errors.fold(0.0, f64::max)
    };
    let [fast, promoted] = ["fast", "promoted"].map(|mode| worst(mode, Fp8Accumulation::Truncated));
    // Each wgmma truncates the sum of 8192 terms; with promotion those of 128.
    assert!(fast > 0.1 && promoted < 0.005, "{fast:e}, {promoted:e}");
    let [fast, promoted] = ["fast", "promoted"].map(|mode| worst(mode, Fp8Accumulation::Exact));
    assert!(fast < 2e-6 && promoted < 2e-6, "{fast:e}, {promoted:e}");
}

#[test]
fn ptxas_assembles_every_kernel_without_spills() {
    let ptxas = Ptxas::find().expect("cargo xtask setup");
    let text = &*ptx::fp8().ptx;
    let entry_points = FP8_KERNELS.len() + FP8_QUANTIZE_KERNELS.len();
    assert_eq!(text.matches(".visible .entry ").count(), entry_points);
    let assembled = ptxas.assemble(text, Fp8Kernel::TARGET, &["-v"]).expect("it assembles");
    // Serialized, each wgmma waits for the one before.
    let serialized = assembled.report.remarks.iter().find(|remark| remark.serializes_wgmma());
    assert_eq!(serialized, None);
    for kernel in &FP8_KERNELS {
        scaled::assert_assembled(&assembled.report, kernel.symbol, kernel.tile.threads(), &device());
        assert!(kernel.smem().total().get() <= device().smem_per_block_optin);
    }
}

/// Those of groups and batches are tested in `fp8_groups.rs`.
fn of_one_product() -> Vec<&'static Fp8Kernel> {
    FP8_KERNELS.iter().filter(|kernel| !kernel.tile.groups).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_shape_is_right(kernel in prop::sample::select(of_one_product()), m in 1_usize..300, n in 1_usize..300,
        k16 in 1_usize..40, scaling in 0_usize..4, max_ctas in 1_u32..5, seed: u64) {
        let k = 16 * k16;
        let of_mode = scalings(kernel.mode);
        let [scales_a, scales_b] = of_mode[scaling % of_mode.len()];
        let [of_a, of_b] = kernel.formats;
        let (a, b) = (random(of_a, scales_a, seed, [m, k]), random(of_b, scales_b, !seed, [n, k]));
        match kernel.output {
            DType::F16 => {
                let gemm = Fp8Gemm::<f16>::new(&a, &b).expect("alike");
                let plan = plan_of(kernel, &gemm.problem(), Some(max_ctas));
                assert_right(&gemm, None::<&[f16]>, &plan, Schedule::Random(seed));
            }
            _ => {
                let gemm = Fp8Gemm::<bf16>::new(&a, &b).expect("alike");
                let plan = plan_of(kernel, &gemm.problem(), Some(max_ctas));
                assert_right(&gemm, None::<&[bf16]>, &plan, Schedule::Random(seed));
                assert_right(&gemm, None::<&[f32]>, &plan, Schedule::Forward);
            }
        }
    }

    #[test]
    fn quantized_numbers_are_near(format in prop::sample::select(&Fp8::ALL[..]),
        scaling in prop::sample::select(&Fp8Scaling::ALL[..]), rows in 1_usize..300, k16 in 1_usize..30, seed: u64,
        exponent in -20_i32..20) {
        let k = 16 * k16;
        let unit = f32::exp2(exponent as f32);
        let elements: Vec<f32> = random_matrix::<f32>(seed, rows * k).into_iter().map(|x| x * unit).collect();
        let matrix = Fp8Matrix::quantize(format, scaling, rows, k, &elements).expect("numbers");
        // Half a unit of 4 or 3 bits, and of subnormal numbers half the smallest of them.
        let (relative, smallest) = match format {
            Fp8::E4m3 => (f32::exp2(-4.0), f32::exp2(-10.0)),
            Fp8::E5m2 => (f32::exp2(-3.0), f32::exp2(-17.0)),
        };
        let layout = matrix.scale_layout();
        for (at, (value, x)) in matrix.dequantize().iter().zip(&elements).enumerate() {
            let scale = matrix.scales()[layout.index(at / k, at % k)];
            let bound = relative * 1.001 * x.abs() + smallest * scale;
            prop_assert!((value - x).abs() <= bound, "element {at}: {x} became {value}");
        }
        let of_parts = Fp8Matrix::with_packed_scales(
            format, scaling, [rows, k], matrix.data().to_vec(), &matrix.packed_scales());
        prop_assert_eq!(of_parts.expect("the same"), matrix.clone());
        let across: Vec<f32> = (0..rows * k).map(|at| elements[at % rows * k + at / rows]).collect();
        let transposed = Fp8Matrix::quantize_transposed(format, scaling, rows, k, &across);
        prop_assert_eq!(transposed.expect("the same"), matrix);
    }
}

#[test]
fn bad_input_is_refused_with_the_numbers() {
    let scales = |scaling, rows, k| vec![1.0; Fp8ScaleLayout::of(scaling, rows, k).elems()];
    let from_parts = |scaling, [rows, k]: [usize; 2], data: Vec<u8>, scales: Vec<f32>| {
        let error = Fp8Matrix::from_parts(Fp8::E4m3, scaling, [rows, k], data, scales).expect_err("refused");
        error.to_string()
    };
    use Fp8Scaling::{Blocks128, Rows, Rows128, Tensor};
    assert_eq!(
        from_parts(Tensor, [2, 40], vec![0; 80], vec![1.0]),
        "K = 40 of e4m3: it has to be a multiple of 16, nearest 48"
    );
    assert_eq!(
        from_parts(Tensor, [2, 64], vec![0; 127], vec![1.0]),
        "2 x 64 elements of e4m3 are 128 B, got 127"
    );
    assert_eq!(
        from_parts(Rows128, [2, 144], vec![0; 288], vec![1.0; 4]),
        "1x128 scales of 2 x 144 elements are 2 x 2 with 4 from line to line, 8 in all, got 4"
    );
    assert_eq!(
        from_parts(Blocks128, [200, 128], vec![0; 25_600], vec![1.0; 2]),
        "128x128 scales of 200 x 128 elements are 2 x 1 with 4 from line to line, 8 in all, got 2"
    );
    let mut with_nan = scales(Rows128, 2, 144);
    with_nan[5] = f32::NAN;
    assert_eq!(
        from_parts(Rows128, [2, 144], vec![0; 288], with_nan),
        "scale 1 of line 1 is NaN, not a number"
    );
    let of_scale = |scale| from_parts(Tensor, [2, 64], vec![0; 128], vec![scale]);
    assert_eq!(of_scale(-0.5), "scale 0 of line 0 is -0.5, negative");
    assert_eq!(of_scale(f32::INFINITY), "scale 0 of line 0 is inf, not a number");
    let mut data = vec![0; 128];
    data[70] = 0x7f;
    assert_eq!(
        from_parts(Rows, [2, 64], data, vec![1.0; 2]),
        "element 6 of row 1 is 0x7f, infinite or NaN in e4m3"
    );
    let mut elements = vec![1.0; 128];
    elements[70] = f32::INFINITY;
    assert_eq!(
        Fp8Matrix::quantize(Fp8::E5m2, Rows, 2, 64, &elements)
            .expect_err("refused")
            .to_string(),
        "element 6 of row 1 is inf: e5m2 holds numbers only"
    );

    let problem = Fp8Problem {
        formats: [Fp8::E4m3; 2],
        scalings: BLOCKS,
        majors: [Major::K; 2],
        extents: [256; 3],
        products: Fp8Products::One,
        output: DType::Bf16,
    };
    let refused = |problem: Fp8Problem, device: &DeviceProfile, policy: &Policy| {
        plan(&problem, device, policy).expect_err("refused").to_string()
    };
    let default = Policy::default();
    let ada = DeviceProfile::of_arch(cuda_arch::find("sm_89").expect("in the table"));
    assert_eq!(
        refused(problem, &ada, &default),
        "FP8 kernels need compute capability 9.0 (wgmma of e4m3 and e4m3), any sm_89 device has 8.9"
    );
    let across = Fp8Problem {
        majors: [Major::K, Major::Mn],
        ..problem
    };
    assert_eq!(
        refused(across, &device(), &default),
        "B is stored along its 256 columns: wgmma of FP8 takes K-major operands only, store it as 256 rows of 256 \
         elements along K"
    );
    let blocks_on_both = Fp8Problem {
        scalings: [Blocks128; 2],
        ..problem
    };
    assert_eq!(
        refused(blocks_on_both, &device(), &default),
        "scales of A are 128x128, of B 128x128: kernels take tensor or row on both sides, or 1x128 of A and 128x128 \
         of B"
    );
    let fast = Policy { fast: true, ..default };
    assert_eq!(
        refused(problem, &device(), &fast),
        "scales of 1x128 and 128x128 are applied every 128 of K: there is no fast mode"
    );
    let of_f32 = Fp8Problem {
        output: DType::F32,
        ..problem
    };
    assert_eq!(
        refused(of_f32, &device(), &default),
        "no blocks kernel takes e4m3 x e4m3 with C of f32"
    );
    let kernel = Fp8Kernel::named("wgmma_fp8_promoted_e4m3_e4m3_128x128_f16");
    assert_eq!(
        refused(problem, &device(), &Policy { kernel, ..default }),
        "wgmma_fp8_promoted_e4m3_e4m3_128x128_f16 is a promoted kernel of e4m3 x e4m3 with C of f16 or f32, the \
         problem asks for blocks of e4m3 x e4m3 with C of bf16"
    );
    let (a, b) = (random(Fp8::E4m3, Rows, 1, [4, 64]), random(Fp8::E4m3, Rows, 2, [4, 80]));
    assert_eq!(
        Fp8Gemm::<bf16>::new(&a, &b).expect_err("refused").to_string(),
        "A has K = 64, B has K = 80: they have to be the same"
    );
    let b = random(Fp8::E4m3, Tensor, 2, [4, 64]);
    let gemm = Fp8Gemm::<bf16>::new(&a, &b).expect("alike");
    let planned = plan(&problem, &device(), &default).expect("it fits");
    assert_eq!(
        simulate(&planned, &gemm, None::<&[bf16]>, &options(Schedule::Forward))
            .expect_err("refused")
            .to_string(),
        "the plan is for e4m3 (1x128) x e4m3 (128x128) with C of bf16, M, N, K = [256, 256, 256], the problem is e4m3 \
         (row) x e4m3 (tensor) with C of bf16, M, N, K = [4, 4, 64]"
    );
}
