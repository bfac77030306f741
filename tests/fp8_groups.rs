//! Several FP8 products in one launch, groups of rows and batches, in the simulator against the CPU reference.

#[path = "support/fp8.rs"]
mod support;

use cuda_sim::Schedule;
use half::bf16;
use proptest::prelude::*;
use tilewright::fp8::{
    Arithmetic, FP8_KERNELS, Fp8, Fp8Batch, Fp8Gemm, Fp8Kernel, Fp8Matrix, Fp8Problem, Fp8Products, Fp8Scaling, Major,
    Policy, plan, simulate,
};
use tilewright::random::random_matrix;
use tilewright::{Activation, DType, Factors, OutputOf};

use support::{device, exact, options, plan_of, random};

const LARGE: &str = "wgmma_fp8_groups_blocks_e4m3_e4m3_128x128_bf16";
const SMALL: &str = "wgmma_fp8_groups_blocks_e4m3_e4m3_64x128_bf16";

fn kernels() -> [&'static Fp8Kernel; 2] {
    [LARGE, SMALL].map(|symbol| Fp8Kernel::named(symbol).expect("a kernel"))
}

/// A's or B's of exact sums, each another.
fn exact_matrices(scaling: Fp8Scaling, count: usize, extents: [usize; 2]) -> Vec<Fp8Matrix> {
    let seeds = (0..count as u64).map(|seed| 2 * seed + u64::from(scaling == Fp8Scaling::Rows128));
    seeds.map(|seed| exact(Fp8::E4m3, scaling, 1 + seed, extents)).collect()
}

fn random_matrices(scaling: Fp8Scaling, count: usize, extents: [usize; 2], seed: u64) -> Vec<Fp8Matrix> {
    let seeds = (0..count as u64).map(|at| seed ^ (at << 8) ^ u64::from(scaling == Fp8Scaling::Rows128));
    seeds.map(|seed| random(Fp8::E4m3, scaling, seed, extents)).collect()
}

/// What C holds before: no NaN, and no sum.
fn poison<C: OutputOf<bf16>>(len: usize) -> (Vec<C>, Vec<f64>) {
    let poison: Vec<C> = (0..len)
        .map(|at| C::from_f64(-1000.0 - (at % 64) as f64 * 8.0))
        .collect();
    let as_f64 = poison.iter().map(|c| c.to_f64()).collect();
    (poison, as_f64)
}

/// Simulates into a C that holds something, and demands that nothing is wrong, every element that is computed has the
/// bits of the reference, and every other is as it was.
fn assert_exact<C: OutputOf<bf16>>(batch: &Fp8Batch<'_, bf16>, kernel: &'static Fp8Kernel, max_ctas: u32) {
    let plan = plan_of(kernel, &batch.problem(), Some(max_ctas));
    assert!(plan.ctas() <= max_ctas);
    let len = {
        let ([m, n, _], products) = (plan.extents(), batch.problem().products);
        n * match products {
            Fp8Products::Batch(count) => m * count as usize,
            _ => m,
        }
    };
    let (before, before_f64) = poison::<C>(len);
    let product = batch
        .simulate(&plan, Some(&before), &options(Schedule::Standard))
        .expect("it runs");
    product.assert_clean();
    let expected = batch
        .reference(Some(&before_f64))
        .into_iter()
        .map(|c| C::from_f64(c).to_f64());
    let expected: Vec<f64> = expected.collect();
    let found: Vec<f64> = product.c.iter().map(|c| c.to_f64()).collect();
    let what = || {
        format!(
            "{}, {:?}, ends {:?}, {max_ctas} CTAs",
            kernel.symbol,
            batch.problem(),
            batch.ends()
        )
    };
    if let Some(at) = found
        .iter()
        .zip(&expected)
        .position(|(found, expected)| found != expected)
    {
        let n = plan.extents()[1];
        panic!(
            "row {}, column {} is {}, not {}: {}",
            at / n,
            at % n,
            found[at],
            expected[at],
            what()
        );
    }
    let checked = batch
        .check(Arithmetic::F32, Some(&before_f64), &product.c)
        .expect("as long");
    assert!(checked.passed() && checked.elements == len, "{checked}: {}", what());
}

#[test]
fn groups_have_the_bits_of_the_reference_and_other_rows_are_left_alone() {
    // Residues in M, N and K; rows of C that are whole vectors, which TMA stores, and others.
    for (kernel, [n, k]) in kernels().into_iter().zip([[136, 400], [131, 272]]) {
        let m = 300;
        let a = &exact_matrices(Fp8Scaling::Rows128, 1, [m, k])[0];
        let b = exact_matrices(Fp8Scaling::Blocks128, 5, [n, k]);
        for (ends, max_ctas) in [
            // Uneven, one empty, ends at odd rows, rows of no group.
            ([7, 7, 140, 141, 293], 3),
            // The first and the last are empty, and all rows are of a group.
            ([0, 64, 192, 300, 300], 1),
            // Past the last row: as many as there are.
            ([1, 129, 130, 350, u32::MAX], 100),
            // Nothing to do.
            ([0; 5], 3),
        ] {
            let groups = Fp8Batch::of_groups(a, &b, &ends).expect("alike");
            assert_exact::<bf16>(&groups, kernel, max_ctas);
            if ends[0] == 7 {
                assert_exact::<f32>(&groups, kernel, max_ctas);
            }
        }
    }
}

#[test]
fn batches_have_the_bits_of_the_reference_and_rows_that_do_not_count_are_left_alone() {
    for (kernel, [m, n, k]) in kernels().into_iter().zip([[150, 136, 400], [67, 131, 272]]) {
        let a = exact_matrices(Fp8Scaling::Rows128, 4, [m, k]);
        let b = exact_matrices(Fp8Scaling::Blocks128, 4, [n, k]);
        let all = Fp8Batch::new(&a, &b).expect("alike");
        assert_exact::<bf16>(&all, kernel, 3);
        assert_exact::<bf16>(&all, kernel, 100);
        for (counts, max_ctas) in [([0, 1, 129, 0], 1), ([m as u32, 0, u32::MAX, 65], 3), ([0; 4], 3)] {
            let some = all.counts(&counts).expect("as many");
            assert_exact::<bf16>(&some, kernel, max_ctas);
            if max_ctas == 1 {
                assert_exact::<f32>(&some, kernel, max_ctas);
            }
        }
        // A batch of one.
        let one = Fp8Batch::new(&a[..1], &b[..1]).expect("alike");
        assert_exact::<bf16>(&one, kernel, 2);
        assert_exact::<bf16>(&one.counts(&[33]).expect("as many"), kernel, 2);
    }
}

#[test]
fn every_order_of_threads_is_clean() {
    let (m, n, k) = (70, 136, 9 * 128 + 16);
    let a = random_matrices(Fp8Scaling::Rows128, 2, [m, k], 1);
    let b = random_matrices(Fp8Scaling::Blocks128, 2, [n, k], 1);
    let kernel = Fp8Kernel::named(SMALL).expect("a kernel");
    let groups = Fp8Batch::<bf16>::of_groups(&a[0], &b, &[3, 69]).expect("alike");
    let batch = Fp8Batch::<bf16>::new(&a, &b).expect("alike");
    let batch = batch.counts(&[5, 66]).expect("as many");
    for products in [groups, batch] {
        let plan = plan_of(kernel, &products.problem(), Some(2));
        let product = products
            .simulate(&plan, None::<&[bf16]>, &options(Schedule::All))
            .expect("it runs");
        product.assert_clean();
        let checked = products.check(Arithmetic::F32, None, &product.c).expect("as long");
        assert!(checked.passed(), "{checked}");
    }
}

#[test]
fn the_epilogue_is_that_of_one_product() {
    let (m, n, k) = (130, 136, 144);
    let a = random_matrices(Fp8Scaling::Rows128, 3, [m, k], 3);
    let b = random_matrices(Fp8Scaling::Blocks128, 3, [n, k], 3);
    let bias = random_matrix::<bf16>(5, n);
    let factors = Factors { alpha: -1.5, beta: 0.5 };
    for kernel in kernels() {
        let groups = Fp8Batch::of_groups(&a[0], &b, &[33, 33, 129]).expect("alike");
        let batch = Fp8Batch::new(&a, &b)
            .expect("alike")
            .counts(&[130, 1, 77])
            .expect("as many");
        for (products, rows) in [(groups, m), (batch, 3 * m)] {
            let products = products.bias(&bias).activation(Activation::Gelu);
            for products in [products, products.factors(factors)] {
                let plan = plan_of(kernel, &products.problem(), Some(2));
                let before = random_matrix::<bf16>(6, rows * n);
                let simulated = products.simulate(&plan, Some(&before), &options(Schedule::Forward));
                let simulated = simulated.expect("it runs");
                simulated.assert_clean();
                let before: Vec<f64> = before.iter().map(|c| c.to_f64()).collect();
                let checked = products
                    .check(Arithmetic::F32, Some(&before), &simulated.c)
                    .expect("as long");
                assert!(checked.passed(), "{}: {checked}", kernel.symbol);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_division_is_right(symbol in prop::sample::select(vec![LARGE, SMALL]), m in 1_usize..300,
        n in 1_usize..300, k16 in 1_usize..30, mut ends in prop::collection::vec(0_u32..320, 1..7),
        is_batch: bool, max_ctas in 1_u32..6, seed: u64) {
        let (kernel, k) = (Fp8Kernel::named(symbol).expect("a kernel"), 16 * k16);
        let m = if is_batch { m.div_ceil(3) } else { m };
        let b = random_matrices(Fp8Scaling::Blocks128, ends.len(), [n, k], seed);
        let a = random_matrices(Fp8Scaling::Rows128, if is_batch { ends.len() } else { 1 }, [m, k], seed);
        let products = if is_batch {
            Fp8Batch::<bf16>::new(&a, &b).and_then(|batch| batch.counts(&ends))
        } else {
            ends.sort_unstable();
            Fp8Batch::of_groups(&a[0], &b, &ends)
        };
        let products = products.expect("alike");
        let plan = plan_of(kernel, &products.problem(), Some(max_ctas));
        let (before, before_f64) = poison::<bf16>(a.len() * m * n);
        let product = products.simulate(&plan, Some(&before), &options(Schedule::Random(seed))).expect("it runs");
        product.assert_clean();
        let checked = products.check(Arithmetic::F32, Some(&before_f64), &product.c).expect("as long");
        prop_assert!(checked.passed(), "{checked}");
    }
}

#[test]
fn a_change_of_a_row_of_no_group_is_found() {
    let (a, b) = (
        random(Fp8::E4m3, Fp8Scaling::Rows128, 1, [4, 16]),
        random_matrices(Fp8Scaling::Blocks128, 1, [2, 16], 2),
    );
    let groups = Fp8Batch::<bf16>::of_groups(&a, &b, &[3]).expect("alike");
    let before = [9.0; 8];
    let mut c: Vec<f32> = groups.reference(Some(&before)).into_iter().map(|c| c as f32).collect();
    assert_eq!(c[6..], [9.0; 2]);
    assert!(
        groups
            .check(Arithmetic::F32, Some(&before), &c)
            .expect("as long")
            .passed()
    );
    c[7] = 0.0;
    let checked = groups.check(Arithmetic::F32, Some(&before), &c).expect("as long");
    assert_eq!((checked.wrong, checked.elements), (1, 8));
    assert_eq!(checked.farthest, Some((3, 1, 0.0, 9.0, 0.0)));
    assert!(groups.check(Arithmetic::F32, None, &c).expect("as long").passed());
    assert!(groups.reference(None)[7].is_nan());
}

#[test]
fn the_planner_takes_small_tiles_for_few_rows_and_kernels_of_one_product_for_one() {
    let problem = |products, m| Fp8Problem {
        formats: [Fp8::E4m3; 2],
        scalings: [Fp8Scaling::Rows128, Fp8Scaling::Blocks128],
        majors: [Major::K; 2],
        extents: [m, 4096, 7168],
        products,
        output: DType::Bf16,
    };
    let planned = |products, m| plan(&problem(products, m), &device(), &Policy::default()).expect("it fits");
    assert_eq!(planned(Fp8Products::Groups(256), 4096).kernel().symbol, SMALL);
    assert_eq!(planned(Fp8Products::Groups(4), 8192).kernel().symbol, LARGE);
    assert_eq!(planned(Fp8Products::Batch(4), 32).kernel().symbol, SMALL);
    assert_eq!(planned(Fp8Products::Batch(4), 1024).kernel().symbol, LARGE);
    for kernel in &FP8_KERNELS {
        assert_eq!(kernel.tile.groups, [LARGE, SMALL].contains(&kernel.symbol));
    }
    assert!(!planned(Fp8Products::One, 4096).kernel().tile.groups);
    // At most a tile that is not full for each group; no tile without rows.
    let tiles = |products, m| planned(products, m).summary(&device()).tiles;
    assert_eq!(tiles(Fp8Products::Groups(4), 8192), (8192 / 128 + 4) * 32);
    assert_eq!(tiles(Fp8Products::Batch(4), 1000), 4 * 8 * 32);
    assert_eq!(tiles(Fp8Products::Groups(4), 0), 0);
}

#[test]
fn bad_input_is_refused_with_the_numbers() {
    use Fp8Scaling::{Blocks128, Rows, Rows128};
    let problem = Fp8Problem {
        formats: [Fp8::E4m3; 2],
        scalings: [Rows128, Blocks128],
        majors: [Major::K; 2],
        extents: [256; 3],
        products: Fp8Products::Groups(3),
        output: DType::Bf16,
    };
    let refused = |problem: Fp8Problem, kernel: Option<&str>| {
        let policy = Policy {
            kernel: kernel.map(|symbol| Fp8Kernel::named(symbol).expect("a kernel")),
            ..Policy::default()
        };
        plan(&problem, &device(), &policy).expect_err("refused").to_string()
    };
    let with = |products| Fp8Problem { products, ..problem };
    assert_eq!(
        refused(with(Fp8Products::Groups(0)), None),
        "0 groups: there has to be at least 1"
    );
    assert_eq!(
        refused(with(Fp8Products::Batch(0)), None),
        "a batch of 0 products: there has to be at least 1"
    );
    let of_rows = Fp8Problem {
        scalings: [Rows; 2],
        ..problem
    };
    let needed = "they are of e4m3 (1x128) x e4m3 (128x128) with C of bf16 or f32";
    assert_eq!(
        refused(of_rows, None),
        format!(
            "no kernel of groups and batches takes e4m3 (row) x e4m3 (row) with C of bf16, M, N, K = [256, 256, 256], \
             in 3 groups: {needed}"
        )
    );
    let of_e5m2 = Fp8Problem {
        formats: [Fp8::E5m2, Fp8::E4m3],
        output: DType::F16,
        products: Fp8Products::Batch(2),
        ..problem
    };
    assert_eq!(
        refused(of_e5m2, None),
        format!(
            "no kernel of groups and batches takes e5m2 (1x128) x e4m3 (128x128) with C of f16, M, N, K = [256, 256, \
             256], a batch of 2: {needed}"
        )
    );
    let one = "wgmma_fp8_blocks_e4m3_e4m3_128x128_bf16";
    assert_eq!(
        refused(problem, Some(one)),
        format!(
            "{one} is a kernel of one product, the problem is e4m3 (1x128) x e4m3 (128x128) with C of bf16, M, N, K = \
             [256, 256, 256], in 3 groups"
        )
    );
    assert_eq!(
        refused(with(Fp8Products::One), Some(LARGE)),
        format!(
            "{LARGE} is a kernel of groups and batches, the problem is e4m3 (1x128) x e4m3 (128x128) with C of bf16, \
             M, N, K = [256, 256, 256]"
        )
    );
    let large = Fp8Problem {
        extents: [1 << 30, 1 << 20, 16],
        products: Fp8Products::Batch(1 << 10),
        ..problem
    };
    assert_eq!(
        refused(large, Some(LARGE)),
        format!(
            "{LARGE} has {} tiles for M, N = 1073741824, 1048576, at most 2147483647 can be counted",
            1_u64 << (23 + 13 + 10)
        )
    );
    let of_scales = Fp8Problem {
        extents: [16, 1 << 20, 1 << 20],
        products: Fp8Products::Groups(1 << 10),
        ..problem
    };
    assert_eq!(
        refused(of_scales, None),
        format!(
            "1024 products have {} scales of B, at most 2147483647 can be counted",
            1_u64 << (13 + 13 + 10)
        )
    );

    let a = random_matrices(Rows128, 2, [8, 32], 1);
    let b = random_matrices(Blocks128, 2, [16, 32], 2);
    let message = |batch: tilewright::Result<Fp8Batch<'_, bf16>>| batch.expect_err("refused").to_string();
    assert_eq!(
        message(Fp8Batch::of_groups(&a[0], &[], &[])),
        "0 groups: there has to be at least 1"
    );
    assert_eq!(
        message(Fp8Batch::of_groups(&a[0], &b, &[8])),
        "there are 2 groups, and ends of 1"
    );
    assert_eq!(
        message(Fp8Batch::of_groups(&a[0], &b, &[5, 4])),
        "group 1 ends at row 4, before group 0 does, at row 5"
    );
    assert_eq!(
        message(Fp8Batch::new(&a, &b[..1])),
        "a batch has an A and a B for each product, not 2 and 1"
    );
    let batch = Fp8Batch::<bf16>::new(&a, &b).expect("alike");
    assert_eq!(
        message(batch.counts(&[1, 2, 3])),
        "there are 2 products, and counts of rows of 3"
    );
    let groups = Fp8Batch::<bf16>::of_groups(&a[0], &b, &[3, 8]).expect("alike");
    assert_eq!(message(groups.counts(&[3, 8])), "groups have ends, not counts of rows");
    let other = [b[0].clone(), random(Fp8::E4m3, Blocks128, 3, [17, 32])];
    assert_eq!(
        message(Fp8Batch::new(&a, &other)),
        "B 1 is 17 x 32 of e4m3 (128x128), B 0 is 16 x 32 of e4m3 (128x128): they have to be the same"
    );
    let by_rows = [random(Fp8::E4m3, Rows, 4, [16, 32])];
    assert_eq!(
        message(Fp8Batch::of_groups(&a[0], &by_rows, &[8])),
        "scales of A are 1x128, of B row: groups and batches take 1x128 of A and 128x128 of B"
    );

    // A plan of groups is for no single product, nor for a batch.
    let planned = plan(&groups.problem(), &device(), &Policy::default()).expect("it fits");
    let gemm = Fp8Gemm::<bf16>::new(&a[0], &b[0]).expect("alike");
    let error = simulate(&planned, &gemm, None::<&[bf16]>, &options(Schedule::Forward)).expect_err("refused");
    let of = "e4m3 (1x128) x e4m3 (128x128) with C of bf16, M, N, K = [8, 16, 32]";
    assert_eq!(
        error.to_string(),
        format!("the plan is for {of}, in 2 groups, the problem is {of}")
    );
    let error = batch
        .simulate(&planned, None::<&[bf16]>, &options(Schedule::Forward))
        .expect_err("refused");
    assert_eq!(
        error.to_string(),
        format!("the plan is for {of}, in 2 groups, the problem is {of}, a batch of 2")
    );
    let error = groups
        .simulate(&planned, Some(&[bf16::ZERO; 3]), &options(Schedule::Forward))
        .expect_err("refused");
    assert_eq!(error.to_string(), "C has 3 elements, its shape needs 128");
}
