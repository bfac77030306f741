//! Results as Markdown.

use std::fmt::Write;

use super::super::parse::product_name;
use super::super::results::{Results, RowResult};
use super::table;

/// The report: title, conditions, table.
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
            format!("{} {}", product_name([row.m, row.n, row.k], row.batch), row.dtype),
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
