//! The transposed copy in the simulator, against plain Rust: any extents, any distance of rows, several matrices.

use std::ptr::{null, null_mut};

use cuda_sim::{Checks, GlobalBuffer, Launch, Report, Schedule};
use kernels_gpu::gemm::transpose_rows::transpose_rows_b32;
use tilewright_contract::{CopyKind, CopyRows, OperandCopy, padded_ld};

/// Transposes `matrices` matrices of `rows` rows of `columns` elements with `gap` elements after each row, and
/// compares every element of the copies.
fn is_right([rows, columns, gap]: [u32; 3], matrices: u32, schedule: Schedule) -> Report {
    let what = format!("{matrices} x {rows} x {columns} + {gap}, {schedule}");
    let copy = OperandCopy {
        kind: CopyKind::Transpose,
        rows: CopyRows {
            from_stride: u64::from(rows * (columns + gap)),
            rows,
            columns,
            from_ld: columns + gap,
            to_ld: padded_ld(rows as usize, 4) as u32,
            matrices,
        },
    };
    let [rows, columns, from_ld, to_ld] =
        [rows, columns, copy.rows.from_ld, copy.rows.to_ld].map(|extent| extent as usize);
    // No element is 0, so that zeros are known from elements.
    let stride = rows * from_ld;
    let elements: Vec<u32> = (0..matrices as usize * stride).map(|at| at as u32 | 1 << 31).collect();
    let from = GlobalBuffer::batch(&elements, [rows, columns, from_ld], matrices as usize, stride);
    let to = GlobalBuffer::<u32>::uninit(matrices as usize * copy.to_elems());
    let report = Launch::new((copy.blocks(), matrices), CopyRows::THREADS)
        .schedule(schedule)
        .checks(Checks::Full)
        // SAFETY: the buffers are what the copy says.
        .run(|| unsafe {
            let (from, to) = (from.as_ptr(), to.as_mut_ptr());
            transpose_rows_b32(from, to, copy.rows, null(), null_mut(), CopyRows::NONE);
        });
    assert!(report.is_clean(), "{what}:\n{report}");
    let copied = to.to_vec();
    for (at, &element) in copied.iter().enumerate() {
        let (matrix, at) = (at / copy.to_elems(), at % copy.to_elems());
        let (column, row) = (at / to_ld, at % to_ld);
        let expected = match row < rows {
            true => elements[matrix * stride + row * from_ld + column],
            false => 0,
        };
        assert_eq!(element, expected, "{what}: row {row}, column {column} of {matrix}");
    }
    report
}

#[test]
fn every_part_of_a_tile_and_every_distance_of_rows() {
    for extent in [1, 2, 7, 31, 32, 33, 40, 65] {
        for other in [1, 3, 32, 37, 96] {
            for gap in [0, 1, 5] {
                let _: Report = is_right([extent, other, gap], 1, Schedule::Forward);
            }
        }
    }
}

#[test]
fn matrices_follow_one_another_in_every_order() {
    let report = is_right([45, 67, 2], 3, Schedule::All);
    // 67 rows of 64 elements: 3 x 2 tiles, of 3 matrices.
    assert_eq!(report.blocks, 18);
}

#[test]
fn sectors_are_written_whole_and_no_bank_waits() {
    let report = is_right([64, 64, 0], 1, Schedule::Forward);
    assert!(report.lines.iter().all(|line| line.actual == line.ideal), "{report}");
}
