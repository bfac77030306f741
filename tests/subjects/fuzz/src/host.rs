//! The reference: all programs in one executable, compiled by rustc with next to no optimization.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

use crate::error::{Error, io};
use crate::generator::{OUTPUTS, Program};
use crate::inputs::CASES;
use crate::source;

/// What the reference says about one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// The output words of all cases.
    Outputs(Vec<u64>),
    /// It panicked: the program is not total, which is a fault of the generator.
    Panicked,
    /// It does not compile; the first message.
    Refused(String),
}

/// Compiles and runs `programs` on the host. `inputs` has those of each program, one after the other.
///
/// A program that rustc refuses is left out of a second attempt, so that reductions may try what they like.
///
/// # Errors
/// When rustc cannot be run, or refuses text that is of no program.
pub fn run(programs: &[Program], inputs: &[u64], folder: &Path) -> Result<Vec<Reference>, Error> {
    fs::create_dir_all(folder).map_err(io(folder))?;
    let mut results: Vec<Option<Reference>> = vec![None; programs.len()];
    loop {
        let open: Vec<usize> = (0..programs.len()).filter(|&at| results[at].is_none()).collect();
        if open.is_empty() {
            break;
        }
        let chosen: Vec<Program> = open.iter().map(|&at| programs[at].clone()).collect();
        let per_program = inputs.len() / programs.len();
        let words: Vec<u64> = open
            .iter()
            .flat_map(|&at| inputs[at * per_program..(at + 1) * per_program].iter().copied())
            .collect();
        match compile(&chosen, folder)? {
            Ok(executable) => {
                let outputs = execute(&executable, &words, folder)?;
                for (&at, words) in open.iter().zip(outputs.chunks(1 + CASES * OUTPUTS)) {
                    results[at] = Some(match words[0] {
                        0 => Reference::Outputs(words[1..].to_vec()),
                        _ => Reference::Panicked,
                    });
                }
            }
            Err(refused) => {
                for (at, message) in refused {
                    results[open[at]] = Some(Reference::Refused(message));
                }
            }
        }
    }
    Ok(results
        .into_iter()
        .map(|result| result.expect("none is open"))
        .collect())
}

/// Compiles programs into one executable, or tells which ones rustc refuses, and why.
#[allow(clippy::type_complexity)]
fn compile(programs: &[Program], folder: &Path) -> Result<Result<PathBuf, Vec<(usize, String)>>, Error> {
    let source = source::host(programs, CASES);
    let root = folder.join("host.rs");
    fs::write(&root, &source.text).map_err(io(&root))?;
    let executable = folder.join(format!("host{}", env::consts::EXE_SUFFIX));
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "bin",
            "--error-format",
            "json",
            "--cap-lints",
            "allow",
        ])
        // The less of LLVM the reference goes through, the better.
        .args([
            "-Copt-level=0",
            "-Coverflow-checks=off",
            "-Cdebug-assertions=on",
            "-Cdebuginfo=0",
        ])
        .arg(&root)
        .arg("-o")
        .arg(&executable)
        .output()
        .map_err(io(Path::new(&rustc)))?;
    if output.status.success() {
        return Ok(Ok(executable));
    }
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut seen = BTreeSet::new();
    let mut refused = Vec::new();
    for message in messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        let mut lines = Vec::new();
        span_lines(&message["spans"], &mut lines);
        let at = source
            .lines
            .iter()
            .position(|range| lines.iter().any(|line| range.contains(line)));
        if let Some(at) = at
            && message["level"] == "error"
            && seen.insert(at)
        {
            refused.push((at, message["rendered"].as_str().unwrap_or_default().to_owned()));
        }
    }
    if refused.is_empty() {
        return Err(Error::Rustc(messages));
    }
    Ok(Err(refused))
}

/// The lines of spans, also of the places that macros were called at.
fn span_lines(spans: &Value, lines: &mut Vec<usize>) {
    for span in spans.as_array().map(Vec::as_slice).unwrap_or_default() {
        lines.extend(span["line_start"].as_u64().map(|line| line as usize));
        if !span["expansion"].is_null() {
            span_lines(&Value::Array(vec![span["expansion"]["span"].clone()]), lines);
        }
    }
}

fn execute(executable: &Path, inputs: &[u64], folder: &Path) -> Result<Vec<u64>, Error> {
    let (read, written) = (folder.join("inputs.bin"), folder.join("outputs.bin"));
    let bytes: Vec<u8> = inputs.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(&read, bytes).map_err(io(&read))?;
    let output = Command::new(executable)
        .args([&read, &written])
        .output()
        .map_err(io(executable))?;
    if !output.status.success() {
        return Err(Error::Reference(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let bytes = fs::read(&written).map_err(io(&written))?;
    Ok(bytes
        .as_chunks()
        .0
        .iter()
        .map(|&chunk| u64::from_le_bytes(chunk))
        .collect())
}
