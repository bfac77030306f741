//! `simt` with one mistake each: a `cp.async` pipeline.

use super::Tool::{Memcheck, Racecheck};
use super::{Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "simt_nn4_256x128_f32";
const BARRIER: &str = "                thread::sync_threads();
                stage = pipeline.next(stage);
";

pub const ROWS: &[Row] = &[
    Row {
        id: "ring_no_wait",
        kernel: KERNEL,
        what: "no wait for the loads of the next stage",
        edits: &[body(
            "                commit_k_tile!(stage);\n                pipeline.wait();\n",
            "                commit_k_tile!(stage);\n\n",
        )],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "ring_waits_for_one_group_too_few",
        kernel: KERNEL,
        what: "the wait leaves the loads of the next stage pending",
        edits: &[pipeline(
            "3 => async_copy::wait::<1>(),",
            "3 => async_copy::wait::<2>(),",
        )],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "ring_no_first_wait",
        kernel: KERNEL,
        what: "no wait for the loads of stage 0",
        edits: &[body(
            "    pipeline.wait();\n    // RAW: every thread's loads of stage 0",
            "    \n    // RAW: every thread's loads of stage 0",
        )],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "ring_no_barrier",
        kernel: KERNEL,
        what: "no barrier between the iterations",
        edits: &[body(BARRIER, "\n                stage = pipeline.next(stage);\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["AsyncPending", "UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "ring_barrier_before_wait",
        kernel: KERNEL,
        what: "the barrier precedes the wait: each thread has waited for its own loads alone",
        edits: &[
            body(
                "                commit_k_tile!(stage);\n                pipeline.wait();\n",
                "                commit_k_tile!(stage);\n\n",
            ),
            body(
                BARRIER,
                "                thread::sync_threads(); pipeline.wait();
                stage = pipeline.next(stage);
",
            ),
        ],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "ring_no_commit",
        kernel: KERNEL,
        what: "the loads are not committed, so no wait covers them",
        edits: &[body("            async_copy::commit();\n", "\n")],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "ring_a_stage_too_short",
        kernel: KERNEL,
        what: "the pipeline wraps one stage early: loads write the stage that is read",
        edits: &[pipeline(
            "let last = (self.stages - 1) * self.stage_elems;",
            "let last = (self.stages - 2) * self.stage_elems;",
        )],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "ring_copies_go_on_behind_k",
        kernel: KERNEL,
        what: "B's rows past the end of K are loaded, too",
        edits: &[edit("simt/loader.rs", "if inside { 4 } else { 0 }", "4")],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "ring_lines_not_clamped",
        kernel: KERNEL,
        what: "rows of A past the last one are loaded",
        edits: &[edit("simt/loader.rs", ".min(extent - 1 - first) * ld;", " * ld;")],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "ring_step_does_not_advance",
        kernel: KERNEL,
        what: "every iteration loads the first columns of A",
        edits: &[body("            loader_a.advance::<LA>(tile_a);\n", "\n")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "ring_fragments_of_the_other_stage",
        kernel: KERNEL,
        what: "the first fragments of an iteration are those of the previous stage",
        edits: &[body(
            "                stage = pipeline.next(stage);
                fragments(&mut from_a[next], &mut from_b[next], stage, 0);
",
            "                fragments(&mut from_a[next], &mut from_b[next], stage, 0);
                stage = pipeline.next(stage);
",
        )],
        // Which the next copies go into.
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "ring_end_of_k_left_out",
        kernel: "simt_nn4_64x64_f32",
        what: "the last elements of a k-tile that K does not fill are left out",
        edits: &[body(
            "while k + kk < k_end {",
            "while k + kk + tile.k_granularity() < k_end {",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "rows_of_c_not_awaited",
        kernel: KERNEL,
        what: "lanes read the rows of C that other lanes write, without sync_warp",
        edits: &[edit(
            "simt/epilogue.rs",
            "                // RAW: the other lanes have written their parts of the rows.
                warp::sync_warp(u32::MAX);
",
            "\n\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "rows_of_c_overwritten",
        kernel: KERNEL,
        what: "the next rows of C overwrite those that other lanes still read",
        edits: &[edit(
            "simt/epilogue.rs",
            "                // WAR: the other lanes have read the rows before.
                warp::sync_warp(u32::MAX);
",
            "\n\n",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
];

const fn pipeline(find: &'static str, replace: &'static str) -> Edit {
    edit("block/pipeline.rs", find, replace)
}

const fn body(find: &'static str, replace: &'static str) -> Edit {
    edit("simt/mod.rs", find, replace)
}
