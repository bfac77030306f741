//! f32 in whole sectors of C, with one mistake each.

use super::Tool::{Memcheck, Racecheck};
use super::{Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "simt_sectors_nn_64x136_f32";

pub const ROWS: &[Row] = &[
    Row {
        id: "sectors_no_barrier",
        kernel: KERNEL,
        what: "no barrier between the stores of a k-tile and its use",
        edits: &[body(
            "        thread::sync_threads();\n        let mut kk = 0;",
            "        let mut kk = 0;",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "sectors_next_k_tile_too_early",
        kernel: KERNEL,
        what: "a k-tile is stored while other warps still read the one before it",
        edits: &[body("        if k < args.k {", "        if false {")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "sectors_without_the_shift",
        kernel: KERNEL,
        what: "columns of B are those of the tile, where a row of C begins further left",
        edits: &[body("SECTOR - shift_of(row) + lane", "SECTOR + lane")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "sectors_before_a_row",
        kernel: KERNEL,
        what: "the elements before a row of C are stored",
        edits: &[body("SECTOR <= from + 32 * j && ", "")],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "sectors_after_a_row",
        kernel: KERNEL,
        what: "the element after a row of C is stored",
        edits: &[body("32 * j < args.n + SECTOR", "32 * j <= args.n + SECTOR")],
        expect: Expect::Faults {
            all: &["OutOfBounds"],
            also: &["GlobalRace"],
        },
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "sectors_front_past_k",
        kernel: KERNEL,
        what: "the columns in front of a tile are loaded past the end of K",
        edits: &[body("of_last < left && is_line", "is_line")],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
];

const fn body(find: &'static str, replace: &'static str) -> Edit {
    edit("simt/sectors.rs", find, replace)
}
