//! The kernels that multiply by `wgmma` in the simulator, without a GPU: every entry point,
//! clusters, persistent CTAs, split-K, alpha and beta.
//!
//! A CTA of 384 threads with a tile of 128 x 256 is slow to simulate: every layout and type of the smallest tile goes
//! over the edges, the others over what their tile changes.

mod support;

use cuda_sim::Schedule;
use support::Ask;
use tilewright::{Factors, GemmShape, KERNELS, Kernel, Operand};
use tilewright_contract::{Loads, Schedule as TileSchedule};

const PRODUCT: Factors = Factors { alpha: 1.0, beta: 0.0 };
const SCALED: Factors = Factors { alpha: -1.5, beta: 0.5 };

/// The lessons compute the product alone; `lessons.rs` has them.
fn kernels() -> impl Iterator<Item = &'static Kernel> {
    KERNELS
        .iter()
        .filter(|kernel| kernel.loads == Loads::Tma && kernel.supports.batch)
}

/// The kernels of the smallest tile, 64 x 64.
fn smallest() -> impl Iterator<Item = &'static Kernel> {
    kernels().filter(|kernel| kernel.tile.m == 64 && kernel.tile.n == 64)
}

/// The first kernel of each family and tile.
fn first_of_tiles() -> Vec<&'static Kernel> {
    let mut first: Vec<&Kernel> = Vec::new();
    for kernel in kernels() {
        if !first.iter().any(|known| known.has_same_tile(kernel)) {
            first.push(kernel);
        }
    }
    first
}

/// A shape as the entry point's tensor maps take it: every leading dimension of A and B is the next multiple of 8, that
/// of C `gap_c` more than a row.
fn shape(kernel: &Kernel, [m, n, k]: [usize; 3], gap_c: usize) -> GemmShape {
    let packed = GemmShape::packed_transposed(m, n, k, kernel.transposes()).expect("valid");
    let ld = |operand| packed.extents(operand).2.next_multiple_of(8);
    let lds = [ld(Operand::A), ld(Operand::B), n + gap_c];
    GemmShape::with_transposes(m, n, k, kernel.transposes(), lds).expect("valid")
}

#[test]
fn every_kernel_computes_a_residue_tile() {
    for kernel in kernels() {
        // C's rows are no multiple of 16 bytes; two steps along K, of which the second has one element.
        Ask::of(kernel).is_right(&shape(kernel, [5, 11, 65], 0));
    }
}

#[test]
fn the_smallest_tile_over_its_edges_in_every_layout() {
    for kernel in smallest() {
        // Four tiles; by threads and, where rows of C are multiples of 16 bytes, by bulk copies.
        for (extents, gap_c) in [
            ([1, 1, 1], 0),
            ([65, 66, 64], 1),
            ([70, 72, 65], 0),
            ([64, 64, 200], 0),
            ([63, 60, 130], 4),
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
fn rows_at_odd_elements_are_copied_first() {
    let mut run = 0;
    for kernel in smallest() {
        let packed = GemmShape::packed_transposed(35, 67, 69, kernel.transposes()).expect("valid");
        let aligned = [Operand::A, Operand::B].map(|operand| packed.extents(operand).1.next_multiple_of(8));
        // A, B, and both; 2 elements behind the rows of both.
        for (odd, gap) in [([1, 0], 0), ([0, 1], 0), ([1, 1], 0), ([1, 1], 2)] {
            let lds = [0, 1].map(|at| aligned[at] + odd[at] * (1 + gap));
            let shape = packed.with_operand_lds(lds).expect("valid");
            for factors in [PRODUCT, SCALED] {
                Ask {
                    factors,
                    ..Ask::of(kernel)
                }
                .is_right(&shape);
                run += 1;
            }
        }
        // Without a gap the rows follow one another.
        let ask = Ask {
            schedule: Schedule::All,
            ..Ask::of(kernel)
        };
        ask.is_right(&packed);
        run += 1;
    }
    assert_eq!(run, 8 * 9);
}

#[test]
fn every_tile_and_a_bit() {
    for kernel in first_of_tiles() {
        let extents = [kernel.tile.m as usize + 1, kernel.tile.n as usize + 8, 65];
        Ask::of(kernel).is_right(&shape(kernel, extents, 0));
    }
}

#[test]
fn more_steps_than_stages_under_every_schedule() {
    for kernel in first_of_tiles() {
        let steps = 2 * kernel.smem.stages as usize + 1;
        // A row of two CTAs of a cluster.
        let extents = [9, 8, steps * kernel.tile.k as usize - 3];
        let ask = Ask {
            schedule: Schedule::All,
            ..Ask::of(kernel)
        };
        ask.is_right(&shape(kernel, extents, 0));
    }
}

#[test]
fn nothing_to_sum_scales_c_and_an_empty_c_launches_nothing() {
    for kernel in first_of_tiles() {
        for factors in [PRODUCT, SCALED] {
            let report = Ask {
                factors,
                ..Ask::of(kernel)
            }
            .is_right(&shape(kernel, [9, 16, 0], 0));
            assert!(report.is_some(), "{}", kernel.symbol);
        }
        for extents in [[0, 8, 8], [8, 0, 8]] {
            let ask = Ask {
                factors: SCALED,
                ..Ask::of(kernel)
            };
            let report = ask.is_right(&shape(kernel, extents, 0));
            assert!(report.is_none(), "{}", kernel.symbol);
        }
    }
}

#[test]
fn persistent_ctas_compute_tile_after_tile() {
    let persistent = first_of_tiles().into_iter().filter(|kernel| kernel.is_persistent());
    let mut run = 0;
    for kernel in persistent {
        // Five tiles, and of a cluster one more outside C, on one SM.
        let extents = if kernel.is_transposed {
            [8, 4 * kernel.tile.n as usize + 3, 65]
        } else {
            [4 * kernel.tile.m as usize + 3, 8, 65]
        };
        let ask = Ask {
            sms: 1,
            ..Ask::of(kernel)
        };
        let report = ask.is_right(&shape(kernel, extents, 0)).expect("not empty");
        assert!(report.blocks < 5, "{}: {} CTAs", kernel.symbol, report.blocks);
        run += 1;
    }
    assert_eq!(run, 13);
}

#[test]
fn warpgroups_take_turns() {
    let in_turns = first_of_tiles()
        .into_iter()
        .filter(|kernel| kernel.schedule == TileSchedule::PingPong);
    let mut run = 0;
    for kernel in in_turns {
        // One cluster has all tiles. Of as many steps as stages, of more and of fewer: every phase of a stage's
        // barriers is somebody's first. The last tile has a part of its columns; its rows are stored by bulk copies or,
        // behind 5 columns more, by threads.
        for (tiles, steps, more) in [
            (4, kernel.smem.stages + 2, 8),
            (3, kernel.smem.stages, 5),
            (2, 2, 8),
            (3, 1, 5),
        ] {
            let columns = (tiles - 1) * kernel.tile.n + 16 + more;
            let extents = [5, columns as usize, (steps * kernel.tile.k) as usize - 3];
            for factors in [PRODUCT, SCALED] {
                let ask = Ask {
                    factors,
                    schedule: Schedule::All,
                    sms: 1,
                    ..Ask::of(kernel)
                };
                ask.is_right(&shape(kernel, extents, 0));
                run += 1;
            }
        }
    }
    assert_eq!(run, 8);
}

#[test]
fn splits_of_k_are_reduced() {
    let with_split_k = first_of_tiles().into_iter().filter(|kernel| kernel.split_k.is_some());
    let mut run = 0;
    for kernel in with_split_k {
        let split = |splits, factors, schedule, sms| Ask {
            splits,
            factors,
            schedule,
            sms,
            ..Ask::of(kernel)
        };
        for ask in [
            split(2, SCALED, Schedule::Forward, 132),
            split(3, PRODUCT, Schedule::Reverse, 132),
            // One CTA, or a cluster, has all splits of all tiles, one after the other.
            split(3, SCALED, Schedule::Forward, 1),
        ] {
            let extents = [
                (kernel.tile.m as usize).min(20),
                24,
                kernel.tile.k as usize * ask.splits as usize - 5,
            ];
            let shape = shape(kernel, extents, 0);
            assert_eq!(ask.plan(&shape).summary().splits, ask.splits);
            ask.is_right(&shape);
            run += 1;
        }
    }
    assert_eq!(run, 27);
}
