//! The epilogue of `wgmma` with one mistake each: `stmatrix`, then TMA stores.

use super::Tool::Racecheck;
use super::{Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "wgmma_nn_128x128_f16";

pub const ROWS: &[Row] = &[
    Row {
        id: "store_no_proxy_fence",
        kernel: KERNEL,
        what: "no proxy fence between the epilogue subtile and the TMA store that reads it",
        edits: &[epilogue("            bulk_copy::proxy_fence();\n", "\n")],
        expect: faults(&["MissingProxyFence"]),
        ..ROW
    },
    Row {
        id: "store_fence_after_barrier",
        kernel: KERNEL,
        what: "the proxy fence follows the barrier, so the wrong threads execute it",
        edits: &[epilogue(
            "            bulk_copy::proxy_fence();
            // RAW: the subtile is written, and the async proxy sees it.
            warpgroup.sync();
",
            "
            // RAW: the subtile is written, and the async proxy sees it.
            warpgroup.sync(); bulk_copy::proxy_fence();
",
        )],
        expect: faults(&["MissingProxyFence"]),
        ..ROW
    },
    Row {
        id: "store_no_barrier_before",
        kernel: KERNEL,
        what: "the TMA store starts while other warps write the epilogue subtile",
        edits: &[epilogue(
            "            // RAW: the subtile is written, and the async proxy sees it.
            warpgroup.sync();
",
            "\n\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead", "MissingProxyFence"],
        },
        ..ROW
    },
    Row {
        id: "store_no_wait",
        kernel: KERNEL,
        what: "an epilogue subtile is written while the previous tile's TMA store reads it",
        edits: &[epilogue("_ => bulk_copy::wait_read::<1>(),", "_ => {}")],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "store_waits_for_a_group_too_few",
        kernel: KERNEL,
        what: "the wait leaves the TMA stores of both subtiles pending",
        edits: &[epilogue(
            "_ => bulk_copy::wait_read::<1>(),",
            "_ => bulk_copy::wait_read::<2>(),",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "store_no_commit",
        kernel: KERNEL,
        what: "the TMA store is not committed, so no wait covers it",
        edits: &[epilogue("                bulk_copy::commit();\n", "\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["ExitDuringCopy"],
        },
        ..ROW
    },
    Row {
        id: "store_no_barrier_after_wait",
        kernel: KERNEL,
        what: "warps write the subtile before the issuing thread has waited for its TMA store",
        edits: &[epilogue(
            "                // WAR: the TMA store that read this buffer last is done.
                warpgroup.sync();
",
            "\n\n",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "store_stages_still_read",
        kernel: KERNEL,
        what: "a warpgroup writes its last subtiles to stages that the other's mma still reads",
        edits: &[epilogue(
            "        unsafe { named_barrier::sync(ALL, tile.consumers() * WgmmaTile::WARPGROUP) };\n",
            "\n",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "store_barrier_of_one_warpgroup",
        kernel: KERNEL,
        what: "the barrier of both warpgroups counts the threads of one",
        edits: &[epilogue(
            "named_barrier::sync(ALL, tile.consumers() * WgmmaTile::WARPGROUP)",
            "named_barrier::sync(ALL, WgmmaTile::WARPGROUP)",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "store_same_barrier",
        kernel: KERNEL,
        what: "both warpgroups use the same named barrier",
        edits: &[epilogue("        1 + self.number\n", "        1\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "store_not_swizzled",
        kernel: KERNEL,
        what: "the subtile is written without the swizzle of its tensor map",
        edits: &[epilogue(
            "    if columns == WgmmaTile::SWIZZLE_ATOM {\n",
            "    if columns == 0 {\n",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "store_matrices_exchanged",
        kernel: KERNEL,
        what: "the second and the third matrix of a stmatrix are swapped",
        edits: &[epilogue("[0, 2, 4, 6].map(", "[0, 4, 2, 6].map(")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "store_lanes_of_another_warp",
        kernel: KERNEL,
        what: "every warp writes the subtile's first 16 rows",
        edits: &[epilogue(
            "let (row, half) = (16 * (t / 32) + lane % 16, lane / 16);",
            "let (row, half) = (lane % 16, lane / 16);",
        )],
        expect: faults(&["SharedRace", "UninitializedRead"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "store_same_panels",
        kernel: KERNEL,
        what: "both warpgroups write the first one's subtiles",
        edits: &[epilogue(
            "tile.pipeline_elems() + warpgroup.number * tile.c_subtiles * tile.c_subtile_elems()",
            "tile.pipeline_elems()",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["MissingProxyFence"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
];

const fn epilogue(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma/epilogue.rs", find, replace)
}
