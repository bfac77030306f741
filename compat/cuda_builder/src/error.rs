//! What can go wrong, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::arch::UnknownArch;
use crate::diagnose::Diagnosis;
use crate::toolchain::MissingToolchain;

/// Why a GPU crate did not become PTX.
///
/// The text of each error names the remedy where there is one. `{:?}` shows the same text, because that is what a build
/// script's `unwrap` prints.
#[non_exhaustive]
pub enum CudaBuilderError {
    /// There is no crate (no `Cargo.toml`) at this path.
    CratePathDoesntExist(PathBuf),
    /// The PTX was made but could not be written to the place that `copy_to` names.
    FailedToCopyPtxFile(io::Error),
    /// The crate does not compile; rustc's own messages were printed.
    BuildFailed,
    /// No complete toolchain was found.
    MissingToolchain(MissingToolchain),
    /// An option of the published crate that this one cannot honour.
    OptionRefused {
        /// The option as it was set, such as `override_libm(true)`.
        option: &'static str,
        /// Why it is refused and what to do instead.
        remedy: &'static str,
    },
    /// A name that is no architecture.
    UnknownArch(UnknownArch),
    /// The architecture is known here, but the toolchain's LLVM is too old for it.
    ArchUnsupportedByLlvm {
        /// The architecture, such as `sm_121f`.
        arch: String,
        /// What the tool said or did.
        detail: String,
    },
    /// Statics in shared memory have an initial value that is not zero.
    SharedInitializer {
        /// The paths of the statics.
        statics: Vec<String>,
    },
    /// A kernel's static shared memory is larger than any GPU allows without asking at launch.
    StaticSharedTooLarge {
        /// The kernel.
        kernel: String,
        /// What its statics need (bytes).
        bytes: u64,
        /// What is allowed (bytes).
        limit: u64,
        /// The statics with their sizes (bytes), largest first.
        statics: Vec<(String, u64)>,
    },
    /// The crate holds no kernel.
    NoKernels(PathBuf),
    /// A name that PTX cannot hold.
    NameNotAllowed(String),
    /// The mark that the options of a `#[kernel(..)]` leave cannot be read, or there is no such kernel.
    KernelMarker(String),
    /// An operation of the crate becomes a call of `cuda_std`, which is not among its dependencies.
    WithoutCudaStd {
        /// The function of `cuda_std`.
        function: String,
    },
    /// `#[kernel(cluster = ..)]` for an architecture without clusters.
    ClusterUnsupported {
        /// The kernel.
        kernel: String,
        /// The architecture, such as `sm_80`.
        arch: String,
    },
    /// `#[kernel(smem_spilling)]` where registers cannot be spilled into shared memory.
    SpillingRefused {
        /// The kernel.
        kernel: String,
        /// Why not.
        rule: SpillingRule,
    },
    /// What a GPU or PTX does not allow, or the build cannot use: with the items, the reason and the remedy.
    Diagnosed(Diagnosis),
    /// A tool of the pipeline failed.
    ToolFailed {
        /// The tool, such as `llc`.
        tool: String,
        /// What it printed.
        output: String,
    },
    /// A file could not be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Which rule a kernel with `#[kernel(smem_spilling)]` breaks.
///
/// All but the last are those of the PTX ISA 9.0, section "Pragma Strings: enable_smem_spilling" (12.3). What `ptxas`
/// 13.0.88 itself says about each was tried: it refuses dynamic shared memory, device-debug and separate compilation,
/// recursion and an old PTX version, and accepts `setmaxnreg` in silence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpillingRule {
    /// "Requires sm_75 or higher"; this is the architecture.
    Architecture(String),
    /// The PTX version that was asked for is older than the pragma.
    PtxVersion((u32, u32)),
    /// Per-function compilation modes are disallowed, device-debug among them: the build is one of cargo's dev profile,
    /// or has full debug information.
    DebugBuild,
    /// "Kernels utilizing dynamically allocated shared memory" are disallowed.
    DynamicShared,
    /// "Kernels using setmaxnreg instruction" are disallowed.
    Setmaxnreg,
    /// The kernel calls functions that were not inlined: per-function compilation, and "whole program with recursive
    /// function calls", are disallowed.
    Calls {
        /// The functions; one that starts with `%` is called through a pointer.
        functions: Vec<String>,
        /// Whether a function that the kernel reaches can reach itself.
        recursive: bool,
    },
    /// Nothing says how many threads a block has: `ptxas` would provide for as many as an SM has registers for.
    NoMaxThreads {
        /// What it would take of each block's shared memory at most (bytes), where the architecture's row is known.
        bytes: Option<u32>,
    },
}

impl fmt::Display for SpillingRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Architecture(arch) => write!(
                f,
                "it \"requires sm_75 or higher\", and this is {arch}; build for a newer architecture, or leave the \
                 option out for this one"
            ),
            Self::PtxVersion((major, minor)) => write!(
                f,
                "it needs PTX 8.7, and ptx_version asks for {major}.{minor}; leave ptx_version out, or ask for 8.7 or \
                 later"
            ),
            Self::DebugBuild => write!(
                f,
                "it is disallowed in \"per-function compilation mode\", of which \"device-debug\" is one, and this is \
                 a debug build; build with release(true) and without full debug information"
            ),
            Self::DynamicShared => write!(
                f,
                "it is disallowed for \"kernels utilizing dynamically allocated shared memory\"; make the memory \
                 static (shared_array!), or leave the option out"
            ),
            Self::Setmaxnreg => write!(
                f,
                "it is disallowed for \"kernels using setmaxnreg instruction\" (ptxas would not say so); use one of \
                 the two"
            ),
            Self::Calls { functions, recursive } => {
                let (rule, remedy) = match recursive {
                    true => (
                        "\"whole program with recursive function calls\"",
                        "make the recursion a loop",
                    ),
                    false => (
                        "\"per-function compilation mode\"",
                        "let them be inlined: #[inline(always)], no function pointers, no printing",
                    ),
                };
                write!(
                    f,
                    "it is disallowed in {rule}, and the kernel still calls {}; {remedy}",
                    functions.join(", ")
                )
            }
            Self::NoMaxThreads { bytes } => {
                write!(
                    f,
                    "\"if launch bounds are not explicitly specified\", ptxas assumes as many threads per block as an \
                     SM has registers for and may take "
                )?;
                match bytes {
                    Some(bytes) => write!(f, "{bytes} bytes")?,
                    None => write!(f, "up to 48 KiB")?,
                }
                write!(
                    f,
                    " of shared memory of each block, however small; write max_threads = .. beside it, or \
                     assume_max_threads if that is intended"
                )
            }
        }
    }
}

impl CudaBuilderError {
    /// For `map_err` on file operations.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

impl fmt::Debug for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CratePathDoesntExist(path) => write!(
                f,
                "there is no crate at {}; give CudaBuilder::new the folder of its Cargo.toml, relative to the package \
                 of the build script",
                path.display()
            ),
            Self::FailedToCopyPtxFile(error) => write!(
                f,
                "the PTX file could not be copied to {error}; copy_to must name a file in a folder that exists and can \
                 be written"
            ),
            Self::BuildFailed => write!(
                f,
                "the GPU crate does not compile; see the messages of cargo and rustc above"
            ),
            Self::MissingToolchain(missing) => missing.fmt(f),
            Self::OptionRefused { option, remedy } => write!(f, "CudaBuilder::{option} is refused: {remedy}"),
            Self::UnknownArch(unknown) => unknown.fmt(f),
            Self::ArchUnsupportedByLlvm { arch, detail } => {
                write!(
                    f,
                    "this toolchain's LLVM cannot compile for {arch} ({detail}); use a newer toolchain or an older \
                     architecture"
                )
            }
            Self::SharedInitializer { statics } => write!(
                f,
                "shared memory has no initial value on a GPU, but {} not zero at the start: {}; \
                 declare it as MaybeUninit::uninit() (or zero) and store the value in the kernel, followed by a \
                 barrier",
                if statics.len() == 1 {
                    "this static is"
                } else {
                    "these statics are"
                },
                statics.join(", ")
            ),
            Self::StaticSharedTooLarge {
                kernel,
                bytes,
                limit,
                statics,
            } => {
                write!(
                    f,
                    "kernel `{kernel}` has {bytes} bytes of static shared memory, the limit is {limit} bytes ("
                )?;
                for (index, (name, size)) in statics.iter().enumerate() {
                    write!(f, "{}{name}: {size}", if index == 0 { "" } else { ", " })?;
                }
                write!(
                    f,
                    "); more is possible only as dynamic shared memory, given at the launch"
                )
            }
            Self::NoKernels(path) => write!(
                f,
                "the crate at {} has no kernel; mark a function with #[cuda_std::kernel], or #[externally_visible]",
                path.display()
            ),
            Self::NameNotAllowed(name) => {
                write!(
                    f,
                    "`{name}` cannot be a name in PTX: it holds a character other than letters, digits, `_` and `$`"
                )
            }
            Self::KernelMarker(name) => write!(
                f,
                "the options of the kernel that `{name}` stands for cannot be read; are cuda_std_macros and \
                 cuda_builder of one version?"
            ),
            Self::WithoutCudaStd { function } => {
                let operation = match function.starts_with("cuda_std_frem") {
                    true => "the remainder `%` of floats",
                    false => "a cast between a float and a 128-bit integer",
                };
                write!(
                    f,
                    "the crate uses {operation}, which is a function of cuda_std on a GPU (`{function}`); \
                     add cuda_std to its dependencies and `use cuda_std as _;` to its root"
                )
            }
            Self::ClusterUnsupported { kernel, arch } => write!(
                f,
                "kernel `{kernel}`: {arch} has no clusters of blocks, sm_90 is the first that has; leave `cluster` out \
                 for this architecture"
            ),
            Self::SpillingRefused { kernel, rule } => {
                write!(
                    f,
                    "kernel `{kernel}` must not have smem_spilling (PTX ISA 12.3, enable_smem_spilling): {rule}"
                )
            }
            Self::Diagnosed(diagnosis) => diagnosis.fmt(f),
            Self::ToolFailed { tool, output } => write!(f, "{tool} failed:\n{output}"),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for CudaBuilderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::FailedToCopyPtxFile(source) | Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<UnknownArch> for CudaBuilderError {
    fn from(unknown: UnknownArch) -> Self {
        Self::UnknownArch(unknown)
    }
}

impl From<MissingToolchain> for CudaBuilderError {
    fn from(missing: MissingToolchain) -> Self {
        Self::MissingToolchain(missing)
    }
}
