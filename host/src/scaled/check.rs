//! Whether a C is the product, up to rounding.

use std::fmt;

use super::reference::exact;
use super::{ScaledGemm, ScaledMatrix};
use crate::element::Element;
use crate::error::Result;
use crate::problem::OutputOf;

/// What a comparison with the reference found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checked {
    /// Elements outside their bound, NaN among them.
    pub wrong: usize,
    /// Elements in all.
    pub elements: usize,
    /// The element that is farthest from the reference, in units of its bound: row, column, value, reference, bound.
    pub farthest: Option<(usize, usize, f64, f64, f64)>,
}

impl Checked {
    /// Whether every element is within its bound.
    pub fn passed(&self) -> bool {
        self.wrong == 0
    }
}

impl Checked {
    /// Adds what was found in another part of C, whose rows begin at `first_row`.
    pub(crate) fn add(&mut self, part: &Self, first_row: usize) {
        let share = |of: &Self| {
            of.farthest.map_or(-1.0, |(_, _, value, exact, bound)| {
                let error = (value - exact).abs();
                if error.is_nan() || bound == 0.0 {
                    f64::INFINITY
                } else {
                    error / bound
                }
            })
        };
        if share(part) > share(self) {
            self.farthest = part
                .farthest
                .map(|(row, column, value, exact, bound)| (first_row + row, column, value, exact, bound));
        }
        self.wrong += part.wrong;
        self.elements += part.elements;
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} elements are outside their bound",
            self.wrong, self.elements
        )?;
        if let Some((row, column, value, reference, bound)) = self.farthest {
            let error = (value - reference).abs();
            write!(
                f,
                "; farthest is row {row}, column {column}: {value:.6e}, reference {reference:.6e}, off by {error:.1e} \
                 of {bound:.1e} allowed"
            )?;
        }
        Ok(())
    }
}

/// Compares every element of C with the [reference](super::reference). Allowed are `relative` of the sum of all
/// magnitudes, and half a unit of C's type of the result.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a bias or a C of another length.
pub(crate) fn compare<M, E, C>(
    gemm: &ScaledGemm<'_, M, E>,
    before: Option<&[f64]>,
    c: &[C],
    relative: f64,
) -> Result<Checked>
where
    M: ScaledMatrix,
    E: Element<Accumulator = f32>,
    C: OutputOf<E>,
{
    gemm.check(Some(c.len()))?;
    let [_, n, _] = gemm.extents();
    let mut checked = Checked {
        wrong: 0,
        elements: c.len(),
        farthest: None,
    };
    let mut most = -1.0;
    for (at, (c, exact)) in c.iter().zip(exact(gemm, before)).enumerate() {
        let of_c = exact.value.abs() * f64::exp2(-f64::from(C::DTYPE.significand_bits()));
        // Of a C of 16 bits also what its smallest numbers are apart.
        let bound = relative * exact.magnitude + of_c + f64::exp2(-25.0);
        let error = (c.to_f64() - exact.value).abs();
        let share = if error.is_nan() { f64::INFINITY } else { error / bound };
        checked.wrong += usize::from(share > 1.0);
        if share > most {
            most = share;
            checked.farthest = Some((at / n, at % n, c.to_f64(), exact.value, bound));
        }
    }
    Ok(checked)
}
