//! The kernel of tf32 that computes the transpose of C, with one mistake each: fragments, their groups of mma, stores.

use super::{Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "wgmma_tf32_nn_256x128_f32";

pub const ROWS: &[Row] = &[
    Row {
        id: "tf32_first_half_of_k_twice",
        kernel: KERNEL,
        what: "the second pair of a fragment is loaded from the column of the first",
        edits: &[consumer(
            "first: [of_row(p), of_row(p + 4)]",
            "first: [of_row(p), of_row(p)]",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "tf32_not_swizzled",
        kernel: KERNEL,
        what: "fragments are loaded as if TMA had not swizzled the tile",
        edits: &[consumer("((m % 32 / 4) ^ k) * 4", "(m % 32 / 4) * 4")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "tf32_rows_in_order",
        kernel: KERNEL,
        what: "rows of a fragment in the order of M: lanes of half a warp use half of the banks",
        edits: &[consumer(
            "2 * (warp % 2) + g / 4 + 4 * (g / 2 % 2)",
            "4 * (warp % 2) + g / 2",
        )],
        expect: Expect::Slower,
        ..ROW
    },
    Row {
        id: "tf32_stage_released_early",
        kernel: KERNEL,
        what: "a stage is returned while mma of its second half are pending",
        edits: &[consumer(
            "wgmma::wait::<1, _>(&mut acc);",
            "wgmma::wait::<2, _>(&mut acc);",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "tf32_stage_not_awaited",
        kernel: KERNEL,
        what: "fragments are loaded before the stage is full",
        edits: &[consumer(
            "                mbarrier::wait(pipeline.barriers, full::<T>(stage), phase);\n",
            "\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead", "Deadlock"],
        },
        ..ROW
    },
    Row {
        id: "tf32_pairs_of_rows",
        kernel: KERNEL,
        what: "neighbors in a row of the transpose are stored as neighbors in a row of C",
        edits: &[store(
            "[4 * four + pair, 4 * four + 2 + pair]",
            "[4 * four + 2 * pair, 4 * four + 2 * pair + 1]",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "tf32_pair_at_the_edge",
        kernel: KERNEL,
        what: "pairs are stored where rows of C begin at odd elements",
        edits: &[store("n.is_multiple_of(2) && ld.is_multiple_of(2) && ", "")],
        expect: faults(&["Misaligned"]),
        ..ROW
    },
];

const fn consumer(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma/tf32.rs", find, replace)
}

const fn store(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma/store_registers.rs", find, replace)
}
