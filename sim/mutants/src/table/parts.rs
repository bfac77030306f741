//! f32 in parts with one mistake each: the split, and the consumers that multiply the parts.

use super::Tool::{Memcheck, Racecheck};
use super::{Device, Edit, Expect, ROW, Row, edit, faults};

const SPLIT: &str = "split_rows_f32";
const PRODUCT: &str = "wgmma_bf16x6_nn_128x128_f32";

pub const ROWS: &[Row] = &[
    Row {
        id: "split_no_guard",
        kernel: SPLIT,
        what: "threads past the last row split, too",
        edits: &[split(
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
        id: "split_past_the_row",
        kernel: SPLIT,
        what: "elements past the end of a row are loaded",
        edits: &[split("(i as u32).min(left - 1) as usize", "i")],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "split_same_part_thrice",
        kernel: SPLIT,
        what: "a part does not leave its rest to the next",
        edits: &[split("element - f32::from_bits(part)", "element")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "parts_stage_released_early",
        kernel: PRODUCT,
        what: "consumer_release of the stage, whose mma are pending",
        edits: &[consumer(
            "                wgmma::wait::<0, _>(&mut sum);
                release::<T>(pipeline, stage, t);
",
            "                release::<T>(pipeline, stage, t);
                wgmma::wait::<0, _>(&mut sum);
",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Mbarrier", "Cluster"],
        },
        ..ROW
    },
    Row {
        id: "parts_pair_left_out",
        kernel: PRODUCT,
        what: "a pair of parts is multiplied twice, another not at all",
        edits: &[consumer("[1, 0], [0, 1], [0, 0]]", "[1, 0], [1, 0], [0, 0]]")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "parts_last_k_tile_alone",
        kernel: PRODUCT,
        what: "the accumulators of a k-tile are not added to those of all of K",
        edits: &[consumer(
            "            add(&mut acc, &sum);\n",
            "            acc = sum;\n",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "parts_first_part_thrice",
        kernel: PRODUCT,
        what: "the producer loads A's first part in place of the others",
        edits: &[producer("[row, k, plane_a + part]", "[row, k, plane_a]")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "parts_bytes_of_one",
        kernel: PRODUCT,
        // Complete at the moment when as many have come, or never.
        what: "the phase expects the bytes of one part",
        edits: &[producer("const { T::TILE.parts * T::TILE.k *", "const { T::TILE.k *")],
        expect: Expect::Any(&["SharedRace", "Deadlock", "Mbarrier", "Cluster"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "sums_no_sync_warp_before",
        kernel: PRODUCT,
        what: "lanes read the writes of other lanes without sync_warp",
        edits: &[stores(
            "            // RAW: the warp's accumulators are written.
            warp::sync_warp(u32::MAX);
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
        id: "sums_no_sync_warp_after",
        kernel: PRODUCT,
        what: "the next columns overwrite data that other lanes of the warp still read",
        edits: &[stores(
            "            // WAR: the warp's accumulators are read.
            warp::sync_warp(u32::MAX);
",
            "\n\n",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "sums_in_few_banks",
        kernel: PRODUCT,
        what: "a warp's accumulators are not swizzled: correct, but rows share banks",
        edits: &[stores("(vec4 ^ (row % 4 * 2)) * 4", "vec4 * 4")],
        expect: Expect::Slower,
        ..ROW
    },
    Row {
        id: "sums_store_guard_incomplete",
        kernel: PRODUCT,
        what: "C's rows are not guarded",
        edits: &[stores(
            "if row < end_row && self.column < end_column {",
            "if self.column < end_column {",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
];

const fn split(find: &'static str, replace: &'static str) -> Edit {
    edit("split_rows.rs", find, replace)
}

const fn consumer(find: &'static str, replace: &'static str) -> Edit {
    edit("parts.rs", find, replace)
}

const fn producer(find: &'static str, replace: &'static str) -> Edit {
    edit("producer.rs", find, replace)
}

const fn stores(find: &'static str, replace: &'static str) -> Edit {
    edit("block/warp_store.rs", find, replace)
}
