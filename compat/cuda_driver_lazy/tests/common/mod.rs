//! Running one test in a process of its own, because a process looks for its driver only once, and fake drivers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cuda_driver_lazy::OVERRIDE_VARIABLE;

/// Set in the processes that `run_apart` starts.
const APART: &str = "CUDA_DRIVER_LAZY_TEST_APART";

/// Whether this process was started by `run_apart`. A test that needs its own driver does nothing anywhere else.
pub fn is_apart() -> bool {
    std::env::var_os(APART).is_some()
}

/// Runs the (ignored) test of this name with the given driver library; fails unless it ran and passed.
pub fn run_apart(test: &str, driver: &Path) {
    let output = Command::new(std::env::current_exe().expect("the path of this program"))
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(APART, "1")
        .env(OVERRIDE_VARIABLE, driver)
        .output()
        .expect("this program runs again");
    assert!(
        output.status.success() && ran_one(&output),
        "{test}: {}\n{}",
        output.status,
        both(&output)
    );
}

/// Compiles a fake driver for this machine. `name` keeps the libraries of tests that run at the same time apart.
#[allow(dead_code, reason = "not every test program has a fake driver")]
pub fn fake_driver(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lib{name}.so"));
    let arch = std::env::consts::ARCH;
    // Set where the tests are cross-compiled, in the same variable that cargo reads.
    let linker = std::env::var(format!("CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_LINKER", arch.to_uppercase()));
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args([
            "--edition",
            "2024",
            "--crate-name",
            "fake_driver",
            "-Copt-level=1",
            "-Cpanic=abort",
        ])
        .arg(format!("--target={arch}-unknown-linux-gnu"))
        .args(linker.map(|linker| format!("-Clinker={linker}")))
        .args(flags)
        .arg("-o")
        .arg(&library)
        .arg(source)
        .output()
        .expect("rustc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

fn ran_one(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("test result: ok. 1 passed")
}

fn both(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
