//! Results as Markdown.

use std::fmt::Write;

use super::super::parse::product_name;
use super::super::results::{Results, RowResult};
use super::table::{Table, summary, table};

/// The report: title, conditions, table.
pub fn markdown(results: &Results) -> String {
    let mut text = format!("# Suite {}\n\n{}\n\n", results.title(), conditions(results));
    for note in &results.about.notes {
        line(&mut text, note);
        text.push('\n');
    }
    if let Some(summary) = summary(results) {
        text.push_str(&written(&summary));
        text.push('\n');
    }
    text.push_str(&written(&with_products(table(results), results)));
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
    let _ = write!(
        text,
        " Both sides run for {} ms before they are timed.",
        about.warm_up_ms
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

/// The table of the rows with the product of each beside its name.
fn with_products(mut table: Table, results: &Results) -> Table {
    table.columns.splice(1..1, [("m x n x k", false), ("layout", false)]);
    for (RowResult { row, .. }, cells) in results.rows.iter().zip(&mut table.rows) {
        let product = [
            format!("{} {}", product_name([row.m, row.n, row.k], row.batch), row.elements()),
            row.layout.name().to_owned(),
        ];
        cells.splice(1..1, product);
    }
    table
}

/// A table, then what does not go into one.
fn written(table: &Table) -> String {
    let columns = &table.columns;
    let titles: String = columns.iter().map(|(title, _)| format!(" {title} |")).collect();
    let mut text = format!("|{titles}\n|");
    text.extend(
        columns
            .iter()
            .map(|(_, is_number)| if *is_number { "---:|" } else { "---|" }),
    );
    text.push('\n');
    for cells in &table.rows {
        // A user's name of a row may hold anything.
        let cells: String = cells
            .iter()
            .map(|cell| format!(" {} |", cell.replace('|', "\\|")))
            .collect();
        line(&mut text, &format!("|{cells}"));
    }
    for problem in &table.problems {
        let _ = write!(text, "\n{problem}\n");
    }
    text
}
