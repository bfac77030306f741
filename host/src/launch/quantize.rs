//! A quantization to FP8 that is ready to be enqueued.

use std::ffi::c_void;
use std::ptr::{from_ref, with_exposed_provenance, with_exposed_provenance_mut};

use cust_raw::{CUdeviceptr, CUstream};
use tilewright_contract::Fp8QuantizeKernel;

use super::admission::admit;
use super::function::Function;
use super::kernels::Kernels;
use super::operand_error::Buffer;
use super::operands::Checks;
use super::prepared::launch_kernel;
use super::span::Span;
use crate::error::Result;
use crate::fp8::{QuantizeLaunch, QuantizePlan};

/// What elements and scales start at multiples of, as the products that read them demand, in bytes; the workspace too.
const ALIGNMENT_BYTES: usize = 16;

/// One quantization: its kernels are loaded. It keeps them loaded.
#[derive(Debug)]
pub struct PreparedFp8Quantize {
    kernels: Kernels,
    launches: Vec<(QuantizeLaunch, Function)>,
    plan: QuantizePlan,
    checks: Checks,
}

/// Device pointers of one enqueued quantization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fp8QuantizeOperands {
    /// The source, row-major with the leading dimension of the plan; at a multiple of an element's size.
    pub source: CUdeviceptr,
    /// Where elements are written, [`QuantizePlan::data_bytes`]; at a multiple of 16 bytes.
    pub data: CUdeviceptr,
    /// Where scales are written, [`QuantizePlan::scale_bytes`]; at a multiple of 16 bytes.
    pub scales: CUdeviceptr,
    /// The workspace, [`QuantizePlan::workspace_bytes`], whatever it contains; at a multiple of 16 bytes. Not read with
    /// scales of blocks. Quantizations that may run at the same time need one each.
    pub workspace: CUdeviceptr,
}

impl Kernels {
    /// Prepares a quantization to FP8. Not under stream capture: loading allocates.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a device that is not of compute capability 9.0;
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn prepare_fp8_quantize(&self, plan: &QuantizePlan) -> Result<PreparedFp8Quantize> {
        let _entered = self.enter()?;
        let loaded = |launch: QuantizeLaunch| {
            let function = self.fp8_quantize(launch.kernel)?;
            function.load()?;
            Ok((launch, function))
        };
        Ok(PreparedFp8Quantize {
            kernels: self.clone(),
            launches: plan.launches().map(loaded).collect::<Result<_>>()?,
            plan: *plan,
            checks: Checks::default(),
        })
    }
}

impl PreparedFp8Quantize {
    /// With these checks of operands; [`Checks::Full`] without.
    pub fn with_checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// The plan.
    pub fn plan(&self) -> &QuantizePlan {
        &self.plan
    }

    /// Enqueues the quantization: one launch or two, none without rows. It allocates nothing and synchronizes nothing,
    /// and is legal under stream capture.
    ///
    /// # Errors
    /// [`Error::Operand`](crate::Error::Operand) for a null or misaligned pointer, an allocation that is too short, and
    /// for elements, scales or a workspace that overlap another buffer; then nothing was enqueued.
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Safety
    /// As for [`Prepared::enqueue`](super::Prepared::enqueue): the buffers hold what the plan says, and live and stay
    /// unchanged until the stream is done with them.
    pub unsafe fn enqueue(&self, stream: CUstream, operands: &Fp8QuantizeOperands) -> Result<()> {
        if self.launches.is_empty() {
            return Ok(());
        }
        let _entered = admit(&self.kernels, self.checks, stream, &self.spans(operands))?;
        let source = with_exposed_provenance(operands.source as usize);
        let to = [operands.data, operands.scales, operands.workspace]
            .map(|address| with_exposed_provenance_mut(address as usize));
        for (launch, function) in &self.launches {
            let params = self.plan.params(launch, source, to);
            let mut arguments = [from_ref(&params).cast::<c_void>().cast_mut()];
            let (grid, block) = ([launch.ctas, 1, 1], [Fp8QuantizeKernel::THREADS, 1, 1]);
            // SAFETY: the argument is that of the entry point, and lives until the call has copied it; grid and CTA are
            // the plan's; partials are those of the launch before, on the same stream; the rest is the caller's
            // promise.
            unsafe { launch_kernel(stream, *function, grid, block, 0, &mut arguments)? };
        }
        Ok(())
    }

    /// The buffers of a call.
    fn spans(&self, operands: &Fp8QuantizeOperands) -> [Span; 4] {
        let plan = &self.plan;
        let written = |buffer, address, bytes| Span::flat(buffer, address, bytes, ALIGNMENT_BYTES);
        [
            Span::rows(
                Buffer::Source,
                operands.source,
                plan.source_rows(),
                plan.element_bytes(),
            ),
            written(Buffer::Quantized, operands.data, plan.data_bytes()),
            written(Buffer::QuantizedScales, operands.scales, plan.scale_bytes()),
            written(Buffer::Workspace, operands.workspace, plan.workspace_bytes()),
        ]
    }
}
