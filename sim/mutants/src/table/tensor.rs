//! `mma_sync` with one mistake each: `cp.async`, `ldmatrix`, `mma.sync`, and loads of single elements.

use super::Tool::{Memcheck, Racecheck};
use super::{Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "mma_sync_nn_128x128_f16";
const SINGLE: &str = "mma_sync_nn1_64x64_f16";
const SPLIT: &str = "mma_sync_tn1_64x64_f16";

pub const ROWS: &[Row] = &[
    Row {
        id: "mma_no_wait",
        kernel: KERNEL,
        what: "no wait for the loads of the next stage",
        edits: &[body(
            "            if k_block + 1 == k_blocks {\n                pipeline.wait();\n",
            "            if k_block + 1 == k_blocks {\n\n",
        )],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "mma_no_barrier",
        kernel: KERNEL,
        what: "no barrier between the iterations",
        edits: &[body(
            "                thread::sync_threads();
                stage = pipeline.next(stage);
",
            "
                stage = pipeline.next(stage);
",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["AsyncPending", "UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "mma_a_stage_too_short",
        kernel: KERNEL,
        what: "the pipeline wraps one stage early: loads write the stage that is read",
        edits: &[edit(
            "block/pipeline.rs",
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
        id: "mma_matrices_exchanged",
        kernel: KERNEL,
        what: "the second and the third matrix of A's ldmatrix are swapped",
        edits: &[operand(
            "Self::new::<L>(tile, first, lane / 8 % 2, lane / 16, lane % 8)",
            "Self::new::<L>(tile, first, lane / 16, lane / 8 % 2, lane % 8)",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "mma_copies_not_swizzled",
        kernel: KERNEL,
        what: "the loads are not swizzled, the fragment loads are",
        edits: &[operand(
            "to: swizzle.elem(row, vector) + within,",
            "to: row * swizzle.row_elems() + column,",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "mma_no_swizzle",
        kernel: KERNEL,
        what: "neither loads nor fragments are swizzled: correct, but 8 rows of a matrix share few banks",
        edits: &[
            operand(
                "to: swizzle.elem(row, vector) + within,",
                "to: row * swizzle.row_elems() + column,",
            ),
            operand(
                "swizzle.elem(first + 8 * mn + row, k)",
                "(first + 8 * mn + row) * swizzle.row_elems() + 8 * k",
            ),
            operand(
                "swizzle.elem(8 * k + row, first / VECTOR + mn)",
                "(8 * k + row) * swizzle.row_elems() + first + 8 * mn",
            ),
        ],
        expect: Expect::Slower,
        ..ROW
    },
    Row {
        id: "mma_whole_chunks_only",
        kernel: KERNEL,
        what: "the residue vector of a row is loaded as a whole",
        edits: &[operand(
            "columns.saturating_sub(self.column).min(L::VECTOR)",
            "if self.column < columns { L::VECTOR } else { 0 }",
        )],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "mma_row_behind_the_last",
        kernel: KERNEL,
        what: "the row after an operand's last one is loaded",
        edits: &[operand(
            "self.row + number * pass >= rows {",
            "self.row + number * pass > rows {",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "mma_epilogue_no_wait",
        kernel: KERNEL,
        what: "the stages are overwritten while loads past the last k-tile are pending",
        edits: &[body("        async_copy::wait::<0>();\n", "\n")],
        expect: faults(&["AsyncPending"]),
        ..ROW
    },
    Row {
        id: "mma_epilogue_no_barrier",
        kernel: KERNEL,
        what: "a warp writes its accumulators to stages that other warps still read",
        edits: &[body(
            "        // WAR: no thread reads the stages any more, and none loads into them.
        thread::sync_threads();
",
            "\n\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["AsyncPending"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "mma_epilogue_no_sync_warp",
        kernel: KERNEL,
        what: "lanes read the writes of other lanes without sync_warp",
        edits: &[epilogue("        warp::sync_warp(u32::MAX);\n", "\n")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "mma_epilogue_guard_incomplete",
        kernel: KERNEL,
        what: "C's columns are not guarded",
        edits: &[epilogue("if in_c < m && column < n {", "if in_c < m {")],
        expect: Expect::Faults {
            all: &["OutOfBounds"],
            also: &["GlobalRace"],
        },
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "mma_single_past_the_end",
        kernel: SINGLE,
        what: "the residue vector of a row is loaded as a whole: elements past the end of K are not zeros",
        edits: &[operand(
            "let valid = columns.saturating_sub(self.column);",
            "let valid = if self.column < columns { VECTOR } else { 0 };",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "mma_single_row_behind_the_last",
        kernel: SINGLE,
        what: "the row after an operand's last one is loaded",
        edits: &[operand(
            "if self.row + row >= rows { 0 } else { valid }",
            "if self.row + row > rows { 0 } else { valid }",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "mma_single_no_barrier",
        kernel: SINGLE,
        what: "no barrier between the stores of a stage and its use",
        edits: &[registers("        thread::sync_threads();\n", "\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "mma_single_one_stage",
        kernel: SINGLE,
        what: "a k-tile is stored into the stage that other warps still read",
        edits: &[registers(
            "            stage = pipeline.next(stage);
            store_k_tile!(loaded, stage);
",
            "            store_k_tile!(loaded, stage);

",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "mma_single_same_k_tile",
        kernel: SINGLE,
        what: "A's loads do not advance along K",
        edits: &[registers("            loader_a.advance::<LA>(tile.k);\n", "\n")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "mma_split_same_beginning",
        kernel: SPLIT,
        what: "each split loads B from the beginning of K",
        edits: &[registers("    loader_b.advance::<LB>(k_begin);\n", "\n")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "mma_split_without_end",
        kernel: SPLIT,
        what: "each split continues to the end of K",
        edits: &[registers("params.k.min(k_begin + params.k_per_split);", "params.k;")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "mma_split_same_rows",
        kernel: SPLIT,
        what: "each row of single elements gets the accumulators of the first",
        edits: &[stores(
            "let below = first_below + (done + pass) * rows_of_pass;",
            "let below = first_below;",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "mma_split_pairs_not_joined",
        kernel: SPLIT,
        what: "where a row of C begins at an odd element, pairs are of one word of the buffer",
        edits: &[stores("two = [two[1], next[0]];", "two = [two[1], two[0]];")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "mma_split_ends_left_out",
        kernel: SPLIT,
        what: "single elements at the ends of rows of C are not stored",
        edits: &[stores("if V == 2 && !(self.first_odd", "if V > 2 && !(self.first_odd")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "mma_split_pairs_at_odd_addresses",
        kernel: SPLIT,
        what: "every row of C is taken to begin at an even element",
        edits: &[stores(
            "(self.first_odd + (below & self.ld)) % 2",
            "0 * (self.first_odd + (below & self.ld))",
        )],
        expect: faults(&["Misaligned"]),
        ..ROW
    },
];

const fn registers(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_sync/through_registers.rs", find, replace)
}

const fn body(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_sync/mod.rs", find, replace)
}

const fn operand(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_sync/loader.rs", find, replace)
}

const fn epilogue(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_sync/epilogue.rs", find, replace)
}

const fn stores(find: &'static str, replace: &'static str) -> Edit {
    edit("block/narrow_store.rs", find, replace)
}
