//! Batches: products of one shape whose operands are a fixed distance apart, or groups of rows with a B each.

use crate::shape::Operand;

/// A strided batch: `C_i = op(A_i) · op(B_i)` for `i` in `0..count`, all of one shape. Operand `i` starts `i * stride`
/// elements after operand 0.
///
/// A and B may overlap in any way: with a stride of 0 all products share the operand. The matrices of C share no
/// element.
///
/// With [`groups`](Self::groups) the products share one A and one C, whose rows are divided among them: product `i`
/// has the rows from where group `i - 1` ends to where group `i` ends, and a B of its own. How many rows each has only
/// the launch knows, as in the layers of experts of a mixture (PyTorch, `torch._grouped_mm`).
///
/// Source: cuBLAS, `cublas<t>gemmStridedBatched`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Batch {
    /// Number of products. With 0 there is nothing to compute.
    pub count: u32,
    /// Elements from A, B and C of one product to those of the next; all 0 where there is one product or none.
    pub strides: [u64; 3],
    /// Whether the products are groups of rows of one A and one C.
    pub groups: bool,
}

impl Batch {
    /// One product.
    pub const ONE: Self = Self {
        count: 1,
        strides: [0; 3],
        groups: false,
    };

    /// Elements from an operand of one product to that of the next.
    pub const fn stride(&self, operand: Operand) -> u64 {
        self.strides[match operand {
            Operand::A => 0,
            Operand::B => 1,
            Operand::C => 2,
        }]
    }

    /// The matrices that an operand consists of: one where all products share it, or its rows.
    pub const fn matrices(&self, operand: Operand) -> u32 {
        match self.stride(operand) {
            0 if self.count > 1 => 1,
            _ if self.groups && self.count > 0 && !matches!(operand, Operand::B) => 1,
            _ => self.count,
        }
    }

    /// Whether `count` matrices of `rows x columns` with leading dimension `ld`, `stride` elements apart, share no
    /// element: one after the other, or side by side within the rows of one larger matrix, as the heads of attention
    /// are. Other ways to interleave them count as shared.
    pub const fn is_disjoint(count: u32, stride: u64, [rows, columns, ld]: [u32; 3]) -> bool {
        if count < 2 || rows == 0 || columns == 0 {
            return true;
        }
        let span = (rows as u64 - 1) * ld as u64 + columns as u64;
        let side_by_side =
            stride >= columns as u64 && (count as u128 - 1) * stride as u128 + columns as u128 <= ld as u128;
        stride >= span || side_by_side
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_disjoint_one_after_the_other_or_side_by_side() {
        // 3 x 4 with rows of 8: 20 elements.
        let is_disjoint = |count, stride| Batch::is_disjoint(count, stride, [3, 4, 8]);
        assert!(is_disjoint(5, 20) && is_disjoint(5, 100) && !is_disjoint(5, 19));
        // Two fit into a row of 8, three do not.
        assert!(is_disjoint(2, 4) && !is_disjoint(3, 4) && !is_disjoint(2, 3) && !is_disjoint(2, 5));
        assert!(!is_disjoint(2, 0) && is_disjoint(1, 0) && is_disjoint(0, 0));
        assert!(Batch::is_disjoint(9, 0, [0, 4, 8]));
        // Nothing wraps.
        assert!(
            Batch::is_disjoint(u32::MAX, u64::MAX, [u32::MAX; 3])
                && !Batch::is_disjoint(u32::MAX, 1 << 31, [2, 4, u32::MAX])
        );
    }

    #[test]
    fn an_operand_that_all_share_is_one_matrix() {
        let batch = Batch {
            count: 7,
            strides: [0, 12, 20],
            groups: false,
        };
        assert_eq!(
            [Operand::A, Operand::B, Operand::C].map(|of| batch.matrices(of)),
            [1, 7, 7]
        );
        assert_eq!(Batch::ONE.matrices(Operand::A), 1);
    }
}
