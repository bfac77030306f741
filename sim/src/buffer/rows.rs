//! Which bytes of a buffer are elements of a matrix.

/// The rows of a matrix, or of those of a batch, in bytes. An offset modulo `matrices`, then modulo `pitch`, then,
/// within `rows`, modulo `columns` is in a row where it is below `row`.
pub(super) struct Rows {
    /// From one matrix to the next, and how much of that is the matrix.
    matrices: [usize; 2],
    /// From one row to the next, and how much of that has matrices side by side.
    pitch: [usize; 2],
    /// From a row of a matrix to that of the matrix at its side.
    columns: usize,
    row: usize,
}

impl Rows {
    /// Those of a matrix with padding; `None` for one without, where an access may go from a row into the next.
    pub(super) fn of<T>(columns: usize, ld: usize) -> Option<Self> {
        let [row, pitch] = [columns, ld].map(|elems| elems * size_of::<T>());
        (columns < ld).then_some(Self {
            matrices: [usize::MAX; 2],
            pitch: [pitch, row],
            columns: pitch,
            row,
        })
    }

    /// Those of matrices of `matrix` elements; `None` where they overlap, or leave no gaps.
    pub(super) fn of_batch<T>(columns: usize, ld: usize, matrix: usize, count: usize, stride: usize) -> Option<Self> {
        let [row, pitch, matrix, stride] = [columns, ld, matrix, stride].map(|elems| elems * size_of::<T>());
        let side_by_side = (count - 1) * stride + row;
        if stride >= row && side_by_side <= pitch {
            Some(Self {
                matrices: [usize::MAX; 2],
                pitch: [pitch, side_by_side],
                columns: stride,
                row,
            })
        } else {
            // Of rows without padding an access may go from one into the next.
            let [row, pitch] = if row < pitch { [row, pitch] } else { [matrix; 2] };
            (stride >= matrix && (row < pitch || matrix < stride)).then_some(Self {
                matrices: [stride, matrix],
                pitch: [pitch, row],
                columns: pitch,
                row,
            })
        }
    }

    /// Whether any of the bytes is outside of all rows.
    #[inline]
    pub(super) fn is_padding(&self, offset: usize, bytes: usize) -> bool {
        let in_matrix = offset % self.matrices[0];
        let in_line = in_matrix % self.pitch[0];
        in_matrix + bytes > self.matrices[1]
            || in_line + bytes > self.pitch[1]
            || in_line % self.columns + bytes > self.row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that are padding, of the first so many.
    fn padding(rows: Option<Rows>, bytes: usize) -> Vec<usize> {
        let rows = rows.expect("with padding");
        (0..bytes).filter(|&offset| rows.is_padding(offset, 1)).collect()
    }

    #[test]
    fn padding_is_what_no_matrix_has() {
        assert!(Rows::of::<u8>(3, 3).is_none());
        assert_eq!(padding(Rows::of::<u8>(3, 5), 10), [3, 4, 8, 9]);
        // Two rows of 3, 5 apart: 8 bytes, one after the other and with a gap.
        assert_eq!(padding(Rows::of_batch::<u8>(3, 5, 8, 2, 8), 16), [3, 4, 11, 12]);
        assert_eq!(padding(Rows::of_batch::<u8>(3, 5, 8, 2, 9), 17), [3, 4, 8, 12, 13]);
        assert!(Rows::of_batch::<u8>(3, 3, 6, 2, 6).is_none());
        assert_eq!(padding(Rows::of_batch::<u8>(3, 3, 6, 2, 7), 13), [6]);
        let rows = Rows::of_batch::<u8>(3, 3, 6, 2, 7).expect("with padding");
        assert!(!rows.is_padding(1, 5) && rows.is_padding(1, 6));
        // Three matrices of 2 columns, 3 apart, in rows of 10.
        assert_eq!(
            padding(Rows::of_batch::<u8>(2, 10, 12, 3, 3), 20),
            [2, 5, 8, 9, 12, 15, 18, 19]
        );
        // An access of several bytes ends where it ends.
        let rows = Rows::of_batch::<u32>(2, 10, 12, 3, 3).expect("with padding");
        assert!(!rows.is_padding(0, 8) && rows.is_padding(4, 8) && !rows.is_padding(12, 8));
        // Matrices that overlap leave nothing off limits.
        assert!(Rows::of_batch::<u8>(3, 5, 8, 2, 1).is_none() && Rows::of_batch::<u8>(3, 5, 8, 2, 0).is_none());
    }
}
