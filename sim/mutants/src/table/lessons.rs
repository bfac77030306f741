//! Lessons 1 to 9 with one mistake each, that of the lesson's idea.

use super::Tool::{Memcheck, Racecheck};
use super::{Expect, Launch, ROW, Row, edit, faults};

/// The comment and the barrier after the tiles of a k-tile are filled.
const TILES_FILLED: &str = "            // RAW: both tiles are filled before any thread reads what others wrote.
            thread::sync_threads();
";
const TILES_DRAINED: &str = "            // WAR: both tiles are drained before the next k-tile overwrites them.
            thread::sync_threads();
";
const STAGE_FILLED: &str = "            // RAW: the stage is filled before any thread reads what others wrote.
            thread::sync_threads();
";
const STAGE_DRAINED: &str = "            // WAR: the stage is drained before the next k-tile overwrites it.
            thread::sync_threads();
";

/// A tile that is read before others have filled it.
const RAW: Expect = Expect::Faults {
    all: &["SharedRace"],
    also: &["UninitializedRead"],
};
/// A load or a store outside a matrix; one past the end of a row of C may hit another thread's element.
const OUTSIDE: Expect = Expect::Faults {
    all: &["OutOfBounds"],
    also: &["GlobalRace"],
};
/// `cp.async` whose data are read before they are there.
const PENDING: Expect = Expect::Faults {
    all: &["AsyncPending"],
    also: &["SharedRace"],
};

pub const ROWS: &[Row] = &[
    Row {
        id: "lesson_naive_columns_not_guarded",
        kernel: "lesson_01_naive",
        what: "threads right of C compute, too",
        edits: &[edit("l01_naive.rs", "if row >= m || column >= n {", "if row >= m {")],
        expect: OUTSIDE,
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "lesson_naive_a_transposed",
        kernel: "lesson_01_naive",
        what: "row and column of A are swapped",
        edits: &[edit("l01_naive.rs", "a.get(at(row, i, lda))", "a.get(at(i, row, lda))")],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "lesson_static_no_first_barrier",
        kernel: "lesson_02_static_tiles",
        what: "no barrier between filling the tiles and reading them",
        edits: &[edit("l02_static_tiles.rs", TILES_FILLED, "\n\n")],
        expect: RAW,
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_static_no_second_barrier",
        kernel: "lesson_02_static_tiles",
        what: "no barrier between reading the tiles and overwriting them",
        edits: &[edit("l02_static_tiles.rs", TILES_DRAINED, "\n\n")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_static_early_return",
        kernel: "lesson_02_static_tiles",
        what: "threads outside C return before the loop, as in lesson 1",
        edits: &[edit(
            "l02_static_tiles.rs",
            "        let mut sum = 0.0;\n",
            "        if row >= m || column >= n { return } let mut sum = 0.0;\n",
        )],
        expect: Expect::Faults {
            all: &["BarrierDivergence"],
            also: &["UninitializedRead", "SharedRace"],
        },
        ..ROW
    },
    Row {
        id: "lesson_dynamic_bytes_as_elements",
        kernel: "lesson_03_dynamic_tiles",
        what: "a number of bytes is added to a pointer to elements",
        edits: &[edit(
            "l03_dynamic_tiles.rs",
            "base.add(params.a_part.get() as usize).cast::<f32>()",
            "base.cast::<f32>().add(params.a_part.get() as usize)",
        )],
        expect: faults(&["DynamicSharedTooSmall"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "lesson_dynamic_one_tile",
        kernel: "lesson_03_dynamic_tiles",
        what: "the launch passes the bytes of one tile",
        launch: Launch::DynamicBytes(4096),
        expect: faults(&["DynamicSharedTooSmall"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "lesson_column_no_first_barrier",
        kernel: "lesson_04_register_column",
        what: "no barrier between filling the tiles and reading them",
        edits: &[edit("l04_register_column.rs", TILES_FILLED, "\n\n")],
        expect: RAW,
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_column_rows_not_guarded",
        kernel: "lesson_04_register_column",
        what: "the 8 rows of a thread are guarded by the first of them",
        edits: &[edit(
            "l04_register_column.rs",
            "c.set_if(row + r < m && column < n,",
            "c.set_if(row < m && column < n,",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "lesson_tile_no_second_barrier",
        kernel: "lesson_05_register_tile",
        what: "no barrier between reading the tiles and overwriting them",
        edits: &[edit("l05_register_tile.rs", TILES_DRAINED, "\n\n")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_tile_halves_too_near",
        kernel: "lesson_05_register_tile",
        what: "a thread's second rows are read a quarter of the tile after its first",
        edits: &[edit(
            "l05_register_tile.rs",
            "a_s.get_vec(at(i, row + half, PITCH))",
            "a_s.get_vec(at(i, row + half / 2, PITCH))",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "lesson_vectors_of_odd_rows",
        kernel: "lesson_06_vector_copies",
        what: "no check that the leading dimension keeps rows aligned to 16 bytes",
        edits: &[edit(
            "l06_vector_copies.rs",
            " && columns & 3 == 0 && ld & 3 == 0;",
            " && columns & 3 == 0;",
        )],
        expect: faults(&["Misaligned"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "lesson_vectors_not_transposed",
        kernel: "lesson_06_vector_copies",
        what: "A's vectors are stored without transposing them",
        edits: &[edit(
            "l06_vector_copies.rs",
            "a_s.set(at(a_k + i, a_m, PITCH),",
            "a_s.set(at(a_k, a_m + i, PITCH),",
        )],
        expect: faults(&["SharedRace", "UninitializedRead"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_vectors_no_first_barrier",
        kernel: "lesson_06_vector_copies",
        what: "no barrier between filling the stage and reading it",
        edits: &[edit("l06_vector_copies.rs", STAGE_FILLED, "\n\n")],
        expect: RAW,
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_warps_lanes_overlap",
        kernel: "lesson_07_warp_tiles",
        what: "two rows of lanes compute the same rows of C, and others none",
        edits: &[edit("l07_warp_tiles.rs", "(lane / 16 * 2)", "(lane / 16)")],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "lesson_warps_no_second_barrier",
        kernel: "lesson_07_warp_tiles",
        what: "no barrier between reading the stage and overwriting it",
        edits: &[edit("l07_warp_tiles.rs", STAGE_DRAINED, "\n\n")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_buffers_no_barrier",
        kernel: "lesson_08_double_buffering",
        what: "no barrier between storing the next stage and reading it",
        edits: &[edit(
            "l08_double_buffering.rs",
            "no thread reads the stage before any more.
                    thread::sync_threads();
",
            "no thread reads the stage before any more.\n\n",
        )],
        expect: RAW,
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_buffers_one_stage",
        kernel: "lesson_08_double_buffering",
        what: "the next k-tile is stored to the stage that is read",
        edits: &[edit(
            "l08_double_buffering.rs",
            "                    stage = STAGE - stage;\n",
            "\n",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_buffers_same_k_tile",
        kernel: "lesson_08_double_buffering",
        what: "the k-tile that is computed is prefetched again",
        edits: &[edit("l08_double_buffering.rs", "load(k0 + BLOCK_K)", "load(k0)")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "lesson_async_waits_for_one_group_too_few",
        kernel: "lesson_09_cp_async",
        what: "the wait leaves the loads of the next stage pending",
        edits: &[edit(
            "l09_cp_async.rs",
            "                    async_copy::wait::<1>();\n",
            "                    async_copy::wait::<2>();\n",
        )],
        expect: PENDING,
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_async_no_barrier",
        kernel: "lesson_09_cp_async",
        what: "no barrier between the k-tiles",
        edits: &[edit(
            "l09_cp_async.rs",
            "                    thread::sync_threads();\n",
            "\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["AsyncPending", "UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_async_stage_not_freed",
        kernel: "lesson_09_cp_async",
        what: "all loads of the loop go to the same stage",
        edits: &[edit("l09_cp_async.rs", "                    free = stage;\n", "\n")],
        expect: PENDING,
        seen_by: &[Racecheck],
        ..ROW
    },
];
