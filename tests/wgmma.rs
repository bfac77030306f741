//! The kernels that multiply by `wgmma` (families 13 to 17) in the simulator, without a GPU: every entry point,
//! clusters, blocks that stay, slices of K, alpha and beta.
//!
//! A block of 384 threads with a tile of 128 x 256 is slow to simulate: every layout and type of the smallest tile goes
//! over the edges, the others over what their tile changes.

use cuda_sim::{Checks, Report, Schedule};
use half::{bf16, f16};
use tilewright::check::Expected;
use tilewright::device::{DeviceProfile, Installed};
use tilewright::dispatch::{KernelUsage, Plan, Policy, kernel_sheet, plan, usage};
use tilewright::random::random_matrix;
use tilewright::simulate::{SimOptions, simulate};
use tilewright::{DType, Element, Factors, Family, Gemm, GemmShape, KERNELS, Kernel, Operand};
use tilewright_contract::{Loads, Schedule as TileSchedule, WgmmaTile};

const PRODUCT: Factors = Factors { alpha: 1.0, beta: 0.0 };
const SCALED: Factors = Factors { alpha: -1.5, beta: 0.5 };

fn options(schedule: Schedule) -> SimOptions {
    SimOptions {
        schedule,
        checks: Checks::Faults,
        // The test harness runs as many tests at once as there are cores.
        workers: 1,
        ..SimOptions::default()
    }
}

/// A device of 9.0 with so many multiprocessors.
fn device(multiprocessors: u32) -> DeviceProfile {
    DeviceProfile {
        installed: Some(Installed {
            multiprocessors,
            l2_bytes: 50 << 20,
            clock_khz: 1_980_000,
            memory_bytes: 16 << 30,
            dram_bytes_per_second: 4_800_000_000_000,
            driver: "13.0".to_owned(),
        }),
        ..DeviceProfile::of_arch(SimOptions::default().architecture)
    }
}

/// The lessons compute the product alone; `host/tests/lessons.rs` has them.
fn kernels() -> impl Iterator<Item = &'static Kernel> {
    KERNELS
        .iter()
        .filter(|kernel| kernel.loads == Loads::Tma && kernel.supports.alpha_beta)
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

/// What is asked of an entry point.
#[derive(Clone, Copy, Debug)]
struct Ask {
    slices: u32,
    factors: Factors,
    schedule: Schedule,
    /// Multiprocessors of the device that is planned for.
    multiprocessors: u32,
}

/// The product alone.
const ASK: Ask = Ask {
    slices: 1,
    factors: PRODUCT,
    schedule: Schedule::Forward,
    multiprocessors: 132,
};

/// Simulates and asserts that nothing is wrong: no fault, the right result, the planned bytes and blocks. `None` for an
/// empty C.
fn is_right(kernel: &'static Kernel, ask: Ask, shape: &GemmShape) -> Option<Report> {
    match kernel.dtype {
        DType::F16 => is_right_for::<f16>(kernel, ask, shape),
        _ => is_right_for::<bf16>(kernel, ask, shape),
    }
}

fn is_right_for<T: Element<Accumulator = f32>>(kernel: &'static Kernel, ask: Ask, shape: &GemmShape) -> Option<Report> {
    let what = format!("{} {shape}, {ask:?}", kernel.symbol);
    let options = &options(ask.schedule);
    let (slices, factors) = (ask.slices, ask.factors);
    let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
    let (a, b, before) = (operand(Operand::A, 1), operand(Operand::B, 2), operand(Operand::C, 3));
    let policy = Policy {
        kernel: Some(kernel),
        splits: Some(slices),
        ..Policy::default()
    };
    let plan = plan(shape, T::DTYPE, &device(ask.multiprocessors), &policy);
    let plan = plan.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(plan.summary().splits, slices, "{what}");
    // Without beta nobody has written C before, so that to read it is a fault.
    let read = (factors.beta != 0.0).then_some(&before[..]);
    let product = simulate(&plan, &Gemm::new(*shape).factors(factors), &a, &b, read, options)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    if let Some(report) = &product.report {
        assert!(report.is_clean(), "{what}:\n{report}");
        assert_eq!(report.blocks, u64::from(plan.summary().grid[0]), "{what}");
        planned_bytes_are_used(&plan, report, &what);
    }
    let expected = Expected::product(shape, &a, &b).expect("as long as the shape says");
    let expected = expected.scaled(factors, &before).expect("finite");
    let verdict = expected.full(&product.c).expect("as long as the shape says");
    assert!(verdict.passed(), "{what}: {verdict}");
    product.report
}

/// What the contract says, what the launch gave, what the kernel used and what the planner's worksheet comes to are one
/// number.
fn planned_bytes_are_used(plan: &Plan, report: &Report, what: &str) {
    let planned = u64::from(plan.dynamic_bytes().get());
    assert_eq!(report.shared.static_bytes, 0, "{what}");
    assert_eq!(report.shared.dynamic_bytes, planned, "{what}");
    assert_eq!(report.shared.high_water_bytes, planned, "{what}");
    let arch = cuda_arch::find("sm_90").expect("in the table");
    let used = KernelUsage {
        static_bytes: 0,
        ..usage(plan.kernel().symbol, arch).expect("in the table")
    };
    let sheet = kernel_sheet(plan.kernel(), used, arch).expect("legal");
    let worksheet = sheet.worksheet.expect("it has tiles");
    assert_eq!(worksheet.total_bytes, planned, "{what}: worksheet");
}

#[test]
fn every_entry_point_computes_a_ragged_part_of_a_tile() {
    for kernel in kernels() {
        // C's rows are no multiple of 16 bytes; two steps along K, of which the second has one element.
        is_right(kernel, ASK, &shape(kernel, [5, 11, 65], 0));
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
                is_right(kernel, Ask { factors, ..ASK }, &shape(kernel, extents, gap_c));
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
                is_right(kernel, Ask { factors, ..ASK }, &shape);
                run += 1;
            }
        }
        // Without a gap the rows follow one another.
        is_right(
            kernel,
            Ask {
                schedule: Schedule::All,
                ..ASK
            },
            &packed,
        );
        run += 1;
    }
    assert_eq!(run, 8 * 9);
}

#[test]
fn every_tile_and_a_bit() {
    for kernel in first_of_tiles() {
        let extents = [kernel.tile.m as usize + 1, kernel.tile.n as usize + 8, 65];
        is_right(kernel, ASK, &shape(kernel, extents, 0));
    }
}

#[test]
fn more_steps_than_stages_under_every_schedule() {
    for kernel in first_of_tiles() {
        let steps = 2 * kernel.smem.stages as usize + 1;
        // A row of two blocks of a cluster.
        let extents = [9, 8, steps * WgmmaTile::K as usize - 3];
        let ask = Ask {
            schedule: Schedule::All,
            ..ASK
        };
        is_right(kernel, ask, &shape(kernel, extents, 0));
    }
}

#[test]
fn nothing_to_sum_scales_c_and_an_empty_c_launches_nothing() {
    for kernel in first_of_tiles() {
        for factors in [PRODUCT, SCALED] {
            let report = is_right(kernel, Ask { factors, ..ASK }, &shape(kernel, [9, 16, 0], 0));
            assert!(report.is_some(), "{}", kernel.symbol);
        }
        for extents in [[0, 8, 8], [8, 0, 8]] {
            let ask = Ask { factors: SCALED, ..ASK };
            let report = is_right(kernel, ask, &shape(kernel, extents, 0));
            assert!(report.is_none(), "{}", kernel.symbol);
        }
    }
}

#[test]
fn blocks_that_stay_compute_tile_after_tile() {
    let staying = first_of_tiles().into_iter().filter(|kernel| kernel.is_persistent());
    let mut run = 0;
    for kernel in staying {
        // Five tiles, and of a cluster one more below C, on one multiprocessor.
        let extents = [4 * kernel.tile.m as usize + 3, 8, 65];
        let ask = Ask {
            multiprocessors: 1,
            ..ASK
        };
        let report = is_right(kernel, ask, &shape(kernel, extents, 0)).expect("not empty");
        assert!(report.blocks < 5, "{}: {} blocks", kernel.symbol, report.blocks);
        run += 1;
    }
    assert_eq!(run, 7);
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
            let extents = [5, columns as usize, (steps * WgmmaTile::K) as usize - 3];
            for factors in [PRODUCT, SCALED] {
                let ask = Ask {
                    factors,
                    schedule: Schedule::All,
                    multiprocessors: 1,
                    ..ASK
                };
                is_right(kernel, ask, &shape(kernel, extents, 0));
                run += 1;
            }
        }
    }
    assert_eq!(run, 8);
}

#[test]
fn slices_of_k_meet() {
    let with_slices = first_of_tiles().into_iter().filter(|kernel| kernel.split_k.is_some());
    let mut run = 0;
    for kernel in with_slices {
        assert_eq!(kernel.family, Family::WGMMA);
        let sliced = |slices, factors, schedule, multiprocessors| Ask {
            slices,
            factors,
            schedule,
            multiprocessors,
        };
        for ask in [
            sliced(2, SCALED, Schedule::Forward, 132),
            sliced(3, PRODUCT, Schedule::Reverse, 132),
            // One block, or a cluster, has all slices of all tiles, one after the other.
            sliced(3, SCALED, Schedule::Forward, 1),
        ] {
            let extents = [
                (kernel.tile.m as usize).min(20),
                24,
                WgmmaTile::K as usize * ask.slices as usize - 5,
            ];
            is_right(kernel, ask, &shape(kernel, extents, 0));
            run += 1;
        }
    }
    assert_eq!(run, 15);
}
