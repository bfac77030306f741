//! Plans as tables.

use std::fmt::{Display, Write};

use tilewright_plan::rules::RULES;
use tilewright_plan::{CandidateRow, Component, Report, Sheet, Worksheet};

use crate::failure::Result;
use crate::output;

/// Candidates that are shown without `--explain`.
const SHOWN: usize = 5;

/// Everything that `tilewright plan` shows.
pub fn describe(report: &Report, explain: bool) -> String {
    let mut text = String::new();
    title(&mut text, report);
    product_worksheet(&mut text, &report.worksheet);
    moves(
        &mut text,
        "the least invasive sequence",
        &report.moves,
        report.impossible.as_deref(),
    );
    if let Some(after) = &report.worksheet_after_moves {
        text.push_str("\nAfter the moves:\n\n");
        product_worksheet(&mut text, after);
    }
    considered(&mut text, &report.considered);
    candidates(&mut text, report, explain);
    estimate(&mut text, report);
    text
}

/// The moves that were made, or why none of them help.
pub fn moves(text: &mut String, which: &str, moves: &[impl Display], impossible: Option<&str>) {
    if !moves.is_empty() {
        line(text, &format!("\nMoves that make it fit, {which}:"));
        for (i, step) in moves.iter().enumerate() {
            line(text, &format!("{}. {step}", i + 1));
        }
    }
    if let Some(reason) = impossible {
        line(text, "\nNo moves make it fit:");
        line(text, reason);
    }
}

/// Every move that was tried, where they were asked for.
pub fn considered(text: &mut String, moves: &[impl Display]) {
    if moves.is_empty() {
        return;
    }
    line(text, "\nEvery move, tried once from the worksheet above:");
    moves.iter().for_each(|tried| line(text, &format!("- {tried}")));
}

fn line(text: &mut String, content: &str) {
    text.push_str(content);
    text.push('\n');
}

fn title(text: &mut String, report: &Report) {
    let sheet = &report.sheet;
    let of_shape = report
        .shape
        .map(|shape| format!(", {} x {} x {}", shape.m, shape.n, shape.k))
        .unwrap_or_default();
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{}{of_shape} on {} ({})\n", report.dtype, report.arch, report.gpu);
    let mut rows = vec![
        ("tile", sheet.tile.to_string()),
        ("stages", stages(sheet)),
        ("instructions", sheet.path.to_string()),
        ("accumulator", sheet.accumulator.to_string()),
        ("epilogue", sheet.epilogue.to_string()),
        (
            "warps",
            match sheet.producer_warps {
                0 => sheet.warps.to_string(),
                producers => format!("{} and {producers} producers", sheet.warps),
            },
        ),
    ];
    let groups = report.worksheet.template.groups;
    if groups > 0 {
        rows.push(("groups", groups.to_string()));
    }
    if sheet.split_k > 1 {
        rows.push(("split-K", sheet.split_k.to_string()));
    }
    if sheet.cluster != (1, 1) {
        rows.push(("cluster", format!("{}x{}", sheet.cluster.0, sheet.cluster.1)));
    }
    text.push_str(&output::render(output::pairs(rows)));
    text.push('\n');
}

fn stages(sheet: &Sheet) -> String {
    if sheet.buffers == sheet.stages {
        sheet.stages.to_string()
    } else {
        format!(
            "{} ({} buffers: {})",
            sheet.stages,
            sheet.buffers,
            sheet.frontend.name()
        )
    }
}

/// The worksheet of a matrix product.
fn product_worksheet(text: &mut String, sheet: &Worksheet) {
    let registers = &sheet.registers;
    let about = if registers.known { "" } else { "about " };
    let registers = format!(
        "{} for accumulators, {about}{} in all",
        registers.accumulator, registers.math
    );
    worksheet(text, sheet, &registers, |part| how(part, sheet.buffers));
}

/// The lines, the total against the limit, registers and occupancy. `how` says how a line's bytes come about.
pub fn worksheet<T>(text: &mut String, sheet: &Worksheet<T>, registers: &str, how: impl Fn(&Component) -> String) {
    let mut table = output::table();
    for part in &sheet.components {
        table.add_row([part.name.to_string(), format!("{} B", part.bytes), how(part)]);
    }
    table.add_row([
        "total".to_owned(),
        format!("{} B", sheet.total_bytes),
        format!("{:.2} KiB", sheet.total_bytes as f64 / 1024.0),
    ]);
    table.add_row([
        "limit of a block".to_owned(),
        format!("{} B", sheet.limit_bytes),
        format!(
            "{} KiB; {} B more are reserved for each resident block",
            sheet.limit_bytes / 1024,
            sheet.reserved_bytes
        ),
    ]);
    if sheet.margin_bytes > 0 {
        table.add_row([
            "margin".to_owned(),
            format!("{} B", sheet.margin_bytes),
            "asked for by the user".to_owned(),
        ]);
    }
    let (verdict, bytes) = if sheet.fits {
        ("fits, left", sheet.left_bytes)
    } else {
        ("DOES NOT FIT, too many", sheet.over_by_bytes)
    };
    table.add_row([verdict.to_owned(), format!("{bytes} B"), String::new()]);
    output::right_align(&mut table, [1]);
    text.push_str(&output::render(table));
    text.push('\n');

    let mut rows = vec![("registers of a thread", registers.to_owned())];
    if let Some(columns) = sheet.tensor_memory {
        rows.push((
            "tensor memory",
            format!(
                "{} columns of 512: {} for accumulators, {} for scales; {} allocated",
                columns.needed, columns.accumulator, columns.scales, columns.allocated
            ),
        ));
    }
    let occupancy = &sheet.occupancy;
    rows.push((
        "blocks of an SM",
        format!(
            "{} ({} warps), limited by {}",
            occupancy.blocks_per_sm,
            occupancy.warps_per_sm,
            occupancy.limiter.name()
        ),
    ));
    text.push_str(&output::render(output::pairs(rows)));
}

/// How a line's bytes come about.
fn how(part: &Component, buffers: u32) -> String {
    match (part.per_stage, part.overlaid_bytes) {
        (Some(bytes), _) => format!("{bytes} B x {buffers} buffers"),
        (None, 0) => String::new(),
        (None, overlaid) => format!("{overlaid} B more lie over the operands"),
    }
}

fn candidates(text: &mut String, report: &Report, explain: bool) {
    if report.candidates.is_empty() {
        return;
    }
    let (ranked, rejected): (Vec<_>, Vec<_>) = report.candidates.iter().partition(|row| row.rejected.is_none());
    let shown = if explain { ranked.len() } else { SHOWN.min(ranked.len()) };
    let _ = writeln!(
        text,
        "\nThe fastest of {} templates that fit, by the model:\n",
        ranked.len()
    );
    let mut table = output::table();
    table.add_row([
        "tile",
        "stages",
        "cluster",
        "split k",
        "bytes",
        "blocks per SM",
        "us",
        "bound by",
    ]);
    for row in &ranked[..shown] {
        table.add_row([
            row.tile.to_string(),
            row.stages.to_string(),
            format!("{}x{}", row.cluster.0, row.cluster.1),
            row.split_k.to_string(),
            row.total_bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
            row.blocks_per_sm.map(|blocks| blocks.to_string()).unwrap_or_default(),
            row.estimated_us.map(|us| format!("{us:.1}")).unwrap_or_default(),
            row.bound.map(|bound| bound.name().to_owned()).unwrap_or_default(),
        ]);
    }
    output::right_align(&mut table, 1..7);
    text.push_str(&output::render(table));
    if !explain {
        let _ = writeln!(
            text,
            "\n{} templates were passed over; --explain says why",
            rejected.len()
        );
        return;
    }
    let _ = writeln!(text, "\nPassed over:");
    for CandidateRow {
        tile, stages, rejected, ..
    } in rejected
    {
        let _ = writeln!(
            text,
            "- {tile}, {stages} stages: {}",
            rejected.as_deref().unwrap_or_default()
        );
    }
}

fn estimate(text: &mut String, report: &Report) {
    let (Some(estimate), Some(shape)) = (&report.estimate, report.shape) else {
        return;
    };
    let tflops = 2.0 * shape.m as f64 * shape.n as f64 * shape.k as f64 / (estimate.us * 1e6);
    let _ = writeln!(
        text,
        "\nEstimated {:.1} us, {tflops:.1} TFLOP/s, bound by {}: {:.2} waves; alone, multiplications take {:.1} us, \
         shared memory {:.1}, L2 {:.1}, device memory {:.1}.\nA model, not a measurement.",
        estimate.us,
        estimate.bound.name(),
        estimate.waves,
        estimate.compute_us,
        estimate.smem_us,
        estimate.l2_us,
        estimate.dram_us
    );
}

/// Prints the rules.
pub fn rules(json: bool) -> Result<()> {
    if json {
        return output::print_json(&RULES);
    }
    let text: String = RULES
        .iter()
        .map(|rule| format!("{}\n    {}\n    {}\n", rule.name, rule.says, rule.source))
        .collect();
    output::print(&text)
}
