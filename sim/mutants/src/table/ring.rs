//! `wgmma` with one mistake each: tensor maps, mbarriers, `wgmma`, persistent CTAs.

use super::Tool::{Initcheck, Memcheck, Racecheck, Synccheck};
use super::{Device, Edit, Expect, ROW, Row, edit, faults};

const RING: &str = "wgmma_ring";
const PERSISTENT: &str = "wgmma_persistent";

pub const ROWS: &[Row] = &[
    Row {
        id: "mbarrier_full_not_awaited",
        kernel: RING,
        what: "mma without a wait for the full barrier",
        edits: &[consumer(
            "                mbarrier::wait(pipeline.barriers, full::<T>(stage), phase);\n",
            "\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Mbarrier"],
        },
        ..ROW
    },
    Row {
        id: "mbarrier_full_wrong_parity",
        kernel: RING,
        what: "the consumers wait for the previous phase, which is complete",
        edits: &[consumer("full::<T>(stage), phase);", "full::<T>(stage), phase ^ 1);")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Mbarrier"],
        },
        ..ROW
    },
    Row {
        id: "mbarrier_empty_wrong_parity",
        kernel: RING,
        what: "the producer waits for consumers before the first load",
        edits: &[producer(
            "mbarrier::wait(pipeline.barriers, empty::<T>(stage), phase ^ 1);",
            "mbarrier::wait(pipeline.barriers, empty::<T>(stage), phase);",
        )],
        expect: faults(&["Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "mbarrier_empty_not_awaited",
        kernel: RING,
        what: "no producer_acquire: the producer expects the next bytes in a phase that is not complete",
        edits: &[producer(
            "                    mbarrier::wait(pipeline.barriers, empty::<T>(stage), phase ^ 1);\n",
            "\n",
        )],
        expect: Expect::Faults {
            all: &["Mbarrier"],
            also: &["SharedRace"],
        },
        ..ROW
    },
    Row {
        id: "mbarrier_too_few_bytes",
        kernel: RING,
        // Complete at the moment when as many have come, or never.
        what: "the phase expects A's bytes alone",
        edits: &[producer("let bytes = (a_rows + b_rows) *", "let bytes = a_rows *")],
        expect: Expect::Any(&["SharedRace", "Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "mbarrier_too_many_bytes",
        kernel: RING,
        what: "the phase expects bytes for rows of A that TMA does not write",
        edits: &[producer(
            "let bytes = (a_rows + b_rows) *",
            "let bytes = (tile.m + b_rows) *",
        )],
        expect: faults(&["Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "mbarrier_one_reader",
        kernel: RING,
        what: "the empty barrier expects the arrival of one of two warpgroups: the other completes the next phase",
        edits: &[block(
            "tile.readers() * tile.cluster * const {",
            "tile.cluster * const {",
        )],
        expect: faults(&["Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "mbarrier_no_fence",
        kernel: PERSISTENT,
        what: "no fence between the initialization of the barriers and the copies that complete on them",
        edits: &[block("            mbarrier::fence_init();\n", "\n")],
        expect: faults(&["Mbarrier"]),
        ..ROW
    },
    Row {
        id: "mbarrier_no_block_barrier",
        kernel: RING,
        what: "no barrier between the initialization of the barriers and their use",
        edits: &[block(
            "        // RAW: the CTA's barriers are initialized.
        thread::sync_threads();
",
            "\n\n",
        )],
        // Without that barrier nothing orders what the CTA clears and what `wgmma` reads, either.
        expect: faults(&["SharedRace", "MissingProxyFence"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "mbarrier_every_warp_initialises",
        kernel: RING,
        what: "a thread of each warp initializes the barriers",
        edits: &[block("if warp == 0 && elect(u32::MAX) {", "if elect(u32::MAX) {")],
        expect: faults(&["Mbarrier"]),
        ..ROW
    },
    Row {
        id: "rest_not_fenced",
        kernel: RING,
        what: "no proxy fence between the zero-fill after A's last row and the mma that reads it",
        edits: &[block("    bulk_copy::proxy_fence();\n", "\n")],
        expect: faults(&["MissingProxyFence"]),
        ..ROW
    },
    Row {
        id: "rest_not_cleared",
        kernel: RING,
        what: "the rows of A that TMA does not write are not zero-filled",
        edits: &[block("        zero_fill(start, rows[0], tile.m);\n", "\n")],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "rest_cleared_late",
        kernel: RING,
        what: "the zero-fill starts at the first row, which TMA writes",
        edits: &[
            block(
                "        if const { T::TILE.cluster == 1 } && rows != [tile.m, tile.n] {
            zero_fill_out_of_bounds::<E, T>(pipeline, rows);
        }
",
                "\n\n\n",
            ),
            block(
                "    let warpgroup = warp / 4;\n",
                "    let warpgroup = warp / 4; unsafe { zero_fill_out_of_bounds::<E, T>(pipeline, rows) };\n",
            ),
        ],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["MissingProxyFence", "UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "wgmma_no_fence",
        kernel: RING,
        what: "no wgmma.fence between the zeroed accumulators and the first mma",
        edits: &[consumer(
            "                unrolled!(const M_TILES, |m| wgmma::fence(&mut acc[m]));\n",
            "\n",
        )],
        expect: faults(&["Warpgroup"]),
        ..ROW
    },
    Row {
        id: "wgmma_no_commit",
        kernel: RING,
        what: "the mma are not committed, so no wait covers them",
        edits: &[consumer("                wgmma::commit();\n", "\n")],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "wgmma_threads_of_another_step",
        kernel: RING,
        what: "the last warp of a warpgroup uses the descriptor of the first k-block",
        edits: &[consumer(
            "let b = desc_b.advanced(at + b_bytes * k_block);",
            "let b = desc_b.advanced(at + if t < 96 { b_bytes * k_block } else { 0 });",
        )],
        expect: faults(&["Warpgroup"]),
        ..ROW
    },
    Row {
        id: "wgmma_first_16_of_k_four_times",
        kernel: RING,
        what: "A's descriptor does not advance along K",
        edits: &[consumer("at + a_bytes * k_block + ATOM_BYTES", "at + ATOM_BYTES")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "box_coordinates_swapped",
        kernel: RING,
        what: "row and column of a box of A are swapped",
        edits: &[producer(
            "        load_box(to, [k, row, plane]);\n",
            "        load_box(to, [row, k, plane]);\n",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "stage_released_early",
        kernel: RING,
        what: "consumer_release of the current stage, whose mma are pending",
        edits: &[consumer(
            "                if k_tile > 0 {
                    release::<T>(pipeline, last, t);
                }
",
            "
                    release::<T>(pipeline, stage, t);

",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Mbarrier"],
        },
        ..ROW
    },
    Row {
        id: "stage_released_a_group_early",
        kernel: RING,
        what: "the wait leaves the previous iteration's mma pending, whose stage is released",
        edits: &[consumer(
            "wgmma::wait::<1, _>(&mut acc[m])",
            "wgmma::wait::<2, _>(&mut acc[m])",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "phases_without_end",
        kernel: RING,
        what: "the phase does not flip when the pipeline wraps",
        edits: &[block("phase: self.phase ^ 1,", "phase: self.phase,")],
        expect: Expect::Faults {
            all: &["Mbarrier"],
            also: &["SharedRace"],
        },
        ..ROW
    },
    Row {
        id: "narrow_no_sync_warp_before",
        kernel: RING,
        what: "lanes read the writes of other lanes without sync_warp",
        edits: &[stores(
            "        // RAW: the warp's elements are written. SAFETY: all lanes are here.
        unsafe { warp::sync_warp(u32::MAX) };
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
        id: "narrow_no_sync_warp_after",
        kernel: RING,
        what: "the next columns overwrite data that other lanes of the warp still read",
        edits: &[stores(
            "            // WAR: the warp's elements are read.
            warp::sync_warp(u32::MAX);
",
            "\n\n",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "narrow_in_few_banks",
        kernel: RING,
        what: "a warp's elements are not swizzled: correct, but rows share banks",
        edits: &[stores("(word ^ (row / rows_of_banks % (self.words / 4) * 4))", "word")],
        expect: Expect::Slower,
        ..ROW
    },
    Row {
        id: "narrow_store_guard_incomplete",
        kernel: RING,
        what: "C's rows are not guarded",
        edits: &[stores(
            "if inside && 2 * word < self.columns {",
            "if 2 * word < self.columns {",
        )],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "last_stage_not_released",
        kernel: PERSISTENT,
        what: "no consumer_release of a tile's last stage",
        edits: &[consumer(
            "            if work.k_tiles > 0 {
                release::<T>(pipeline, last, t);
            }
",
            "\n\n\n",
        )],
        expect: faults(&["Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "next_tile_from_the_first_stage",
        kernel: PERSISTENT,
        what: "the consumers start each tile at the first stage, the producer at the next one",
        edits: &[consumer(
            "        if !const { T::TILE.ping_pong } {\n",
            "        state = PipelineState::FIRST;\n        if !const { T::TILE.ping_pong } {\n",
        )],
        expect: Expect::Faults {
            all: &["Deadlock"],
            also: &["SharedRace"],
        },
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "blocks_with_the_same_tiles",
        kernel: PERSISTENT,
        what: "a persistent CTA continues with the next tile instead of its own next tile",
        edits: &[edit(
            "wgmma/tile_scheduler.rs",
            "self.next += self.stride;\n        let k",
            "self.next += 1;\n        let k",
        )],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "last_tile_left_out",
        kernel: PERSISTENT,
        what: "the tile loop ends one tile early",
        edits: &[edit(
            "wgmma/tile_scheduler.rs",
            "self.next >= self.groups_m * self.tiles_n * self.splits * self.batch",
            "self.next + 1 >= self.groups_m * self.tiles_n * self.splits * self.batch",
        )],
        expect: Expect::Mismatch,
        seen_by: &[Initcheck],
        ..ROW
    },
    Row {
        id: "half_a_warpgroup_multiplies",
        kernel: PERSISTENT,
        what: "two warps of a warpgroup exit before the mma",
        edits: &[consumer(
            "    let start = shared_address(pipeline.elems, 0);\n",
            "    if t >= 64 { return } let start = shared_address(pipeline.elems, 0);\n",
        )],
        expect: faults(&["Deadlock"]),
        seen_by: &[Synccheck],
        device: Device::Hangs,
        ..ROW
    },
];

const fn block(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma/mod.rs", find, replace)
}

const fn producer(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma/producer.rs", find, replace)
}

const fn consumer(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma/consumer.rs", find, replace)
}

const fn stores(find: &'static str, replace: &'static str) -> Edit {
    edit("block/narrow_store.rs", find, replace)
}
