//! The table that holds the simulator's verdicts on the mutants against compute-sanitizer's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Map, Value};
use xshell::{Shell, cmd};

use crate::evidence::data::Topic;
use crate::evidence::shipped::{MUTANT, Shipped, UNKNOWN};
use crate::root;

/// What `run.sh` runs each mutant under, in the order of the table's columns; `alone` is no tool.
const TOOLS: [&str; 5] = ["alone", "memcheck", "racecheck", "initcheck", "synccheck"];

/// The exit status that `run.sh` asks of a tool that has found something.
const FOUND: &str = "99";

/// What the table says of a run that did not end in its time.
const NO_END: &str = "no end";

/// What the table says of a tool that ended without its summary.
const TOOL_FAILED: &str = "tool failed";

/// What the explanation begins with of a report that is of something that the kernel does not do.
const FALSE: &str = "false";

/// Where each difference between table and tools is explained, a line each: `MUTANT TOOL: why`.
pub const EXPLAINED: &str = "xtask/explained/mutants.txt";

/// Makes the table of what the tools said and of what the simulator says now.
pub fn table(sh: &Shell, runs: &Runs, about: &str) -> anyhow::Result<String> {
    let verdicts = cmd!(sh, "cargo run --quiet --release --package mutants -- verdicts").read()?;
    let verdicts: Value = serde_json::from_str(&verdicts).context("the verdicts are JSON")?;
    let explained = sh.read_file(root().join(EXPLAINED)).unwrap_or_default();
    markdown(&verdicts, runs, &explanations(&explained), about)
}

/// One run of one mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    /// What the tool found, or how the run ended without one.
    text: String,
    /// Whether the tool reports anything.
    found: bool,
}

/// What each tool said of each mutant, [`TOOLS`] in their order, and the digest of the mutant that it ran.
#[derive(Debug, Default)]
pub struct Runs(BTreeMap<String, (String, [Run; TOOLS.len()])>);

impl Runs {
    /// Reads the files that `run.sh` left in a folder, named after mutant and tool. A mutant that was not run under
    /// every tool is left out.
    pub fn read(sh: &Shell, folder: &Path, of_bundle: &Shipped) -> anyhow::Result<Self> {
        let mut text = String::new();
        for file in sh.read_dir(folder)? {
            let tool = file.extension().and_then(|tool| tool.to_str()).unwrap_or_default();
            if TOOLS.contains(&tool) {
                text += &String::from_utf8_lossy(&sh.read_binary_file(&file)?);
                text.push('\n');
            }
        }
        Ok(Self::parse(&text, of_bundle))
    }

    /// Reads `== MUTANT TOOL STATUS` and the output below each such line.
    fn parse(text: &str, of_bundle: &Shipped) -> Self {
        let mut found = BTreeMap::<String, BTreeMap<&str, Run>>::new();
        for section in text.split("\n== ").map(|section| section.trim_start_matches("== ")) {
            let (head, output) = section.split_once('\n').unwrap_or((section, ""));
            if let [mutant, tool, status] = head.split(' ').collect::<Vec<_>>()[..] {
                let runs = found.entry(mutant.to_owned()).or_default();
                runs.insert(tool, run(tool, status, output));
            }
        }
        let of_all_tools = found.into_iter().filter_map(|(mutant, mut runs)| {
            let runs: Vec<Run> = TOOLS.iter().filter_map(|tool| runs.remove(tool)).collect();
            let digest = of_bundle.digest(&format!("{MUTANT}{mutant}")).unwrap_or(UNKNOWN);
            Some((mutant, (digest.to_owned(), runs.try_into().ok()?)))
        });
        Self(of_all_tools.collect())
    }

    /// Adds what is filed of mutants that were not run this time and have not changed since.
    pub fn keep(&mut self, filed: &Topic, shipped: &Shipped) {
        for row in filed.list("rows") {
            let cell = |at: usize| row[at].as_str().unwrap_or_default().to_owned();
            let name = format!("{MUTANT}{}", cell(0));
            let Some(digest) = filed.digests.get(&name) else {
                continue;
            };
            if shipped.is_current(&name, digest) && !self.0.contains_key(&cell(0)) {
                // Behind the mutant, its mistake and the simulator's verdict.
                let runs = std::array::from_fn(|at| Run::filed(TOOLS[at], cell(3 + at)));
                self.0.insert(cell(0), (digest.clone(), runs));
            }
        }
    }

    /// The digests of the mutants that were run.
    pub fn digests(&self) -> Map<String, Value> {
        let of = |(mutant, (digest, _)): (&String, &(String, _))| (format!("{MUTANT}{mutant}"), digest.as_str().into());
        self.0.iter().map(of).collect()
    }

    /// What a tool said of a mutant.
    fn of(&self, mutant: &str, tool: &str) -> Option<&Run> {
        let at = TOOLS.iter().position(|known| *known == tool)?;
        self.0.get(mutant).map(|(_, runs)| &runs[at])
    }
}

impl Run {
    /// As the table has it.
    fn filed(tool: &str, text: String) -> Self {
        let found = match tool {
            "alone" => text != "right",
            _ => !["-", NO_END, TOOL_FAILED].contains(&text.as_str()),
        };
        Self { text, found }
    }
}

fn run(tool: &str, status: &str, output: &str) -> Run {
    let ends_with = |prefix: &str| {
        let line = output.lines().find_map(|line| line.split_once(prefix))?;
        Some(line.1.trim().to_owned())
    };
    if tool == "alone" {
        let text = match status {
            "0" => "right",
            "41" => "wrong result",
            "42" => "launch failed",
            "124" | "137" => NO_END,
            _ => "not run",
        };
        return Run {
            text: text.to_owned(),
            found: status != "0",
        };
    }
    let summary = ends_with("RACECHECK SUMMARY:").or_else(|| ends_with("ERROR SUMMARY:"));
    match summary {
        // `0 errors`, `0 hazards displayed (0 errors, 0 warnings)`.
        Some(summary) if summary.starts_with("0 ") => Run {
            text: "-".to_owned(),
            found: false,
        },
        Some(_) => Run {
            text: first_finding(output).unwrap_or_else(|| "reported".to_owned()),
            found: true,
        },
        // Its exit status says that it found something; the rest of a long output was cut off.
        None if status == FOUND => Run {
            text: first_finding(output).unwrap_or_else(|| "reported".to_owned()),
            found: true,
        },
        None if matches!(status, "124" | "137") => Run {
            text: NO_END.to_owned(),
            found: false,
        },
        None => Run {
            text: TOOL_FAILED.to_owned(),
            found: false,
        },
    }
}

/// The first line that says what is wrong, without numbers of errors, addresses and bytes.
fn first_finding(output: &str) -> Option<String> {
    let line = output
        .lines()
        .filter_map(|line| line.trim().strip_prefix("========= "))
        .find(|line| {
            [
                "Invalid",
                "Host API",
                "Error:",
                "Warning:",
                "Race reported",
                "Potential",
                "Uninitialized",
                "Barrier error",
                "Program hit",
                "Stack overflow",
                "Misaligned",
            ]
            .iter()
            .any(|start| line.trim_start().starts_with(start))
        })?;
    let words: Vec<&str> = line
        .split_whitespace()
        .take_while(|word| !["at", "due", "between", "on", "size"].contains(word))
        .filter(|word| !word.contains("0x") && *word != "of")
        .collect();
    Some(words.join(" ").trim_end_matches(['.', ':', ',']).to_owned())
}

/// The reasons by mutant and tool.
fn explanations(text: &str) -> BTreeMap<(String, String), String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (of, why) = line.split_once(": ")?;
            let (mutant, tool) = of.split_once(' ')?;
            Some(((mutant.to_owned(), tool.to_owned()), why.trim().to_owned()))
        })
        .collect()
}

fn markdown(
    verdicts: &Value,
    runs: &Runs,
    explained: &BTreeMap<(String, String), String>,
    about: &str,
) -> anyhow::Result<String> {
    ensure!(!runs.0.is_empty(), "no mutant was run under every tool");
    let mut rows = String::new();
    let mut differences = String::new();
    let (mut wrong, mut reported, mut reported_right) = (0, 0, 0);
    let (mut seen, mut seen_right, mut alone_right, mut unexplained, mut false_reports) = (0, 0, 0, 0, 0);
    let (mut wrong_run, mut not_run) = (0, 0);
    let empty = Vec::new();
    let verdicts = verdicts.as_array().unwrap_or(&empty);
    for verdict in verdicts {
        let text = |name: &str| verdict[name].as_str().unwrap_or_default();
        let id = text("id");
        let is_wrong = verdict["wrong"] == true;
        let is_reported = verdict["reported"] == true;
        wrong += usize::from(is_wrong);
        reported += usize::from(is_wrong && is_reported);
        reported_right += usize::from(!is_wrong && is_reported);
        write!(rows, "| {id} | {} | {} |", text("what"), text("simulator"))?;
        if let Some(reason) = verdict["refused"].as_str() {
            writeln!(rows, " {reason} | | | | |")?;
            continue;
        }
        let (mut any, mut agrees) = (false, true);
        for tool in TOOLS {
            let run = runs.of(id, tool);
            write!(rows, " {} |", run.map_or("not run", |run| run.text.as_str()))?;
            let found = run.is_some_and(|run| run.found);
            if tool == "alone" {
                alone_right += usize::from(is_wrong && run.is_some() && !found);
                continue;
            }
            let key = (id.to_owned(), tool.to_owned());
            let why = explained.get(&key).map(String::as_str);
            let is_false = found && why.is_some_and(|why| why.starts_with(FALSE));
            false_reports += usize::from(is_false);
            any |= found && !is_false;
            let expected = verdict["seen_by"]
                .as_array()
                .is_some_and(|tools| tools.iter().any(|seen| seen == tool));
            if run.is_some() && found != expected {
                agrees = false;
                let what = if found { "reports it" } else { "does not report it" };
                unexplained += usize::from(why.is_none());
                writeln!(
                    differences,
                    "- `{id}`: {tool} {what}. {}",
                    why.unwrap_or("**Not explained.**")
                )?;
            }
        }
        seen += usize::from(is_wrong && any);
        seen_right += usize::from(!is_wrong && any);
        let was_run = runs.0.contains_key(id);
        wrong_run += usize::from(is_wrong && was_run);
        not_run += usize::from(!was_run);
        let agrees = match was_run {
            true if agrees => "yes",
            true => "see below",
            false => "",
        };
        writeln!(rows, " {agrees} |")?;
    }
    let count = verdicts.len();
    let mut page = format!("# Mutants: the simulator against compute-sanitizer\n\n{about}\n\n");
    writeln!(
        page,
        "{count} kernels, {wrong} of them wrong. The simulator, with the comparison of the result, reports {reported} \
         of these and {reported_right} of the others; compute-sanitizer reports {seen} and {seen_right}, \
         {false_reports} reports not counted that are false. Of {wrong_run} wrong ones that ran on this GPU, \
         {alone_right} leave the right result, where only a checker can tell. Differences from what the table of \
         mutants expects of the tools that are not explained: {unexplained}. Not run on this GPU yet: {not_run}.\n"
    )?;
    writeln!(
        page,
        "| kernel | mistake | simulator | GPU alone | memcheck | racecheck | initcheck | synccheck \
         | tools as expected |"
    )?;
    writeln!(page, "|---|---|---|---|---|---|---|---|---|")?;
    page += &rows;
    if !differences.is_empty() {
        write!(
            page,
            "\n## Where a tool differs from what was expected\n\n{differences}"
        )?;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::markdown;

    const OUTPUT: &str = "\
== a_original alone 0
a_original: right
== a_original memcheck 0
========= COMPUTE-SANITIZER
a_original: right
========= ERROR SUMMARY: 0 errors
== a_original racecheck 0
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
== a_original initcheck 99
========= ERROR SUMMARY: 3 errors
== a_original synccheck 0
========= ERROR SUMMARY: 0 errors
== a_mutant alone 41
a_mutant: wrong result
== a_mutant memcheck 99
========= Invalid __shared__ read of size 4 bytes
=========     at k+0x100
========= ERROR SUMMARY: 3 errors
== a_mutant racecheck 99
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at k+0x10 and Read access at k+0x20 [4 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
== a_mutant initcheck 0
========= ERROR SUMMARY: 0 errors
== a_mutant synccheck 124
========= COMPUTE-SANITIZER
== c_mutant alone 41
c_mutant: wrong result
";

    /// What a bundle ships whose mutants have these digests.
    fn shipped(mutants: &str) -> Shipped {
        Shipped::parse(&format!("k sm_80 1 -\n{mutants}")).expect("valid")
    }

    fn found() -> Runs {
        Runs::parse(OUTPUT, &shipped("mutant:a_original - 2 -\nmutant:a_mutant - 3 -\n"))
    }

    #[test]
    fn what_the_tools_said_is_read() {
        let runs = found();
        let of = |mutant: &str, tool: &str| runs.of(mutant, tool).expect("it was run");
        assert_eq!(of("a_original", "alone").text, "right");
        assert!(!of("a_original", "memcheck").found);
        assert_eq!(of("a_mutant", "racecheck").text, "Error: Race reported");
        assert_eq!(of("a_mutant", "memcheck").text, "Invalid __shared__ read");
        assert!(of("a_mutant", "memcheck").found);
        assert_eq!(of("a_mutant", "synccheck").text, "no end");
        assert_eq!(runs.of("c_mutant", "alone"), None, "it was not run under every tool");
        let digests = Value::from(runs.digests());
        assert_eq!(
            digests,
            serde_json::json!({"mutant:a_original": "2", "mutant:a_mutant": "3"})
        );
    }

    /// The verdicts of `a_original`, `a_mutant`, and `b_mutant`, which no device can have.
    fn verdicts() -> Value {
        serde_json::json!([
            {
                "id": "a_original", "what": "unchanged", "simulator": "clean",
                "reported": false, "wrong": false, "seen_by": [],
            },
            {
                "id": "a_mutant", "what": "no barrier", "simulator": "SharedRace",
                "reported": true, "wrong": true, "seen_by": ["racecheck", "synccheck"],
            },
            {
                "id": "b_mutant", "what": "too much", "simulator": "SharedLimit",
                "reported": true, "wrong": true, "seen_by": [], "refused": "does not compile",
            },
        ])
    }

    #[test]
    fn differences_are_listed_with_their_reason_or_without() {
        let explained = explanations(
            "# reasons\na_mutant synccheck: it never ends there\na_original initcheck: false: it was written\n",
        );
        let page = markdown(&verdicts(), &found(), &explained, "Device").unwrap();
        assert!(page.contains("3 kernels, 2 of them wrong"), "{page}");
        assert!(
            page.contains(
                "reports 2 of these and 0 of the others; compute-sanitizer reports 1 and 0, 1 reports not counted"
            ),
            "{page}"
        );
        assert!(
            page.contains("synccheck does not report it. it never ends there"),
            "{page}"
        );
        assert!(page.contains("Of 1 wrong ones that ran on this GPU, 0 leave"), "{page}");
        assert!(page.contains("memcheck reports it. **Not explained.**"), "{page}");
        assert!(page.contains("not explained: 1. Not run on this GPU yet: 0."), "{page}");
        assert!(
            page.contains("| b_mutant | too much | SharedLimit | does not compile |"),
            "{page}"
        );
    }

    #[test]
    fn what_is_filed_of_unchanged_mutants_is_kept() {
        let page = markdown(&verdicts(), &found(), &BTreeMap::new(), "Device").unwrap();
        let mut fields = markdown::table(&page, |_| false);
        fields.insert("digests".to_owned(), found().digests().into());
        fields.insert("topic".to_owned(), "mutants".into());
        let filed = Topic::of(fields.into()).unwrap();

        let mut runs = Runs::default();
        runs.keep(&filed, &shipped("mutant:a_original - 9 -\nmutant:a_mutant - 3 -\n"));
        assert_eq!(runs.0.keys().collect::<Vec<_>>(), ["a_mutant"], "the other has changed");
        assert_eq!(runs.0["a_mutant"], found().0["a_mutant"]);
        let page = markdown(&verdicts(), &runs, &BTreeMap::new(), "Device").unwrap();
        assert!(page.contains("Not run on this GPU yet: 1."), "{page}");
        assert!(page.contains("| a_original | unchanged | clean | not run |"), "{page}");
    }
}
