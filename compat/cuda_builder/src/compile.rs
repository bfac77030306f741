//! Running cargo: from a crate's folder to a static library of LLVM bitcode.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use serde_json::Value;

use crate::diagnose::{self, package};
use crate::error::CudaBuilderError;
use crate::layout::{Layout, without_target_folder};
use crate::no_std;
use crate::overrides::Overrides;
use crate::register_attr;
use crate::toolchain::Toolchain;
use crate::{CudaBuilder, NvvmArch, PanicStrategy};

/// The only GPU target of rustc.
pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// A compiled crate.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The static library.
    pub archive: Vec<u8>,
    /// The library's name, such as `kernels`.
    pub name: String,
    /// What the members of the standard library's crates start with: `core-611181faa3b3a498`.
    pub std_members: BTreeSet<String>,
    /// The source files that went in.
    pub sources: Vec<PathBuf>,
}

/// Compiles the crate.
pub(crate) fn compile(
    builder: &CudaBuilder,
    crate_path: &Path,
    tools: &Toolchain,
    layout: &Layout,
) -> Result<Compiled, CudaBuilderError> {
    // Two builds with the same target folder take turns until the library was read: cargo's own lock ends earlier.
    fs::create_dir_all(&layout.target).map_err(|error| package::no_target_folder(&layout.target, &error))?;
    let lock_path = layout.target.join(".lock");
    let lock = fs::File::create(&lock_path).map_err(CudaBuilderError::io(&lock_path))?;
    lock.lock().map_err(CudaBuilderError::io(&lock_path))?;

    let mut cargo = cargo(tools, crate_path);
    cargo.args([
        "rustc",
        "--lib",
        "--crate-type",
        "staticlib",
        diagnose::message_format(),
    ]);
    cargo.args([
        "--target",
        TARGET,
        "-Zbuild-std=core,alloc",
        "-Zbuild-std-features=compiler-builtins-mem",
        "-Zprofile-rustflags",
        "-Ztrim-paths",
    ]);
    cargo.arg("--target-dir").arg(&layout.target);
    let profile = if builder.release { "release" } else { "dev" };
    if builder.release {
        cargo.arg("--release");
    }
    for setting in settings(builder, profile, layout) {
        cargo.arg("--config").arg(setting);
    }
    cargo.args(without_target_folder(&builder.build_args));
    cargo.env("CARGO_ENCODED_RUSTFLAGS", rustflags(builder).join("\u{1f}"));
    cargo.env("CUDA_ARCH", builder.arch.cuda_arch().to_string());
    register_attr::accept(&mut cargo, layout)?;
    let mut hints = diagnose::Hints::default();
    let (status, artifacts) = run(cargo, &mut hints).map_err(CudaBuilderError::io(&tools.cargo))?;
    if !status.success() {
        return Err(hints
            .diagnosis()
            .map_or(CudaBuilderError::BuildFailed, CudaBuilderError::from));
    }
    read_artifacts(&artifacts, tools)
}

/// Runs cargo, prints what it and rustc say, and returns its messages of artifacts.
fn run(mut cargo: Command, hints: &mut diagnose::Hints) -> io::Result<(ExitStatus, Vec<Value>)> {
    let color = if diagnose::in_color() { "always" } else { "never" };
    cargo.env("CARGO_TERM_COLOR", color);
    // A bar has no line of its own, and the pipe is read by lines.
    cargo.env("CARGO_TERM_PROGRESS_WHEN", "never");
    // rustc's messages are printed here, and cargo writes a line of its own in pieces. In one pipe they keep their
    // order, and only whole lines are printed.
    let (reader, writer) = io::pipe()?;
    cargo.stdout(writer.try_clone()?).stderr(writer);
    let mut child = cargo.spawn()?;
    // Its ends of the pipe would keep it open.
    drop(cargo);

    let mut artifacts = Vec::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) if message["reason"] == "compiler-artifact" => artifacts.push(message),
            Ok(message) if message["reason"] == "compiler-message" => hints.show(&message),
            Ok(message) if message["reason"].is_string() => {}
            // Cargo's own words, or what a build script or a wrapper wants to be seen.
            _ => eprintln!("{}", String::from_utf8_lossy(&line)),
        }
    }
    Ok((child.wait()?, artifacts))
}

fn read_artifacts(artifacts: &[Value], tools: &Toolchain) -> Result<Compiled, CudaBuilderError> {
    let files = |artifact: &Value| -> Vec<PathBuf> {
        let names = artifact["filenames"].as_array().map(Vec::as_slice).unwrap_or_default();
        names
            .iter()
            .filter_map(|name| name.as_str().map(PathBuf::from))
            .collect()
    };
    let library_sources = tools.library_sources();
    let is_std = |artifact: &Value| {
        let manifest = Path::new(artifact["manifest_path"].as_str().unwrap_or_default());
        manifest.starts_with(&library_sources)
            || library_sources
                .canonicalize()
                .is_ok_and(|sources| manifest.starts_with(sources))
    };
    let mut std_members = BTreeSet::new();
    for artifact in artifacts.iter().filter(|artifact| is_std(artifact)) {
        for file in files(artifact)
            .iter()
            .filter(|file| file.extension() == Some(OsStr::new("rlib")))
        {
            let stem = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
            std_members.insert(stem.trim_start_matches("lib").to_owned());
        }
    }
    // The crate itself is compiled last.
    let archive = artifacts.iter().rev().find_map(|artifact| {
        files(artifact)
            .into_iter()
            .find(|file| file.extension() == Some(OsStr::new("a")))
    });
    let Some(archive) = archive else {
        return Err(CudaBuilderError::BuildFailed);
    };
    let stem = archive.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let depfile = archive.with_extension("d");
    let sources = fs::read_to_string(&depfile)
        .map(|text| dep_info_sources(&text))
        .unwrap_or_default();
    Ok(Compiled {
        name: stem.trim_start_matches("lib").to_owned(),
        archive: fs::read(&archive).map_err(CudaBuilderError::io(&archive))?,
        std_members,
        sources,
    })
}

/// The files after the colon of a dep-info line; a space inside a name is written `\ `.
fn dep_info_sources(text: &str) -> Vec<PathBuf> {
    let Some((_, list)) = text.lines().next().and_then(|line| line.split_once(": ")) else {
        return Vec::new();
    };
    let mut names = vec![String::new()];
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek() == Some(&' ') => names.last_mut().expect("never empty").extend(characters.next()),
            ' ' => names.push(String::new()),
            other => names.last_mut().expect("never empty").push(other),
        }
    }
    names
        .into_iter()
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// Cargo's settings: of the whole build, and of the packages among it that are not the standard library.
///
/// The library's settings are always the same, so it is compiled once for all architectures and options. The other
/// packages are compiled once for each combination, and cargo keeps the results side by side.
fn settings(builder: &CudaBuilder, profile: &str, layout: &Layout) -> Vec<String> {
    // What the host's profile says about these is about the host: here nothing is optimised before the linked module.
    let common = [
        "lto='off'",
        "codegen-units=1",
        "incremental=false",
        "strip=false",
        "debug=0",
        "split-debuginfo='off'",
        // The same bytes wherever the sources lie. Messages keep the real paths.
        "trim-paths='object'",
    ];
    let mut settings: Vec<String> = common
        .iter()
        .map(|setting| format!("profile.{profile}.{setting}"))
        .collect();

    // rustc does not need the architecture, but macros and `env!` may ask for it: a flag without effect tells cargo so.
    let mut flags = vec![format!("--cfg=cuda_builder_arch=\"{}\"", builder.arch.sm_name())];
    // `cfg(target_feature = "compute_90")`: rustc keeps the name for itself unless the lint is off.
    flags.push("-Aexplicit_builtin_cfgs_in_flags".to_owned());
    let features = builder.arch.all_target_features();
    flags.extend(
        features
            .iter()
            .map(|feature| format!("--cfg=target_feature=\"{feature}\"")),
    );
    let known: Vec<String> = NvvmArch::ALL.iter().map(|arch| format!("\"{arch}\"")).collect();
    flags.push(format!("--check-cfg=cfg(target_feature, values({}))", known.join(", ")));
    if builder.optix {
        flags.push("--cfg=optix".to_owned());
    }
    let overrides = Overrides::read(&layout.workspace, profile);
    for package in &layout.device_packages {
        let (spec, extra) = overrides.spec_for(package);
        let section = format!("profile.{profile}.package.'{spec}'");
        settings.extend(extra.iter().map(|setting| format!("{section}.{setting}")));
        let mut flags = flags.clone();
        if package.starts_with("half@") {
            // The pass replaces functions of `half`, so rustc must not inline them.
            flags.extend(["-Zinline-mir=no", "-Zcross-crate-inline-threshold=never"].map(String::from));
        }
        let root = layout.kernel_roots.get(package);
        if root.is_some_and(|root| no_std::is_missing(root)) {
            flags.push(no_std::FLAG.to_owned());
        }
        // JSON's strings are TOML's.
        settings.push(format!("{section}.rustflags={}", Value::from(flags)));
        if builder.wants_line_info() {
            // Only directives: complete debug information would make ptxas stop optimising.
            settings.push(format!("{section}.debug='line-directives-only'"));
        }
    }
    settings
}

/// The flags that every crate of the device build is compiled with.
fn rustflags(builder: &CudaBuilder) -> Vec<String> {
    let mut flags = vec![
        "-Zunstable-options".to_owned(),
        match builder.panic_strategy() {
            // The machinery that formats messages would be most of the PTX.
            PanicStrategy::Trap => "-Cpanic=immediate-abort".to_owned(),
            PanicStrategy::Message => "-Cpanic=abort".to_owned(),
        },
        // Nothing is optimised before the address spaces are right.
        "-Cno-prepopulate-passes".to_owned(),
    ];
    if builder.release {
        flags.push("-Copt-level=3".to_owned());
    }
    flags
}

/// Cargo in the crate's folder, without what the host build put into the environment.
pub(crate) fn cargo(tools: &Toolchain, crate_path: &Path) -> Command {
    let mut cargo = Command::new(&tools.cargo);
    cargo.current_dir(crate_path);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(belongs_to_host_build) {
            cargo.env_remove(name);
        }
    }
    cargo.env("RUSTC", &tools.rustc);
    // Device code needs unstable features of a stable compiler: the PTX calling convention and the library build.
    cargo.env("RUSTC_BOOTSTRAP", "1");
    cargo
}

/// Whether a variable describes the build that runs us: its flags, wrappers, target or profile.
fn belongs_to_host_build(name: &str) -> bool {
    const EXACT: &[&str] = &[
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC",
        "RUSTDOC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_LINKER",
        "RUSTUP_TOOLCHAIN",
        "CLIPPY_ARGS",
        "OUT_DIR",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "NUM_JOBS",
        "CARGO",
    ];
    // Where things come from and how they are shown is the user's choice for both builds.
    const KEPT: &[&str] = &[
        "CARGO_HOME",
        "CARGO_MAKEFLAGS",
        "CARGO_BUILD_JOBS",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTRIES_",
        "CARGO_REGISTRY_",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
    ];
    EXACT.contains(&name)
        || name.starts_with("DEP_")
        || (name.starts_with("CARGO_") && !KEPT.iter().any(|kept| name.starts_with(kept)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dep_info_is_read() {
        let text = "/t/libk.a: /a/Cargo.toml /a/src/my\\ file.rs /b/lib.rs\n";
        let expected = ["/a/Cargo.toml", "/a/src/my file.rs", "/b/lib.rs"].map(PathBuf::from);
        assert_eq!(dep_info_sources(text), expected);
        assert!(dep_info_sources("").is_empty());
    }

    #[test]
    fn host_variables_are_told_from_the_users() {
        for name in [
            "RUSTFLAGS",
            "CARGO_TARGET_DIR",
            "CARGO_FEATURE_X",
            "CARGO_PROFILE_RELEASE_LTO",
            "DEP_CUDA_ROOT",
        ] {
            assert!(belongs_to_host_build(name), "{name}");
        }
        for name in [
            "PATH",
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_MAKEFLAGS",
            "HOME",
            "CARGO_TERM_COLOR",
        ] {
            assert!(!belongs_to_host_build(name), "{name}");
        }
    }
}
