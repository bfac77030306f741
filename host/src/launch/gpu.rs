//! Products for callers who own neither stream nor device memory.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use cust::context::Context;
use cust::device::Device;
use cust::event::{Event, EventFlags};
use cust::memory::DeviceBuffer;
use cust::stream::{Stream, StreamFlags};
use cust_raw::CUdeviceptr;
use tilewright_contract::{Bytes, CopyKind, Kernel, Operand};

use super::function::FunctionUsage;
use super::kernels::Kernels;
use super::memory::{DeviceGroupEnds, DeviceMatrix};
use super::operands::{Checks, Counters, Operands, Workspace};
use super::prepared::Prepared;
use crate::device::DeviceProfile;
use crate::dispatch::Plan;
use crate::element::Element;
use crate::error::{DriverCall, Error, Result};
use crate::problem::{Factors, Gemm, Location, OutputOf};
use crate::ptx;

/// Prepared products that are kept.
const MOST_PREPARED: usize = 32;

/// A device with this crate's kernels loaded and a stream to run them on.
///
/// Bound to the thread that opened it: a CUDA context is current to one thread. The fields are in the order in which
/// they must go: what a context owns before the context.
pub struct Gpu {
    /// The latest last.
    prepared: RefCell<Vec<Rc<Prepared>>>,
    workspace: RefCell<OwnedWorkspace>,
    kernels: Kernels,
    stream: Stream,
    _context: Context,
    _not_send: PhantomData<*mut ()>,
}

impl Gpu {
    /// Opens device `ordinal`, counted from 0, and makes its primary context current. Kernels are taken from the newest
    /// level that it runs, and compiled by the driver when they are used first.
    ///
    /// # Errors
    /// As for [`Kernels::open`].
    pub fn open(ordinal: u32) -> Result<Self> {
        let kernels = Kernels::open(ordinal)?;
        let device = Device::get_device(ordinal).of_call("cuDeviceGet")?;
        let context = Context::new(device).of_call("cuDevicePrimaryCtxRetain")?;
        // Not a non-blocking stream: uploads and downloads go through the null stream, and an upload from pageable
        // memory may return before its last bytes have arrived (CUDA driver API, "API synchronization behavior"). A
        // stream of the default kind waits for the null stream, and the null stream for it.
        let stream = Stream::new(StreamFlags::DEFAULT, None).of_call("cuStreamCreateWithPriority")?;
        Ok(Self {
            prepared: RefCell::default(),
            workspace: RefCell::default(),
            kernels,
            stream,
            _context: context,
            _not_send: PhantomData,
        })
    }

    /// The kernels, for products on other streams and buffers.
    pub fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// Loads the PTX of kernels from outside the table, which a [`Policy`](crate::dispatch::Policy) may name. Before
    /// anything is uploaded: matrices borrow this `Gpu`.
    ///
    /// # Errors
    /// As for [`Kernels::add_module`].
    ///
    /// # Safety
    /// As for [`Kernels::add_module`].
    pub unsafe fn add_module(&mut self, ptx: &str) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.kernels.add_module(ptx) }
    }

    /// What the device offers.
    pub fn profile(&self) -> &DeviceProfile {
        self.kernels.profile()
    }

    /// The general PTX level that kernels are taken from; those of just this architecture have their own.
    pub fn level(&self) -> &'static ptx::Level {
        self.kernels.level()
    }

    /// The stream that [`Gpu::launch`] uses.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Copies a slice to the device.
    ///
    /// # Errors
    /// [`Error::Driver`], with `OutOfMemory` when it does not fit.
    pub fn upload<T: Element>(&self, elements: &[T]) -> Result<DeviceMatrix<'_, T>> {
        DeviceMatrix::from_slice(elements)
    }

    /// Copies ends of groups to the device ([`Gemm::group_ends`]). Ends that fall, or that are past C's last row, lead
    /// to wrong values and to no access outside the matrices.
    ///
    /// # Errors
    /// As for [`Gpu::upload`].
    pub fn upload_group_ends(&self, ends: &[u32]) -> Result<DeviceGroupEnds<'_>> {
        DeviceGroupEnds::from_slice(ends)
    }

    /// Memory for `len` elements whose values are whatever was there.
    ///
    /// # Errors
    /// As for [`Gpu::upload`].
    pub fn uninitialized<T: Element>(&self, len: usize) -> Result<DeviceMatrix<'_, T>> {
        DeviceMatrix::uninitialized(len)
    }

    /// Enqueues a problem, `C = activation(alpha · op(A) · op(B) + beta · C + bias)`, with C of the type of A and B or,
    /// where that is f16 or bf16, of f32; returns before it is done. With `alpha` 0 neither A nor B is read, with
    /// `beta` 0 C is not. Padding between the rows of C is neither read nor written. Where the plan copies A or B first
    /// ([`Plan::copies`]), that is enqueued before, into memory that this `Gpu` keeps.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an operand that is shorter than the plan's shape or of another element type, for
    /// a plan of another shape, for factors, a bias, an activation or a C of another type and a kernel that has none of
    /// these (plan with [`Gemm::plan`]), and for a bias shorter than a row of C; [`Error::Driver`] when the driver
    /// refuses the launch, or has no memory for the copies.
    pub fn launch<T: Element, C: OutputOf<T>>(
        &self,
        plan: &Plan,
        problem: &Gemm<&DeviceMatrix<'_, T>, T::Accumulator>,
        a: &DeviceMatrix<'_, T>,
        b: &DeviceMatrix<'_, T>,
        c: &mut DeviceMatrix<'_, C>,
    ) -> Result<()> {
        problem.check_planned(plan.shape())?;
        let epilogue = problem.epilogue;
        let summed = match epilogue.factors.reads_operands() {
            true => plan.shape(),
            false => plan.shape().without_k(),
        };
        for (operand, len) in [(Operand::A, a.len()), (Operand::B, b.len()), (Operand::C, c.len())] {
            let needed = summed.span_elems(operand);
            if len < needed {
                return Err(Error::short_slice(operand, needed, len));
            }
        }
        epilogue.check::<T, C>(plan.kernel(), plan.shape().n(), |bias| bias.len())?;
        if let Some(ends) = problem
            .group_ends
            .filter(|ends| ends.len() != plan.shape().batch().count as usize)
        {
            let (shape, ends) = (plan.shape(), ends.len());
            return Err(Error::InvalidArgument(format!(
                "{ends} group ends are given for {shape}"
            )));
        }
        let prepared = self.prepared::<T, C, _>(plan, problem)?;
        let [alpha, beta] = epilogue.factors.to_f64();
        let mut workspace = self.workspace.borrow_mut();
        let operands = Operands {
            a: a.as_device_ptr().as_raw(),
            b: b.as_device_ptr().as_raw(),
            c: c.as_device_ptr().as_raw(),
            bias: epilogue.bias.map_or(0, |bias| bias.as_device_ptr().as_raw()),
            group_ends: problem.group_ends.map_or(0, DeviceGroupEnds::address),
            workspace: workspace.with_room(&prepared, &self.stream)?,
            factors: Factors { alpha, beta },
        };
        // SAFETY: 1. The operands span what the plan says (checked above), are of its types (checked by `prepare`), and
        // are freed, by a call that waits for the device, no earlier than this `Gpu` goes. 2. C is borrowed
        // exclusively, and the workspace is this `Gpu`'s alone, whose launches are all on one stream. 3.
        // `OwnedWorkspace` has the counters' promise. 4. The stream is of the primary context, as the kernels are.
        let enqueued = unsafe { prepared.enqueue(self.stream.as_inner(), &operands) };
        if epilogue.factors.reads_operands() {
            workspace.used_by(&prepared, enqueued.is_ok());
        }
        enqueued
    }

    /// The product, prepared when it is launched first.
    fn prepared<T: Element, C: OutputOf<T>, B: Location>(
        &self,
        plan: &Plan,
        problem: &Gemm<B, T::Accumulator>,
    ) -> Result<Rc<Prepared>> {
        let mut kept = self.prepared.borrow_mut();
        if let Some(found) = kept
            .iter()
            .rev()
            .find(|prepared| prepared.is_for::<T, C, B>(plan, problem))
        {
            return Ok(Rc::clone(found));
        }
        // What is launched is known to be sound: the driver need not be asked.
        let prepared = self.kernels.prepare::<T, C, B>(plan, problem)?;
        let prepared = Rc::new(prepared.with_checks(Checks::Arithmetic));
        if kept.len() == MOST_PREPARED {
            kept.remove(0);
        }
        kept.push(Rc::clone(&prepared));
        Ok(prepared)
    }

    /// Waits until everything enqueued so far is done.
    ///
    /// # Errors
    /// [`Error::Driver`] with what went wrong on the device, in this call or in an earlier launch.
    pub fn synchronize(&self) -> Result<()> {
        self.stream.synchronize().of_call("cuStreamSynchronize")
    }

    /// Milliseconds of device time that the work enqueued by `work` takes, measured with events on the stream.
    ///
    /// # Errors
    /// The first error of `work`, else [`Error::Driver`].
    pub fn time_ms(&self, work: impl FnOnce() -> Result<()>) -> Result<f32> {
        let event = || Event::new(EventFlags::DEFAULT).of_call("cuEventCreate");
        let (start, stop) = (event()?, event()?);
        start.record(&self.stream).of_call("cuEventRecord")?;
        work()?;
        stop.record(&self.stream).of_call("cuEventRecord")?;
        stop.synchronize().of_call("cuEventSynchronize")?;
        stop.elapsed_time_f32(&start).of_call("cuEventElapsedTime")
    }

    /// What the driver says of an entry point.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn usage(&self, kernel: &Kernel) -> Result<FunctionUsage> {
        let _entered = self.kernels.enter()?;
        self.kernels.function(kernel)?.usage()
    }

    /// What the driver says of the kernel that copies operands ([`Plan::copies`]).
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn copy_usage(&self, kind: CopyKind) -> Result<FunctionUsage> {
        let _entered = self.kernels.enter()?;
        self.kernels.copy(kind)?.usage()
    }

    /// Blocks of `threads` threads with this much dynamic shared memory that an SM holds, as the driver
    /// counts them (`cuOccupancyMaxActiveBlocksPerMultiprocessor`). Raises the kernel's limit of dynamic shared memory
    /// first, as a launch would: without that the driver answers 0 above the default limit.
    ///
    /// # Errors
    /// [`Error::Driver`], with `InvalidValue` for more dynamic shared memory than a block may have.
    pub fn blocks_per_sm(&self, kernel: &Kernel, threads: u32, dynamic_bytes: Bytes) -> Result<u32> {
        let _entered = self.kernels.enter()?;
        let function = self.kernels.function(kernel)?;
        if kernel.static_bytes().get() + dynamic_bytes.get() > self.profile().smem_per_block {
            function.raise_dynamic_limit(dynamic_bytes)?;
        }
        function.max_blocks_per_sm(threads, dynamic_bytes)
    }
}

/// A workspace that grows with what is launched: all launches are on one stream, so one has done with it before the
/// next begins.
#[derive(Default)]
struct OwnedWorkspace {
    buffer: Option<DeviceBuffer<u8>>,
    /// Bytes from its start on that are zero between launches, where counters are.
    zeroed_bytes: usize,
}

impl OwnedWorkspace {
    /// The workspace, enlarged where the product needs more.
    fn with_room(&mut self, prepared: &Prepared, stream: &Stream) -> Result<Workspace> {
        let needed = prepared.workspace_bytes();
        let held = self.buffer.as_ref().map_or(0, |buffer| buffer.len());
        if held < needed {
            // What is replaced may still be in use.
            stream.synchronize().of_call("cuStreamSynchronize")?;
            // Both at once may be more than there is.
            (self.buffer, self.zeroed_bytes) = (None, 0);
            // SAFETY: the kernels write all of it before they read it, but for the counters, which `enqueue` clears.
            self.buffer = Some(unsafe { DeviceBuffer::uninitialized(needed) }.of_call("cuMemAlloc")?);
        }
        let address = |buffer: &DeviceBuffer<u8>| -> CUdeviceptr { buffer.as_device_ptr().as_raw() };
        Ok(Workspace {
            address: self.buffer.as_ref().map_or(0, address),
            bytes: self.buffer.as_ref().map_or(0, |buffer| buffer.len()),
            counters: match prepared.counter_bytes() <= self.zeroed_bytes {
                true => Counters::Zero,
                false => Counters::Unknown,
            },
        })
    }

    /// Notes what a product leaves: zeros in its counters, and anything after their region.
    fn used_by(&mut self, prepared: &Prepared, is_enqueued: bool) {
        self.zeroed_bytes = match prepared.workspace_bytes() {
            0 => self.zeroed_bytes,
            _ if !is_enqueued => 0,
            _ if prepared.has_counters() => prepared.counter_bytes(),
            _ => self.zeroed_bytes.min(prepared.counter_bytes()),
        };
    }
}
