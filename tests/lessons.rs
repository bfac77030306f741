//! The lessons: short files, and in the simulator the right result without a fault, whatever the extents.

mod support;

use std::path::Path;

use cuda_sim::Schedule;
use support::Ask;
use tilewright::{GemmShape, KERNELS, Kernel};

/// The most lines of a lesson, its header included; more for the last two, which add to a whole persistent kernel.
const LINES: usize = 140;
const LINES_OF_LAST: [(&str, usize); 2] = [("l14_cluster.rs", 155), ("l15_tma_store.rs", 190)];

/// The lessons, in order.
fn lessons() -> impl Iterator<Item = &'static Kernel> {
    KERNELS.iter().filter(|kernel| kernel.symbol.starts_with("lesson_"))
}

/// The shape with rows that are this much longer.
fn shape([m, n, k]: [usize; 3], [a, b, c]: [usize; 3]) -> GemmShape {
    GemmShape::with_ld(m, n, k, k + a, n + b, n + c).expect("valid")
}

#[test]
fn a_lesson_is_short() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels-gpu/src/lessons");
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
            Ask::of(kernel).is_right(&shape(extents, gaps));
        }
    }
}

#[test]
fn lessons_take_more_k_tiles_than_stages_under_every_schedule() {
    for kernel in lessons() {
        let k = kernel.tile.k as usize * (2 * kernel.smem.stages as usize + 1) - 3;
        let ask = Ask {
            schedule: Schedule::All,
            ..Ask::of(kernel)
        };
        ask.is_right(&shape([9, 8, k], [3, 0, 0]));
    }
}

#[test]
fn lessons_compute_zeros_where_k_is_0_and_launch_nothing_for_an_empty_c() {
    for ask in lessons().map(Ask::of) {
        assert!(ask.is_right(&shape([9, 8, 0], [8, 0, 1])).is_some());
        assert!(ask.is_right(&shape([0, 8, 8], [0; 3])).is_none());
        assert!(ask.is_right(&shape([8, 0, 8], [0; 3])).is_none());
    }
}

#[test]
fn persistent_lessons_compute_tile_after_tile() {
    let mut run = 0;
    for kernel in lessons().filter(|kernel| kernel.is_persistent()) {
        // Three tiles, and of a cluster one more below C, on one SM; C by TMA and by threads.
        for n in [8, 5] {
            let extents = [2 * kernel.tile.m as usize + 3, n, 65 + 64];
            let ask = Ask {
                sms: 1,
                schedule: Schedule::All,
                ..Ask::of(kernel)
            };
            let report = ask.is_right(&shape(extents, [7, 16 - n, 0])).expect("not empty");
            assert!(report.blocks < 3, "{}: {} CTAs", kernel.symbol, report.blocks);
            run += 1;
        }
    }
    assert_eq!(run, 6);
}
