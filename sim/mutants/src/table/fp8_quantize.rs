//! Quantizations to FP8 with one mistake each: exchange between warps, residues, scales.

use super::{Edit, Expect, ROW, Row, edit, faults};

const TRANSPOSED: &str = "fp8_quantize_1x128_bf16_transposed";
const BLOCKS: &str = "fp8_quantize_128x128_bf16";

pub const ROWS: &[Row] = &[
    Row {
        id: "fp8_quantize_tile_not_awaited",
        kernel: TRANSPOSED,
        what: "rows of the tile are loaded before all warps have stored their part of them",
        edits: &[transposed(
            "        // RAW: a warp loads rows that all warps have stored 16 bytes of each.\n        \
             thread::sync_threads();\n",
            "\n\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "fp8_quantize_rows_not_awaited",
        kernel: TRANSPOSED,
        what: "largest magnitudes of rows are read before all warps have stored theirs",
        edits: &[transposed(
            "        // RAW: each thread reads what all warps have of its rows.\n        thread::sync_threads();\n",
            "\n\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "fp8_quantize_blocks_not_awaited",
        kernel: BLOCKS,
        what: "largest magnitudes of warps are read before all have stored theirs",
        edits: &[body(
            "        // RAW: each thread reads the magnitudes of all warps.\n        thread::sync_threads();\n",
            "\n\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "fp8_quantize_without_swizzle",
        kernel: TRANSPOSED,
        what: "the 8 lanes that store at once have the same banks",
        edits: &[transposed("vector ^ (row / 4 % 8)", "vector ^ (0 * row)")],
        expect: Expect::Slower,
        ..ROW
    },
    Row {
        id: "fp8_quantize_past_the_source",
        kernel: BLOCKS,
        what: "lines past the end of the source are loaded",
        edits: &[source(
            "(first_line + i as u32).min(self.lines - 1)",
            "(first_line + i as u32)",
        )],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "fp8_quantize_past_the_row",
        kernel: TRANSPOSED,
        what: "what is past the end of a row is stored at the begin of the next",
        edits: &[transposed(
            "if row < params.rows && k < params.k {",
            "if row < params.rows {",
        )],
        expect: Expect::Faults {
            all: &["GlobalRace"],
            also: &["OutOfBounds"],
        },
        ..ROW
    },
    Row {
        id: "fp8_quantize_scale_of_a_lane",
        kernel: BLOCKS,
        what: "a warp has the largest magnitude of its first lane",
        edits: &[body("let of_warp = largest_of_warp(mine);", "let of_warp = mine;")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "fp8_quantize_scale_of_the_next_row",
        kernel: TRANSPOSED,
        what: "a thread's rows have the scales of others",
        edits: &[transposed(".widen() / scales[j]", ".widen() / scales[j ^ 1]")],
        expect: Expect::Mismatch,
        ..ROW
    },
];

const fn body(find: &'static str, replace: &'static str) -> Edit {
    edit("fp8_quantize/mod.rs", find, replace)
}

const fn source(find: &'static str, replace: &'static str) -> Edit {
    edit("fp8_quantize/source.rs", find, replace)
}

const fn transposed(find: &'static str, replace: &'static str) -> Edit {
    edit("fp8_quantize/transposed.rs", find, replace)
}
