//! The twins that spill registers, on a GPU.
//!
//! [`TWINS`] lists them. They are a PTX module of their own, [`ptx::spilling`], because the pragma that they have makes
//! it PTX 8.7: a device with an older driver computes without them. What is known of their speed stands in
//! `docs/spilling.md`.
//!
//! ```no_run
//! use tilewright::launch::Gpu;
//! use tilewright::spilling::{Twin, Twins, inverse8};
//!
//! let gpu = Gpu::open(0)?;
//! let twins = Twins::load(&gpu)?;
//! let twin = Twin::find("inverse8_128_64_shared_f32").expect("in the table");
//! let matrices = inverse8::dominant::<f32>(1, 1000);
//! let from = gpu.upload(&matrices)?;
//! let mut to = gpu.uninitialized(matrices.len())?;
//! twins.invert(twin, twin.threads, 1000, &from, &mut to)?;
//! let mut inverses = vec![0.0; matrices.len()];
//! to.download(&mut inverses)?;
//! inverse8::check(1000, &matrices, &inverses)?.into_result()?;
//! # Ok::<(), tilewright::Error>(())
//! ```

pub mod inverse8;

use std::ffi::c_void;

use cust::function::Function;
use cust::module::Module;
use tilewright_contract::{Grid, Operand, RegisterTile};

pub use tilewright_contract::{Family, Spills, TWINS, Twin};

use crate::element::Element;
use crate::error::{DriverCall, Error, Result};
use crate::launch::{DeviceMatrix, FunctionUsage, Gpu};
use crate::{DType, GemmShape, ptx};

/// The first CUDA version whose drivers load PTX 8.7 (PTX ISA, "PTX ISA Release History").
const FIRST_DRIVER: (u32, u32) = (12, 8);

/// Threads along each side of a block of [`Family::RegisterTile`].
const TILE_SIDE: u32 = 16;

/// The twins, loaded on a device.
pub struct Twins<'gpu> {
    module: Module,
    gpu: &'gpu Gpu,
}

impl<'gpu> Twins<'gpu> {
    /// Loads the module.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the driver is older than CUDA 12.8, with its version; [`Error::Driver`] when it
    /// refuses the kernels.
    pub fn load(gpu: &'gpu Gpu) -> Result<Self> {
        let driver = gpu
            .profile()
            .installed
            .as_ref()
            .map_or("", |installed| &installed.driver);
        refuse_old_driver(driver)?;
        let module = Module::from_ptx(&ptx::spilling().ptx[..], &[]).of_call("cuModuleLoadDataEx")?;
        Ok(Self { module, gpu })
    }

    /// Enqueues `C = A · B` by a twin of [`Family::RegisterTile`]; returns before it is done. Padding between the rows
    /// of C is not written.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another family or an operand shorter than its shape; [`Error::Driver`] when the
    /// driver refuses the launch.
    pub fn multiply(
        &self,
        twin: &Twin,
        shape: &GemmShape,
        a: &DeviceMatrix<'_, f32>,
        b: &DeviceMatrix<'_, f32>,
        c: &mut DeviceMatrix<'_, f32>,
    ) -> Result<()> {
        refuse_other(twin, Family::RegisterTile, DType::F32)?;
        for (operand, len) in [(Operand::A, a.len()), (Operand::B, b.len()), (Operand::C, c.len())] {
            let needed = shape.span_elems(operand);
            if len < needed {
                return Err(Error::short_slice(operand, needed, len));
            }
        }
        let args = shape.args();
        let grid = Grid::cover(args, RegisterTile::WIDTH, RegisterTile::WIDTH, 1)
            .map_err(|error| Error::InvalidArgument(error.to_string()))?;
        if grid.blocks() == 0 {
            return Ok(());
        }
        let (a, b, c) = (a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr());
        let arguments = [argument(&a), argument(&b), argument(&c), argument(&args)];
        // SAFETY: 1. the arguments are the entry point's: three device pointers and `GemmArgs`, alive until the call
        // has copied them. 2. The operands span what the shape says (checked above) and C is borrowed exclusively. 3.
        // The grid covers C, the block is the body's.
        unsafe { self.launch(twin, grid.blocks(), (TILE_SIDE, TILE_SIDE), &arguments) }
    }

    /// Enqueues the inverses of `count` interleaved matrices ([`Inverse8`](tilewright_contract::Inverse8)) by a twin of
    /// [`Family::Inverse8`], in blocks of `threads` threads; returns before it is done.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another family or element type, more threads than the twin's
    /// [`Twin::max_threads`], more than [`Inverse8::MAX_COUNT`](tilewright_contract::Inverse8::MAX_COUNT) matrices, or
    /// a buffer shorter than they are; [`Error::Driver`] when the driver refuses the launch.
    pub fn invert<T: Element>(
        &self,
        twin: &Twin,
        threads: u32,
        count: u32,
        from: &DeviceMatrix<'_, T>,
        to: &mut DeviceMatrix<'_, T>,
    ) -> Result<()> {
        refuse_other(twin, Family::Inverse8, T::DTYPE)?;
        refuse_threads(twin, threads)?;
        inverse8::refuse_lengths(count, from.len(), to.len())?;
        if count == 0 {
            return Ok(());
        }
        let (from, to) = (from.as_device_ptr(), to.as_device_ptr());
        let arguments = [argument(&from), argument(&to), argument(&count)];
        // SAFETY: 1. the arguments are the entry point's: two device pointers and a count, alive until the call has
        // copied them. 2. Both buffers hold `count` matrices (checked above), and `to` is borrowed exclusively. 3.
        // There is a thread for every matrix, in one dimension.
        unsafe { self.launch(twin, count.div_ceil(threads), (threads, 1), &arguments) }
    }

    /// What the driver says of a twin.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn usage(&self, twin: &Twin) -> Result<FunctionUsage> {
        FunctionUsage::query(&self.function(twin)?)
    }

    /// Blocks of a twin's own number of threads that a multiprocessor holds, as the driver counts them
    /// (`cuOccupancyMaxActiveBlocksPerMultiprocessor`).
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn blocks_per_multiprocessor(&self, twin: &Twin) -> Result<u32> {
        self.function(twin)?
            .max_active_blocks_per_multiprocessor(twin.threads.into(), 0)
            .of_call("cuOccupancyMaxActiveBlocksPerMultiprocessor")
    }

    fn function(&self, twin: &Twin) -> Result<Function<'_>> {
        self.module.get_function(twin.symbol).of_call("cuModuleGetFunction")
    }

    /// # Safety
    /// The arguments are the entry point's, and what they point to is what it expects of this grid and block.
    unsafe fn launch(&self, twin: &Twin, blocks: u32, block: (u32, u32), arguments: &[*mut c_void]) -> Result<()> {
        let function = self.function(twin)?;
        // SAFETY: the caller's promise.
        unsafe { self.gpu.stream().launch(&function, blocks, block, 0, arguments) }.of_call("cuLaunchKernel")
    }
}

/// A kernel argument as the driver takes it.
fn argument<T>(value: &T) -> *mut c_void {
    (&raw const *value).cast_mut().cast()
}

fn refuse_old_driver(driver: &str) -> Result<()> {
    let version = driver
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    if version.is_some_and(|version: (u32, u32)| version >= FIRST_DRIVER) {
        return Ok(());
    }
    let (major, minor) = FIRST_DRIVER;
    Err(Error::Unavailable(format!(
        "kernels that spill into shared memory are PTX 8.7, which needs a driver for CUDA {major}.{minor} or later; this one is for CUDA {driver}"
    )))
}

fn refuse_other(twin: &Twin, family: Family, dtype: DType) -> Result<()> {
    if (twin.family, twin.dtype) == (family, dtype) {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "{} is a kernel of {} for {}, not of {} for {dtype}",
        twin.symbol,
        twin.family.name(),
        twin.dtype,
        family.name()
    )))
}

fn refuse_threads(twin: &Twin, threads: u32) -> Result<()> {
    let most = twin.max_threads().unwrap_or(tilewright_contract::MAX_THREADS_PER_BLOCK);
    if (1..=most).contains(&threads) {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "blocks of {threads} threads, {} takes 1 to {most}",
        twin.symbol
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_before_12_8_are_refused_with_their_version() {
        for driver in ["12.8", "12.10", "13.0", "14.2"] {
            assert!(refuse_old_driver(driver).is_ok(), "{driver}");
        }
        for driver in ["12.7", "11.9", "", "new"] {
            let error = refuse_old_driver(driver).expect_err(driver);
            assert!(matches!(error, Error::Unavailable(_)));
            assert!(
                error
                    .to_string()
                    .ends_with(&format!("12.8 or later; this one is for CUDA {driver}")),
                "{error}"
            );
        }
    }

    #[test]
    fn blocks_beyond_the_launch_bounds_are_refused_with_both_numbers() {
        let twin = |symbol| Twin::find(symbol).unwrap_or_else(|| panic!("no {symbol}"));
        let (bounded, unbounded) = (
            twin("inverse8_128_64_shared_f32"),
            twin("inverse8_128_64_unbounded_f32"),
        );
        for threads in [1, 128] {
            assert!(refuse_threads(bounded, threads).is_ok());
        }
        for threads in [0, 129, u32::MAX] {
            let error = refuse_threads(bounded, threads).expect_err("outside");
            assert_eq!(
                error.to_string(),
                format!("blocks of {threads} threads, inverse8_128_64_shared_f32 takes 1 to 128")
            );
        }
        assert!(refuse_threads(unbounded, 1024).is_ok() && refuse_threads(unbounded, 1025).is_err());
        assert!(refuse_other(bounded, Family::Inverse8, DType::F32).is_ok());
        assert!(refuse_other(bounded, Family::Inverse8, DType::F64).is_err());
        assert!(refuse_other(bounded, Family::RegisterTile, DType::F32).is_err());
    }
}
