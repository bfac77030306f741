//! Results as Markdown.

use std::fmt::Write;

use super::super::results::{Results, RowResult};
use super::super::rows::Subject;
use super::super::suites::Suite;
use super::table;

/// The marks between which the ladder's table stands, in the report and in `docs/ladder.md`.
pub const LADDER_MARKS: [&str; 2] = ["<!-- ladder:begin -->", "<!-- ladder:end -->"];

/// The report: title, conditions, table. That of the ladder stands between `LADDER_MARKS`.
pub fn markdown(results: &Results) -> String {
    let mut text = format!("# Suite {}\n\n{}\n\n", results.suite, conditions(results));
    for note in &results.about.notes {
        line(&mut text, note);
        text.push('\n');
    }
    if let Some(summary) = results.summary() {
        let sentence = format!(
            "Geometric mean of {} ratios: {:.3}. Least: {:.3} ({}).\n",
            summary.rows, summary.geometric_mean, summary.least, summary.least_row.name
        );
        line(&mut text, &sentence);
    }
    if results.suite == Suite::LADDER {
        let [begin, end] = LADDER_MARKS;
        text.push_str(&format!("{begin}\n{}{end}\n\n", ladder(results)));
    }
    text.push_str(&rows(results));
    text
}

/// Where, when, with what and how: one paragraph.
fn conditions(results: &Results) -> String {
    let about = &results.about;
    let mut text = about.device.clone();
    // Writing to a `String` cannot fail, here and below.
    if let Some(cuda) = &about.cuda {
        let _ = write!(text, ", driver CUDA {cuda}");
    }
    if let Some(level) = about.ptx_level {
        let _ = write!(text, ", PTX level {level}");
    }
    if let Some(peer) = &about.peer {
        let _ = write!(text, ", {peer}");
    }
    let _ = write!(
        text,
        ". Commit {}, {}. Random data, every side checked before it is timed, in turns; medians. Ratio: peer time over \
         ours, median of pairs [quartiles]; above 1, ours is faster.",
        about.commit, about.date
    );
    if let Some(bytes) = about.flushed_bytes {
        let _ = write!(
            text,
            " Lone: one launch on an idle device, after a write of {} MiB that empties its caches.",
            bytes >> 20
        );
    }
    if results
        .rows
        .iter()
        .filter_map(RowResult::measured)
        .any(|measured| measured.zeros.is_some())
    {
        text.push_str(" Zeros: the same turns on zeros, which take less power and so leave the clock higher.");
    }
    text
}

fn line(text: &mut String, sentence: &str) {
    text.push_str(sentence);
    text.push('\n');
}

/// Every row with everything that a reader may ask for, then what went wrong.
fn rows(results: &Results) -> String {
    let table = table(results);
    let (first, others) = table.columns.split_at(1);
    let product = [("m x n x k", false), ("layout", false)];
    let columns = || first.iter().chain(&product).chain(others);
    let mut text = format!(
        "|{}\n|",
        columns().map(|(title, _)| format!(" {title} |")).collect::<String>()
    );
    text.extend(columns().map(|(_, is_number)| if *is_number { "---:|" } else { "---|" }));
    text.push('\n');
    for (result, cells) in results.rows.iter().zip(table.rows) {
        let row = &result.row;
        let product = [
            format!("{} x {} x {} {}", row.m, row.n, row.k, row.dtype),
            row.layout.name().to_owned(),
        ];
        let mut cells = cells.into_iter();
        let cells = cells.next().into_iter().chain(product).chain(cells);
        // A user's name of a row may hold anything.
        let cells: String = cells.map(|cell| format!(" {} |", cell.replace('|', "\\|"))).collect();
        line(&mut text, &format!("|{cells}"));
    }
    for problem in table.problems {
        let _ = write!(text, "\n{problem}\n");
    }
    text
}

/// What each family gained: the table of `docs/ladder.md`.
fn ladder(results: &Results) -> String {
    let about = &results.about;
    let mut text = String::new();
    if let Some(row) = results.rows.first().map(|result| &result.row) {
        let _ = writeln!(
            text,
            "{} x {} x {} in {}, {}, {}, commit {}, {}.\n",
            row.m,
            row.n,
            row.k,
            row.dtype,
            about.device,
            about.peer.as_deref().unwrap_or("nothing to compare with"),
            about.commit.get(..10).unwrap_or(&about.commit),
            about.date
        );
    }
    text.push_str(
        "| family | tile | shared memory | TFLOP/s | times the family before | of cuBLAS |\n\
                   |---|---:|---|---:|---:|---:|\n",
    );
    let mut before: Option<f64> = None;
    for result in &results.rows {
        let name = match result.row.subject {
            Subject::Family(family) | Subject::Tile(family, _) => family.name(),
            Subject::Auto => &result.row.name,
        };
        let Some(measured) = result.measured() else {
            let _ = writeln!(text, "| `{name}` |  |  | not measured |  |  |");
            continue;
        };
        let tflops = measured.ours.speed.tflops;
        let gained = before.map_or(String::new(), |before| format!("{:.2}", tflops / before));
        before = Some(tflops);
        let of_peer = measured
            .ratio
            .map_or(String::new(), |ratio| format!("{:.0} %", 100.0 * ratio.median));
        let (tile, shared) = measured.plan.as_ref().map_or_else(Default::default, |plan| {
            (
                format!("{} x {}", plan.tile[0], plan.tile[1]),
                shared(plan.static_smem_bytes, plan.dynamic_smem_bytes, plan.opt_in),
            )
        });
        let _ = writeln!(
            text,
            "| `{name}` | {tile} | {shared} | {tflops:.2} | {gained} | {of_peer} |"
        );
    }
    if let Some(peer) = results
        .rows
        .iter()
        .filter_map(RowResult::measured)
        .find_map(|measured| measured.peer.as_ref())
    {
        let _ = writeln!(text, "| {} |  |  | {:.2} |  |  |", peer.name, peer.speed.tflops);
    }
    text
}

fn shared(fixed_bytes: u32, dynamic_bytes: u32, opt_in: bool) -> String {
    let of = |bytes: u32, kind: &str| (bytes > 0).then(|| format!("{} KiB {kind}", Trimmed(f64::from(bytes) / 1024.0)));
    let parts: Vec<String> = [of(fixed_bytes, "static"), of(dynamic_bytes, "dynamic")]
        .into_iter()
        .flatten()
        .collect();
    let opted_in = if opt_in { ", opted in" } else { "" };
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(" + ") + opted_in
    }
}

/// A number without the zeros at its end.
struct Trimmed(f64);

impl std::fmt::Display for Trimmed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:.1}", self.0);
        f.write_str(text.strip_suffix(".0").unwrap_or(&text))
    }
}
