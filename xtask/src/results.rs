//! Results that come back from a GPU machine, filed by date and device.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;
use xshell::Shell;

use crate::{ladder, mutants, root, wavefronts};

/// Makes a table: of the shell, a file that `run.sh` wrote, and a line about the run.
type Table = fn(&Shell, &str, &str) -> anyhow::Result<String>;

/// The files that a table is made of, and their names in docs/results.
const TABLES: [(&str, &str, Table); 2] = [
    ("mutants.txt", "mutants.md", mutants::table),
    ("wavefronts.txt", "wavefronts.md", wavefronts::table),
];

/// The report that the README's ladder comes from.
const LADDER: &str = "bench-ladder.md";

/// Copies each report of `dir` (.json, .md, .svg) to docs/results/DATE-DEVICE-WHAT, makes there the tables that compare the
/// simulator with the GPU's tools, and puts the ladder's table into the README.
pub fn run(sh: &Shell, dir: &Path) -> anyhow::Result<()> {
    let dir = std::env::current_dir()?.join(dir);
    let about = dir.join("about.json");
    let about: Value = serde_json::from_str(&sh.read_file(&about)?)
        .with_context(|| format!("{} is not what run.sh wrote", about.display()))?;
    let field = |name: &str| {
        about[name]
            .as_str()
            .with_context(|| format!("about.json has no `{name}`"))
    };
    let prefix = format!("{}-{}", field("date")?, slug(field("device")?));

    let mut copied = 0;
    for file in sh.read_dir(&dir)? {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name == "about.json" || ![".json", ".md", ".svg"].iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let target = root().join("docs/results").join(format!("{prefix}-{name}"));
        sh.copy_file(&file, &target)?;
        println!("{}", target.display());
        copied += 1;
    }
    // What the planner knows of our kernels' speed, measured anew.
    let speed = dir.join("speed.txt");
    if speed.exists() {
        let target = root().join("planner/src/kernels/speed.txt");
        sh.copy_file(&speed, &target)?;
        println!("{}", target.display());
        copied += 1;
    }
    for (from, to, table) in TABLES {
        let found = dir.join(from);
        if found.exists() {
            let about = format!(
                "{}, driver {}, commit {}, {}.",
                field("device")?,
                field("driver")?,
                field("commit")?,
                field("date")?
            );
            let target = root().join("docs/results").join(format!("{prefix}-{to}"));
            sh.write_file(&target, table(sh, &sh.read_file(&found)?, &about)?)?;
            println!("{}", target.display());
            copied += 1;
        }
    }
    let report = dir.join(LADDER);
    if report.exists() {
        let readme = root().join("README.md");
        let replaced = ladder::replace(&sh.read_file(&readme)?, &sh.read_file(&report)?)?;
        sh.write_file(&readme, replaced)?;
        println!("{}", readme.display());
    }
    if copied == 0 {
        bail!("{} holds no report (.json, .md, .svg, .txt)", dir.display());
    }
    Ok(())
}

/// A device's name as a part of a file name: `NVIDIA H100 80GB HBM3` becomes `h100-80gb-hbm3`.
fn slug(device: &str) -> String {
    let words = device
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let words: Vec<_> = words
        .map(str::to_ascii_lowercase)
        .filter(|word| word != "nvidia")
        .collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn device_names_become_parts_of_file_names() {
        assert_eq!(slug("NVIDIA H200"), "h200");
        assert_eq!(slug("NVIDIA RTX PRO 6000 (Blackwell)"), "rtx-pro-6000-blackwell");
    }
}
