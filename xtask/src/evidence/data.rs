//! The result files of `docs/results`: one for each topic and device, JSON, or lines of comma-separated values for the
//! checks.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value};

use super::shipped::{MUTANTS, Shipped, UNKNOWN};

/// When and where something was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct About {
    /// The day of the run.
    pub date: String,
    /// The commit that was built.
    pub commit: String,
    /// The GPU, or the processor.
    pub device: String,
    /// The driver's version, or the CUDA version that it supports.
    pub driver: String,
}

impl About {
    /// As the object `about` of a result file has it.
    pub fn of(value: &Value) -> Self {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| value[*name].as_str());
            found.unwrap_or("unknown").to_owned()
        };
        Self {
            date: text(&["date"]),
            commit: text(&["commit"]),
            device: text(&["device", "processor"]),
            driver: text(&["driver", "cuda"]),
        }
    }

    /// The commit and the day, as text.
    pub fn when(&self) -> String {
        format!("{} ({})", short(&self.commit), self.date)
    }
}

/// The first ten digits of a commit.
pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// One result file.
#[derive(Clone, Debug)]
pub struct Topic {
    /// The topic, such as `squares`.
    pub name: String,
    /// When and where.
    pub about: About,
    /// The kernels that were measured, by their digests; none where nothing of the result depends on a kernel that
    /// ships.
    pub digests: BTreeMap<String, String>,
    /// The file.
    pub value: Value,
}

/// One check of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was checked.
    pub check: String,
    /// The kernel.
    pub kernel: String,
    /// Its digest.
    pub digest: String,
    /// How it ended: `passed`, `failed`, `no end`, `not run`.
    pub outcome: String,
    /// When and where.
    pub about: About,
    /// The reason where it did not pass.
    pub note: String,
}

/// The topics that depend on no kernel that ships: the banks of a GPU by CUDA C++, the planner against another, the
/// simulator on a CPU.
const OF_NO_KERNEL: [&str; 3] = ["banks", "matmul-heuristics", "simulator"];

/// The head of a file of checks.
pub const CHECKS_HEAD: &str = "check,kernel,digest,outcome,date,commit,device,driver,note";

impl Check {
    /// Reads a line; only the note, at its end, may have commas.
    pub fn parse(line: &str) -> anyhow::Result<Self> {
        let cells: Vec<&str> = line.splitn(9, ',').collect();
        let &[check, kernel, digest, outcome, date, commit, device, driver, note] = &cells[..] else {
            bail!("`{line}` has {} cells, a check has 9", cells.len());
        };
        Ok(Self {
            check: check.to_owned(),
            kernel: kernel.to_owned(),
            digest: digest.to_owned(),
            outcome: outcome.to_owned(),
            about: About {
                date: date.to_owned(),
                commit: commit.to_owned(),
                device: device.to_owned(),
                driver: driver.to_owned(),
            },
            note: note.to_owned(),
        })
    }

    /// The line.
    pub fn line(&self) -> String {
        let About {
            date,
            commit,
            device,
            driver,
        } = &self.about;
        [
            &self.check,
            &self.kernel,
            &self.digest,
            &self.outcome,
            date,
            commit,
            device,
            driver,
            &self.note,
        ]
        .map(String::as_str)
        .join(",")
    }
}

/// Reads lines of checks below their head.
pub fn checks(text: &str) -> anyhow::Result<Vec<Check>> {
    text.lines()
        .filter(|line| !line.is_empty() && *line != CHECKS_HEAD)
        .map(Check::parse)
        .collect()
}

/// Everything that is filed.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The kernels that ship.
    pub shipped: Shipped,
    /// By topic; of two devices the first by name.
    pub topics: BTreeMap<String, Topic>,
    /// The checks of kernels.
    pub checks: Vec<Check>,
    /// The digest at which each line of the planner's speeds was measured, by its kernel; [`UNKNOWN`] for lines without
    /// one.
    pub speeds: BTreeMap<String, String>,
}

impl Evidence {
    /// Reads `docs/results` and the planner's speeds below a repository's root.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let folder = root.join("docs/results");
        let mut evidence = Self {
            shipped: Shipped::read(&folder.join("digests.txt"))?,
            speeds: speeds(&std::fs::read_to_string(root.join("host/src/dispatch/speed.txt"))?),
            ..Self::default()
        };
        let mut files: Vec<_> = std::fs::read_dir(&folder)?
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<_>>()?;
        files.sort();
        for file in files {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let within = || format!("{}", file.display());
            if name.ends_with("-checks.csv") {
                evidence
                    .checks
                    .extend(checks(&std::fs::read_to_string(&file)?).with_context(within)?);
            } else if name.ends_with(".json") {
                let value = serde_json::from_str(&std::fs::read_to_string(&file)?).with_context(within)?;
                let topic = Topic::of(value).with_context(within)?;
                evidence.topics.entry(topic.name.clone()).or_insert(topic);
            }
        }
        Ok(evidence)
    }

    /// Why a topic is not of the kernels that ship; `None` where it is. A topic that was never filed is stale too.
    pub fn stale(&self, topic: &str) -> Option<String> {
        let Some(topic) = self.topics.get(topic) else {
            return Some("never measured".to_owned());
        };
        if topic.name == MUTANTS {
            let is_old = |(name, digest): &(&String, &String)| topic.digests.get(*name) != Some(*digest);
            let (old, all) = (
                self.shipped.mutants().filter(is_old).count(),
                self.shipped.mutants().count(),
            );
            return (old > 0).then(|| format!("{old} of {all} were not run as they are"));
        }
        let of: Vec<_> = topic.digests.iter().collect();
        let changed: Vec<_> = of
            .iter()
            .filter(|(kernel, digest)| !self.shipped.is_current(kernel, digest))
            .collect();
        if changed.is_empty() {
            if of.is_empty() && !OF_NO_KERNEL.contains(&topic.name.as_str()) {
                return Some("its kernels are unknown".to_owned());
            }
            let [moved, rows] = self.shipped.moved.get(&topic.name).copied().unwrap_or_default();
            return (moved > 0).then(|| format!("dispatch picks other kernels in {moved} of {rows} rows"));
        }
        let unknown = changed.iter().filter(|(_, digest)| *digest == UNKNOWN).count();
        Some(match (unknown, &changed[..]) {
            (0, [(kernel, _)]) => format!("`{kernel}` has changed"),
            (0, _) => format!("{} of {} kernels have changed", changed.len(), of.len()),
            _ => format!("{unknown} of {} digests are unknown", of.len()),
        })
    }

    /// The check of a kernel at the digest that ships, whatever its outcome; else the newest of another digest.
    pub fn check(&self, check: &str, kernel: &str) -> Option<&Check> {
        let of = || {
            self.checks
                .iter()
                .filter(|row| row.check == check && row.kernel == kernel)
        };
        of().find(|row| self.shipped.is_current(kernel, &row.digest))
            .or_else(|| of().max_by(|a, b| a.about.cmp(&b.about)))
    }
}

/// The digest of each kernel's line of the speeds, its last word. The first line names the architecture, others the
/// coefficients that an element type shares.
pub fn speeds(text: &str) -> BTreeMap<String, String> {
    let is_of_kernel = |line: &&str| !["shared ", "fp8 "].iter().any(|first| line.starts_with(first));
    let lines = text.lines().skip(1).filter(is_of_kernel);
    lines
        .filter_map(|line| {
            let (kernel, _) = line.split_once(' ')?;
            let (_, digest) = line.rsplit_once(' ')?;
            Some((kernel.to_owned(), digest.to_owned()))
        })
        .collect()
}

impl Topic {
    /// A result file: an object with `topic`, `about`, `digests` and whatever else.
    pub fn of(value: Value) -> anyhow::Result<Self> {
        let digests = value["digests"].as_object().context("has no `digests`")?;
        let digest = |value: &Value| value.as_str().unwrap_or(UNKNOWN).to_owned();
        Ok(Self {
            name: value["topic"].as_str().context("has no `topic`")?.to_owned(),
            about: About::of(&value["about"]),
            digests: digests
                .iter()
                .map(|(kernel, value)| (kernel.clone(), digest(value)))
                .collect(),
            value,
        })
    }

    /// The elements of a list.
    pub fn list(&self, name: &str) -> &[Value] {
        self.value[name].as_array().map_or(&[], Vec::as_slice)
    }
}

/// The kernels that a result names, with the digest that stands beside the name; [`UNKNOWN`] without one.
pub fn digests_within(value: &Value) -> Map<String, Value> {
    let mut digests = Map::new();
    collect(value, None, &mut digests);
    digests
}

fn collect(value: &Value, outer: Option<&str>, digests: &mut Map<String, Value>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, outer, digests)),
        Value::Object(object) => {
            let digest = object.get("digest").and_then(Value::as_str).or(outer);
            let name = ["kernel", "symbol"].iter().find_map(|name| object.get(*name)?.as_str());
            if let Some(name) = name {
                let known = digests.get(name).and_then(Value::as_str).unwrap_or(UNKNOWN);
                let digest = digest.filter(|_| known == UNKNOWN).unwrap_or(known).to_owned();
                digests.insert(name.to_owned(), digest.into());
            }
            object.values().for_each(|value| collect(value, digest, digests));
        }
        _ => {}
    }
}

/// The same with numbers of no more than six digits that count: more say nothing and take room.
pub fn rounded(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(rounded).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(name, value)| (name.clone(), rounded(value)))
            .collect(),
        Value::Number(number) if number.is_f64() => {
            let short = number
                .as_f64()
                .and_then(|number| format!("{number:.5e}").parse::<f64>().ok());
            short.map_or(Value::Null, Value::from)
        }
        other => other.clone(),
    }
}

/// An object as text: an element of a list at the top a line, everything else as short as it can be.
pub fn text(value: &Value) -> String {
    let empty = Map::new();
    let mut fields = Vec::new();
    for (name, value) in value.as_object().unwrap_or(&empty) {
        let value = match value.as_array() {
            Some(rows) if !rows.is_empty() => {
                let rows: Vec<_> = rows.iter().map(Value::to_string).collect();
                format!("[\n{}\n]", rows.join(",\n"))
            }
            _ => value.to_string(),
        };
        fields.push(format!("{}:{value}", Value::from(name.as_str())));
    }
    format!("{{{}}}\n", fields.join(",\n"))
}
