//! Block-scaled kernels without a GPU: in the simulator against the CPU reference, and assembled by `ptxas`.

#[path = "support/scaled.rs"]
mod scaled;

use cuda_sim::{Checks, Schedule};
use half::{bf16, f16};
use proptest::prelude::*;
use tilewright::block_scaled::{
    BLOCK_SCALED_KERNELS, BlockFormat, BlockScaled, BlockScaledGemm, BlockScaledKernel, Plan, Policy, ScaleLayout,
    check, default_architecture, plan, reference, simulate,
};
use tilewright::device::DeviceProfile;
use tilewright::random::random_matrix;
use tilewright::{Activation, DType, Element, Factors, OutputOf, SimOptions, ptx};
use tilewright_harness::inspect::Ptxas;

fn device() -> DeviceProfile {
    DeviceProfile::of_arch(default_architecture())
}

fn options(schedule: Schedule) -> SimOptions {
    SimOptions {
        architecture: default_architecture(),
        schedule,
        ..SimOptions::default()
    }
}

fn plan_of(kernel: &'static BlockScaledKernel, extents: [usize; 3], stages: Option<u32>) -> Plan {
    let policy = Policy {
        kernel: Some(kernel),
        stages,
        ..Policy::default()
    };
    plan(kernel.tile.format, extents, kernel.output, &device(), &policy).expect("it fits")
}

fn random(format: BlockFormat, seed: u64, rows: usize, k: usize) -> BlockScaled {
    let elements = random_matrix::<f32>(seed, rows * k);
    BlockScaled::quantize(format, rows, k, &elements).expect("numbers")
}

/// Elements and scales whose sums are exact in f32, none of them 0: small integers, and powers of two for scales.
fn exact(format: BlockFormat, seed: u64, rows: usize, k: usize) -> BlockScaled {
    let noise = random_matrix::<f32>(seed, rows * k);
    let pick = |index: usize| (noise[index % noise.len()].abs() * 1000.0) as usize;
    let data = match format.element_bits() {
        // 1, 2, 3, -4 and so on.
        4 => (0..rows * k / 2)
            .map(|i| [2, 4, 5, 14][pick(2 * i) % 4] | [2, 12, 5, 6][pick(2 * i + 1) % 4] << 4)
            .collect(),
        _ => (0..rows * k).map(|i| [0x38, 0x40, 0xb8, 0x44][pick(i) % 4]).collect(),
    };
    let scales: Vec<u8> = (0..rows * (k / format.block() as usize))
        .map(|i| match format.scale_is_exponent() {
            true => [126, 127, 128][pick(7 * i) % 3],
            false => [0x30, 0x38, 0x40][pick(7 * i) % 3],
        })
        .collect();
    BlockScaled::with_row_major_scales(format, [rows, k], data, &scales, 1.0).expect("valid")
}

/// Simulates, and demands that nothing is wrong and every element is within its bound.
fn assert_right<E: Element<Accumulator = f32>, C: OutputOf<E>>(
    gemm: &BlockScaledGemm<'_, E>,
    before: Option<&[C]>,
    plan: &Plan,
    schedule: Schedule,
) {
    let product = simulate(plan, gemm, before, &options(schedule)).expect("it runs");
    product.assert_clean();
    let before: Option<Vec<f64>> = before.map(|before| before.iter().map(|c| c.to_f64()).collect());
    let checked = check(gemm, before.as_deref(), &product.c).expect("as long");
    assert!(
        checked.passed(),
        "{}, {:?}: {checked}",
        plan.kernel().symbol,
        gemm.extents()
    );
}

#[test]
fn sums_that_are_exact_have_the_bits_of_the_reference() {
    for kernel in &BLOCK_SCALED_KERNELS {
        let format = kernel.tile.format;
        let (m, n, k) = (
            kernel.tile.m as usize + 17,
            kernel.tile.n as usize + 9,
            3 * kernel.tile.k as usize + 32,
        );
        let (a, b) = (exact(format, 1, m, k), exact(format, 2, n, k));
        fn check<E: Element<Accumulator = f32>>(kernel: &'static BlockScaledKernel, a: &BlockScaled, b: &BlockScaled)
        where
            f32: OutputOf<E>,
        {
            let gemm = BlockScaledGemm::<E>::new(a, b).expect("alike");
            let plan = plan_of(kernel, gemm.extents(), None);
            let product = simulate(&plan, &gemm, None::<&[f32]>, &options(Schedule::Standard)).expect("it runs");
            product.assert_clean();
            let exact: Vec<f32> = reference(&gemm, None).into_iter().map(|c| c as f32).collect();
            assert!(exact.iter().any(|&c| c != 0.0));
            assert_eq!(product.c, exact, "{}", kernel.symbol);
        }
        match kernel.output {
            DType::F16 => check::<f16>(kernel, &a, &b),
            _ => check::<bf16>(kernel, &a, &b),
        }
    }
}

#[test]
fn every_order_of_threads_is_clean() {
    for kernel in BLOCK_SCALED_KERNELS
        .iter()
        .filter(|kernel| kernel.output == DType::Bf16)
    {
        let format = kernel.tile.format;
        let (m, n, k) = (40, 48, 2 * kernel.tile.k as usize + 32);
        let (a, b) = (random(format, 1, m, k), random(format, 2, n, k));
        let gemm = BlockScaledGemm::<bf16>::new(&a, &b).expect("alike");
        // Few stages are refilled at once; many are not all used.
        let least = kernel.tile.least_stages();
        for stages in [
            least,
            least + 1,
            kernel
                .tile
                .most_stages(tilewright::Bytes(device().smem_per_block_optin)),
        ] {
            let plan = plan_of(kernel, gemm.extents(), Some(stages));
            assert_right(&gemm, None::<&[bf16]>, &plan, Schedule::All);
        }
    }
}

#[test]
fn every_barrier_is_needed() {
    for symbol in [
        "mma_block_scaled_nvfp4_64x128x128_bf16",
        "mma_block_scaled_nvfp4_l2_128x128x128_bf16",
    ] {
        let kernel = BlockScaledKernel::named(symbol).expect("a kernel");
        let format = kernel.tile.format;
        // More k-tiles than two rounds of the pipeline, and C in vectors, through the stages.
        let (m, n, k) = (72, 136, 6 * kernel.tile.k as usize);
        let (a, b) = (random(format, 8, m, k), random(format, 9, n, k));
        let gemm = BlockScaledGemm::<bf16>::new(&a, &b).expect("alike");
        let plan = plan_of(kernel, gemm.extents(), Some(kernel.tile.least_stages()));
        let run = |synchronizations| {
            let options = SimOptions {
                synchronizations,
                checks: Checks::Faults,
                ..options(Schedule::Standard)
            };
            let product = simulate(&plan, &gemm, None::<&[bf16]>, &options).expect("it runs");
            let report = product.report.expect("a launch");
            let is_right = check(&gemm, None, &product.c).expect("as long").passed();
            (report.is_clean() && is_right, report.synchronizations)
        };
        assert_eq!(scaled::unnoticed(run, |_| false), [], "{symbol}");
    }
}

#[test]
fn the_epilogue_is_that_of_every_family() {
    let kernel = BlockScaledKernel::named("mma_block_scaled_nvfp4_128x64x128_bf16").expect("a kernel");
    for (m, n) in [(130, 72), (65, 67)] {
        let (a, b) = (
            random(BlockFormat::Nvfp4, 3, m, 128),
            random(BlockFormat::Nvfp4, 4, n, 128),
        );
        let bias = random_matrix::<bf16>(5, n);
        let factors = Factors { alpha: -1.5, beta: 0.5 };
        let gemm = BlockScaledGemm::new(&a, &b).expect("alike");
        let gemm = gemm.factors(factors).bias(&bias).activation(Activation::Gelu);
        let plan = plan_of(kernel, gemm.extents(), None);
        assert_right(
            &gemm,
            Some(&random_matrix::<f32>(6, m * n)[..]),
            &plan,
            Schedule::Forward,
        );
        assert_right(
            &gemm,
            Some(&random_matrix::<bf16>(7, m * n)[..]),
            &plan,
            Schedule::Forward,
        );
        let without = BlockScaledGemm::new(&a, &b)
            .expect("alike")
            .bias(&bias)
            .activation(Activation::Relu);
        assert_right(&without, None::<&[bf16]>, &plan, Schedule::Forward);
    }
}

#[test]
fn ptxas_assembles_every_kernel_for_both_architectures_without_spills() {
    let ptxas = Ptxas::find().expect("cargo xtask setup");
    let text = &*ptx::block_scaled().ptx;
    assert_eq!(text.matches(".visible .entry ").count(), BLOCK_SCALED_KERNELS.len());
    for arch in ["sm_120a", "sm_121a"] {
        let assembled = ptxas.assemble(text, arch, &["-v"]).expect("it assembles");
        let report = assembled.report;
        for kernel in &BLOCK_SCALED_KERNELS {
            scaled::assert_assembled(&report, kernel.symbol, kernel.tile.threads(), &device());
            let plan = plan_of(kernel, [512, 512, 512], None);
            assert!(plan.smem().total().get() <= device().smem_per_block_optin);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_shape_is_right(kernel in prop::sample::select(&BLOCK_SCALED_KERNELS[..]), m in 1_usize..300,
        n in 1_usize..300, blocks in 1_usize..16, more_stages in 0_u32..6, seed: u64) {
        let kernel = BlockScaledKernel::named(kernel.symbol).expect("of the table");
        let (format, k) = (kernel.tile.format, 32 * blocks);
        let limit = tilewright::Bytes(device().smem_per_block_optin);
        let stages = (kernel.tile.least_stages() + more_stages).min(kernel.tile.most_stages(limit));
        let (a, b) = (random(format, seed, m, k), random(format, !seed, n, k));
        match kernel.output {
            DType::F16 => {
                let gemm = BlockScaledGemm::<f16>::new(&a, &b).expect("alike");
                let plan = plan_of(kernel, gemm.extents(), Some(stages));
                assert_right(&gemm, None::<&[f16]>, &plan, Schedule::Random(seed));
            }
            _ => {
                let gemm = BlockScaledGemm::<bf16>::new(&a, &b).expect("alike");
                let plan = plan_of(kernel, gemm.extents(), Some(stages));
                assert_right(&gemm, None::<&[bf16]>, &plan, Schedule::Random(seed));
                assert_right(&gemm, None::<&[f32]>, &plan, Schedule::Forward);
            }
        }
    }

    #[test]
    fn quantized_numbers_are_near(format in prop::sample::select(&BlockFormat::ALL[..]), rows in 1_usize..140,
        blocks in 1_usize..9, seed: u64, exponent in -20_i32..20) {
        let k = 32 * blocks;
        let unit = f32::exp2(exponent as f32);
        let elements: Vec<f32> = random_matrix::<f32>(seed, rows * k).into_iter().map(|x| x * unit).collect();
        let matrix = BlockScaled::quantize(format, rows, k, &elements).expect("numbers");
        // Half a step of e2m1 between 4 and 6 is a sixth of the largest, and a scale rounds by 2^-4; a power of two may
        // leave the largest beyond 6: 8 is 6 then. e4m3 steps by an eighth, and 512 is 448.
        let error = match format {
            BlockFormat::Nvfp4 => 0.25,
            BlockFormat::Mxfp4 => 0.26,
            BlockFormat::Mxfp8 => 0.13,
        };
        for (block, (values, of)) in matrix.dequantize().chunks(format.block() as usize)
            .zip(elements.chunks(format.block() as usize)).enumerate() {
            let largest = of.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            for (value, x) in values.iter().zip(of) {
                // Below the smallest scale a block is 0.
                let smallest = matrix.factor() * 0.01;
                prop_assert!((value - x).abs() <= error * largest + smallest, "block {block}: {x} became {value}");
            }
        }
        let again = BlockScaled::with_row_major_scales(
            format, [rows, k], matrix.data().to_vec(), &matrix.row_major_scales(), matrix.factor());
        prop_assert_eq!(again.expect("the same"), matrix);
    }
}

#[test]
fn bad_input_is_refused_with_the_numbers() {
    let format = BlockFormat::Nvfp4;
    let scales = |rows, k| vec![0x38; ScaleLayout::of(format, rows, k).bytes()];
    let from_parts = |[rows, k]: [usize; 2], data: usize, scales: Vec<u8>| {
        let error = BlockScaled::from_parts(format, [rows, k], vec![0; data], scales, 1.0).expect_err("refused");
        error.to_string()
    };
    assert_eq!(
        from_parts([2, 40], 40, scales(2, 40)),
        "K = 40 of nvfp4: it has to be a multiple of 32, nearest 64"
    );
    assert_eq!(
        from_parts([2, 64], 63, scales(2, 64)),
        "2 x 64 elements of nvfp4 are 64 B, got 63"
    );
    assert_eq!(
        from_parts([2, 64], 64, vec![0; 8]),
        "scales of 2 x 64 elements of nvfp4 are 1 x 1 tiles of 512 B, 512 B, got 8 B; tiles of 128 rows x 4 scales \
         are whole"
    );
    let mut with_nan = scales(2, 64);
    with_nan[16] = 0x7f;
    assert_eq!(from_parts([2, 64], 64, with_nan), "scale 0 of row 1 is 0x7f, NaN");
    let row_major = BlockScaled::with_row_major_scales(format, [2, 64], vec![0; 64], &[0x38; 7], 1.0);
    assert_eq!(
        row_major.expect_err("refused").to_string(),
        "scales of 2 x 64 elements of nvfp4 are 2 x 4, 8 B, got 7 B"
    );
    let mut elements = vec![1.0; 128];
    elements[70] = f32::INFINITY;
    assert_eq!(
        BlockScaled::quantize(format, 2, 64, &elements)
            .expect_err("refused")
            .to_string(),
        "element 6 of row 1 is inf: nvfp4 holds numbers only"
    );

    let plan = |device: &DeviceProfile, policy: &Policy| {
        plan(format, [256; 3], DType::Bf16, device, policy)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let hopper = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
    assert_eq!(
        plan(&hopper, &Policy::default()),
        Err("nvfp4 needs compute capability 12.0 or 12.1, any sm_90 device has 9.0".to_owned())
    );
    // The budget guide's product with eight stages.
    let kernel = BlockScaledKernel::named("mma_block_scaled_nvfp4_128x256x64_bf16");
    let policy = Policy {
        kernel,
        stages: Some(8),
        ..Policy::default()
    };
    assert_eq!(
        plan(&device(), &policy),
        Err(
            "8 stages of mma_block_scaled_nvfp4_128x256x64_bf16 are 110720 B of shared memory, a CTA of any sm_120 \
             device has 101376 B: 2 to 7 are possible"
                .to_owned()
        )
    );
    let (a, b) = (random(format, 1, 4, 64), random(BlockFormat::Mxfp4, 2, 4, 64));
    assert_eq!(
        BlockScaledGemm::<bf16>::new(&a, &b).expect_err("refused").to_string(),
        "A is nvfp4 with K = 64, B is mxfp4 with K = 64: they have to be the same"
    );
}
