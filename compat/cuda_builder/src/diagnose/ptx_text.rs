//! What the finished PTX would be refused for: by `ptxas`, or by the driver when the module is loaded.

use std::collections::BTreeSet;

use super::linked::{no_intrinsic, users};
use super::{Diagnosis, asm};
use crate::arch::NvvmArch;
use crate::error::CudaBuilderError;
use crate::ptx::{Item, ItemKind, items, names};

/// The functions that a GPU brings along.
const SYSTEM_FUNCTIONS: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];
/// The most constant memory of a module (bytes): PTX ISA 5.1.3, "Constant State Space".
const CONSTANT_LIMIT: u64 = 64 * 1024;
/// The most parameters of a kernel (bytes) everywhere, and from sm_70 and PTX 8.1 on: PTX ISA 5.1.6.1, "Kernel
/// Function Parameters".
const PARAMETER_LIMIT: u64 = 4352;
const LARGE_PARAMETER_LIMIT: u64 = 32_764;

/// Checks a module. `linked` is the IR as rustc made it.
pub(crate) fn check(ptx: &str, linked: &str, arch: NvvmArch, version: (u32, u32)) -> Result<(), CudaBuilderError> {
    let items = items(ptx);
    check_externs(ptx, linked)?;
    check_constants(&items)?;
    check_shared_addresses(&items)?;
    check_atomics(&items)?;
    for kernel in items.iter().filter(|item| item.kind == ItemKind::Kernel) {
        check_parameters(kernel, arch, version)?;
    }
    check_assembly(ptx, &items, arch, version)
}

/// Nothing is linked to the PTX: what it does not define must be part of the GPU's system.
fn check_externs(ptx: &str, linked: &str) -> Result<(), Diagnosis> {
    for line in ptx.lines().filter(|line| line.starts_with(".extern ")) {
        let (kind, symbol) = match line.split_once(".func ") {
            Some((_, rest)) => {
                let rest = rest.trim();
                let rest = rest
                    .strip_prefix('(')
                    .map_or(rest, |rest| rest.split_once(')').map_or("", |(_, name)| name));
                ("function", rest.split('(').next().unwrap_or_default().trim())
            }
            // The memory that a launch asks for has no definition either.
            None if line.starts_with(".extern .shared ") => continue,
            None => {
                let name = line.split_whitespace().last().unwrap_or_default();
                ("static", name.split(['[', ';']).next().unwrap_or_default())
            }
        };
        if SYSTEM_FUNCTIONS.contains(&symbol) {
            continue;
        }
        if symbol.starts_with("llvm.") {
            return Err(no_intrinsic(linked, symbol));
        }
        let users = users(linked, symbol);
        let remedy = match kind {
            "function" => {
                "write the function in Rust, or use a `no_std` crate or cuda_std (GpuFloat, println!, assert_eq!) for \
                 what it does; the only extern functions on a GPU are `vprintf`, `__assertfail`, `malloc` and `free`"
            }
            _ => {
                "define the static in Rust (`#[unsafe(no_mangle)] static mut`): the host then finds it by its name and \
                 writes it"
            }
        };
        return Err(Diagnosis::new(
            users.direct.into_iter().chain(users.kernels),
            format!(
                "the extern {kind} `{symbol}` is used, and no crate of this build defines it; no C library is linked \
                 for a GPU"
            ),
            remedy,
        ));
    }
    Ok(())
}

fn check_constants(items: &[Item<'_>]) -> Result<(), Diagnosis> {
    let size = |item: &Item<'_>| variable_size(item.text);
    let mut constants: Vec<_> = items.iter().filter(|item| in_space(item, ".const")).collect();
    let bytes: u64 = constants.iter().map(|item| size(item)).sum();
    if bytes <= CONSTANT_LIMIT {
        return Ok(());
    }
    constants.sort_by_key(|item| (std::cmp::Reverse(size(item)), item.name));
    let list: Vec<String> = constants.iter().map(|item| size(item).to_string()).collect();
    Err(Diagnosis::new(
        constants.iter().map(|item| item.name),
        format!(
            "statics in constant memory take {bytes} bytes ({}), and a module has {CONSTANT_LIMIT}",
            list.join(" + ")
        ),
        "leave #[address_space(constant)] out for the largest: reads of an immutable static in global memory are \
         cached too",
    ))
}

/// The bytes of shared memory have a place of their own in each block: no address of theirs is known before the
/// launch.
fn check_shared_addresses(items: &[Item<'_>]) -> Result<(), Diagnosis> {
    // LLVM puts a variable that one function uses into its body.
    let shared: BTreeSet<&str> = items
        .iter()
        .flat_map(|item| &item.shared)
        .map(|(name, _)| *name)
        .collect();
    for item in items.iter().filter(|item| item.kind == ItemKind::Variable) {
        let value = item.text.split_once('=').map_or("", |(_, value)| value);
        if let Some(name) = names(value).find(|name| shared.contains(name)) {
            return Err(Diagnosis::new(
                [item.name, name],
                "a static holds the address of a static in shared memory, and each block has its shared memory at an \
                 address of its own",
                "take the address in the kernel (`&raw mut TILE`) and pass it as an argument",
            ));
        }
    }
    Ok(())
}

/// LLVM writes some atomics on local variables as it found them, and `atom` has no local form.
fn check_atomics(items: &[Item<'_>]) -> Result<(), Diagnosis> {
    let on_local = |line: &str| {
        let opcode = line
            .split_whitespace()
            .find(|word| word.starts_with("atom.") || word.starts_with("red."));
        opcode.is_some_and(|opcode| opcode.split('.').any(|word| word == "local"))
    };
    match items.iter().find(|item| item.text.lines().any(on_local)) {
        Some(item) => Err(Diagnosis::new(
            [item.name],
            "an atomic operation works on a local variable, and a GPU has atomics on global and shared memory only",
            "use a plain variable or a Cell: no other thread can reach a local variable",
        )),
        None => Ok(()),
    }
}

fn check_parameters(kernel: &Item<'_>, arch: NvvmArch, version: (u32, u32)) -> Result<(), Diagnosis> {
    let large = arch.capability() >= (7, 0);
    let limit = if large && version >= (8, 1) {
        LARGE_PARAMETER_LIMIT
    } else {
        PARAMETER_LIMIT
    };
    let head = kernel.text.split("\n{").next().unwrap_or_default();
    let parameters = head.lines().filter(|line| line.trim_start().starts_with(".param "));
    let bytes: u64 = parameters.fold(0, |offset: u64, line| {
        let size = variable_size(line);
        let align = line
            .split_once(".align ")
            .filter(|_| line.contains('['))
            .and_then(|(_, rest)| {
                let number: Option<u64> = rest.split_whitespace().next()?.parse().ok();
                number
            });
        offset.next_multiple_of(align.unwrap_or(size).max(1)) + size
    });
    if bytes <= limit {
        return Ok(());
    }
    let mut remedy =
        "pass a pointer to the data in global memory, or put it into a static with #[address_space(constant)]"
            .to_owned();
    if large && bytes <= LARGE_PARAMETER_LIMIT {
        remedy = format!(
            "call CudaBuilder::ptx_version(8, 1), which allows {LARGE_PARAMETER_LIMIT} bytes (drivers from CUDA 12.1 \
             on), or {remedy}"
        );
    }
    let (major, minor) = version;
    Err(Diagnosis::new(
        [kernel.name],
        format!(
            "the parameters of a kernel take {bytes} bytes, and {} with PTX {major}.{minor} allows {limit}",
            arch.sm_name()
        ),
        remedy,
    ))
}

fn check_assembly(ptx: &str, items: &[Item<'_>], arch: NvvmArch, version: (u32, u32)) -> Result<(), CudaBuilderError> {
    let module = asm::Module { ptx, arch, version };
    for item in items {
        if let Err(fault) = asm::check(item, &module) {
            let reason = format!("inline assembly is wrong at `{}`: {}", fault.statement, fault.reason);
            let diagnosis = Diagnosis::new([item.name], reason, fault.remedy);
            // Inlined code stands in its kernel: who wrote it, the sources tell.
            return Err(diagnosis.written_as("asm!", fault.sought).into());
        }
    }
    Ok(())
}

fn in_space(item: &Item<'_>, space: &str) -> bool {
    item.kind == ItemKind::Variable && item.text.split_whitespace().take(2).any(|word| word == space)
}

/// The bytes of `.const .align 4 .b8 X[16] = {..};` or `.param .u64 .ptr .align 1 p`.
fn variable_size(line: &str) -> u64 {
    let head = line.split('=').next().unwrap_or_default();
    let bits = head.split_whitespace().find_map(|word| {
        let bits = word.strip_prefix('.')?.strip_prefix(['b', 'u', 's', 'f'])?;
        bits.parse::<u64>().ok()
    });
    let count = head
        .split_once('[')
        .and_then(|(_, rest)| rest.split(']').next()?.parse().ok());
    bits.unwrap_or(8) / 8 * count.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(ptx: &str, version: (u32, u32)) -> String {
        check(ptx, "", NvvmArch::Compute80, version).unwrap_err().to_string()
    }

    #[test]
    fn what_a_gpu_brings_along_may_be_extern() {
        let ptx = ".extern .func  (.param .b32 func_retval0) vprintf\n(\n)\n;\n.extern .shared .align 16 .b8 smem[];\n";
        check(ptx, "", NvvmArch::Compute80, (7, 8)).unwrap();
        let function = ".extern .func  (.param .b32 func_retval0) getpid\n(\n)\n;\n";
        assert!(refusal(function, (7, 8)).contains("extern function `getpid`"));
        assert!(refusal(".extern .func stop()\n;\n", (7, 8)).contains("`stop`"));
        assert!(refusal(".extern .global .align 4 .b8 ERRNO[4];\n", (7, 8)).contains("extern static `ERRNO`"));
    }

    #[test]
    fn parameters_are_counted_with_their_alignment() {
        let head =
            ".visible .entry k(\n\t.param .u32 k_param_0,\n\t.param .align 8 .b8 k_param_1[4344]\n)\n{\n\tret;\n}\n";
        check(head, "", NvvmArch::Compute80, (7, 8)).unwrap();
        let larger = head.replace("4344", "4345");
        assert!(refusal(&larger, (7, 8)).contains("take 4353 bytes"));
        check(&larger, "", NvvmArch::Compute80, (8, 1)).unwrap();
    }

    #[test]
    fn atomics_on_local_memory_are_refused() {
        let ptx = ".visible .entry k(\n)\n{\n\tatom.relaxed.sys.local.cas.b32 %r6, [%r5], 3, %r2;\n}\n";
        assert!(refusal(ptx, (7, 8)).contains("local variable"));
        check(&ptx.replace("local", "shared"), "", NvvmArch::Compute80, (7, 8)).unwrap();
    }

    #[test]
    fn constants_and_shared_addresses() {
        let constants = ".const .align 4 .b8 A[65000];\n.const .align 4 .b8 B[537] = {1};\n";
        assert!(refusal(constants, (7, 8)).contains("65537 bytes (65000 + 537)"));
        check(&constants.replace("537", "536"), "", NvvmArch::Compute80, (7, 8)).unwrap();
        let shared = ".shared .align 4 .b8 T[4];\n.global .align 8 .u64 P[1] = {generic(T)};\n";
        assert!(refusal(shared, (7, 8)).contains("address of its own"));
    }
}
