//! A product of matrices with scales that is ready to be enqueued.

use std::ffi::c_void;
use std::ptr::{from_ref, with_exposed_provenance, with_exposed_provenance_mut};

use cust_raw::{CUdeviceptr, CUstream};
use tilewright_contract::{Activation, Bytes, DType, GemmParams, Operand, Output};

use super::admission::{admit, check_bias};
use super::function::Function;
use super::kernels::Kernels;
use super::operand_error::{Buffer, OperandError};
use super::operands::Checks;
use super::prepared::launch_kernel;
use super::span::Span;
use super::{dependent, tensor_map};
use crate::element::Element;
use crate::error::Result;
use crate::problem::{Factors, OutputOf};
use crate::scaled::{Addresses, GroupEnds, ScaledLaunch, ScaledPlan};
use crate::{block_scaled, fp8};

/// What loads by TMA begin at: multiples of so many bytes.
const ALIGNMENT_BYTES: usize = 16;

/// One product of matrices with scales: its kernel is loaded and its shared-memory limit raised. It keeps the kernels
/// loaded. It takes no workspace.
#[derive(Debug)]
pub struct PreparedScaled<P> {
    kernels: Kernels,
    function: Function,
    plan: P,
    has_bias: bool,
    activation: Activation,
    output: Output,
    c: DType,
    checks: Checks,
}

/// One block-scaled product, made by [`Kernels::prepare_block_scaled`].
pub type PreparedBlockScaled = PreparedScaled<block_scaled::Plan>;

/// One FP8 product, made by [`Kernels::prepare_fp8`].
pub type PreparedFp8 = PreparedScaled<fp8::Plan>;

/// Device pointers of one enqueued product of matrices with scales. Everything is packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaledOperands {
    /// Elements of A (m rows along K) and of B (n columns along K), one product after the other.
    pub data: [CUdeviceptr; 2],
    /// Their scales: bytes in tiles ([`ScaleLayout`](crate::block_scaled::ScaleLayout)) of a block-scaled product, f32
    /// where [`Fp8ScaleLayout`](crate::fp8::Fp8ScaleLayout) says of an FP8 one, one product after the other.
    pub scales: [CUdeviceptr; 2],
    /// C, m x n, row-major, one product after the other: read with a beta other than 0, and written.
    pub c: CUdeviceptr,
    /// The bias, n elements; 0 for none, as the product was prepared.
    pub bias: CUdeviceptr,
    /// A `u32` for each product: where each group of rows ends, rows from the first of all, not falling; or how many
    /// rows of each product of a batch count, 0 for all of them. 0 for one product. The kernel reads them when it runs:
    /// a captured graph may have others at each replay. Those past the last row count as there.
    pub group_ends: CUdeviceptr,
    /// Alpha, with the factors of block-scaled A and B in it, and beta.
    pub factors: Factors,
}

/// Those of a block-scaled product.
pub type BlockScaledOperands = ScaledOperands;

/// Those of an FP8 product.
pub type Fp8Operands = ScaledOperands;

impl Kernels {
    /// Prepares a block-scaled product: bias of type `E`, C of type `C`. Not under stream capture.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a plan whose kernel is of another type, or of a
    /// device that does not run it; [`Error::Driver`](crate::Error::Driver).
    pub fn prepare_block_scaled<E: Element<Accumulator = f32>, C: OutputOf<E>>(
        &self,
        plan: &block_scaled::Plan,
        has_bias: bool,
        activation: Activation,
    ) -> Result<PreparedBlockScaled> {
        let function = || self.block_scaled(plan.kernel());
        PreparedScaled::new::<E, C>(self, plan, has_bias, activation, function)
    }

    /// Prepares an FP8 product: bias of type `E`, C of type `C`. Not under stream capture.
    ///
    /// # Errors
    /// As for [`Self::prepare_block_scaled`].
    pub fn prepare_fp8<E: Element<Accumulator = f32>, C: OutputOf<E>>(
        &self,
        plan: &fp8::Plan,
        has_bias: bool,
        activation: Activation,
    ) -> Result<PreparedFp8> {
        PreparedScaled::new::<E, C>(self, plan, has_bias, activation, || self.fp8(plan.kernel()))
    }
}

impl<P: ScaledPlan> PreparedScaled<P> {
    /// `function` looks the kernel up; the context is current then.
    fn new<E: Element<Accumulator = f32>, C: OutputOf<E>>(
        kernels: &Kernels,
        plan: &P,
        has_bias: bool,
        activation: Activation,
        function: impl FnOnce() -> Result<Function>,
    ) -> Result<Self> {
        let launch = plan.launch();
        launch.check_output(E::DTYPE)?;
        let _entered = kernels.enter()?;
        let function = function()?;
        function.load()?;
        function.raise_dynamic_limit(Bytes(launch.dynamic_bytes))?;
        Ok(Self {
            kernels: kernels.clone(),
            function,
            plan: *plan,
            has_bias,
            activation,
            output: C::OUTPUT,
            c: C::DTYPE,
            checks: Checks::default(),
        })
    }

    /// With these checks of operands; [`Checks::Full`] without.
    pub fn with_checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// The plan.
    pub fn plan(&self) -> &P {
        &self.plan
    }

    /// Enqueues the product. It allocates nothing and synchronizes nothing, and is legal under stream capture.
    ///
    /// # Errors
    /// [`Error::Operand`](crate::Error::Operand) for a null or misaligned pointer, an allocation that is too short, a C
    /// that overlaps another buffer, a bias where none was prepared or the other way round, and ends of groups where
    /// there are no groups; then nothing was enqueued. [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Safety
    /// As for [`Prepared::enqueue`](super::Prepared::enqueue): the buffers hold what the plan says, and live and stay
    /// unchanged until the stream is done with them. Ends of groups and counts of rows may have any values: those that
    /// fall lead to wrong values of C, and to no access outside the buffers.
    pub unsafe fn enqueue(&self, stream: CUstream, operands: &ScaledOperands) -> Result<()> {
        let launch = self.plan.launch();
        if launch.ctas == 0 {
            return Ok(());
        }
        check_bias(self.has_bias, operands.bias)?;
        if launch.group_ends == GroupEnds::None && operands.group_ends != 0 {
            let address = operands.group_ends;
            return Err(OperandError::UnexpectedGroupEnds { address }.into());
        }
        let _entered = admit(&self.kernels, self.checks, stream, &self.spans(&launch, operands))?;
        // Of bytes: the block's layout is one for every element.
        let params = GemmParams::<u8> {
            bias: with_exposed_provenance(operands.bias as usize),
            alpha: operands.factors.alpha,
            beta: operands.factors.beta,
            activation: self.activation,
            output: self.output,
            ..launch.params(
                with_exposed_provenance_mut(operands.c as usize),
                with_exposed_provenance(operands.group_ends as usize),
            )
        };
        let scaled = self
            .plan
            .params(operands.scales.map(|scales| with_exposed_provenance(scales as usize)));
        let addresses = Addresses {
            data: operands.data,
            scales: operands.scales,
            c: operands.c,
        };
        let [first, second, third, fourth] = &self.plan.maps(addresses, self.c, tensor_map::encode)?;
        let mut arguments = [
            from_ref(&params).cast::<c_void>(),
            from_ref(&scaled).cast(),
            from_ref(first).cast(),
            from_ref(second).cast(),
            from_ref(third).cast(),
            from_ref(fourth).cast(),
        ]
        .map(<*const c_void>::cast_mut);
        let (grid, block) = ([launch.ctas, 1, 1], [launch.threads, 1, 1]);
        // SAFETY: the arguments are those of the entry point, and live until the call has copied them; grid, CTA and
        // dynamic bytes are the plan's; where its kernel is launched early every thread waits for the launches before
        // it; the rest is the caller's promise.
        unsafe {
            match P::WAITS {
                true => dependent::launch(stream, self.function, grid, block, launch.dynamic_bytes, &arguments),
                false => launch_kernel(stream, self.function, grid, block, launch.dynamic_bytes, &mut arguments),
            }
        }
    }

    /// The buffers of a call.
    fn spans(&self, launch: &ScaledLaunch, operands: &ScaledOperands) -> [Span; 7] {
        let ([_, n, _], [a_rows, b_rows]) = (launch.extents, launch.rows);
        let [elem, c_elem] = [launch.output, self.c].map(|dtype| dtype.size_bytes() as usize);
        let bias_bytes = if operands.bias == 0 { 0 } else { n * elem };
        let ends_bytes = match launch.group_ends {
            GroupEnds::Optional if operands.group_ends == 0 => 0,
            GroupEnds::None => 0,
            GroupEnds::Optional | GroupEnds::Needed => launch.batch.count as usize * size_of::<u32>(),
        };
        let data = |at: usize, operand, rows: usize| {
            let bytes = rows * launch.row_bytes;
            Span::flat(Buffer::Matrix(operand), operands.data[at], bytes, ALIGNMENT_BYTES)
        };
        let scales = |at: usize, operand| {
            let (bytes, alignment) = (launch.scale_bytes[at], launch.scale_alignment_bytes[at]);
            Span::flat(Buffer::Scales(operand), operands.scales[at], bytes, alignment)
        };
        [
            data(0, Operand::A, a_rows),
            data(1, Operand::B, b_rows),
            scales(0, Operand::A),
            scales(1, Operand::B),
            Span::flat(Buffer::Bias, operands.bias, bias_bytes, elem),
            Span::flat(Buffer::GroupEnds, operands.group_ends, ends_bytes, size_of::<u32>()),
            Span::flat(Buffer::Matrix(Operand::C), operands.c, a_rows * n * c_elem, c_elem),
        ]
    }
}
