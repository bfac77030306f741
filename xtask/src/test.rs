//! Every test, and an account of those that did not run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::bail;
use xshell::{Shell, cmd};

use crate::{device_toolchain, ptxas};

/// Runs all tests, or with arguments `cargo test --workspace ARGS`.
pub fn run(sh: &Shell, args: &[OsString]) -> anyhow::Result<()> {
    device_toolchain::ensure(sh)?;
    ptxas::ensure(sh)?;
    if args.is_empty() {
        // The corpus of kernels that our cuda_std compiles must type-check against the published one too.
        cmd!(sh, "cargo check --manifest-path compat/corpus-published/Cargo.toml").run()?;
    }
    let mut skipped = Skipped::default();
    let test = cmd!(sh, "cargo test --workspace --no-fail-fast {args...}");
    eprintln!("$ {test}");
    let mut child = Command::from(test).stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().expect("stdout is piped");
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        skipped.note(&line);
    }
    let status = child.wait()?;
    skipped.report();
    if !status.success() {
        bail!("tests failed; the failures are listed above");
    }
    Ok(())
}

/// Tests that reported themselves as skipped, counted by their reason.
#[derive(Default)]
struct Skipped(BTreeMap<String, usize>);

impl Skipped {
    /// Reads one line of a test program's output: `test NAME ... ignored, REASON`.
    fn note(&mut self, line: &str) {
        let Some((name, outcome)) = line.split_once(" ... ") else {
            return;
        };
        let Some(reason) = outcome.trim_start().strip_prefix("ignored") else {
            return;
        };
        // An ignored documentation test is an illustration, not a test that could not run.
        if name.starts_with("test ") && !name.contains(" (line ") {
            let reason = reason.trim_start_matches([',', ' ']).trim_end();
            let reason = if reason.is_empty() { "no reason given" } else { reason };
            *self.0.entry(reason.to_owned()).or_default() += 1;
        }
    }

    fn report(&self) {
        if self.0.is_empty() {
            println!("\nskipped: none");
        }
        for (reason, count) in &self.0 {
            println!("\nskipped: {count} tests ({reason})");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Skipped;

    #[test]
    fn skipped_tests_are_counted_by_reason() {
        let mut skipped = Skipped::default();
        for line in [
            "test gpu::a ... ignored, no driver",
            "test gpu::bb   ... ignored, no driver",
            "test c ... ignored",
            "test d ... ok",
            "test src/lib.rs - f (line 3) ... ignored",
            "noise ... ignored, not a test",
        ] {
            skipped.note(line);
        }
        let counts: Vec<_> = skipped
            .0
            .iter()
            .map(|(reason, count)| (reason.as_str(), *count))
            .collect();
        assert_eq!(counts, [("no driver", 2), ("no reason given", 1)]);
    }
}
