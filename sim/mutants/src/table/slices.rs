//! Slices of K with one mistake each, in rung 10 and in rung 17, where warpgroups meet.

use super::Tool::{Initcheck, Racecheck};
use super::{Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "r10_gemm_nn4_64x64_f32";
const WARPGROUPS: &str = "r17_wgmma_gemm_nn_64x64_f16";

pub const ROWS: &[Row] = &[
    Row {
        id: "slices_counters_not_reset",
        kernel: KERNEL,
        what: "the last block leaves its counter as it is: the next launch counts on",
        edits: &[meeting(
            "                        atomic_fetch_add_relaxed_u32_device(counter, members.wrapping_neg());\n",
            "\n",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "slices_no_fence_before",
        kernel: KERNEL,
        what: "no fence between a block's sums and its count",
        edits: &[meeting(
            "                thread::device_fence();
                // SAFETY: one counter",
            "
                // SAFETY: one counter",
        )],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "slices_no_fence_after",
        kernel: KERNEL,
        what: "no fence between the count and the sums of the others",
        edits: &[meeting(
            "                // What the other blocks left before they were counted is visible after.
                thread::device_fence();
",
            "\n\n",
        )],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "slices_no_barrier",
        kernel: KERNEL,
        what: "thread 0 counts the block while others still store their sums",
        edits: &[meeting("            unsafe { party.sync() };\n", "\n")],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "slices_one_too_early",
        kernel: KERNEL,
        what: "the last block but one adds up",
        edits: &[meeting(
            "last = before == members - 1;",
            "last = before == members - 2;",
        )],
        expect: Expect::Faults {
            all: &["GlobalRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Initcheck],
        ..ROW
    },
    Row {
        id: "slices_nobody_is_last",
        kernel: KERNEL,
        what: "the block that adds up would come after the last one",
        edits: &[meeting("last = before == members - 1;", "last = before == members;")],
        expect: Expect::Mismatch,
        seen_by: &[Initcheck],
        ..ROW
    },
    Row {
        id: "slices_own_sums_twice",
        kernel: KERNEL,
        what: "the last block adds all sums to its own, which are among them",
        edits: &[meeting("                    sums[i][j] = 0.0;\n", "\n")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "slices_share_a_slot",
        kernel: KERNEL,
        what: "a slot is counted as if there were one tile",
        edits: &[meeting(
            "slot as usize * tiles as usize + tile as usize",
            "slot as usize + tile as usize",
        )],
        expect: Expect::Faults {
            all: &["GlobalRace"],
            also: &["UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "slices_without_end",
        kernel: KERNEL,
        what: "each slice goes on to the end of K",
        edits: &[edit(
            "pipeline/mod.rs",
            "args.k.min(k_begin + call.slice_k);",
            "args.k;",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "slices_answer_not_awaited",
        kernel: WARPGROUPS,
        what: "threads read thread 0's answer without a barrier",
        edits: &[edit(
            "wgmma/epilogue.rs",
            "            // RAW: the answer is there.
            self.sync();
",
            "\n\n",
        )],
        // Those who take it for a no go away.
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead", "Deadlock", "GlobalRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "slices_answer_overwritten",
        kernel: WARPGROUPS,
        what: "the panel is written while threads still read thread 0's answer from it",
        edits: &[edit(
            "wgmma/epilogue.rs",
            "            // WAR: all have read it.
            self.sync();
",
            "\n\n",
        )],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "slices_warpgroups_not_reset",
        kernel: WARPGROUPS,
        what: "the last warpgroup leaves its counter as it is",
        edits: &[meeting(
            "                        atomic_fetch_add_relaxed_u32_device(counter, members.wrapping_neg());\n",
            "\n",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
];

const fn meeting(find: &'static str, replace: &'static str) -> Edit {
    edit("src/slices.rs", find, replace)
}
