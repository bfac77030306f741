//! Kernels that load single elements or pairs, in the simulator: those of f16 and bf16 on tensor cores, and those of
//! f32 that store whole sectors. Rows begin anywhere, or at even elements, without a copy.

mod support;

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::{Checks, Schedule};
use half::{bf16, f16};
use support::Ask;
use tilewright::random::random_matrix;
use tilewright::{
    Activation, DType, Element, Epilogue, Factors, Family, Gemm, GemmShape, KERNELS, Kernel, Operand, OutputOf,
};

/// m, n and k: a residue in each direction, whole tiles, K that ends within and with a vector and a k-tile, one row,
/// one column, one element along K.
const EXTENTS: [[usize; 3]; 12] = [
    [1, 1, 1],
    [65, 67, 1],
    [1, 131, 70],
    [131, 1, 70],
    [54, 26, 22],
    [63, 63, 63],
    [64, 64, 64],
    [65, 66, 65],
    [70, 41, 129],
    [33, 71, 200],
    [64, 128, 192],
    [67, 3, 0],
];

fn kernels() -> impl Iterator<Item = &'static Kernel> {
    let is_narrow = |kernel: &&Kernel| kernel.family == Family::MMA_SYNC && kernel.alignment.elems[0] <= 2;
    KERNELS.iter().filter(is_narrow)
}

/// The product, with so many elements after each row of A, B and C, and of A and B as many more as loads need.
fn shape(kernel: &Kernel, [m, n, k]: [usize; 3], gaps: [usize; 3]) -> GemmShape {
    let packed = GemmShape::packed_transposed(m, n, k, kernel.transposes()).expect("small");
    let ld = |operand, gap| packed.extents(operand).1.max(1) + gap;
    let [of_a, of_b] = kernel.alignment.elems.map(|elems| elems as usize);
    let lds = [
        ld(Operand::A, gaps[0]).next_multiple_of(of_a),
        ld(Operand::B, gaps[1]).next_multiple_of(of_b),
        ld(Operand::C, gaps[2]),
    ];
    GemmShape::with_transposes(m, n, k, kernel.transposes(), lds).expect("as long as a row")
}

#[test]
fn rows_of_any_length_are_multiplied_without_a_copy() {
    assert_eq!(kernels().count(), 32 + 18);
    for (at, kernel) in kernels().enumerate() {
        for extents in EXTENTS {
            let shape = shape(kernel, extents, [[0, 0, 0], [1, 2, 3]][at % 2]);
            assert_eq!(kernel.copies(&shape), [None, None], "{shape}");
            let _: Option<_> = Ask::of(kernel).is_right(&shape);
        }
    }
}

#[test]
fn the_default_orders_of_threads_agree() {
    for kernel in kernels().filter(|kernel| kernel.dtype == DType::F16 && kernel.supports.alpha_beta) {
        let ask = Ask {
            schedule: Schedule::default(),
            checks: Checks::Full,
            factors: Factors { alpha: -1.5, beta: 0.5 },
            ..Ask::of(kernel)
        };
        let _: Option<_> = ask.is_right(&shape(kernel, [66, 35, 197], [1, 0, 2]));
    }
}

#[test]
fn strips_store_whole_sectors_wherever_rows_begin() {
    let strips = kernels().filter(|kernel| kernel.is_persistent());
    let mut run = 0;
    for (at, kernel) in strips.enumerate() {
        // Several tiles for each CTA: rows at every element of a sector, at even ones, and all at its first; K of one
        // k-tile, of three, for which A has no stages, and of two, for which it has.
        for ([m, n, k], gap) in [
            ([70, 589, 20], 0),
            ([37, 1022, 70], 0),
            ([150, 333, 33], 3),
            ([66, 560, 9], 16),
        ] {
            let ask = Ask {
                sms: 1,
                schedule: [Schedule::Forward, Schedule::Reverse][at % 2],
                ..Ask::of(kernel)
            };
            let report = ask.is_right(&shape(kernel, [m, n, k], [1, 2, gap])).expect("not empty");
            let is_pairs = kernel.alignment.elems[0] == 2;
            assert_eq!(report.blocks, if is_pairs { 3 } else { 4 }, "{}", kernel.symbol);
            run += 1;
        }
        // One of the orders in which every fault that depends on the order is seen.
        let ask = Ask {
            sms: 1,
            schedule: Schedule::default(),
            checks: Checks::Full,
            ..Ask::of(kernel)
        };
        let _: Option<_> = ask.is_right(&shape(kernel, [66, 331, 35], [0, 1, 2]));
    }
    assert_eq!(run, 4 * 16);
}

#[test]
fn f32_of_short_k_stores_whole_sectors_wherever_rows_begin() {
    let mut run = 0;
    let sectors = |kernel: &&Kernel| kernel.family == Family::SIMT && kernel.overlap > 0;
    for kernel in KERNELS.iter().filter(sectors) {
        for extents in EXTENTS {
            let _: Option<_> = Ask::of(kernel).is_right(&shape(kernel, extents, [1, 0, 2]));
        }
        // Rows at every element of a sector, at every second one, and all at its first; K that ends within a group, a
        // chunk and the second k-tile.
        for ([m, n, k], gap) in [([70, 300, 20], 1), ([9, 257, 43], 1), ([65, 136, 61], 0)] {
            let shape = shape(kernel, [m, n, k], [1, 2, gap]);
            assert_eq!(kernel.copies(&shape), [None, None], "{shape}");
            for schedule in Schedule::EVERY {
                let ask = Ask {
                    schedule,
                    checks: Checks::Full,
                    ..Ask::of(kernel)
                };
                let report = ask.is_right(&shape).expect("not empty");
                for (space, access) in [(Space::Global, AccessKind::Write), (Space::Shared, AccessKind::Read)] {
                    let (actual, ideal) = report.traffic(space, access);
                    assert_eq!(actual, ideal, "{}: {shape}", kernel.symbol);
                }
                run += 1;
            }
        }
    }
    assert_eq!(run, 4 * 3 * Schedule::EVERY.len());
}

#[test]
fn splits_of_k_add_up() {
    for (at, kernel) in kernels().filter(|kernel| kernel.split_k.is_some()).enumerate() {
        // Two, nine in two rounds, and a last one that is shorter than a k-tile.
        for (splits, k) in [(2, 130), (9, 64 * 9), (3, 131)] {
            let ask = Ask {
                splits,
                factors: Factors {
                    alpha: -1.5,
                    beta: [0.0, 0.5][at % 2],
                },
                ..Ask::of(kernel)
            };
            let shape = shape(kernel, [67, 35, k], [1, 0, at % 3]);
            assert_eq!(ask.plan(&shape).summary().splits, splits);
            let _: Option<_> = ask.is_right(&shape);
        }
    }
}

#[test]
fn matrices_of_a_batch_begin_at_odd_elements() {
    for kernel in kernels().filter(|kernel| kernel.supports.batch) {
        let one = shape(kernel, [65, 35, 71], [3, 0, 1]);
        let strides = [Operand::A, Operand::B, Operand::C].map(|operand| (one.span_elems(operand) + 5) | 1);
        for strides in [strides, [0, strides[1], strides[2]], [strides[0], 0, strides[2]]] {
            let batch = one.with_batch(3, strides).expect("apart");
            let ask = Ask {
                factors: Factors { alpha: 0.5, beta: -2.0 },
                ..Ask::of(kernel)
            };
            let _: Option<_> = ask.is_right(&batch);
        }
    }
}

/// C of either type, with a bias and each activation, with and without beta.
fn with_epilogue<T: Element<Accumulator = f32>, C: OutputOf<T>>(n: usize, gap: usize) {
    for kernel in kernels().filter(|kernel| kernel.dtype == T::DTYPE && kernel.supports.epilogue) {
        let shape = shape(kernel, [37, n, 85], [1, 3, gap]);
        let bias = random_matrix::<T>(9, n);
        for (activation, beta) in [
            (Activation::None, 0.0),
            (Activation::Relu, -2.0),
            (Activation::Gelu, 0.0),
        ] {
            let epilogue = Epilogue {
                factors: Factors { alpha: 0.5, beta },
                bias: Some(&bias[..]),
                activation,
            };
            let _: Option<_> = Ask::of(kernel).is_right_for::<T, C>(&Gemm::new(shape).epilogue(epilogue));
        }
    }
}

#[test]
fn a_bias_an_activation_and_c_of_f32_follow() {
    // Rows of C that take neither pairs nor vectors, those that take pairs, and vectors.
    with_epilogue::<f16, f16>(23, 2);
    with_epilogue::<f16, f32>(26, 0);
    with_epilogue::<bf16, bf16>(24, 8);
    with_epilogue::<bf16, f32>(23, 0);
}
