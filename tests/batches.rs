//! Strided batches in the simulator and on the CPU: every kernel that takes them, every way that the matrices of a
//! batch may lie, split-K, alpha and beta, bias and activation.

mod support;

use std::collections::BTreeSet;

use cuda_sim::Checks;
use half::f16;
use support::Ask;
use tilewright::check::Expected;
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Named, PlanError, Policy, plan};
use tilewright::random::random_matrix;
use tilewright::{
    Activation, Backend, DType, Error, Factors, Family, Gemm, GemmShape, KERNELS, Kernel, Operand, Options, Verify,
    gemm,
};
use tilewright_contract::{Batch, Operands, ShapeError};
use tilewright_harness::verify::{self, Case};

/// The batches of a kernel, of as few elements as reach its edges.
fn batches(kernel: &Kernel) -> Vec<Case> {
    // Deep products have the same launches, and take long to simulate.
    let single = match kernel.operands {
        Operands::MatrixAndVector(major) => {
            let tile = [kernel.tile.m, kernel.tile.n, kernel.tile.k].map(|extent| extent as usize);
            verify::vector_cases(tile, major, kernel.alignment.elems[0] as usize)
        }
        Operands::Matrices(_) => {
            let tile = match kernel.widths {
                Some([min, _]) => [min; 3],
                None => [kernel.tile.m, kernel.tile.n, kernel.tile.k],
            };
            verify::cases(
                tile.map(|extent| extent as usize),
                kernel.transposes(),
                kernel.alignment,
            )
        }
    };
    let shallow: Vec<_> = single.into_iter().filter(|case| case.name != "deep").collect();
    verify::batches(&shallow, kernel)
}

fn ask(kernel: &'static Kernel) -> Ask {
    Ask {
        width: kernel.widths.map(|[min, _]| min),
        ..Ask::of(kernel)
    }
}

/// Kernels that take batches, the first of each tile.
fn one_of_each_tile() -> impl Iterator<Item = &'static Kernel> {
    let of_batches = || KERNELS.iter().filter(|kernel| kernel.supports.batch);
    of_batches().enumerate().filter_map(move |(at, kernel)| {
        let is_same = |other: &&Kernel| other.family == kernel.family && other.has_same_tile(kernel);
        (!of_batches().take(at).any(|other| is_same(&other))).then_some(kernel)
    })
}

#[test]
fn small_tiles_take_every_batch() {
    let mut families = BTreeSet::new();
    let area = |kernel: &Kernel| kernel.tile.m * kernel.tile.n;
    let is_smallest = |kernel: &&Kernel| kernel.family.kernels().all(|other| area(kernel) <= area(other));
    for kernel in one_of_each_tile().filter(|kernel| kernel.widths.is_some() || is_smallest(kernel)) {
        families.insert(kernel.family.name());
        for Case { shape, .. } in batches(kernel) {
            ask(kernel).is_right(&shape);
        }
    }
    assert_eq!(families.len(), 11, "{families:?}");
}

#[test]
fn every_tile_takes_a_batch() {
    for kernel in one_of_each_tile() {
        let batch = batches(kernel).into_iter().find(|case| case.name == "batch, one B");
        ask(kernel).is_right(&batch.expect("one of the cases").shape);
    }
}

#[test]
fn persistent_blocks_go_from_one_product_to_the_next() {
    for kernel in one_of_each_tile().filter(|kernel| kernel.is_persistent()) {
        let [m, n] = [kernel.tile.m as usize + 8, kernel.tile.n as usize];
        let single = GemmShape::packed_transposed(m, n, 64, kernel.transposes()).expect("valid");
        let shape = single.with_packed_batch(5).expect("disjoint");
        // Fewer CTAs than tiles: each computes tiles of several products.
        let few = Ask {
            sms: 2 * kernel.cluster,
            ..ask(kernel)
        };
        few.is_right(&shape);
    }
}

#[test]
fn splits_of_a_batch_are_added_up_product_by_product() {
    for kernel in one_of_each_tile().filter(|kernel| kernel.split_k.is_some()) {
        let case = batches(kernel).into_iter().find(|case| case.name == "batch");
        let shape = case.expect("one of the cases").shape;
        let of_splits = Ask {
            splits: 2,
            sms: 4,
            ..ask(kernel)
        };
        of_splits.is_right(&shape);
    }
}

#[test]
fn batches_are_scaled_and_added_to_what_each_c_holds() {
    let factors = Factors { alpha: -1.5, beta: 0.5 };
    let smallest = |family: Family| {
        let of_tile = |kernel: &&Kernel| kernel.tile.m * kernel.tile.n;
        family.kernels().min_by_key(of_tile).expect("in the table")
    };
    for family in [Family::SIMT, Family::MMA_SYNC, Family::WGMMA, Family::MATRIX_VECTOR] {
        let kernel = smallest(family);
        for case in batches(kernel).iter().take(4) {
            Ask { factors, ..ask(kernel) }.is_right(&case.shape);
        }
    }
}

#[test]
fn a_bias_and_an_activation_follow_every_product_in_both_types_of_c() {
    for family in [Family::MMA_SYNC, Family::WGMMA] {
        let kernel = family
            .kernels()
            .find(|kernel| kernel.dtype == DType::F16)
            .expect("in the table");
        for case in batches(kernel).iter().filter(|case| case.name != "batch, one A") {
            let bias = random_matrix::<f16>(9, case.shape.n());
            let problem = Gemm::new(case.shape).bias(&bias[..]).activation(Activation::Relu);
            ask(kernel).is_right_for::<f16, f16>(&problem);
            ask(kernel).is_right_for::<f16, f32>(&problem);
        }
    }
}

#[test]
fn every_access_of_a_batch_is_watched() {
    // The matrices are 5 elements apart, which nobody may touch; global traffic is counted.
    let kernel = Family::SIMT
        .kernels()
        .min_by_key(|kernel| kernel.tile.m * kernel.tile.n);
    let kernel = kernel.expect("in the table");
    let full = Ask {
        checks: Checks::Full,
        ..ask(kernel)
    };
    let report = full.is_right(&batches(kernel)[0].shape).expect("not empty");
    assert_eq!(report.blocks % 3, 0, "a row of the grid for each product");
}

#[test]
fn the_cpu_computes_batches_and_says_which_product_is_wrong() {
    let shape = GemmShape::with_ld(33, 20, 45, 50, 20, 60).and_then(|shape| shape.with_batch(3, [33 * 50, 0, 20]));
    let shape = shape.expect("side by side");
    let random = |seed, operand| random_matrix::<f32>(seed, shape.span_elems(operand));
    let (a, b, mut c) = (random(1, Operand::A), random(2, Operand::B), random(3, Operand::C));
    let before = c.clone();
    let options = Options {
        backend: Backend::Cpu,
        verify: Verify::Full,
        ..Options::default()
    };
    let problem = Gemm::new(shape).alpha(2.0).beta(-1.0);
    let report = gemm(&problem, &a, &b, &mut c, &options).expect("verified");
    assert_eq!(report.batch, 3);
    let expected = Expected::product(&shape, &a, &b).expect("as long as the shape says");
    let expected = expected.scaled(problem.epilogue.factors, &before).expect("finite");
    // Row 7, column 11 of product 2.
    c[7 * 60 + 2 * 20 + 11] += 0.5;
    for verdict in [expected.full(&c), expected.sampled(&c, 1)] {
        let verdict = verdict.expect("finite");
        let text = verdict.to_string();
        assert!(text.contains("first at product 2, row 7, column 11"), "{text}");
    }
}

#[test]
fn a_batch_that_no_grid_holds_takes_several_launches() {
    let device = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
    let shape = GemmShape::packed(1, 1, 1)
        .and_then(|shape| shape.with_packed_batch(70_000))
        .expect("valid");
    let policy = Policy {
        family: Some(Family::TILED_STATIC),
        ..Policy::default()
    };
    let plan = plan(&shape, DType::F32, &device, &policy).expect("it fits");
    assert_eq!((plan.summary().grid, plan.summary().launches), ([1, 65_535, 1], 2));
    let reason = "2 launches, of at most 65535 of the 70000 products each: a grid holds no more";
    assert!(plan.reasons().iter().any(|line| line == reason), "{:?}", plan.reasons());
}

#[test]
fn what_is_no_batch_is_refused_with_the_numbers() {
    let single = GemmShape::packed(4, 4, 4).expect("valid");
    assert_eq!(
        single.with_batch(3, [16, 16, 15]),
        Err(ShapeError::BatchOverlap {
            count: 3,
            stride: 15,
            c: [4, 4, 4]
        })
    );
    let device = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
    let lesson = &tilewright_contract::lessons::KERNELS[0];
    let policy = Policy {
        family: Some(lesson.family),
        ..Policy::default()
    };
    let batch = single.with_packed_batch(3).expect("disjoint");
    let error = plan(&batch, lesson.dtype, &device, &policy).expect_err("one product only");
    assert_eq!(
        error,
        PlanError::NoBatch {
            named: Named::Family(lesson.family),
            count: 3
        }
    );
    // A slice that holds two of three products.
    let (a, b, mut c) = (vec![1.0_f32; 48], vec![1.0_f32; 32], vec![0.0_f32; 48]);
    let options = Options {
        backend: Backend::Cpu,
        ..Options::default()
    };
    let error = gemm(&Gemm::new(batch), &a, &b, &mut c, &options).expect_err("too short");
    assert!(
        matches!(&error, Error::InvalidArgument(text) if text.contains("48") && text.contains("32")),
        "{error}"
    );
    assert_eq!(batch.product().batch(), Batch::ONE);
}
