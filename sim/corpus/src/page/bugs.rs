//! The table of the bugs of published Hopper kernels: how the pairs are judged, and what a GPU says of the same
//! mistakes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::patterns::PATTERNS;
use crate::verdict::{Finding, Verdict};

const HEAD: &str = "
## Bugs of published Hopper kernels

Each is a bug that the tracker of a public project describes, as a pair of ours; no source is copied. `CrossProxyWar` is
a warning: the memory model asks for the fence, and the vendor's own kernels do without it. The last columns are of
mutants of the `wgmma` kernels with the same mistake, [as they ran on a GPU](results/README.md#mutants): the result
without a tool, and which of the four tools of `compute-sanitizer` report them, or did not end (`no end`). Reports that
are false are left out. A dash: none of our kernels has the place for the mistake.

| reported | mistake | pairs | found as | right twin | mutants | on a GPU | compute-sanitizer |
|---|---|---|---|---|---|---|---|
";

/// What is filed of the mutants on a GPU: the result without a tool, and the reports of the tools.
fn filed() -> BTreeMap<String, [String; 2]> {
    let results: Value =
        serde_json::from_str(include_str!("../../../../docs/results/h200-mutants.json")).expect("JSON");
    // `MUTANT TOOL: why`, where `why` says so if the report is of something that the kernel does not do.
    let explained = include_str!("../../../../xtask/explained/mutants.txt").lines();
    let false_reports: Vec<&str> = explained
        .filter_map(|line| line.split_once(": "))
        .filter_map(|(of, why)| why.starts_with("false").then_some(of))
        .collect();
    let rows = results["rows"].as_array().expect("a table").iter();
    rows.map(|row| {
        let cells: Vec<&str> = row
            .as_array()
            .expect("a row")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let [name, _, _, alone, of_tools @ .., _] = &cells[..] else {
            panic!("{row}")
        };
        let mut reports = Vec::new();
        for (tool, report) in ["memcheck", "racecheck", "initcheck", "synccheck"]
            .into_iter()
            .zip(of_tools)
        {
            match *report {
                "-" => {}
                "no end" | "tool failed" | "not run" => reports.push(format!("{tool} {report}")),
                _ if false_reports.contains(&format!("{name} {tool}").as_str()) => {}
                _ => reports.push(tool.to_owned()),
            }
        }
        let reports = match reports.len() {
            0 => "nothing".to_owned(),
            _ => reports.join(", "),
        };
        ((*name).to_owned(), [(*alone).to_owned(), reports])
    })
    .collect()
}

/// Appends the table of the bugs.
pub fn write(page: &mut String, verdicts: &[Verdict]) {
    *page += HEAD;
    let filed = filed();
    for pattern in &PATTERNS {
        let pairs = pattern.pairs.iter();
        let of_pattern: Vec<&Verdict> = pairs
            .filter_map(|pair| verdicts.iter().find(|verdict| verdict.pair.name == *pair))
            .collect();
        let list = |text: fn(&Verdict) -> String| {
            let mut texts: Vec<String> = of_pattern.iter().map(|verdict| text(verdict)).collect();
            texts.dedup();
            texts.join(", ")
        };
        let pairs = list(|verdict| format!("`{}`", verdict.pair.name));
        let found = list(|verdict| match verdict.finding {
            Finding::Right => format!("`{}`", verdict.mark.kind),
            Finding::OtherLine => format!("`{}` at another line", verdict.mark.kind),
            Finding::OtherKind => "another kind of fault".to_owned(),
            Finding::Missed => "nothing".to_owned(),
        });
        let twins = list(|verdict| {
            if verdict.is_false_alarm {
                "a false alarm"
            } else {
                "silent"
            }
            .to_owned()
        });
        let on_gpu = |column: fn(&str, &[String; 2]) -> String| match pattern.mutants {
            [] => "-".to_owned(),
            mutants => {
                let of = |name: &&str| column(name, filed.get(*name).expect("every mutant is filed"));
                mutants.iter().map(of).collect::<Vec<_>>().join("; ")
            }
        };
        let mutants = on_gpu(|name, _| format!("`{name}`"));
        let alone = on_gpu(|_, [alone, _]| alone.clone());
        let tools = on_gpu(|_, [_, tools]| tools.clone());
        let links = pattern.reported.iter().map(|(name, url)| format!("[{name}]({url})"));
        let (reported, mistake) = (links.collect::<Vec<_>>().join(", "), pattern.mistake);
        writeln!(
            page,
            "| {reported} | {mistake} | {pairs} | {found} | {twins} | {mutants} | {alone} | {tools} |"
        )
        .expect("a String takes all text");
    }
}
