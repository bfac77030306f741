//! Sample kernels with one mistake each in barriers, fences or atomics.

use super::Tool::{Racecheck, Synccheck};
use super::{Device, Edit, Expect, Launch, ROW, Row, faults};

pub const ROWS: &[Row] = &[
    Row {
        id: "reduce_tree_no_barrier",
        kernel: "reduce_tree",
        what: "no barrier between the levels of the tree",
        edits: &[Edit {
            file: "reduction.rs",
            find: "        while half > 0 {
            // RAW: the level before has written what this one reads.
            thread::sync_threads();",
            replace: "        while half > 0 {

",
        }],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "reduce_tree_barrier_in_branch",
        kernel: "reduce_tree",
        what: "the barrier is in the branch of the threads that add",
        edits: &[Edit {
            file: "reduction.rs",
            find: "        while half > 0 {
            // RAW: the level before has written what this one reads.
            thread::sync_threads();
            if t < half {
",
            replace: "        while half > 0 {

            if t < half {
            thread::sync_threads();
",
        }],
        expect: faults(&["BarrierDivergence"]),
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "reduce_tree_other_thread_stores",
        kernel: "reduce_tree",
        what: "the sum is stored by a thread of another warp than the one that computed it, without a barrier",
        edits: &[Edit {
            file: "reduction.rs",
            find: "        // The last level was computed by the thread that stores it.
        if t == 0 {",
            replace: "
        if t == THREADS - 1 {",
        }],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "transpose_no_barrier",
        kernel: "transpose_padded",
        what: "no barrier between filling the tile and reading its columns",
        edits: &[Edit {
            file: "transpose.rs",
            find: "        thread::sync_threads();",
            replace: "",
        }],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "transpose_barrier_in_guard",
        kernel: "transpose_padded",
        what: "the barrier is inside the guard of the matrix's edge: some threads of the last blocks skip it",
        edits: &[Edit {
            file: "transpose.rs",
            find: "        thread::sync_threads();",
            replace: "        if first_row + tx < rows { thread::sync_threads(); }",
        }],
        expect: faults(&["BarrierDivergence"]),
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "scan_no_barrier",
        kernel: "scan_inclusive",
        what: "no barrier between the iterations",
        edits: &[Edit {
            file: "scan.rs",
            find: "            thread::sync_threads();",
            replace: "",
        }],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "scan_one_buffer",
        kernel: "scan_inclusive",
        what: "one buffer instead of two: an iteration overwrites elements that it still reads",
        edits: &[Edit {
            file: "scan.rs",
            find: "buffers.part(THREADS, THREADS)",
            replace: "buffers.part(0, THREADS)",
        }],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "scan_return_before_barrier",
        kernel: "scan_inclusive",
        what: "threads beyond the end return before the barriers",
        edits: &[Edit {
            file: "scan.rs",
            find: "        let mut distance = 1;",
            replace: "        if i >= len as usize { return }; let mut distance = 1;",
        }],
        expect: faults(&["BarrierDivergence"]),
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "histogram_not_atomic",
        kernel: "histogram",
        what: "bins are incremented by a load and a store instead of an atomic",
        edits: &[Edit {
            file: "histogram.rs",
            find: "            atomic_fetch_add_relaxed_u32_block(bins.add(value), 1);",
            replace: "            { let bins = Shared::new(bins, BINS); bins.set(value, bins.get(value) + 1) };",
        }],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "histogram_no_first_barrier",
        kernel: "histogram",
        what: "no barrier between clearing the bins and counting",
        edits: &[Edit {
            file: "histogram.rs",
            find: "        // RAW: the bins are cleared before they count.
        thread::sync_threads();",
            replace: "
",
        }],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "histogram_no_second_barrier",
        kernel: "histogram",
        what: "no barrier between counting and reading the bins",
        edits: &[Edit {
            file: "histogram.rs",
            find: "        // RAW: the bins are complete before they are read.
        thread::sync_threads();",
            replace: "
",
        }],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "histogram_global_not_atomic",
        kernel: "histogram",
        what: "blocks add to the global counts by a load and a store instead of an atomic",
        edits: &[Edit {
            file: "histogram.rs",
            find: "            atomic_fetch_add_relaxed_u32_device(counts.add(t), Shared::new(bins, BINS).get(t));",
            replace: "            { let counts = cuda_views::GlobalMut::new(counts, BINS); \
                      counts.set(t, counts.get(t) + Shared::new(bins, BINS).get(t)) };",
        }],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "reverse_static_no_barrier",
        kernel: "reverse_static",
        what: "no barrier between filling the tile and reading it",
        edits: &[Edit {
            file: "reverse.rs",
            find: "        thread::sync_threads();
        data.set(t, tile.get(ELEMENTS - 1 - t));",
            replace: "
        data.set(t, tile.get(ELEMENTS - 1 - t));",
        }],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "reverse_static_barrier_of_one_warp",
        kernel: "reverse_static",
        what: "only the first warp waits at the barrier",
        edits: &[Edit {
            file: "reverse.rs",
            find: "        thread::sync_threads();
        data.set(t, tile.get(ELEMENTS - 1 - t));",
            replace: "        if t < 32 { thread::sync_threads() }
        data.set(t, tile.get(ELEMENTS - 1 - t));",
        }],
        expect: Expect::Faults {
            all: &["BarrierDivergence"],
            also: &["SharedRace", "UninitializedRead"],
        },
        seen_by: &[Racecheck, Synccheck],
        ..ROW
    },
    Row {
        id: "stencil_no_barrier",
        kernel: "stencil",
        what: "no barrier between filling the tile and reading the neighbours",
        edits: &[Edit {
            file: "stencil.rs",
            find: "        thread::sync_threads();",
            replace: "",
        }],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "last_block_no_fence_before",
        kernel: "reduce_last_block",
        what: "no fence between the partial sum and the count",
        edits: &[Edit {
            file: "last_block.rs",
            find: "            // The partial sum is visible before the count.
            thread::device_fence();",
            replace: "
",
        }],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "last_block_no_fence_after",
        kernel: "reduce_last_block",
        what: "no fence between the count and the partial sums of the others",
        edits: &[Edit {
            file: "last_block.rs",
            find: "            // What the others published is visible after the count.
            thread::device_fence();",
            replace: "
",
        }],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "last_block_no_barrier",
        kernel: "reduce_last_block",
        what: "no barrier between thread 0's flag and the threads that read it",
        edits: &[Edit {
            file: "last_block.rs",
            find: "        // RAW: is_last is written. WAR: the tile is drained.
        thread::sync_threads();",
            replace: "
",
        }],
        expect: Expect::Faults {
            all: &["SharedRace", "GlobalRace"],
            also: &["UninitializedRead", "BarrierDivergence"],
        },
        seen_by: &[Racecheck, Synccheck],
        ..ROW
    },
    Row {
        id: "last_block_one_too_early",
        kernel: "reduce_last_block",
        what: "the last block but one reduces",
        edits: &[Edit {
            file: "last_block.rs",
            find: "before as usize == blocks - 1",
            replace: "before as usize == blocks - 2",
        }],
        expect: Expect::Faults {
            all: &["GlobalRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[],
        ..ROW
    },
    Row {
        id: "last_block_waits_for_ever",
        kernel: "reduce_last_block",
        what: "thread 0 waits for one block more than there are",
        edits: &[Edit {
            file: "last_block.rs",
            find: "            is_last.set(0, ",
            replace: "            while cuda_std::atomic::intrinsics::atomic_load_relaxed_32_device(counter) as usize \
                      <= blocks {} is_last.set(0, ",
        }],
        // One block: each takes the simulator a second to give up.
        launch: Launch::Grid([1, 1, 1]),
        expect: faults(&["Deadlock"]),
        device: Device::Hangs,
        ..ROW
    },
    Row {
        id: "row_sums_no_first_barrier",
        kernel: "row_sums",
        what: "no barrier between filling the tile and reading its rows",
        edits: &[Edit {
            file: "row_sums.rs",
            find: "            // RAW: the tile is filled.
            thread::sync_threads();",
            replace: "
",
        }],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "row_sums_no_second_barrier",
        kernel: "row_sums",
        what: "no barrier between reading the tile and overwriting it",
        edits: &[Edit {
            file: "row_sums.rs",
            find: "            // WAR: the tile is drained before the next step overwrites it.
            thread::sync_threads();",
            replace: "
",
        }],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "row_sums_second_barrier_in_branch",
        kernel: "row_sums",
        what: "only the threads that add wait before the tile is overwritten",
        edits: &[Edit {
            file: "row_sums.rs",
            find: "            // WAR: the tile is drained before the next step overwrites it.
            thread::sync_threads();",
            replace: "
            if t < WIDTH { thread::sync_threads() }",
        }],
        expect: faults(&["BarrierMismatch", "SharedRace"]),
        seen_by: &[Racecheck, Synccheck],
        ..ROW
    },
];
