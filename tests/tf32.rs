//! The kernels that multiply f32 rounded to tf32, in the simulator, without a GPU: layouts, edges, epilogues, clusters,
//! persistent CTAs, batches.

mod support;

use cuda_sim::Schedule;
use support::Ask;
use tilewright::random::random_matrix;
use tilewright::{Activation, Epilogue, Factors, Family, Gemm, GemmShape, Kernel, Operand, Precision, Transpose};
use tilewright_contract::Major;
use tilewright_harness::verify;

const PRODUCT: Factors = Factors { alpha: 1.0, beta: 0.0 };
const SCALED: Factors = Factors { alpha: -1.5, beta: 0.5 };

fn kernels() -> impl Iterator<Item = &'static Kernel> {
    Family::WGMMA_TF32.kernels()
}

/// A shape as the entry point's tensor maps take it: every leading dimension of A and B is the next multiple of 4, that
/// of C `gap_c` more than a row.
fn shape(kernel: &Kernel, [m, n, k]: [usize; 3], gap_c: usize) -> GemmShape {
    let packed = GemmShape::packed_transposed(m, n, k, kernel.transposes()).expect("valid");
    let ld = |operand| packed.extents(operand).2.next_multiple_of(4);
    let lds = [ld(Operand::A), ld(Operand::B), n + gap_c];
    GemmShape::with_transposes(m, n, k, kernel.transposes(), lds).expect("valid")
}

#[test]
fn every_layout_but_one_has_a_kernel() {
    use Transpose::{No, Yes};
    let layouts: Vec<_> = kernels().map(Kernel::transposes).collect();
    assert_eq!(layouts, [[No, No], [No, Yes], [Yes, Yes]].repeat(3));
    for kernel in kernels() {
        assert_eq!(kernel.precision, Precision::Tf32);
        // The transpose is computed where A alone is K-major.
        let majors = kernel.transposes() == Major::transposes([Major::K, Major::Mn]);
        assert_eq!(kernel.is_transposed, majors, "{}", kernel.symbol);
    }
}

#[test]
fn other_rows_and_the_layout_without_a_kernel_are_copied_first() {
    for kernel in kernels() {
        let copied = verify::copied_cases([65, 40, 36], kernel);
        let names: Vec<_> = copied.iter().map(|case| case.name).collect();
        let is_tried = |name: &str| names.contains(&name);
        assert!(is_tried("rows of A and B at odd elements"), "{}", kernel.symbol);
        let to_transpose = kernel.may_transpose.iter().any(|&may| may);
        assert_eq!(
            names.iter().any(|name| name.ends_with("in the other major")),
            to_transpose
        );
        for case in copied {
            Ask::of(kernel).is_right(&case.shape);
        }
        let layout = GemmShape::packed_transposed(70, 72, 69, [Transpose::Yes, Transpose::No]).expect("valid");
        assert_eq!(kernel.taken(&layout).is_some(), to_transpose, "{}", kernel.symbol);
    }
}

#[test]
fn residue_tiles_and_all_ends_of_rows() {
    for kernel in kernels() {
        for (extents, gap_c) in [
            ([1, 1, 1], 0),
            ([5, 11, 33], 0),
            ([9, 8, 32], 0),
            ([63, 66, 65], 1),
            ([64, 60, 7], 4),
            ([130, 62, 40], 2),
        ] {
            for factors in [PRODUCT, SCALED] {
                Ask {
                    factors,
                    ..Ask::of(kernel)
                }
                .is_right(&shape(kernel, extents, gap_c));
            }
        }
    }
}

#[test]
fn a_whole_tile_and_a_bit() {
    for kernel in kernels() {
        // Whole tiles are stored without bounds checks, of rows at odd elements by elements.
        let extents = [kernel.tile.m as usize + 1, kernel.tile.n as usize + 8, 65];
        for gap_c in [0, 1] {
            Ask::of(kernel).is_right(&shape(kernel, extents, gap_c));
        }
    }
}

#[test]
fn more_k_tiles_than_stages_under_every_schedule() {
    for kernel in kernels() {
        let k_tiles = 2 * kernel.smem.stages as usize + 1;
        let ask = Ask {
            schedule: Schedule::All,
            ..Ask::of(kernel)
        };
        ask.is_right(&shape(kernel, [9, 8, k_tiles * kernel.tile.k as usize - 3], 0));
    }
}

#[test]
fn nothing_to_sum_scales_c_and_an_empty_c_launches_nothing() {
    for kernel in kernels() {
        for factors in [PRODUCT, SCALED] {
            let ask = Ask {
                factors,
                ..Ask::of(kernel)
            };
            assert!(ask.is_right(&shape(kernel, [9, 16, 0], 0)).is_some());
            assert!(ask.is_right(&shape(kernel, [0, 8, 8], 0)).is_none());
            assert!(ask.is_right(&shape(kernel, [8, 0, 8], 0)).is_none());
        }
    }
}

#[test]
fn persistent_ctas_compute_tile_after_tile() {
    for kernel in kernels() {
        // Five tiles along the clusters, so that one more is outside C, and two along the other side, on one SM.
        let (m, n) = (kernel.tile.m as usize, kernel.tile.n as usize);
        let extents = if kernel.is_transposed {
            [m + 4, 4 * n + 3, 33]
        } else {
            [4 * m + 3, n + 4, 33]
        };
        let ask = Ask {
            sms: 1,
            ..Ask::of(kernel)
        };
        let report = ask.is_right(&shape(kernel, extents, 0)).expect("not empty");
        assert_eq!(report.blocks, 2, "{}", kernel.symbol);
    }
}

#[test]
fn epilogues_with_pairs_and_elements() {
    for kernel in kernels() {
        for (n, gap_c) in [(24, 8), (23, 2)] {
            let shape = shape(kernel, [37, n, 24], gap_c);
            let bias = random_matrix::<f32>(4, n);
            for activation in [Activation::None, Activation::Relu, Activation::Gelu] {
                for (factors, bias) in [(PRODUCT, Some(&bias[..])), (SCALED, Some(&bias[..])), (SCALED, None)] {
                    let epilogue = Epilogue {
                        factors,
                        bias,
                        activation,
                    };
                    Ask::of(kernel).is_right_for::<f32, f32>(&Gemm::new(shape).epilogue(epilogue));
                }
            }
        }
    }
}

#[test]
fn batches_with_and_without_a_matrix_for_all() {
    for kernel in kernels() {
        let single = shape(kernel, [20, 36, 40], 0);
        let elems = |operand| {
            let (rows, _, ld) = single.extents(operand);
            rows * ld
        };
        let [a, b, c] = [Operand::A, Operand::B, Operand::C].map(elems);
        for strides in [[a, b, c], [0, b, c + 4], [a + 8, 0, c]] {
            Ask::of(kernel).is_right(&single.with_batch(3, strides).expect("disjoint"));
        }
    }
}
