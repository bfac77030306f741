//! FP8 products with one mistake each: the pipeline, scales, promotion.

use super::{Edit, Expect, ROW, Row, edit, faults};

const BLOCKS: &str = "wgmma_fp8_blocks_e4m3_e4m3_128x128_bf16";
const PROMOTED: &str = "wgmma_fp8_promoted_e4m3_e4m3_64x128_bf16";

pub const ROWS: &[Row] = &[
    Row {
        id: "fp8_full_not_awaited",
        kernel: BLOCKS,
        what: "a stage is read before its loads have arrived",
        edits: &[consumer(
            "            mbarrier::wait(self.pipeline.barriers, full::<T>(stage), phase);\n",
            "\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Deadlock", "Mbarrier", "UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "fp8_empty_not_awaited",
        kernel: BLOCKS,
        what: "a stage is filled while warps still read it",
        edits: &[producer(
            "                    mbarrier::wait(pipeline.barriers, empty::<T>(stage), phase ^ 1);\n",
            "\n",
        )],
        expect: faults(&["Mbarrier"]),
        ..ROW
    },
    Row {
        id: "fp8_stage_released_early",
        kernel: BLOCKS,
        what: "a stage is released while the mma of its k-tile are pending",
        edits: &[consumer(
            "                self.add::<ACCUMULATORS, 1>(acc, &mut even);
                start(self, &mut even, k_tile + 2);
",
            "                self.add::<ACCUMULATORS, 2>(acc, &mut even);
                start(self, &mut even, k_tile + 2);
",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "fp8_scales_not_counted",
        kernel: BLOCKS,
        what: "a stage is full before its scales have arrived",
        edits: &[producer("+ const { 4 * T::MODE.scale_rows(T::TILE) };", "+ 0;")],
        expect: Expect::Any(&["Deadlock", "ExitDuringCopy", "SharedRace", "Mbarrier"]),
        ..ROW
    },
    Row {
        id: "fp8_no_sync_warp",
        kernel: BLOCKS,
        what: "lane 0 releases a stage from which other lanes still load scales",
        edits: &[consumer("            unsafe { warp::sync_warp(u32::MAX) };\n", "\n")],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "fp8_released_by_three",
        kernel: BLOCKS,
        what: "a stage is empty when six of eight warps have released it",
        edits: &[body("if T::SCALES { 4 } else { 1 }", "if T::SCALES { 3 } else { 1 }")],
        expect: Expect::Any(&["SharedRace", "Mbarrier"]),
        ..ROW
    },
    Row {
        id: "fp8_scales_of_rows_exchanged",
        kernel: BLOCKS,
        what: "a thread's two rows have each other's scale",
        edits: &[consumer("part.scales = [0, 8].map(", "part.scales = [8, 0].map(")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "fp8_scales_of_one_row",
        kernel: BLOCKS,
        what: "a thread's second row has the scale of the first",
        edits: &[consumer("part.scales[i / 2], part.acc", "part.scales[i / 4], part.acc")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "fp8_first_block_of_columns",
        kernel: BLOCKS,
        what: "every k-tile has the first scale of B",
        edits: &[consumer(
            "of_columns.get(k_tile as usize)",
            "of_columns.get(0 * k_tile as usize)",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "fp8_first_columns",
        kernel: BLOCKS,
        what: "columns from 128 on have the scales of the first",
        edits: &[schedule(
            "let before = work.column / 128;",
            "let before = 0 * work.column / 128;",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "fp8_first_line_of_scales",
        kernel: BLOCKS,
        what: "every k-tile has the first scales of A",
        edits: &[producer(
            "let at = [row, of_a * work.k_tiles + k_tile].map",
            "let at = [row, of_a * work.k_tiles + 0 * k_tile].map",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "fp8_last_k_tile_alone",
        kernel: PROMOTED,
        what: "a k-tile's product replaces those before it",
        edits: &[consumer(
            "fma(&mut acc[4 * vec4 + i], part.scales[i / 2], part.acc[4 * vec4 + i]);",
            "acc[4 * vec4 + i] = part.scales[i / 2] * part.acc[4 * vec4 + i];",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "fp8_k_block_twice",
        kernel: PROMOTED,
        what: "the first 32 of a k-tile are multiplied four times",
        edits: &[consumer(
            "let bytes = at + K_BLOCK_BYTES * k_block;",
            "let bytes = at + 0 * k_block;",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "fp8_scale_of_the_first_column",
        kernel: PROMOTED,
        what: "a thread's two columns have the scale of the first",
        edits: &[consumer(
            "*= of_row[i / 2] * scales[vec4][i % 2];",
            "*= of_row[i / 2] * scales[vec4][i / 4];",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
];

const fn body(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma_fp8/mod.rs", find, replace)
}

const fn consumer(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma_fp8/consumer.rs", find, replace)
}

const fn schedule(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma_fp8/schedule.rs", find, replace)
}

const fn producer(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma_fp8/producer.rs", find, replace)
}
