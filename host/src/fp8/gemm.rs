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
            output: E::DTYPE,
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
    /// M, N and K.
    pub extents: [usize; 3],
    /// The type of the bias, and of C where it is not of f32.
    pub output: DType,
}

impl Fp8Problem {
    /// The mode that the scales ask for: [`Blocks`](Fp8Mode::Blocks), or where `fast` says so
    /// [`Fast`](Fp8Mode::Fast), else [`Promoted`](Fp8Mode::Promoted).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] in one line: operands that are not along K, a K that is no multiple of 16, scalings
    /// that no kernel takes together, and `fast` with scales of blocks.
    pub fn mode(&self, fast: bool) -> Result<Fp8Mode> {
        let refuse = |message: String| Err(Error::InvalidArgument(message));
        let [m, n, k] = self.extents;
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
