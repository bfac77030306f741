//! What cargo's metadata shows before anything is compiled.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::Diagnosis;
use crate::layout::{is_proc_macro, library_root};
use crate::toolchain::Toolchain;

/// Cargo could not read a manifest; its own message was printed.
pub(crate) fn unreadable(crate_path: &Path) -> Diagnosis {
    Diagnosis::new(
        [],
        format!(
            "cargo cannot read the manifest of the GPU crate at {}",
            crate_path.display()
        ),
        "see cargo's message above; `cargo metadata` in that folder says the same",
    )
}

/// Checks the crate with this manifest, and where its `cuda_std` comes from.
pub(crate) fn check(
    metadata: &Value,
    manifest: &Path,
    device_packages: &BTreeSet<String>,
    tools: &Toolchain,
) -> Result<(), Diagnosis> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let root = packages
        .iter()
        .find(|package| package["manifest_path"].as_str().map(Path::new) == Some(manifest));
    let Some(root) = root else {
        return Err(Diagnosis::new(
            [],
            format!(
                "{} is the manifest of a workspace and not of a package",
                manifest.display()
            ),
            "give CudaBuilder::new the folder of the member that holds the kernels",
        ));
    };
    let name = root["name"].as_str().unwrap_or_default();
    if is_proc_macro(root) {
        return Err(Diagnosis::new(
            [],
            format!("the package `{name}` is a macro crate, which runs in the compiler and not on a GPU"),
            "give CudaBuilder::new the folder of the crate that holds the kernels",
        ));
    }
    if library_root(root).is_none() {
        return Err(Diagnosis::new(
            [],
            format!("the package `{name}` has no library, and kernels are compiled from one"),
            "move the kernels to `src/lib.rs`",
        ));
    }
    let is_ours = |package: &Value| package["source"].is_null();
    let of_device = |package: &&Value| {
        let id = format!(
            "{}@{}",
            package["name"].as_str().unwrap_or_default(),
            package["version"].as_str().unwrap_or_default()
        );
        device_packages.contains(&id)
    };
    if let Some(diagnosis) = packages
        .iter()
        .filter(of_device)
        .find_map(|package| newer_rust(package, tools))
    {
        return Err(diagnosis);
    }
    let foreign = packages
        .iter()
        .filter(of_device)
        .find(|package| matches!(package["name"].as_str(), Some("cuda_std" | "cuda_std_macros")) && !is_ours(package));
    foreign.map_or(Ok(()), |package| Err(published(package)))
}

/// The folder that the device build writes to cannot be made.
pub(crate) fn no_target_folder(folder: &Path, error: &io::Error) -> Diagnosis {
    Diagnosis::new(
        [],
        format!(
            "the target folder of the device build cannot be made: {}: {error}",
            folder.display()
        ),
        "make its parent folder writable, or name another one: CARGO_TARGET_DIR, or build_args(&[\"--target-dir\", \
         ..])",
    )
}

/// A crate that asks for a newer compiler.
fn newer_rust(package: &Value, tools: &Toolchain) -> Option<Diagnosis> {
    let needed = package["rust_version"].as_str()?;
    let version = tools.version.split_whitespace().nth(1)?;
    let numbers = |text: &str| -> Vec<u32> { text.split(['.', '-']).map_while(|part| part.parse().ok()).collect() };
    let name = package["name"].as_str().unwrap_or_default();
    (numbers(needed) > numbers(version)).then(|| {
        Diagnosis::new(
            [],
            format!("the package `{name}` needs Rust {needed}, and the device build has rustc {version}"),
            "name a newer toolchain in the rust-toolchain.toml beside the GPU crate, or lower the package's \
             `rust-version`",
        )
    })
}

/// A `cuda_std` that was written for another code generator.
fn published(package: &Value) -> Diagnosis {
    let source = package["source"].as_str().unwrap_or_default();
    let version = package["version"].as_str().unwrap_or_default();
    let table = match source.strip_prefix("git+") {
        Some(address) => format!("patch.\"{}\"", address.split(['?', '#']).next().unwrap_or_default()),
        None => "patch.crates-io".to_owned(),
    };
    // Beside this crate, wherever that was fetched to.
    let compat = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new(""))
        .display();
    Diagnosis::new(
        [],
        format!(
            "the GPU crate uses cuda_std {version} from {source}, which is for the code generator of published \
             cuda_builder and does not compile with this one"
        ),
        format!(
            "add these lines to the manifest of the GPU crate's workspace, and run `cargo update -p cuda_std` there:\n\
             \x20   [{table}]\n\
             \x20   cuda_std = {{ path = \"{compat}/cuda_std\" }}\n\
             \x20   cuda_std_macros = {{ path = \"{compat}/cuda_std_macros\" }}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(packages: Value) -> String {
        let device = ["kernels@1.0.0", "cuda_std@0.2.2"].map(String::from).into();
        let metadata = serde_json::json!({ "packages": packages });
        let tools = crate::toolchain::find(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        check(&metadata, Path::new("/k/Cargo.toml"), &device, &tools)
            .map_or_else(|error| error.to_string(), |()| "passes".to_owned())
    }

    fn package(name: &str, version: &str, source: Value, kind: &str) -> Value {
        serde_json::json!({
            "name": name, "version": version, "source": source, "manifest_path": format!("/{}/Cargo.toml", &name[..1]),
            "targets": [{ "kind": [kind], "src_path": "/k/src/lib.rs" }],
        })
    }

    #[test]
    fn a_published_cuda_std_is_told_from_ours() {
        let kernels = || package("kernels", "1.0.0", Value::Null, "lib");
        let with = |source: Value| {
            refusal(serde_json::json!([
                kernels(),
                package("cuda_std", "0.2.2", source, "lib")
            ]))
        };
        assert_eq!(with(Value::Null), "passes");
        let registry = with("registry+https://github.com/rust-lang/crates.io-index".into());
        for part in [
            "cuda_std 0.2.2 from registry",
            "[patch.crates-io]",
            "cuda_std_macros = { path = ",
            "cargo update -p cuda_std",
        ] {
            assert!(registry.contains(part), "{registry}");
        }
        let git = with("git+https://github.com/Rust-GPU/Rust-CUDA?branch=main#0a1b".into());
        assert!(
            git.contains("[patch.\"https://github.com/Rust-GPU/Rust-CUDA\"]"),
            "{git}"
        );
    }

    #[test]
    fn a_newer_compiler_is_asked_for() {
        let mut package = package("kernels", "1.0.0", Value::Null, "lib");
        package["rust_version"] = "1.85".into();
        assert_eq!(refusal(serde_json::json!([package.clone()])), "passes");
        package["rust_version"] = "1.1000".into();
        assert!(refusal(serde_json::json!([package])).contains("`kernels` needs Rust 1.1000"));
    }

    #[test]
    fn what_is_no_library_is_refused() {
        let of = |kind| refusal(serde_json::json!([package("kernels", "1.0.0", Value::Null, kind)]));
        assert!(of("bin").contains("has no library"));
        assert!(of("proc-macro").contains("macro crate"));
        assert!(refusal(serde_json::json!([])).contains("manifest of a workspace"));
    }
}
