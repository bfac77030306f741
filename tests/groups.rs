//! Groups of rows with a B each, in the simulator and on the CPU: every kernel that takes them, groups of every length,
//! alpha and beta, bias and activation.

mod support;

use half::{bf16, f16};
use support::Ask;
use tilewright::check::Expected;
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{PlanError, Policy, plan};
use tilewright::random::random_matrix;
use tilewright::{
    Activation, Backend, DType, Factors, Family, Gemm, GemmShape, KERNELS, Kernel, Operand, Options, Verify, gemm,
};
use tilewright_harness::verify::{self, Case};

fn of_groups() -> impl Iterator<Item = &'static Kernel> {
    KERNELS.iter().filter(|kernel| kernel.supports.groups)
}

/// The shapes of a kernel with groups, but for deep ones, which take long to simulate.
fn groups(kernel: &Kernel) -> Vec<Case> {
    let [m, n, k] = [kernel.tile.m, kernel.tile.n, kernel.tile.k].map(|extent| extent as usize);
    let mut cases = verify::cases([3 * m + 1, n, k], kernel.transposes(), kernel.alignment);
    cases.retain(|case| case.name != "deep");
    cases.extend(verify::copied_cases([m + 1, n, k], kernel));
    verify::groups(&cases, kernel)
}

#[test]
fn every_kernel_takes_groups_of_every_length() {
    let mut count = 0;
    for kernel in of_groups() {
        // Every shape of one type, one of the other.
        let most = if kernel.dtype == DType::Bf16 { 1 } else { usize::MAX };
        let cases = groups(kernel);
        let first = cases
            .iter()
            .position(|case| case.name == "whole tiles")
            .expect("one of the cases");
        for Case { shape, .. } in cases[first..].iter().chain(&cases[..first]).take(most) {
            Ask::of(kernel).is_right(shape);
        }
        count += 1;
    }
    assert_eq!(count, 23);
}

#[test]
fn persistent_blocks_go_from_one_group_to_the_next() {
    for kernel in of_groups().filter(|kernel| kernel.is_persistent() && kernel.dtype == DType::F16) {
        let [m, n] = [kernel.tile.m as usize, kernel.tile.n as usize];
        let single = GemmShape::packed_transposed(5 * m + 9, n + 8, 128, kernel.transposes()).expect("valid");
        let shape = single.with_groups(9, 128 * (n + 8)).expect("valid");
        Ask {
            sms: 2,
            ..Ask::of(kernel)
        }
        .is_right(&shape);
    }
}

#[test]
fn groups_are_scaled_added_and_followed_by_bias_and_activation() {
    let factors = Factors { alpha: -1.5, beta: 0.5 };
    for family in [Family::SIMT, Family::MMA_SYNC, Family::WGMMA] {
        let kernel = of_groups().filter(|kernel| kernel.family == family);
        let kernel = kernel
            .min_by_key(|kernel| kernel.tile.m * kernel.tile.n)
            .expect("in the table");
        let shape = groups(kernel)
            .into_iter()
            .find(|case| case.name == "padded rows")
            .expect("one of the cases")
            .shape;
        Ask {
            factors,
            ..Ask::of(kernel)
        }
        .is_right(&shape);
        if kernel.dtype == DType::F16 {
            let (ends, bias) = (
                verify::group_ends(&shape).expect("groups"),
                random_matrix::<f16>(9, shape.n()),
            );
            let problem = Gemm::new(shape)
                .group_ends(&ends[..])
                .bias(&bias[..])
                .activation(Activation::Relu);
            Ask::of(kernel).is_right_for::<f16, f16>(&problem);
            Ask::of(kernel).is_right_for::<f16, f32>(&problem);
        }
    }
}

#[test]
fn the_cpu_computes_groups_and_says_which_is_wrong() {
    let shape = GemmShape::with_ld(33, 20, 45, 50, 20, 24).and_then(|shape| shape.with_groups(3, 45 * 20));
    let shape = shape.expect("valid");
    let random = |seed, operand| random_matrix::<bf16>(seed, shape.span_elems(operand));
    let (a, b, mut c) = (random(1, Operand::A), random(2, Operand::B), random(3, Operand::C));
    let before = c.clone();
    let ends = [10, 10, 30];
    let options = Options {
        backend: Backend::Cpu,
        verify: Verify::Full,
        ..Options::default()
    };
    let problem = Gemm::new(shape).group_ends(&ends[..]).beta(1.0);
    gemm(&problem, &a, &b, &mut c, &options).expect("verified");
    // Rows of no group are as before.
    assert_eq!(c[30 * 24..], before[30 * 24..]);
    let expected = Expected::of_groups(&shape, Some(&ends), &a, &b).expect("as long as the shape says");
    let expected = expected.scaled(problem.epilogue.factors, &before).expect("finite");
    // Row 17 of all, 7 of group 2.
    c[17 * 24 + 11] += bf16::from_f32(4.0);
    for verdict in [expected.full(&c), expected.sampled(&c, 1)] {
        let text = verdict.expect("finite").to_string();
        assert!(text.contains("first at product 2, row 7, column 11"), "{text}");
    }
}

#[test]
fn a_plan_says_what_takes_no_groups() {
    let sm_90 = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
    let shape = GemmShape::packed(1000, 256, 128)
        .and_then(|shape| shape.with_groups(8, 256 * 128))
        .expect("valid");
    for (dtype, family) in [(DType::F32, Family::SIMT), (DType::Bf16, Family::WGMMA)] {
        let plan = plan(&shape, dtype, &sm_90, &Policy::default()).expect("it fits");
        assert_eq!(plan.kernel().family, family);
        // One launch for all: a tile more for each group than its rows fill.
        let tile = plan.kernel().tile;
        let tiles = (1000 / tile.m + 8) * 256_u32.div_ceil(tile.n);
        assert_eq!((plan.grid().tiles(), plan.grid().launches()), (tiles, 1));
    }
    let error = plan(&shape, DType::F64, &sm_90, &Policy::default()).expect_err("no kernel");
    assert!(
        matches!(
            error,
            PlanError::NoGroups {
                groups: Some(8),
                dtype: DType::F64,
                ..
            }
        ),
        "{error}"
    );
    let named = Policy {
        kernel: of_groups().next(),
        ..Policy::default()
    };
    let single = GemmShape::packed(64, 64, 64).expect("valid");
    let error = plan(&single, DType::F32, &sm_90, &named).expect_err("groups alone");
    let symbol = of_groups().next().expect("there are some").symbol;
    assert_eq!(error.to_string(), format!("{symbol} takes groups of rows alone"));
}
