//! Correct kernels with a mistake in the launch.

use super::Tool::{Initcheck, Memcheck};
use super::{Expect, Launch, ROW, Row, faults};

pub const ROWS: &[Row] = &[
    Row {
        id: "reverse_dynamic_half_the_memory",
        kernel: "reverse_dynamic",
        what: "half of the dynamic shared memory that the kernel needs",
        launch: Launch::DynamicBytes(400),
        expect: faults(&["DynamicSharedTooSmall"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "reverse_dynamic_elements_for_bytes",
        kernel: "reverse_dynamic",
        what: "the number of elements instead of bytes",
        launch: Launch::DynamicBytes(200),
        expect: faults(&["DynamicSharedTooSmall"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "reverse_dynamic_no_memory",
        kernel: "reverse_dynamic",
        what: "no dynamic shared memory at all",
        launch: Launch::DynamicBytes(0),
        expect: faults(&["DynamicSharedTooSmall"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "reverse_dynamic_more_than_there_is",
        kernel: "reverse_dynamic",
        what: "more dynamic shared memory than a block can have",
        launch: Launch::DynamicBytes(300 * 1024),
        expect: faults(&["SharedLimit"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "reverse_dynamic_more_threads_than_data",
        kernel: "reverse_dynamic",
        what: "a block rounded up to whole warps, which the kernel does not guard against",
        launch: Launch::Block([224, 1, 1]),
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "scan_fewer_threads_than_the_tile",
        kernel: "scan_inclusive",
        what: "blocks of half the size, for which the grid is too small too",
        launch: Launch::Block([128, 1, 1]),
        expect: Expect::Mismatch,
        seen_by: &[Initcheck],
        ..ROW
    },
    Row {
        id: "transpose_block_too_large",
        kernel: "transpose_tile",
        what: "a block of more than 1024 threads",
        launch: Launch::Block([32, 40, 1]),
        expect: faults(&["LaunchShape"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "transpose_grid_axes_swapped",
        kernel: "transpose_tile",
        what: "the grid's x and y are swapped: some tiles are not copied",
        launch: Launch::Grid([3, 2, 1]),
        expect: Expect::Mismatch,
        seen_by: &[Initcheck],
        ..ROW
    },
    Row {
        id: "transpose_more_rows_than_it_copies_at_once",
        kernel: "transpose_padded",
        what: "a block of 32 x 16 threads for a kernel that advances by 8 rows: the rows are copied twice",
        launch: Launch::Block([32, 16, 1]),
        expect: Expect::Faults {
            all: &["GlobalRace", "OutOfBounds", "UninitializedRead"],
            also: &["SharedRace"],
        },
        seen_by: &[super::Tool::Racecheck],
        ..ROW
    },
];
