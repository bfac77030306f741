//! Bugs of published Hopper kernels, and the pairs that follow them.

use std::fmt::Write as _;

use crate::verdict::{Finding, Verdict};

/// A bug as a public tracker describes it.
pub struct Pattern {
    /// Where it was reported.
    reported: &'static str,
    /// The mistake.
    mistake: &'static str,
    /// Its pairs.
    pub pairs: &'static [&'static str],
}

const fn pattern(reported: &'static str, mistake: &'static str, pairs: &'static [&'static str]) -> Pattern {
    Pattern {
        reported,
        mistake,
        pairs,
    }
}

/// The bugs.
pub const PATTERNS: [Pattern; 14] = [
    pattern(
        "FlashKDA #24",
        "a TMA store reads what threads wrote without a proxy fence",
        &["no_proxy_fence", "proxy_fence_of_one"],
    ),
    pattern(
        "FlashKDA #24",
        "an mbarrier is used before its initialization is fenced",
        &["no_fence_after_init", "multicast_to_unfenced"],
    ),
    pattern(
        "DeepEP #642, #621",
        "a TMA load overwrites what threads have read, without a proxy fence",
        &["refilled_without_proxy_fence"],
    ),
    pattern(
        "TransformerEngine #2695",
        "the same across the stages of a pipeline",
        &["stage_without_proxy_fence"],
    ),
    pattern(
        "DeepGEMM #343",
        "a tensor map is changed while a load uses it",
        &["map_changed_during_load"],
    ),
    pattern(
        "CUTLASS #2162",
        "a tensor map is changed while a store uses it",
        &["map_changed_during_store"],
    ),
    pattern(
        "tilelang #2613",
        "a stage is refilled while `wgmma` still reads it",
        &["stage_refilled_during_wgmma"],
    ),
    pattern(
        "tilelang #2634",
        "`wgmma.fence` is missing after threads wrote the accumulators",
        &["wgmma_without_fence"],
    ),
    pattern(
        "Fuser #5448",
        "a store's buffer is reused without commit and wait",
        &["store_not_committed", "box_overwritten"],
    ),
    pattern(
        "TileOPs #1550",
        "two warpgroups share a store's buffer",
        &["shared_store_buffer"],
    ),
    pattern(
        "TileOPs #1574",
        "the buffer is written after the store was issued",
        &["buffer_written_during_store"],
    ),
    pattern(
        "CUTracer #106",
        "the wait for a stage follows its first use",
        &["stage_awaited_late"],
    ),
    pattern(
        "CUTracer #106",
        "the bytes of the second operand are not expected",
        &["second_operand_not_expected"],
    ),
    pattern(
        "TIRx #53",
        "`setmaxnreg` by part of a warpgroup; a stage overtaken by its producer; no publication to the async proxy",
        &[
            "registers_of_three_warps",
            "stage_overtaken_by_load",
            "wgmma_without_proxy_fence",
        ],
    ),
];

const HEAD: &str = "
## Bugs of published Hopper kernels

Each is a bug that the tracker of a public project describes, as a pair of ours; no source is copied. `CrossProxyWar` is
a warning: the memory model asks for the fence, and the vendor's own kernels do without it.

| reported | mistake | pairs | found as | right twin |
|---|---|---|---|---|
";

/// Appends the table of the bugs.
pub fn write(page: &mut String, verdicts: &[Verdict]) {
    *page += HEAD;
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
        let (reported, mistake) = (pattern.reported, pattern.mistake);
        writeln!(page, "| {reported} | {mistake} | {pairs} | {found} | {twins} |").expect("a String takes all text");
    }
}
