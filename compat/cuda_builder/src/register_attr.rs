//! The one line of a published kernel crate that current Rust refuses.
//!
//! `#![cfg_attr(target_os = "cuda", no_std, feature(register_attr), register_attr(nvvm_internal))]` was needed by the
//! compiler that the published crates were made for. Where a crate of the build has it, in its root or in a module,
//! cargo calls rustc through `register_attr.sh`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::CudaBuilderError;
use crate::layout::Layout;

/// Makes `cargo` compile crates that register attributes, where there are any.
pub(crate) fn accept(cargo: &mut Command, layout: &Layout) -> Result<(), CudaBuilderError> {
    let mut files: Vec<PathBuf> = layout
        .device_roots
        .iter()
        .filter(|file| registers(file))
        .cloned()
        .collect();
    for root in layout.kernel_roots.values() {
        if let Some(folder) = root.parent() {
            collect(folder, &mut files);
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    let wrapper = layout.target.join("register_attr.sh");
    let script = include_str!("register_attr.sh");
    // Cargo compiles everything again when the wrapper changes, by its time too.
    if fs::read_to_string(&wrapper).ok().as_deref() != Some(script) {
        fs::write(&wrapper, script).map_err(CudaBuilderError::io(&wrapper))?;
    }
    make_executable(&wrapper)?;
    cargo.env("RUSTC_WRAPPER", &wrapper);
    cargo.env("CUDA_BUILDER_SHADOWS", layout.target.join("register_attr"));
    let real = |file: PathBuf| file.canonicalize().unwrap_or(file);
    let mut list: Vec<String> = files
        .into_iter()
        .map(|file| real(file).to_string_lossy().into_owned())
        .collect();
    list.sort();
    list.dedup();
    cargo.env("CUDA_BUILDER_REGISTERING", list.join("\n"));
    Ok(())
}

/// Whether a source file names the attribute.
fn registers(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains("register_attr"))
}

/// The source files in `folder` that do, but for what builds leave there.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && path.file_name() != Some(OsStr::new("target")) => collect(&path, files),
            Ok(_) if path.extension() == Some(OsStr::new("rs")) && registers(&path) => files.push(path),
            _ => {}
        }
    }
}

#[cfg(unix)]
fn make_executable(file: &Path) -> Result<(), CudaBuilderError> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).map_err(CudaBuilderError::io(file))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<(), CudaBuilderError> {
    Ok(())
}
