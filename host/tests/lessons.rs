//! The lessons: short files, and in the simulator the right result without a fault, whatever the extents.

use std::path::Path;

use cuda_sim::{Checks, Report, Schedule};
use half::f16;
use tilewright::device::{DeviceProfile, Installed};
use tilewright::dispatch::{Policy, plan};
use tilewright::random::random_matrix;
use tilewright::simulate::{SimOptions, simulate};
use tilewright::{DType, Element, Gemm, GemmShape, KERNELS, Kernel, Operand, check};

/// The most lines of a lesson, its header included; more for the last two, which add to a whole persistent kernel.
const LINES: usize = 140;
const LINES_OF_LAST: [(&str, usize); 2] = [("l14_cluster.rs", 155), ("l15_tma_store.rs", 190)];

/// The lessons, in order.
fn lessons() -> impl Iterator<Item = &'static Kernel> {
    KERNELS.iter().filter(|kernel| kernel.symbol.starts_with("lesson_"))
}

/// A device of 9.0 with so many SMs.
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

/// Simulates, and asserts that nothing is wrong: no fault, the right result, the bytes of the contract. `None` for an
/// empty C.
fn is_right(kernel: &'static Kernel, shape: &GemmShape, multiprocessors: u32, schedule: Schedule) -> Option<Report> {
    match kernel.dtype {
        DType::F16 => is_right_for::<f16>(kernel, shape, multiprocessors, schedule),
        _ => is_right_for::<f32>(kernel, shape, multiprocessors, schedule),
    }
}

fn is_right_for<T: Element>(
    kernel: &'static Kernel,
    shape: &GemmShape,
    multiprocessors: u32,
    schedule: Schedule,
) -> Option<Report> {
    let what = format!("{} {shape}, {multiprocessors} SMs, {schedule}", kernel.symbol);
    let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
    let (a, b) = (operand(Operand::A, 1), operand(Operand::B, 2));
    let policy = Policy {
        kernel: Some(kernel),
        ..Policy::default()
    };
    let plan =
        plan(shape, T::DTYPE, &device(multiprocessors), &policy).unwrap_or_else(|error| panic!("{what}: {error}"));
    let options = SimOptions {
        schedule,
        checks: Checks::Faults,
        // The test harness runs as many tests at once as there are cores.
        workers: 1,
        ..SimOptions::default()
    };
    let product = simulate(&plan, &Gemm::new(plan.shape()), &a, &b, None::<&[T]>, &options)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    if let Some(report) = &product.report {
        assert!(report.is_clean(), "{what}:\n{report}");
        assert_eq!(report.blocks, u64::from(plan.summary().grid[0]), "{what}");
        let (of_static, of_dynamic) = (kernel.static_bytes().get(), kernel.dynamic_bytes().get());
        assert_eq!(report.shared.static_bytes, u64::from(of_static), "{what}");
        assert_eq!(report.shared.dynamic_bytes, u64::from(of_dynamic), "{what}");
        assert_eq!(
            report.shared.high_water_bytes,
            u64::from(of_static + of_dynamic),
            "{what}"
        );
    }
    let verdict = check::full(shape, &a, &b, &product.c).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(verdict.passed(), "{what}: {verdict}");
    product.report
}

/// The shape with rows that are this much longer.
fn shape([m, n, k]: [usize; 3], [a, b, c]: [usize; 3]) -> GemmShape {
    GemmShape::with_ld(m, n, k, k + a, n + b, n + c).expect("valid")
}

#[test]
fn a_lesson_is_short() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels-gpu/src/lessons");
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).expect("the lessons are in the repository") {
        let path = entry.expect("a file").path();
        let lines = std::fs::read_to_string(&path).expect("it is text").lines().count();
        let last = LINES_OF_LAST.iter().find(|(name, _)| path.ends_with(name));
        let most = last.map_or(LINES, |&(_, most)| most);
        assert!(lines <= most, "{}: {lines} lines of {most}", path.display());
        files += 1;
    }
    // And `mod.rs`.
    assert_eq!(files, lessons().count() + 1);
}

#[test]
fn lessons_compute_every_edge_of_their_tile() {
    for kernel in lessons() {
        let tile = [kernel.tile.m, kernel.tile.n, kernel.tile.k].map(|extent| extent as usize);
        for (extents, gaps) in [
            ([1, 1, 1], [0; 3]),
            // A tile and a bit, with rows that are no multiples of any vector.
            (tile.map(|extent| extent + 1), [2, 3, 5]),
            // Vectors and boxes of whole rows, at most one of which ends within a tile.
            ([tile[0] / 2, tile[1] + 8, 2 * tile[2]], [8, 0, 8]),
            // Vectors, but for C.
            ([tile[0] - 1, 12, tile[2] + 4], [0, 4, 1]),
        ] {
            is_right(kernel, &shape(extents, gaps), 132, Schedule::Forward);
        }
    }
}

#[test]
fn lessons_take_more_k_tiles_than_stages_under_every_schedule() {
    for kernel in lessons() {
        let k = kernel.tile.k as usize * (2 * kernel.smem.stages as usize + 1) - 3;
        is_right(kernel, &shape([9, 8, k], [3, 0, 0]), 132, Schedule::All);
    }
}

#[test]
fn lessons_compute_zeros_where_k_is_0_and_launch_nothing_for_an_empty_c() {
    for kernel in lessons() {
        assert!(is_right(kernel, &shape([9, 8, 0], [8, 0, 1]), 132, Schedule::Forward).is_some());
        assert!(is_right(kernel, &shape([0, 8, 8], [0; 3]), 132, Schedule::Forward).is_none());
        assert!(is_right(kernel, &shape([8, 0, 8], [0; 3]), 132, Schedule::Forward).is_none());
    }
}

#[test]
fn persistent_lessons_compute_tile_after_tile() {
    let mut run = 0;
    for kernel in lessons().filter(|kernel| kernel.is_persistent()) {
        // Three tiles, and of a cluster one more below C, on one SM; C by TMA and by threads.
        for n in [8, 5] {
            let extents = [2 * kernel.tile.m as usize + 3, n, 65 + 64];
            let report = is_right(kernel, &shape(extents, [7, 16 - n, 0]), 1, Schedule::All).expect("not empty");
            assert!(report.blocks < 3, "{}: {} CTAs", kernel.symbol, report.blocks);
            run += 1;
        }
    }
    assert_eq!(run, 6);
}
