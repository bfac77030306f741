//! The variants on a GPU.

use std::ffi::c_void;

use cuda_arch::{Architecture, ComputeCapability};
use cust::context::Context;
use cust::device::{Device, DeviceAttribute};
use cust::event::{Event, EventFlags};
use cust::function::{BlockSize, Function, FunctionAttribute};
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};

use crate::error::{Error, Result};
use crate::kernels::register_tile::SIDE;
use crate::kernels::{Extents, Problem, Variant};
use crate::record::Resources;
use crate::scalar::Real;
use crate::{inverse, product};

/// The first CUDA version whose drivers load PTX 8.7 (PTX ISA, "PTX ISA Release History").
const FIRST_DRIVER: (i32, i32) = (12, 8);

/// The most threads of any CTA.
const MAX_THREADS: u32 = 1024;

/// The first GPU, with the variants loaded. The fields are in the order in which they must go: what a context owns
/// before the context.
pub struct Gpu {
    module: Module,
    stream: Stream,
    /// Its name.
    pub name: String,
    /// The CUDA version that the driver is for: `13.0`.
    pub driver: String,
    /// Its architecture; `None` where the table does not have it.
    pub architecture: Option<&'static Architecture>,
    _context: Context,
}

impl Gpu {
    /// Opens the first GPU and has its driver compile the kernels.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a driver or a GPU, or where the driver is older than CUDA 12.8, with its version;
    /// [`Error::Driver`] where it refuses the kernels.
    pub fn open() -> Result<Self> {
        let unavailable = |error: &dyn std::fmt::Display| Error::Unavailable(error.to_string());
        cuda_driver_lazy::load().map_err(|error| unavailable(&error))?;
        let context = cust::quick_init().map_err(|error| unavailable(&format!("no usable GPU: {error}")))?;
        let version = cust::CudaApiVersion::get()?;
        check_driver((version.major(), version.minor()))?;
        let device = Device::get_device(0)?;
        let capability = |attribute| Ok::<_, Error>(device.get_attribute(attribute)?.unsigned_abs());
        let capability = ComputeCapability::new(
            capability(DeviceAttribute::ComputeCapabilityMajor)?,
            capability(DeviceAttribute::ComputeCapabilityMinor)?,
        );
        Ok(Self {
            module: Module::from_ptx(crate::PTX, &[])?,
            // A stream that waits for copies, which go through the default stream; a NON_BLOCKING one would not.
            stream: Stream::new(StreamFlags::DEFAULT, None)?,
            name: device.name()?,
            driver: format!("{}.{}", version.major(), version.minor()),
            architecture: Architecture::of(capability),
            _context: context,
        })
    }

    /// Enqueues `C = A · B` by a variant of [`Problem::RegisterTile`]; returns before it is done. Padding between the
    /// rows of C is not written.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another problem, extents that no grid covers, or a buffer shorter than its
    /// matrix; [`Error::Driver`] where the driver refuses the launch.
    pub fn multiply(
        &self,
        variant: &Variant,
        extents: &Extents,
        [a, b]: [&DeviceBuffer<f32>; 2],
        c: &mut DeviceBuffer<f32>,
    ) -> Result<()> {
        check_problem(variant, Problem::RegisterTile)?;
        let ctas = product::ctas(extents)?;
        let lengths = [a.len(), b.len(), c.len()];
        if lengths
            .iter()
            .zip(extents.span_elems())
            .any(|(len, needed)| *len < needed)
        {
            return Err(Error::InvalidArgument(format!(
                "{lengths:?} elements of A, B, C do not hold {extents:?}"
            )));
        }
        if ctas == 0 {
            return Ok(());
        }
        let (a, b, c) = (a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr());
        let arguments = [argument(&a), argument(&b), argument(&c), argument(extents)];
        // SAFETY: 1. The arguments are the entry point's: three device pointers and `Extents`, alive until the call has
        // copied them. 2. The buffers span what the extents say (checked above), and C is borrowed exclusively. 3. The
        // grid covers C, the CTA is the kernel's.
        unsafe { self.launch(variant, ctas, (SIDE, SIDE), &arguments) }
    }

    /// Enqueues the inverses of `count` interleaved matrices ([`inverse8`](crate::kernels::inverse8)) by a variant of
    /// the problem of this element type, in CTAs of `threads` threads; returns before it is done.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another problem, more threads than [`Variant::max_threads`], more matrices than
    /// [`MAX_COUNT`](crate::kernels::inverse8::MAX_COUNT), or a buffer shorter than they are; [`Error::Driver`] where
    /// the driver refuses the launch.
    pub fn invert<T: Real>(
        &self,
        variant: &Variant,
        threads: u32,
        count: u32,
        from: &DeviceBuffer<T>,
        to: &mut DeviceBuffer<T>,
    ) -> Result<()> {
        let problem = match T::BITS {
            f32::MANTISSA_DIGITS => Problem::Inverse8F32,
            _ => Problem::Inverse8F64,
        };
        check_problem(variant, problem)?;
        check_threads(variant, threads)?;
        inverse::check_lengths(count, from.len(), to.len())?;
        if count == 0 {
            return Ok(());
        }
        let (from, to) = (from.as_device_ptr(), to.as_device_ptr());
        let arguments = [argument(&from), argument(&to), argument(&count)];
        // SAFETY: 1. The arguments are the entry point's: two device pointers and a count, alive until the call has
        // copied them. 2. Both buffers hold `count` matrices (checked above), and `to` is borrowed exclusively. 3.
        // Every matrix has a thread, in one dimension.
        unsafe { self.launch(variant, count.div_ceil(threads), (threads, 1), &arguments) }
    }

    /// What the driver's compiler made of a variant. [`Resources::digest`] is left out.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn resources(&self, variant: &Variant) -> Result<Resources> {
        let function = self.function(variant)?;
        let get = |attribute| Ok::<_, Error>(function.get_attribute(attribute)?.unsigned_abs());
        Ok(Resources {
            symbol: variant.symbol,
            digest: None,
            registers: get(FunctionAttribute::NumRegisters)?,
            local_bytes: get(FunctionAttribute::LocalSizeBytes)?,
            static_bytes: get(FunctionAttribute::SharedMemorySizeBytes)?,
            resident_ctas: function.max_active_blocks_per_multiprocessor(BlockSize::x(variant.threads), 0)?,
        })
    }

    /// Waits for everything that was enqueued.
    ///
    /// # Errors
    /// [`Error::Driver`] with what went wrong on the GPU, in this call or in an earlier launch.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }

    /// Milliseconds of GPU time that the work enqueued by `work` takes, by events on the stream.
    ///
    /// # Errors
    /// The first error of `work`, else [`Error::Driver`].
    pub fn time_ms(&self, work: impl FnOnce() -> Result<()>) -> Result<f32> {
        let (start, stop) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
        start.record(&self.stream)?;
        work()?;
        stop.record(&self.stream)?;
        stop.synchronize()?;
        Ok(stop.elapsed_time_f32(&start)?)
    }

    fn function(&self, variant: &Variant) -> Result<Function<'_>> {
        Ok(self.module.get_function(variant.symbol)?)
    }

    /// # Safety
    /// The arguments are the entry point's, and what they point to is what it expects of this grid and CTA.
    unsafe fn launch(&self, variant: &Variant, ctas: u32, cta: (u32, u32), arguments: &[*mut c_void]) -> Result<()> {
        let function = self.function(variant)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { self.stream.launch(&function, ctas, cta, 0, arguments) }?)
    }
}

/// A kernel argument as the driver takes it.
fn argument<T>(value: &T) -> *mut c_void {
    (&raw const *value).cast_mut().cast()
}

fn check_driver(version: (i32, i32)) -> Result<()> {
    if version >= FIRST_DRIVER {
        return Ok(());
    }
    Err(Error::Unavailable(format!(
        "kernels that spill into shared memory are PTX 8.7, which needs a driver for CUDA {}.{} or later; this one is \
         for CUDA {}.{}",
        FIRST_DRIVER.0, FIRST_DRIVER.1, version.0, version.1
    )))
}

fn check_problem(variant: &Variant, problem: Problem) -> Result<()> {
    if variant.problem == problem {
        return Ok(());
    }
    let name = problem.names().join(" in ");
    Err(Error::InvalidArgument(format!(
        "{} is no kernel of {name}",
        variant.symbol
    )))
}

fn check_threads(variant: &Variant, threads: u32) -> Result<()> {
    let most = variant.max_threads().unwrap_or(MAX_THREADS);
    if (1..=most).contains(&threads) {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "CTAs of {threads} threads, {} takes 1 to {most}",
        variant.symbol
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_before_12_8_are_refused_with_their_version() {
        for driver in [(12, 8), (12, 10), (13, 0), (14, 2)] {
            assert!(check_driver(driver).is_ok(), "{driver:?}");
        }
        for (driver, said) in [((12, 7), "12.7"), ((11, 9), "11.9")] {
            let error = check_driver(driver).expect_err(said);
            assert!(matches!(error, Error::Unavailable(_)));
            let end = format!("CUDA 12.8 or later; this one is for CUDA {said}");
            assert!(error.to_string().ends_with(&end), "{error}");
        }
    }

    #[test]
    fn ctas_beyond_the_launch_bounds_are_refused_with_both_numbers() {
        let variant = |symbol| Variant::find(symbol).unwrap_or_else(|| panic!("no {symbol}"));
        let bounded = variant("inverse8_128_64_shared_f32");
        let unbounded = variant("inverse8_128_64_unbounded_f32");
        for threads in [1, 128] {
            assert!(check_threads(bounded, threads).is_ok());
        }
        for threads in [0, 129, u32::MAX] {
            let error = check_threads(bounded, threads).expect_err("outside");
            assert_eq!(
                error.to_string(),
                format!("CTAs of {threads} threads, inverse8_128_64_shared_f32 takes 1 to 128")
            );
        }
        assert!(check_threads(unbounded, 1024).is_ok() && check_threads(unbounded, 1025).is_err());
        assert!(check_problem(bounded, Problem::Inverse8F32).is_ok());
        for other in [Problem::Inverse8F64, Problem::RegisterTile] {
            assert!(check_problem(bounded, other).is_err());
        }
    }
}
