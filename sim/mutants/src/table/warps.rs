//! Sample kernels with one mistake each in warp functions.

use super::Tool::{Racecheck, Synccheck};
use super::{Edit, Expect, ROW, Row, faults};

pub const ROWS: &[Row] = &[
    Row {
        id: "reduce_warp_no_sync_warp",
        kernel: "reduce_warp",
        what: "no sync_warp between the levels of a warp",
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
        what: "a mask without half of the calling lanes",
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
        what: "sync_warp with a full mask in a branch that only some lanes take",
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
        // sync_warp does not wait for exited lanes, so it completes; it does not order the other lanes' last
        // accumulators.
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "reduce_shuffle_no_barrier",
        kernel: "reduce_shuffle",
        what: "no barrier between the warps' acc and the warp that reduces them",
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
        what: "a mask without half of the calling lanes",
        edits: &[Edit {
            file: "reduction.rs",
            find: "warp::warp_shuffle_down(u32::MAX,",
            replace: "warp::warp_shuffle_down(0xffff,",
        }],
        expect: Expect::Faults {
            all: &["WarpMask"],
            also: &["AbsentLane"],
        },
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "reduce_shuffle_of_some_lanes",
        kernel: "reduce_shuffle",
        what: "only lanes with a warp's sum shuffle, with a full mask: the others' values are undefined",
        edits: &[Edit {
            file: "reduction.rs",
            find: "        if t < LANES {
            let sum = warp_sum(",
            replace: "        if t < WARPS {
            let sum = warp_sum(",
        }],
        expect: faults(&["AbsentLane"]),
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "reduce_shuffle_up",
        kernel: "reduce_shuffle",
        what: "values move to the higher lanes",
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
