//! Why a product cannot be enqueued on these pointers.

use std::fmt;

use tilewright_contract::Operand;

/// A piece of device memory that a product, or a quantization, takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// A, B or C.
    Matrix(Operand),
    /// The scales of a block-scaled or FP8 A or B.
    Scales(Operand),
    /// The bias.
    Bias,
    /// Where the groups end.
    GroupEnds,
    /// The workspace.
    Workspace,
    /// The matrix that is quantized.
    Source,
    /// The elements that it becomes.
    Quantized,
    /// Their scales.
    QuantizedScales,
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffer::Matrix(operand) => operand.fmt(f),
            Buffer::Scales(operand) => write!(f, "the array of {operand}'s scales"),
            Buffer::Bias => f.write_str("the bias"),
            Buffer::GroupEnds => f.write_str("the array of group ends"),
            Buffer::Workspace => f.write_str("the workspace"),
            Buffer::Source => f.write_str("the source"),
            Buffer::Quantized => f.write_str("the array of quantized elements"),
            Buffer::QuantizedScales => f.write_str("the array of their scales"),
        }
    }
}

/// A device pointer, a workspace or a stream that [`Prepared::enqueue`](super::Prepared::enqueue) cannot use. All sizes
/// and addresses are in bytes. Nothing was enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperandError {
    /// A null pointer where memory is needed.
    Null {
        /// Of what.
        buffer: Buffer,
        /// Bytes that it takes.
        needed_bytes: u64,
    },
    /// An address that the kernel cannot load from: not a multiple of the element's size, or of the vector's.
    Misaligned {
        /// Of what.
        buffer: Buffer,
        /// The address.
        address: u64,
        /// What it has to be a multiple of.
        alignment_bytes: u64,
    },
    /// An address range that wraps around the end of the address space.
    OutOfRange {
        /// Of what.
        buffer: Buffer,
        /// The address.
        address: u64,
        /// Bytes that it takes.
        needed_bytes: u64,
    },
    /// An allocation that ends before the operand does.
    TooShort {
        /// Of what.
        buffer: Buffer,
        /// The address.
        address: u64,
        /// Bytes that it takes.
        needed_bytes: u64,
        /// Bytes from the address to the end of the allocation.
        available_bytes: u64,
    },
    /// A pointer that no kernel of the context can access: memory of the host, of nobody, or of a CUDA array.
    NotDeviceMemory {
        /// Of what.
        buffer: Buffer,
        /// The address.
        address: u64,
    },
    /// Memory of another device.
    OtherDevice {
        /// Of what.
        buffer: Buffer,
        /// The address.
        address: u64,
        /// The device that has it, counted from 0.
        device: u32,
        /// The device that the kernel is loaded on.
        expected: u32,
    },
    /// Memory of another context of the same device.
    OtherContext {
        /// Of what.
        buffer: Buffer,
        /// The address.
        address: u64,
    },
    /// A stream of another context than the one that the kernel is loaded into.
    StreamOfOtherContext,
    /// No workspace, or one that is too small.
    Workspace {
        /// Bytes that the product takes ([`Prepared::workspace_bytes`](super::Prepared::workspace_bytes)).
        needed_bytes: u64,
        /// Bytes that were given.
        given_bytes: u64,
    },
    /// Two buffers share bytes, and one of them is written.
    Overlap {
        /// The one that is written.
        written: Buffer,
        /// Its first byte, and the one after its last.
        written_range: [u64; 2],
        /// The other.
        other: Buffer,
        /// Its first byte, and the one after its last.
        other_range: [u64; 2],
    },
    /// The product was prepared with a bias, and none was given.
    MissingBias,
    /// The product has no groups of rows, and ends of groups were given.
    UnexpectedGroupEnds {
        /// The address.
        address: u64,
    },
    /// The product was prepared without a bias, and one was given.
    UnexpectedBias {
        /// The address.
        address: u64,
    },
}

impl fmt::Display for OperandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use OperandError::*;
        match *self {
            Null { buffer, needed_bytes } => write!(f, "{buffer} is null, and takes {needed_bytes} B"),
            Misaligned {
                buffer,
                address,
                alignment_bytes,
            } => write!(
                f,
                "{buffer} starts at {address:#x}, which is {} modulo {alignment_bytes}; the kernel takes multiples of \
                 {alignment_bytes} B",
                address % alignment_bytes
            ),
            OutOfRange {
                buffer,
                address,
                needed_bytes,
            } => write!(
                f,
                "{buffer} takes {needed_bytes} B from {address:#x} on, beyond the end of the address space"
            ),
            TooShort {
                buffer,
                address,
                needed_bytes,
                available_bytes,
            } => write!(
                f,
                "{buffer} takes {needed_bytes} B from {address:#x} on, its allocation has {available_bytes} B there"
            ),
            NotDeviceMemory { buffer, address } => {
                write!(
                    f,
                    "{buffer}: {address:#x} is no memory that a kernel of this context can access"
                )
            }
            OtherDevice {
                buffer,
                address,
                device,
                expected,
            } => write!(
                f,
                "{buffer}: {address:#x} is memory of device {device}, the kernel is loaded on device {expected}"
            ),
            OtherContext { buffer, address } => write!(
                f,
                "{buffer}: {address:#x} is memory of another context than the one that the kernel is loaded into"
            ),
            StreamOfOtherContext => {
                f.write_str("the stream is of another context than the one that the kernel is loaded into")
            }
            Workspace {
                needed_bytes,
                given_bytes,
            } => write!(f, "the workspace has {given_bytes} B, the product takes {needed_bytes}"),
            Overlap {
                written,
                written_range: [begin, end],
                other,
                other_range: [other_begin, other_end],
            } => write!(
                f,
                "{written} is written at {begin:#x}..{end:#x}, which overlaps {other} at \
                 {other_begin:#x}..{other_end:#x}"
            ),
            MissingBias => f.write_str("the product was prepared with a bias, and none was given"),
            UnexpectedGroupEnds { address } => write!(
                f,
                "the product has no groups of rows, and ends of groups were given at {address:#x}"
            ),
            UnexpectedBias { address } => {
                write!(
                    f,
                    "the product was prepared without a bias, and one was given at {address:#x}"
                )
            }
        }
    }
}

impl std::error::Error for OperandError {}
