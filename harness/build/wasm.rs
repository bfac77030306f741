//! Compiles the planner to WebAssembly, for `src/page.rs` to embed.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::toolchain::{self, Toolchain};

use crate::linker;

const TARGET: &str = "wasm32-unknown-unknown";
/// The crate, and everything that goes into it.
const CRATE: &str = "../planner/web";
const SOURCES: [&str; 9] = [
    "../planner/web/src",
    "../planner/web/Cargo.toml",
    "../planner/src",
    "../planner/Cargo.toml",
    "../contract/src",
    "../contract/Cargo.toml",
    "../arch/src",
    "../arch/Cargo.toml",
    "../Cargo.lock",
];

/// Small code: it travels inside every page. A panic is shown by the page, so its message stays.
const PROFILE: [&str; 8] = [
    "opt-level='z'",
    "lto='fat'",
    "codegen-units=1",
    "panic='abort'",
    "strip=true",
    "debug=0",
    "incremental=false",
    // The same bytes wherever the sources lie.
    "trim-paths='all'",
];

/// Writes the module to `into`.
pub fn build(into: &Path) -> Result<(), String> {
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    println!("cargo::rerun-if-changed=build");
    let tools = toolchain::find(CRATE).map_err(|error| error.to_string())?;
    let linker = linker::find(&tools).map_err(|error| error.to_string())?;
    let target_folder = target_folder()?;
    let status = cargo(&tools)
        .args([
            "rustc",
            "--lib",
            "--crate-type",
            "cdylib",
            "--release",
            "--target",
            TARGET,
        ])
        // What the lock file names, as for everything else that is built here.
        .args(["--locked", "-Zbuild-std=core,alloc", "-Ztrim-paths"])
        .arg("--target-dir")
        .arg(&target_folder)
        .args(
            PROFILE
                .iter()
                .flat_map(|setting| ["--config".to_owned(), format!("profile.release.{setting}")]),
        )
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", &linker)
        .status()
        .map_err(|error| format!("cannot run {}: {error}", tools.cargo.display()))?;
    if !status.success() {
        return Err(format!(
            "the planner could not be compiled for {TARGET}; the messages are above"
        ));
    }
    let module = target_folder.join(TARGET).join("release/tilewright_plan_web.wasm");
    let bytes = fs::read(&module).map_err(|error| format!("cannot read {}: {error}", module.display()))?;
    // Left alone where it is the same: what embeds it is then not compiled again.
    if fs::read(into).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(into, bytes).map_err(|error| format!("cannot write {}: {error}", into.display()))
}

/// A target folder beside the host's profiles, which debug and release builds share. Cargo locks the one that it builds
/// in, so it cannot be the host's.
fn target_folder() -> Result<PathBuf, String> {
    let out = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?;
    let out = Path::new(&out);
    let build = out
        .ancestors()
        .find(|folder| folder.file_name() == Some(OsStr::new("build")));
    let beside = build.and_then(|build| build.parent()?.parent()).unwrap_or(out);
    Ok(beside.join("planner-web"))
}

/// Cargo in the crate's folder, without what this build says about flags, wrappers and profiles: that is about the
/// host.
fn cargo(tools: &Toolchain) -> Command {
    const HOST: [&str; 6] = [
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_LINKER",
        "RUSTUP_TOOLCHAIN",
        "CLIPPY_ARGS",
        "TARGET",
    ];
    const HOST_PREFIXES: [&str; 4] = ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_", "CARGO_UNSTABLE_"];
    let mut cargo = Command::new(&tools.cargo);
    for (name, _) in env::vars_os() {
        let is_host = |name: &str| HOST.contains(&name) || HOST_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if name.to_str().is_some_and(is_host) && name != "CARGO_BUILD_JOBS" {
            cargo.env_remove(name);
        }
    }
    cargo
        .current_dir(CRATE)
        .env("RUSTC", &tools.rustc)
        // The stable compiler builds `core` and `alloc` only when it is told that this is unstable.
        .env("RUSTC_BOOTSTRAP", "1")
        // It comes before RUSTFLAGS and before what configuration files say.
        .env("CARGO_ENCODED_RUSTFLAGS", "");
    cargo
}
