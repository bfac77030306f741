//! A product that is ready to be enqueued.

use std::ffi::c_void;
use std::ptr::{null, null_mut, with_exposed_provenance, with_exposed_provenance_mut};

use cust_raw::{CUdeviceptr, CUstream};
use tilewright_contract::{Activation, CopyRows, DType, GemmParams, Operand, OperandCopy, Output};

use super::function::Function;
use super::kernels::Kernels;
use super::newer::succeeded;
use super::operand_error::OperandError;
use super::operands::{Checks, Counters, Operands, Spans};
use super::workspace::WorkspaceLayout;
use super::{dependent, pointer, tensor_map};
use crate::dispatch::Plan;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::{Gemm, Location, OutputOf};
use crate::tensor_map as maps;

/// One product: its kernel is loaded, its shared-memory limit raised, its workspace laid out. Made by
/// [`Kernels::prepare`]; it keeps the kernels loaded.
///
/// Any thread may enqueue it, on any stream of the context, as often as it likes and several times at once; what runs
/// at the same time needs a C and a workspace each.
#[derive(Debug)]
pub struct Prepared {
    kernels: Kernels,
    function: Function,
    /// What copies A and B, where the plan does.
    copies: [Option<Function>; 2],
    product: Launch,
    /// Alpha 0: A and B are not read.
    without_k: Launch,
    epilogue: PreparedEpilogue,
    checks: Checks,
}

/// What is launched.
#[derive(Debug)]
struct Launch {
    plan: Plan,
    workspace: WorkspaceLayout,
}

/// What follows the product.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PreparedEpilogue {
    has_bias: bool,
    activation: Activation,
    output: Output,
    c: DType,
}

impl PreparedEpilogue {
    fn of<T: Element, C: OutputOf<T>, B: Location>(problem: &Gemm<B, T::Accumulator>) -> Self {
        Self {
            has_bias: problem.epilogue.bias.is_some(),
            activation: problem.epilogue.activation,
            output: C::OUTPUT,
            c: C::DTYPE,
        }
    }
}

impl Launch {
    fn new(plan: Plan) -> Self {
        let workspace = WorkspaceLayout::of(&plan);
        Self { plan, workspace }
    }
}

impl Prepared {
    pub(super) fn new<T: Element, C: OutputOf<T>, B: Location>(
        kernels: &Kernels,
        plan: &Plan,
        problem: &Gemm<B, T::Accumulator>,
    ) -> Result<Self> {
        problem.check_planned(plan.shape())?;
        let kernel = plan.kernel();
        if kernel.dtype != T::DTYPE {
            return Err(Error::InvalidArgument(format!(
                "{} takes {}, not {}",
                kernel.symbol,
                kernel.dtype,
                T::DTYPE
            )));
        }
        let columns = plan.shape().n();
        problem.epilogue.check::<T, C>(kernel, columns, |_| columns)?;
        let _entered = kernels.enter()?;
        let function = kernels.function(kernel)?;
        function.load()?;
        if plan.opt_in() {
            function.raise_dynamic_limit(plan.dynamic_bytes())?;
        }
        let mut copies = [None; 2];
        for (function, copy) in copies.iter_mut().zip(plan.copies()) {
            let Some(copy) = copy else { continue };
            function.insert(kernels.copy(copy.kind)?).load()?;
        }
        Ok(Self {
            kernels: kernels.clone(),
            function,
            copies,
            product: Launch::new(plan.clone()),
            without_k: Launch::new(plan.without_k()),
            epilogue: PreparedEpilogue::of::<T, C, B>(problem),
            checks: Checks::default(),
        })
    }

    /// With these checks of operands; [`Checks::Full`] without.
    pub fn with_checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.product.plan
    }

    /// The kernels that it is of.
    pub fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// The type of C's elements.
    pub fn output(&self) -> DType {
        self.epilogue.c
    }

    /// Whether a call takes a bias.
    pub fn has_bias(&self) -> bool {
        self.epilogue.has_bias
    }

    /// Bytes of device memory that a call takes besides its operands: counters and accumulators of split-K, padded A
    /// and B. 0 for most products.
    pub fn workspace_bytes(&self) -> usize {
        self.product.workspace.bytes
    }

    /// Bytes at the start of the workspace that hold the counters of split-K ([`Counters::Zero`]).
    pub fn counter_bytes(&self) -> usize {
        self.product.workspace.counters_bytes
    }

    /// Whether the kernel counts: whether it is a split-K product.
    pub(super) fn has_counters(&self) -> bool {
        self.product.workspace.has_counters
    }

    /// Whether it is what [`Kernels::prepare`] would make of the same arguments.
    pub(super) fn is_for<T: Element, C: OutputOf<T>, B: Location>(
        &self,
        plan: &Plan,
        problem: &Gemm<B, T::Accumulator>,
    ) -> bool {
        self.epilogue == PreparedEpilogue::of::<T, C, B>(problem) && self.plan() == plan
    }

    /// Enqueues the product on a stream, `C = activation(alpha · op(A) · op(B) + beta · C + bias)`, and returns before
    /// it is done. With `alpha` 0 neither A nor B is read, with `beta` 0 C is not; padding between the rows of C is
    /// neither read nor written. At most four operations are enqueued, in this order: the memset of the counters, the
    /// copy of A, that of B, or one operation that copies both, the kernel; of a batch that no grid holds more kernels
    /// ([`Grid::launches`](tilewright_contract::Grid::launches)), each on its own products. The tensor maps hold the
    /// addresses: a captured graph is of these buffers.
    ///
    /// Allocates no memory, on host or device, and synchronizes nothing. Legal while the stream is captured into a
    /// graph (with a driver of CUDA 12.3 or later for kernels with
    /// [`dependent_launch`](tilewright_contract::Features::dependent_launch)); the captured addresses, the workspace
    /// included, are used at each replay. An error leaves a capture as it was, unless the driver itself refused an
    /// operation. The context that is current on this thread stays so.
    ///
    /// # Errors
    /// [`Error::Operand`] for what [`Checks`] finds, with the numbers, and [`Error::InvalidArgument`] for factors that
    /// the kernel does not have; nothing was enqueued. [`Error::Driver`] when the driver refuses an operation.
    ///
    /// # Safety
    /// From now until the product has run, and for a captured one until the last replay has run:
    /// 1. The pointers are to device memory with the elements that the plan's shape says, of the types that were
    ///    prepared, at least as long as [`GemmShape::span_elems`](tilewright_contract::GemmShape::span_elems); the
    ///    workspace has [`workspace_bytes`](Self::workspace_bytes). [`Checks::Full`] finds most of what breaks this,
    ///    not all: not a pointer into a neighbor within one allocation, not an allocation that is freed too early.
    /// 2. Nothing else writes A, B or the bias, and nothing else accesses C or the workspace, unless the order of
    ///    streams and events puts it before or after.
    /// 3. With [`Counters::Zero`], its promise. The ends of groups may have any values: those that fall, or are past
    ///    C's last row, lead to wrong results.
    /// 4. The stream exists and is of this context, or is a default stream.
    /// 5. A kernel before it on the stream that was launched with programmatic dependent launch waits for what is
    ///    before that one (`griddepcontrol.wait`), as all of this crate's do: ours waits for the last kernel alone.
    pub unsafe fn enqueue(&self, stream: CUstream, operands: &Operands) -> Result<()> {
        let factors = operands.factors;
        let launch = match factors.reads_operands() {
            true => &self.product,
            false => &self.without_k,
        };
        let (plan, workspace) = (&launch.plan, &launch.workspace);
        let kernel = plan.kernel();
        factors.check(kernel)?;
        let grid = plan.grid();
        if grid.is_empty() {
            return Ok(());
        }
        match (self.epilogue.has_bias, operands.bias) {
            (true, 0) => return Err(OperandError::MissingBias.into()),
            (false, address) if address != 0 => return Err(OperandError::UnexpectedBias { address }.into()),
            _ => {}
        }
        if operands.group_ends != 0 && !plan.shape().batch().groups {
            let address = operands.group_ends;
            return Err(OperandError::UnexpectedGroupEnds { address }.into());
        }
        let c_elem_bytes = self.epilogue.c.size_bytes() as usize;
        let spans = Spans::checked(plan, workspace, c_elem_bytes, operands)?;
        let _entered = self.kernels.enter()?;
        if self.checks == Checks::Full {
            let context = self.kernels.context_handle();
            pointer::check_stream(stream, context)?;
            for span in spans.accessed() {
                pointer::check(span, context)?;
            }
        }
        let base = operands.workspace.address;
        let in_workspace = |offset: usize| base.wrapping_add(offset as u64);
        // What the kernel reads: the operands, or their copies.
        let copies = plan.copies();
        let sources = [operands.a, operands.b];
        let [a, b] = [0, 1].map(|at| match copies[at] {
            Some(_) => in_workspace(workspace.copies[at]),
            None => sources[at],
        });
        let c = operands.c;
        // The addresses and tensor maps of the launch whose first product is `first`.
        let elem_bytes = kernel.operand_dtype().size_bytes() as usize;
        let taken = plan.taken();
        let launch_of = |first: u32| {
            let at =
                |operand, address: u64, elem_bytes: usize| address + (taken.offset(operand, first) * elem_bytes) as u64;
            let addresses = [
                at(Operand::A, a, elem_bytes),
                at(Operand::B, b, elem_bytes),
                at(Operand::C, c, c_elem_bytes),
            ];
            let products = (grid.batch - first).min(grid.products_per_launch());
            let maps = match kernel.takes_tensor_maps() {
                true => Some(maps::maps(kernel, &taken, products, addresses, tensor_map::encode)?),
                false => None,
            };
            Ok::<_, Error>((addresses, products, maps))
        };
        // Everything that may be refused comes before the first operation; a later launch is refused what the first is.
        let mut next = launch_of(0)?;
        let splits = |offset: usize| match workspace.has_counters {
            true => with_exposed_provenance_mut::<c_void>(in_workspace(offset) as usize),
            false => null_mut(),
        };
        // Of bytes: the block's layout is one for every element.
        let mut params = GemmParams::<u8> {
            bias: with_exposed_provenance(operands.bias as usize),
            workspace: splits(workspace.accumulators).cast(),
            counters: splits(0).cast(),
            group_ends: with_exposed_provenance(operands.group_ends as usize),
            activation: self.epilogue.activation,
            output: self.epilogue.output,
            ..plan.params(grid.products_per_launch(), factors.to_f64())
        };
        let clears = workspace.has_counters && operands.workspace.counters == Counters::Unknown;
        // A launch begins early only while another kernel ends.
        let follows_a_memset = clears && copies == [None; 2];
        // SAFETY: the caller's promises, checked above as far as they can be. 1. Operands and workspace are as long as
        // the plan says, and C and the workspace overlap nothing. 2. The argument lists are those of the entry points,
        // and each argument lives until the call has copied it. 3. Grid, block and dynamic bytes are those of the plan,
        // which only `plan()` makes, from the layout that the kernel indexes with. 4. Only kernels that wait for the
        // launch before them by themselves are launched so.
        unsafe {
            if clears {
                let words = workspace.counters_bytes / size_of::<u32>();
                succeeded("cuMemsetD32Async", cust_raw::cuMemsetD32Async(base, 0, words, stream))?;
            }
            let copied = |at: usize| {
                let copy = copies[at]?;
                let function = self.copies[at].expect("prepared where the plan copies");
                Some((function, copy, [sources[at], in_workspace(workspace.copies[at])]))
            };
            enqueue_copies(stream, OperandCopy::are_one_launch(&copies), [copied(0), copied(1)])?;
            let [x, y] = kernel.block;
            let installed = self.kernels.profile().installed.as_ref();
            let gains_from_overlap = plan.gains_from_overlap(installed.map_or(u32::MAX, |installed| installed.sms));
            let dynamic_bytes = plan.dynamic_bytes().get();
            let mut first = 0;
            loop {
                let ([a, b, c], products, maps) = next;
                params.a = with_exposed_provenance(a as usize);
                params.b = with_exposed_provenance(b as usize);
                params.c = with_exposed_provenance_mut(c as usize);
                params.batch = plan.params::<u8>(products, [0.0; 2]).batch;
                let mut arguments = [
                    (&raw const params).cast::<c_void>().cast_mut(),
                    null_mut(),
                    null_mut(),
                    null_mut(),
                ];
                for (argument, map) in arguments[1..].iter_mut().zip(maps.iter().flatten()) {
                    *argument = std::ptr::from_ref(map).cast::<c_void>().cast_mut();
                }
                let extents = grid.extents(products);
                match gains_from_overlap && !(follows_a_memset && first == 0) {
                    true => dependent::launch(stream, self.function, extents, [x, y, 1], dynamic_bytes, &arguments),
                    false => launch_kernel(stream, self.function, extents, [x, y, 1], dynamic_bytes, &mut arguments),
                }?;
                first += products;
                if first == grid.batch {
                    return Ok(());
                }
                next = launch_of(first)?;
            }
        }
    }
}

/// An operand that is copied: by what, how, and from and to which address.
type Copied = (Function, OperandCopy, [CUdeviceptr; 2]);

/// Enqueues the copies of operands: both in one launch, or each in as many as it has matrices for the rows of a grid.
///
/// # Safety
/// The operands span what the copies say, and there is room for them.
unsafe fn enqueue_copies(stream: CUstream, are_one_launch: bool, copies: [Option<Copied>; 2]) -> Result<()> {
    if let (true, [Some(a), Some(b)]) = (are_one_launch, copies) {
        let [of_a, of_b] = [a, b].map(|(_, copy, [from, to])| (from, to, copy.rows));
        let grid = [a.1.blocks() + b.1.blocks(), of_a.2.matrices.max(of_b.2.matrices)];
        // SAFETY: the caller's promise.
        return unsafe { launch_copies(stream, a.0, grid, of_a, of_b) };
    }
    for (function, copy, [from, to]) in copies.into_iter().flatten() {
        for (first, matrices) in copy.rows.launches() {
            let at = |address: CUdeviceptr, stride: u64, elem_bytes: u32| {
                address + stride * u64::from(first) * u64::from(elem_bytes)
            };
            let from = at(from, copy.rows.from_stride, copy.kind.from_bytes());
            let to = at(to, copy.to_elems() as u64, copy.kind.to_bytes());
            let rows = CopyRows { matrices, ..copy.rows };
            // SAFETY: the caller's promise.
            unsafe { launch_copies(stream, function, [copy.blocks(), matrices], (from, to, rows), NO_COPY)? };
        }
    }
    Ok(())
}

/// In place of a second operand.
const NO_COPY: (CUdeviceptr, CUdeviceptr, CopyRows) = (0, 0, CopyRows::NONE);

/// Enqueues a kernel that copies two operands, each from an address to another.
///
/// # Safety
/// As for the entry points of [`CopyKind`](tilewright_contract::CopyKind).
unsafe fn launch_copies(
    stream: CUstream,
    function: Function,
    [blocks, matrices]: [u32; 2],
    first: (CUdeviceptr, CUdeviceptr, CopyRows),
    second: (CUdeviceptr, CUdeviceptr, CopyRows),
) -> Result<()> {
    let mut arguments = [
        (&raw const first.0).cast(),
        (&raw const first.1).cast(),
        (&raw const first.2).cast(),
        (&raw const second.0).cast(),
        (&raw const second.1).cast(),
        (&raw const second.2).cast(),
    ]
    .map(<*const c_void>::cast_mut);
    // SAFETY: for each operand two device pointers and the numbers are the entry point's arguments; grid and block are
    // those of the contract; the rest is the caller's promise.
    unsafe {
        launch_kernel(
            stream,
            function,
            [blocks, matrices, 1],
            [CopyRows::THREADS, 1, 1],
            0,
            &mut arguments,
        )
    }
}

/// Enqueues a kernel. Extents along x, y, z. The context is current.
///
/// # Safety
/// As for `cuLaunchKernel`: the arguments are the entry point's, and what it accesses is there.
pub(super) unsafe fn launch_kernel(
    stream: CUstream,
    function: Function,
    [gx, gy, gz]: [u32; 3],
    [bx, by, bz]: [u32; 3],
    dynamic_bytes: u32,
    arguments: &mut [*mut c_void],
) -> Result<()> {
    // SAFETY: the caller's promise.
    let code = unsafe {
        cust_raw::cuLaunchKernel(
            function.0,
            gx,
            gy,
            gz,
            bx,
            by,
            bz,
            dynamic_bytes,
            stream,
            arguments.as_mut_ptr(),
            null::<*mut c_void>().cast_mut(),
        )
    };
    succeeded("cuLaunchKernel", code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_thread_may_enqueue() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<Prepared>();
        is_shared::<Kernels>();
    }
}
