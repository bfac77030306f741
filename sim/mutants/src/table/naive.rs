//! Rung 1 with one mistake each.

use super::Tool::{Initcheck, Memcheck};
use super::{Edit, ROW, Row, faults};

pub const ROWS: &[Row] = &[
    Row {
        id: "naive_no_guard",
        kernel: "r01_naive_f32",
        what: "threads outside C compute, too",
        edits: &[Edit {
            file: "r01_naive.rs",
            find: "    if row >= args.m || column >= args.n {
        return;
    }",
            replace: "

",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "naive_guard_of_corners_only",
        kernel: "r01_naive_f32",
        what: "only threads outside in both directions return",
        edits: &[Edit {
            file: "r01_naive.rs",
            find: "if row >= args.m || column >= args.n {",
            replace: "if row >= args.m && column >= args.n {",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "naive_one_step_too_many",
        kernel: "r01_naive_f32",
        what: "the sum goes to k instead of k - 1",
        edits: &[Edit {
            file: "r01_naive.rs",
            find: "for i in 0..args.k as usize {",
            replace: "for i in 0..=args.k as usize {",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "naive_wrong_leading_dimension",
        kernel: "r01_naive_f32",
        what: "B is indexed as if its rows were packed",
        edits: &[Edit {
            file: "r01_naive.rs",
            find: "i * args.ldb as usize + column",
            replace: "i * args.n as usize + column",
        }],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "naive_adds_to_c",
        kernel: "r01_naive_f32",
        what: "the sum is added to C, which is uninitialized",
        edits: &[Edit {
            file: "r01_naive.rs",
            find: "    let element = E::narrow(sum);",
            replace: "    let element = E::narrow(unsafe { c.get(row as usize * args.ldc as usize + column as usize) }\
                      .widen() + sum);",
        }],
        expect: faults(&["UninitializedRead"]),
        seen_by: &[Initcheck],
        ..ROW
    },
];
