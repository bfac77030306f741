//! FP8 rows: e4m3 operands with scales, C of bf16, ours against cublasLt in the same scale mode.

mod device;
mod operands;

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use tilewright::fp8::{Fp8, Fp8Problem, Fp8Products, Fp8Scaling, Major};
use tilewright_contract::DType;

/// What an FP8 row multiplies, and how it accumulates: its name in a CSV file is one of [`Fp8Row::ALL`]'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fp8Row {
    /// One scale for all of A, one for all of B; the tensor cores accumulate all of K.
    TensorFast,
    /// The same scales; 128 terms, then promotion into f32.
    TensorPromoted,
    /// A scale for each row of A and each column of B; the tensor cores accumulate all of K.
    RowFast,
    /// The same scales; 128 terms, then promotion into f32.
    RowPromoted,
    /// A scale for 1x128 of A and for 128x128 of B; 128 terms, scaled and promoted into f32.
    Blocks,
}

impl Fp8Row {
    /// Every kind of row.
    pub const ALL: [Self; 5] = [
        Self::TensorFast,
        Self::TensorPromoted,
        Self::RowFast,
        Self::RowPromoted,
        Self::Blocks,
    ];

    /// The format of both operands.
    pub const FORMAT: Fp8 = Fp8::E4m3;

    /// Scales, then accumulation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TensorFast => "tensor fast",
            Self::TensorPromoted => "tensor promoted",
            Self::RowFast => "row fast",
            Self::RowPromoted => "row promoted",
            Self::Blocks => "blocks",
        }
    }

    /// Which elements of A and of B share a scale.
    pub const fn scalings(self) -> [Fp8Scaling; 2] {
        match self {
            Self::TensorFast | Self::TensorPromoted => [Fp8Scaling::Tensor; 2],
            Self::RowFast | Self::RowPromoted => [Fp8Scaling::Rows; 2],
            Self::Blocks => [Fp8Scaling::Rows128, Fp8Scaling::Blocks128],
        }
    }

    /// Whether the tensor cores accumulate all of K.
    pub const fn is_fast(self) -> bool {
        matches!(self, Self::TensorFast | Self::RowFast)
    }

    /// The kind that reports call so: `e4m3 tensor fast` and its like.
    pub fn reported(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.to_string() == text)
    }

    /// The problem of a row of this kind, by its M, N and K.
    pub fn problem(self, extents: [usize; 3]) -> Fp8Problem {
        Fp8Problem {
            formats: [Self::FORMAT; 2],
            scalings: self.scalings(),
            majors: [Major::K; 2],
            extents,
            products: Fp8Products::One,
            output: DType::Bf16,
        }
    }
}

impl fmt::Display for Fp8Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Self::FORMAT, self.name())
    }
}

impl FromStr for Fp8Row {
    type Err = String;

    /// Reads a [`Fp8Row::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("unknown; known: {}", Self::ALL.map(Self::name).join(", ")))
    }
}

impl Serialize for Fp8Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_say_what_the_kernels_take() {
        for kind in Fp8Row::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(Fp8Row::reported(&kind.to_string()), Some(kind));
            assert_eq!(
                serde_json::to_value(kind).expect("text"),
                format!("e4m3 {}", kind.name())
            );
            let problem = kind.problem([1, 1, 16]);
            let mode = problem.mode(kind.is_fast()).expect("a kernel's scalings");
            assert_eq!(mode.promotes(), !kind.is_fast());
        }
        let unknown = "tensor".parse::<Fp8Row>().expect_err("without accumulation");
        assert_eq!(
            unknown,
            "unknown; known: tensor fast, tensor promoted, row fast, row promoted, blocks"
        );
    }
}
