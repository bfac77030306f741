//! What cannot become PTX ends in words: the Rust item, the reason and the mend.
//!
//! Each case in `wrong_kernels/` has its golden text beside it: what a build script prints. `BLESS=1` writes the texts
//! anew, `BLESS=older` those that an older toolchain (1.95) words in another way, as `.older.txt`: either text will do.
//! A `.rs` case is included by the package `fixtures/wrong`; a `.toml` case is the manifest of a package of its own.
//! Lines that start with `//@` or `#@` choose the build: `arch = 90a`, `ptx = 8.6`, `features = other`, `crate`,
//! `copy_to` and `out_dir` (paths), `source` (the one file of a package). A text that says `builds` is one of the
//! neighbours that must not be refused.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use common::{builder, target};
use cuda_builder::{CudaBuilder, CudaBuilderError};

/// What the child prints between the compilers' messages and ours.
const OURS: &str = "-- cuda_builder:\n";

/// The source of a package that only its manifest is wrong of.
const PLAIN_KERNEL: &str = "#![no_std]\n#![feature(abi_ptx)]\n#[unsafe(no_mangle)]\npub extern \"ptx-kernel\" fn one() \
                            {}\n\
    #[panic_handler]\nfn halt(_: &core::panic::PanicInfo) -> ! {\n    loop {}\n}\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong_kernels")
}

/// The case files, sorted.
fn cases() -> Vec<PathBuf> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|kind| kind == "rs" || kind == "toml"))
        .collect();
    cases.sort();
    cases
}

/// The value of `//@ name = value`.
fn directive<'a>(case: &'a str, name: &str) -> Option<&'a str> {
    case.lines()
        .filter_map(|line| line.strip_prefix("//@ ").or_else(|| line.strip_prefix("#@ ")))
        .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='))
        .map(str::trim)
}

/// What a build script with this case would print.
fn said_about(case: &Path) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "build_in_child", "--ignored", "--nocapture"]);
    if let Some(folder) = directive(&fs::read_to_string(case).unwrap(), "out_dir") {
        child.env("OUT_DIR", folder);
    }
    let output = child
        .env("WRONG_KERNEL", case)
        .env("CARGO_TERM_QUIET", "true")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{} panicked:\n{said}", case.display());
    normalised(&said)
}

/// Without what differs between machines and toolchains: of rustc's messages the first line and the place stay, and of
/// those with a code only the code.
fn normalised(said: &str) -> String {
    let (compilers, ours) = said.split_once(OURS).unwrap_or((said, ""));
    let mut text = String::new();
    let mut in_error = false;
    for line in compilers.lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            in_error = line.starts_with("error") && !line.starts_with("error: could not compile");
            let code = line
                .split_once("]: ")
                .filter(|(code, _)| code.starts_with("error["))
                .map(|(code, _)| format!("{code}]"));
            if in_error {
                text.push_str(&format!("rustc | {}\n", code.as_deref().unwrap_or(line)));
            }
        } else if in_error && line.trim_start().starts_with("--> ") {
            text.push_str(&format!("rustc | {}\n", line.trim()));
            in_error = false;
        }
    }
    text.push_str(ours);
    let text: Vec<String> = text.lines().map(without_temporary_folder).collect();
    let text = without_versions(&text.join("\n")) + "\n";
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let text = text.replace(&format!("{}/", folder().display()), "");
    text.replace(&tests.display().to_string(), "<tests>")
}

/// A text with `*` in place of the toolchain's versions.
fn without_versions(text: &str) -> String {
    let mut words = text.split(' ');
    let mut plain = words.next().unwrap_or_default().to_owned();
    let mut before = plain.clone();
    for word in words {
        let is_version = before.ends_with("rustc") || before.ends_with("(LLVM");
        let version = word.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        match is_version && version.len() < word.len() {
            true => plain.push_str(&format!(" *{version}")),
            false => plain.push_str(&format!(" {word}")),
        }
        before = word.to_owned();
    }
    plain
}

/// A line with `<package>` in place of a case's temporary folder.
fn without_temporary_folder(line: &str) -> String {
    let start = format!("{}/", env!("CARGO_TARGET_TMPDIR"));
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(&start) {
        text.push_str(before);
        text.push_str("<package>");
        rest = after.find(['/', '`', ' ', ';', ':']).map_or("", |end| &after[end..]);
    }
    text + rest
}

#[test]
fn every_wrong_kernel_is_refused_in_words() {
    let bless = std::env::var_os("BLESS");
    let only = std::env::var("CASE").ok();
    let queue = Mutex::new(cases());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(case) = queue.lock().unwrap().pop() else { break };
                    if only
                        .as_ref()
                        .is_some_and(|only| !case.to_string_lossy().contains(only.as_str()))
                    {
                        continue;
                    }
                    let said = said_about(&case);
                    let [golden, older] = ["txt", "older.txt"].map(|kind| case.with_extension(kind));
                    let is = |file: &Path| fs::read_to_string(file).is_ok_and(|text| text == said);
                    if is(&golden) || is(&older) {
                        continue;
                    }
                    if let Some(which) = &bless {
                        fs::write(if which == "older" { &older } else { &golden }, &said).unwrap();
                    } else {
                        let text = format!("{}:\n{said}", case.display());
                        failures.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn build_in_child() {
    let Some(case) = std::env::var_os("WRONG_KERNEL").map(PathBuf::from) else {
        return;
    };
    let text = fs::read_to_string(&case).unwrap();
    // Below this workspace, so that its toolchain is chosen.
    let package = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut build = if case.extension().is_some_and(|kind| kind == "toml") {
        fs::write(package.path().join("Cargo.toml"), &text).unwrap();
        fs::create_dir(package.path().join("src")).unwrap();
        let source = package
            .path()
            .join("src")
            .join(directive(&text, "source").unwrap_or("lib.rs"));
        fs::write(source, PLAIN_KERNEL).unwrap();
        CudaBuilder::new(package.path()).build_args(&["--target-dir", &target().to_string_lossy()])
    } else {
        builder("wrong")
    };
    if let Some(name) = directive(&text, "crate") {
        build = CudaBuilder::new(package.path().join(name));
    }
    if directive(&text, "out_dir").is_some() {
        build = CudaBuilder::new(package.path());
    }
    if let Some(path) = directive(&text, "copy_to") {
        build = build.copy_to(package.path().join(path));
    }
    if let Some(features) = directive(&text, "features") {
        build = build.build_args(&["--target-dir", &target().to_string_lossy(), "--features", features]);
    }
    match directive(&text, "arch").unwrap_or("80").parse() {
        Ok(arch) => build = build.arch(arch),
        Err(unknown) => return eprintln!("{OURS}{:?}", CudaBuilderError::from(unknown)),
    }
    if let Some((major, minor)) = directive(&text, "ptx").and_then(|version| version.split_once('.')) {
        build = build.ptx_version(major.parse().unwrap(), minor.parse().unwrap());
    }
    match build.build() {
        Ok(path) => {
            eprintln!("{OURS}builds");
            if let Some(ptxas) = common::ptxas() {
                common::assemble(&ptxas, &path, "sm_80").unwrap();
            }
        }
        Err(error) => eprintln!("{OURS}{error:?}"),
    }
}
