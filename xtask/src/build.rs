//! What cargo built and where, read from its JSON messages.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::Value;
use xshell::{Cmd, Shell, cmd};

/// The messages of a cargo command, which must not bring its own `--message-format`.
pub struct Messages(Vec<Value>);

/// Runs `cargo ARGS` and keeps its messages; diagnostics go to stderr as usual.
pub fn cargo(sh: &Shell, args: &[&str]) -> anyhow::Result<Messages> {
    let command: Cmd<'_> = cmd!(sh, "cargo {args...} --message-format=json-render-diagnostics");
    let messages = command
        .read()?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>();
    Ok(Messages(messages.context("cargo's messages are not JSON")?))
}

impl Messages {
    fn with_reason<'a>(&'a self, reason: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |message| message["reason"] == reason)
    }

    /// The programs of the packages asked for: (target kind, target name, path).
    pub fn executables(&self) -> impl Iterator<Item = (&str, &str, PathBuf)> {
        self.with_reason("compiler-artifact").filter_map(|artifact| {
            let target = &artifact["target"];
            Some((
                target["kind"][0].as_str()?,
                target["name"].as_str()?,
                artifact["executable"].as_str()?.into(),
            ))
        })
    }

    /// The test programs: where each one's source is, the program, and its package's manifest.
    pub fn tests(&self) -> impl Iterator<Item = (PathBuf, PathBuf, PathBuf)> {
        let tests = self
            .with_reason("compiler-artifact")
            .filter(|artifact| artifact["profile"]["test"] == true);
        tests.filter_map(|artifact| {
            Some((
                artifact["target"]["src_path"].as_str()?.into(),
                artifact["executable"].as_str()?.into(),
                artifact["manifest_path"].as_str()?.into(),
            ))
        })
    }

    /// Where the build script of `package` wrote.
    pub fn out_dir(&self, package: &str) -> Option<PathBuf> {
        self.with_reason("build-script-executed")
            .find(|message| {
                message["package_id"]
                    .as_str()
                    .is_some_and(|id| names_package(id, package))
            })
            .and_then(|message| Some(message["out_dir"].as_str()?.into()))
    }
}

/// Whether a package id such as `path+file:///r/host#tilewright@0.1.0` (or `.../xtask#0.1.0`, where folder and name
/// agree) means `package`.
fn names_package(id: &str, package: &str) -> bool {
    id.split_once('#')
        .is_some_and(|(url, fragment)| match fragment.split_once('@') {
            Some((name, _version)) => name == package,
            None => url.ends_with(&format!("/{package}")),
        })
}

#[cfg(test)]
mod tests {
    use super::names_package;

    #[test]
    fn package_ids_name_their_package_in_both_forms() {
        assert!(names_package("path+file:///r/host#tilewright@0.1.0", "tilewright"));
        assert!(names_package("path+file:///r/xtask#0.1.0", "xtask"));
        assert!(!names_package(
            "path+file:///r/host#tilewright-contract@0.1.0",
            "tilewright"
        ));
        assert!(!names_package("path+file:///r/notxtask#0.1.0", "xtask"));
    }
}
