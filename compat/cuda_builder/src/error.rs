//! What can go wrong, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::arch::UnknownArch;
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
            Self::CratePathDoesntExist(path) => write!(f, "there is no crate at {}", path.display()),
            Self::FailedToCopyPtxFile(error) => write!(f, "the PTX file could not be copied: {error}"),
            Self::BuildFailed => write!(f, "the GPU crate does not compile; see rustc's messages above"),
            Self::MissingToolchain(missing) => missing.fmt(f),
            Self::OptionRefused { option, remedy } => write!(f, "CudaBuilder::{option} is refused: {remedy}"),
            Self::UnknownArch(unknown) => unknown.fmt(f),
            Self::ArchUnsupportedByLlvm { arch, detail } => {
                write!(
                    f,
                    "this toolchain's LLVM cannot compile for {arch} ({detail}); use a newer toolchain or an older architecture"
                )
            }
            Self::SharedInitializer { statics } => write!(
                f,
                "shared memory has no initial value on a GPU, but {} not zero at the start: {}; \
                 declare it as MaybeUninit::uninit() (or zero) and store the value in the kernel, followed by a barrier",
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
