//! The README's section "In your project", done as a stranger would: its blocks pasted into projects outside the
//! repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The address that the documents stand in for.
const ADDRESS: &str = "https://example.org/tilewright";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The fenced blocks of a language under a heading of the README, without their fences.
fn blocks(heading: &str, language: &str) -> Vec<String> {
    let readme = read("README.md");
    let (_, section) = readme
        .split_once(&format!("## {heading}\n"))
        .unwrap_or_else(|| panic!("no {heading}"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let fence = format!("```{language}\n");
    section
        .split(&fence)
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(block, _)| block.to_owned())
        .collect()
}

/// The two blocks of patches, by path and by git, and the line of the library.
fn pasted() -> [String; 3] {
    let found: [String; 3] = blocks("In your project", "toml").try_into().expect("three blocks");
    let [path, git, library] = &found;
    assert!(path.contains("path = \"tilewright/") && git.contains(ADDRESS) && library.contains("[dependencies]"));
    found
}

/// A project with this manifest and the README's first program; the repository is in its folder as a clone would be.
fn project(name: &str, manifest: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("your-project").join(name);
    let _ = fs::remove_dir_all(&folder);
    let program = blocks("As a library", "rust").remove(0);
    let body = program.lines().filter(|line| !line.starts_with("use "));
    let uses = program.lines().filter(|line| line.starts_with("use "));
    let main = format!(
        "{}\nfn main() -> Result<(), tilewright::Error> {{\n{}\nOk(())\n}}\n",
        uses.collect::<String>(),
        body.collect::<Vec<_>>().join("\n")
    );
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n");
    let kernels = package("kernels") + "[dependencies]\ncuda_std = \"0.2\"\n";
    for (file, text) in [
        ("Cargo.toml", &(package("yours") + manifest)),
        ("src/main.rs", &main),
        ("kernels/Cargo.toml", &kernels),
        ("kernels/src/lib.rs", &"#![no_std]\n".to_owned()),
        // The same versions as everywhere, so that nothing is resolved anew.
        ("Cargo.lock", &read("Cargo.lock")),
    ] {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().expect("has one")).expect("ours");
        fs::write(path, text).expect("ours");
    }
    std::os::unix::fs::symlink(root(), folder.join("tilewright")).expect("ours");
    folder
}

/// What these projects have in common with this workspace is not compiled again.
fn target() -> &'static Path {
    let of_tests = Path::new(env!("CARGO_TARGET_TMPDIR"));
    of_tests.parent().expect("it is inside the target folder")
}

fn cargo(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target())
        // What the kernels' PTX is made of is the same here and there, and takes minutes.
        .env("TILEWRIGHT_WITHOUT_PTX", "1")
        .output()
        .expect("cargo starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The sources of all packages of a name in a project's graph; `None` for one from a path.
fn sources(folder: &Path, name: &str) -> Vec<Option<String>> {
    let output = cargo(folder, &["metadata", "--format-version", "1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let named = packages.iter().filter(|package| package["name"] == name);
    named
        .map(|package| package["source"].as_str().map(str::to_owned))
        .collect()
}

/// What the program and the kernel crate of a project get.
fn everything_is_ours(folder: &Path, is_ours: impl Fn(&Option<String>) -> bool) {
    for name in ["cuda_std", "cuda_builder", "find_cuda_helper", "cuda_sim"] {
        let found = sources(folder, name);
        assert!(found.len() == 1 && found.iter().all(&is_ours), "{name}: {found:?}");
    }
    let of_kernels = sources(&folder.join("kernels"), "cuda_std");
    assert!(
        of_kernels.len() == 1 && of_kernels.iter().all(&is_ours),
        "{of_kernels:?}"
    );
    // The published crates' code generator, which needs an installed CUDA.
    assert_eq!(sources(folder, "nvvm"), []);
}

/// The library's line, and a kernel crate beside it.
fn dependencies(library: &str) -> String {
    format!("{library}kernels = {{ path = \"kernels\" }}\n\n")
}

#[test]
fn from_a_clone_the_program_builds_and_runs() {
    let [path, _, library] = pasted();
    let folder = project("path", &(dependencies(&library) + &path));
    everything_is_ours(&folder, Option::is_none);
    let output = cargo(&folder, &["run", "--quiet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(" on "), "{said}");
}

#[test]
fn from_git_the_program_is_compiled_too() {
    let [_, git, library] = pasted();
    let here = format!("file://{}", root().display());
    let by_git = library.replace("path = \"tilewright/host\"", &format!("git = \"{here}\""));
    let folder = project("git", &(dependencies(&by_git) + &git.replace(ADDRESS, &here)));
    everything_is_ours(&folder, |source| {
        source.as_ref().is_some_and(|source| source.starts_with("git+file://"))
    });
    let output = cargo(&folder, &["check", "--quiet"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Cargo stops before it compiles anything: the published `find_cuda_helper` lacks a feature, whose name says what to
/// do.
#[test]
fn without_patches_the_first_error_says_what_to_paste() {
    let [_, _, library] = pasted();
    let folder = project(
        "unpatched",
        &(dependencies(&library) + "[workspace]\nexclude = [\"tilewright\"]\n"),
    );
    let output = cargo(&folder, &["check"]);
    let said = stderr(&output);
    let first = said.split("Compiling").next().unwrap_or_default();
    assert!(!output.status.success(), "{said}");
    for word in [
        "find_cuda_helper",
        "paste-the-patch-lines-from-the-README-of-tilewright",
    ] {
        assert!(first.contains(word), "{said}");
    }
    assert!(!said.contains("Compiling") && !said.contains("Checking"), "{said}");
}

#[test]
fn two_copies_of_the_simulator_are_refused_with_the_cause() {
    let [path, _, library] = pasted();
    let here = format!("file://{}", root().display());
    let by_git = library.replace("path = \"tilewright/host\"", &format!("git = \"{here}\""));
    let folder = project("mixed", &(dependencies(&by_git) + &path));
    let output = cargo(&folder, &["metadata", "--format-version", "1"]);
    let said = stderr(&output);
    assert!(
        !output.status.success() && said.contains("same links value") && said.contains("cuda_sim"),
        "{said}"
    );
}

/// A fenced block of a language in a crate's README.
fn block(readme: &str, language: &str) -> String {
    let text = read(readme);
    let after = text.split_once(&format!("```{language}\n"));
    let (_, after) = after.unwrap_or_else(|| panic!("{readme} has no {language}"));
    after.split("```").next().unwrap_or_default().to_owned()
}

#[test]
fn the_planner_is_used_without_patches() {
    let readme = "planner/README.md";
    let folder = project(
        "planner",
        &(block(readme, "toml") + "\n[workspace]\nexclude = [\"tilewright\", \"kernels\"]\n"),
    );
    let program = block(readme, "rust").replace("# Ok::<(), Box<dyn std::error::Error>>(())", "Ok(())");
    let main = format!("fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{program}}}\n");
    fs::write(folder.join("src/main.rs"), main).expect("ours");
    let output = cargo(&folder, &["run", "--quiet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("sm_120"), "{said}");
}

/// Removes what cargo once unpacked of these packages from a registry in a folder: `cargo package` makes such a
/// registry of what it packs, at one path, and takes the unpacked sources of an earlier commit for those of the same
/// version.
fn forget_unpacked(packages: &[String]) {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let Ok(registries) = fs::read_dir(home.expect("cargo has one").join("registry/src")) else {
        return;
    };
    let registries = registries.map(|entry| entry.expect("listed").path());
    // A registry with a host has its name before the hash.
    let in_folders = registries.filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'-'));
    for unpacked in in_folders.flat_map(|path| packages.iter().map(move |package| path.join(package))) {
        let _ = fs::remove_dir_all(unpacked);
    }
}

/// Packed and built as from a registry: with no file and no patch of this repository.
#[test]
fn what_needs_no_patch_builds_from_its_package() {
    let crates = ["cuda_arch", "tilewright-plan", "cuda_sim", "cuda_views"];
    let packages = crates.map(|name| format!("{name}-{}", env!("CARGO_PKG_VERSION")));
    forget_unpacked(&packages);
    let mut arguments = vec!["package", "--quiet", "--locked", "--allow-dirty"];
    arguments.extend(crates.iter().flat_map(|name| ["--package", name]));
    let output = cargo(root(), &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    for package in packages {
        let package = target().join(format!("package/{package}.crate"));
        assert!(package.is_file(), "{}", package.display());
    }
}

#[test]
fn every_page_has_the_same_blocks() {
    let [path, git, _] = pasted();
    for page in [
        "compat/cuda_std/README.md",
        "compat/cuda_builder/README.md",
        "docs/use-from-your-project.md",
        "docs/device-buffers.md",
    ] {
        let text = read(page);
        assert!(text.contains(&path) && text.contains(&git), "{page}");
    }
}
