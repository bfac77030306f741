//! The pipelined kernels and those of products with vectors in the simulator, without a
//! GPU: every layout of A and B, split-K, alpha and beta, and no bank conflict where fragments are loaded.
//!
//! A CTA of 256 threads with 128 accumulators each is slow to simulate: the smallest tile goes over the whole table of
//! shapes, the others over the shapes that reach their edges.

mod support;

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::{Checks, Schedule};
use proptest::prelude::*;
use proptest::sample;
use support::Ask;
use tilewright::check::Expected;
use tilewright::random::random_matrix;
use tilewright::simulate::simulate;
use tilewright::{
    Backend, Factors, Family, Gemm, GemmShape, KERNELS, Kernel, Operand, Options, Transpose, Verify, gemm,
};
use tilewright_contract::{Alignment, BlockTile, MmaPath, Operands, TileShape, tiles};
use tilewright_harness::verify::{self, Case};

/// Shapes that reach every edge of a tile in a few steps along K.
const EDGES: [&str; 4] = ["one element", "above one tile", "padded rows", "nothing to sum"];

/// The entry points of a tile.
fn kernels(tile: BlockTile) -> impl Iterator<Item = &'static Kernel> {
    let BlockTile { m, n, k, .. } = tile;
    KERNELS
        .iter()
        .filter(move |kernel| kernel.tile == TileShape { m, n, k } && !kernel.supports.groups)
}

/// The split-K factors that a kernel is tried with.
fn splits(kernel: &Kernel) -> &'static [u32] {
    if kernel.split_k.is_some() { &[1, 3] } else { &[1] }
}

/// The extents of a kernel's tile.
fn extents(kernel: &Kernel) -> [usize; 3] {
    [kernel.tile.m, kernel.tile.n, kernel.tile.k].map(|extent| extent as usize)
}

fn cases(kernel: &Kernel) -> Vec<Case> {
    verify::cases(extents(kernel), kernel.transposes(), kernel.alignment)
}

/// The kernels of f32 with a rectangle of C for each CTA, alpha and beta.
fn scaling() -> impl Iterator<Item = &'static Kernel> {
    let scales = |kernel: &&Kernel| kernel.supports.alpha_beta && kernel.supports.batch && !kernel.takes_vector();
    KERNELS
        .iter()
        .filter(scales)
        .filter(|kernel| kernel.mma == MmaPath::Simt)
}

/// What a kernel is asked for in so many parts of K.
fn split(kernel: &'static Kernel, splits: u32) -> Ask {
    Ask {
        splits,
        ..Ask::of(kernel)
    }
}

/// Every entry point of a tile, whole and with split-K, over the cases with these names.
fn holds_over(tile: BlockTile, named: impl Fn(&str) -> bool) {
    let mut run = 0;
    for kernel in kernels(tile) {
        for &splits in splits(kernel) {
            for case in cases(kernel).iter().filter(|case| named(case.name)) {
                split(kernel, splits).is_right(&case.shape);
                run += 1;
            }
        }
    }
    assert!(run > 0);
}

#[test]
fn the_smallest_tile_over_the_whole_table_of_shapes() {
    holds_over(tiles::T64X64, |_| true);
}

#[test]
fn few_rows() {
    holds_over(tiles::T32X128, |name| EDGES.contains(&name));
}

#[test]
fn warps_with_a_slice_of_every_k_tile() {
    holds_over(tiles::S32X32, |_| true);
}

#[test]
fn slices_of_two_warps() {
    holds_over(tiles::S64X64, |name| EDGES.contains(&name));
}

#[test]
fn slices_of_more_lanes_than_rows() {
    holds_over(tiles::S48X64, |_| true);
}

#[test]
fn few_columns() {
    holds_over(tiles::T128X32, |name| EDGES.contains(&name));
}

#[test]
fn tiles_of_four_warps() {
    holds_over(tiles::T128X64, |name| EDGES.contains(&name));
    holds_over(tiles::T64X128, |name| EDGES.contains(&name));
}

#[test]
fn tiles_of_eight_warps() {
    holds_over(tiles::T128X128, |name| EDGES[..2].contains(&name));
}

#[test]
fn the_largest_tile() {
    holds_over(tiles::T256X128, |name| EDGES[..2].contains(&name));
}

/// The kernels of products with a vector, each with its cases.
fn with_vectors() -> impl Iterator<Item = (&'static Kernel, Vec<Case>)> {
    KERNELS.iter().filter_map(|kernel| match kernel.operands {
        Operands::MatrixAndVector(major) => {
            let cases = verify::vector_cases(extents(kernel), major, kernel.alignment.elems[0] as usize);
            Some((kernel, cases))
        }
        Operands::Matrices(_) => None,
    })
}

#[test]
fn products_with_a_vector_over_the_whole_table_of_shapes() {
    for (kernel, cases) in with_vectors() {
        assert!(cases.len() > 30, "{}", kernel.symbol);
        for &splits in splits(kernel) {
            for case in &cases {
                split(kernel, splits).is_right(&case.shape);
            }
        }
    }
}

#[test]
fn products_with_a_vector_compute_the_same_under_every_schedule_scale_and_add() {
    for (kernel, cases) in with_vectors() {
        for case in cases
            .iter()
            .filter(|case| ["padded", "nothing to sum"].contains(&case.name))
        {
            for (splits, alpha, beta) in [(1, 1.0, 0.0), (3, -1.5, 0.5), (1, 0.0, 2.0)] {
                let ask = Ask {
                    factors: Factors { alpha, beta },
                    schedule: Schedule::All,
                    ..split(kernel, splits)
                };
                ask.is_right(&case.shape);
            }
        }
    }
}

/// 8 slots a group: one group, two of which one is alone, three levels of which the last group of two has one CTA
/// alone in its second level.
#[test]
fn splits_are_reduced_in_groups_of_groups() {
    let across = with_vectors().map(|(kernel, _)| kernel).nth(2).expect("in the table");
    for splits in [8, 9, 17, 65, 70] {
        let shape = GemmShape::packed(1, 8, splits as usize * 64).expect("valid");
        for schedule in [Schedule::Forward, Schedule::Reverse, Schedule::Random(7)] {
            let ask = Ask {
                schedule,
                ..split(across, splits)
            };
            let plan = ask.plan(&shape);
            assert_eq!((plan.summary().splits, plan.counters()), (splits, splits as usize));
            ask.is_right(&shape);
        }
    }
    let ask = Ask {
        factors: Factors { alpha: 2.0, beta: 1.0 },
        schedule: Schedule::Reverse,
        ..split(kernels(tiles::T64X64).next().expect("in the table"), 11)
    };
    ask.is_right(&GemmShape::packed(68, 4, 11 * 16).expect("valid"));
}

/// A shape of two tiles in each direction and three steps along K, none of them whole, as the copies of an entry point
/// take it.
fn residue_tiles(kernel: &Kernel) -> GemmShape {
    let of = |name| cases(kernel).into_iter().find(|case| case.name == name);
    let shape = of("padded rows").expect("in the table").shape;
    let (m, n, k) = (shape.m(), shape.n(), 2 * kernel.tile.k as usize + 4);
    GemmShape::packed_transposed(m, n, k, kernel.transposes()).expect("valid")
}

#[test]
fn every_entry_point_computes_the_same_under_every_schedule() {
    // All layouts of the smallest tile; of the others each tile once, of the fewest threads first.
    let small = kernels(tiles::T64X64);
    let others = [tiles::T32X128, tiles::T128X32, tiles::T128X64];
    let others = others.into_iter().filter_map(|tile| kernels(tile).next());
    for kernel in small.chain(others) {
        for &splits in splits(kernel) {
            let ask = Ask {
                schedule: Schedule::All,
                ..split(kernel, splits)
            };
            ask.is_right(&residue_tiles(kernel));
        }
    }
}

#[test]
fn large_tiles_compute_the_same_under_every_schedule() {
    for kernel in kernels(tiles::T128X128).take(1).chain(kernels(tiles::T256X128).take(1)) {
        let tile = kernel.tile;
        // A tile and a bit of rows; splits of one k-tile each.
        let shape = GemmShape::packed(tile.m as usize + 4, 8, 2 * tile.k as usize + 1).expect("valid");
        let ask = Ask {
            schedule: Schedule::All,
            ..split(kernel, *splits(kernel).last().expect("not empty"))
        };
        ask.is_right(&shape);
    }
}

#[test]
fn alpha_and_beta_scale_and_add() {
    let of = |alpha, beta| Factors { alpha, beta };
    for factors in [of(2.5, 0.0), of(-1.0, 1.0), of(0.5, -3.0), of(0.0, 2.0), of(0.0, 0.0)] {
        for kernel in kernels(tiles::T64X64) {
            for &splits in splits(kernel) {
                let ask = Ask {
                    factors,
                    ..split(kernel, splits)
                };
                ask.is_right(&residue_tiles(kernel));
            }
        }
    }
    // Every tile and both families; and nothing to sum, where C is scaled alone.
    for kernel in scaling() {
        let tile = kernel.tile;
        let (m, n) = (tile.m as usize / 2 + 4, tile.n as usize / 2 + 4);
        for k in [0, 9] {
            let shape = GemmShape::packed_transposed(m, n, k, kernel.transposes()).expect("valid");
            let ask = Ask {
                factors: of(1.5, 0.25),
                ..Ask::of(kernel)
            };
            ask.is_right(&shape);
        }
    }
}

#[test]
fn a_nan_in_c_stays_out_where_beta_is_0_and_spreads_to_its_element_alone_where_it_is_not() {
    let kernel = kernels(tiles::T64X64).next().expect("in the table");
    let shape = GemmShape::packed(20, 12, 40).expect("valid");
    let (a, b) = (random_matrix::<f32>(1, 20 * 40), random_matrix::<f32>(2, 40 * 12));
    for splits in [1, 3] {
        let ask = split(kernel, splits);
        let plan = ask.plan(&shape);
        let run = |beta, before: &[f32]| {
            let problem = Gemm::new(shape).beta(beta);
            let product = simulate(&plan, &problem, &a, &b, Some(before), &ask.options()).expect("runs");
            product.assert_clean();
            product.c
        };
        let mut before = vec![f32::NAN; 20 * 12];
        assert!(run(0.0, &before).iter().all(|element| element.is_finite()));
        before[1..].fill(1.0);
        let c = run(2.0, &before);
        assert!(c[0].is_nan() && c[1..].iter().all(|element| element.is_finite()));
    }
}

#[test]
fn split_k_leaves_its_counters_as_they_were_and_the_same_sums_to_the_bit() {
    let kernel = kernels(tiles::T64X64).next().expect("in the table");
    let shape = GemmShape::packed(70, 68, 90).expect("valid");
    let (a, b) = (random_matrix::<f32>(1, 70 * 90), random_matrix::<f32>(2, 90 * 68));
    let mut first: Option<Vec<f32>> = None;
    for schedule in Schedule::EVERY {
        let ask = Ask {
            schedule,
            ..split(kernel, 3)
        };
        let plan = ask.plan(&shape);
        assert_eq!((plan.summary().splits, plan.counters()), (3, 12));
        let product = simulate(&plan, &Gemm::new(shape), &a, &b, None::<&[f32]>, &ask.options()).expect("runs");
        product.assert_clean();
        let first = first.get_or_insert_with(|| product.c.clone());
        // Whichever CTA comes last, the partial sums are added in the order of the splits.
        assert!(
            first.iter().zip(&product.c).all(|(a, b)| a.to_bits() == b.to_bits()),
            "{schedule}"
        );
    }
}

#[test]
fn fragments_are_loaded_without_bank_conflicts() {
    for kernel in scaling() {
        let tile = kernel.tile;
        // One tile, one step along K: what the others load lies as this does.
        let shape =
            GemmShape::packed_transposed(tile.m as usize, tile.n as usize, tile.k as usize, kernel.transposes());
        let ask = Ask {
            checks: Checks::Full,
            ..Ask::of(kernel)
        };
        let report = ask.is_right(&shape.expect("valid")).expect("not empty");
        let loads: Vec<_> = report
            .lines
            .iter()
            .filter(|line| line.kind.space == Space::Shared && line.kind.access == AccessKind::Read)
            .collect();
        assert!(!loads.is_empty(), "{}", kernel.symbol);
        for line in loads {
            assert!(line.location.file.contains("gemm/simt/"), "{line:?}");
            assert_eq!(line.actual, line.ideal, "{}: {line:?}", kernel.symbol);
        }
        // And no copy of vectors or of single elements meets another in a bank. With 16 rows, four vectors each, a
        // ninth of them do.
        let (actual, ideal) = report.traffic(Space::Shared, AccessKind::Write);
        let most = if tile.m == 16 { ideal + ideal / 8 } else { ideal };
        assert!((ideal..=most).contains(&actual), "{}: {actual}, {ideal}", kernel.symbol);
    }
}

#[test]
fn tensor_cores_in_f64() {
    let mut run = 0;
    for family in [Family::MMA_F64, Family::MMA_F64_WIDE] {
        for kernel in family.kernels() {
            for (factors, splits) in [((1.0, 0.0), 1), ((-1.5, 0.5), 3)] {
                let ask = Ask {
                    factors: Factors {
                        alpha: factors.0,
                        beta: factors.1,
                    },
                    ..split(kernel, splits)
                };
                for case in cases(kernel).into_iter().filter(|case| EDGES.contains(&case.name)) {
                    ask.is_right(&case.shape);
                    run += 1;
                }
            }
        }
    }
    assert_eq!(run, 36 * 2 * EDGES.len());
}

#[test]
fn tensor_cores_in_16_bits() {
    let mut run = 0;
    let of_mma_sync = |kernel: &&Kernel| kernel.family == Family::MMA_SYNC && !kernel.supports.groups;
    for kernel in KERNELS.iter().filter(of_mma_sync) {
        let edges = cases(kernel).into_iter().filter(|case| EDGES.contains(&case.name));
        // Of odd rows one case: of both operands.
        let copied = verify::copied_cases(extents(kernel), kernel).pop();
        for case in edges.chain(copied) {
            Ask::of(kernel).is_right(&case.shape);
            run += 1;
        }
    }
    assert!(run > 50, "{run}");
}

#[test]
fn f32_of_operands_that_are_padded_or_transposed_first() {
    let mut run = 0;
    let loads_vectors = |kernel: &&Kernel| kernel.family == Family::SIMT && kernel.alignment != Alignment::NONE;
    for kernel in KERNELS
        .iter()
        .filter(loads_vectors)
        .filter(|kernel| !kernel.supports.groups)
    {
        for case in verify::copied_cases(extents(kernel), kernel) {
            let is_odd = case.name == "rows of A and B at odd elements";
            if is_odd || case.name.ends_with("in the other major") {
                Ask::of(kernel).is_right(&case.shape);
                run += 1;
            }
        }
    }
    assert_eq!(run, 29);
}

#[test]
fn an_empty_product_launches_nothing() {
    let kernel = kernels(tiles::T64X64).next().expect("in the table");
    let ask = Ask {
        factors: Factors { alpha: 2.0, beta: 1.0 },
        ..split(kernel, 3)
    };
    for (m, n, k) in [(0, 8, 8), (8, 0, 8), (0, 0, 0)] {
        let shape = GemmShape::packed(m, n, k).expect("valid");
        assert!(ask.is_right(&shape).is_none());
    }
}

#[test]
fn gemm_in_one_call_leaves_all_but_c_alone_and_c_too_where_it_fails() {
    let (m, n, k) = (33, 20, 50);
    let shape = GemmShape::with_transposes(m, n, k, [Transpose::Yes, Transpose::No], [m + 1, n, n + 5]).expect("valid");
    let operand = |operand, seed| random_matrix::<f32>(seed, shape.span_elems(operand));
    let (a, b, before) = (operand(Operand::A, 1), operand(Operand::B, 2), operand(Operand::C, 3));
    let factors = Factors { alpha: -1.5, beta: 0.5 };
    for backend in [Backend::Cpu, Backend::Sim] {
        let options = Options {
            backend,
            verify: Verify::Full,
            ..Options::default()
        };
        let mut c = before.clone();
        c.push(7.0);
        let report = gemm(&Gemm::new(shape).factors(factors), &a, &b, &mut c, &options)
            .unwrap_or_else(|error| panic!("{backend}: {error}"));
        assert_eq!((report.backend, report.verified), (backend, Verify::Full));
        assert_eq!((report.alpha, report.beta), (-1.5, 0.5));
        let expected = Expected::product(&shape, &a, &b).expect("long enough");
        let expected = expected.scaled(factors, &before).expect("finite");
        assert!(expected.full(&c).expect("long enough").passed(), "{backend}");
        let outside = |&at: &usize| at % (n + 5) >= n || at >= before.len();
        for at in (0..c.len()).filter(outside) {
            assert_eq!(
                c[at],
                before.get(at).copied().unwrap_or(7.0),
                "{backend}: element {at} is not of C"
            );
        }

        let mut short = before.clone();
        short.pop();
        let error = gemm(&Gemm::new(shape).factors(factors), &a, &b, &mut short, &options)
            .expect_err("short")
            .to_string();
        let len = before.len();
        assert_eq!(error, format!("C holds {} elements, its shape needs {len}", len - 1));
        let mut c = before.clone();
        let not_finite = Gemm::new(shape).alpha(f32::NAN).beta(0.5);
        gemm(&not_finite, &a, &b, &mut c, &options).expect_err("nothing to compare with");
        assert_eq!(c, before, "{backend}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_shapes_layouts_and_factors(
        // Tiles of up to 128 threads.
        kernel in sample::select(
            [tiles::T64X64, tiles::T32X128, tiles::T128X32].into_iter().flat_map(kernels).collect::<Vec<_>>()
        ),
        splits in 1_u32..=5,
        (m, n, k) in (0_usize..=140, 0_usize..=140, 0_usize..=100),
        (pad_a, pad_b, pad_c) in (0_usize..=9, 0_usize..=9, 0_usize..=9),
        (alpha, beta) in (sample::select(vec![1.0_f32, -2.0, 0.5]), sample::select(vec![0.0_f32, 1.0, -0.75])),
        seed in any::<u64>(),
    ) {
        // What a copy moves at once divides rows and leading dimensions.
        let [vector_a, vector_b] = kernel.alignment.elems.map(|vector| vector as usize);
        let [transpose_a, transpose_b] = kernel.transposes();
        let round = |extent: usize, applies: bool, vector| if applies { extent / vector * vector } else { extent };
        let m = round(m, transpose_a == Transpose::Yes, vector_a);
        let n = round(n, transpose_b == Transpose::No, vector_b);
        let k = round(k, transpose_a == Transpose::No, vector_a);
        let k = round(k, transpose_b == Transpose::Yes, vector_b);
        let packed = GemmShape::packed_transposed(m, n, k, kernel.transposes()).expect("valid");
        let ld = |operand, pad: usize, vector| (packed.extents(operand).2 + pad).next_multiple_of(vector);
        let lds = [ld(Operand::A, pad_a, vector_a), ld(Operand::B, pad_b, vector_b), ld(Operand::C, pad_c, 1)];
        let shape = GemmShape::with_transposes(m, n, k, kernel.transposes(), lds).expect("valid");
        let ask = Ask {
            factors: Factors { alpha, beta },
            schedule: Schedule::Random(seed),
            ..split(kernel, splits)
        };
        ask.is_right(&shape);
    }
}
