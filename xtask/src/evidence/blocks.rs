//! The tables that README and guide show, each between `<!-- NAME:begin -->` and `<!-- NAME:end -->`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Context;
use serde_json::Value;

use super::data::{About, Check, Evidence, Topic, short};
use super::figures::{Row, all};
use super::shipped::Kernel;

/// The topic that stands for the checks of kernels.
pub const CHECKS: &str = "checks";

/// What is checked of every kernel that ships, in the order of the tables.
pub const OF_EACH: [&str; 6] = ["test", "memcheck", "initcheck", "synccheck", "racecheck", "occupancy"];

/// The suites against libraries, and what each is.
pub const SUITES: [(&str, &str); 11] = [
    ("squares", "f32, cubes"),
    ("shapes", "f32, 30 other shapes"),
    ("layouts", "f32, transposed operands"),
    ("half", "f16 and bf16, cubes"),
    ("half-shapes", "bf16, transformer layers, few tokens, residues"),
    ("double", "f64, cubes and other shapes"),
    ("emulated", "f32 from bf16 tensor cores, against cuBLAS's f32"),
    ("tf32", "f32 rounded to tf32, against cuBLAS's TF32"),
    ("fp8", "e4m3 with scales, against the same scales of cublasLt"),
    ("batches", "strided batches in bf16 and f32"),
    ("random", "random shapes of each type, all layouts"),
];

/// Their names alone.
const SUITE_TOPICS: [&str; SUITES.len()] = {
    let mut topics = [""; SUITES.len()];
    let mut at = 0;
    while at < SUITES.len() {
        topics[at] = SUITES[at].0;
        at += 1;
    }
    topics
};

/// A table by its name, and the topics that it is of.
type Block = (&'static str, fn(&Evidence) -> String, &'static [&'static str]);

const BLOCKS: [Block; 7] = [
    ("lessons", lessons, &["lessons"]),
    ("suites", suites, &SUITE_TOPICS),
    ("twins", twins, &["twins"]),
    ("fp8-speed", fp8, &["fp8"]),
    ("fp8-choice", fp8_choice, &["fp8-choice"]),
    (CHECKS, checks, &[CHECKS]),
    ("spilling", spilling, &["spilling"]),
];

/// Writes the tables of a page anew, and adds the topics that they are of.
pub fn renew(text: &str, evidence: &Evidence, topics: &mut BTreeSet<String>) -> anyhow::Result<String> {
    let mut text = text.to_owned();
    for (name, table, of) in BLOCKS {
        let [begin, end] = [format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->")];
        if let Some((before, rest)) = text.split_once(&begin) {
            let (_, after) = rest
                .split_once(&end)
                .with_context(|| format!("table `{name}` begins and has no end"))?;
            text = format!("{before}{begin}{}{end}{after}", table(evidence));
            topics.extend(of.iter().map(|topic| (*topic).to_owned()));
        }
    }
    Ok(text)
}

/// Where and when a topic was measured.
pub fn about(topic: &Topic) -> String {
    let about = &topic.about;
    let peer = topic.value["about"]["peer"].as_str();
    let peer = peer.map_or_else(String::new, |peer| format!(", {peer}"));
    format!(
        "{}, driver {}{peer}, commit {}, {}",
        about.device,
        about.driver,
        short(&about.commit),
        about.date
    )
}

fn missing(topic: &str) -> String {
    format!("`{topic}` was never measured.\n")
}

/// Bytes as KiB, without a zero at its end.
fn kib(bytes: u64) -> String {
    let text = format!("{:.1}", bytes as f64 / 1024.0);
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// The shared memory of a block, as a plan has it.
pub fn shared_memory(plan: &Value) -> String {
    let bytes = |name: &str| plan[name].as_u64().unwrap_or_default();
    let parts: Vec<String> = [
        ("static", bytes("static_smem_bytes")),
        ("dynamic", bytes("dynamic_smem_bytes")),
    ]
    .into_iter()
    .filter(|(_, bytes)| *bytes > 0)
    .map(|(kind, bytes)| format!("{} KiB {kind}", kib(bytes)))
    .collect();
    match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.join(" + ") + if plan["opt_in"] == true { ", opted in" } else { "" },
    }
}

/// What each lesson gained over the lesson before, and beside the lessons of each element type the library's kernels
/// and cuBLAS.
fn lessons(evidence: &Evidence) -> String {
    let Some(topic) = evidence.topics.get("lessons") else {
        return missing("lessons");
    };
    let mut text = format!("4096 x 4096 x 4096, {}.\n\n", about(topic));
    text.push_str(
        "| kernel | type | tile | shared memory | TFLOP/s | over the one before | of cuBLAS |\n\
         |---|---|---:|---|---:|---:|---:|\n",
    );
    let rows: Vec<_> = Row::of(topic).collect();
    let dtype = |row: &Row| row.field("dtype").as_str().unwrap_or_default().to_owned();
    for of_type in rows.chunk_by(|one, next| dtype(one) == dtype(next)) {
        let (mut before, mut of_peer) = (None, None);
        for row in of_type {
            let Some((_, _, tflops)) = row.side("ours") else {
                continue;
            };
            let plan = &row.measured()["plan"];
            let tile = |at: usize| plan["tile"][at].as_u64().unwrap_or_default();
            let is_lesson = row.name().starts_with("lesson_");
            let gained = before.filter(|_| is_lesson);
            let gained = gained.map_or_else(String::new, |before: f64| format!("{:.2}", tflops / before));
            let ratio = row
                .ratio()
                .map_or_else(String::new, |ratio| format!("{:.0} %", 100.0 * ratio));
            let _ = writeln!(
                text,
                "| `{}` | {} | {} x {} | {} | {tflops:.2} | {gained} | {ratio} |",
                row.name().trim(),
                dtype(row),
                tile(0),
                tile(1),
                shared_memory(plan)
            );
            before = Some(tflops);
            of_peer = of_peer.or_else(|| row.side("peer"));
        }
        if let Some((name, _, tflops)) = of_peer {
            let _ = writeln!(text, "| {name} | {} |  |  | {tflops:.2} |  |  |", dtype(&of_type[0]));
        }
    }
    text
}

/// The ratios of each suite together.
fn suites(evidence: &Evidence) -> String {
    let figures = all(evidence);
    let mut text =
        String::from("| suite | shapes | geometric mean | min | max | measured |\n|---|---:|---:|---:|---:|---|\n");
    for (suite, what) in SUITES {
        let Some(topic) = evidence.topics.get(suite) else {
            text.push_str(&format!("| `{suite}`: {what} |  |  |  |  | never |\n"));
            continue;
        };
        let figure = |name: &str| figures.get(&format!("{suite}: {name}")).copied().unwrap_or(f64::NAN);
        let _ = writeln!(
            text,
            "| `{suite}`: {what} | {} | {:.3} | {:.3} | {:.3} | {} |",
            figure("rows"),
            figure("mean"),
            figure("least"),
            figure("most"),
            topic.about.when()
        );
    }
    text
}

/// Our kernels against the same in CUDA C++.
fn twins(evidence: &Evidence) -> String {
    let Some(topic) = evidence.topics.get("twins") else {
        return missing("twins");
    };
    let mut text = format!(
        "4096 x 4096 x 4096 in f32, {}.\n\n| kernel | tile | shared memory | TFLOP/s | nvcc's time / ours |\n\
         |---|---:|---|---:|---:|\n",
        about(topic)
    );
    let shown = Row::of(topic).filter(|row| ["m", "n", "k"].iter().all(|extent| row.field(extent) == 4096));
    for row in shown {
        let (Some((_, _, tflops)), Some((peer, ..)), Some(ratio)) = (row.side("ours"), row.side("peer"), row.ratio())
        else {
            continue;
        };
        // The others are compared with a kernel of ours.
        if !peer.starts_with("peer_") {
            continue;
        }
        let plan = &row.measured()["plan"];
        let _ = writeln!(
            text,
            "| `{}` | {} x {} | {} | {tflops:.2} | {ratio:.2} |",
            plan["kernel"].as_str().unwrap_or_default(),
            plan["tile"][0],
            plan["tile"][1],
            shared_memory(plan)
        );
    }
    text
}

/// FP8 products beside those of cublasLt.
fn fp8(evidence: &Evidence) -> String {
    let Some(topic) = evidence.topics.get("fp8") else {
        return missing("fp8");
    };
    let mut text = format!(
        "{}.\n\n| product | kernel | TFLOP/s | cublasLt | ratio |\n|---|---|---:|---:|---:|\n",
        about(topic)
    );
    for row in Row::of(topic) {
        let Some((_, _, ours)) = row.side("ours") else {
            continue;
        };
        let peer = row
            .side("peer")
            .map_or_else(String::new, |(_, _, tflops)| format!("{tflops:.0}"));
        let ratio = row.ratio().map_or_else(String::new, |ratio| format!("{ratio:.3}"));
        let kernel = row.field("kernel").as_str().unwrap_or_default();
        let _ = writeln!(text, "| {} | `{kernel}` | {ours:.0} | {peer} | {ratio} |", row.name());
    }
    text
}

/// How good the choice among FP8 kernels is.
fn fp8_choice(evidence: &Evidence) -> String {
    let Some(topic) = evidence.topics.get("fp8-choice") else {
        return missing("fp8-choice");
    };
    let ratios: Vec<_> = Row::of(topic)
        .filter_map(|row| Some((row.ratio()?, row.name().to_owned())))
        .collect();
    let Some((least, worst)) = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return missing("fp8-choice");
    };
    let within = ratios.iter().filter(|(ratio, _)| *ratio >= 1.0 / 1.05).count();
    format!(
        "{}. Of {} choices {within} take at most 5 % longer than the fastest other kernel; the worst takes {:.2} times \
         as long ({worst}).\n",
        about(topic),
        ratios.len(),
        least.recip()
    )
}

/// How a check stands with a kernel that ships.
#[derive(Debug, PartialEq, Eq)]
pub enum Standing<'e> {
    /// It passed, or it has a stated reason why it could not, at the digest that ships.
    Holds(&'e Check),
    /// It failed at the digest that ships.
    Failed(&'e Check),
    /// It is of another digest.
    Stale(&'e Check),
    /// There is none.
    Missing,
}

/// How a check stands with a kernel.
pub fn standing<'e>(evidence: &'e Evidence, check: &str, kernel: &Kernel) -> Standing<'e> {
    match evidence.check(check, &kernel.symbol) {
        None => Standing::Missing,
        Some(row) if row.digest != kernel.digest => Standing::Stale(row),
        Some(row) if row.outcome == "passed" => Standing::Holds(row),
        // A tool that comes to no end, or a question that the kernel does not pose, is a reason where it says so.
        Some(row) if matches!(row.outcome.as_str(), "no end" | "not run") && !row.note.is_empty() => {
            Standing::Holds(row)
        }
        Some(row) => Standing::Failed(row),
    }
}

/// Since when checks are stale: the newest commit of the old ones, and whether some were never done.
pub fn stale_checks(evidence: &Evidence) -> (Option<String>, bool) {
    let kernels = &evidence.shipped.kernels;
    let (mut newest, mut missing) = (None, false);
    for (check, kernel) in kernels.iter().flat_map(|kernel| OF_EACH.map(|check| (check, kernel))) {
        match standing(evidence, check, kernel) {
            Standing::Stale(row) => newest = newest.max(Some(&row.about)),
            Standing::Missing => missing = true,
            Standing::Holds(_) | Standing::Failed(_) => {}
        }
    }
    (newest.map(About::when), missing)
}

/// How many kernels each check was done with.
fn checks(evidence: &Evidence) -> String {
    let kernels = &evidence.shipped.kernels;
    let mut text = format!(
        "{} kernels ship.\n\n| check | passed | excused, with a reason | failed | stale | never run |\n\
         |---|---:|---:|---:|---:|---:|\n",
        kernels.len()
    );
    for check in OF_EACH {
        let mut counts = [0; 5];
        for kernel in kernels {
            let at = match standing(evidence, check, kernel) {
                Standing::Holds(row) if row.outcome == "passed" => 0,
                Standing::Holds(_) => 1,
                Standing::Failed(_) => 2,
                Standing::Stale(_) => 3,
                Standing::Missing => 4,
            };
            counts[at] += 1;
        }
        let _ = writeln!(
            text,
            "| {check} | {} |",
            counts.map(|count: i32| count.to_string()).join(" | ")
        );
    }
    text
}

/// Each register budget with the largest of its sizes.
fn spilling(evidence: &Evidence) -> String {
    let Some(topic) = evidence.topics.get("spilling") else {
        return missing("spilling");
    };
    let mut text = format!(
        "{}.\n\n| problem | size | threads, cap | kept | local | shared | unbounded | local / shared \
         | kept / shared |\n\
         |---|---|---|---:|---:|---:|---:|---:|---:|\n",
        about(topic)
    );
    let rows = topic.list("rows");
    for (at, row) in rows.iter().enumerate() {
        let of = |row: &Value| ["family", "dtype", "threads", "max_registers"].map(|name| row[name].to_string());
        // Sizes grow.
        if rows[at + 1..].iter().any(|later| of(later) == of(row)) {
            continue;
        }
        let ms = |name: &str| {
            row[name]["ms"].as_f64().map_or_else(String::new, |ms| match ms {
                ms if ms < 1.0 => format!("{:.1} µs", 1e3 * ms),
                ms => format!("{ms:.1} ms"),
            })
        };
        let ratio = |name: &str| {
            row[name]["median"]
                .as_f64()
                .map_or_else(String::new, |ratio| format!("{ratio:.2}"))
        };
        let word = |name: &str| row[name].as_str().unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} {} | {} | {}, {} | {} | {} | {} | {} | {} | {} |",
            word("family"),
            word("dtype"),
            word("size"),
            row["threads"],
            row["max_registers"],
            ms("kept"),
            ms("local"),
            ms("shared"),
            ms("unbounded"),
            ratio("local_over_shared"),
            ratio("kept_over_shared")
        );
    }
    text
}
