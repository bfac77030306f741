//! The product of BLAS: scaled, and added to what C holds.

use tilewright_contract::{GemmShape, Operand};

use crate::element::Element;
use crate::error::Result;
use crate::matmul::{Options, Report, copy_rows, matmul_finished};
use crate::problem::{Factors, Finish, OutputOf};
use crate::reference::check_lengths;

/// Computes `C = alpha · op(A) · op(B) + beta · C`. All three are row-major with the shape's leading dimensions; A and
/// B lie transposed where the shape says so. With `alpha` 0 neither A nor B is read, with `beta` 0 what C holds is not.
/// The elements between the rows of C are neither read nor written, and none is written when anything fails.
///
/// The factors are of the type that is summed in: f64 for f64, f32 for all others. There are kernels with alpha and
/// beta for all types but f64; the CPU computes the product first, then scales and adds.
///
/// ```
/// use tilewright::{Factors, GemmShape, Options, Transpose, Verify, gemm};
///
/// let a = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]; // 2 x 3
/// let b = [1.0_f32, 0.0, 1.0, 0.0, 1.0, 1.0]; // 3 x 2, transposed: its columns are rows here
/// let mut c = [1.0_f32, 1.0, 1.0, 1.0];
/// let shape = GemmShape::packed_transposed(2, 2, 3, [Transpose::No, Transpose::Yes])?;
/// let options = Options {
///     verify: Verify::Full,
///     ..Options::default()
/// };
/// gemm(&shape, Factors { alpha: 2.0, beta: -1.0 }, &a, &b, &mut c, &options)?;
/// assert_eq!(c, [7.0, 9.0, 19.0, 21.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
///
/// # Errors
/// As for [`matmul`](crate::matmul()), and [`Error::InvalidPlan`](crate::Error::InvalidPlan) for a policy whose kernel
/// has no alpha and beta. With [`Options::verify`], [`Error::InvalidArgument`](crate::Error::InvalidArgument) for
/// factors that are not finite.
pub fn gemm<T: Element>(
    shape: &GemmShape,
    factors: Factors<T::Accumulator>,
    a: &[T],
    b: &[T],
    c: &mut [T],
    options: &Options,
) -> Result<Report> {
    gemm_finished(shape, factors.into(), a, b, c, options)
}

/// Computes `C = activation(alpha · op(A) · op(B) + beta · C + bias)`, all in the type of the sums, and rounds once, to
/// the type of C: that of A and B, or f32 where they are of f16 or bf16. Otherwise as [`gemm`].
///
/// The kernels that have bias, activation and a C of f32 are those of the tensor cores, of f16 and bf16. Leading
/// dimensions of A and B are best multiples of 8 elements: operands with others are copied on the device first
/// ([`Plan::copies`](crate::dispatch::Plan::copies)). The CPU computes any of it.
///
/// ```
/// use half::f16;
/// use tilewright::{Activation, Finish, GemmShape, Options, Verify, gemm_finished};
///
/// let a = [1.0, 2.0, 3.0, 4.0].map(f16::from_f32); // 2 x 2
/// let b = [1.0, -1.0, 0.0, -1.0].map(f16::from_f32); // 2 x 2
/// let bias = [0.5, 4.0].map(f16::from_f32);
/// let mut c = [0.0_f32; 4];
/// let shape = GemmShape::packed(2, 2, 2)?;
/// let finish = Finish {
///     bias: Some(&bias[..]),
///     activation: Activation::Relu,
///     ..Finish::default()
/// };
/// # let options = Options {
/// #     backend: tilewright::Backend::Cpu,
/// #     verify: Verify::Full,
/// #     ..Options::default()
/// # };
/// gemm_finished(&shape, finish, &a, &b, &mut c, &options)?;
/// assert_eq!(c, [1.5, 1.0, 3.5, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
///
/// # Errors
/// As for [`gemm`]; [`Error::InvalidPlan`](crate::Error::InvalidPlan) where no kernel of the element type has what is
/// asked for, and [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a bias with fewer elements than C has
/// columns.
pub fn gemm_finished<T: Element, C: OutputOf<T>>(
    shape: &GemmShape,
    finish: Finish<&[T], T::Accumulator>,
    a: &[T],
    b: &[T],
    c: &mut [C],
    options: &Options,
) -> Result<Report> {
    check_lengths(shape, &[(Operand::C, c.len())])?;
    let product = matmul_finished(shape, finish, a, b, Some(&*c), options)?;
    copy_rows(shape, &product.c, c);
    Ok(product.report)
}
