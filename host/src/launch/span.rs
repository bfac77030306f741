//! Buffers of a call, as ranges of bytes.

use tilewright_contract::Operand;

use super::operand_error::{Buffer, OperandError};
use crate::dispatch::Plan;

/// Bytes of a buffer: rows of `row_bytes`, `stride_bytes` apart. Of a batch whose matrices are side by side in rows of
/// one larger matrix, or whole rows apart, the larger matrix; of any other batch all bytes from its first to its last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) buffer: Buffer,
    pub(super) address: u64,
    rows: u64,
    row_bytes: u64,
    stride_bytes: u64,
    alignment_bytes: u64,
}

impl Span {
    /// `count` bytes in one piece.
    pub(super) fn flat(buffer: Buffer, address: u64, count: usize, alignment_bytes: usize) -> Self {
        Self {
            buffer,
            address,
            rows: u64::from(count > 0),
            row_bytes: count as u64,
            stride_bytes: count as u64,
            alignment_bytes: alignment_bytes as u64,
        }
    }

    /// `rows` rows of `row_bytes`, `stride_bytes` apart; no row that has no bytes.
    pub(super) fn rows(
        buffer: Buffer,
        address: u64,
        [rows, row_bytes, stride_bytes]: [usize; 3],
        alignment_bytes: usize,
    ) -> Self {
        Self {
            buffer,
            address,
            rows: if row_bytes > 0 { rows as u64 } else { 0 },
            row_bytes: row_bytes as u64,
            stride_bytes: stride_bytes as u64,
            alignment_bytes: alignment_bytes as u64,
        }
    }

    pub(super) fn matrix(
        plan: &Plan,
        operand: Operand,
        address: u64,
        elem_bytes: usize,
        alignment_bytes: usize,
    ) -> Self {
        let shape = plan.shape();
        let (rows, columns, ld) = shape.extents(operand);
        let all = shape.span_elems(operand);
        let to_last = shape.offset(operand, shape.batch().count.saturating_sub(1));
        let (rows, row, ld) = if all == 0 {
            (0, 0, 0)
        } else if to_last + columns <= ld {
            (rows, to_last + columns, ld)
        } else if ld > 0 && shape.batch().stride(operand).is_multiple_of(ld as u64) {
            (to_last / ld + rows, columns, ld)
        } else {
            (1, all, all)
        };
        let [row_bytes, stride_bytes] = [row, ld].map(|elems| (elems * elem_bytes) as u64);
        Self {
            buffer: Buffer::Matrix(operand),
            address,
            rows: rows as u64,
            row_bytes,
            stride_bytes,
            alignment_bytes: alignment_bytes as u64,
        }
    }

    /// From the first byte to the last one, both included.
    pub(super) fn bytes(&self) -> u64 {
        match self.rows {
            0 => 0,
            rows => (rows - 1) * self.stride_bytes + self.row_bytes,
        }
    }

    fn range(&self) -> [u64; 2] {
        [self.address, self.address + self.bytes()]
    }

    /// Refuses null, an address that is not aligned, and a range that wraps.
    fn check(&self) -> Result<(), OperandError> {
        let (buffer, address, needed_bytes) = (self.buffer, self.address, self.bytes());
        if address == 0 {
            return Err(OperandError::Null { buffer, needed_bytes });
        }
        if !address.is_multiple_of(self.alignment_bytes) {
            return Err(OperandError::Misaligned {
                buffer,
                address,
                alignment_bytes: self.alignment_bytes,
            });
        }
        match address.checked_add(needed_bytes) {
            Some(_) => Ok(()),
            None => Err(OperandError::OutOfRange {
                buffer,
                address,
                needed_bytes,
            }),
        }
    }

    /// Whether two buffers share bytes. Rows of matrices with one stride may be interleaved, as two blocks of columns
    /// of one larger matrix are: they share none. With different strides ranges that overlap count as shared.
    fn overlaps(&self, other: &Self) -> bool {
        let ([begin, end], [other_begin, other_end]) = (self.range(), other.range());
        if end <= other_begin || other_end <= begin {
            return false;
        }
        let stride = self.stride_bytes;
        if stride != other.stride_bytes || stride == 0 {
            return true;
        }
        // Where in a row of `self` rows of `other` start.
        let offset = (i128::from(other_begin) - i128::from(begin)).rem_euclid(i128::from(stride)) as u64;
        offset < self.row_bytes || offset + other.row_bytes > stride
    }
}

/// Refuses a null pointer, a misaligned one, and a buffer that is written and overlaps another.
pub(super) fn check_spans(spans: &[Span]) -> Result<(), OperandError> {
    let accessed = || spans.iter().filter(|span| span.bytes() > 0);
    for span in accessed() {
        span.check()?;
    }
    for written in accessed().filter(|span| is_written(span.buffer)) {
        let mut others = accessed().filter(|other| other.buffer != written.buffer);
        if let Some(other) = others.find(|other| written.overlaps(other)) {
            return Err(OperandError::Overlap {
                written: written.buffer,
                written_range: written.range(),
                other: other.buffer,
                other_range: other.range(),
            });
        }
    }
    Ok(())
}

fn is_written(buffer: Buffer) -> bool {
    use Buffer::{Matrix, Quantized, QuantizedScales, Workspace};
    matches!(buffer, Matrix(Operand::C) | Workspace | Quantized | QuantizedScales)
}
