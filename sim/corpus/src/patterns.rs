//! Bugs of published Hopper kernels, the pairs that follow them, and what a GPU says of the same mistakes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::verdict::{Finding, Verdict};

/// A bug as a public tracker describes it.
pub struct Pattern {
    /// Where it was reported.
    reported: &'static str,
    /// The mistake.
    mistake: &'static str,
    /// Its pairs.
    pub pairs: &'static [&'static str],
    /// Mutants of `wgmma` kernels with the same mistake, which have run on a GPU.
    mutants: &'static [&'static str],
}

const fn pattern(
    reported: &'static str,
    mistake: &'static str,
    pairs: &'static [&'static str],
    mutants: &'static [&'static str],
) -> Pattern {
    Pattern {
        reported,
        mistake,
        pairs,
        mutants,
    }
}

/// Our kernels read what TMA loads through the async proxy alone.
const NO_ORDINARY_READS: &[&str] = &[];

/// Our kernels take their tensor maps as they are.
const NO_CHANGED_MAPS: &[&str] = &[];

/// The bugs.
pub const PATTERNS: [Pattern; 14] = [
    pattern(
        "FlashKDA #24",
        "a TMA store reads what threads wrote without a proxy fence",
        &["no_proxy_fence", "proxy_fence_of_one"],
        &["store_no_proxy_fence"],
    ),
    pattern(
        "FlashKDA #24",
        "an mbarrier is used before its initialization is fenced",
        &["no_fence_after_init", "multicast_to_unfenced"],
        &["mbarrier_no_fence"],
    ),
    pattern(
        "DeepEP #642, #621",
        "a TMA load overwrites what threads have read, without a proxy fence",
        &["refilled_without_proxy_fence"],
        NO_ORDINARY_READS,
    ),
    pattern(
        "TransformerEngine #2695",
        "the same across the stages of a pipeline",
        &["stage_without_proxy_fence"],
        NO_ORDINARY_READS,
    ),
    pattern(
        "DeepGEMM #343",
        "a tensor map is changed while a load uses it",
        &["map_changed_during_load"],
        NO_CHANGED_MAPS,
    ),
    pattern(
        "CUTLASS #2162",
        "a tensor map is changed while a store uses it",
        &["map_changed_during_store"],
        NO_CHANGED_MAPS,
    ),
    pattern(
        "tilelang #2613",
        "a stage is refilled while `wgmma` still reads it",
        &["stage_refilled_during_wgmma"],
        &["stage_released_early", "stage_released_a_group_early"],
    ),
    pattern(
        "tilelang #2634",
        "`wgmma.fence` is missing after threads wrote the accumulators",
        &["wgmma_without_fence"],
        &["wgmma_no_fence"],
    ),
    pattern(
        "Fuser #5448",
        "a store's buffer is reused without commit and wait",
        &["store_not_committed", "box_overwritten"],
        &["store_no_commit", "store_no_wait"],
    ),
    pattern(
        "TileOPs #1550",
        "two warpgroups share a store's buffer",
        &["shared_store_buffer"],
        &["store_same_panels"],
    ),
    pattern(
        "TileOPs #1574",
        "the buffer is written after the store was issued",
        &["buffer_written_during_store"],
        &["store_waits_for_a_group_too_few"],
    ),
    pattern(
        "CUTracer #106",
        "the wait for a stage follows its first use",
        &["stage_awaited_late"],
        &["mbarrier_full_not_awaited"],
    ),
    pattern(
        "CUTracer #106",
        "the bytes of the second operand are not expected",
        &["second_operand_not_expected"],
        &["mbarrier_too_few_bytes"],
    ),
    pattern(
        "TIRx #53",
        "`setmaxnreg` by part of a warpgroup; a stage overtaken by its producer; no publication to the async proxy",
        &[
            "registers_of_three_warps",
            "stage_overtaken_by_load",
            "wgmma_without_proxy_fence",
        ],
        &["mbarrier_empty_not_awaited", "rest_not_fenced"],
    ),
];

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
    let results: Value = serde_json::from_str(include_str!("../../../docs/results/h200-mutants.json")).expect("JSON");
    // `MUTANT TOOL: why`, where `why` says so if the report is of something that the kernel does not do.
    let explained = include_str!("../../../xtask/explained/mutants.txt").lines();
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
        let (reported, mistake) = (pattern.reported, pattern.mistake);
        writeln!(
            page,
            "| {reported} | {mistake} | {pairs} | {found} | {twins} | {mutants} | {alone} | {tools} |"
        )
        .expect("a String takes all text");
    }
}
