//! Lessons 10 to 15 with one mistake each, that of the lesson's idea.

use super::Tool::Racecheck;
use super::{Device, Expect, ROW, Row, edit, faults};

/// A stage that `wgmma` reads while loads write it.
const RACE: Expect = Expect::Faults {
    all: &["SharedRace"],
    also: &["Mbarrier"],
};

pub const ROWS: &[Row] = &[
    Row {
        id: "lesson_mma_waits_for_one_group_too_few",
        kernel: "lesson_10_mma_sync",
        what: "the wait leaves the loads of the next stage pending",
        edits: &[edit(
            "l10_mma_sync.rs",
            "                    async_copy::wait::<2>();\n",
            "                    async_copy::wait::<3>();\n",
        )],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "lesson_mma_not_transposed",
        kernel: "lesson_10_mma_sync",
        what: "B's fragments are loaded without transposing them",
        edits: &[edit("l10_mma_sync.rs", "ldmatrix::load_transposed(", "ldmatrix::load(")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "lesson_mma_not_swizzled",
        kernel: "lesson_10_mma_sync",
        what: "the loads of A are not swizzled, the fragment loads are",
        edits: &[edit(
            "l10_mma_sync.rs",
            "A_ROWS.elem(a_m + 32 * i, a_k / 8)",
            "((a_m + 32 * i) * BLOCK_K + a_k)",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "lesson_wgmma_not_awaited",
        kernel: "lesson_11_wgmma",
        what: "mma without a wait for the bytes of the loads",
        edits: &[edit(
            "l11_wgmma.rs",
            "            mbarrier::wait(barriers, FULL, k_tile % 2);\n",
            "\n",
        )],
        expect: RACE,
        ..ROW
    },
    Row {
        id: "lesson_wgmma_wrong_phase",
        kernel: "lesson_11_wgmma",
        what: "every k-tile waits for the phase of the first one",
        edits: &[edit("l11_wgmma.rs", "FULL, k_tile % 2);", "FULL, 0);")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Mbarrier", "Deadlock"],
        },
        ..ROW
    },
    Row {
        id: "lesson_wgmma_stage_not_drained",
        kernel: "lesson_11_wgmma",
        what: "the wait leaves the mma pending, while the next loads write the stage",
        edits: &[
            edit(
                "l11_wgmma.rs",
                "wgmma::wait::<0, _>(&mut upper);",
                "wgmma::wait::<1, _>(&mut upper);",
            ),
            edit(
                "l11_wgmma.rs",
                "wgmma::wait::<0, _>(&mut lower);",
                "wgmma::wait::<1, _>(&mut lower);",
            ),
        ],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Mbarrier", "Warpgroup"],
        },
        ..ROW
    },
    Row {
        id: "lesson_wgmma_no_fence",
        kernel: "lesson_11_wgmma",
        what: "no wgmma.fence between the zeroed accumulators and the first mma",
        edits: &[
            edit("l11_wgmma.rs", "            wgmma::fence(&mut lower);\n", "\n"),
            edit("l11_wgmma.rs", "            wgmma::fence(&mut upper);\n", "\n"),
        ],
        expect: faults(&["Warpgroup"]),
        ..ROW
    },
    Row {
        id: "lesson_specialized_stage_not_released",
        kernel: "lesson_12_warp_specialized",
        what: "the consumers never release a stage",
        edits: &[edit(
            "l12_warp_specialized.rs",
            "mbarrier::arrive(barriers, EMPTY + stage);",
            "",
        )],
        expect: faults(&["Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "lesson_specialized_released_early",
        kernel: "lesson_12_warp_specialized",
        what: "a stage is released while wgmma reads it",
        edits: &[edit(
            "l12_warp_specialized.rs",
            "                wgmma::wait::<0, _>(&mut acc);\n",
            "                wgmma::wait::<1, _>(&mut acc);\n",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Warpgroup"],
        },
        ..ROW
    },
    Row {
        id: "lesson_specialized_waits_at_first",
        kernel: "lesson_12_warp_specialized",
        what: "the producer waits for consumers before the first load",
        edits: &[edit(
            "l12_warp_specialized.rs",
            "EMPTY + stage, phase ^ 1);",
            "EMPTY + stage, phase);",
        )],
        expect: faults(&["Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "lesson_specialized_expects_a_alone",
        kernel: "lesson_12_warp_specialized",
        what: "the phase expects A's bytes alone",
        edits: &[edit(
            "l12_warp_specialized.rs",
            "FULL + stage, 2 * STAGE);",
            "FULL + stage, 4 * ATOM);",
        )],
        expect: Expect::Any(&["SharedRace", "Deadlock", "Mbarrier", "ExitDuringCopy"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "lesson_persistent_same_tiles",
        kernel: "lesson_13_persistent",
        what: "the consumers go on with the next tile, the producer with its CTA's next one",
        edits: &[edit(
            "l13_persistent.rs",
            "                tile += thread::grid_dim_x();
            }
        }
",
            "                tile += 1;
            }
        }
",
        )],
        expect: Expect::Any(&["Deadlock", "GlobalRace"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "lesson_persistent_pipeline_restarts",
        kernel: "lesson_13_persistent",
        what: "the consumers begin each tile with the first stage, the producer with the next one",
        edits: &[edit(
            "l13_persistent.rs",
            "                let mut acc = <",
            "                i = 0; let mut acc = <",
        )],
        expect: Expect::Faults {
            all: &["Deadlock"],
            also: &["SharedRace", "Mbarrier"],
        },
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "lesson_cluster_no_barrier",
        kernel: "lesson_14_cluster",
        what: "a barrier of the CTA in place of that of the cluster, before the other CTA's mbarriers are used",
        edits: &[edit(
            "l14_cluster.rs",
            "        cluster::arrive();
        cluster::wait();
",
            "        thread::sync_threads();\n\n",
        )],
        expect: Expect::Any(&["SharedRace", "Mbarrier", "Cluster", "Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "lesson_cluster_no_arrival_at_the_other",
        kernel: "lesson_14_cluster",
        what: "a warpgroup releases a stage to its own CTA, twice",
        edits: &[edit(
            "l14_cluster.rs",
            "cluster::map(barriers, EMPTY + stage, t)",
            "cluster::map(barriers, EMPTY + stage, rank)",
        )],
        expect: Expect::Any(&["SharedRace", "Mbarrier", "Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "lesson_cluster_same_half_twice",
        kernel: "lesson_14_cluster",
        what: "both CTAs load the first half of B",
        edits: &[edit("l14_cluster.rs", "in 2 * rank..2 * rank + 2 {", "in 0..2 {")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "lesson_cluster_exits_early",
        kernel: "lesson_14_cluster",
        what: "a CTA exits while the other still arrives at its mbarriers",
        edits: &[edit("l14_cluster.rs", "for i in i..i + STAGES {", "for i in i..i {")],
        expect: faults(&["Cluster"]),
        ..ROW
    },
    Row {
        id: "lesson_store_no_proxy_fence",
        kernel: "lesson_15_tma_store",
        what: "no proxy fence between writing C_s and the TMA stores",
        edits: &[edit(
            "l15_tma_store.rs",
            "                bulk_copy::proxy_fence();\n",
            "\n",
        )],
        expect: faults(&["MissingProxyFence"]),
        ..ROW
    },
    Row {
        id: "lesson_store_no_first_wait",
        kernel: "lesson_15_tma_store",
        what: "C_s is overwritten while TMA stores of the tile before read it",
        edits: &[edit(
            "l15_tma_store.rs",
            "                // WAR: the TMA stores of the tile before have read C_s.
                if warp.is_multiple_of(4) && elect(u32::MAX) {
                    bulk_copy::wait_read::<0>();
                }
",
            "\n\n\n\n",
        )],
        expect: faults(&["SharedRace"]),
        ..ROW
    },
    Row {
        id: "lesson_store_no_barrier",
        kernel: "lesson_15_tma_store",
        what: "no barrier between writing C_s and the TMA stores",
        edits: &[edit(
            "l15_tma_store.rs",
            "                // RAW: C_s is filled, and the async proxy sees it.
                named_barrier::sync(1 + warp / 4, 128);
",
            "\n\n",
        )],
        expect: Expect::Any(&["SharedRace", "MissingProxyFence", "UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "lesson_store_one_panel_for_all",
        kernel: "lesson_15_tma_store",
        what: "both warpgroups use the same part of C_s",
        edits: &[edit("l15_tma_store.rs", "C_S + warp / 4 * 4 * ATOM;", "C_S;")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["MissingProxyFence"],
        },
        ..ROW
    },
];
