//! `wgmma` with one mistake each: clusters of two CTAs, each of which multicasts half of B.

use super::{Device, Edit, Expect, ROW, Row, edit, faults};

const KERNEL: &str = "wgmma_nn_128x256_f16";

pub const ROWS: &[Row] = &[
    Row {
        id: "cluster_no_barrier_at_the_end",
        kernel: KERNEL,
        what: "a CTA exits while the other still arrives at its mbarriers",
        edits: &[producer(
            "            unsafe { cluster::wait_for(pipeline.barriers, empty::<T>(state.stage), state.phase ^ 1) };\n",
            "\n",
        )],
        expect: faults(&["Cluster"]),
        ..ROW
    },
    Row {
        id: "cluster_no_barrier_at_the_start",
        kernel: KERNEL,
        what: "loads are multicast to the other CTA before its mbarriers are initialized",
        edits: &[block(
            "WgmmaTile::PRODUCER_REGISTERS }>();
                }
            }
            if const { T::TILE.cluster > 1 } {",
            "WgmmaTile::PRODUCER_REGISTERS }>();
                }
            }
            if const { false } {",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Mbarrier"],
        },
        ..ROW
    },
    Row {
        id: "cluster_nobody_arrives",
        kernel: KERNEL,
        what: "a wait at the cluster's barrier without an arrival",
        edits: &[block("            cluster::arrive();\n", "\n")],
        expect: faults(&["Cluster"]),
        ..ROW
    },
    Row {
        id: "cluster_wrong_mask",
        kernel: KERNEL,
        what: "the halves of B go to the first CTA alone",
        edits: &[producer("(1 << ctas) - 1", "1")],
        expect: faults(&["Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "cluster_mask_of_a_block_too_many",
        kernel: KERNEL,
        what: "the multicast mask has a bit for a third CTA",
        edits: &[producer("(1 << ctas) - 1", "(2 << ctas) - 1")],
        expect: faults(&["Cluster"]),
        ..ROW
    },
    Row {
        id: "cluster_same_half_twice",
        kernel: KERNEL,
        what: "both CTAs load into the first half of B's stage",
        edits: &[producer(
            "tile.a_elems() + own * const { T::TILE.k };",
            "tile.a_elems();",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        ..ROW
    },
    Row {
        id: "cluster_same_columns_twice",
        kernel: KERNEL,
        what: "both CTAs load the first half of B",
        edits: &[producer(
            "[column + own, k, plane_b + part]",
            "[column, k, plane_b + part]",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "cluster_arrives_at_the_first_block",
        kernel: KERNEL,
        what: "both arrivals at an empty barrier go to the first CTA",
        edits: &[consumer(
            "map(pipeline.barriers, empty::<T>(stage), t)",
            "map(pipeline.barriers, empty::<T>(stage), 0)",
        )],
        expect: Expect::Faults {
            all: &["Deadlock"],
            also: &["Mbarrier", "SharedRace"],
        },
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "cluster_arrives_at_its_own_block",
        kernel: KERNEL,
        what: "a warpgroup releases a stage to its own CTA alone",
        edits: &[consumer(
            "            if t < T::TILE.cluster {
                cluster::arrive_at_after_products(cluster::map(pipeline.barriers, empty::<T>(stage), t));
            }
",
            "            if t == 0 { mbarrier::arrive(pipeline.barriers, empty::<T>(stage)); }


",
        )],
        expect: faults(&["Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "cluster_counts_one_block",
        kernel: KERNEL,
        what: "the empty barriers expect the arrivals of one CTA",
        edits: &[block(
            "tile.readers() * tile.cluster * const {",
            "tile.readers() * const {",
        )],
        expect: Expect::Faults {
            all: &["Mbarrier"],
            also: &["SharedRace"],
        },
        ..ROW
    },
    Row {
        id: "cluster_expects_its_own_half",
        kernel: KERNEL,
        what: "the phase expects only the half of B that the CTA itself loads",
        edits: &[producer(
            "let bytes = (a_rows + b_rows) *",
            "let bytes = (a_rows + b_rows / tile.cluster) *",
        )],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["Deadlock", "ExitDuringCopy"],
        },
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "cluster_empty_not_awaited",
        kernel: KERNEL,
        what: "no producer_acquire: the producer expects the next bytes in a phase that is not complete",
        edits: &[producer(
            "                    cluster::wait_for(pipeline.barriers, empty::<T>(stage), phase ^ 1);\n",
            "\n",
        )],
        expect: Expect::Faults {
            all: &["Mbarrier"],
            also: &["SharedRace"],
        },
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
