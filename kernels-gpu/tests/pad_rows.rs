//! The copy of rows in the simulator, against plain Rust: any distance of rows, any number of columns, any place to
//! begin.

use std::ptr::{null, null_mut};

use cuda_sim::{Checks, GlobalBuffer, Launch, Report, Schedule};
use kernels_gpu::gemm::pad_rows::copy_rows_b16;
use tilewright_contract::{CopyRows, padded_ld};

/// The numbers of a copy with `gap` elements behind each row.
fn copy(rows: u32, columns: u32, gap: u32) -> CopyRows {
    CopyRows {
        from_stride: 0,
        rows,
        columns,
        from_ld: columns + gap,
        to_ld: padded_ld(columns as usize, 2) as u32,
        matrices: 1,
    }
}

/// Copies a matrix that begins `skipped` elements behind a multiple of 256 bytes, and compares every element of the
/// copy.
fn is_right(copy: CopyRows, skipped: usize, schedule: Schedule) -> Report {
    let what = format!("{copy:?}, {skipped} elements skipped, {schedule}");
    let [rows, columns, from_ld, to_ld] =
        [copy.rows, copy.columns, copy.from_ld, copy.to_ld].map(|extent| extent as usize);
    // No element is 0, so that zeros are known from elements.
    let elements: Vec<u16> = (0..skipped + copy.from_elems()).map(|at| at as u16 | 1).collect();
    // Without a beginning that is skipped, the simulator watches what lies between the rows.
    let from = match skipped {
        0 => GlobalBuffer::matrix(&elements, rows, columns, from_ld),
        _ => GlobalBuffer::from_slice(&elements),
    };
    let to = GlobalBuffer::<u16>::uninit(copy.to_elems());
    let report = Launch::new(copy.blocks(), CopyRows::THREADS)
        .schedule(schedule)
        .checks(Checks::Full)
        // SAFETY: the buffers are what the copy says.
        .run(|| unsafe {
            let (from, to) = (from.as_ptr().wrapping_add(skipped), to.as_mut_ptr());
            copy_rows_b16(from, to, copy, null(), null_mut(), CopyRows::NONE);
        });
    assert!(report.is_clean(), "{what}:\n{report}");
    let copied = to.to_vec();
    for row in 0..rows {
        for column in 0..to_ld {
            let expected = if column < columns {
                elements[skipped + row * from_ld + column]
            } else {
                0
            };
            assert_eq!(
                copied[row * to_ld + column],
                expected,
                "{what}: row {row}, column {column}"
            );
        }
    }
    report
}

#[test]
fn every_number_of_columns_and_every_distance_of_rows() {
    for columns in 1..=41 {
        for gap in [0, 1, 2, 7] {
            let _: Report = is_right(copy(9, columns, gap), 0, Schedule::Forward);
        }
    }
}

#[test]
fn one_row_and_one_column() {
    for gap in [0, 3] {
        for extent in [1, 2, 255, 256, 257, 2050] {
            let _: Report = is_right(copy(1, extent, gap), 0, Schedule::Forward);
            let _: Report = is_right(copy(extent, 1, gap), 0, Schedule::Forward);
        }
    }
}

#[test]
fn a_matrix_begins_at_any_multiple_of_2_bytes() {
    for skipped in 1..=9 {
        for (columns, gap) in [(33, 0), (32, 1), (40, 0), (1, 0), (9, 4)] {
            let _: Report = is_right(copy(7, columns, gap), skipped, Schedule::Forward);
        }
    }
}

#[test]
fn several_blocks_in_every_order() {
    let report = is_right(copy(67, 131, 2), 0, Schedule::All);
    // 67 rows of 192 elements, 24 chunks each.
    assert_eq!(report.blocks, 7);
}

#[test]
fn two_operands_are_copied_at_once() {
    // One matrix for all products, and three of other extents.
    let copies = [
        copy(67, 131, 2),
        CopyRows {
            from_stride: 9 * 45,
            matrices: 3,
            ..copy(9, 41, 4)
        },
    ];
    for [first, second] in [copies, [copies[1], copies[0]]] {
        let of = |copy: CopyRows, seed: usize| {
            let elements = copy.from_stride as usize * (copy.matrices as usize - 1) + copy.from_elems();
            let elements: Vec<u16> = (0..elements).map(|at| (at + seed) as u16 | 1).collect();
            let to = GlobalBuffer::<u16>::uninit(copy.matrices as usize * copy.to_elems());
            (elements.clone(), GlobalBuffer::from_slice(&elements), to)
        };
        let (a, b) = (of(first, 0), of(second, 0x100));
        let grid = (first.blocks() + second.blocks(), 3);
        let report = Launch::new(grid, CopyRows::THREADS)
            .checks(Checks::Full)
            // SAFETY: the buffers are what the copies say.
            .run(|| unsafe {
                copy_rows_b16(
                    a.1.as_ptr(),
                    a.2.as_mut_ptr(),
                    first,
                    b.1.as_ptr(),
                    b.2.as_mut_ptr(),
                    second,
                );
            });
        assert!(report.is_clean(), "{first:?}, {second:?}:\n{report}");
        for (copy, (from, _, to)) in [(first, &a), (second, &b)] {
            let to = to.to_vec();
            for (at, &copied) in to.iter().enumerate() {
                let (matrix, in_matrix) = (at / copy.to_elems(), at % copy.to_elems());
                let (row, column) = (in_matrix / copy.to_ld as usize, in_matrix % copy.to_ld as usize);
                let index = matrix * copy.from_stride as usize + row * copy.from_ld as usize + column;
                let expected = if column < copy.columns as usize { from[index] } else { 0 };
                assert_eq!(
                    copied, expected,
                    "{copy:?}: matrix {matrix}, row {row}, column {column}"
                );
            }
        }
    }
}

#[test]
fn sectors_are_written_whole() {
    // 64 rows of 8 chunks, two blocks; half of the rows begin in the middle of a word.
    let report = is_right(copy(64, 63, 0), 0, Schedule::Forward);
    let stores = report.lines.iter().filter(|line| {
        line.kind.space == cuda_sim::access::Space::Global && line.kind.access == cuda_sim::access::AccessKind::Write
    });
    let [actual, ideal] = stores.fold([0, 0], |[actual, ideal], line| {
        [actual + line.actual, ideal + line.ideal]
    });
    assert_eq!((actual, ideal), (64 * 64 * 2 / 32, 64 * 64 * 2 / 32));
}
