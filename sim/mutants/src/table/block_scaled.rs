//! Block-scaled products with one mistake each.

use super::{Edit, Expect, ROW, Row, edit, faults};

const NVFP4: &str = "mma_block_scaled_nvfp4_64x128x128_bf16";
const MXFP8: &str = "mma_block_scaled_mxfp8_128x128x128_bf16";

pub const ROWS: &[Row] = &[
    Row {
        id: "scaled_full_not_awaited",
        kernel: NVFP4,
        what: "a stage is read before its loads have arrived",
        edits: &[body(
            "            mbarrier::wait(pipeline.barriers, pipeline.full::<T>(state.stage), state.phase);\n",
            "\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Deadlock", "UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "scaled_empty_not_awaited",
        kernel: NVFP4,
        what: "a stage is filled while warps still read it",
        edits: &[body(
            "            mbarrier::wait(pipeline.barriers, pipeline.empty::<T>(stage), phase ^ 1);\n",
            "\n",
        )],
        expect: faults(&["Mbarrier"]),
        ..ROW
    },
    Row {
        id: "scaled_no_sync_warp",
        kernel: NVFP4,
        what: "lane 0 releases a stage that other lanes still read",
        edits: &[body("            warp::sync_warp(u32::MAX);\n", "\n")],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "scaled_released_by_seven",
        kernel: NVFP4,
        what: "a stage is empty when seven of eight warps have released it",
        edits: &[body(
            "pipeline.empty::<T>(stage), consumer_warps)",
            "pipeline.empty::<T>(stage), consumer_warps - 1)",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "scaled_scales_not_counted",
        kernel: NVFP4,
        what: "a stage is full before its last scales have arrived",
        edits: &[body(
            "mbarrier::arrive_expect_tx(pipeline.barriers, full, stage_bytes);",
            "mbarrier::arrive_expect_tx(pipeline.barriers, full, stage_bytes - scale_a_bytes);",
        )],
        expect: Expect::Any(&["Deadlock", "ExitDuringCopy", "SharedRace"]),
        ..ROW
    },
    Row {
        id: "scaled_drain_not_awaited",
        kernel: NVFP4,
        what: "a warp writes C to stages that other warps still read",
        edits: &[body(
            "        unsafe { named_barrier::sync(CONSUMERS, const { 32 * T::TILE.consumer_warps() }) };\n",
            "\n",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "scaled_halves_of_quads_exchanged",
        kernel: NVFP4,
        what: "16 rows are multiplied with the scales of the next 16",
        edits: &[body("half: (i % 2) as u16,", "half: ((i + 1) % 2) as u16,")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "scaled_columns_of_the_first_lane",
        kernel: NVFP4,
        what: "all columns are multiplied with the scales of the first 8",
        edits: &[body("part: (j % 4) as u16,", "part: 0,")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "scaled_first_block_of_k_twice",
        kernel: NVFP4,
        what: "the second half of a k-tile is multiplied with the scales of the first",
        edits: &[scales(
            "k_block * tile.format.mma_k() / tile.format.scale_tile_k()",
            "0 * k_block * tile.format.mma_k()",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "scaled_first_tile_of_rows",
        kernel: NVFP4,
        what: "rows from 128 on are multiplied with the scales of the first",
        edits: &[body(
            "(first / scales::TILE_ROWS) as i32",
            "(0 * first / scales::TILE_ROWS) as i32",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "scaled_first_byte",
        kernel: MXFP8,
        what: "every block of k is multiplied with the scale of the first",
        edits: &[body(
            "                byte,\n                half",
            "                byte: 0 * byte,\n                half",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "scaled_k_tile_left_out",
        kernel: MXFP8,
        what: "the last k-tile, which is not whole, is left out",
        edits: &[
            body(
                "    while k_tile * tile.k < k {",
                "    while k_tile * tile.k + tile.k <= k {",
            ),
            body(
                "    while k_tile * tile.k < params.k {",
                "    while k_tile * tile.k + tile.k <= params.k {",
            ),
        ],
        expect: Expect::Mismatch,
        ..ROW
    },
];

const fn body(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_block_scaled/mod.rs", find, replace)
}

const fn scales(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_block_scaled/scales.rs", find, replace)
}
