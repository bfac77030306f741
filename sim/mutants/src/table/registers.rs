//! `register_tile` with one mistake each: register tiles.

use super::Tool::{Memcheck, Racecheck};
use super::{Expect, ROW, Row, edit, faults};

const WAR: &str = "        // WAR: the tiles are drained before the next k-tile overwrites them.
        thread::sync_threads();
";

pub const ROWS: &[Row] = &[
    Row {
        id: "register_tile_no_second_barrier",
        kernel: "register_tile_f32",
        what: "no barrier between reading the tiles and overwriting them",
        edits: &[edit("register_tile.rs", WAR, "\n\n")],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "register_tile_no_padding",
        kernel: "register_tile_f32",
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
        kernel: "register_tile_f32",
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
        kernel: "register_tile_f32",
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
];
