//! The product of BLAS: scaled, and added to what C holds.

use tilewright_contract::Operand;

use crate::element::Element;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::matmul::{Options, Report, copy_rows, product};
use crate::problem::{Gemm, OutputOf};
use crate::reference::check_lengths;

/// Computes `C = activation(alpha · op(A) · op(B) + beta · C + bias)`, all in the type of the sums, and rounds once, to
/// the type of C: that of A and B, or f32 where they are of f16 or bf16.
///
/// All three are row-major with the shape's leading dimensions; A and B lie transposed where the shape says so. With
/// `alpha` 0 neither A nor B is read, with `beta` 0 what C holds is not. The elements between the rows of C are neither
/// read nor written, and none is written when anything fails.
///
/// The factors are of the type that is summed in: f64 for f64, f32 for all others. There are kernels with alpha and
/// beta for all types but f64, and with bias, activation and a C of f32 for f16 and bf16. Leading dimensions of f16 and
/// bf16 are best multiples of 8 elements: operands with others are copied on the device first
/// ([`Plan::copies`](crate::dispatch::Plan::copies)). The CPU computes any of it.
///
/// ```
/// use tilewright::{Gemm, GemmShape, Options, Transpose, Verify, gemm};
///
/// let a = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]; // 2 x 3
/// let b = [1.0_f32, 0.0, 1.0, 0.0, 1.0, 1.0]; // 3 x 2, transposed: its columns are rows here
/// let mut c = [1.0_f32, 1.0, 1.0, 1.0];
/// let shape = GemmShape::packed_transposed(2, 2, 3, [Transpose::No, Transpose::Yes])?;
/// let options = Options {
///     verify: Verify::Full,
///     ..Options::default()
/// };
/// gemm(&Gemm::new(shape).alpha(2.0).beta(-1.0), &a, &b, &mut c, &options)?;
/// assert_eq!(c, [7.0, 9.0, 19.0, 21.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
///
/// With a bias, an activation and a C of f32:
///
/// ```
/// use half::f16;
/// use tilewright::{Activation, Gemm, GemmShape, Options, Verify, gemm};
///
/// let a = [1.0, 2.0, 3.0, 4.0].map(f16::from_f32); // 2 x 2
/// let b = [1.0, -1.0, 0.0, -1.0].map(f16::from_f32); // 2 x 2
/// let bias = [0.5, 4.0].map(f16::from_f32);
/// let mut c = [0.0_f32; 4];
/// let shape = GemmShape::packed(2, 2, 2)?;
/// # let options = Options {
/// #     backend: tilewright::Backend::Cpu,
/// #     verify: Verify::Full,
/// #     ..Options::default()
/// # };
/// let problem = Gemm::new(shape).bias(&bias[..]).activation(Activation::Relu);
/// gemm(&problem, &a, &b, &mut c, &options)?;
/// assert_eq!(c, [1.5, 1.0, 3.5, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for a slice shorter than its operand, for a bias with fewer elements than C has columns
/// and, with [`Options::verify`], for factors that are not finite; [`Error::InvalidPlan`] for a policy that cannot
/// work, or none of whose kernels has what is asked for; [`Error::Unavailable`] when the GPU was asked for and there is
/// none; [`Error::Driver`] from the driver, [`Error::Faults`] from the simulator, [`Error::Mismatch`] when verification
/// finds one.
pub fn gemm<T: Element, C: OutputOf<T>>(
    problem: &Gemm<&[T], T::Accumulator>,
    a: &[T],
    b: &[T],
    c: &mut [C],
    options: &Options,
) -> Result<Report> {
    check_lengths(&problem.shape, &[(Operand::C, c.len())])?;
    let product = product(problem, a, b, Some(&*c), options)?;
    copy_rows(problem, &product.c, c);
    Ok(product.report)
}
