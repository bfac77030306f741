//! Findings as files: the source of a program that failed once, kept as a subject.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::compare::Finding;
use crate::error::{Error, io};
use crate::generator::Program;
use crate::inputs::inputs;
use crate::tree::{Kind, Node};

/// A finding of the folder `findings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The program.
    pub program: Program,
    /// Its inputs.
    pub inputs: Vec<u64>,
    /// Why it still fails, if it does: what follows `//! Open:`.
    pub open: Option<String>,
}

/// The folder of the repository's findings.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("findings")
}

/// All findings of a folder, by name.
///
/// # Errors
/// When a file cannot be read, or has no line `//! Inputs: seed S, program N`.
pub fn read(folder: &Path) -> Result<Vec<Kept>, Error> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(io(folder))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    paths.sort();
    paths.iter().map(|path| read_one(path)).collect()
}

fn read_one(path: &Path) -> Result<Kept, Error> {
    let text = fs::read_to_string(path).map_err(io(path))?;
    let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start)).map(str::trim);
    let numbers: Option<(u64, u64)> = line("//! Inputs: seed ").and_then(|rest| {
        let (seed, number) = rest.split_once(", program ")?;
        Some((seed.parse().ok()?, number.parse().ok()?))
    });
    let Some((seed, number)) = numbers else {
        return Err(Error::Option(format!(
            "{}: a finding needs a line `//! Inputs: seed S, program N`",
            path.display()
        )));
    };
    let body: Vec<&str> = text.lines().filter(|line| !line.starts_with("//!")).collect();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Kept {
        open: line("//! Open:").map(str::to_owned),
        program: Program {
            name,
            features: Vec::new(),
            tree: Node::new(Kind::Group, &body.join("\n"), Vec::new()),
        },
        inputs: inputs(seed, number),
    })
}

/// Writes a finding into a folder, formatted if there is a rustfmt.
///
/// # Errors
/// When the file cannot be written.
pub fn write(finding: &Finding, seed: u64, number: u64, toolchain: &str, folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).map_err(io(folder))?;
    let path = folder.join(format!("s{seed}_{}.rs", finding.program.name));
    let difference = finding.difference.to_string();
    let difference = difference.lines().next().unwrap_or_default();
    let text = format!(
        "//! Made of: {}.\n//! Inputs: seed {seed}, program {number}\n//! Fails with: {toolchain}\n//! Seen: \
         {difference}\n\n{}",
        finding.program.features.join(", "),
        finding.program.tree.render()
    );
    fs::write(&path, text).map_err(io(&path))?;
    let rustfmt = env::var_os("RUSTFMT").unwrap_or_else(|| "rustfmt".into());
    // Only the layout is at stake.
    let _ = Command::new(rustfmt).args(["--edition", "2024"]).arg(&path).output();
    Ok(path)
}
