//! Running one test in a process of its own, because a process looks for its driver only once.

use std::path::Path;
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
