//! What NVIDIA's assembler makes of the kernels: registers, shared memory, spills, machine code, for any architecture.
//!
//! ```no_run
//! use tilewright::KERNELS;
//! use tilewright_harness::inspect::{Ptxas, Target, inspect};
//!
//! let target = Target::parse("sm_120")?;
//! for kernel in inspect(&Ptxas::find()?, &target, &[&KERNELS[0]])? {
//!     println!("{}: {} registers", kernel.usage.symbol, kernel.usage.registers);
//! }
//! # Ok::<(), tilewright::Error>(())
//! ```
//!
//! No GPU is needed: `ptxas` and `nvdisasm` are ordinary programs, which `cargo xtask setup` fetches. On a GPU the
//! driver's own compiler has the last word, and its numbers may differ by a few registers:
//! [`Gpu::usage`](tilewright::launch::Gpu::usage).
//!
//! What this module does not do: it judges nothing. That no kernel spills, and that none uses more than is written
//! down, is what `tests/usage.rs` of the repository tests.

mod budget;
mod kernel;
mod report;
mod target;
mod tools;

use serde::Serialize;
use tilewright_plan::{BlockUse, Occupancy, occupancy};

pub use budget::Budget;
pub use kernel::Subject;
pub use report::{ConstantBank, Frame, Remark, Report, Severity, UnreadableReport, Usage};
pub use target::Target;
pub use tools::{Assembled, FOLDER_VARIABLE, Nvdisasm, Ptxas};

use tilewright::ptx::{self, Level};
use tilewright::{Error, Result};

use crate::digest;

/// An entry point as `ptxas` assembled it for one architecture.
#[derive(Clone, Debug, Serialize)]
pub struct Inspected {
    /// What was assembled for: `sm_90a` for a kernel of that level, also where `sm_90` was asked for.
    pub arch: String,
    /// The PTX level that was assembled.
    pub level: &'static str,
    /// The [digest](crate::digest::digests) of the PTX.
    pub digest: Option<String>,
    /// What it takes.
    #[serde(flatten)]
    pub usage: Usage,
    /// What `ptxas` remarks on it.
    pub remarks: Vec<Remark>,
    /// The threads of a block that the kernel declares as its most; `None` where it declares none.
    pub max_threads: Option<u32>,
    /// A block with the widest tile that the planner launches this entry point with, `None` where none fits; or the one
    /// block of a kernel that is no family.
    pub budget: Option<Budget>,
    /// How many such blocks an SM holds, and why no more.
    pub occupancy: Option<Occupancy>,
}

/// Assembles kernels for an architecture: those of the general module first, then those of just this architecture.
/// Those that it does not run are left out.
///
/// # Errors
/// [`Error::Tool`] when `ptxas` refuses.
pub fn inspect<K>(ptxas: &Ptxas, target: &Target, kernels: &[K]) -> Result<Vec<Inspected>>
where
    K: Copy + Into<Subject>,
{
    let mut inspected = Vec::new();
    for level in target.modules() {
        inspected.extend(inspect_module(ptxas, target, level, kernels)?);
    }
    Ok(inspected)
}

/// Those of the kernels that one module has.
fn inspect_module<K>(ptxas: &Ptxas, target: &Target, level: &'static Level, kernels: &[K]) -> Result<Vec<Inspected>>
where
    K: Copy + Into<Subject>,
{
    let present: Vec<_> = kernels
        .iter()
        .map(|kernel| (*kernel).into())
        .filter_map(|kernel| Some((kernel, ptx::entry(level, kernel.symbol())?)))
        .collect();
    if present.is_empty() {
        return Ok(Vec::new());
    }
    let symbols: Vec<_> = present.iter().map(|(kernel, _)| kernel.symbol()).collect();
    let name = target.name_for(level);
    let module = ptx::module(level, &symbols).expect("it has those");
    let assembled = ptxas.assemble(&module, name, &[])?;
    let arch = target.architecture;
    let inspected = present.into_iter().map(|(kernel, text)| {
        let (report, symbol) = (&assembled.report, kernel.symbol());
        let usage = report.kernel(symbol).cloned().ok_or_else(|| Error::Tool {
            tool: Ptxas::NAME,
            message: format!("nothing is said of {symbol} for {name}"),
        })?;
        let budget = kernel.budget(arch, usage.static_smem_bytes);
        let occupancy = budget.as_ref().map(|budget| {
            let block = BlockUse {
                barriers: usage.barriers,
                ..BlockUse::new(
                    budget.threads,
                    usage.registers,
                    budget.static_bytes.into(),
                    budget.dynamic_bytes.into(),
                )
            };
            occupancy(arch, &block)
        });
        Ok(Inspected {
            arch: name.to_owned(),
            level: level.arch,
            digest: digest::of_level(level).get(symbol).cloned(),
            remarks: report.remarks_on(symbol).cloned().collect(),
            usage,
            max_threads: ptx::max_threads(text),
            budget,
            occupancy,
        })
    });
    inspected.collect()
}

/// The machine code of one entry point, as `nvdisasm` writes it.
///
/// # Errors
/// [`Error::InvalidArgument`] where the target does not run it; [`Error::Tool`] when `ptxas` or `nvdisasm` refuses.
pub fn machine_code(ptxas: &Ptxas, nvdisasm: &Nvdisasm, target: &Target, symbol: &str) -> Result<String> {
    let found = target
        .level_of(symbol)
        .and_then(|level| Some((level, ptx::module(level, &[symbol])?)));
    let (level, module) =
        found.ok_or_else(|| Error::InvalidArgument(format!("{} has no kernel {symbol}", target.name)))?;
    let assembled = ptxas.assemble(&module, target.name_for(level), &[])?;
    nvdisasm.disassemble(&assembled.cubin)
}
