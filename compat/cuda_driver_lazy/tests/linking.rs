//! Executables of every kind find the trampolines, with every linker at hand and whatever the order on its command
//! line.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

/// The ways to make each kind of executable run.
const KINDS: [&[&str]; 4] = [
    &["test", "--quiet"],
    &["run", "--bin", "app"],
    &["run", "--example", "example"],
    &["bench", "--bench", "bench"],
];

fn consume(linker: &str, flags: &str, arguments: &[&str]) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("linking-{linker}"));
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // The outer cargo's own settings are for this package; --locked keeps the inner one to its own lock file.
    command
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/consumer"))
        .args(arguments)
        .args(["--locked", "--target-dir"])
        .arg(target)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", flags)
        .env("RUSTDOCFLAGS", flags)
        .env(cuda_driver_lazy::OVERRIDE_VARIABLE, "/nonexistent/libcuda.so.1");
    let output = command.output().expect("cargo runs");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{linker}, cargo {arguments:?}: {text}");
}

#[test]
fn with_the_default_linker() {
    for kind in KINDS {
        consume("default", "", kind);
    }
}

/// GNU ld reads each archive once, in order, which is what link order matters for.
#[test]
#[cfg(target_arch = "x86_64")]
fn with_gnu_ld() {
    for kind in KINDS {
        consume("bfd", "-Clinker-features=-lld -Clink-arg=-fuse-ld=bfd", kind);
    }
}

#[test]
fn with_whole_program_optimisation() {
    consume("default", "", &["run", "--release", "--bin", "app"]);
}
