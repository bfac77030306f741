//! Matrix-vector kernels and those that pad rows and transpose, with one mistake each.

use super::Tool::{Memcheck, Racecheck, Synccheck};
use super::{Edit, Expect, ROW, Row, edit, faults};

const ALONG: &str = "matrix_vector_k4_f32";
const ACROSS: &str = "matrix_vector_mn_f32";
const COPY: &str = "copy_rows_b16";
const TRANSPOSE: &str = "transpose_rows_b32";

pub const ROWS: &[Row] = &[
    Row {
        id: "lines_shuffle_wrong_mask",
        kernel: ALONG,
        what: "a mask without half of the calling lanes",
        edits: &[lines("warp_shuffle_xor(u32::MAX, sum", "warp_shuffle_xor(0xffff, sum")],
        expect: Expect::Faults {
            all: &["WarpMask"],
            also: &["AbsentLane"],
        },
        ..ROW
    },
    Row {
        id: "lines_shuffle_too_short",
        kernel: ALONG,
        what: "four rounds of shuffles, which reduce half a warp",
        edits: &[lines("unrolled!(5_u32, at most 8", "unrolled!(4_u32, at most 8")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "lines_shuffle_of_some_lanes",
        kernel: ALONG,
        what: "only lanes with elements in the last iteration shuffle, with a full mask",
        edits: &[lines(
            "        sum += unsafe { warp_shuffle_xor(u32::MAX, sum, 16 >> i, 32) }.0;",
            "        if lane < 16 { sum += unsafe { warp_shuffle_xor(u32::MAX, sum, 16 >> i, 32) }.0; }",
        )],
        expect: faults(&["AbsentLane"]),
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "lines_behind_the_last",
        kernel: ALONG,
        what: "a warp without a row reads one after the last",
        edits: &[lines(
            "let row = output.min(problem.outputs - 1) as usize",
            "let row = output as usize",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "lines_all_ahead",
        kernel: ALONG,
        what: "the prefetch loop continues with fewer vectors left than it loads",
        edits: &[lines(
            "while k + (AHEAD as u32 - 1) * step < problem.k_end {",
            "while k < problem.k_end {",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "lines_no_barrier",
        kernel: ACROSS,
        what: "no barrier between the warps' partial acc and their reduction",
        edits: &[lines(
            "    // RAW: the accumulators of all warps are written.
    thread::sync_threads();
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
        id: "lines_warps_overlap",
        kernel: ACROSS,
        what: "the warps' parts of shared memory overlap",
        edits: &[lines(
            "warps.set((warp * outputs + output) as usize",
            "warps.set((warp + output) as usize",
        )],
        expect: Expect::Faults {
            all: &["SharedRace", "UninitializedRead"],
            also: &[],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lines_columns_not_clamped",
        kernel: ACROSS,
        what: "lanes past the last row read on",
        edits: &[lines(
            "output_of(load).min(problem.outputs - V as u32) as usize",
            "output_of(load) as usize",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "copy_rows_no_guard",
        kernel: COPY,
        what: "threads past the last row copy, too",
        edits: &[copy(
            "    if row >= copy.rows {
        return;
    }
",
            "\n\n\n",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "copy_rows_word_before_the_row",
        kernel: COPY,
        what: "the word that starts before its row is loaded",
        edits: &[copy("let is_inside = column >= before && ", "let is_inside = ")],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "copy_rows_behind_the_row",
        kernel: COPY,
        what: "elements past the end of a row are loaded",
        edits: &[copy("first + i.min(left - 1) as usize", "first + i as usize")],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "copy_rows_halves_exchanged",
        kernel: COPY,
        what: "words are shifted the other way",
        edits: &[copy("low >> 16 | high << 16", "low << 16 | high >> 16")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "transpose_rows_no_barrier",
        kernel: TRANSPOSE,
        what: "columns of the tile are read before other warps have filled their rows",
        edits: &[transpose("        thread::sync_threads();\n", "\n")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "transpose_rows_behind_the_last",
        kernel: TRANSPOSE,
        what: "rows past the last one are loaded",
        edits: &[transpose("(row.min(copy.rows - 1), ", "(row, ")],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "transpose_rows_behind_the_copy",
        kernel: TRANSPOSE,
        what: "columns past the last one become rows of the copy, too",
        edits: &[transpose(
            "if row < copy.columns && column < copy.to_ld",
            "if column < copy.to_ld",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "transpose_rows_padding_is_left",
        kernel: TRANSPOSE,
        what: "the padding of the copy's rows is not written",
        edits: &[transpose("column < copy.to_ld {", "column < copy.rows {")],
        expect: Expect::Mismatch,
        ..ROW
    },
];

const fn lines(find: &'static str, replace: &'static str) -> Edit {
    edit("matrix_vector.rs", find, replace)
}

const fn transpose(find: &'static str, replace: &'static str) -> Edit {
    edit("transpose_rows.rs", find, replace)
}

const fn copy(find: &'static str, replace: &'static str) -> Edit {
    edit("pad_rows.rs", find, replace)
}
