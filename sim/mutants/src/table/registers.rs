//! Rungs 4 to 8 with one mistake each: register tiles, vector loads, two stages.

use super::Tool::{Memcheck, Racecheck};
use super::{Expect, ROW, Row, edit, faults};

const RAW: &str = "        // RAW: the tiles are filled before any thread reads what others wrote.
        thread::sync_threads();
";
const WAR: &str = "        // WAR: the tiles are drained before the next step overwrites them.
        thread::sync_threads();
";
const STAGE_RAW: &str = "        // RAW: the stage is filled before any thread reads what others wrote.
        thread::sync_threads();
";
const STAGE_WAR: &str = "        // WAR: the stage is drained before the next step overwrites it.
        thread::sync_threads();
";

pub const ROWS: &[Row] = &[
    Row {
        id: "column_no_first_barrier",
        kernel: "r04_register_column_f32",
        what: "no barrier between filling the tiles and reading them",
        edits: &[edit("r04_register_column.rs", RAW, "\n\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "column_no_second_barrier",
        kernel: "r04_register_column_f32",
        what: "no barrier between reading the tiles and overwriting them",
        edits: &[edit("r04_register_column.rs", WAR, "\n\n")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "column_no_padding",
        kernel: "r04_register_column_f32",
        what: "A's tile without padding: correct, but the elements that a warp stores share few banks",
        edits: &[
            edit(
                "r04_register_column.rs",
                "(a_k * TILE.a_pitch() + a_m)",
                "(a_k * TILE.m + a_m)",
            ),
            edit(
                "r04_register_column.rs",
                "(kk * TILE.a_pitch() + row) as",
                "(kk * TILE.m + row) as",
            ),
            edit(
                "r04_register_column.rs",
                "(kk * TILE.a_pitch() + row + 4)",
                "(kk * TILE.m + row + 4)",
            ),
        ],
        expect: Expect::Slower,
        ..ROW
    },
    Row {
        id: "column_a_guard_incomplete",
        kernel: "r04_register_column_f32",
        what: "A's columns are not guarded",
        edits: &[edit(
            "r04_register_column.rs",
            "a_row < args.m && a_column < args.k,",
            "a_row < args.m,",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "register_tile_no_second_barrier",
        kernel: "r05_register_tile_f32",
        what: "no barrier between reading the tiles and overwriting them",
        edits: &[edit("register_tile.rs", WAR, "\n\n")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "register_tile_no_padding",
        kernel: "r05_register_tile_f32",
        what: "A's tile without padding: correct, but the elements that a warp stores share few banks",
        edits: &[edit(
            "register_tile.rs",
            "RegisterTile::A_PITCH;",
            "RegisterTile::WIDTH;",
        )],
        expect: Expect::Slower,
        ..ROW
    },
    Row {
        id: "register_tile_halves_too_near",
        kernel: "r05_register_tile_f32",
        what: "a thread's second rows are read a quarter of the tile after its first",
        edits: &[edit(
            "register_tile.rs",
            "4 * ty + WIDTH / 2) as usize",
            "4 * ty + WIDTH / 4) as usize",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "register_tile_store_guard_incomplete",
        kernel: "r05_register_tile_f32",
        what: "C's columns are not guarded",
        edits: &[edit(
            "register_tile.rs",
            "row < args.m && column < args.n,",
            "row < args.m,",
        )],
        expect: Expect::Faults {
            all: &["OutOfBounds"],
            also: &["GlobalRace"],
        },
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "vectors_of_odd_rows",
        kernel: "r06_vector_copy_f32",
        what: "no check that the leading dimensions keep rows aligned to 16 bytes",
        edits: &[edit(
            "register/quads.rs",
            " && columns.is_multiple_of(4) && ld.is_multiple_of(4)",
            " && columns.is_multiple_of(4)",
        )],
        expect: faults(&["Misaligned"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "vectors_not_transposed",
        kernel: "r06_vector_copy_f32",
        what: "A's vectors are stored without transposing them",
        edits: &[edit(
            "register/mod.rs",
            "(self.a_k + i) * TILE.a_pitch() + self.a_m;",
            "self.a_k * TILE.a_pitch() + self.a_m + i;",
        )],
        expect: faults(&["SharedRace", "UninitializedRead"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "vectors_no_first_barrier",
        kernel: "r06_vector_copy_f32",
        what: "no barrier between filling the stage and reading it",
        edits: &[edit("register/mod.rs", STAGE_RAW, "\n\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "warp_tile_no_second_barrier",
        kernel: "r07_warp_tile_f32",
        what: "no barrier between reading the stage and overwriting it",
        edits: &[edit("register/mod.rs", STAGE_WAR, "\n\n")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "warp_tile_last_column_twice",
        kernel: "r07_warp_tile_f32",
        what: "the load guard admits one more column",
        edits: &[edit(
            "register/quads.rs",
            "row < self.rows && column + j < self.columns;",
            "row < self.rows && column + j <= self.columns;",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "warp_tile_rows_too_far_apart",
        kernel: "r07_warp_tile_f32",
        what: "a thread's second rows have the stride of its columns",
        edits: &[edit(
            "r07_warp_tile.rs",
            "rows_apart: 4 * BlockTile::LANES_M,",
            "rows_apart: 4 * BlockTile::LANES_N,",
        )],
        expect: faults(&["GlobalRace", "UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "double_buffer_no_barrier",
        kernel: "r08_double_buffer_f32",
        what: "no barrier between storing the next stage and reading it",
        edits: &[edit(
            "r08_double_buffer.rs",
            "                // there.
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
        id: "double_buffer_one_stage",
        kernel: "r08_double_buffer_f32",
        what: "the next k-tile is stored into the stage that is read",
        edits: &[edit(
            "r08_double_buffer.rs",
            "                now = TILE.stage_elems() - now;\n",
            "\n",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "double_buffer_reads_before_barrier",
        kernel: "r08_double_buffer_f32",
        what: "the first fragments of the next stage are read before the barrier",
        edits: &[edit(
            "r08_double_buffer.rs",
            "                thread::sync_threads();
                // SAFETY: filled, by the barrier.
                unsafe { fragments(stage(now), place, 0) }
",
            "                let first = unsafe { fragments(stage(now), place, 0) };
                thread::sync_threads();
                first
",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "double_buffer_same_step_again",
        kernel: "r08_double_buffer_f32",
        what: "the prefetch loads the current k-tile",
        edits: &[edit(
            "r08_double_buffer.rs",
            "copier.load(k0 + TILE.k)",
            "copier.load(k0)",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
];
