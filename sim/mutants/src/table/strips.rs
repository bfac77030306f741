//! Strips of `mma_sync` with one mistake each: pairs of single elements, and whole sectors of C.

use super::Tool::{Memcheck, Racecheck};
use super::{Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "mma_sync_strips_tn1_64x128_f16";

pub const ROWS: &[Row] = &[
    Row {
        id: "strips_no_barrier",
        kernel: KERNEL,
        what: "no barrier between the stores of a stage and its use",
        edits: &[body("                thread::sync_threads();\n", "\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "strips_one_stage",
        kernel: KERNEL,
        what: "a k-tile of B is stored into the stage that other warps still read",
        edits: &[body(
            "                stage_b += 1;\n",
            "                stage_b += 2;\n",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "strips_first_a",
        kernel: KERNEL,
        what: "every row of tiles is multiplied with the first A",
        edits: &[body("loads_a = is_new_row ||", "loads_a = false && is_new_row ||")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "strips_end_too_early",
        kernel: KERNEL,
        what: "the MMA atom in which K ends is left out",
        edits: &[body(
            ".div_ceil(const { T::TILE.k_granularity() })",
            " / const { T::TILE.k_granularity() }",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "strips_no_overlap",
        kernel: KERNEL,
        what: "a tile is computed from its first column on, not from a sector before it",
        edits: &[body("column.saturating_sub(TensorTile::OVERLAP)", "column")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "strips_pair_behind_the_row",
        kernel: KERNEL,
        what: "the element after a row's last one is loaded",
        edits: &[operand(
            "column + self.column);\n        let valid = columns.saturating_sub(column);",
            "column + self.column);\n        let valid = columns.saturating_sub(column).next_multiple_of(2);",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "strips_no_sync_before_vectors",
        kernel: KERNEL,
        what: "vectors of C are loaded before the other lanes have stored their elements",
        edits: &[stores("            warp::sync_warp(u32::MAX);\n", "\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "strips_shift_of_the_first_row",
        kernel: KERNEL,
        what: "every row of C is taken to begin where the first one does",
        edits: &[stores("row.wrapping_mul(self.ld)", "(0 * row)")],
        expect: faults(&["Misaligned"]),
        ..ROW
    },
    Row {
        id: "strips_halves_not_joined",
        kernel: KERNEL,
        what: "where a row begins at an odd element, vectors are of whole words of the buffer",
        edits: &[stores(
            "if is_odd { permute::MIDDLE_WORD }",
            "if is_odd { permute::LOW_WORD }",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "strips_ends_left_out",
        kernel: KERNEL,
        what: "single elements at the right ends of rows are not stored",
        edits: &[stores("column == 0 || column + STORED >= self.end[1]", "column == 0")],
        expect: Expect::Mismatch,
        ..ROW
    },
];

const fn body(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_sync/strips.rs", find, replace)
}

const fn operand(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_sync/loader.rs", find, replace)
}

const fn stores(find: &'static str, replace: &'static str) -> Edit {
    edit("block/sector_store.rs", find, replace)
}
