//! Batches and groups of rows with one mistake each.

use super::{Edit, Expect, ROW, Row, edit, faults};

const BATCH: &str = "simt_nn4_32x32_f32";
const GROUPS: &str = "simt_groups_nn4_32x128_f32";
const GROUPS_WGMMA: &str = "wgmma_groups_nn_64x128_f16";

pub const ROWS: &[Row] = &[
    Row {
        id: "batch_with_the_first_b",
        kernel: BATCH,
        what: "every product of a batch has the B of the first",
        edits: &[edit(
            "simt/loader.rs",
            "Global::new_with(batch::b(params), ",
            "Global::new_with(params.b, ",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "batch_into_the_first_c",
        kernel: BATCH,
        what: "every product of a batch is stored to the C of the first",
        edits: &[edit(
            "simt/epilogue.rs",
            "let c = batch::c::<f32, f32>(params);",
            "let c = params.c;",
        )],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "groups_stored_behind_their_end",
        kernel: GROUPS,
        what: "the last tile of a group is stored up to the last row of C",
        edits: &[simt(
            "let params = &groups::params_of(params, at);",
            "let params = &GemmParams { m: params.m, ..groups::params_of(params, at) };",
        )],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "groups_with_the_first_b",
        kernel: GROUPS_WGMMA,
        what: "every group has the B of the first",
        edits: &[edit("wgmma/tile_scheduler.rs", "product: at.group,", "product: 0,")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "groups_tma_stores_behind_their_end",
        kernel: GROUPS_WGMMA,
        what: "TMA stores tiles whose last rows are of the next group",
        edits: &[epilogue("            && is_inside\n", "\n")],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "groups_subtile_still_stored",
        kernel: GROUPS_WGMMA,
        what: "a tile with predicated stores does not wait for the TMA stores of the one before",
        edits: &[epilogue(
            "            if const { T::TILE.groups } {
                bulk_copy::wait_read::<0>();",
            "            if const { false } {
                bulk_copy::wait_read::<0>();",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
];

const fn simt(find: &'static str, replace: &'static str) -> Edit {
    edit("simt/mod.rs", find, replace)
}

const fn epilogue(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma/epilogue.rs", find, replace)
}
