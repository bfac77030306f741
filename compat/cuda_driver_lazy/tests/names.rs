//! The list of functions and the table of result codes against cust_raw's own source.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_driver_lazy::{ERROR_NAMES, FUNCTIONS};
use cust_raw as _;

/// The source of the cust_raw that this test is built with, wherever cargo keeps it.
fn cust_raw_source() -> String {
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--filter-platform",
            &host,
            "--manifest-path",
        ])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let package = metadata["packages"]
        .as_array()
        .expect("a list of packages")
        .iter()
        .find(|package| package["name"] == "cust_raw")
        .expect("cust_raw is a dev-dependency");
    let manifest = PathBuf::from(package["manifest_path"].as_str().expect("a path"));
    std::fs::read_to_string(manifest.with_file_name("src").join("cuda.rs")).expect("cust_raw's bindings")
}

/// The functions of all `extern` blocks, which bindgen writes as `    pub fn name(`.
fn declared(source: &str) -> BTreeSet<String> {
    source
        .lines()
        .filter_map(|line| line.strip_prefix("    pub fn ")?.split_once('('))
        .map(|(name, _)| name.to_owned())
        .filter(|name| name.starts_with("cu"))
        .collect()
}

fn text(name: &CStr) -> String {
    name.to_str().expect("ASCII").to_owned()
}

#[test]
fn every_declared_function_is_defined_and_no_other() {
    let source = cust_raw_source();
    let defined: BTreeSet<_> = FUNCTIONS.iter().map(|name| text(name)).collect();
    assert_eq!(defined.len(), FUNCTIONS.len(), "a name occurs twice");
    assert_eq!(declared(&source), defined);
    // Should bindgen's layout change, the comparison above must not pass on two empty sets.
    assert!(defined.len() >= 353 && source.matches("extern \"C\" {").count() == defined.len());
}

#[test]
fn every_result_code_has_its_name() {
    let source = cust_raw_source();
    let (_, body) = source
        .split_once("pub enum cudaError_enum {")
        .expect("the enum of result codes");
    let (body, _) = body.split_once('}').expect("its end");
    let declared: Vec<(u32, String)> = body
        .split(',')
        .filter_map(|item| item.trim().split_once(" = "))
        .map(|(name, code)| (code.parse().expect("a number"), name.to_owned()))
        .collect();
    let ours: Vec<_> = ERROR_NAMES.iter().map(|&(code, name)| (code, text(name))).collect();
    assert!(ours.is_sorted(), "found by binary search");
    assert_eq!(declared, ours);
}
