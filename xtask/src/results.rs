//! Results that come back from a GPU machine, filed by topic and device.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value, json};
use xshell::{Shell, TempDir, cmd};

use crate::evidence::data::{CHECKS_HEAD, Check, Topic, checks, digests_within, rounded, text};
use crate::evidence::shipped::{MUTANTS, Shipped, UNKNOWN};
use crate::evidence::{self, markdown};
use crate::mutants::{self, Runs};
use crate::wavefronts;

/// Files what one or several runs wrote, each a folder or the `results.tar` of one, the newest last; then writes the
/// pages that quote it.
pub fn run(sh: &Shell, root: &Path, runs: &[PathBuf]) -> anyhow::Result<()> {
    let here = std::env::current_dir()?;
    for run in runs {
        let path = here.join(run);
        let packed = path.join("results.tar");
        let tar = if path.is_dir() { &packed } else { &path };
        if tar.is_file() {
            file(sh, root, unpack(sh, tar)?.path())?;
        } else {
            file(sh, root, &path)?;
        }
    }
    evidence::run(root, true)
}

fn unpack(sh: &Shell, tar: &Path) -> anyhow::Result<TempDir> {
    let folder = sh.create_temp_dir()?;
    let into = folder.path();
    cmd!(sh, "tar -xf {tar} -C {into}").quiet().run()?;
    Ok(folder)
}

/// Where and when a run was.
struct Run<'r> {
    root: &'r Path,
    about: Value,
    slug: String,
}

impl<'r> Run<'r> {
    fn read(sh: &Shell, root: &'r Path, folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join("about.json");
        let about: Value = serde_json::from_str(&sh.read_file(&path)?)
            .with_context(|| format!("{} is not what run.sh wrote", path.display()))?;
        for name in ["date", "device", "driver", "commit"] {
            ensure!(about[name].is_string(), "about.json has no `{name}`");
        }
        let slug = slug(about["device"].as_str().unwrap_or_default());
        Ok(Self { root, about, slug })
    }

    fn field(&self, name: &str) -> &str {
        self.about[name].as_str().unwrap_or_default()
    }

    /// The file of a topic.
    fn path(&self, name: &str) -> PathBuf {
        self.root.join("docs/results").join(format!("{}-{name}", self.slug))
    }

    /// Writes a topic: what was measured, where and when, of which kernels.
    fn write(
        &self,
        sh: &Shell,
        topic: &str,
        digests: Map<String, Value>,
        mut fields: Map<String, Value>,
    ) -> anyhow::Result<()> {
        let mut about = fields
            .get("about")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        for name in ["date", "device", "driver", "commit"] {
            about.insert(name.to_owned(), self.about[name].clone());
        }
        // Where the file says it itself.
        for name in ["date", "device", "driver", "commit"] {
            fields.remove(name);
        }
        fields.insert("about".to_owned(), about.into());
        fields.insert("digests".to_owned(), digests.into());
        fields.insert("topic".to_owned(), topic.into());
        let path = self.path(&format!("{topic}.json"));
        sh.write_file(&path, text(&rounded(&fields.into())))?;
        println!("{}", path.display());
        Ok(())
    }
}

/// Files one run.
fn file(sh: &Shell, root: &Path, folder: &Path) -> anyhow::Result<()> {
    let run = Run::read(sh, root, folder)?;
    let mut filed = 0;
    let mut parts = BTreeMap::<&str, Vec<Value>>::new();
    // What the coefficients of a table are of that this run has fitted.
    let mut fitted = BTreeSet::from(["arch".to_owned()]);
    for path in sh.read_dir(folder)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        // `pick-f32` and `pick-f64` are parts of one topic.
        let topic = stem.strip_prefix("bench-").unwrap_or(stem);
        let of_types = ["pick", "calibration", "random"]
            .into_iter()
            .find(|whole| topic.starts_with(whole));
        match extension {
            "json" if stem == "about" => continue,
            "json" => {
                let value: Value = serde_json::from_str(&sh.read_file(&path)?).with_context(|| name.to_owned())?;
                match of_types {
                    Some(topic) => {
                        if topic == "calibration" {
                            fitted.extend(types(&value));
                        }
                        parts.entry(topic).or_default().push(value);
                    }
                    None => {
                        if topic == "fp8-choice" {
                            fitted.insert("fp8".to_owned());
                        }
                        let mut digests = digests_within(&value);
                        digests.extend(value["digests"].as_object().cloned().unwrap_or_default());
                        run.write(sh, topic, digests, value.as_object().cloned().unwrap_or_default())?;
                    }
                }
            }
            // Plots that a page shows have their place already.
            "svg" if run.path(&format!("{topic}.svg")).exists() => {
                sh.copy_file(&path, run.path(&format!("{topic}.svg")))?
            }
            "svg" if root.join(format!("docs/img/{topic}.svg")).exists() => {
                sh.copy_file(&path, root.join(format!("docs/img/{topic}.svg")))?
            }
            _ => continue,
        }
        filed += 1;
    }
    for (topic, values) in parts {
        let old = std::fs::read_to_string(run.path(&format!("{topic}.json"))).ok();
        let old = old.map(|text| serde_json::from_str(&text)).transpose()?;
        let (digests, fields) = merged(old, values);
        run.write(sh, topic, digests, fields)?;
    }
    filed += file_checks(sh, folder, &run)?;
    filed += file_tables(sh, folder, &run)?;
    // What the planner knows of our kernels' speed, measured anew.
    let speed = folder.join("speed.txt");
    if speed.exists() {
        let target = root.join("host/src/dispatch/speed.txt");
        let table = merged_speeds(&sh.read_file(&target)?, &sh.read_file(&speed)?, &fitted);
        sh.write_file(&target, table)?;
        println!("{}", target.display());
        filed += 1;
    }
    if filed == 0 {
        bail!("{} holds no result", folder.display());
    }
    Ok(())
}

/// What was measured of one element type after the other, in one: rows of a type and what sums them up replace those
/// that were filed, and so do digests. Those of kernels that no row names any more go.
fn merged(old: Option<Value>, new: Vec<Value>) -> (Map<String, Value>, Map<String, Value>) {
    let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (mut digests, mut fields) = (Map::new(), Map::new());
    for value in old.into_iter().chain(new) {
        let of = |row: &Value| row["dtype"].as_str().unwrap_or_default().to_owned();
        let lists = ["rows", "summary"].map(|name| {
            let list = |fields: &Map<String, Value>| fields.get(name).and_then(Value::as_array).cloned();
            let mut new = list(&object(&value)).unwrap_or_default();
            // What sums up all types of a part says nothing of all parts.
            new.retain(|row| !of(row).is_empty());
            let types: Vec<String> = new.iter().map(of).collect();
            let before = list(&fields).unwrap_or_default();
            let kept = before.into_iter().filter(|row| !types.contains(&of(row)));
            (name, kept.chain(new).collect::<Vec<_>>())
        });
        digests.extend(digests_within(&value));
        digests.extend(object(&value["digests"]));
        fields = object(&value);
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        fields.extend(lists.map(|(name, list)| (name.to_owned(), list.into())));
    }
    let kernels = fields.get("rows").map(kernels).unwrap_or_default();
    digests.retain(|kernel, _| kernels.contains(kernel));
    (digests, fields)
}

/// The element types of a file's rows.
fn types(value: &Value) -> BTreeSet<String> {
    let rows = value["rows"].as_array().into_iter().flatten();
    rows.filter_map(|row| row["dtype"].as_str().map(str::to_owned))
        .collect()
}

/// A table of coefficients with the lines of a new one that are of what was fitted, and else those of before: another
/// run may have fitted the other types.
fn merged_speeds(before: &str, new: &str, fitted: &BTreeSet<String>) -> String {
    // `arch`, `fp8`, or the element type: that of a symbol is its last part.
    fn of(line: &str) -> &str {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "shared" => rest.split(' ').next().unwrap_or(rest),
            name => name.rsplit('_').next().unwrap_or(name),
        }
    }
    let mut done = BTreeSet::new();
    let mut text = String::new();
    for what in new.lines().chain(before.lines()).map(of) {
        if done.insert(what) {
            let from = if fitted.contains(what) { new } else { before };
            for line in from.lines().filter(|line| of(line) == what) {
                text += line;
                text += "\n";
            }
        }
    }
    text
}

/// Every kernel that a value or something in it names as its `kernel`.
fn kernels(value: &Value) -> BTreeSet<String> {
    let within = |value: &Value| kernels(value);
    match value {
        Value::Array(values) => values.iter().flat_map(within).collect(),
        Value::Object(fields) => {
            let own = fields.get("kernel").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(within)).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Puts the rows of a run into the file of checks, in place of older ones of the same check and kernel. Rows of kernels
/// that no longer ship go.
fn file_checks(sh: &Shell, folder: &Path, run: &Run<'_>) -> anyhow::Result<usize> {
    let found = folder.join("checks.csv");
    if !found.exists() {
        return Ok(0);
    }
    let path = run.path("checks.csv");
    let old = if path.exists() {
        checks(&sh.read_file(&path)?)?
    } else {
        Vec::new()
    };
    let mut rows = BTreeMap::<(String, String), Check>::new();
    for row in old.into_iter().chain(checks(&sh.read_file(&found)?)?) {
        let of = (row.check.clone(), row.kernel.clone());
        // What once passed is not undone by a check that did not come to its end, on a machine with more to do.
        let has_passed = |known: &Check| known.outcome == "passed" && known.digest == row.digest;
        if row.outcome != "no end" || !rows.get(&of).is_some_and(has_passed) {
            rows.insert(of, row);
        }
    }
    let shipped = Shipped::read(&run.root.join("docs/results/digests.txt"))?;
    rows.retain(|(_, kernel), _| shipped.digest(kernel).is_some());
    let lines: Vec<String> = rows.values().map(Check::line).collect();
    sh.write_file(&path, format!("{CHECKS_HEAD}\n{}\n", lines.join("\n")))?;
    println!("{}", path.display());
    Ok(1)
}

/// Makes the tables that hold the simulator against the GPU's tools.
fn file_tables(sh: &Shell, folder: &Path, run: &Run<'_>) -> anyhow::Result<usize> {
    let mut filed = 0;
    let about = ["device", "driver", "commit", "date"]
        .map(|name| run.field(name))
        .join(", ");
    let wavefronts = folder.join("wavefronts.txt");
    if wavefronts.exists() {
        let page = wavefronts::table(sh, &sh.read_file(&wavefronts)?, &about)?;
        let fields = markdown::table(&page, |text| text == about);
        run.write(sh, "wavefronts", launched(sh, folder, &fields)?, fields)?;
        filed += 1;
    }
    let of_mutants = folder.join("mutants");
    if of_mutants.exists() {
        let of_bundle = Shipped::parse(&sh.read_file(folder.join("digests.txt"))?)?;
        let mut runs = Runs::read(sh, &of_mutants, &of_bundle)?;
        if let Ok(old) = std::fs::read_to_string(run.path("mutants.json")) {
            runs.keep(
                &Topic::of(serde_json::from_str(&old)?)?,
                &Shipped::read(&run.root.join("docs/results/digests.txt"))?,
            );
        }
        let page = mutants::table(sh, &runs, &about)?;
        let fields = markdown::table(&page, |text| text == about);
        run.write(sh, "mutants", runs.digests(), fields)?;
        filed += 1;
    }
    let banks = folder.join("banks.md");
    if banks.exists() {
        let fields = markdown::table(&sh.read_file(&banks)?, |text| text.contains("Commit:"));
        // They are no kernels of ours.
        run.write(sh, "banks", Map::new(), fields)?;
        filed += 1;
    }
    Ok(filed)
}

/// The kernels of a table by their digests, as the bundle had them (`digests.txt`): those that its rows begin with; all
/// others are mutants.
fn launched(sh: &Shell, folder: &Path, fields: &Map<String, Value>) -> anyhow::Result<Map<String, Value>> {
    let digests = Shipped::parse(&sh.read_file(folder.join("digests.txt"))?)?;
    let mut launched = Map::new();
    for row in fields.get("rows").and_then(Value::as_array).into_iter().flatten() {
        let name = row[0].as_str().unwrap_or_default();
        let kernel = name.split(',').next().unwrap_or_default();
        let kernel = if digests.digest(kernel).is_some() {
            kernel
        } else {
            MUTANTS
        };
        launched.insert(kernel.to_owned(), json!(digests.digest(kernel).unwrap_or(UNKNOWN)));
    }
    Ok(launched)
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
#[path = "results/tests.rs"]
mod tests;
