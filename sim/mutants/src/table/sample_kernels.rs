//! Sample kernels with one mistake each in their accesses: indices, guards, sizes, alignment.

use super::Tool::Memcheck;
use super::{Device, Edit, Expect, ROW, Row, faults};

pub const ROWS: &[Row] = &[
    Row {
        id: "reduce_tree_off_by_one",
        kernel: "reduce_tree",
        what: "a level reads one element too far",
        edits: &[Edit {
            file: "reduction.rs",
            find: "        let mut half = THREADS / 2;
        while half > 0 {
            // RAW: the level before has written what this one reads.
            thread::sync_threads();
            if t < half {
                tile.set(t, tile.get(t) + tile.get(t + half));",
            replace: "        let mut half = THREADS / 2;
        while half > 0 {
            // RAW: the level before has written what this one reads.
            thread::sync_threads();
            if t < half {
                tile.set(t, tile.get(t) + tile.get(t + half + 1));",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "reduce_tree_all_threads_add",
        kernel: "reduce_tree",
        what: "every thread adds at every level",
        edits: &[Edit {
            file: "reduction.rs",
            find: "        while half > 0 {
            // RAW: the level before has written what this one reads.
            thread::sync_threads();
            if t < half {",
            replace: "        while half > 0 {
            // RAW: the level before has written what this one reads.
            thread::sync_threads();
            {",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck, super::Tool::Racecheck],
        ..ROW
    },
    Row {
        id: "reduce_tree_no_guard",
        kernel: "reduce_tree",
        what: "threads beyond the end read on",
        edits: &[Edit {
            file: "reduction.rs",
            find: "tile.set(t, if i < len as usize { input.get(i) } else { 0.0 });",
            replace: "tile.set(t, input.get(i));",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "transpose_axes_swapped",
        kernel: "transpose_padded",
        what: "row and column of the output are swapped",
        edits: &[Edit {
            file: "transpose.rs",
            find: "output.set(row * rows + column,",
            replace: "output.set(column * rows + row,",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "transpose_wrong_leading_dimension",
        kernel: "transpose_padded",
        what: "the output is indexed with the input's leading dimension",
        edits: &[Edit {
            file: "transpose.rs",
            find: "output.set(row * rows + column,",
            replace: "output.set(row * columns + column,",
        }],
        expect: faults(&["GlobalRace"]),
        ..ROW
    },
    Row {
        id: "transpose_block_not_transposed",
        kernel: "transpose_padded",
        what: "the output's tiles are not transposed",
        edits: &[Edit {
            file: "transpose.rs",
            find: "            let (row, column) = (first_column + ty + i, first_row + tx);",
            replace: "            let (row, column) = (first_row + ty + i, first_column + tx);",
        }],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "transpose_tile_not_transposed",
        kernel: "transpose_padded",
        what: "the tile is read along its rows",
        edits: &[Edit {
            file: "transpose.rs",
            find: "tile.get(tx * pitch + ty + i)",
            replace: "tile.get((ty + i) * pitch + tx)",
        }],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "transpose_input_guard_incomplete",
        kernel: "transpose_padded",
        what: "the input's columns are not guarded",
        edits: &[Edit {
            file: "transpose.rs",
            find: "if row < rows && column < columns {",
            replace: "if row < rows {",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "transpose_output_guard_incomplete",
        kernel: "transpose_padded",
        what: "the output's columns are not guarded",
        edits: &[Edit {
            file: "transpose.rs",
            find: "if row < columns && column < rows {",
            replace: "if row < columns {",
        }],
        expect: faults(&["UninitializedRead", "GlobalRace", "OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "transpose_padding_dropped",
        kernel: "transpose_padded",
        what: "no padding: correct, but a column of the tile is in one bank",
        edits: &[Edit {
            file: "transpose.rs",
            find: "transpose(input, output, rows, columns, tile, WIDTH + 1)",
            replace: "transpose(input, output, rows, columns, tile, WIDTH)",
        }],
        expect: Expect::Slower,
        ..ROW
    },
    Row {
        id: "transpose_tile_too_small",
        kernel: "transpose_padded",
        what: "the array has no room for the padding that the pitch counts",
        edits: &[Edit {
            file: "transpose.rs",
            find: "shared_array![f32; WIDTH * (WIDTH + 1)]",
            replace: "shared_array![f32; WIDTH * WIDTH]",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "transpose_tile_half_written",
        kernel: "transpose_padded",
        what: "every second group of rows is copied",
        edits: &[Edit {
            file: "transpose.rs",
            find: "            i += ROWS;
        }
        // RAW",
            replace: "            i += 2 * ROWS;
        }
        // RAW",
        }],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "scan_off_by_one",
        kernel: "scan_inclusive",
        what: "the first thread with a predecessor skips it",
        edits: &[Edit {
            file: "scan.rs",
            find: "if t >= distance {",
            replace: "if t > distance {",
        }],
        expect: Expect::Mismatch,
        ..ROW
    },
    Row {
        id: "scan_buffers_overlap",
        kernel: "scan_inclusive",
        what: "the second buffer starts in the middle of the first",
        edits: &[Edit {
            file: "scan.rs",
            find: "buffers.part(THREADS, THREADS)",
            replace: "buffers.part(THREADS / 2, THREADS)",
        }],
        expect: faults(&["SharedRace"]),
        seen_by: &[super::Tool::Racecheck],
        ..ROW
    },
    Row {
        id: "scan_exclusive",
        kernel: "scan_inclusive",
        what: "each thread stores its predecessor's sum, which another warp may still be writing",
        edits: &[Edit {
            file: "scan.rs",
            find: "output.set(i, current.get(t));",
            replace: "output.set(i, if t > 0 { current.get(t - 1) } else { 0 });",
        }],
        expect: faults(&["SharedRace"]),
        seen_by: &[super::Tool::Racecheck],
        ..ROW
    },
    Row {
        id: "scan_recursion",
        kernel: "scan_inclusive",
        what: "a recursion that does not end",
        edits: &[Edit {
            file: "scan.rs",
            find: "        let mut distance = 1;",
            replace: "        #[inline(never)]
        fn deeper(above: &[u32; 16], depth: u32) -> u32 {
            let frame = core::hint::black_box([above[depth as usize % 16] | 1; 16]);
            frame[depth as usize % 16].wrapping_add(deeper(&frame, depth + frame[0])) ^ frame[3]
        }
        let mut distance = 1 + (deeper(&[1; 16], len) & 0) as usize;",
        }],
        expect: faults(&["StackOverflow"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "histogram_not_cleared",
        kernel: "histogram",
        what: "the bins are not cleared",
        edits: &[Edit {
            file: "histogram.rs",
            find: "            Shared::new(bins, BINS).set(t, 0);",
            replace: "",
        }],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "histogram_half_cleared",
        kernel: "histogram",
        what: "half of the bins are cleared",
        edits: &[Edit {
            file: "histogram.rs",
            find: "        if t < BINS {
            Shared::new(bins, BINS).set(t, 0);",
            replace: "        if t < BINS / 2 {
            Shared::new(bins, BINS).set(t, 0);",
        }],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "histogram_bin_off_by_one",
        kernel: "histogram",
        what: "values are counted one bin further",
        edits: &[Edit {
            file: "histogram.rs",
            find: "bins.add(value)",
            replace: "bins.add(value + 1)",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "histogram_too_many_bins",
        kernel: "histogram",
        what: "more static shared memory than a block can have",
        edits: &[Edit {
            file: "histogram.rs",
            find: "shared_array![u32; BINS]",
            replace: "shared_array![u32; 13 * 1024]",
        }],
        expect: faults(&["SharedLimit"]),
        device: Device::Refused("cuda_builder refuses more than 48 KiB of static shared memory"),
        ..ROW
    },
    Row {
        id: "reverse_static_off_by_one",
        kernel: "reverse_static",
        what: "the first thread reads one element past the tile",
        edits: &[Edit {
            file: "reverse.rs",
            find: "tile.get(ELEMENTS - 1 - t)",
            replace: "tile.get(ELEMENTS - t)",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "reverse_static_index_check",
        kernel: "reverse_static",
        what: "a slice is indexed one element past its end: the kernel panics",
        edits: &[Edit {
            file: "reverse.rs",
            find: "        data.set(t, tile.get(ELEMENTS - 1 - t));",
            replace: "        data.set(t, [tile.get(ELEMENTS - 1 - t); ELEMENTS][t + 1]);",
        }],
        expect: faults(&["Panic"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "stencil_no_left_halo",
        kernel: "stencil",
        what: "the element before the block's first is not loaded",
        edits: &[Edit {
            file: "stencil.rs",
            find: "            tile.set(0, if i > 0 { input.get(i - 1) } else { 0.0 });",
            replace: "",
        }],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "stencil_no_right_halo",
        kernel: "stencil",
        what: "no thread loads the element after the block's last",
        edits: &[Edit {
            file: "stencil.rs",
            find: "if t == THREADS - 1 {",
            replace: "if t == THREADS {",
        }],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "stencil_right_halo_unguarded",
        kernel: "stencil",
        what: "the last block loads an element past the end",
        edits: &[Edit {
            file: "stencil.rs",
            find: "if i + 1 < len { input.get(i + 1) } else { 0.0 }",
            replace: "input.get(i + 1)",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "stencil_left_halo_unguarded",
        kernel: "stencil",
        what: "the first block loads the element before the first",
        edits: &[Edit {
            file: "stencil.rs",
            find: "if i > 0 { input.get(i - 1) } else { 0.0 }",
            replace: "input.get(i.wrapping_sub(1))",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "stencil_tile_shifted",
        kernel: "stencil",
        what: "the tile is filled one element too early, over the left halo",
        edits: &[Edit {
            file: "stencil.rs",
            find: "tile.set(t + 1, if",
            replace: "tile.set(t, if",
        }],
        expect: faults(&["UninitializedRead"]),
        ..ROW
    },
    Row {
        id: "stencil_tile_too_short",
        kernel: "stencil",
        what: "the tile has no room for the right halo",
        edits: &[Edit {
            file: "stencil.rs",
            find: "Shared::new(shared_array![f32; THREADS + 2], THREADS + 2)",
            replace: "Shared::new(shared_array![f32; THREADS + 1], THREADS + 1)",
        }],
        expect: faults(&["OutOfBounds"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "row_sums_pitch_not_aligned",
        kernel: "row_sums",
        what: "a padding of one element, which does not keep rows aligned to 16 bytes",
        edits: &[Edit {
            file: "row_sums.rs",
            find: "const PITCH: usize = WIDTH + 4;",
            replace: "const PITCH: usize = WIDTH + 1;",
        }],
        expect: faults(&["Misaligned"]),
        seen_by: &[Memcheck],
        ..ROW
    },
    Row {
        id: "row_sums_padding_dropped",
        kernel: "row_sums",
        what: "no padding: correct, but the rows that are read at once start in the same bank",
        edits: &[Edit {
            file: "row_sums.rs",
            find: "const PITCH: usize = WIDTH + 4;",
            replace: "const PITCH: usize = WIDTH;",
        }],
        expect: Expect::Slower,
        ..ROW
    },
    Row {
        id: "row_sums_input_not_aligned",
        kernel: "row_sums",
        what: "the vector load starts one element too far",
        edits: &[Edit {
            file: "row_sums.rs",
            find: "input.get_vec::<4>(row * columns + column)",
            replace: "input.get_vec::<4>(row * columns + column + 1)",
        }],
        expect: faults(&["Misaligned"]),
        seen_by: &[Memcheck],
        ..ROW
    },
];
