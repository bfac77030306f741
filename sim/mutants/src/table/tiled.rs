//! The tiled families with one mistake each.

use super::Tool::{Initcheck, Memcheck, Racecheck, Synccheck};
use super::{Edit, Expect, Launch, ROW, Row, faults};

pub const ROWS: &[Row] = &[
    Row {
        id: "tiled_no_first_barrier",
        kernel: "tiled_static_16_f32",
        what: "no barrier between filling the tiles and reading them",
        edits: &[Edit {
            file: "tiled.rs",
            find: "        // RAW: the tiles are filled before any thread reads what others wrote.
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
        id: "tiled_no_second_barrier",
        kernel: "tiled_static_16_f32",
        what: "no barrier between reading the tiles and overwriting them",
        edits: &[Edit {
            file: "tiled.rs",
            find: "        // WAR: the tiles are drained before the next k-tile overwrites them.
        thread::sync_threads();",
            replace: "
",
        }],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "tiled_4x4_no_first_barrier",
        kernel: "tiled_dynamic_4x4_f32",
        what: "no barrier between filling the tiles and reading them, with 4 x 4 outputs a thread",
        edits: &[Edit {
            file: "tiled.rs",
            find: "        // RAW: the tiles are filled before any thread reads what others wrote.
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
        id: "tiled_4x4_no_second_barrier",
        kernel: "tiled_dynamic_4x4_f32",
        what: "no barrier between reading the tiles and overwriting them, with 4 x 4 outputs a thread",
        edits: &[Edit {
            file: "tiled.rs",
            find: "        // WAR: the tiles are drained before the next k-tile overwrites them.
        thread::sync_threads();",
            replace: "
",
        }],
        expect: faults(&["SharedRace"]),
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "tiled_barrier_in_guard",
        kernel: "tiled_static_16_f32",
        what: "the first barrier is inside the guard of C's rows",
        edits: &[Edit {
            file: "tiled.rs",
            find: "        // RAW: the tiles are filled before any thread reads what others wrote.
        thread::sync_threads();",
            replace: "
        if origin.row + ty < args.m { thread::sync_threads(); }",
        }],
        expect: Expect::Faults {
            all: &["BarrierMismatch", "SharedRace"],
            also: &["UninitializedRead"],
        },
        seen_by: &[Racecheck, Synccheck],
        ..ROW
    },
    Row {
        id: "tiled_return_before_barrier",
        kernel: "tiled_static_16_f32",
        what: "threads outside C return before the loop, as in the kernel without tiles",
        edits: &[Edit {
            file: "tiled.rs",
            find: "    let mut acc = [[E::Acc::ZERO; R]; R];",
            replace: "    if origin.row + ty >= args.m || origin.column + tx >= args.n { return } \
                      let mut acc = [[E::Acc::ZERO; R]; R];",
        }],
        expect: faults(&["BarrierDivergence"]),
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "tiled_steps_differ",
        kernel: "tiled_static_16_f32",
        what: "the threads of every second row execute one more iteration",
        edits: &[Edit {
            file: "tiled.rs",
            find: "    while k0 < args.k {",
            replace: "    while k0 < args.k + (ty & 1) * width {",
        }],
        expect: faults(&["BarrierDivergence"]),
        seen_by: &[Synccheck],
        ..ROW
    },
    Row {
        id: "tiled_b_tile_transposed",
        kernel: "tiled_static_16_f32",
        what: "row and column are swapped where the tile of B is filled",
        edits: &[Edit {
            file: "tiled.rs",
            find: "b_s.set((row * width + column) as usize, from_b);",
            replace: "b_s.set((column * width + row) as usize, from_b);",
        }],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "tiled_thread_axes_swapped",
        kernel: "tiled_static_16_f32",
        what: "threads are mapped along columns: correct, but neighbors access different rows",
        edits: &[Edit {
            file: "tiled.rs",
            find: "(thread::thread_idx_x(), thread::thread_idx_y())",
            replace: "(thread::thread_idx_y(), thread::thread_idx_x())",
        }],
        expect: Expect::Slower,
        ..ROW
    },
    Row {
        id: "tiled_no_zeros",
        kernel: "tiled_static_16_f32",
        what: "the tile of B is not zero-filled outside the matrix",
        edits: &[Edit {
            file: "tiled.rs",
            find: "b_s.set((row * width + column) as usize, from_b);",
            replace: "if b_row < args.k && b_column < args.n { b_s.set((row * width + column) as usize, from_b) };",
        }],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "tiled_half_filled",
        kernel: "tiled_static_16_f32",
        what: "the upper half of the threads fills the tiles",
        edits: &[Edit {
            file: "tiled.rs",
            find: "if inside(row) && inside(column) {",
            replace: "if inside(row) && inside(column) && ty < width / 2 {",
        }],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "tiled_a_guard_incomplete",
        kernel: "tiled_static_16_f32",
        what: "A's columns are not guarded",
        edits: &[Edit {
            file: "tiled.rs",
            find: "a_row < args.m && a_column < args.k,",
            replace: "a_row < args.m,",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "tiled_a_wrong_leading_dimension",
        kernel: "tiled_static_16_f32",
        what: "A is indexed as if its rows were packed",
        edits: &[Edit {
            file: "tiled.rs",
            find: "a_row as usize * args.lda as usize",
            replace: "a_row as usize * args.k as usize",
        }],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "tiled_store_wrong_leading_dimension",
        kernel: "tiled_static_16_f32",
        what: "C is indexed as if its rows were packed",
        edits: &[Edit {
            file: "tiled.rs",
            find: "row as usize * args.ldc as usize",
            replace: "row as usize * args.n as usize",
        }],
        expect: faults(&["OutOfBounds"]),
        ..ROW
    },
    Row {
        id: "tiled_store_guard_incomplete",
        kernel: "tiled_static_16_f32",
        what: "C's columns are not guarded",
        edits: &[Edit {
            file: "tiled.rs",
            find: "&& row < args.m && column < args.n,",
            replace: "&& row < args.m,",
        }],
        expect: Expect::Faults {
            all: &["OutOfBounds"],
            also: &["GlobalRace"],
        },
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "tiled_b_row_of_the_first_step",
        kernel: "tiled_static_16_f32",
        what: "every iteration loads the first tile of B",
        edits: &[Edit {
            file: "tiled.rs",
            find: "(b_row, b_column) = (k0 + row, ",
            replace: "(b_row, b_column) = (row, ",
        }],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "tiled_one_product_too_many",
        kernel: "tiled_static_16_f32",
        what: "the inner loop goes to the width instead of the width - 1",
        edits: &[Edit {
            file: "tiled.rs",
            find: "        while kk < width {",
            replace: "        while kk <= width {",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "tiled_step_too_short",
        kernel: "tiled_static_16_f32",
        what: "k-tiles overlap by one column",
        edits: &[Edit {
            file: "tiled.rs",
            find: "k0 += width;",
            replace: "k0 += width - 1;",
        }],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "tiled_one_step_more",
        kernel: "tiled_static_16_f32",
        what: "one more iteration, over zeros: harmless",
        edits: &[Edit {
            file: "tiled.rs",
            find: "    while k0 < args.k {",
            replace: "    while k0 < args.k + width {",
        }],
        expect: Expect::Clean,
        ..ROW
    },
    Row {
        id: "tiled_last_eight_one_by_one",
        kernel: "tiled_static_16_f32",
        what: "the unrolled loop leaves its last iteration to the remainder loop: harmless",
        edits: &[Edit {
            file: "tiled.rs",
            find: "kk + 8 <= width",
            replace: "kk + 8 < width",
        }],
        expect: Expect::Clean,
        ..ROW
    },
    Row {
        id: "tiled_barrier_too_many",
        kernel: "tiled_static_16_f32",
        what: "a third barrier in each iteration: harmless",
        edits: &[Edit {
            file: "tiled.rs",
            find: "k0 += width;",
            replace: "thread::sync_threads(); k0 += width;",
        }],
        expect: Expect::Clean,
        ..ROW
    },
    Row {
        id: "tiled_array_too_small",
        kernel: "tiled_static_16_f32",
        what: "the static array of the tile of A has half of its elements",
        edits: &[Edit {
            file: "tiled_static.rs",
            find: "a_s: Shared::new(shared_array![$element; ELEMS], ELEMS),",
            replace: "a_s: Shared::new(shared_array![$element; ELEMS / 2], ELEMS),",
        }],
        expect: Expect::Faults {
            all: &["OutOfBounds"],
            also: &["ViewOverlap", "SharedRace"],
        },
        seen_by: &[Racecheck, Memcheck],
        ..ROW
    },
    Row {
        id: "tiled_4x4_not_clamped",
        kernel: "tiled_dynamic_4x4_f32",
        what: "rows and columns outside the tile are read at the addresses that they would have",
        edits: &[Edit {
            file: "tiled.rs",
            find: "if inside(offset) { offset } else { width - 1 };",
            replace: "offset;",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "tiled_4x4_outside_too",
        kernel: "tiled_dynamic_4x4_f32",
        what: "a thread's elements outside the tile are filled and stored like those inside",
        edits: &[Edit {
            file: "tiled.rs",
            find: "R == 1 || offset < width;",
            replace: "true;",
        }],
        expect: Expect::Faults {
            all: &["OutOfBounds"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck, Memcheck],
        ..ROW
    },
    Row {
        id: "tiled_4x4_wrong_stride",
        kernel: "tiled_dynamic_4x4_f32",
        what: "a thread's stride is one less than the thread count: some elements are computed twice, others never",
        edits: &[Edit {
            file: "tiled.rs",
            find: "let stride = TileGeometry::stride(width, R as u32);",
            replace: "let stride = TileGeometry::stride(width, R as u32) - 1;",
        }],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["GlobalRace", "UninitializedRead"],
        },
        seen_by: &[Racecheck, Initcheck],
        ..ROW
    },
    Row {
        id: "tiled_bytes_for_elements",
        kernel: "tiled_dynamic_1x1_f32",
        what: "a byte count is added to a pointer to elements",
        edits: &[Edit {
            file: "tiled_dynamic.rs",
            find: "base.add(a_part.get() as usize).cast()",
            replace: "base.cast::<E>().add(a_part.get() as usize)",
        }],
        expect: faults(&["DynamicSharedTooSmall"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "tiled_tiles_overlap",
        kernel: "tiled_dynamic_1x1_f32",
        what: "the tile of B starts in the middle of the tile of A",
        edits: &[Edit {
            file: "tiled_dynamic.rs",
            find: "base.add(a_part.get() as usize).cast()",
            replace: "base.add(a_part.get() as usize / 2).cast()",
        }],
        expect: Expect::Faults {
            all: &["SharedRace"],
            also: &["ViewOverlap"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
    Row {
        id: "tiled_tiles_at_the_same_place",
        kernel: "tiled_dynamic_1x1_f32",
        what: "the tile of B starts at the tile of A",
        edits: &[Edit {
            file: "tiled_dynamic.rs",
            find: "base.add(a_part.get() as usize).cast()",
            replace: "base.cast()",
        }],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "tiled_tile_not_aligned",
        kernel: "tiled_dynamic_1x1_f32",
        what: "the tile of B starts two bytes after the tile of A",
        edits: &[Edit {
            file: "tiled_dynamic.rs",
            find: "base.add(a_part.get() as usize).cast()",
            replace: "base.add(a_part.get() as usize + 2).cast()",
        }],
        expect: faults(&["Misaligned"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "tiled_memory_for_one_tile",
        kernel: "tiled_dynamic_1x1_f32",
        what: "a launch with the memory of one tile",
        launch: Launch::DynamicBytes(12 * 12 * 4),
        expect: faults(&["DynamicSharedTooSmall"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "tiled_memory_in_elements",
        kernel: "tiled_dynamic_1x1_f32",
        what: "a launch with the number of elements instead of bytes",
        launch: Launch::DynamicBytes(2 * 12 * 12),
        expect: faults(&["DynamicSharedTooSmall"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "tiled_block_of_another_width",
        kernel: "tiled_dynamic_1x1_f32",
        what: "a block of 16 x 16 threads for tiles of 12 x 12",
        launch: Launch::Block([16, 16, 1]),
        expect: Expect::Faults {
            all: &["OutOfBounds"],
            also: &["SharedRace"],
        },
        seen_by: &[Racecheck],
        ..ROW
    },
];
