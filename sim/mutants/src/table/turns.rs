//! The 128 x 168 tile of `wgmma` with one mistake each: the ping-pong schedule of two warpgroups.

use super::{Device, Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "wgmma_nt_128x168_f16";

pub const ROWS: &[Row] = &[
    Row {
        id: "turns_not_awaited",
        kernel: KERNEL,
        what: "a warpgroup does not wait for its turn: it mistakes a phase for the one two later, of the same parity",
        edits: &[consumer(
            "            unsafe { named_barrier::sync(ORDER + warpgroup, 2 * WgmmaTile::WARPGROUP) };\n",
            "\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Deadlock", "UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "turns_not_given",
        kernel: KERNEL,
        what: "a warpgroup does not signal the other's turn",
        edits: &[consumer(
            "            unsafe { named_barrier::arrive(ORDER + 1 - warpgroup, 2 * WgmmaTile::WARPGROUP) };\n",
            "\n",
        )],
        expect: faults(&["Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "turns_given_to_itself",
        kernel: KERNEL,
        what: "a warpgroup arrives at the barrier of its own turn",
        edits: &[consumer(
            "named_barrier::arrive(ORDER + 1 - warpgroup,",
            "named_barrier::arrive(ORDER + warpgroup,",
        )],
        expect: faults(&["NamedBarrier"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "turns_of_one_warpgroup",
        kernel: KERNEL,
        what: "the wait for a turn counts the threads of one warpgroup, the arrival those of both",
        edits: &[consumer(
            "named_barrier::sync(ORDER + warpgroup, 2 * WgmmaTile::WARPGROUP)",
            "named_barrier::sync(ORDER + warpgroup, WgmmaTile::WARPGROUP)",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Deadlock", "UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "turns_stages_not_skipped",
        kernel: KERNEL,
        what: "a warpgroup continues with the stage after its own last one, which is the other's",
        edits: &[consumer(
            "                state = state.advance_by(work.k_tiles, tile.stages);
            }
            let split",
            "
            }
            let split",
        )],
        expect: Expect::Faults {
            all: &["Mbarrier"],
            also: &["SharedRace"],
        },
        ..ROW
    },
    Row {
        id: "turns_both_begin_with_the_first_stage",
        kernel: KERNEL,
        what: "the second warpgroup starts with the stages of the first tile",
        edits: &[consumer(
            "            state = state.advance_by(first.k_tiles, tile.stages);\n",
            "\n",
        )],
        expect: Expect::Faults {
            all: &["Mbarrier"],
            also: &["SharedRace"],
        },
        ..ROW
    },
    Row {
        id: "turns_parity_of_the_first_round",
        kernel: KERNEL,
        what: "skipping the other's stages does not flip the phase",
        edits: &[edit(
            "wgmma/mod.rs",
            "phase: self.phase ^ (at / stages % 2),",
            "phase: self.phase,",
        )],
        expect: Expect::Faults {
            all: &["Mbarrier"],
            also: &["SharedRace"],
        },
        ..ROW
    },
    Row {
        id: "turns_of_the_same_tiles",
        kernel: KERNEL,
        what: "the first warpgroup does not leave the second tile to the other",
        edits: &[edit(
            "wgmma/tile_scheduler.rs",
            "            self.next += stride;\n",
            "\n",
        )],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "turns_second_rows_as_the_first",
        kernel: KERNEL,
        what: "the second MMA tile of a warpgroup uses the first 64 rows of A",
        edits: &[consumer(
            "at + a_bytes * k_block + ATOM_BYTES * m as u32",
            "at + a_bytes * k_block",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
];

const fn consumer(find: &'static str, replace: &'static str) -> Edit {
    edit("wgmma/consumer.rs", find, replace)
}
