//! Results as a table, for the terminal and for Markdown.

use super::super::parse::product_name;
use super::super::results::{Measurement, Outcome, Results, Side};
use super::super::stats::Quartiles;
use super::super::summary::SLOW;
use super::super::telemetry::Telemetry;

/// A table of results, and what does not go into one.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The columns' titles, and whether they are of numbers.
    pub columns: Vec<(&'static str, bool)>,
    /// The cells, as many a row as there are columns.
    pub rows: Vec<Vec<String>>,
    /// What does not go into a cell, a line each: rows that were not measured and candidates that were passed over; of
    /// a summary the slow rows.
    pub problems: Vec<String>,
}

/// The columns, and whether they are of numbers.
const COLUMNS: [(&str, bool); 18] = [
    ("row", false),
    ("ours", false),
    ("us", true),
    ("lone us", true),
    ("TFLOP/s", true),
    ("peer", false),
    ("us", true),
    ("lone us", true),
    ("TFLOP/s", true),
    ("ratio", true),
    ("lone ratio", true),
    ("MHz", true),
    ("W", true),
    ("zeros: us", true),
    ("zeros: peer us", true),
    ("zeros: ratio", true),
    ("zeros: MHz", true),
    ("zeros: W", true),
];

/// The results as a table. Columns that no row has anything for are left out, such as those of zeros that nobody asked
/// for.
pub fn table(results: &Results) -> Table {
    let mut problems: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for result in &results.rows {
        let row = &result.row;
        let mut cells = vec![row.name.clone()];
        match &result.outcome {
            Outcome::Measured(measured) => {
                cells.extend(cells_of(measured));
                // Rows of one product share what was passed over: it is said once.
                let product = product_name([row.m, row.n, row.k], row.batch);
                let product = format!("{product} {} {}", row.elements(), row.layout.name());
                for passed_over in &measured.passed_over {
                    let line = format!("{product}: {} passed over: {}", passed_over.name, passed_over.problem);
                    if !problems.contains(&line) {
                        problems.push(line);
                    }
                }
            }
            Outcome::Failed { problem, .. } => {
                cells.push("not measured".to_owned());
                problems.push(format!("{}: {problem}", row.name));
            }
        }
        cells.resize(COLUMNS.len(), String::new());
        rows.push(cells);
    }
    let kept: Vec<usize> = (0..COLUMNS.len())
        .filter(|&at| at == 0 || rows.iter().any(|cells| !cells[at].is_empty()))
        .collect();
    Table {
        columns: kept.iter().map(|&at| COLUMNS[at]).collect(),
        rows: rows
            .iter()
            .map(|cells| kept.iter().map(|&at| cells[at].clone()).collect())
            .collect(),
        problems,
    }
}

/// The ratios of each element type and layout together, of each type, and of all rows; `None` where nothing was
/// compared. The only layout of a type has no line of its own, nor have all rows where they are of one type.
pub fn summary(results: &Results) -> Option<Table> {
    let summaries = results.summaries();
    let all = summaries.last()?;
    let layouts = |elements: &Option<String>| {
        let elements = elements.clone();
        summaries
            .iter()
            .filter(move |of| of.elements == elements && of.layout.is_some())
    };
    let mut types = summaries
        .iter()
        .filter(|of| of.elements.is_some() && of.layout.is_none());
    let several_types = types.nth(1).is_some();
    let shown = summaries.iter().filter(|of| match (&of.elements, of.layout) {
        (Some(_), Some(_)) => layouts(&of.elements).count() > 1,
        (Some(_), None) => true,
        (None, _) => several_types,
    });
    let cells = shown.map(|of| {
        let ratios = [of.geometric_mean, of.fifth_percentile, of.least].map(|ratio| format!("{ratio:.3}"));
        let mut cells = vec![of.title(), of.rows.to_string()];
        cells.extend(ratios);
        cells.extend([of.slow.len().to_string(), of.least_row.clone()]);
        cells
    });
    let slow = all
        .slow
        .iter()
        .map(|slow| format!("{}: ratio {:.3}, below {SLOW:.2}", slow.name, slow.ratio));
    Some(Table {
        columns: vec![
            ("ratios of", false),
            ("rows", true),
            ("geometric mean", true),
            ("5th percentile", true),
            ("least", true),
            ("below 0.80", true),
            ("row of the least", false),
        ],
        rows: cells.collect(),
        problems: slow.collect(),
    })
}

/// The cells of a row after its name.
fn cells_of(measured: &Measurement) -> Vec<String> {
    let us = |us: Option<Quartiles>| us.map_or_else(String::new, |us| format!("{:.1}", us.median));
    let mut cells = Vec::new();
    for side in [Some(&measured.ours), measured.peer.as_ref()] {
        cells.push(side.map_or_else(String::new, |side| side.name.clone()));
        cells.push(us(side.map(|side| side.speed.us)));
        cells.push(us(side.and_then(|side| side.lone_us)));
        cells.push(side.map_or_else(String::new, tflops));
    }
    cells.extend([ratio(measured.ratio), ratio(measured.lone_ratio)]);
    cells.extend(clock_and_power(measured.telemetry.as_ref()));
    if let Some(zeros) = &measured.zeros {
        cells.push(us(Some(zeros.ours.us)));
        cells.push(us(zeros.peer.map(|peer| peer.us)));
        cells.push(ratio(zeros.ratio));
        cells.extend(clock_and_power(zeros.telemetry.as_ref()));
    }
    cells
}

/// Median and quartiles.
fn ratio(ratio: Option<Quartiles>) -> String {
    ratio.map_or_else(String::new, |ratio| {
        format!("{:.3} [{:.3}, {:.3}]", ratio.median, ratio.q1, ratio.q3)
    })
}

/// Two decimals, or more for what a CPU or a skinny product does.
fn tflops(side: &Side) -> String {
    let value = side.speed.tflops;
    if value < 1.0 {
        format!("{value:.4}")
    } else {
        format!("{value:.2}")
    }
}

fn clock_and_power(telemetry: Option<&Telemetry>) -> [String; 2] {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.0}"));
    let of = |value: fn(&Telemetry) -> Option<f64>| number(telemetry.and_then(value));
    [of(|telemetry| telemetry.clock_mhz), of(|telemetry| telemetry.power_w)]
}
