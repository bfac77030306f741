//! The kernels of one CUDA context.

use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cust_raw::{CUcontext, CUmodule};
use tilewright_contract::{
    BLOCK_SCALED_KERNELS, BlockScaledKernel, CopyKind, FP8_KERNELS, FP8_QUANTIZE_KERNELS, Fp8Kernel, Fp8QuantizeKernel,
    KERNELS, Kernel,
};

use super::context::{ContextHandle, Entered};
use super::function::Function;
use super::newer::succeeded;
use super::prepared::Prepared;
use crate::device::{self, DeviceProfile};
use crate::dispatch::Plan;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::{Gemm, Location, OutputOf};
use crate::ptx;

/// The kernels of one CUDA context, each compiled by the driver when it is prepared first. A clone is the same set;
/// any thread may use it. Open one per device and keep it: what it has loaded stays until the last clone and the last
/// [`Prepared`] of it are dropped.
///
/// No call changes which context is current on the calling thread.
#[derive(Clone)]
pub struct Kernels(Arc<Loaded>);

struct Loaded {
    /// The entry points that were used, each a module of its own, in the order of the kernel table.
    table: Vec<OnceLock<Module>>,
    /// Those that copy operands, by [`CopyKind`].
    copies: [OnceLock<Module>; CopyKind::ALL.len()],
    /// The block-scaled ones, in the order of their table.
    block_scaled: [OnceLock<Module>; BLOCK_SCALED_KERNELS.len()],
    /// Those of FP8, in the order of their table.
    fp8: [OnceLock<Module>; FP8_KERNELS.len()],
    /// Those that quantize to FP8, in the order of their table.
    fp8_quantize: [OnceLock<Module>; FP8_QUANTIZE_KERNELS.len()],
    /// Kernels from outside the table.
    added: Mutex<Vec<Module>>,
    /// Held while a module of the table is loaded.
    loading: Mutex<()>,
    profile: DeviceProfile,
    level: &'static ptx::Level,
    context: ContextHandle,
}

/// A module that is loaded.
struct Module(CUmodule);

// SAFETY: the handle is only passed to the driver, every function of which may be called from any thread.
unsafe impl Send for Module {}
// SAFETY: as above; nothing changes through a shared reference.
unsafe impl Sync for Module {}

impl Kernels {
    /// The kernels of device `ordinal`'s primary context, counted from 0: the context that the CUDA runtime, cuBLAS,
    /// cudarc and `cust` share. It is retained until all is dropped. Kernels are taken from the newest PTX level that
    /// the device runs.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a driver or device, for a device older than the oldest level, or where the
    /// [kernels are missing](ptx::ensure_embedded); [`Error::Driver`].
    pub fn open(ordinal: u32) -> Result<Self> {
        let profile = device::query(ordinal)?;
        ptx::ensure_embedded()?;
        Self::new(profile, ContextHandle::primary(ordinal)?)
    }

    /// The kernels of a context that somebody else owns, primary or not: for those who made their own.
    ///
    /// # Errors
    /// As for [`Kernels::open`]; a missing kernel is reported when it is prepared.
    ///
    /// # Safety
    /// The context exists, and is destroyed only after every clone and every [`Prepared`] of this is dropped.
    pub unsafe fn of_context(context: CUcontext) -> Result<Self> {
        cuda_driver_lazy::load()?;
        // SAFETY: the caller's promise.
        let context = unsafe { ContextHandle::borrowed(context)? };
        Self::new(device::query(context.ordinal())?, context)
    }

    fn new(profile: DeviceProfile, context: ContextHandle) -> Result<Self> {
        let level = ptx::for_compute_capability(profile.compute_capability).ok_or_else(|| {
            Error::Unavailable(format!(
                "{} has compute capability {}, the kernels need {} or later",
                profile.name,
                profile.compute_capability_name(),
                ptx::levels()[0].arch
            ))
        })?;
        Ok(Self(Arc::new(Loaded {
            table: KERNELS.iter().map(|_| OnceLock::new()).collect(),
            copies: Default::default(),
            block_scaled: Default::default(),
            fp8: Default::default(),
            fp8_quantize: [const { OnceLock::new() }; FP8_QUANTIZE_KERNELS.len()],
            added: Mutex::default(),
            loading: Mutex::default(),
            profile,
            level,
            context,
        })))
    }

    /// What the device offers.
    pub fn profile(&self) -> &DeviceProfile {
        &self.0.profile
    }

    /// The general PTX level that kernels are taken from; those of just this architecture have their own.
    pub fn level(&self) -> &'static ptx::Level {
        self.0.level
    }

    /// The context that the kernels are loaded into.
    pub fn context(&self) -> CUcontext {
        self.0.context.raw()
    }

    /// Loads the PTX of kernels from outside the table, which a [`Policy`](crate::dispatch::Policy) may name.
    ///
    /// # Errors
    /// [`Error::Driver`] for PTX that the driver does not compile for this device, [`Error::InvalidArgument`] for one
    /// with a zero byte.
    ///
    /// # Safety
    /// To launch is safe, so whoever adds a module answers for its kernels. For each [`Kernel`] with one of its symbols
    /// that is planned:
    /// 1. The entry point takes [`GemmParams`](tilewright_contract::GemmParams) of the kernel's type, by value, and the
    ///    tensor maps of A, B and C exactly where [`Kernel::takes_tensor_maps`].
    /// 2. It is right for every shape that the kernel accepts: with the CTA, the grid and the shared memory that the
    ///    plan says it accesses the operands, the workspace and the counters alone.
    /// 3. With [`dependent_launch`](tilewright_contract::Features::dependent_launch) each thread that accesses global
    ///    memory executes `griddepcontrol.wait` before.
    pub unsafe fn add_module(&self, ptx: &str) -> Result<()> {
        let _entered = self.enter()?;
        let module = Module::load(ptx)?;
        self.added().push(module);
        Ok(())
    }

    /// Prepares a product: loads its kernel, raises the kernel's shared-memory limit, and fixes the workspace. A, B of
    /// type `T`, C of type `C`. `problem` states what follows the product; its bias may be `()`, since only whether
    /// there is one counts here, and its factors are those that a call may change.
    ///
    /// Not under stream capture: loading allocates.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a problem of another shape or type than the plan's, and for factors, a bias, an
    /// activation or a C of another type with a kernel that has none (plan with [`Gemm::plan`]); [`Error::Driver`].
    pub fn prepare<T: Element, C: OutputOf<T>, B: Location>(
        &self,
        plan: &Plan,
        problem: &Gemm<B, T::Accumulator>,
    ) -> Result<Prepared> {
        Prepared::new::<T, C, B>(self, plan, problem)
    }

    /// Makes the context current until the value is dropped.
    pub(super) fn enter(&self) -> Result<Entered> {
        self.0.context.enter()
    }

    pub(super) fn context_handle(&self) -> &ContextHandle {
        &self.0.context
    }

    /// The function of an entry point; compiles its module when it is used first. A kernel is of the table where all
    /// of it is: who changes a field answers for it, by [`Kernels::add_module`]. The context is current.
    pub(super) fn function(&self, kernel: &Kernel) -> Result<Function> {
        let is_this =
            |row: &Kernel| row == kernel || row.widths.is_some() && row.with_width(kernel.tile.n) == Some(*kernel);
        if let Some(at) = KERNELS.iter().position(is_this) {
            return self.loaded(&self.0.table[at], kernel.symbol);
        }
        let added = self.added();
        let found = added.iter().find_map(|module| module.function(kernel.symbol).ok());
        found.ok_or_else(|| self.missing(kernel.symbol))
    }

    /// The function of a kernel that copies operands. The context is current.
    pub(super) fn copy(&self, kind: CopyKind) -> Result<Function> {
        self.loaded(&self.0.copies[kind as usize], kind.symbol())
    }

    /// The function of a block-scaled kernel, a row of their table. The context is current.
    pub(super) fn block_scaled(&self, kernel: &BlockScaledKernel) -> Result<Function> {
        let at = BLOCK_SCALED_KERNELS.iter().position(|row| row == kernel);
        let cell = at.map(|at| &self.0.block_scaled[at]);
        self.loaded(cell.ok_or_else(|| self.missing(kernel.symbol))?, kernel.symbol)
    }

    /// The function of an FP8 kernel, a row of their table. The context is current.
    pub(super) fn fp8(&self, kernel: &Fp8Kernel) -> Result<Function> {
        let at = FP8_KERNELS.iter().position(|row| row == kernel);
        let cell = at.map(|at| &self.0.fp8[at]);
        self.loaded(cell.ok_or_else(|| self.missing(kernel.symbol))?, kernel.symbol)
    }

    /// The function of a kernel that quantizes to FP8, a row of their table. The context is current.
    pub(super) fn fp8_quantize(&self, kernel: &Fp8QuantizeKernel) -> Result<Function> {
        let at = FP8_QUANTIZE_KERNELS.iter().position(|row| row == kernel);
        let cell = at.map(|at| &self.0.fp8_quantize[at]);
        self.loaded(cell.ok_or_else(|| self.missing(kernel.symbol))?, kernel.symbol)
    }

    /// The function of a symbol, whose module `cell` holds.
    fn loaded(&self, cell: &OnceLock<Module>, symbol: &str) -> Result<Function> {
        if let Some(module) = cell.get() {
            return module.function(symbol);
        }
        let loading = self.0.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let module = match cell.get() {
            Some(module) => module,
            None => {
                ptx::ensure_embedded()?;
                let capability = self.profile().compute_capability;
                let block_scaled = BlockScaledKernel::runs_on(capability).then(ptx::block_scaled);
                let fp8 = Fp8Kernel::runs_on(capability).then(ptx::fp8);
                let text = ptx::levels_for(capability)
                    .chain(block_scaled)
                    .chain(fp8)
                    .find_map(|level| ptx::module(level, &[symbol]))
                    .ok_or_else(|| self.missing(symbol))?;
                let module = Module::load(&text)?;
                cell.get_or_init(|| module)
            }
        };
        drop(loading);
        module.function(symbol)
    }

    fn added(&self) -> std::sync::MutexGuard<'_, Vec<Module>> {
        self.0.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn missing(&self, symbol: &str) -> Error {
        let device = self.profile().compute_capability_name();
        Error::InvalidArgument(format!("compute capability {device} has no kernel {symbol}"))
    }
}

impl Module {
    /// Compiles and loads PTX into the current context.
    fn load(ptx: &str) -> Result<Self> {
        let text = CString::new(ptx).map_err(|_| Error::InvalidArgument("PTX with a zero byte".to_owned()))?;
        let mut module = null_mut();
        // SAFETY: the text ends with a zero byte, and it and the place outlive the call; there are no options.
        let code =
            unsafe { cust_raw::cuModuleLoadDataEx(&raw mut module, text.as_ptr().cast(), 0, null_mut(), null_mut()) };
        succeeded("cuModuleLoadDataEx", code)?;
        Ok(Self(module))
    }

    /// The context is current.
    fn function(&self, symbol: &str) -> Result<Function> {
        let name = CString::new(symbol).map_err(|_| Error::InvalidArgument("a symbol with a zero byte".to_owned()))?;
        let mut function = null_mut();
        // SAFETY: the module is loaded; the name ends with a zero byte, and it and the place outlive the call.
        let code = unsafe { cust_raw::cuModuleGetFunction(&raw mut function, self.0, name.as_ptr()) };
        succeeded("cuModuleGetFunction", code)?;
        Ok(Function(function))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // A context that is gone has taken its modules along.
        let Ok(_entered) = self.context.enter() else { return };
        let added = self.added.get_mut().unwrap_or_else(PoisonError::into_inner);
        let cells = self
            .table
            .iter_mut()
            .chain(&mut self.copies)
            .chain(&mut self.block_scaled)
            .chain(&mut self.fp8)
            .chain(&mut self.fp8_quantize);
        for module in cells.filter_map(OnceLock::take).chain(added.drain(..)) {
            // SAFETY: it is unloaded once, and no function of it is left: whoever has one keeps this value.
            unsafe { cust_raw::cuModuleUnload(module.0) };
        }
    }
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernels")
            .field("device", &self.profile().name)
            .field("level", &self.level().arch)
            .field("context", &self.context())
            .finish_non_exhaustive()
    }
}
