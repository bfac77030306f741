//! Shapes of several products: batches, and groups of rows.

use super::{GemmShape, Operand, ShapeError, Transpose};
use crate::args::GemmArgs;
use crate::batch::Batch;

/// The most elements from the first one of an operand to its last.
const MAX_SPAN: u128 = 1 << 60;

impl GemmShape {
    /// A strided batch of `count` products of this shape: from one product to the next, A, B and C are `strides`
    /// elements apart. A stride of A or B may be any number; with 0 all products share the matrix. The matrices of C
    /// are one after the other, or side by side in the rows of a larger matrix.
    ///
    /// ```
    /// use tilewright_contract::{GemmShape, Operand};
    ///
    /// // 12 products that share B; C of each product is 64 columns of a matrix with 768.
    /// let shape = GemmShape::with_ld(100, 64, 32, 32, 64, 768)?.with_batch(12, [3200, 0, 64])?;
    /// assert_eq!((shape.batch().count, shape.span_elems(Operand::B)), (12, 32 * 64));
    /// assert_eq!(shape.span_elems(Operand::C), 100 * 768);
    /// # Ok::<(), tilewright_contract::ShapeError>(())
    /// ```
    ///
    /// # Errors
    /// [`ShapeError::BatchOverlap`] and [`ShapeError::BatchTooLarge`], with the numbers.
    pub fn with_batch(&self, count: usize, strides: [usize; 3]) -> Result<Self, ShapeError> {
        let operands = [Operand::A, Operand::B, Operand::C];
        for (operand, stride) in operands.into_iter().zip(strides) {
            let before_last = count.saturating_sub(1) as u128 * stride as u128;
            let span = before_last + self.product().span_elems(operand) as u128;
            if count > i32::MAX as usize || span > MAX_SPAN {
                return Err(ShapeError::BatchTooLarge { operand, count, stride });
            }
        }
        let GemmArgs { m, n, ldc, .. } = self.args;
        let [.., stride] = strides;
        if !Batch::is_disjoint(count as u32, stride as u64, [m, n, ldc]) {
            let c = [m, n, ldc].map(|extent| extent as usize);
            return Err(ShapeError::BatchOverlap { count, stride, c });
        }
        let strides = if count > 1 {
            strides.map(|stride| stride as u64)
        } else {
            [0; 3]
        };
        let count = count as u32;
        Ok(Self {
            batch: Batch {
                count,
                strides,
                groups: false,
            },
            ..*self
        })
    }

    /// The rows of A and C divided among `count` groups, each with a B of its own, `stride` elements after the one
    /// before: what a layer of experts computes once the tokens are sorted by expert. Which rows each group has the
    /// launch says ([`GemmParams::group_ends`](crate::GemmParams)); `m` is the number of all.
    ///
    /// ```
    /// use tilewright_contract::{GemmShape, Operand};
    ///
    /// // 8 experts with weights of 32 x 64, for 100 tokens.
    /// let shape = GemmShape::packed(100, 64, 32)?.with_groups(8, 32 * 64)?;
    /// assert_eq!((shape.batch().count, shape.span_elems(Operand::A)), (8, 100 * 32));
    /// assert_eq!(shape.span_elems(Operand::B), 8 * 32 * 64);
    /// let (of_group, from) = shape.group(3, 10, 25);
    /// assert_eq!((of_group.m(), from), (15, [10 * 32, 3 * 32 * 64, 10 * 64]));
    /// # Ok::<(), tilewright_contract::ShapeError>(())
    /// ```
    ///
    /// # Errors
    /// [`ShapeError::GroupsOfColumns`] for a transposed A, [`ShapeError::BatchTooLarge`] with the numbers.
    pub fn with_groups(&self, count: usize, stride: usize) -> Result<Self, ShapeError> {
        if matches!(self.transpose(Operand::A), Transpose::Yes) {
            return Err(ShapeError::GroupsOfColumns);
        }
        let operand = Operand::B;
        let before_last = count.saturating_sub(1) as u128 * stride as u128;
        // Tiles of rows are counted with one more for each group.
        let rows = count as u64 + u64::from(self.args.m);
        if rows > i32::MAX as u64 || before_last + self.product().span_elems(operand) as u128 > MAX_SPAN {
            return Err(ShapeError::BatchTooLarge { operand, count, stride });
        }
        Ok(Self {
            batch: Batch {
                count: count as u32,
                strides: [0, if count > 1 { stride as u64 } else { 0 }, 0],
                groups: true,
            },
            ..*self
        })
    }

    /// The product of group `index`, which has the rows from `start` to before `end`, and where its A, B and C begin,
    /// in elements from the first of each.
    pub fn group(&self, index: u32, start: u32, end: u32) -> (Self, [usize; 3]) {
        let mut product = self.product();
        product.args.m = end - start;
        let from_row = |operand| match self.offset_of_row(operand, start) {
            from if product.span_elems(operand) > 0 => from,
            _ => 0,
        };
        let starts = [
            from_row(Operand::A),
            self.offset(Operand::B, index),
            from_row(Operand::C),
        ];
        (product, starts)
    }

    /// Elements from the first one of an operand to that of a row.
    const fn offset_of_row(&self, operand: Operand, row: u32) -> usize {
        let (_, _, ld) = self.extents(operand);
        row as usize * ld
    }

    /// [`with_batch`](Self::with_batch) with each matrix right after the one before, rows of their leading dimensions
    /// included: `rows * ld` elements apart.
    ///
    /// # Errors
    /// As for [`with_batch`](Self::with_batch).
    pub fn with_packed_batch(&self, count: usize) -> Result<Self, ShapeError> {
        let strides = [Operand::A, Operand::B, Operand::C].map(|operand| {
            let (rows, _, ld) = self.extents(operand);
            rows * ld
        });
        self.with_batch(count, strides)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::ToOwned;
    use std::format;
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_batch_spans_all_of_its_matrices() {
        let shape = GemmShape::with_ld(3, 4, 5, 6, 7, 8).expect("valid");
        let batch = shape.with_batch(10, [2, 0, 30]).expect("valid");
        let spans = [Operand::A, Operand::B, Operand::C].map(|operand| batch.span_elems(operand));
        assert_eq!(spans, [2 * 6 + 5 + 9 * 2, 4 * 7 + 4, 2 * 8 + 4 + 9 * 30]);
        assert_eq!(
            (batch.offset(Operand::C, 9), batch.flops()),
            (270, 10.0 * shape.flops())
        );
        assert_eq!(batch.to_string(), "10 x (3 x 4 x 5)");
        assert_eq!((batch.product(), shape.to_string()), (shape, "3 x 4 x 5".to_owned()));
        let packed = shape.with_packed_batch(10).expect("valid");
        assert_eq!(packed.batch().strides, [18, 35, 24]);
        // One product is one product, whatever its strides.
        assert_eq!(shape.with_batch(1, [9, 9, 9]), Ok(shape));
        assert_eq!(shape.with_batch(0, [0; 3]).expect("empty").span_elems(Operand::A), 0);
        assert_eq!(batch.without_k().span_elems(Operand::A), 0);
    }

    #[test]
    fn groups_share_the_rows_of_one_matrix() {
        let shape = GemmShape::with_ld(9, 4, 5, 6, 7, 8).expect("valid");
        let groups = shape.with_groups(3, 40).expect("valid");
        let spans = [Operand::A, Operand::B, Operand::C].map(|operand| groups.span_elems(operand));
        assert_eq!(spans, [8 * 6 + 5, 2 * 40 + 4 * 7 + 4, 8 * 8 + 4]);
        assert_eq!(groups.flops(), shape.flops());
        assert_eq!(groups.to_string(), "9 x 4 x 5 in 3 groups");
        let (product, from) = groups.group(2, 7, 9);
        assert_eq!((product.m(), product.batch(), from), (2, Batch::ONE, [42, 80, 56]));
        // An empty group starts nowhere.
        let (empty, from) = groups.group(2, 9, 9);
        assert_eq!((empty.m(), from), (0, [0, 80, 0]));
        let transposed = GemmShape::packed_transposed(9, 4, 5, [Transpose::Yes, Transpose::No]).expect("valid");
        let refused =
            [transposed.with_groups(3, 20), shape.with_groups(1 << 31, 0)].map(|shape| shape.expect_err("refused"));
        assert_eq!(
            refused[0].to_string(),
            "A is transposed, and groups are of rows of A as it is stored"
        );
        assert!(
            refused[1].to_string().starts_with("a batch of 2147483648 matrices B"),
            "{}",
            refused[1]
        );
    }

    #[test]
    fn batches_that_overlap_in_c_or_have_no_end_are_refused_with_the_numbers() {
        let shape = GemmShape::with_ld(3, 4, 5, 6, 7, 8).expect("valid");
        let refused = |count, strides| shape.with_batch(count, strides).expect_err("refused").to_string();
        assert_eq!(
            refused(2, [0, 0, 19]),
            "the 2 matrices of C overlap: they are 19 elements apart, each has 3 rows of 4 elements, 8 apart"
        );
        let too_large = "exceeds the largest supported: 2147483647 products, 2^60 elements";
        assert_eq!(
            refused(2, [1 << 60, 0, 20]),
            format!("a batch of 2 matrices A, {} elements apart, {too_large}", 1_u64 << 60)
        );
        assert!(refused(1 << 31, [0, 0, 20]).ends_with(too_large));
        // Two C side by side in rows of 8.
        assert!(shape.with_batch(2, [0, 0, 4]).is_ok());
    }
}
