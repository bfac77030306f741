//! The subject: the same programs through `cuda_builder` to PTX.

use std::path::{Path, PathBuf};
use std::{env, fs};

use cuda_builder::{CudaBuilder, NvvmArch};

use crate::error::{Error, io};
use crate::generator::Program;
use crate::source;

/// How much the device build optimizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimization {
    /// Cargo's dev profile.
    None,
    /// Cargo's release profile, with `nvvm_opts(false)`.
    Little,
    /// What users get.
    Full,
}

impl Optimization {
    /// From the number that `--opt` takes.
    pub fn of_level(level: u8) -> Option<Self> {
        match level {
            0 => Some(Self::None),
            1 => Some(Self::Little),
            3 => Some(Self::Full),
            _ => None,
        }
    }
}

/// Options of the device build.
#[derive(Debug, Clone)]
pub struct Options {
    /// How much it optimizes.
    pub optimization: Optimization,
    /// A toolchain by rustup's name; the repository's, if none.
    pub toolchain: Option<String>,
    /// A folder for the generated crates.
    pub folder: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            optimization: Optimization::Full,
            toolchain: None,
            folder: repository().join("target/device_fuzz"),
        }
    }
}

fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    here.canonicalize().unwrap_or(here)
}

/// Compiles programs to PTX; the inner error is what the device build said.
///
/// # Errors
/// When the crate cannot be written.
pub fn compile(programs: &[Program], options: &Options) -> Result<Result<String, String>, Error> {
    let repository = repository();
    let folder = options.folder.join("device");
    write(&folder.join("src/lib.rs"), &source::device(programs).text)?;
    write(
        &folder.join("Cargo.toml"),
        &manifest(&package(&options.folder), &repository.join("compat")),
    )?;
    let toolchain_file = folder.join("rust-toolchain.toml");
    match &options.toolchain {
        Some(name) => write(&toolchain_file, &format!("[toolchain]\nchannel = \"{name}\"\n"))?,
        None => write(
            &toolchain_file,
            &fs::read_to_string(repository.join("rust-toolchain.toml")).map_err(io(&repository))?,
        )?,
    }
    // The versions that the repository was tried with.
    let lock = folder.join("Cargo.lock");
    if !lock.exists() {
        let ours = repository.join("Cargo.lock");
        fs::copy(&ours, &lock).map_err(io(&ours))?;
    }
    // One target folder for all: the standard library is compiled once.
    let target = repository.join("target/cuda-builder");
    let ptx = folder.join("programs.ptx");
    let builder = CudaBuilder::new(&folder)
        .arch(NvvmArch::Compute75)
        .fma_contraction(false)
        .build_args(&["--quiet", "--target-dir", &target.to_string_lossy()])
        .copy_to(&ptx);
    let builder = match options.optimization {
        Optimization::None => builder.release(false).generate_line_info(false),
        Optimization::Little => builder.nvvm_opts(false),
        Optimization::Full => builder,
    };
    match builder.build() {
        Ok(path) => fs::read_to_string(&path).map(Ok).map_err(io(&path)),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// A name for the package in a folder. Cargo takes two packages of one name in one target folder for the same,
/// wherever they lie.
fn package(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name.replace(|character: char| !character.is_ascii_alphanumeric(), "_");
    format!("programs_{name}")
}

fn manifest(package: &str, compat: &Path) -> String {
    let mut text = format!(
        "[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n[dependencies]\ncuda_std = \
         \"0.2\"\n[workspace]\n[patch.crates-io]\n"
    );
    for name in ["cuda_std", "cuda_std_macros"] {
        // JSON's strings are TOML's.
        let path = serde_json::Value::from(compat.join(name).to_string_lossy().into_owned());
        text.push_str(&format!("{name} = {{ path = {path} }}\n"));
    }
    text
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(io(folder))?;
    }
    fs::write(path, text).map_err(io(path))
}
