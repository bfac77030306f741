//! The results page, `docs/results/README.md`: one table a topic.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::blocks::{OF_EACH, SUITES, Standing, about, standing};
use super::data::{Evidence, Topic, short};
use super::figures::{Row, WITHIN};
use super::shipped::{Kernel, UNKNOWN};

/// The page.
pub fn page(evidence: &Evidence) -> String {
    let mut text = String::from(
        "# Results\n\nWritten by `cargo xtask evidence --write` from the files beside it; not to be edited. What a \
         digest is, and what must have a result: [decision 25](../decisions/0025-evidence-belongs-to-digests.md). How \
         it is measured: [benchmarks](../benchmarks.md). Earlier results are in the history of this folder.\n\n",
    );
    overview(&mut text, evidence);
    kernels(&mut text, evidence);
    // Those that pages show first, then every other that was filed.
    let mut suites: Vec<&str> = SUITES
        .iter()
        .map(|(suite, _)| *suite)
        .chain(["lessons", "twins"])
        .collect();
    let filed = evidence
        .topics
        .values()
        .filter(|topic| topic.value["suite"].is_string());
    for topic in filed {
        if !suites.contains(&topic.name.as_str()) {
            suites.push(&topic.name);
        }
    }
    for suite in suites {
        section(&mut text, evidence, suite, "", products);
    }
    section(
        &mut text,
        evidence,
        "pick",
        "The planner's choice against the other candidates. Over best: time of the picked kernel over that of the \
         fastest.",
        pick,
    );
    section(
        &mut text,
        evidence,
        "calibration",
        "What the planner's speeds were fitted to: the times are in the file.",
        |_, _| {},
    );
    for topic in ["accuracy", "mutants", "wavefronts"] {
        section(&mut text, evidence, topic, "", table);
    }
    section(
        &mut text,
        evidence,
        "spilling",
        "Register-budget variants: the same kernel with other limits on registers. Ratios above 1: the second is \
         faster.",
        spilling,
    );
    for topic in ["banks", "matmul-heuristics"] {
        section(&mut text, evidence, topic, "", table);
    }
    section(
        &mut text,
        evidence,
        "simulator",
        "The simulator against Numba's, on a CPU: seconds of a launch of 16 x 16 tiles at 256 cubed in f32.",
        sides,
    );
    text
}

/// Of every topic where, when and at which digest it was measured.
fn overview(text: &mut String, evidence: &Evidence) {
    text.push_str(
        "| topic | device | driver | date | commit | kernels | of those that ship |\n|---|---|---|---|---|---:|---|\n",
    );
    for topic in evidence.topics.values() {
        let about = &topic.about;
        let state = match (topic.digests.is_empty(), evidence.stale(&topic.name)) {
            (true, None) => "no kernel of ours".to_owned(),
            (false, None) => "yes".to_owned(),
            (_, Some(why)) => format!("stale since {}: {why}", short(&about.commit)),
        };
        let _ = writeln!(
            text,
            "| [{0}](#{0}) | {1} | {2} | {3} | {4} | {5} | {state} |",
            topic.name,
            about.device,
            about.driver,
            about.date,
            short(&about.commit),
            topic.digests.len()
        );
    }
    text.push('\n');
}

/// Every kernel that ships with its checks and its speed.
fn kernels(text: &mut String, evidence: &Evidence) {
    let [same, other] = evidence.shipped.older;
    let _ = writeln!(
        text,
        "## checks\n\nOf each kernel that ships: its newest level of PTX, its digest, and the commit at which a check \
         passed with this digest. `stale`: the last one that passed was of another digest, or of none that is known. \
         test: results over the shape table; occupancy: the driver's resident CTAs against the planner's; speed: \
         dispatch's coefficients were fitted to times of this digest, or held against them, where dispatch may pick \
         it; `fp8-choice`: those of all products of FP8 were, to that topic's. {same} kernels of an older level have \
         the digest of the newest and share its results; {other} differ, and have run on no GPU.\n"
    );
    let _ = writeln!(text, "| kernel | level | digest | {} | speed |", OF_EACH.join(" | "));
    let _ = writeln!(text, "|---|---|---|{}---|", "---|".repeat(OF_EACH.len()));
    let mut notes = String::new();
    for kernel in &evidence.shipped.kernels {
        let cells = OF_EACH.map(|check| match standing(evidence, check, kernel) {
            Standing::Holds(row) if row.outcome == "passed" => short(&row.about.commit).to_owned(),
            Standing::Holds(row) => {
                let _ = writeln!(notes, "- `{}`, {check}: {}: {}", kernel.symbol, row.outcome, row.note);
                row.outcome.clone()
            }
            Standing::Failed(row) => {
                let _ = writeln!(
                    notes,
                    "- `{}`, {check}: **{}**: {}",
                    kernel.symbol, row.outcome, row.note
                );
                format!("**{}**", row.outcome)
            }
            Standing::Stale(row) => format!("stale {}", short(&row.about.commit)),
            Standing::Missing => "never".to_owned(),
        });
        let speed = match speed(evidence, kernel) {
            Speed::NotPicked if kernel.symbol.starts_with("wgmma_fp8_") => "fp8-choice",
            Speed::NotPicked => "not picked",
            Speed::Measured => "yes",
            Speed::Stale => "stale",
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {speed} |",
            kernel.symbol,
            kernel.level,
            kernel.digest,
            cells.join(" | ")
        );
    }
    text.push('\n');
    if !notes.is_empty() {
        text.push_str(&notes);
        text.push('\n');
    }
}

/// What dispatch knows of a kernel's speed.
#[derive(Debug, PartialEq, Eq)]
pub enum Speed {
    /// Dispatch never picks it.
    NotPicked,
    /// The line that prices it was measured at the digest that ships.
    Measured,
    /// It was not.
    Stale,
}

/// What dispatch knows of a kernel's speed.
pub fn speed(evidence: &Evidence, kernel: &Kernel) -> Speed {
    let Some(by) = &kernel.priced_by else {
        return Speed::NotPicked;
    };
    let digest = evidence.speeds.get(by).map_or(UNKNOWN, String::as_str);
    match evidence.shipped.is_current(by, digest) {
        true => Speed::Measured,
        false => Speed::Stale,
    }
}

/// A topic's section: what it is of, and its table.
fn section(text: &mut String, evidence: &Evidence, name: &str, what: &str, body: fn(&mut String, &Topic)) {
    let _ = writeln!(text, "## {name}\n");
    let Some(topic) = evidence.topics.get(name) else {
        text.push_str("Never measured.\n\n");
        return;
    };
    if !what.is_empty() {
        let _ = writeln!(text, "{what}\n");
    }
    let _ = writeln!(text, "{}.\n", about(topic));
    if let Some(why) = evidence.stale(name) {
        let _ = writeln!(text, "> Stale since {}: {why}.\n", topic.about.when());
    }
    body(text, topic);
    text.push('\n');
}

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The products of a suite; of random ones the ratios together, and those with the least ratios.
fn products(text: &mut String, topic: &Topic) {
    for note in topic.value["about"]["notes"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "{}\n", note.as_str().unwrap_or_default());
    }
    let mut rows: Vec<Row> = Row::of(topic).collect();
    let draw = &topic.value["about"]["random"];
    if draw.is_object() {
        rows = slowest(rows);
        let _ = writeln!(
            text,
            "{} random shapes of each type, seed {}. The file has every row; below are the {SLOWEST} of each type with \
             the least ratios.\n",
            draw["count"], draw["seed"]
        );
        summaries(text, topic);
    }
    text.push_str(
        "| row | m x n x k | layout | ours | us | TFLOP/s | peer | us | TFLOP/s | ratio | MHz | W |\n\
         |---|---|---|---|---:|---:|---|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let side = |side: &str| {
            row.side(side).map_or_else(
                || " |  | ".to_owned(),
                |(name, us, tflops)| format!("{name} | {us:.1} | {tflops:.2}"),
            )
        };
        let measured = row.measured();
        let quartile = |name: &str| measured["ratio"][name].as_f64();
        let ratio = match ["median", "q1", "q3"].map(quartile) {
            [Some(median), Some(q1), Some(q3)] => format!("{median:.3} [{q1:.3}, {q3:.3}]"),
            _ => String::new(),
        };
        let number = |name: &str| {
            let number = measured["telemetry"][name].as_f64();
            number.map_or_else(String::new, |number| format!("{number:.0}"))
        };
        let _ = writeln!(
            text,
            "| {} | {} x {} x {} {} | {} | {} | {} | {ratio} | {} | {} |",
            row.name(),
            row.field("m"),
            row.field("n"),
            row.field("k"),
            row.field("dtype").as_str().unwrap_or_default(),
            row.field("layout").as_str().unwrap_or_default(),
            side("ours"),
            side("peer"),
            number("clock_mhz"),
            number("power_w")
        );
    }
    for row in topic.list("rows").iter().filter(|row| row["failed"].is_object()) {
        let _ = writeln!(
            text,
            "\n{} was not measured: {}",
            word(row, "name"),
            word(&row["failed"], "problem")
        );
    }
}

/// Random shapes of an element type that are shown.
const SLOWEST: usize = 5;

/// The rows of each element type with the least ratios.
fn slowest(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let mut of_types = BTreeMap::<String, Vec<Row<'_>>>::new();
    for row in rows {
        of_types.entry(row.field("dtype").to_string()).or_default().push(row);
    }
    let ratio = |row: &Row<'_>| row.ratio().unwrap_or(f64::INFINITY);
    of_types
        .into_values()
        .flat_map(|mut rows| {
            rows.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
            rows.truncate(SLOWEST);
            rows
        })
        .collect()
}

/// The ratios of a suite by element type and layout.
fn summaries(text: &mut String, topic: &Topic) {
    text.push_str(
        "| type | layout | rows | geometric mean | 5th percentile | least | below 0.80 |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
    );
    for summary in topic.list("summary") {
        let number = |name: &str| summary[name].as_f64().unwrap_or(f64::NAN);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.3} | {:.3} | {:.3} | {} |",
            summary["dtype"].as_str().unwrap_or("all"),
            summary["layout"].as_str().unwrap_or("all"),
            summary["rows"],
            number("geometric_mean"),
            number("fifth_percentile"),
            number("least"),
            summary["slow"].as_array().map_or(0, Vec::len)
        );
    }
    text.push('\n');
}

/// Rows of an element type that are shown of the planner's choice.
const WORST_PICKS: usize = 5;

/// The products for which the planner's choice is farthest from the fastest, of each element type.
fn pick(text: &mut String, topic: &Topic) {
    let mut of_types = BTreeMap::<&str, Vec<&Value>>::new();
    for row in topic.list("rows") {
        of_types.entry(word(row, "dtype")).or_default().push(row);
    }
    let over = |row: &Value| row["over_best"].as_f64().unwrap_or(f64::NAN);
    text.push_str("| type | rows | within 5 % | worst | geometric mean |\n|---|---:|---:|---:|---:|\n");
    for (dtype, rows) in &of_types {
        let within = rows.iter().filter(|row| over(row) <= WITHIN).count();
        let worst = rows.iter().map(|row| over(row)).fold(1.0, f64::max);
        let mean = rows.iter().map(|row| over(row).ln()).sum::<f64>() / rows.len() as f64;
        let _ = writeln!(
            text,
            "| {dtype} | {} | {within} | {worst:.3} | {:.4} |",
            rows.len(),
            mean.exp()
        );
    }
    let _ = writeln!(
        text,
        "\nThe {WORST_PICKS} worst of each type:\n\n| m x n x k | layout | type | picked | over best | fastest | us |\n\
         |---|---|---|---|---:|---|---:|"
    );
    for rows in of_types.values_mut() {
        rows.sort_by(|a, b| over(b).total_cmp(&over(a)));
        for row in rows.iter().take(WORST_PICKS) {
            worst_pick(text, row);
        }
    }
}

fn worst_pick(text: &mut String, row: &Value) {
    let us = |candidate: &Value| candidate["us"].as_f64().unwrap_or(f64::INFINITY);
    let candidates = row["candidates"].as_array().map_or(&[][..], Vec::as_slice);
    let Some(best) = candidates.iter().min_by(|a, b| us(a).total_cmp(&us(b))) else {
        return;
    };
    let letter = |operand: usize| match row["transpose"][operand].as_bool() {
        Some(true) => 'T',
        _ => 'N',
    };
    let _ = writeln!(
        text,
        "| {} x {} x {} | {}{} | {} | {} | {:.3} | {} {}x{} / {} | {:.1} |",
        row["m"],
        row["n"],
        row["k"],
        letter(0),
        letter(1),
        word(row, "dtype"),
        word(row, "picked"),
        row["over_best"].as_f64().unwrap_or(f64::NAN),
        word(best, "kernel"),
        best["tile"][0],
        best["tile"][1],
        best["splits"],
        us(best)
    );
}

/// A topic that is a table itself: `text`, `columns`, `rows`, `notes`.
fn table(text: &mut String, topic: &Topic) {
    let words = |values: &[Value]| -> Vec<String> {
        values
            .iter()
            .map(|value| value.as_str().unwrap_or_default().to_owned())
            .collect()
    };
    for paragraph in words(topic.list("text")) {
        let _ = writeln!(text, "{paragraph}\n");
    }
    let columns = words(topic.list("columns"));
    let _ = writeln!(text, "| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()));
    for row in topic.list("rows") {
        let cells = row.as_array().map_or(&[][..], Vec::as_slice);
        let _ = writeln!(text, "| {} |", words(cells).join(" | "));
    }
    let notes = words(topic.list("notes"));
    if !notes.is_empty() {
        let _ = writeln!(text, "\n- {}", notes.join("\n- "));
    }
}

/// The times of every register-budget variant.
fn spilling(text: &mut String, topic: &Topic) {
    text.push_str(
        "| problem | size | threads, cap | kept ms | local ms | shared ms | unbounded ms | local / shared \
         | kept / shared |\n|---|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in topic.list("rows") {
        let ms = |name: &str| {
            row[name]["ms"]
                .as_f64()
                .map_or_else(String::new, |ms| format!("{ms:.4}"))
        };
        let ratio = |name: &str| {
            let quartile = |of: &str| row[name][of].as_f64().unwrap_or(f64::NAN);
            format!(
                "{:.3} [{:.3}, {:.3}]",
                quartile("median"),
                quartile("q1"),
                quartile("q3")
            )
        };
        let _ = writeln!(
            text,
            "| {} {} | {} | {}, {} | {} | {} | {} | {} | {} | {} |",
            word(row, "family"),
            word(row, "dtype"),
            word(row, "size"),
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
}

/// The sides of a comparison on a CPU.
fn sides(text: &mut String, topic: &Topic) {
    text.push_str("| side | seconds |\n|---|---:|\n");
    for row in topic.list("rows") {
        if let Some(seconds) = row["seconds"].as_f64() {
            let _ = writeln!(text, "| {} | {seconds:.3} |", word(row, "side"));
        }
    }
}
