//! What cargo knows about a crate before it is compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::CudaBuilder;
use crate::compile::{TARGET, cargo};
use crate::diagnose::package;
use crate::error::CudaBuilderError;
use crate::toolchain::Toolchain;

/// The folder inside the host build's target folder; cargo locks a target folder, so ours must be another one.
const TARGET_FOLDER: &str = "cuda-builder";

/// Where things are, and what belongs to the crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The folder of the workspace's `Cargo.toml`.
    pub workspace: PathBuf,
    /// The target folder of the device build.
    pub target: PathBuf,
    /// The folders of the packages among the crate and its dependencies that come from a path and not from a registry.
    pub local_packages: BTreeSet<PathBuf>,
    /// The packages that are compiled for the GPU, as `name@version`.
    pub device_packages: BTreeSet<String>,
    /// The root files of these packages' libraries.
    pub device_roots: BTreeSet<PathBuf>,
    /// Those of the packages that were written for the GPU (from a path, from git, or dependent on `cuda_std`), as
    /// `name@version`, with their roots.
    pub kernel_roots: BTreeMap<String, PathBuf>,
}

/// Asks cargo about the crate at `crate_path`.
pub(crate) fn read(builder: &CudaBuilder, crate_path: &Path, tools: &Toolchain) -> Result<Layout, CudaBuilderError> {
    let mut cargo = cargo(tools, crate_path);
    cargo.args(["metadata", "--format-version", "1", "--filter-platform", TARGET]);
    cargo.args(metadata_arguments(&builder.build_args));
    let output = cargo
        .stderr(Stdio::inherit())
        .output()
        .map_err(CudaBuilderError::io(&tools.cargo))?;
    let metadata: Value = match serde_json::from_slice(&output.stdout) {
        Ok(metadata) if output.status.success() => metadata,
        _ => return Err(package::unreadable(crate_path).into()),
    };
    let manifest = crate_path.join("Cargo.toml");
    let mut layout = from_metadata(&metadata, &manifest);
    package::check(&metadata, &manifest, &layout.device_packages, tools)?;
    if let Some(folder) = target_folder_argument(&builder.build_args) {
        layout.target = std::path::absolute(folder).map_err(CudaBuilderError::io(folder))?;
        return Ok(layout);
    }
    if let Some(out) = env::var_os("OUT_DIR") {
        layout.target = beside_profile(Path::new(&out));
    } else if let Some(folder) = env::var_os("CARGO_TARGET_DIR") {
        layout.target = std::path::absolute(&folder).map_err(CudaBuilderError::io(folder))?;
    }
    layout.target.push(TARGET_FOLDER);
    Ok(layout)
}

/// Follows the dependencies of the package with this manifest.
fn from_metadata(metadata: &Value, manifest: &Path) -> Layout {
    let path_of = |name: &str| PathBuf::from(metadata[name].as_str().unwrap_or_default());
    let by_id = |list: &'_ Value| -> BTreeMap<String, Value> {
        let list = list.as_array().cloned().unwrap_or_default();
        list.into_iter()
            .filter_map(|entry| Some((entry["id"].as_str()?.to_owned(), entry)))
            .collect()
    };
    let packages = by_id(&metadata["packages"]);
    let nodes = by_id(&metadata["resolve"]["nodes"]);
    let root = packages
        .iter()
        .find(|(_, package)| package["manifest_path"].as_str().map(Path::new) == Some(manifest));

    let mut local_packages = BTreeSet::new();
    let mut device_packages = BTreeSet::new();
    let mut device_roots = BTreeSet::new();
    let mut kernel_roots = BTreeMap::new();
    let mut seen = BTreeSet::new();
    // A macro crate and what only build scripts use belong to the crate's sources, but run on the host.
    let mut open: Vec<(&str, bool)> = root.map(|(id, _)| (id.as_str(), true)).into_iter().collect();
    while let Some((id, on_device)) = open.pop() {
        let Some((package, node)) = packages.get(id).zip(nodes.get(id)) else {
            continue;
        };
        let on_device = on_device && !is_proc_macro(package);
        if !seen.insert((id, on_device)) {
            continue;
        }
        if package["source"].is_null() {
            local_packages.extend(
                package["manifest_path"]
                    .as_str()
                    .and_then(|path| Some(Path::new(path).parent()?.into())),
            );
        }
        if on_device && let (Some(name), Some(version)) = (package["name"].as_str(), package["version"].as_str()) {
            device_packages.insert(format!("{name}@{version}"));
            device_roots.extend(library_root(package));
            if is_for_the_gpu(package) {
                kernel_roots.extend(library_root(package).map(|root| (format!("{name}@{version}"), root)));
            }
        }
        for dependency in node["deps"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let Some(target) = dependency["pkg"].as_str() else {
                continue;
            };
            for kind in dependency["dep_kinds"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default()
            {
                match kind["kind"].as_str() {
                    None => open.push((target, on_device)),
                    Some("build") => open.push((target, false)),
                    Some(_) => {}
                }
            }
        }
    }
    Layout {
        workspace: path_of("workspace_root"),
        target: path_of("target_directory"),
        local_packages,
        device_packages,
        device_roots,
        kernel_roots,
    }
}

/// Whether a package is the user's own, from a git repository, or dependent on `cuda_std`: what was likely written for
/// the GPU.
fn is_for_the_gpu(package: &Value) -> bool {
    let source = package["source"].as_str();
    let dependencies = package["dependencies"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    source.is_none_or(|source| source.starts_with("git+"))
        || dependencies.iter().any(|dependency| dependency["name"] == "cuda_std")
}

/// The file that a package's library begins with.
pub(crate) fn library_root(package: &Value) -> Option<PathBuf> {
    let targets = package["targets"].as_array()?;
    let is_library = |target: &&Value| {
        let kinds = target["kind"].as_array().map(Vec::as_slice).unwrap_or_default();
        kinds
            .iter()
            .any(|kind| kind.as_str().is_some_and(|kind| kind.ends_with("lib")))
    };
    targets.iter().find(is_library)?["src_path"].as_str().map(PathBuf::from)
}

pub(crate) fn is_proc_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
    targets
        .iter()
        .flat_map(|target| target["kind"].as_array().map(Vec::as_slice).unwrap_or_default())
        .any(|kind| kind == "proc-macro")
}

/// The target folder that `out`, a build script's `OUT_DIR`, lies in: what comes before `<profile>/build/...`.
fn beside_profile(out: &Path) -> PathBuf {
    out.ancestors()
        .find(|folder| folder.file_name() == Some(OsStr::new("build")))
        .and_then(|build| build.parent()?.parent())
        .unwrap_or(out)
        .to_owned()
}

/// The value of `--target-dir` among the user's arguments: it is taken as it is.
fn target_folder_argument(build_args: &[String]) -> Option<&str> {
    let at = build_args
        .iter()
        .position(|argument| argument.starts_with("--target-dir"))?;
    build_args[at]
        .strip_prefix("--target-dir=")
        .or_else(|| Some(build_args.get(at + 1)?.as_str()))
}

/// The user's arguments without `--target-dir`, which cargo accepts only once.
pub(crate) fn without_target_folder(build_args: &[String]) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut rest = build_args.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "--target-dir" => _ = rest.next(),
            _ if argument.starts_with("--target-dir=") => {}
            _ => kept.push(argument),
        }
    }
    kept
}

/// Those of the user's arguments for `cargo build` that `cargo metadata` needs too.
fn metadata_arguments(build_args: &[String]) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut rest = build_args.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        let (name, inline) = argument
            .split_once('=')
            .map_or((argument, false), |(name, _)| (name, true));
        match name {
            "--all-features" | "--no-default-features" | "--locked" | "--offline" | "--frozen" => kept.push(argument),
            "--features" | "-F" | "--config" => {
                kept.push(argument);
                if !inline {
                    kept.extend(rest.next());
                }
            }
            "--" => break,
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_folder_lies_beside_the_profile() {
        assert_eq!(beside_profile(Path::new("/t/debug/build/host-1/out")), Path::new("/t"));
        assert_eq!(
            beside_profile(Path::new("/t/x86/release/build/host/1/out")),
            Path::new("/t/x86")
        );
        assert_eq!(beside_profile(Path::new("/elsewhere/out")), Path::new("/elsewhere/out"));
    }

    #[test]
    fn metadata_gets_the_features() {
        let arguments = ["--features", "a b", "-v", "--config=x", "--offline", "--", "--features"].map(String::from);
        assert_eq!(
            metadata_arguments(&arguments),
            ["--features", "a b", "--config=x", "--offline"]
        );
    }

    #[test]
    fn target_folder_can_be_given() {
        for arguments in [
            vec!["-v", "--target-dir", "t", "-q"],
            vec!["-v", "--target-dir=t", "-q"],
        ] {
            let arguments: Vec<String> = arguments.into_iter().map(String::from).collect();
            assert_eq!(target_folder_argument(&arguments), Some("t"));
            assert_eq!(without_target_folder(&arguments), ["-v", "-q"]);
        }
        assert_eq!(target_folder_argument(&["-v".to_owned()]), None);
    }

    #[test]
    fn host_packages_are_told_from_device_packages() {
        let package = |name: &str, kind: &str, source: Value| {
            serde_json::json!({
                "id": name, "name": name, "version": "1.0.0", "source": source,
                "manifest_path": format!("/w/{name}/Cargo.toml"), "targets": [{ "kind": [kind] }],
            })
        };
        let edge = |name: &str, kind: Value| serde_json::json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = serde_json::json!({
            "workspace_root": "/w", "target_directory": "/w/target",
            "packages": [
                package("kernels", "lib", Value::Null), package("macros", "proc-macro", Value::Null),
                package("syn", "lib", "registry".into()), package("half", "lib", "registry".into()),
                package("tests_only", "lib", Value::Null), package("other", "lib", Value::Null),
            ],
            "resolve": { "nodes": [
                { "id": "kernels", "deps": [
                    edge("macros", Value::Null), edge("half", Value::Null), edge("tests_only", "dev".into()),
                ] },
                { "id": "macros", "deps": [edge("syn", Value::Null)] },
                { "id": "half", "deps": [] }, { "id": "syn", "deps": [] },
                { "id": "tests_only", "deps": [] }, { "id": "other", "deps": [] },
            ] },
        });
        let layout = from_metadata(&metadata, Path::new("/w/kernels/Cargo.toml"));
        assert_eq!(
            layout.device_packages,
            ["half@1.0.0", "kernels@1.0.0"].map(String::from).into()
        );
        assert_eq!(
            layout.local_packages,
            ["/w/kernels", "/w/macros"].map(PathBuf::from).into()
        );
    }

    #[test]
    fn packages_for_the_gpu_are_told_by_their_source_and_their_dependencies() {
        let package = |source: Value, dependency: &str| {
            is_for_the_gpu(&serde_json::json!({ "source": source, "dependencies": [{ "name": dependency }] }))
        };
        let registry = || Value::from("registry+https://github.com/rust-lang/crates.io-index");
        assert!(package(Value::Null, "libm"));
        assert!(package("git+https://example.org/kernels#0123".into(), "libm"));
        assert!(package(registry(), "cuda_std") && !package(registry(), "libm"));
    }
}
