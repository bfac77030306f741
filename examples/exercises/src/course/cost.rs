//! The counts of a launch as a table.

use std::fmt::Write as _;

use cuda_sim::Report;
use cuda_sim::access::Space;

/// A line for each line of the kernel that accesses memory: its wavefronts or sectors, and its bytes.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    for line in &report.lines {
        let unit = match line.kind.space {
            Space::Shared => "wavefronts",
            Space::Global => "sectors",
        };
        let _ = writeln!(
            text,
            "  line {:>3}  {:<24} {:>6} {unit:<10} at best {:>6}  {:>8} bytes",
            line.location.line,
            line.kind.to_string(),
            line.actual,
            line.ideal,
            line.bytes
        );
    }
    text
}
