//! Kernels of buffers as tables.

use std::fmt::Write;

use tilewright_plan::{Component, Kernel, KernelReport, Worksheet};

use super::text;
use crate::output;

/// Everything that `tilewright plan` shows of a kernel of buffers.
pub fn describe(report: &KernelReport) -> String {
    let sheet = &report.worksheet;
    let mut text = String::new();
    let _ = writeln!(text, "{} on {} ({})\n", title(&sheet.template), sheet.arch, report.gpu);
    text.push_str(&output::render(output::pairs(sheet.template.facts())));
    text.push('\n');
    worksheet(&mut text, sheet);
    let none_too_many = "none of which can be left out";
    text::moves(&mut text, none_too_many, &report.moves, report.impossible.as_deref());
    if let Some(after) = &report.after_moves {
        text.push_str("\nAfter the moves:\n\n");
        worksheet(&mut text, after);
    }
    text::considered(&mut text, &report.considered);
    text
}

fn title(kernel: &Kernel) -> &'static str {
    match kernel {
        Kernel::Buffers(_) => "named buffers",
        Kernel::FlashAttention(_) => "FlashAttention forward",
    }
}

fn worksheet(text: &mut String, sheet: &Worksheet<Kernel>) {
    text::worksheet(text, sheet, &registers(sheet), |part| how(part, sheet));
}

fn registers(sheet: &Worksheet<Kernel>) -> String {
    let registers = &sheet.registers;
    match &sheet.template {
        Kernel::Buffers(_) if registers.known => format!("{}, as given", registers.math),
        Kernel::Buffers(_) => "not given, and not counted below; --registers".into(),
        Kernel::FlashAttention(attention) => format!(
            "{} for {}; {}{} in all",
            registers.accumulator,
            attention.holdings(),
            if registers.known { "" } else { "about " },
            registers.math
        ),
    }
}

/// How a line's bytes come about.
fn how(part: &Component, sheet: &Worksheet<Kernel>) -> String {
    let mut words: Vec<String> = part.shape.iter().cloned().collect();
    if let Some(bytes) = part.per_stage {
        let stages = if sheet.buffers == 1 { "stage" } else { "stages" };
        words.push(format!("{bytes} B x {} {stages}", sheet.buffers));
    }
    if part.overlaid_bytes > 0 {
        words.push(format!("{} B shared with others", part.overlaid_bytes));
    }
    words.join("; ")
}
