//! The pipelined stencil and the padded sequences with one `cp.async` mistake each.

use super::Tool::{Memcheck, Racecheck};
use super::{Edit, Expect, ROW, Row, faults};

const WAIT: &str = "        async_copy::wait::<{ STAGES as u32 - 2 }>();\n";
const BARRIER: &str = "        thread::sync_threads();\n";
const VALID: &str = "len.saturating_sub(mine).min(VECTOR)";

pub const ROWS: &[Row] = &[
    Row {
        id: "pipeline_no_wait",
        kernel: "stencil_pipelined",
        what: "no thread waits for a copy",
        edits: &[edit(WAIT, "")],
        expect: faults(&["AsyncPending"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "pipeline_waits_for_one_less",
        kernel: "stencil_pipelined",
        what: "the wait leaves the tile's own group pending",
        edits: &[edit("wait::<{ STAGES as u32 - 2 }>", "wait::<{ STAGES as u32 - 1 }>")],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            // A thread that is early waits for the tile in its next turn, while others still read it.
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "pipeline_no_commit",
        kernel: "stencil_pipelined",
        what: "the copies are not committed, so no wait covers them",
        edits: &[edit("        async_copy::commit();\n", "")],
        expect: faults(&["AsyncPending"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "pipeline_commit_only_copies",
        kernel: "stencil_pipelined",
        what: "iterations without copies commit no group, so the last waits cover too little",
        edits: &[edit(
            "        }
        // Also where nothing was left to copy: the n-th group is the n-th tile's.
        async_copy::commit();
",
            "            async_copy::commit();
        }
",
        )],
        expect: faults(&["AsyncPending"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "pipeline_no_barrier",
        kernel: "stencil_pipelined",
        what: "threads wait for their own copies only, and read those of other threads",
        edits: &[edit(BARRIER, "")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["AsyncPending", "UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "pipeline_barrier_before_wait",
        kernel: "stencil_pipelined",
        what: "the barrier precedes the wait",
        edits: &[
            edit(WAIT, ""),
            edit(
                BARRIER,
                "        thread::sync_threads();\n        async_copy::wait::<{ STAGES as u32 - 2 }>();\n",
            ),
        ],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "pipeline_starts_before_barrier",
        kernel: "stencil_pipelined",
        what: "copies write a stage that other threads may still read",
        edits: &[
            edit(
                WAIT,
                "        start(step + STAGES - 1);\n        async_copy::wait::<{ STAGES as u32 - 1 }>();\n",
            ),
            edit(
                "        thread::sync_threads();\n        start(step + STAGES - 1);\n",
                "        thread::sync_threads();\n",
            ),
        ],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["AsyncPending"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "pipeline_one_stage_too_deep",
        kernel: "stencil_pipelined",
        what: "copies write the stage that is read",
        edits: &[edit(
            "        thread::sync_threads();\n        start(step + STAGES - 1);\n",
            "        thread::sync_threads();\n        start(step + STAGES);\n",
        )],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace", "UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "pipeline_no_end",
        kernel: "stencil_pipelined",
        what: "copies read past the last element",
        edits: &[edit(VALID, "VECTOR")],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "pipeline_whole_vectors_only",
        kernel: "stencil_pipelined",
        what: "the residue vector is not copied",
        edits: &[edit(VALID, "(len.saturating_sub(mine) / VECTOR * VECTOR).min(VECTOR)")],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "pipeline_no_halo",
        kernel: "stencil_pipelined",
        what: "the element after the tile is not copied",
        edits: &[edit("if t == THREADS - 1 {", "if t == THREADS {")],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "pipeline_misaligned",
        kernel: "stencil_pipelined",
        what: "the tile starts after one unused element instead of three",
        edits: &[edit("const START: usize = VECTOR;", "const START: usize = 2;")],
        expect: faults(&["Misaligned"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "pipeline_waits_for_all",
        kernel: "stencil_pipelined",
        what: "each wait covers all copies: no overlap, harmless",
        edits: &[edit("wait::<{ STAGES as u32 - 2 }>", "wait::<0>")],
        expect: Expect::Clean,
        ..ROW
    },
    Row {
        id: "pad_no_wait",
        kernel: "pad_16_bytes",
        what: "each thread reads its own copies without a wait",
        edits: &[pad("        async_copy::wait::<0>();\n", "")],
        expect: faults(&["AsyncPending"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "pad_wait_before_commit",
        kernel: "pad_8_bytes",
        what: "the wait precedes the commit",
        edits: &[pad(
            "        async_copy::commit();\n        async_copy::wait::<0>();\n",
            "        async_copy::wait::<0>();\n        async_copy::commit();\n",
        )],
        expect: faults(&["AsyncPending"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "pad_one_too_many",
        kernel: "pad_4_bytes",
        what: "one element after the sequence is copied, too",
        edits: &[pad("len.saturating_sub(N * t)", "(len + 1).saturating_sub(N * t)")],
        expect: Expect::Mismatch,
        ..ROW
    },
];

const fn edit(find: &'static str, replace: &'static str) -> Edit {
    Edit {
        file: "stencil_pipelined.rs",
        find,
        replace,
    }
}

const fn pad(find: &'static str, replace: &'static str) -> Edit {
    Edit {
        file: "padding.rs",
        find,
        replace,
    }
}
