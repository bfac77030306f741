//! [`CudaBuilder`]: the options, and the order of work.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::arch::NvvmArch;
use crate::backend::{self, Output};
use crate::cache;
use crate::compile::{self, Compiled};
use crate::diagnose;
use crate::error::CudaBuilderError;
use crate::files::{Scratch, write_if_changed};
use crate::layout::{self, Layout};
use crate::toolchain::{self, TOOLCHAIN_VARIABLE, Toolchain};
use crate::upstream::{self, MemorySpace};

/// How much the PTX tells about the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugInfo {
    /// Nothing, unless [`CudaBuilder::generate_line_info`] applies.
    None,
    /// The source line of each instruction (`.loc` directives), for profilers and `compute-sanitizer`. It does not
    /// change the code.
    LineTables,
}

/// An intermediate form to keep beside the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmitOption {
    /// The optimised LLVM IR, as text: `<ptx name>.ll`.
    LlvmIr,
    /// The same as bitcode: `<ptx name>.bc`.
    Bitcode,
}

/// What a panic on the GPU does. Not in the published crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanicStrategy {
    /// A trap, and no message: the launch fails with `CUDA_ERROR_LAUNCH_FAILED` (719).
    Trap,
    /// The driver prints file, line, block, thread and message, and the launch fails with `CUDA_ERROR_ASSERT` (710).
    ///
    /// Costs registers, stack and code in every kernel that can panic. Formatting calls through pointers, so such a
    /// kernel has the stack of `CU_LIMIT_STACK_SIZE`, and `#[kernel(smem_spilling)]` is refused for it.
    Message,
}

/// Compiles a GPU crate to PTX, usually in a build script.
///
/// ```no_run
/// use cuda_builder::{CudaBuilder, NvvmArch};
///
/// let ptx = CudaBuilder::new("../kernels")
///     .arch(NvvmArch::Compute75)
///     .copy_to("kernels.ptx")
///     .build()?;
/// # Ok::<(), cuda_builder::CudaBuilderError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    /// Whether to compile with cargo's release profile. `true` at the start.
    pub release: bool,
    /// Refused when `true`: current GPUs and drivers have no 32-bit mode.
    pub nvptx_32: bool,
    /// Where the PTX is copied to.
    pub ptx_file_copy_path: Option<PathBuf>,
    /// Whether builds without `release` get line information. `true` at the start.
    pub generate_line_info: bool,
    /// Whether the module is optimised. `true` at the start; [`release`](Self::release) sets it too.
    pub nvvm_opts: bool,
    /// The architecture. `Compute61` at the start.
    pub arch: NvvmArch,
    /// Whether f32 operations take denormal inputs for zero and give zero for denormal results.
    pub ftz: bool,
    /// Whether f32 square roots are approximate (`sqrt.approx`).
    pub fast_sqrt: bool,
    /// Whether f32 divisions are approximate (`div.approx`).
    pub fast_div: bool,
    /// Whether a multiplication and an addition may become one `fma`. `true` at the start.
    pub fma_contraction: bool,
    /// Which intermediate form is kept.
    pub emit: Option<EmitOption>,
    /// Whether the code is for the OptiX ray-tracing library.
    pub optix: bool,
    /// Without effect. `false` at the start, unlike the published crate.
    pub override_libm: bool,
    /// How much the PTX tells about the source.
    pub debug: DebugInfo,
    /// Whether LLVM orders instructions for few registers. `false` at the start. Not in the published crate.
    pub schedule_for_registers: bool,
    /// What a panic does; `None` is [`PanicStrategy::Trap`] with `release`, and else [`PanicStrategy::Message`].
    pub panic: Option<PanicStrategy>,
    /// More arguments for cargo.
    pub build_args: Vec<String>,
    /// The PTX version as (major, minor); `None` takes [`NvvmArch::ptx_version`].
    pub ptx_version: Option<(u32, u32)>,
    /// Where the optimised LLVM IR is written to, whatever [`emit`](Self::emit) says.
    pub final_module_path: Option<PathBuf>,
    /// Without effect; see [`use_constant_memory_space`](Self::use_constant_memory_space).
    pub use_constant_memory_space: bool,
    /// Without effect; see [`place_static`](Self::place_static).
    pub static_memory_overrides: Vec<(String, MemorySpace)>,
    /// Without effect; see [`crate_memory_space`](Self::crate_memory_space).
    pub crate_memory_overrides: Vec<(String, MemorySpace)>,
}

impl CudaBuilder {
    /// A builder for the crate whose `Cargo.toml` lies in the folder `path_to_crate_root`.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate_root.as_ref().to_owned(),
            release: true,
            nvptx_32: false,
            ptx_file_copy_path: None,
            generate_line_info: true,
            nvvm_opts: true,
            arch: NvvmArch::Compute61,
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: true,
            emit: None,
            optix: false,
            override_libm: false,
            debug: DebugInfo::None,
            schedule_for_registers: false,
            panic: None,
            build_args: Vec::new(),
            ptx_version: None,
            final_module_path: None,
            use_constant_memory_space: false,
            static_memory_overrides: Vec::new(),
            crate_memory_overrides: Vec::new(),
        }
    }

    /// Adds arguments for cargo, such as `--features`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args
            .extend(args.iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// How much the PTX tells about the source.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Whether to use cargo's release profile; sets [`nvvm_opts`](Self::nvvm_opts) to the same.
    ///
    /// Without it, the dev profile's overflow checks are compiled in, and a panic tells its
    /// [message](PanicStrategy::Message).
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self.nvvm_opts = release;
        self
    }

    /// What a panic does: by default a trap, and without [`release`](Self::release) a message. Not in the published
    /// crate.
    pub fn panic(mut self, panic: PanicStrategy) -> Self {
        self.panic = Some(panic);
        self
    }

    /// Published for 32-bit PTX; [`build`](Self::build) refuses `true`.
    pub fn nvptx_32(mut self, nvptx_32: bool) -> Self {
        self.nvptx_32 = nvptx_32;
        self
    }

    /// Whether builds without [`release`](Self::release) get line information.
    pub fn generate_line_info(mut self, generate_line_info: bool) -> Self {
        self.generate_line_info = generate_line_info;
        self
    }

    /// Whether to optimise. Without it, functions stay recognisable; shared memory is still accessed as such.
    pub fn nvvm_opts(mut self, nvvm_opts: bool) -> Self {
        self.nvvm_opts = nvvm_opts;
        self
    }

    /// The oldest architecture that the PTX shall run on.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Flush f32 denormals to zero.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// Approximate f32 square roots: at most 1 unit in the last place off.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.fast_sqrt = fast_sqrt;
        self
    }

    /// Approximate f32 division: at most 2 units in the last place off for divisors of magnitude 2^-126 to 2^126.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.fast_div = fast_div;
        self
    }

    /// Whether a multiplication and an addition may become one `fma`, which rounds once.
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.fma_contraction = fma_contraction;
        self
    }

    /// Keep the optimised LLVM IR beside the PTX, with the ending `.ll`.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Keep the optimised LLVM bitcode beside the PTX, with the ending `.bc`.
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// Copy the finished PTX to `path`.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// Compile for OptiX: every function is inlined into its kernel and `cfg(optix)` is set.
    pub fn optix(mut self, optix: bool) -> Self {
        self.optix = optix;
        self
    }

    /// Published for replacing the `libm` crate by NVIDIA's libdevice, which no stock toolchain has: `libm` stays,
    /// slower and no less accurate.
    pub fn override_libm(mut self, override_libm: bool) -> Self {
        self.override_libm = override_libm;
        self
    }

    /// Write PTX of this version instead of the lowest one that suits the architecture. Not in the published crate.
    ///
    /// A newer version has more instructions and directives, and needs a newer driver. A kernel with
    /// `#[kernel(smem_spilling)]` makes the lowest version of its module 8.7.
    pub fn ptx_version(mut self, major: u32, minor: u32) -> Self {
        self.ptx_version = Some((major, minor));
        self
    }

    /// Let LLVM order instructions for few live registers rather than for latency. Not in the published crate.
    ///
    /// `ptxas` schedules again, but keeps the extent of much that it is given: kernels at their cap of registers may
    /// spill in one order and not in the other. Which is faster is to be measured.
    pub fn schedule_for_registers(mut self, schedule_for_registers: bool) -> Self {
        self.schedule_for_registers = schedule_for_registers;
        self
    }

    /// Compiles the crate and gives the path of the PTX: that of [`copy_to`](Self::copy_to), or one in the target
    /// folder.
    ///
    /// Run in a build script, it tells cargo which files to watch.
    ///
    /// # Errors
    /// [`CudaBuilderError`], whose text names the remedy. The PTX file is then left as it was.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        self.refuse()?;
        if !self.path_to_crate.join("Cargo.toml").is_file() {
            return Err(CudaBuilderError::CratePathDoesntExist(self.path_to_crate));
        }
        let crate_path = self
            .path_to_crate
            .canonicalize()
            .map_err(CudaBuilderError::io(&self.path_to_crate))?;
        let tools = toolchain::find(&crate_path)?;
        let layout = layout::read(&self, &crate_path, &tools)?;
        let compiled = compile::compile(&self, &crate_path, &tools, &layout)?;
        let entry = cache::Entry::of(&self, &tools, &layout.target, &compiled);
        let output = match entry.as_ref().and_then(cache::Entry::read) {
            Some(ptx) => Output {
                ptx,
                intermediate: None,
            },
            None => {
                let output = self.generate(&crate_path, &tools, &compiled)?;
                entry.inspect(|entry| entry.write(&output.ptx));
                output
            }
        };
        let path = self.publish(&layout, &compiled, &output)?;
        if env::var_os("OUT_DIR").is_some() {
            watch(&compiled, &layout, &tools);
        }
        Ok(path)
    }

    /// From bitcode to PTX.
    fn generate(&self, crate_path: &Path, tools: &Toolchain, compiled: &Compiled) -> Result<Output, CudaBuilderError> {
        let scratch = Scratch::new()?;
        let output = backend::generate(self, crate_path, tools, compiled, scratch.path())
            .map_err(|error| diagnose::explain(error, crate_path, tools, compiled, scratch.path()))?;
        if let Some(path) = &self.final_module_path {
            upstream::write_module(scratch.path(), path)?;
        }
        Ok(output)
    }

    /// The options without those that do not change the PTX of given bitcode.
    pub(crate) fn that_changes_ptx(&self) -> Self {
        Self {
            path_to_crate: PathBuf::new(),
            ptx_file_copy_path: None,
            build_args: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether `.loc` directives are written.
    pub(crate) fn wants_line_info(&self) -> bool {
        self.debug == DebugInfo::LineTables || (self.generate_line_info && !self.release)
    }

    /// What a panic does in this build.
    pub(crate) fn panic_strategy(&self) -> PanicStrategy {
        let by_profile = match self.release {
            true => PanicStrategy::Trap,
            false => PanicStrategy::Message,
        };
        self.panic.unwrap_or(by_profile)
    }

    fn refuse(&self) -> Result<(), CudaBuilderError> {
        if self.nvptx_32 {
            return Err(CudaBuilderError::OptionRefused {
                option: "nvptx_32(true)",
                remedy: "current drivers load 64-bit PTX only; leave the option out",
            });
        }
        Ok(())
    }

    /// Writes the PTX, and the intermediate form that was asked for, to where the user expects them.
    fn publish(&self, layout: &Layout, compiled: &Compiled, output: &Output) -> Result<PathBuf, CudaBuilderError> {
        let path = match &self.ptx_file_copy_path {
            Some(path) => path.clone(),
            None => {
                let profile = if self.release { "release" } else { "debug" };
                // The options stand in the path, so that builds with different ones do not replace each other.
                let folder = layout.target.join("ptx").join(profile).join(self.variant());
                fs::create_dir_all(&folder).map_err(CudaBuilderError::io(&folder))?;
                folder.join(format!("{}.ptx", compiled.name))
            }
        };
        write_if_changed(&path, output.ptx.as_bytes()).map_err(|error| {
            // The error of a temporary file names that file.
            let message = format!("{}: {}", path.display(), io::Error::from(error.kind()));
            CudaBuilderError::FailedToCopyPtxFile(io::Error::new(error.kind(), message))
        })?;
        if let Some(bytes) = &output.intermediate {
            let kept = path.with_extension(if self.emit == Some(EmitOption::LlvmIr) {
                "ll"
            } else {
                "bc"
            });
            write_if_changed(&kept, bytes).map_err(CudaBuilderError::io(&kept))?;
        }
        Ok(path)
    }

    /// A folder name for the options that change the PTX: `sm_90a`, `sm_80-ftz-fast_div`.
    fn variant(&self) -> String {
        let mut name = self.arch.sm_name();
        let switches = [
            (!self.nvvm_opts, "unoptimised"),
            (self.ftz, "ftz"),
            (self.fast_sqrt, "fast_sqrt"),
            (self.fast_div, "fast_div"),
            (!self.fma_contraction, "no_fma"),
            (self.wants_line_info(), "lines"),
            (self.optix, "optix"),
            (self.schedule_for_registers, "few_registers"),
            (self.panic_strategy() == PanicStrategy::Message, "panic_message"),
        ];
        for (_, word) in switches.iter().filter(|(set, _)| *set) {
            name.push('-');
            name.push_str(word);
        }
        if let Some((major, minor)) = self.ptx_version {
            name.push_str(&format!("-ptx{major}{minor}"));
        }
        name
    }
}

/// Tells cargo when the build script must run again: after a change in any file that went into the PTX.
fn watch(compiled: &Compiled, layout: &Layout, tools: &Toolchain) {
    let mut files = compiled.sources.clone();
    files.extend(layout.local_packages.iter().map(|package| package.join("Cargo.toml")));
    files.push(layout.workspace.join("Cargo.toml"));
    files.push(layout.workspace.join("Cargo.lock"));
    // Another compiler of the same name.
    files.push(tools.rustc.clone());
    files.sort();
    files.dedup();
    for file in files.iter().filter(|file| file.exists()) {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    println!("cargo:rerun-if-env-changed={TOOLCHAIN_VARIABLE}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_defaults() {
        let builder = CudaBuilder::new("x");
        assert!(builder.release && builder.nvvm_opts && builder.generate_line_info && builder.fma_contraction);
        assert!(!builder.nvptx_32 && !builder.ftz && !builder.fast_sqrt && !builder.fast_div && !builder.optix);
        assert_eq!(
            (builder.arch, builder.debug, builder.emit),
            (NvvmArch::Compute61, DebugInfo::None, None)
        );
        assert!(!CudaBuilder::new("x").release(false).nvvm_opts);
        assert!(CudaBuilder::new("x").release(false).wants_line_info());
        assert!(!builder.wants_line_info());
        assert_eq!(builder.panic_strategy(), PanicStrategy::Trap);
        let dev = CudaBuilder::new("x").release(false);
        assert_eq!(dev.panic_strategy(), PanicStrategy::Message);
        assert_eq!(dev.panic(PanicStrategy::Trap).panic_strategy(), PanicStrategy::Trap);
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let message = CudaBuilder::new("x").nvptx_32(true).build().unwrap_err().to_string();
        assert!(
            message.contains("is refused") && message.contains("leave the option out"),
            "{message}"
        );
    }

    #[test]
    fn absent_crate_is_named() {
        let error = CudaBuilder::new("/nonexistent/crate").build().unwrap_err();
        assert!(
            matches!(&error, CudaBuilderError::CratePathDoesntExist(path) if path.ends_with("crate")),
            "{error}"
        );
    }
}
