//! Sliced-K of `simt` with one mistake each: elements through registers, and the sum of the slices.

use super::Tool::Racecheck;
use super::{Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "simt_sliced_tn_48x64_f32";

pub const ROWS: &[Row] = &[
    Row {
        id: "sliced_one_stage",
        kernel: KERNEL,
        what: "a k-tile is stored into the stage that the threads read",
        edits: &[body(
            "put!(kk * loads_per_k + number, other(stage));",
            "put!(kk * loads_per_k + number, stage);",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "sliced_no_barrier_before_the_sum",
        kernel: KERNEL,
        what: "accumulators are stored while other threads still read the stages",
        edits: &[body(
            "    // now.
    thread::sync_threads();
",
            "    // now.

",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "sliced_no_barrier_in_the_sum",
        kernel: KERNEL,
        what: "accumulators of other slices are added before they are stored",
        edits: &[body(
            "    // RAW: the accumulators of all slices are there.
    thread::sync_threads();
",
            "    // RAW: the accumulators of all slices are there.

",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "sliced_same_slice",
        kernel: KERNEL,
        what: "every slice computes the first part of a k-tile",
        edits: &[body(
            "lane, slice * tile.slice_k());",
            "lane, 0 * slice * tile.slice_k());",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "sliced_first_k_tile_whole",
        kernel: KERNEL,
        what: "the first k-tile has elements of the second one too",
        edits: &[body(
            "fetch!(number, left.min(first), false, at_first)",
            "fetch!(number, left, false, at_first)",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "sliced_idle_lanes_store",
        kernel: KERNEL,
        what: "lanes past the last row of the tile store into the next row of the stage",
        edits: &[operand("self.mn < tile.mn", "true")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
];

const fn body(find: &'static str, replace: &'static str) -> Edit {
    edit("simt/through_registers.rs", find, replace)
}

const fn operand(find: &'static str, replace: &'static str) -> Edit {
    edit("simt/loader.rs", find, replace)
}
