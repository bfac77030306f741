//! Which index of an operand is contiguous in memory.

use crate::shape::{Operand, Transpose};

/// The contiguous index of A (m x k) or B (k x n): K, or M of A and N of B. CUTLASS says K-major and MN-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// Elements with neighboring k are neighbors in memory: A as it is, B transposed.
    K,
    /// Elements with neighboring m (of A) or n (of B) are neighbors in memory: A transposed, B as it is.
    Mn,
}

impl Major {
    /// Of A or B (both row-major) stored as `transpose` says. C counts as B: its rows run along N.
    pub const fn of(operand: Operand, transpose: Transpose) -> Self {
        match (operand, transpose) {
            (Operand::A, Transpose::No) | (Operand::B | Operand::C, Transpose::Yes) => Self::K,
            (Operand::A, Transpose::Yes) | (Operand::B | Operand::C, Transpose::No) => Self::Mn,
        }
    }

    /// Of A and B.
    pub const fn of_both([a, b]: [Transpose; 2]) -> [Self; 2] {
        [Self::of(Operand::A, a), Self::of(Operand::B, b)]
    }

    /// How A and B with these majors are stored.
    pub const fn transposes([a, b]: [Self; 2]) -> [Transpose; 2] {
        [
            match a {
                Self::K => Transpose::No,
                Self::Mn => Transpose::Yes,
            },
            match b {
                Self::K => Transpose::Yes,
                Self::Mn => Transpose::No,
            },
        ]
    }

    /// Whether it is [`Major::K`].
    pub const fn is_k(self) -> bool {
        matches!(self, Self::K)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majors_and_transposes_are_two_names_of_one_layout() {
        for a in [Transpose::No, Transpose::Yes] {
            for b in [Transpose::No, Transpose::Yes] {
                assert_eq!(Major::transposes(Major::of_both([a, b])), [a, b]);
            }
        }
        // Row-major A and B, as in the seeds: A is K-major, B is N-major.
        assert_eq!(Major::of_both([Transpose::No; 2]), [Major::K, Major::Mn]);
    }
}
