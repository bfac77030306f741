//! The problem.

use tilewright_contract::{DType, Fp8, Fp8Mode, Fp8Scaling, Major};

use super::Fp8Matrix;
use super::matrix::check_k;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::scaled::ScaledGemm;

/// `C = activation(alpha · A · B + beta · C + bias)` of FP8 matrices, each of a format and a scaling of its own.
pub type Fp8Gemm<'a, E> = ScaledGemm<'a, Fp8Matrix, E>;

impl<E: Element<Accumulator = f32>> Fp8Gemm<'_, E> {
    /// What a plan is made for.
    pub fn problem(&self) -> Fp8Problem {
        Fp8Problem {
            formats: [self.a.format(), self.b.format()],
            scalings: [self.a.scaling(), self.b.scaling()],
            majors: [Major::K; 2],
            extents: self.extents(),
            products: Fp8Products::One,
            output: E::DTYPE,
        }
    }
}

/// The products of a launch, all of one N and K.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fp8Products {
    /// One.
    #[default]
    One,
    /// Groups of rows of one A and one C, so many, each with a B of its own. Where each ends the launch says.
    Groups(u32),
    /// A batch of so many, each with an A, a B and a C of its own. The launch may say how many rows of each count.
    Batch(u32),
}

impl Fp8Products {
    /// How many.
    pub const fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Groups(count) | Self::Batch(count) => count,
        }
    }

    /// Whether the kernels for several products compute them.
    pub const fn are_several(self) -> bool {
        !matches!(self, Self::One)
    }

    /// Matrices A and C.
    pub(super) const fn matrices(self) -> u32 {
        match self {
            Self::One | Self::Groups(_) => 1,
            Self::Batch(count) => count,
        }
    }

    /// Refuses none.
    pub(super) fn check(self) -> Result<()> {
        match self {
            Self::Groups(0) => Err(Error::InvalidArgument("0 groups: there has to be at least 1".into())),
            Self::Batch(0) => Err(Error::InvalidArgument(
                "a batch of 0 products: there has to be at least 1".into(),
            )),
            _ => Ok(()),
        }
    }
}

/// What a plan is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp8Problem {
    /// The formats of A and of B.
    pub formats: [Fp8; 2],
    /// Which elements of A and of B share a scale.
    pub scalings: [Fp8Scaling; 2],
    /// Whether A and B are stored along K, as they have to be.
    pub majors: [Major; 2],
    /// M, N and K: of one product; M of groups is the number of all rows.
    pub extents: [usize; 3],
    /// The products.
    pub products: Fp8Products,
    /// The type of the bias, and of C where it is not of f32.
    pub output: DType,
}

impl Fp8Problem {
    /// The mode that the scales ask for: [`Blocks`](Fp8Mode::Blocks), or where `fast` says so
    /// [`Fast`](Fp8Mode::Fast), else [`Promoted`](Fp8Mode::Promoted).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] in one line: operands that are not along K, a K that is no multiple of 16, scalings
    /// that no kernel takes together, `fast` with scales of blocks, and no products.
    pub fn mode(&self, fast: bool) -> Result<Fp8Mode> {
        let refuse = |message: String| Err(Error::InvalidArgument(message));
        let [m, n, k] = self.extents;
        self.products.check()?;
        check_k(self.formats[0], k)?;
        for (operand, major, rows, what) in [("A", self.majors[0], m, "rows"), ("B", self.majors[1], n, "columns")] {
            if !major.is_k() {
                return refuse(format!(
                    "{operand} is stored along its {rows} {what}: wgmma of FP8 takes K-major operands only, store it \
                     as {rows} rows of {k} elements along K"
                ));
            }
        }
        let mode = match fast {
            true => Fp8Mode::Fast,
            false => Fp8Mode::Promoted,
        };
        let [a, b] = self.scalings;
        if mode.takes(self.scalings) {
            Ok(mode)
        } else if !Fp8Mode::Blocks.takes(self.scalings) {
            refuse(format!(
                "scales of A are {a}, of B {b}: kernels take tensor or row on both sides, or 1x128 of A and 128x128 \
                 of B"
            ))
        } else if fast {
            refuse(format!(
                "scales of {a} and {b} are applied every {} of K: there is no fast mode",
                Fp8Scaling::BLOCK
            ))
        } else {
            Ok(Fp8Mode::Blocks)
        }
    }
}
