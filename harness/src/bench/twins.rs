//! CUDA C++ twins of our kernels: the same algorithm, mapping, guards and layout, compiled by nvcc
//! (`benches/peers/tiled.cu`).

use std::ffi::c_void;
use std::path::Path;

use cust::function::Function;
use cust::module::Module;
use cust_raw::{CUfunction_attribute, CUresult};
use tilewright::dispatch::Plan;
use tilewright::launch::Gpu;
use tilewright::{DriverCall, Element, Error, Result};

use super::operands::Set;

/// A module of twins: `peer_` and the symbol of ours.
pub struct Twins<'gpu> {
    module: Module,
    gpu: &'gpu Gpu,
}

/// A twin with the launch of our kernel.
pub struct Twin<'t> {
    name: String,
    function: Function<'t>,
    plan: Plan,
    gpu: &'t Gpu,
}

impl<'gpu> Twins<'gpu> {
    /// Loads what `nvcc -O3 -cubin` made of the twins' source.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a file that cannot be read, [`Error::Driver`] for one that the driver does not
    /// take.
    pub fn load(gpu: &'gpu Gpu, file: &Path) -> Result<Self> {
        let fail = |problem: String| Error::InvalidArgument(format!("{}: {problem}", file.display()));
        // A pipe would block.
        if std::fs::metadata(file).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(fail("is not a regular file".to_owned()));
        }
        let cubin = std::fs::read(file).map_err(|error| fail(error.to_string()))?;
        let module = Module::from_cubin(cubin, &[]).of_call("cuModuleLoadDataEx")?;
        Ok(Self { module, gpu })
    }

    /// The twin of a plan's kernel.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where there is none, [`Error::Driver`].
    pub fn of(&self, plan: Plan) -> Result<Twin<'_>> {
        let name = format!("peer_{}", plan.kernel().symbol);
        let missing = |_| Error::Unavailable(format!("no twin `{name}` in the module"));
        let function = self.module.get_function(&name).map_err(missing)?;
        if plan.dynamic_bytes().get() > 0 {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // Less than 2^31: the planner keeps to the device's limit.
            let bytes = plan.dynamic_bytes().get() as i32;
            // SAFETY: the function belongs to a loaded module.
            let code = unsafe { cust_raw::cuFuncSetAttribute(function.to_raw(), attribute, bytes) };
            if code != CUresult::CUDA_SUCCESS {
                return Err(Error::Unavailable(format!(
                    "cuFuncSetAttribute({name}, {bytes}) returned {code:?}"
                )));
            }
        }
        Ok(Twin {
            name,
            function,
            plan,
            gpu: self.gpu,
        })
    }
}

impl Twin<'_> {
    /// Its symbol.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Enqueues the product.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn launch<T: Element>(&self, set: &mut Set<'_, T>) -> Result<()> {
        let (a, b, c) = (set.a.as_device_ptr(), set.b.as_device_ptr(), set.c.as_device_ptr());
        let (args, summary) = (self.plan.shape().args(), self.plan.summary());
        // `TileParts` of tiled.cu.
        let parts = [summary.tile[1], summary.a_part_bytes, summary.b_part_bytes];
        let address = |argument: *const c_void| argument.cast_mut();
        let mut arguments = vec![
            address((&raw const a).cast()),
            address((&raw const b).cast()),
            address((&raw const c).cast()),
            address((&raw const args).cast()),
        ];
        if summary.dynamic_smem_bytes > 0 {
            arguments.push(address((&raw const parts).cast()));
        }
        // SAFETY: the twin takes the operands, the extents, and the parts of dynamic shared memory where it has any;
        // operands and geometry are those of the plan, whose type and shape the set has.
        unsafe {
            self.gpu.stream().launch(
                &self.function,
                summary.grid[0],
                (summary.block[0], summary.block[1]),
                summary.dynamic_smem_bytes,
                &arguments,
            )
        }
        .of_call("cuLaunchKernel")
    }
}
