//! f64 on tensor cores with one mistake each.

use super::{Edit, Expect, ROW, Row, edit, faults};

const NARROW: &str = "mma_f64_nn2_64x64_f64";
const WIDE: &str = "mma_f64_wide_nt2_64x64_f64";
const SHORT: &str = "mma_f64_wide_short_tn2_64x64_f64";

pub const ROWS: &[Row] = &[
    Row {
        id: "f64_no_wait",
        kernel: NARROW,
        what: "a k-tile is used before its loads are complete",
        edits: &[body("        pipeline.wait();\n", "\n")],
        expect: faults(&["AsyncPending"]),
        ..ROW
    },
    Row {
        id: "f64_no_barrier",
        kernel: NARROW,
        what: "no barrier between a stage's readers and its next loads",
        edits: &[body("        thread::sync_threads();\n", "\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["AsyncPending"],
        },
        ..ROW
    },
    Row {
        id: "f64_loads_not_swizzled",
        kernel: NARROW,
        what: "loads go where fragments are not read",
        edits: &[loader("(self.column ^ F64Tile::swizzled(row))", "self.column")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "f64_loads_past_k",
        kernel: WIDE,
        what: "loads go on past the end of K",
        edits: &[body("left = left.saturating_sub(tile.k);", "left = left.max(tile.k);")],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "f64_halves_of_k_exchanged",
        kernel: WIDE,
        what: "the halves of B's k-block are exchanged",
        edits: &[body(
            "[of_b(j as u32, 0), of_b(j as u32, 1)]",
            "[of_b(j as u32, 1), of_b(j as u32, 0)]",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "f64_ends_too_early",
        kernel: SHORT,
        what: "the main loop ends a k-tile before the one in which K ends",
        edits: &[body("k + done >= k_end", "k + 3 * done >= k_end")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "f64_store_guard_incomplete",
        kernel: WIDE,
        what: "rows below C are stored",
        edits: &[edit(
            "mma_f64/epilogue.rs",
            "c.set_if(row < m && column < end, index, ||",
            "c.set_if(column < end, index, ||",
        )],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
];

const fn body(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_f64/mod.rs", find, replace)
}

const fn loader(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_f64/loader.rs", find, replace)
}
