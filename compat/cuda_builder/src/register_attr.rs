//! The one line of a published kernel crate that current Rust refuses.
//!
//! `#![cfg_attr(target_os = "cuda", no_std, feature(register_attr), register_attr(nvvm_internal))]` was needed by the compiler that
//! the published crates were made for. Where a crate of the build has it, cargo calls rustc through `register_attr.sh`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::CudaBuilderError;
use crate::layout::Layout;

/// Makes `cargo` compile crates that register attributes, where there are any.
pub(crate) fn accept(cargo: &mut Command, layout: &Layout) -> Result<(), CudaBuilderError> {
    let registers = |root: &Path| fs::read_to_string(root).is_ok_and(|text| text.contains("register_attr"));
    if !layout.device_roots.iter().any(|root| registers(root)) {
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
    Ok(())
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
