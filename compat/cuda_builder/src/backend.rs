//! From bitcode to PTX: link, pass, optimise, generate.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::archive;
use crate::compile::Compiled;
use crate::diagnose;
use crate::error::CudaBuilderError;
use crate::files;
use crate::pass::atomics::{self, ReadModifyWrite};
use crate::pass::null::{self, Hidden};
use crate::pass::{self, Inlining, PassError, tables, wide_shifts};
use crate::ptx;
use crate::spilling;
use crate::toolchain::Toolchain;
use crate::{CudaBuilder, EmitOption};

/// The optimizer's passes, in stages between which the module is edited as text.
///
/// LLVM's own O3 learns too late that an address lies in shared memory: only the code generator looks, after all that
/// could profit from knowing (that a store to shared memory cannot change a value read from global memory; which
/// alignment an access has) is done. So the address spaces are inferred first, on code that is inlined and tidy enough
/// to see through. On an H200 this was worth up to 25 % of the time of a tiled product.
struct Stages {
    /// What makes the code tidy.
    tidy: &'static str,
    /// What follows the first inference of address spaces.
    optimize: &'static str,
}

const OPTIMIZED: Stages = Stages {
    tidy: "internalize,globaldce,always-inline,\
        cgscc(inline,function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>))",
    optimize: "globaldce,default<O3>",
};
/// Without optimization: unreachable code is removed, accesses to shared memory name their space, and no branch depends
/// on a constant. `ptxas` of CUDA 13.0 crashes on such branches for `sm_90` and later where functions call each other
/// in a circle, as `core`'s checks, the panic handler and formatting do.
const UNOPTIMIZED: Stages = Stages {
    tidy: "internalize,globaldce,always-inline,function(sroa)",
    optimize: "function(early-cse,instsimplify,simplifycfg),globaldce",
};
/// What `opt` says of a module from which the inference has lost an operand.
const NULL_OPERAND: &str = "Operand is null";
const INFERENCE: &str = "function(infer-address-spaces)";

/// What the back end made.
#[derive(Debug)]
pub(crate) struct Output {
    /// The PTX.
    pub ptx: String,
    /// The module that the PTX was made of, in the form that was asked for.
    pub intermediate: Option<Vec<u8>>,
}

/// Runs everything after rustc. `scratch` is an empty folder for intermediate files.
pub(crate) fn generate(
    builder: &CudaBuilder,
    crate_path: &Path,
    tools: &Toolchain,
    compiled: &Compiled,
    scratch: &Path,
) -> Result<Output, CudaBuilderError> {
    let linked = link(tools, compiled, scratch)?;
    diagnose::check_linked(&linked)?;
    compile(builder, crate_path, tools, &linked, scratch)
}

/// From one linked module of LLVM IR, as rustc wrote it, to PTX.
fn compile(
    builder: &CudaBuilder,
    crate_path: &Path,
    tools: &Toolchain,
    linked: &str,
    scratch: &Path,
) -> Result<Output, CudaBuilderError> {
    let inlining = match (builder.optix, builder.nvvm_opts) {
        (true, _) => Inlining::Everything,
        (false, true) => Inlining::Asked,
        (false, false) => Inlining::Hinted,
    };
    let options = pass::Options {
        cpu: builder.arch.sm_name(),
        llvm: tools.tools_major,
        flush_denormals: builder.ftz,
        inlining,
    };
    let linked = pass::half::use_instructions(linked);
    let lowered = pass::run(&linked, &options).map_err(|error| match error {
        PassError::SharedInitializers(names) => CudaBuilderError::SharedInitializer {
            statics: names.iter().map(|name| demangle(name)).collect(),
        },
        PassError::NoRoots => CudaBuilderError::NoKernels(crate_path.to_owned()),
        PassError::KernelMarker(name) => CudaBuilderError::KernelMarker(name),
        PassError::WithoutCudaStd(function) => CudaBuilderError::WithoutCudaStd { function },
    })?;
    let version = spilling::ptx_version(builder, &lowered.attributes)?;

    write(&scratch.join(LOWERED_IR), lowered.ir.as_bytes())?;
    write(&scratch.join("roots.txt"), (lowered.roots.join("\n") + "\n").as_bytes())?;
    optimize(builder, version, tools, scratch)?;
    let ptx = lower_to_ptx(builder, version, tools, scratch)?;
    ptx::check_target(&ptx, builder.arch)?;
    diagnose::check_ptx(&ptx, &linked, builder.arch, version)?;
    ptx::check_names(&ptx)?;
    ptx::check_static_shared(&ptx)?;
    let ptx = spilling::write_pragmas(ptx, builder.arch, &lowered.attributes)?;
    diagnose::assemble(&ptx, builder.arch, scratch)?;
    let intermediate = match builder.emit {
        None => None,
        Some(EmitOption::LlvmIr) => Some(read(&scratch.join(OPTIMIZED_IR))?),
        Some(EmitOption::Bitcode) => {
            let mut opt = Command::new(tools.llvm_tool("opt"));
            run(opt
                .current_dir(scratch)
                .args(["-passes=", OPTIMIZED_IR, "-o", "optimized.bc"]))?;
            Some(read(&scratch.join("optimized.bc"))?)
        }
    };
    Ok(Output { ptx, intermediate })
}

/// One module as text: the user's crates whole, and what they need of the standard library.
fn link(tools: &Toolchain, compiled: &Compiled, scratch: &Path) -> Result<String, CudaBuilderError> {
    let members = archive::members(&compiled.archive).ok_or_else(|| CudaBuilderError::ToolFailed {
        tool: "rustc".to_owned(),
        output: "the static library that it wrote cannot be read".to_owned(),
    })?;
    let mut user = Vec::new();
    let mut std = Vec::new();
    for (index, member) in members
        .iter()
        .enumerate()
        .filter(|(_, member)| member.name.ends_with(".o"))
    {
        let file = format!("{index}.bc");
        write(&scratch.join(&file), member.data)?;
        let crate_name = member.name.split('.').next().unwrap_or_default();
        if compiled.std_members.contains(crate_name) {
            &mut std
        } else {
            &mut user
        }
        .push(file);
    }
    // Markers and exported statics of every crate of the user's count, also where nothing refers to them.
    run(Command::new(tools.llvm_tool("llvm-link"))
        .current_dir(scratch)
        .args(&user)
        .args(["-o", "user.bc"]))?;
    // The library's crates need each other in both directions (the compiler's helpers may panic), so each is offered
    // twice.
    run(Command::new(tools.llvm_tool("llvm-link"))
        .current_dir(scratch)
        .args(["-S", "--only-needed", "user.bc"])
        .args(&std)
        .args(&std)
        .args(["-o", "linked.ll"]))?;
    let path = scratch.join("linked.ll");
    fs::read_to_string(&path).map_err(CudaBuilderError::io(path))
}

/// The file that `opt` reads first, and that a diagnosis quotes.
pub(crate) const LOWERED_IR: &str = "lowered.ll";

/// The file that `llc` reads.
pub(crate) const OPTIMIZED_IR: &str = "optimized.ll";

fn optimize(
    builder: &CudaBuilder,
    version: (u32, u32),
    tools: &Toolchain,
    scratch: &Path,
) -> Result<(), CudaBuilderError> {
    let stages = if builder.nvvm_opts { OPTIMIZED } else { UNOPTIMIZED };
    let opt = |passes: &str, input: &str, output: &str| -> Result<String, CudaBuilderError> {
        run(Command::new(tools.llvm_tool("opt"))
            .current_dir(scratch)
            .arg("-S")
            .arg(format!("-passes={passes}"))
            .arg("-internalize-public-api-file=roots.txt")
            // The combiner replaces a local array that is only ever a copy of a constant by the constant itself. Once
            // the address spaces are inferred the array has been cast to local memory, and the cast of the constant
            // that results reads local memory at a wrong address (LLVM 22).
            .arg("-instcombine-max-copied-from-constant-users=0")
            .arg(format!("-mcpu={}", builder.arch.sm_name()))
            .arg(format!("-mattr={}", ptx_feature(version)))
            .args([input, "-o", output]))?;
        let path = scratch.join(output);
        let text = fs::read_to_string(&path).map_err(CudaBuilderError::io(&path))?;
        // A module of many kernels is hundreds of megabytes in each form.
        if !files::keeps() {
            let remove = |path: &Path| fs::remove_file(path).map_err(CudaBuilderError::io(path));
            remove(&path)?;
            if input != LOWERED_IR {
                remove(&scratch.join(input))?;
            }
        }
        Ok(text)
    };
    // The inference must not see a null pointer: see `pass::null`.
    let infer = |ir: &str, name: &str| {
        let hidden = format!("{name}_hidden.ll");
        let infer = |which: Hidden| {
            write(&scratch.join(&hidden), null::hide(ir, which).as_bytes())?;
            opt(INFERENCE, &hidden, &format!("{name}_inferred.ll"))
        };
        match infer(Hidden::Choices) {
            Err(CudaBuilderError::ToolFailed { output, .. }) if output.contains(NULL_OPERAND) => infer(Hidden::Bases),
            inferred => inferred,
        }
    };
    let tidy = opt(stages.tidy, LOWERED_IR, "tidy.ll")?;
    let mut inferred = null::reveal(&infer(&tidy, "tidy")?);
    let full = loop {
        write(&scratch.join("inferred.ll"), inferred.as_bytes())?;
        let full = opt(stages.optimize, "inferred.ll", "full.ll")?;
        let narrow = tables::of_narrow_pointers(&full);
        if narrow.is_empty() {
            break full;
        }
        // Without tables in their functions: see `pass::tables`.
        inferred = tables::forbid(&inferred, &narrow).ok_or_else(|| CudaBuilderError::ToolFailed {
            tool: "opt".to_owned(),
            output: format!(
                "tables of pointers that have 32 bits, which llc writes wrongly: {}",
                narrow.join(", ")
            ),
        })?;
    };
    let inferred = infer(&full, "full")?;
    // The instructions that say their ordering exist from 7.0 on.
    let operations = match tools.tools_major < 23 && builder.arch.cuda_arch() >= 700 {
        true => ReadModifyWrite::Written,
        false => ReadModifyWrite::Kept,
    };
    let looked = match atomics::look_where(&inferred) {
        Some(ir) => {
            write(&scratch.join("atomics.ll"), ir.as_bytes())?;
            opt("always-inline,globaldce", "atomics.ll", "inlined.ll")?
        }
        None => inferred,
    };
    let lowered = wide_shifts::hide_amounts(&atomics::lower(&looked, operations));
    write(&scratch.join(OPTIMIZED_IR), lowered.as_bytes())
}

fn lower_to_ptx(
    builder: &CudaBuilder,
    version: (u32, u32),
    tools: &Toolchain,
    scratch: &Path,
) -> Result<String, CudaBuilderError> {
    let contraction = if builder.fma_contraction { "fast" } else { "off" };
    let mut llc = Command::new(tools.llvm_tool("llc"));
    llc.current_dir(scratch)
        .arg(if builder.nvvm_opts { "-O3" } else { "-O1" })
        .arg(format!("-mcpu={}", builder.arch.sm_name()))
        .arg(format!("-mattr={}", ptx_feature(version)))
        .arg("--nvptx-short-ptr")
        .arg(format!("--nvptx-sched4reg={}", builder.schedule_for_registers))
        .arg(format!("--fp-contract={contraction}"));
    if !builder.fma_contraction {
        llc.arg("--nvptx-fma-level=0");
    }
    if builder.fast_sqrt {
        llc.arg("--nvptx-prec-sqrtf32=0");
    }
    if builder.fast_div {
        llc.arg("--nvptx-prec-divf32=0");
    }
    // Loop strength reduction computes the trip count of a loop over a narrow pointer as `8 + zext(b - a)` where it is
    // `zext(8 + b - a)` (LLVM 22 and 23).
    llc.arg("-disable-lsr");
    if tools.tools_major < 23 {
        // Straight-line strength reduction takes `p - !c` and `p + 2 + !c` for sums with one base (LLVM 22): none of
        // its candidates is rewritten.
        llc.arg("-debug-counter=slsr-counter=999999999");
    }
    run(llc.args([OPTIMIZED_IR, "-o", "out.ptx"]))?;
    let path = scratch.join("out.ptx");
    fs::read_to_string(&path).map_err(CudaBuilderError::io(path))
}

fn ptx_feature((major, minor): (u32, u32)) -> String {
    format!("+ptx{major}{minor}")
}

/// A path as its author wrote it, without the hash and without what LLVM appends to the parts of a split static.
pub(crate) fn demangle(name: &str) -> String {
    let whole = name.split("_$_").next().unwrap_or(name);
    format!("{:#}", rustc_demangle::demangle(whole))
}

fn run(command: &mut Command) -> Result<(), CudaBuilderError> {
    let program = Path::new(command.get_program()).to_owned();
    let output = command.output().map_err(CudaBuilderError::io(&program))?;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        // A tool that is content but has something to say (an architecture that it does not know) must be heard.
        eprint!("{message}");
        return Ok(());
    }
    let tool = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Err(CudaBuilderError::ToolFailed { tool, output: message })
}

fn read(path: &Path) -> Result<Vec<u8>, CudaBuilderError> {
    fs::read(path).map_err(CudaBuilderError::io(path))
}

fn write(path: &Path, data: &[u8]) -> Result<(), CudaBuilderError> {
    fs::write(path, data).map_err(CudaBuilderError::io(path))
}

#[cfg(test)]
#[path = "backend/faults.rs"]
mod faults;
