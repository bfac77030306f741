//! What a test says of a kernel, as a row of `docs/results/*-checks.csv` with the digest of the kernel's PTX.
//!
//! `TILEWRIGHT_ROWS` names the file that rows are appended to; `TILEWRIGHT_CHECK` what is checked where a tool watches
//! (`memcheck`); `TILEWRIGHT_DATE`, `TILEWRIGHT_COMMIT` and `TILEWRIGHT_DRIVER` go into each row.

use std::fs::File;
use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

use libtest_mimic::Failed;
use tilewright_harness::digest;

use crate::{Outcome, spilling};

/// What a test of this name checks of which kernel: `kernels::` its results, `occupancy::` and `spilling::usage::` the
/// driver's blocks.
fn checked(name: &str) -> Option<(&'static str, &str)> {
    [
        ("kernels::", "test"),
        ("occupancy::", "occupancy"),
        ("spilling::usage::", "occupancy"),
    ]
    .into_iter()
    .find_map(|(prefix, check)| Some((check, name.strip_prefix(prefix)?)))
}

/// The tool that watches, such as `memcheck`.
fn watcher() -> Option<String> {
    std::env::var("TILEWRIGHT_CHECK").ok()
}

/// Whether a tool watches.
pub fn is_watched() -> bool {
    watcher().is_some()
}

/// Appends a row for each test of a kernel to the file that is asked for; tells nothing where none is.
pub fn writer(device: String, level: &'static str) -> impl Fn(&str, &Outcome, Duration) + Send + Sync {
    let file = std::env::var_os("TILEWRIGHT_ROWS").map(|path| {
        let file = File::options().create(true).append(true).open(&path);
        Mutex::new(file.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    });
    let said = |name: &str| std::env::var(name).unwrap_or_else(|_| "unknown".to_owned());
    let about = format!(
        "{},{},{device},{}",
        said("TILEWRIGHT_DATE"),
        said("TILEWRIGHT_COMMIT"),
        said("TILEWRIGHT_DRIVER")
    );
    let tool = watcher();
    move |name, outcome, took| {
        let Some(file) = &file else { return };
        let Some(row) = row(name, outcome, took, tool.as_deref(), &about, level) else {
            return;
        };
        let mut file = file.lock().expect("writing does not panic");
        if let Err(error) = file.write_all(row.as_bytes()) {
            eprintln!("cannot write a row: {error}");
        }
    }
}

fn row(
    name: &str,
    outcome: &Outcome,
    took: Duration,
    tool: Option<&str>,
    about: &str,
    level: &'static str,
) -> Option<String> {
    let (check, kernel) = checked(name)?;
    let digest = digest::of_kernel(kernel, level).or_else(|| spilling::digest(kernel))?;
    let (ended, note) = match outcome {
        Ok(()) => ("passed", format!("{:.1} s", took.as_secs_f64())),
        Err(failed) => ("failed", first_line(failed)),
    };
    Some(format!(
        "{},{kernel},{digest},{ended},{about},{note}\n",
        tool.unwrap_or(check)
    ))
}

fn first_line(failed: &Failed) -> String {
    let text = failed.message().unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}
