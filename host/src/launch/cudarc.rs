//! Products on the contexts, streams and slices of `cudarc`.

use std::sync::Arc;

use ::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, DriverError};
use tilewright_contract::{DType, Operand};

use super::kernels::Kernels;
use super::newer;
use super::operand_error::{Buffer, OperandError};
use super::operands::{Operands, Workspace};
use super::prepared::Prepared;
use crate::error::{Error, Result};
use crate::problem::{Factors, check_bias};

/// An element of a cudarc slice that a kernel takes: `f32`, `f64`, and `f16` and `bf16` of `half` 2, the version of
/// cudarc. A plan is made with the types of this crate, which have the same bits
/// ([`half`](crate::half) is version 1.8).
pub trait CudarcElement: sealed::Sealed {
    /// The same type, as kernels name it.
    const DTYPE: DType;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($element:ty: $dtype:ident),*) => { $(
        impl sealed::Sealed for $element {}
        impl CudarcElement for $element {
            const DTYPE: DType = DType::$dtype;
        }
    )* };
}
elements!(f32: F32, f64: F64, half2::f16: F16, half2::bf16: Bf16);

/// Slices of one enqueued product; each is a `CudaSlice`, a `CudaView` or a `CudaViewMut`.
pub struct Slices<'s, T, C = T> {
    /// A, row-major with the leading dimension of the plan's shape.
    pub a: &'s dyn DevicePtr<T>,
    /// B.
    pub b: &'s dyn DevicePtr<T>,
    /// C: read with a beta other than 0, and written.
    pub c: &'s mut dyn DevicePtrMut<C>,
    /// One element for each column of C, where the product was prepared with a bias.
    pub bias: Option<&'s dyn DevicePtr<T>>,
    /// Where each group of rows ends, of a shape with groups ([`Operands::group_ends`]).
    pub group_ends: Option<&'s dyn DevicePtr<u32>>,
    /// The workspace, where the product takes one: [`Prepared::cudarc_workspace`] allocates it.
    pub workspace: Option<&'s mut dyn DevicePtrMut<u8>>,
    /// Alpha and beta.
    pub factors: Factors<f64>,
}

impl<'s, T, C> Slices<'s, T, C> {
    /// A, B and C, alpha 1, beta 0, without bias and workspace.
    pub fn new(a: &'s dyn DevicePtr<T>, b: &'s dyn DevicePtr<T>, c: &'s mut dyn DevicePtrMut<C>) -> Self {
        Self {
            a,
            b,
            c,
            bias: None,
            group_ends: None,
            workspace: None,
            factors: Factors::default(),
        }
    }
}

impl Kernels {
    /// The kernels of a cudarc context, which is a device's primary one.
    ///
    /// # Errors
    /// As for [`Kernels::open`]; [`Error::InvalidArgument`] for a context that is not the primary one, which
    /// [`Kernels::of_context`] takes.
    pub fn of_cudarc(context: &CudaContext) -> Result<Self> {
        let ordinal = context.ordinal();
        let is_primary = context.is_primary();
        let kernels = match u32::try_from(ordinal) {
            Ok(ordinal) if is_primary => Self::open(ordinal)?,
            _ => {
                return Err(Error::InvalidArgument(format!(
                    "this is not the primary context of device {ordinal}; Kernels::of_context takes it"
                )));
            }
        };
        match kernels.context().addr() == context.cu_ctx().addr() {
            true => Ok(kernels),
            false => Err(Error::InvalidArgument(format!(
                "device {ordinal} of cudarc has another primary context than device {ordinal} of the driver that is \
                 loaded here"
            ))),
        }
    }
}

impl Prepared {
    /// Device memory for the workspace; `None` where the product takes none. Not under stream capture.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn cudarc_workspace(&self, stream: &Arc<CudaStream>) -> Result<Option<CudaSlice<u8>>> {
        match self.workspace_bytes() {
            0 => Ok(None),
            // SAFETY: the product writes what it reads of it, and clears the counters first.
            bytes => unsafe { stream.alloc(bytes) }
                .map(Some)
                .map_err(|DriverError(code)| driver_error("cuMemAllocAsync", code as u32)),
        }
    }

    /// Enqueues the product on a stream of cudarc's: [`Prepared::enqueue`] with slices, whose events order it after
    /// what wrote and read them on other streams. The slices have at least the plan's elements; longer ones may be
    /// larger matrices' parts.
    ///
    /// For stream capture, cudarc's event tracking has to be off (`CudaContext::disable_event_tracking`): a captured
    /// stream cannot wait for an event from outside. A captured graph is of these slices' memory, which has to outlive
    /// it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a slice of another element type than the product was prepared for, or that is
    /// shorter than its operand; [`Error::Operand`] for a stream or a slice of another context; those of
    /// [`Prepared::enqueue`].
    pub fn enqueue_slices<T: CudarcElement, C: CudarcElement>(
        &self,
        stream: &CudaStream,
        slices: Slices<'_, T, C>,
    ) -> Result<()> {
        let Slices {
            a,
            b,
            c,
            bias,
            group_ends,
            workspace,
            factors,
        } = slices;
        let plan = self.plan();
        for (found, expected, what) in [
            (T::DTYPE, plan.kernel().dtype, "A and B"),
            (C::DTYPE, self.output(), "C"),
        ] {
            if found != expected {
                return Err(Error::InvalidArgument(format!(
                    "{what} of {found}: the product was prepared for {expected}"
                )));
            }
        }
        let summed = match factors.reads_operands() {
            true => plan.shape(),
            false => plan.shape().without_k(),
        };
        for (operand, len) in [(Operand::A, a.len()), (Operand::B, b.len()), (Operand::C, c.len())] {
            let needed = summed.span_elems(operand);
            if len < needed {
                return Err(Error::short_slice(operand, needed, len));
            }
        }
        check_bias(plan.shape().n(), bias.map(DeviceSlice::len))?;
        if let Some(ends) = group_ends.filter(|ends| ends.len() != plan.shape().batch().count as usize) {
            let (shape, ends) = (plan.shape(), ends.len());
            return Err(Error::InvalidArgument(format!(
                "{ends} group ends are given for {shape}"
            )));
        }

        if stream.context().cu_ctx().addr() != self.kernels().context().addr() {
            return Err(OperandError::StreamOfOtherContext.into());
        }
        // Before a slice's pointer is taken: with it the stream waits for the slice's events.
        let of_context = |buffer, owner: &CudaStream| match owner.context().cu_ctx() == stream.context().cu_ctx() {
            true => Ok(()),
            false => Err(OperandError::OtherContext { buffer, address: 0 }),
        };
        of_context(Buffer::Matrix(Operand::A), a.stream())?;
        of_context(Buffer::Matrix(Operand::B), b.stream())?;
        of_context(Buffer::Matrix(Operand::C), c.stream())?;
        if let Some(bias) = bias {
            of_context(Buffer::Bias, bias.stream())?;
        }
        if let Some(ends) = group_ends {
            of_context(Buffer::GroupEnds, ends.stream())?;
        }
        if let Some(workspace) = &workspace {
            of_context(Buffer::Workspace, workspace.stream())?;
        }

        // What records the slices' events is dropped after the product is enqueued.
        let (a, _read_a) = a.device_ptr(stream);
        let (b, _read_b) = b.device_ptr(stream);
        let (c, _written_c) = c.device_ptr_mut(stream);
        let bias = bias.map(|bias| bias.device_ptr(stream));
        let group_ends = group_ends.map(|ends| ends.device_ptr(stream));
        let workspace = workspace.map(|workspace| {
            let bytes = workspace.len();
            let (address, written) = workspace.device_ptr_mut(stream);
            (address, bytes, written)
        });
        let operands = Operands {
            a,
            b,
            c,
            bias: bias.as_ref().map_or(0, |(address, _)| *address),
            group_ends: group_ends.as_ref().map_or(0, |(address, _)| *address),
            workspace: workspace
                .as_ref()
                .map_or_else(Workspace::default, |&(address, bytes, _)| Workspace {
                    address,
                    bytes,
                    ..Workspace::default()
                }),
            factors,
        };
        // SAFETY: 1. The slices have the elements (checked above) of the types that were prepared, in this context.
        // They are freed on a stream that waits for the events which are recorded below. 2. C and the workspace are
        // borrowed exclusively, and the events order their other users. 3. Nothing is promised of the counters. 4. The
        // stream is cudarc's and of this context.
        unsafe { self.enqueue(stream.cu_stream().cast(), &operands) }
    }
}

fn driver_error(call: &'static str, code: u32) -> Error {
    match newer::answer(call, code) {
        Err(error) => error,
        Ok(()) => Error::DriverCode { call, code },
    }
}
