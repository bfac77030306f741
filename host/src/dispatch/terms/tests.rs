use super::*;
use tilewright_contract::{DType, Family, KERNELS, Transpose};

fn h200() -> (&'static Architecture, &'static GpuModel) {
    let arch = cuda_arch::find("sm_90").expect("in the table");
    (arch, GpuModel::find("H200").expect("in the table"))
}

/// A kernel's own terms and the shared ones, by name.
fn terms_of(kernel: Kernel, splits: u32, shape: &GemmShape) -> impl Fn(&str) -> f64 + use<> {
    let (arch, gpu) = h200();
    let terms = Terms::of(&Work { kernel, splits }, shape, arch, gpu, arch).expect("fits");
    move |name| {
        let own = KERNEL_TERMS.iter().zip(terms.kernel);
        let mut all = own.chain(SHARED_TERMS.iter().zip(terms.shared));
        all.find(|(of, _)| **of == name).expect("a term").1
    }
}

fn load(kernel: &Kernel, shape: &GemmShape, splits: u32, resident: u32, sms: u32) -> Option<Load> {
    let grid = Grid::of_kernel(shape, kernel, splits, Some(resident * sms)).expect("small");
    Load::of(kernel, &grid, resident, sms, h200().0)
}

fn simt(symbol: &str) -> Kernel {
    *Kernel::named(symbol).expect("in the table")
}

#[test]
fn a_load_is_that_of_the_busiest_sm() {
    let shape = GemmShape::packed(100, 100, 20).expect("valid");
    // 7 x 7 tiles of 16 on 10 SMs: 5 on the busiest, 2 at once.
    let kernel = Kernel::find(Family::TILED_DYNAMIC, DType::F32, 16).expect("exists");
    let of = |splits| load(&kernel, &shape, splits, 2, 10).expect("not empty");
    let expected = Load {
        rounds: 3,
        // Two of two CTAs, and one of one.
        shared_rounds: 2.0,
        issued: 5.0,
        mean: 4.9,
    };
    assert_eq!(of(1), expected);
    assert_eq!((of(2).shared_rounds, of(2).rounds), (2.5, 5));
    let empty = GemmShape::packed(0, 300, 100).expect("valid");
    assert_eq!(load(&kernel, &empty, 1, 2, 4), None);
}

#[test]
fn ctas_of_two_warps_fill_four_subpartitions_in_pairs() {
    let kernel = simt("simt_nn4_64x64_f32");
    assert_eq!(kernel.threads(), 64);
    // On one SM that holds six.
    let issued = |tiles: usize| {
        let shape = GemmShape::packed(64 * tiles, 64, 64).expect("valid");
        load(&kernel, &shape, 1, 6, 1).expect("not empty").issued
    };
    for (tiles, expected) in [(1, 2.0), (2, 2.0), (3, 4.0), (5, 6.0), (6, 6.0), (7, 8.0), (12, 12.0)] {
        assert!(
            (issued(tiles) - expected).abs() < 1e-12,
            "{tiles} tiles: {}",
            issued(tiles)
        );
    }
}

#[test]
fn persistent_ctas_have_the_tiles_of_the_slowest() {
    let kernel = Kernel::find(Family::WGMMA, DType::F16, 64).expect("in the table");
    // 5 x 5 tiles of 64, two CTAs on each of 4 SMs: 8 CTAs, of which one has 4 tiles, and so has its neighbor for all
    // we know.
    let shape = GemmShape::packed(300, 300, 100).expect("valid");
    let of = |sms| load(&kernel, &shape, 1, 2, sms).expect("not empty");
    assert_eq!((of(4).shared_rounds, of(4).rounds), (2.0, 4));
    // With room for all, one each.
    assert_eq!((of(100).shared_rounds, of(100).rounds), (1.0, 1));
}

#[test]
fn operands_that_are_copied_cost_their_copies_and_their_bytes() {
    let kernel = Kernel::find(Family::WGMMA, DType::F16, 128).expect("in the table");
    let byte_us = 1e6 / h200().1.dram_bytes_per_second as f64;
    // 1001 rows of 1001 elements are read, of 1024 written.
    let one = f64::from(1001 * (1001 + 1024) * 2) * byte_us;
    // One launch copies both.
    for (lds, launches, copies) in [
        ([1008, 1016], 0.0, 0.0),
        ([1001, 1008], 1.0, 1.0),
        ([1008, 1003], 1.0, 1.0),
        ([1001, 1001], 1.0, 2.0),
    ] {
        let shape = GemmShape::packed(1001, 1001, 1001).and_then(|shape| shape.with_operand_lds(lds));
        let of = terms_of(kernel, 1, &shape.expect("valid"));
        assert_eq!(of("copy"), launches, "{lds:?}");
        assert!(
            (of("copied") - copies * one).abs() < 1e-9,
            "{lds:?}: {} us",
            of("copied")
        );
    }
}

#[test]
fn operands_that_are_split_count_in_parts() {
    let split = *Kernel::named("wgmma_bf16x6_nn_128x128_f32").expect("in the table");
    let whole = Kernel::find(Family::WGMMA, DType::Bf16, 128).expect("in the table");
    let shape = GemmShape::packed(1024, 1024, 1024).expect("valid");
    let (split, whole) = (terms_of(split, 1, &shape), terms_of(whole, 1, &shape));
    assert_eq!(
        (split("copy"), whole("copy")),
        (1.0, 0.0),
        "A and B in one launch, whatever their rows"
    );
    assert!((split("operands") / whole("operands") - 3.0).abs() < 1e-9);
    assert!((split("c") / whole("c") - 2.0).abs() < 1e-9, "C is of f32");
}

#[test]
fn a_split_costs_its_reduction() {
    let kernel = simt("simt_nn4_64x64_f32");
    let shape = GemmShape::packed(64, 64, 4096).expect("valid");
    let (whole, split) = (terms_of(kernel, 1, &shape), terms_of(kernel, 16, &shape));
    for name in ["split", "slots", "slot-element", "workspace"] {
        assert_eq!(whole(name), 0.0, "{name}");
        assert!(split(name) > 0.0, "{name}");
    }
    assert_eq!((split("split"), split("slots")), (2.0, 10.0));
    let few = terms_of(simt("simt_sliced_nn_32x32_f32"), 16, &shape);
    assert_eq!(
        (few("split"), few("slots")),
        (2.0, 2.0),
        "a thread has 8 elements of a slot"
    );
    // 16 splits of 132 x 8 tiles: 128 CTAs of an SM, some at once, round after round.
    let many = terms_of(kernel, 16, &GemmShape::packed(64 * 132, 64 * 8, 4096).expect("valid"));
    let rounds = f64::from((16 * 8_u32).div_ceil(resident_per_sm(&kernel, h200().0).expect("fits")));
    assert_eq!(many("split"), rounds - 1.0 + 2.0);
    assert!(split("latency") < whole("latency"));
    assert_eq!(split("loads"), whole("loads"), "nothing is loaded twice");
}

#[test]
fn a_of_a_strip_is_loaded_once_for_each_of_its_rows_of_tiles() {
    // 40 rows of 40 tiles, of 64 rows each, for 3 CTAs on each of 132 SMs: of 396 strips 39 begin a row in between.
    let kernel = simt("mma_sync_strips_nt2_64x128_f16");
    let loads = |k| {
        let layout = [Transpose::No, Transpose::Yes];
        let shape = GemmShape::packed_transposed(2560, 4465, k, layout).expect("valid");
        terms_of(kernel, 1, &shape)("loads") / k as f64
    };
    // Three k-tiles have stages, four have none.
    let [of_a, of_b] = [64.0, 4465.0 / 40.0];
    let expected = ((396.0 + 39.0) * of_a + 1600.0 * of_b) / (1600.0 * (of_a + of_b));
    assert!((loads(96) / loads(128) - expected).abs() < 1e-9);
}

#[test]
fn rows_that_straddle_lines_count_with_tma_alone() {
    let shape = |n| GemmShape::packed(512, n, 512).expect("valid");
    let wgmma = Kernel::find(Family::WGMMA, DType::F16, 64).expect("in the table");
    for (n, is_straddling) in [(512, false), (520, true), (32, true)] {
        assert_eq!(terms_of(wgmma, 1, &shape(n))("straddling") > 0.0, is_straddling, "{n}");
        assert_eq!(terms_of(simt("simt_nn4_64x64_f32"), 1, &shape(n))("straddling"), 0.0);
    }
}

#[test]
fn rows_along_m_or_n_that_are_shorter_than_a_line_count_with_loads_of_threads() {
    let shape = |n| GemmShape::packed(512, n, 512).expect("valid");
    let wgmma = Kernel::find(Family::WGMMA, DType::F16, 64).expect("in the table");
    let fma = simt("simt_nn4_64x64_f32");
    for (kernel, n, is_narrow) in [(wgmma, 32, false), (fma, 32, false), (fma, 24, true)] {
        let of = |splits| terms_of(kernel, splits, &shape(n))("narrow");
        assert_eq!(of(1) > 0.0, is_narrow, "{} {n}", kernel.symbol);
        // However K is split, no other rows are loaded.
        assert!((of(4) - of(1)).abs() <= 1e-9 * of(1), "{} {n}", kernel.symbol);
    }
    // The rows of a K-major operand are long, however few they are.
    let transposed = GemmShape::packed_transposed(512, 24, 512, [Transpose::No, Transpose::Yes]).expect("valid");
    assert_eq!(terms_of(simt("simt_nt_64x128_f32"), 1, &transposed)("narrow"), 0.0);
}

#[test]
fn rows_of_boxes_that_are_not_whole_are_out_of_bounds() {
    // Per SM, in cycles; of 8 k-tiles of 64.
    let rows = |symbol, m, n| {
        let kernel = *Kernel::named(symbol).expect("in the table");
        let [a, b] = kernel.transposes();
        let shape = GemmShape::packed_transposed(m, n, 512, [a, b]).expect("valid");
        let cycle_us = 1e3 / f64::from(h200().1.clock_khz);
        terms_of(kernel, 1, &shape)("out-of-bounds") / cycle_us * f64::from(h200().1.sms)
    };
    for (symbol, m, n, expected) in [
        ("wgmma_nt_64x64_f16", 128, 128, 0.0),
        // 32 of the last 64 rows, with each of two columns of tiles.
        ("wgmma_nt_64x64_f16", 160, 128, 32.0 * 8.0 * 2.0),
        // Boxes of a K-major operand have no more rows than there are.
        ("wgmma_nt_64x64_f16", 32, 128, 0.0),
        ("wgmma_nt_128x128_f16", 160, 24, 96.0 * 8.0),
        // 64 rows along K of a box that is cut, whatever is left of it, with each of three rows of tiles.
        ("wgmma_nn_64x64_f16", 192, 24, 64.0 * 8.0 * 3.0),
        ("wgmma_nn_64x64_f16", 192, 96, 64.0 * 8.0 * 3.0),
        // A box that is cut, and one with nothing in it.
        ("wgmma_nn_64x128_f16", 64, 24, 2.0 * 64.0 * 8.0),
        // B is loaded once by a cluster of two; the second CTA has no rows of A.
        ("wgmma_nt_128x256_f16", 128, 240, 128.0 * 8.0 + 16.0 * 8.0),
        ("simt_nn4_64x64_f32", 100, 100, 0.0),
    ] {
        let found = rows(symbol, m, n);
        assert!(
            (found - expected).abs() < 1e-6,
            "{symbol} {m} x {n}: {found} for {expected}"
        );
    }
}

#[test]
fn a_launch_counts_the_sms_that_it_occupies() {
    let kernel = simt("simt_nn4_64x64_f32");
    for (tiles, splits, expected) in [(33, 1, 0.25), (33, 4, 1.0), (132, 1, 1.0), (1320, 1, 1.0)] {
        let of = terms_of(kernel, splits, &GemmShape::packed(64 * tiles, 64, 512).expect("valid"));
        assert!(
            (of("occupied-sms") - expected).abs() < 1e-9,
            "{tiles} tiles in {splits} splits"
        );
        let split = if splits > 1 { of("operands") } else { 0.0 };
        assert_eq!(of("split-operands"), split);
    }
}

#[test]
fn the_average_split_has_its_part_of_k() {
    // Seven k-tiles of 64 in four splits: the busiest have two.
    let kernel = *Kernel::named("wgmma_nn_64x64_f16").expect("in the table");
    let shape = GemmShape::packed(64 * 132, 64, 448).expect("valid");
    let (whole, split) = (terms_of(kernel, 1, &shape), terms_of(kernel, 4, &shape));
    for name in ["mean-work", "loads"] {
        assert!((split(name) / whole(name) - 1.0).abs() < 1e-9, "{name}");
    }
    assert!((split("work") / whole("work") - 8.0 / 7.0).abs() < 1e-9);
}

#[test]
fn a_launch_of_several_ctas_an_sm_does_not_overlap() {
    let kernel = *Kernel::named("mma_f64_wide_nn_32x32_f64").expect("in the table");
    let of = |kernel, m| terms_of(kernel, 1, &GemmShape::packed(m, 32, 64).expect("valid"))("no-overlap");
    assert_eq!((of(kernel, 132 * 32), of(kernel, 133 * 32)), (0.0, 1.0));
    // One that stays on its SM does, and one that cannot is as fast alone.
    for symbol in ["wgmma_nn_64x64_f16", "mma_f64_nn_32x32_f64"] {
        assert_eq!(
            of(*Kernel::named(symbol).expect("in the table"), 1 << 16),
            0.0,
            "{symbol}"
        );
    }
}

#[test]
fn ctas_that_an_sm_holds_at_once_wait_for_each_other() {
    let kernel = simt("simt_nn4_64x64_f32");
    // 12 x `columns` tiles on 132 SMs that hold six.
    let of = |columns: usize| {
        let shape = GemmShape::packed(12 * 64, 64 * columns, 512).expect("valid");
        terms_of(kernel, 1, &shape)("co-resident")
    };
    let (two, six) = (of(22), of(66));
    assert_eq!(of(11), 0.0, "one each");
    assert!(two > 0.0 && (six / two - 5.0).abs() < 1e-9);
    assert_eq!(of(132), six, "no more at once");
    let persistent = Kernel::find(Family::WGMMA, DType::F16, 128).expect("in the table");
    let large = GemmShape::packed(4096, 4096, 512).expect("valid");
    assert_eq!(
        terms_of(persistent, 1, &large)("co-resident"),
        0.0,
        "one, tile after tile"
    );
}

#[test]
fn c_is_stored_in_vectors_that_divide_its_rows() {
    let tensor = Kernel::find(Family::WGMMA, DType::F16, 128).expect("in the table");
    let f64 = Kernel::find(Family::MMA_F64, DType::F64, 64).expect("in the table");
    for (kernel, n, single) in [
        (tensor, 512, 0.0),
        (tensor, 500, 0.5),
        (tensor, 502, 1.0),
        (tensor, 501, 1.0),
        (simt("simt_nn4_64x64_f32"), 500, 0.0),
        (f64, 502, 0.0),
        (f64, 501, 1.0),
    ] {
        let of = terms_of(kernel, 1, &GemmShape::packed(512, n, 512).expect("valid"));
        for (term, whole) in [("unaligned-c", "c"), ("store", "tile")] {
            assert!(
                (of(term) - single * of(whole)).abs() < 1e-9,
                "{} {n}: {term}",
                kernel.symbol
            );
        }
    }
}

#[test]
fn launches_of_a_batch_are_counted_as_often_as_they_are_made() {
    let kernel = simt("simt_nn4_64x64_f32");
    let of = |batch| {
        let shape = GemmShape::packed(64, 64, 64).and_then(|shape| shape.with_packed_batch(batch));
        terms_of(kernel, 1, &shape.expect("valid"))
    };
    // A grid holds 65535 products along y.
    let (one, two) = (of(65_535), of(2 * 65_535));
    assert_eq!((one("launch"), two("launch")), (1.0, 2.0));
    assert_eq!(two("work"), 2.0 * one("work"));
}

#[test]
fn no_term_is_negative_and_larger_devices_have_smaller_ones() {
    let (arch, gpu) = h200();
    let shape = GemmShape::packed(2000, 1504, 704).expect("valid");
    let mut larger = gpu.clone();
    larger.sms *= 2;
    larger.clock_khz *= 2;
    for kernel in KERNELS
        .iter()
        .filter(|kernel| kernel.family.is_automatic() && kernel.taken(&shape).is_some())
    {
        let of = |gpu| {
            let work = Work {
                kernel: kernel.with_every_tile().next().expect("it has one"),
                splits: 1,
            };
            let terms = Terms::of(&work, &shape, arch, gpu, arch).expect("fits");
            terms.kernel.into_iter().chain(terms.shared).collect::<Vec<_>>()
        };
        for (term, on_larger) in of(gpu).into_iter().zip(of(&larger)) {
            assert!(0.0 <= on_larger && on_larger <= term, "{}", kernel.symbol);
        }
    }
}
