//! Whether what README, guide and results page say of GPUs is of the kernels that ship: `cargo xtask evidence`.
//!
//! Everything generated is written anew in memory and held against the files, so that a changed digit, a changed kernel
//! and a result that was not filed all show as a difference. Nothing here needs the built PTX: its digests are on
//! record in `docs/results/digests.txt`, which `tests/evidence.rs` holds to it.

mod blocks;
pub mod data;
mod figures;
pub mod filed;
pub mod markdown;
mod page;
mod pages;
pub mod shipped;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use blocks::{OF_EACH, Standing, standing};
use data::Evidence;
use page::{Speed, speed};

/// The most files that `docs/results` may hold: one a topic and device.
const MOST_FILES: usize = 29;

/// Holds the pages below `root` against the results, or with `write` writes them.
pub fn run(root: &Path, write: bool) -> anyhow::Result<()> {
    let judged = judge(root)?;
    let mut problems = judged.problems;
    for (file, text) in &judged.files {
        let path = root.join(file);
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        if old == *text {
            continue;
        }
        if write {
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            println!("{}", file.display());
        } else {
            problems.extend(differences(file, &old, text));
        }
    }
    println!("{}", judged.summary);
    if problems.is_empty() {
        return Ok(());
    }
    for problem in &problems {
        eprintln!("{problem}");
    }
    bail!(
        "{} place(s) say what the results do not; `cargo xtask evidence --write` writes figures, tables and what is \
         stale",
        problems.len()
    )
}

/// What the files should read.
pub struct Judged {
    /// By their paths from the root.
    pub files: BTreeMap<PathBuf, String>,
    /// What no command mends, a line each.
    pub problems: Vec<String>,
    /// What has evidence and what has not, in one line.
    pub summary: String,
}

/// Writes every page anew, in memory.
pub fn judge(root: &Path) -> anyhow::Result<Judged> {
    let evidence = Evidence::read(root)?;
    let figures = figures::all(&evidence);
    let mut judged = Judged {
        files: BTreeMap::from([(PathBuf::from("docs/results/README.md"), page::page(&evidence))]),
        problems: Vec::new(),
        summary: summary(&evidence),
    };
    for page in quoting(root)? {
        let text = std::fs::read_to_string(root.join(&page))?;
        let renewed = pages::renew(&page.display().to_string(), &text, &evidence, &figures)?;
        judged.problems.extend(renewed.problems);
        judged.files.insert(page, renewed.text);
    }
    // A check that failed on a kernel that ships cannot be written away.
    for kernel in &evidence.shipped.kernels {
        for check in OF_EACH {
            if let Standing::Failed(row) = standing(&evidence, check, kernel) {
                judged.problems.push(format!(
                    "{} {}: {check} {}: {}",
                    kernel.symbol, kernel.digest, row.outcome, row.note
                ));
            }
        }
    }
    let files = std::fs::read_dir(root.join("docs/results"))?.count();
    if files > MOST_FILES {
        judged
            .problems
            .push(format!("docs/results has {files} files, {MOST_FILES} are the most"));
    }
    Ok(judged)
}

/// The pages that may quote results: README, and the guide without the decisions, which are of their day.
fn quoting(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut pages = vec![PathBuf::from("README.md")];
    for folder in ["docs", "docs/guide/src"] {
        for entry in std::fs::read_dir(root.join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path.strip_prefix(root)?.to_owned());
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// How many of the checks that are wanted of kernels there are, and which topics are stale.
fn summary(evidence: &Evidence) -> String {
    let kernels = &evidence.shipped.kernels;
    let mut held = 0;
    for kernel in kernels {
        let of = OF_EACH
            .iter()
            .filter(|check| matches!(standing(evidence, check, kernel), Standing::Holds(_)));
        held += of.count();
    }
    let picked = kernels.iter().filter(|kernel| kernel.priced_by.is_some()).count();
    let measured = kernels
        .iter()
        .filter(|kernel| speed(evidence, kernel) == Speed::Measured)
        .count();
    let stale: Vec<_> = evidence
        .topics
        .keys()
        .filter(|topic| evidence.stale(topic).is_some())
        .map(String::as_str)
        .collect();
    format!(
        "evidence: {held} of {} checks of {} kernels, {measured} of {picked} speeds; stale topics: {}",
        kernels.len() * OF_EACH.len(),
        kernels.len(),
        if stale.is_empty() {
            "none".to_owned()
        } else {
            stale.join(", ")
        }
    )
}

/// The first lines in which a file differs from what it should read.
fn differences(file: &Path, old: &str, new: &str) -> Vec<String> {
    const SHOWN: usize = 12;
    let known: std::collections::BTreeSet<&str> = new.lines().collect();
    let of_old: std::collections::BTreeSet<&str> = old.lines().collect();
    let gone = old.lines().enumerate().filter(|(_, line)| !known.contains(line));
    let missing = new.lines().filter(|line| !of_old.contains(line));
    let gone = gone.map(|(at, line)| format!("{}:{}: not by the results: {line}", file.display(), at + 1));
    let missing = missing.map(|line| format!("{}: by the results: {line}", file.display()));
    let mut lines: Vec<String> = gone.take(SHOWN).chain(missing.take(SHOWN)).collect();
    if lines.is_empty() {
        lines.push(format!("{}: its lines are in another order", file.display()));
    }
    lines
}

#[cfg(test)]
pub(crate) mod tests;
