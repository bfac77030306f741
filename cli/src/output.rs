//! What commands write to the terminal.

use std::io::{self, ErrorKind, Write};
use std::thread;
use std::time::Duration;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::failure::{Failure, Result};

/// Writes a text to standard output. A reader who has seen enough (`tilewright ptx | head`) is no failure.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::environment(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// A tile as `256x128`: rows and columns.
pub fn tile([m, n]: [u32; 2]) -> String {
    format!("{m}x{n}")
}

/// Writes a value to standard output as JSON.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::environment(format!("cannot write JSON: {error}")))?;
    print(&(text + "\n"))
}

/// An empty table without lines, wide as its contents.
pub fn table() -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// The table as text, each line without the blanks that pad it.
pub fn render(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A table of names and what they stand for.
pub fn pairs<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> Table {
    let mut table = table();
    for (name, value) in rows {
        table.add_row([name, &value]);
    }
    table
}

/// Aligns columns of numbers.
pub fn right_align(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// `232448 B (227 KiB)`. NVIDIA's "KB" of shared memory is 1024 bytes.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, size)| bytes >= *size) {
        None => format!("{bytes} B"),
        Some((unit, size)) if bytes.is_multiple_of(size) => format!("{bytes} B ({} {unit})", bytes / size),
        Some((unit, size)) => format!("{bytes} B ({:.1} {unit})", bytes as f64 / size as f64),
    }
}

/// The line on operands that are copied before the product, by the distance of their rows in the copies; `None` where
/// neither is.
pub fn copied([a, b]: [Option<u32>; 2], all_bytes: u64) -> Option<(&'static str, String)> {
    let what = match (a, b) {
        (None, None) => return None,
        (Some(lda), None) => format!("A into rows of {lda} elements"),
        (None, Some(ldb)) => format!("B into rows of {ldb} elements"),
        (Some(lda), Some(ldb)) => format!("A and B into rows of {lda} and {ldb} elements"),
    };
    Some(("padded first", format!("{what}, {}", bytes(all_bytes))))
}

/// Says on a terminal what goes on; hidden where standard error is no terminal.
pub fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    // What turns it is a thread of its own.
    let has_threads = || thread::Builder::new().spawn(|| ()).is_ok();
    if !spinner.is_hidden() && has_threads() {
        spinner.enable_steady_tick(Duration::from_millis(100));
    }
    spinner
}

/// Counts steps on a terminal; hidden where standard error is no terminal.
pub fn progress_bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    // The template is a constant; were it wrong, the default style would do.
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::{bytes, copied};

    #[test]
    fn a_line_says_what_is_copied_and_none_that_nothing_is() {
        let line = |operands| copied(operands, 2048).map(|(_, text)| text);
        assert_eq!(line([None, None]), None);
        let b = "B into rows of 16 elements, 2048 B (2 KiB)";
        assert_eq!(line([None, Some(16)]).as_deref(), Some(b));
        let both = "A and B into rows of 8 and 16 elements, 2048 B (2 KiB)";
        assert_eq!(line([Some(8), Some(16)]).as_deref(), Some(both));
    }

    #[test]
    fn sizes_name_the_exact_bytes_first() {
        for (size, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1024 B (1 KiB)"),
            (232_448, "232448 B (227 KiB)"),
            (1100, "1100 B (1.1 KiB)"),
            (3 << 30, "3221225472 B (3 GiB)"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }
}
