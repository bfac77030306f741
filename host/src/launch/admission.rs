//! What every product with scales is held to before it is enqueued.

use cust_raw::{CUdeviceptr, CUstream};

use super::context::Entered;
use super::kernels::Kernels;
use super::operand_error::OperandError;
use super::operands::Checks;
use super::pointer;
use super::span::{Span, check_spans};
use crate::error::Result;

/// Refuses a bias where none was prepared, and none where one was.
pub(super) fn check_bias(has_bias: bool, address: CUdeviceptr) -> Result<()> {
    match (has_bias, address) {
        (true, 0) => Err(OperandError::MissingBias.into()),
        (false, address) if address != 0 => Err(OperandError::UnexpectedBias { address }.into()),
        _ => Ok(()),
    }
}

/// Checks buffers and stream, and makes the context current until the value is dropped.
///
/// # Errors
/// [`Error::Operand`](crate::Error::Operand) for what [`Checks`] finds.
pub(super) fn admit(kernels: &Kernels, checks: Checks, stream: CUstream, spans: &[Span]) -> Result<Entered> {
    check_spans(spans)?;
    let entered = kernels.enter()?;
    if checks == Checks::Full {
        let context = kernels.context_handle();
        pointer::check_stream(stream, context)?;
        for span in spans.iter().filter(|span| span.bytes() > 0) {
            pointer::check(span, context)?;
        }
    }
    Ok(entered)
}
