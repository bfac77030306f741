//! A block-scaled product that is ready to be enqueued.

use std::ffi::c_void;
use std::ptr::{null, with_exposed_provenance, with_exposed_provenance_mut};

use cust_raw::{CUdeviceptr, CUstream};
use tilewright_contract::{Activation, BlockScaledParams, DType, GemmParams, Operand, Output, ScaleLayout};

use super::admission::{admit, check_bias};
use super::function::Function;
use super::kernels::Kernels;
use super::operand_error::Buffer;
use super::operands::Checks;
use super::prepared::launch_kernel;
use super::span::Span;
use super::tensor_map;
use crate::block_scaled::{Addresses, Plan, maps};
use crate::element::Element;
use crate::error::Result;
use crate::problem::{Factors, OutputOf};

/// What loads by TMA begin at: multiples of so many bytes.
const ALIGNMENT_BYTES: usize = 16;

/// One block-scaled product: its kernel is loaded and its shared-memory limit raised. Made by
/// [`Kernels::prepare_block_scaled`]; it keeps the kernels loaded. It takes no workspace.
#[derive(Debug)]
pub struct PreparedBlockScaled {
    kernels: Kernels,
    function: Function,
    plan: Plan,
    has_bias: bool,
    activation: Activation,
    output: Output,
    c: DType,
    checks: Checks,
}

/// Device pointers of one enqueued block-scaled product. Everything is packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockScaledOperands {
    /// Elements of A (m rows along K) and of B (n columns along K).
    pub data: [CUdeviceptr; 2],
    /// Their scales, in tiles ([`ScaleLayout`]).
    pub scales: [CUdeviceptr; 2],
    /// C, m x n, row-major: read with a beta other than 0, and written.
    pub c: CUdeviceptr,
    /// The bias, n elements; 0 for none, as the product was prepared.
    pub bias: CUdeviceptr,
    /// Alpha, with the factors of A and B in it, and beta.
    pub factors: Factors,
}

impl Kernels {
    /// Prepares a block-scaled product: bias of type `E`, C of type `C`. Not under stream capture.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a plan whose kernel is of another type, or of a
    /// device that does not run it; [`Error::Driver`](crate::Error::Driver).
    pub fn prepare_block_scaled<E: Element<Accumulator = f32>, C: OutputOf<E>>(
        &self,
        plan: &Plan,
        has_bias: bool,
        activation: Activation,
    ) -> Result<PreparedBlockScaled> {
        plan.check_output(E::DTYPE)?;
        let _entered = self.enter()?;
        let function = self.block_scaled(plan.kernel())?;
        function.load()?;
        function.raise_dynamic_limit(plan.smem().dynamic_bytes())?;
        Ok(PreparedBlockScaled {
            kernels: self.clone(),
            function,
            plan: *plan,
            has_bias,
            activation,
            output: C::OUTPUT,
            c: C::DTYPE,
            checks: Checks::default(),
        })
    }
}

impl PreparedBlockScaled {
    /// With these checks of operands; [`Checks::Full`] without.
    pub fn with_checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Enqueues the product. It allocates nothing and synchronizes nothing, and is legal under stream capture.
    ///
    /// # Errors
    /// [`Error::Operand`](crate::Error::Operand) for a null or misaligned pointer, an allocation that is too short, a C
    /// that overlaps another buffer, and a bias where none was prepared or the other way round; then nothing was
    /// enqueued. [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Safety
    /// As for [`Prepared::enqueue`](super::Prepared::enqueue): the buffers hold what the plan says, and live and stay
    /// unchanged until the stream is done with them.
    pub unsafe fn enqueue(&self, stream: CUstream, operands: &BlockScaledOperands) -> Result<()> {
        if self.plan.ctas() == 0 {
            return Ok(());
        }
        check_bias(self.has_bias, operands.bias)?;
        let _entered = admit(&self.kernels, self.checks, stream, &self.spans(operands))?;
        // Of bytes: the block's layout is one for every element.
        let params = GemmParams::<u8> {
            bias: with_exposed_provenance(operands.bias as usize),
            alpha: operands.factors.alpha,
            beta: operands.factors.beta,
            activation: self.activation,
            output: self.output,
            ..GemmParams::product(
                null(),
                null(),
                with_exposed_provenance_mut(operands.c as usize),
                self.plan.args(),
            )
        };
        let scaled: BlockScaledParams = self
            .plan
            .params(operands.scales.map(|scales| with_exposed_provenance(scales as usize)));
        let addresses = Addresses {
            data: operands.data,
            scales: operands.scales,
        };
        let [a, b, scale_a, scale_b] = &maps(&self.plan, addresses, tensor_map::encode)?;
        let mut arguments = [
            (&raw const params).cast::<c_void>(),
            (&raw const scaled).cast(),
            std::ptr::from_ref(a).cast(),
            std::ptr::from_ref(b).cast(),
            std::ptr::from_ref(scale_a).cast(),
            std::ptr::from_ref(scale_b).cast(),
        ]
        .map(<*const c_void>::cast_mut);
        let (grid, block) = ([self.plan.ctas(), 1, 1], [self.plan.kernel().tile.threads(), 1, 1]);
        let dynamic_bytes = self.plan.smem().dynamic_bytes().get();
        // SAFETY: the arguments are those of the entry point, and live until the call has copied them; grid, CTA and
        // dynamic bytes are the plan's; the rest is the caller's promise.
        unsafe { launch_kernel(stream, self.function, grid, block, dynamic_bytes, &mut arguments) }
    }

    /// The buffers of a call.
    fn spans(&self, operands: &BlockScaledOperands) -> [Span; 6] {
        let [m, n, k] = self.plan.extents();
        let kernel = self.plan.kernel();
        let format = kernel.tile.format;
        let bias_bytes = if operands.bias == 0 {
            0
        } else {
            n * kernel.output.size_bytes() as usize
        };
        let c_elem = self.c.size_bytes() as usize;
        let data = |at: usize, operand, rows: usize| {
            let bytes = rows * format.bytes(k);
            Span::flat(Buffer::Matrix(operand), operands.data[at], bytes, ALIGNMENT_BYTES)
        };
        let scales = |at: usize, operand, rows: usize| {
            let bytes = ScaleLayout::of(format, rows, k).bytes();
            Span::flat(Buffer::Scales(operand), operands.scales[at], bytes, ALIGNMENT_BYTES)
        };
        [
            data(0, Operand::A, m),
            data(1, Operand::B, n),
            scales(0, Operand::A, m),
            scales(1, Operand::B, n),
            Span::flat(
                Buffer::Bias,
                operands.bias,
                bias_bytes,
                kernel.output.size_bytes() as usize,
            ),
            Span::flat(Buffer::Matrix(Operand::C), operands.c, m * n * c_elem, c_elem),
        ]
    }
}
