//! `#[kernel(smem_spilling)]`: who may have the pragma, and where it goes.
//!
//! The rules are those of the PTX ISA, "Pragma Strings: enable_smem_spilling". `ptxas` enforces only a part of them,
//! and where it does the kernel fails to assemble, maybe not before it runs, on the user's machine: so all are enforced
//! here. <https://docs.nvidia.com/cuda/parallel-thread-execution/#pragma-strings-enable-smem-spilling>

use std::collections::BTreeMap;

use crate::CudaBuilder;
use crate::arch::NvvmArch;
use crate::backend::demangle;
use crate::error::{CudaBuilderError, SpillingRule};
use crate::pass::attributes::KernelAttributes;
use crate::ptx::{Item, ItemKind, items, reached};

/// What makes `ptxas` spill into shared memory.
const PRAGMA: &str = "\t.pragma \"enable_smem_spilling\";\n";
/// The first PTX version in which `ptxas` accepts the pragma: 8.7, although the PTX ISA says 9.0. A driver refuses PTX
/// newer than itself, so the lower one reaches more of them; one that does not know the pragma passes over it.
pub(crate) const PRAGMA_PTX_VERSION: (u32, u32) = (8, 7);
/// The first architecture for which the pragma is allowed.
const FIRST_CAPABILITY: (u32, u32) = (7, 5);

type Attributes = BTreeMap<String, KernelAttributes>;

fn spilling(attributes: &Attributes) -> impl Iterator<Item = (&String, &KernelAttributes)> {
    attributes.iter().filter(|(_, attributes)| attributes.smem_spilling)
}

fn refuse(kernel: &str, rule: SpillingRule) -> CudaBuilderError {
    CudaBuilderError::SpillingRefused {
        kernel: kernel.to_owned(),
        rule,
    }
}

/// The PTX version of the module: the architecture's, unless the user chose one or a kernel needs a newer one.
///
/// # Errors
/// Where the choice and the kernels' options exclude each other, or an option and the architecture.
pub(crate) fn ptx_version(builder: &CudaBuilder, attributes: &Attributes) -> Result<(u32, u32), CudaBuilderError> {
    let (arch, of_arch) = (builder.arch, builder.arch.ptx_version());
    if arch.capability() < (9, 0)
        && let Some((kernel, _)) = attributes.iter().find(|(_, attributes)| !attributes.cluster.is_empty())
    {
        return Err(CudaBuilderError::ClusterUnsupported {
            kernel: kernel.clone(),
            arch: arch.sm_name(),
        });
    }
    let Some((kernel, _)) = spilling(attributes).next() else {
        return Ok(builder.ptx_version.unwrap_or(of_arch));
    };
    if arch.capability() < FIRST_CAPABILITY {
        return Err(refuse(kernel, SpillingRule::Architecture(arch.sm_name())));
    }
    if !builder.release {
        return Err(refuse(kernel, SpillingRule::DebugBuild));
    }
    match builder.ptx_version {
        Some(chosen) if chosen < PRAGMA_PTX_VERSION => Err(refuse(kernel, SpillingRule::PtxVersion(chosen))),
        Some(chosen) => Ok(chosen),
        None => Ok(of_arch.max(PRAGMA_PTX_VERSION)),
    }
}

/// Checks the kernels that ask for the pragma in the finished PTX, and writes it into their bodies.
///
/// It is written into the text and not into the IR, so that nothing else differs from the same kernel without it.
pub(crate) fn write_pragmas(ptx: String, arch: NvvmArch, attributes: &Attributes) -> Result<String, CudaBuilderError> {
    let mut insertions = Vec::new();
    let items = items(&ptx);
    for (name, attributes) in spilling(attributes) {
        let kernel = items
            .iter()
            .find(|item| item.kind == ItemKind::Kernel && item.name == name);
        let kernel = kernel.ok_or_else(|| CudaBuilderError::KernelMarker(name.clone()))?;
        if let Some(rule) = broken_rule(&ptx, &items, kernel, arch, attributes) {
            return Err(refuse(name, rule));
        }
        let body = kernel
            .text
            .find("\n{\n")
            .ok_or_else(|| CudaBuilderError::KernelMarker(name.clone()))?;
        // `text` is a piece of `ptx`.
        let start = kernel.text.as_ptr().addr() - ptx.as_ptr().addr();
        insertions.push(start + body + "\n{\n".len());
    }
    drop(items);
    insertions.sort_unstable();
    let mut ptx = ptx;
    for at in insertions.into_iter().rev() {
        ptx.insert_str(at, PRAGMA);
    }
    Ok(ptx)
}

fn broken_rule(
    ptx: &str,
    items: &[Item<'_>],
    kernel: &Item<'_>,
    arch: NvvmArch,
    attributes: &KernelAttributes,
) -> Option<SpillingRule> {
    let target = ptx.lines().find(|line| line.starts_with(".target "));
    if target.is_some_and(|line| line.split([' ', ',']).any(|word| word == "debug")) {
        return Some(SpillingRule::DebugBuild);
    }
    let reached = reached(items, kernel);
    if reached.iter().any(|item| item.is_dynamic_shared()) {
        return Some(SpillingRule::DynamicShared);
    }
    let mut all = reached.iter().flat_map(|item| instructions(item.text));
    if all.any(|instruction| instruction.opcode.starts_with("setmaxnreg")) {
        return Some(SpillingRule::Setmaxnreg);
    }
    let called = callees(kernel.text);
    if !called.is_empty() {
        // A function that can reach itself cannot be inlined away.
        let recursive = reached.iter().any(|item| {
            item.kind == ItemKind::Function
                && callees(item.text)
                    .iter()
                    .any(|callee| reaches(items, callee, item.name))
        });
        return Some(SpillingRule::Calls {
            functions: called.iter().map(|name| demangle(name)).collect(),
            recursive,
        });
    }
    if attributes.threads().is_none() && !attributes.assume_max_threads {
        let static_bytes: u64 = reached
            .iter()
            .flat_map(|item| &item.shared)
            .map(|(_, bytes)| bytes)
            .sum();
        let bytes = cuda_arch::find(&arch.sm_name()).ok().map(|row| {
            let own = u32::try_from(static_bytes).unwrap_or(u32::MAX);
            cuda_arch::spill_budget_bytes(row, cuda_arch::assumed_threads(row, attributes.max_registers), own)
        });
        return Some(SpillingRule::NoMaxThreads { bytes });
    }
    None
}

fn reaches(items: &[Item<'_>], from: &str, to: &str) -> bool {
    let from = items
        .iter()
        .find(|item| item.kind == ItemKind::Function && item.name == from);
    from.is_some_and(|from| reached(items, from).iter().any(|item| item.name == to))
}

/// The instructions of a PTX text, each with its operands.
fn instructions(text: &str) -> Vec<Instruction> {
    // Line directives are the one thing in a body that no semicolon ends.
    let lines = text.lines().filter(|line| !line.trim_start().starts_with(".loc"));
    let code: String = lines
        .flat_map(|line| [line.split("//").next().unwrap_or_default(), "\n"])
        .collect();
    let words = code.split([';', '{', '}']).map(|statement| {
        // Labels and predicates come before the opcode.
        let words = statement.split_whitespace();
        words
            .skip_while(|word| word.ends_with(':') || word.starts_with('@'))
            .collect::<Vec<_>>()
    });
    words
        .filter_map(|words| {
            let (opcode, operands) = words.split_first()?;
            opcode
                .starts_with(|letter: char| letter.is_ascii_lowercase())
                .then(|| Instruction {
                    opcode: (*opcode).to_owned(),
                    operands: operands.join(" "),
                })
        })
        .collect()
}

struct Instruction {
    /// With its modifiers: `call.uni`.
    opcode: String,
    operands: String,
}

impl Instruction {
    /// The function that a `call` calls; a register stands for a call through a pointer.
    fn callee(&self) -> Option<&str> {
        self.opcode.split('.').next().filter(|name| *name == "call")?;
        // `(retval0), name, (param0)`, each part but the name absent where there is nothing.
        let after = match self.operands.strip_prefix('(') {
            Some(results) => results.split_once(')').map_or("", |(_, after)| after),
            None => &self.operands,
        };
        after.trim_start_matches([',', ' ']).split([',', ' ']).next()
    }
}

/// The functions that a PTX text calls, each once.
fn callees(text: &str) -> Vec<String> {
    let instructions = instructions(text);
    let mut found: Vec<_> = instructions
        .iter()
        .filter_map(|call| Some(call.callee()?.to_owned()))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests;
