//! Every kernel in the simulator, without a GPU: no fault, and the result is the product.
//!
//! The shapes are those that the GPU tests use (`tilewright_harness::verify::cases`).

mod support;

use cuda_sim::{Checks, Schedule};
use proptest::prelude::*;
use proptest::sample;
use support::Ask;
use tilewright::{DType, GemmShape, KERNELS, Kernel};
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

/// What a kernel is asked for with tiles of a width.
fn wide(kernel: &'static Kernel, width: u32) -> Ask {
    Ask {
        width: Some(width),
        ..Ask::of(kernel)
    }
}

/// Every entry point of an element type over the whole table of shapes.
fn the_table_holds_for(dtype: DType) {
    for kernel in kernels().filter(|kernel| kernel.dtype == dtype) {
        let widths = widths(kernel);
        assert!(!widths.is_empty(), "{}", kernel.symbol);
        for width in widths {
            for case in verify::cases([width as usize; 3], kernel.transposes(), kernel.alignment) {
                wide(kernel, width).is_right(&case.shape);
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
            let ask = Ask {
                schedule: Schedule::All,
                checks: Checks::Full,
                ..wide(kernel, width)
            };
            ask.is_right(&shape);
        }
    }
}

#[test]
fn lines_that_share_memory_are_counted_and_ideal_at_32_wide() {
    let kernel = Kernel::named("tiled_static_32_f32").expect("in the table");
    let shape = GemmShape::packed(64, 64, 64).expect("valid");
    let ask = Ask {
        checks: Checks::Full,
        ..wide(kernel, 32)
    };
    let report = ask.is_right(&shape).expect("not empty");
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
        assert!(wide(&KERNELS[0], 16).is_right(&shape).is_none());
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
        let ask = Ask { schedule: Schedule::Random(seed), ..wide(kernel, width) };
        ask.is_right(&shape);
    }
}
