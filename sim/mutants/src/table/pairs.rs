//! Pairs of `mma_sync` with one mistake each: loads of 4 bytes into swizzled rows, and strips that load ahead.

use super::Tool::Racecheck;
use super::{Edit, Expect, ROW, Row, edit};

const KERNEL: &str = "mma_sync_nt2_32x32_f16";
const STRIPS: &str = "mma_sync_strips_tn2_64x128_f16";

pub const ROWS: &[Row] = &[
    Row {
        id: "mma_pairs_same_key",
        kernel: KERNEL,
        what: "pairs of every pass are swizzled as those of the first",
        edits: &[edit(
            "mma_sync/loader.rs",
            "swizzle.key(number * pass) * VECTOR",
            "0 * swizzle.key(number * pass) * VECTOR",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "mma_pairs_split_without_end",
        kernel: KERNEL,
        what: "each split continues to the end of K",
        edits: &[edit(
            "mma_sync/mod.rs",
            "k: (args.k - k_begin).min(params.k_per_split),",
            "k: args.k - k_begin,",
        )],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "strips_ahead_no_wait",
        kernel: STRIPS,
        what: "the wait leaves the k-tile's own group pending",
        edits: &[body("async_copy::wait::<1>();", "async_copy::wait::<2>();")],
        expect: Expect::Faults {
            all: &["AsyncPending"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "strips_ahead_no_barrier",
        kernel: STRIPS,
        what: "threads wait for their own loads only, and read those of other threads",
        edits: &[body("                thread::sync_threads();\n", "\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["AsyncPending", "UninitializedRead"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "strips_ahead_stages_of_the_row_before",
        kernel: STRIPS,
        what: "A of the next row of tiles is loaded into the stages of this one",
        edits: &[body("                    self.stage_a += self.k / tile.k;\n", "\n")],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["AsyncPending"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "strips_ahead_first_a",
        kernel: STRIPS,
        what: "every row of tiles is multiplied with the first A",
        edits: &[body("is_new_row || k > const", "false && is_new_row || k > const")],
        expect: Expect::Mismatch,
        ..ROW
    },
];

const fn body(find: &'static str, replace: &'static str) -> Edit {
    edit("mma_sync/strips_ahead.rs", find, replace)
}
