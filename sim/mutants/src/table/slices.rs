//! Split-K reduction with one mistake each, in `simt` and in `wgmma`.

use super::Tool::{Initcheck, Racecheck};
use super::{Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "simt_nn4_64x64_f32";
/// Whose threads load all slots of a group at once.
const FEW_ACCUMULATORS: &str = "mma_sync_nt2_32x32_f16";
const WARPGROUPS: &str = "wgmma_nn_64x64_f16";

pub const ROWS: &[Row] = &[
    Row {
        id: "slices_counters_not_reset",
        kernel: KERNEL,
        what: "the last CTA does not reset its counter: the next launch continues the count",
        edits: &[reduction(
            "                        atomic_fetch_add_relaxed_u32_device(counter, members.wrapping_neg());\n",
            "\n",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "slices_no_fence_before",
        kernel: KERNEL,
        what: "no fence between a CTA's accumulators and its count",
        edits: &[reduction(
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
        what: "no fence between the count and the other CTAs' accumulators",
        edits: &[reduction(
            "                // What the other CTAs stored before they were counted is visible after.
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
        what: "thread 0 counts the CTA while other threads still store their accumulators",
        edits: &[reduction("            unsafe { group.sync() };\n", "\n")],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "slices_one_too_early",
        kernel: KERNEL,
        what: "the last CTA but one reduces",
        edits: &[reduction(
            "last = arrived == members - 1;",
            "last = arrived == members - 2;",
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
        what: "the CTA that reduces would be one after the last",
        edits: &[reduction(
            "last = arrived == members - 1;",
            "last = arrived == members;",
        )],
        expect: Expect::Mismatch,
        seen_by: &[Initcheck],
        ..ROW
    },
    Row {
        id: "slices_own_sums_twice",
        kernel: KERNEL,
        what: "the last CTA adds its own accumulators twice",
        edits: &[reduction("                    acc[i][j] = A::ZERO;\n", "\n")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "slices_past_the_end",
        kernel: FEW_ACCUMULATORS,
        what: "slots past the last split are loaded too",
        edits: &[reduction("threads, slot < end)", "threads, true)")],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "slices_share_a_slot",
        kernel: KERNEL,
        what: "a workspace slot is indexed as if there were one tile",
        edits: &[reduction(
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
        what: "each split continues to the end of K",
        edits: &[edit(
            "simt/mod.rs",
            "args.k.min(k_begin + params.k_per_split);",
            "args.k;",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "slices_answer_not_awaited",
        kernel: WARPGROUPS,
        what: "threads read thread 0's flag without a barrier",
        edits: &[edit(
            "wgmma/epilogue.rs",
            "            // RAW: the flag is written.
            self.sync();
",
            "\n\n",
        )],
        // Threads that read the flag as false exit.
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
        what: "the epilogue subtile is written while threads still read thread 0's flag from it",
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
        what: "the last warpgroup does not reset its counter",
        edits: &[reduction(
            "                        atomic_fetch_add_relaxed_u32_device(counter, members.wrapping_neg());\n",
            "\n",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
];

const fn reduction(find: &'static str, replace: &'static str) -> Edit {
    edit("block/split_k.rs", find, replace)
}
