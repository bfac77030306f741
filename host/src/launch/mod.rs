//! Running a plan on a GPU through `cust`.
//!
//! What this module does not do: it chooses nothing (that is [`dispatch`](crate::dispatch)) and checks no result (that
//! is [`check`](crate::check)).

mod dependent;
mod function;
mod memory;
mod newer;
mod tensor_map;
mod workspace;

use std::cell::{OnceCell, RefCell};
use std::ffi::c_void;
use std::iter;
use std::marker::PhantomData;

use cust::context::Context;
use cust::device::Device;
use cust::event::{Event, EventFlags};
use cust::function::Function;
use cust::memory::DevicePointer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use tilewright_contract::{Bytes, GemmParams, KERNELS, Kernel, Operand, PadRows};

pub use function::FunctionUsage;
pub use memory::DeviceMatrix;
pub use tensor_map::encode as encode_tensor_map;

use crate::device::{self, DeviceProfile};
use crate::dispatch::Plan;
use crate::element::Element;
use crate::error::{DriverCall, Error, Result};
use crate::problem::{Gemm, OutputOf};
use crate::{ptx, tensor_map as maps};
use workspace::Workspace;

/// A device with this crate's kernels loaded and a stream to run them on.
///
/// Bound to the thread that opened it: a CUDA context is current to one thread. The fields are in the order in which
/// they must go: what a context owns before the context.
pub struct Gpu {
    /// The entry points that were used, each a module of its own, in the order of the kernel table.
    modules: Vec<OnceCell<Module>>,
    /// That of [`PadRows`].
    pad_rows: OnceCell<Module>,
    /// Kernels from outside the table.
    added: Vec<Module>,
    workspace: RefCell<Workspace>,
    stream: Stream,
    profile: DeviceProfile,
    level: &'static ptx::Level,
    _context: Context,
    _not_send: PhantomData<*mut ()>,
}

impl Gpu {
    /// Opens device `ordinal`, counted from 0. Kernels are taken from the newest level that it runs, and compiled by
    /// the driver when they are used first.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a driver or device, for a device older than the oldest level, or where the
    /// [kernels are missing](ptx::ensure_embedded); [`Error::Driver`].
    pub fn open(ordinal: u32) -> Result<Self> {
        let profile = device::query(ordinal)?;
        ptx::ensure_embedded()?;
        let level = ptx::for_compute_capability(profile.compute_capability).ok_or_else(|| {
            Error::Unavailable(format!(
                "{} has compute capability {}, the kernels need {} or later",
                profile.name,
                profile.compute_capability_name(),
                ptx::levels()[0].arch
            ))
        })?;
        let device = Device::get_device(ordinal).of_call("cuDeviceGet")?;
        let context = Context::new(device).of_call("cuDevicePrimaryCtxRetain")?;
        // Not a non-blocking stream: uploads and downloads go through the null stream, and an upload from pageable
        // memory may return before its last bytes have arrived (CUDA driver API, "API synchronization behavior"). A
        // stream of the default kind waits for the null stream, and the null stream for it.
        let stream = Stream::new(StreamFlags::DEFAULT, None).of_call("cuStreamCreateWithPriority")?;
        Ok(Self {
            modules: KERNELS.iter().map(|_| OnceCell::new()).collect(),
            pad_rows: OnceCell::new(),
            added: Vec::new(),
            workspace: RefCell::default(),
            stream,
            profile,
            level,
            _context: context,
            _not_send: PhantomData,
        })
    }

    /// Loads the PTX of kernels from outside the table, which a [`Policy`](crate::dispatch::Policy) may name. Before
    /// anything is uploaded: matrices borrow this `Gpu`.
    ///
    /// # Errors
    /// [`Error::Driver`] for PTX that the driver does not compile for this device.
    ///
    /// # Safety
    /// To launch is safe, so whoever adds a module answers for its kernels. For each [`Kernel`] with one of its symbols
    /// that is planned:
    /// 1. The entry point takes [`GemmParams`] of the kernel's type, by value, and the tensor maps of A, B and C
    ///    exactly where [`Kernel::takes_tensor_maps`].
    /// 2. It is right for every shape that the kernel accepts: with the CTA, the grid and the shared memory that the
    ///    plan says it accesses the operands, the workspace and the counters alone.
    /// 3. With [`dependent_launch`](tilewright_contract::Features::dependent_launch) each thread that accesses global
    ///    memory executes `griddepcontrol.wait` before.
    pub unsafe fn add_module(&mut self, ptx: &str) -> Result<()> {
        self.added
            .push(Module::from_ptx(ptx, &[]).of_call("cuModuleLoadDataEx")?);
        Ok(())
    }

    /// What the device offers.
    pub fn profile(&self) -> &DeviceProfile {
        &self.profile
    }

    /// The general PTX level that kernels are taken from; those of just this architecture have their own.
    pub fn level(&self) -> &'static ptx::Level {
        self.level
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
        let finish = problem.finish;
        let without_k;
        let plan = match finish.factors.reads_operands() {
            true => plan,
            false => {
                without_k = plan.without_k();
                &without_k
            }
        };
        for (operand, len) in [(Operand::A, a.len()), (Operand::B, b.len()), (Operand::C, c.len())] {
            let needed = plan.shape().span_elems(operand);
            if len < needed {
                return Err(Error::short_slice(operand, needed, len));
            }
        }
        let kernel = plan.kernel();
        if kernel.dtype != T::DTYPE {
            return Err(Error::InvalidArgument(format!(
                "{} takes {}, not {}",
                kernel.symbol,
                kernel.dtype,
                T::DTYPE
            )));
        }
        finish.check::<T, C>(kernel, plan.shape().n(), |bias| bias.len())?;
        let blocks = plan.grid().blocks();
        if blocks == 0 {
            return Ok(());
        }
        let function = self.function(kernel)?;
        if plan.opt_in() {
            function::raise_dynamic_limit(&function, plan.dynamic_bytes())?;
        }
        let (workspace, counters) = self.workspace.borrow_mut().with_room(plan, &self.stream)?;
        let [copy_a, copy_b] = plan.copies();
        let (a, b, c) = (
            self.copied(0, copy_a, a.as_device_ptr())?,
            self.copied(1, copy_b, b.as_device_ptr())?,
            c.as_device_ptr(),
        );
        let params = GemmParams::<T> {
            a: a.as_ptr(),
            b: b.as_ptr(),
            c: c.as_mut_ptr().cast(),
            bias: finish
                .bias
                .map_or(std::ptr::null(), |bias| bias.as_device_ptr().as_ptr()),
            workspace: workspace.as_mut_ptr(),
            counters: counters.as_mut_ptr(),
            activation: finish.activation,
            output: C::OUTPUT,
            ..plan.params(finish.factors.of_call())
        };
        let maps = match kernel.takes_tensor_maps() {
            true => {
                let addresses = [a.as_raw(), b.as_raw(), c.as_raw()];
                Some(maps::maps(kernel, &plan.taken(), addresses, tensor_map::encode)?)
            }
            false => None,
        };
        let params: *const c_void = (&raw const params).cast();
        let maps = maps.iter().flatten().map(|map| (&raw const *map).cast());
        let arguments: Vec<*mut c_void> = iter::once(params).chain(maps).map(<*const c_void>::cast_mut).collect();
        let [x, y] = kernel.block;
        let dynamic_bytes = plan.dynamic_bytes().get();
        // SAFETY: 1. the argument list is the entry point's: the parameters, and three tensor maps where it takes them;
        // each alive until the call has copied it.
        // 2. The operands span what the shape says (checked above), or are copies that the plan's shape describes, and
        //    C is borrowed exclusively, so it overlaps neither A nor B; the workspace has the plan's elements, and
        //    launches of one stream use it one after the other. 3. Grid, block and dynamic bytes are those of the plan,
        //    which only `plan()` makes, from the layout that the kernel indexes with.
        unsafe {
            if kernel.supports.dependent_launch {
                // 4. These wait for the launch before them by themselves.
                return dependent::launch(
                    &self.stream,
                    &function,
                    [blocks, 1, 1],
                    [x, y, 1],
                    dynamic_bytes,
                    &arguments,
                );
            }
            self.stream.launch(&function, blocks, (x, y), dynamic_bytes, &arguments)
        }
        .of_call("cuLaunchKernel")
    }

    /// Where the kernel reads A (`at` 0) or B (1), from `operand` or from a copy of it that is enqueued here. The
    /// operand spans what the copy says.
    fn copied<T: Element>(
        &self,
        at: usize,
        copy: Option<PadRows>,
        operand: DevicePointer<T>,
    ) -> Result<DevicePointer<T>> {
        let Some(copy) = copy else { return Ok(operand) };
        let function = self.loaded(&self.pad_rows, PadRows::SYMBOL)?;
        let to = self
            .workspace
            .borrow_mut()
            .with_room_for_copy(at, &copy, &self.stream)?;
        let arguments = [
            (&raw const operand).cast(),
            (&raw const to).cast(),
            (&raw const copy).cast(),
        ];
        let arguments = arguments.map(|argument: *const c_void| argument.cast_mut());
        // SAFETY: 1. two device pointers and the numbers are the entry point's arguments, each alive until the call has
        // copied it. 2. The operand is as long as the numbers say, the workspace has room, and launches of one stream
        // use it one after the other. 3. Grid and block are those of the contract.
        unsafe {
            self.stream
                .launch(&function, copy.blocks(), PadRows::THREADS, 0, &arguments)
        }
        .of_call("cuLaunchKernel")?;
        Ok(to.cast())
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
        FunctionUsage::query(&self.function(kernel)?)
    }

    /// What the driver says of the kernel that copies operands ([`Plan::copies`]).
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn pad_rows_usage(&self) -> Result<FunctionUsage> {
        FunctionUsage::query(&self.loaded(&self.pad_rows, PadRows::SYMBOL)?)
    }

    /// Blocks of `threads` threads with this much dynamic shared memory that an SM holds, as the driver
    /// counts them (`cuOccupancyMaxActiveBlocksPerMultiprocessor`). Raises the kernel's limit of dynamic shared memory
    /// first, as a launch would: without that the driver answers 0 above the default limit.
    ///
    /// # Errors
    /// [`Error::Driver`], with `InvalidValue` for more dynamic shared memory than a block may have.
    pub fn blocks_per_multiprocessor(&self, kernel: &Kernel, threads: u32, dynamic_bytes: Bytes) -> Result<u32> {
        let function = self.function(kernel)?;
        if kernel.static_bytes().get() + dynamic_bytes.get() > self.profile.smem_per_block {
            function::raise_dynamic_limit(&function, dynamic_bytes)?;
        }
        function
            .max_active_blocks_per_multiprocessor(threads.into(), dynamic_bytes.get() as usize)
            .of_call("cuOccupancyMaxActiveBlocksPerMultiprocessor")
    }

    /// The function of an entry point; compiles its module when it is used first. A kernel is of the table where all
    /// of it is: who changes a field answers for it, by [`Gpu::add_module`].
    fn function(&self, kernel: &Kernel) -> Result<Function<'_>> {
        let is_this =
            |row: &Kernel| row == kernel || row.widths.is_some() && row.with_width(kernel.tile.n) == Some(*kernel);
        if let Some(at) = KERNELS.iter().position(is_this) {
            return self.loaded(&self.modules[at], kernel.symbol);
        }
        let added = self
            .added
            .iter()
            .find_map(|module| module.get_function(kernel.symbol).ok());
        added.ok_or_else(|| self.missing(kernel.symbol))
    }

    /// The function of a symbol, whose module `cell` holds.
    fn loaded<'gpu>(&'gpu self, cell: &'gpu OnceCell<Module>, symbol: &str) -> Result<Function<'gpu>> {
        let module = match cell.get() {
            Some(module) => module,
            None => {
                let text = ptx::levels_for(self.profile.compute_capability)
                    .find_map(|level| ptx::module(level, symbol))
                    .ok_or_else(|| self.missing(symbol))?;
                let module = Module::from_ptx(text, &[]).of_call("cuModuleLoadDataEx")?;
                cell.get_or_init(|| module)
            }
        };
        module.get_function(symbol).of_call("cuModuleGetFunction")
    }

    fn missing(&self, symbol: &str) -> Error {
        let device = self.profile.compute_capability_name();
        Error::InvalidArgument(format!("compute capability {device} has no kernel {symbol}"))
    }
}
