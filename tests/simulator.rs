//! Every kernel in the simulator, without a GPU: no fault, and the result is the product.
//!
//! The shapes are those that the GPU tests use (`tilewright_harness::verify::cases`).

use cuda_sim::{Checks, Schedule};
use half::{bf16, f16};
use proptest::prelude::*;
use proptest::sample;
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{KernelUsage, Plan, Policy, kernel_sheet, plan, usage};
use tilewright::random::random_matrix;
use tilewright::simulate::{SimOptions, simulate};
use tilewright::{DType, Element, Gemm, GemmShape, KERNELS, Kernel, Operand, check};
use tilewright_harness::verify;

/// Tile widths to try where the width is a value of the launch: both sides of what the padding of 16 bytes and the last
/// output of a thread make of it. One per entry point at the wide end, where a case takes longest.
const WIDTHS: [u32; 5] = [1, 7, 17, 35, 66];

/// Every kernel whose tiles are squares. `gemm.rs` has the others.
fn kernels() -> impl Iterator<Item = &'static Kernel> {
    KERNELS.iter().filter(|kernel| kernel.widths.is_some())
}

/// Widths that the plan leaves to `kernel`.
fn widths(kernel: &'static Kernel) -> Vec<u32> {
    let found = |width| Kernel::find(kernel.family, kernel.dtype, width);
    let own = |width: &u32| found(*width).is_some_and(|found| found.symbol == kernel.symbol);
    match kernel.widths {
        Some([min, max]) if min == max => vec![min],
        Some(_) => WIDTHS.into_iter().filter(own).collect(),
        None => Vec::new(),
    }
}

fn options(schedule: Schedule, checks: Checks) -> SimOptions {
    SimOptions {
        schedule,
        checks,
        // The test harness runs as many tests at once as there are cores.
        workers: 1,
        ..SimOptions::default()
    }
}

fn planned(kernel: &'static Kernel, width: u32, shape: &GemmShape, options: &SimOptions) -> Plan {
    let policy = Policy {
        family: Some(kernel.family),
        tile: Some(width),
        kernel: Some(kernel),
        ..Policy::default()
    };
    let profile = DeviceProfile::of_arch(options.architecture);
    plan(shape, kernel.dtype, &profile, &policy).unwrap_or_else(|error| panic!("{} {shape}: {error}", kernel.symbol))
}

/// Simulates, and asserts that nothing is wrong: no fault, the right result, the planned bytes.
fn is_right(kernel: &'static Kernel, width: u32, shape: &GemmShape, options: &SimOptions) {
    let run = match kernel.dtype {
        DType::F32 => is_right_for::<f32>,
        DType::F64 => is_right_for::<f64>,
        DType::F16 => is_right_for::<f16>,
        DType::Bf16 => is_right_for::<bf16>,
    };
    run(kernel, width, shape, options);
}

fn is_right_for<T: Element>(kernel: &'static Kernel, width: u32, shape: &GemmShape, options: &SimOptions) {
    let what = format!("{} {width} wide, {shape}, {}", kernel.symbol, options.schedule);
    let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
    let (a, b) = (operand(Operand::A, 1), operand(Operand::B, 2));
    let plan = planned(kernel, width, shape, options);
    let product = simulate(&plan, &Gemm::new(plan.shape()), &a, &b, None::<&[T]>, options)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    if let Some(report) = &product.report {
        assert!(report.is_clean(), "{what}:\n{report}");
        assert_eq!(report.blocks, u64::from(plan.summary().grid[0]), "{what}");
        planned_bytes_are_used(&plan, report, &what);
    }
    let verdict = check::full(shape, &a, &b, &product.c).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(verdict.passed(), "{what}: {verdict}");
}

/// What the plan says, what the launch gave and what the kernel used are one number.
fn planned_bytes_are_used(plan: &Plan, report: &cuda_sim::Report, what: &str) {
    let (summary, shared) = (plan.summary(), &report.shared);
    assert_eq!(
        shared.static_bytes,
        u64::from(summary.static_smem_bytes),
        "{what}: static"
    );
    assert_eq!(
        shared.dynamic_bytes,
        u64::from(summary.dynamic_smem_bytes),
        "{what}: dynamic"
    );
    let planned = u64::from(summary.static_smem_bytes) + u64::from(summary.dynamic_smem_bytes);
    assert_eq!(shared.high_water_bytes, planned, "{what}: high-water mark");
    assert_eq!(shared.limit_bytes, u64::from(summary.limit_bytes), "{what}: limit");
    // The planner's worksheet, line by line, comes to the same.
    let arch = cuda_arch::find("sm_90").expect("in the table");
    // The simulator has no registers that could be spilled.
    let used = KernelUsage {
        static_bytes: plan.kernel().static_bytes().get(),
        ..usage(plan.kernel().symbol, arch).expect("in the table")
    };
    let sheet = kernel_sheet(plan.kernel(), used, arch).expect("legal");
    let worksheet = sheet.worksheet.map_or(0, |worksheet| worksheet.total_bytes);
    assert_eq!(shared.high_water_bytes, worksheet, "{what}: worksheet");
}

/// Every entry point of an element type over the whole table of shapes.
fn the_table_holds_for(dtype: DType) {
    let options = options(Schedule::Forward, Checks::Faults);
    for kernel in kernels().filter(|kernel| kernel.dtype == dtype) {
        let widths = widths(kernel);
        assert!(!widths.is_empty(), "{}", kernel.symbol);
        for width in widths {
            for case in verify::cases([width as usize; 3], kernel.transposes(), kernel.alignment) {
                is_right(kernel, width, &case.shape, &options);
            }
        }
    }
}

#[test]
fn every_f32_kernel_over_the_table_of_shapes() {
    the_table_holds_for(DType::F32);
}

#[test]
fn every_f64_kernel_over_the_table_of_shapes() {
    the_table_holds_for(DType::F64);
}

#[test]
fn every_f16_kernel_over_the_table_of_shapes() {
    the_table_holds_for(DType::F16);
}

#[test]
fn every_bf16_kernel_over_the_table_of_shapes() {
    the_table_holds_for(DType::Bf16);
}

#[test]
fn every_kernel_computes_the_same_under_every_schedule() {
    for kernel in kernels() {
        for width in widths(kernel) {
            let w = width as usize;
            let shape = GemmShape::with_ld(w + 1, 2 * w - 1, w + 2, w + 3, 2 * w + 5, 2 * w).expect("valid");
            is_right(kernel, width, &shape, &options(Schedule::All, Checks::Full));
        }
    }
}

#[test]
fn lines_that_share_memory_are_counted_and_ideal_at_32_wide() {
    let kernel = Kernel::named("tiled_static_32_f32").expect("in the table");
    let shape = GemmShape::packed(64, 64, 64).expect("valid");
    let options = options(Schedule::Forward, Checks::Full);
    let plan = planned(kernel, 32, &shape, &options);
    let (a, b) = (random_matrix::<f32>(1, 64 * 64), random_matrix::<f32>(2, 64 * 64));
    let product = simulate(&plan, &Gemm::new(plan.shape()), &a, &b, None::<&[f32]>, &options).expect("runs");
    let report = product.report.expect("not empty");
    assert!(!report.lines.is_empty());
    for line in &report.lines {
        assert!(line.location.file.contains("tiled.rs"), "{line:?}");
        // A warp is a row of the tile: neighbours take neighbouring words, or all the same one.
        assert_eq!(line.actual, line.ideal, "{line:?}");
    }
    // Two steps along K, two barriers each.
    assert_eq!(report.barriers_per_thread, (4, 4));
}

#[test]
fn an_empty_product_launches_nothing() {
    for (m, n, k) in [(0, 5, 5), (5, 0, 5), (0, 0, 0)] {
        let shape = GemmShape::packed(m, n, k).expect("valid");
        let kernel = &KERNELS[0];
        let options = options(Schedule::Forward, Checks::Full);
        let plan = planned(kernel, 16, &shape, &options);
        let product = simulate(
            &plan,
            &Gemm::new(plan.shape()),
            &vec![0.0; m * k],
            &vec![0.0; k * n],
            None::<&[f32]>,
            &options,
        )
        .expect("runs");
        assert!(product.report.is_none() && product.c.is_empty() && product.is_clean());
    }
}

proptest! {
    // Small, since most of what can go wrong does so within a few tiles.
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_shapes_on_random_kernels(
        kernel in sample::select(kernels().collect::<Vec<_>>()),
        width in 1_u32..=40,
        (m, n, k) in (0_usize..=90, 0_usize..=90, 0_usize..=90),
        (pad_a, pad_b, pad_c) in (0_usize..=9, 0_usize..=9, 0_usize..=9),
        seed in any::<u64>(),
    ) {
        let [min, max] = kernel.widths.expect("filtered so");
        let width = width.clamp(min, max);
        let shape = GemmShape::with_ld(m, n, k, k + pad_a, n + pad_b, n + pad_c).expect("valid");
        is_right(kernel, width, &shape, &options(Schedule::Random(seed), Checks::Faults));
    }
}
