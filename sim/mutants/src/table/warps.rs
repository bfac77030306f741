//! The classics with mistakes in what the lanes of a warp do together.

use super::Tool::{Racecheck, Synccheck};
use super::{Edit, Expect, ROW, Row, faults};

pub const ROWS: &[Row] = &[
    Row {
        id: "reduce_warp_no_sync_warp",
        kernel: "reduce_warp",
        what: "no barrier of the warp between its levels",
        edits: &[Edit {
            file: "reduction.rs",
            find: "                warp::sync_warp(u32::MAX);",
            replace: "",
        }],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "reduce_warp_wrong_mask",
        kernel: "reduce_warp",
        what: "a mask that leaves out half of the lanes that call",
        edits: &[Edit {
            file: "reduction.rs",
            find: "warp::sync_warp(u32::MAX)",
            replace: "warp::sync_warp(0xffff)",
        }],
        expect: faults(&["WarpMask"]),
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "reduce_warp_sync_in_branch",
        kernel: "reduce_warp",
        what: "the warp's barrier, for all lanes, in a branch that only some take",
        edits: &[Edit {
            file: "reduction.rs",
            find: "                warp::sync_warp(u32::MAX);
                if t < half {
",
            replace: "
                if t < half {
                warp::sync_warp(u32::MAX);
",
        }],
        // Lanes that have ended are not waited for, so the barrier opens; the others' last sums are not ordered by it.
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "reduce_shuffle_no_barrier",
        kernel: "reduce_shuffle",
        what: "no barrier between the warps' sums and the warp that adds them up",
        edits: &[Edit {
            file: "reduction.rs",
            find: "        // RAW: every warp's sum is written.
        thread::sync_threads();",
            replace: "
",
        }],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "reduce_shuffle_wrong_mask",
        kernel: "reduce_shuffle",
        what: "a mask that leaves out half of the lanes that call",
        edits: &[Edit {
            file: "reduction.rs",
            find: "warp::warp_shuffle_down(u32::MAX,",
            replace: "warp::warp_shuffle_down(0xffff,",
        }],
        expect: faults(&["WarpMask"]),
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "reduce_shuffle_of_some_lanes",
        kernel: "reduce_shuffle",
        what: "only the lanes that have a warp's sum shuffle, with a mask of all: what the others would bring is undefined",
        edits: &[Edit {
            file: "reduction.rs",
            find: "        if t < LANES {
            let sum = warp_sum(",
            replace: "        if t < WARPS {
            let sum = warp_sum(",
        }],
        expect: Expect::Mismatch,
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "reduce_shuffle_up",
        kernel: "reduce_shuffle",
        what: "values move towards the higher lanes",
        edits: &[Edit {
            file: "reduction.rs",
            find: "warp::warp_shuffle_down(",
            replace: "warp::warp_shuffle_up(",
        }],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "reduce_shuffle_half_a_warp",
        kernel: "reduce_shuffle",
        what: "shuffles within 16 lanes",
        edits: &[Edit {
            file: "reduction.rs",
            find: "value, distance, 32)",
            replace: "value, distance, 16)",
        }],
        expect: Expect::Mismatch,
        ..ROW
    },
];
