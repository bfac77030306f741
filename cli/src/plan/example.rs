//! The budget guide's example, its figures beside the worksheet's.

use std::fmt::Write;

use tilewright_plan::{Example, Line, example};

use crate::failure::{Failure, Result};
use crate::output;

/// Runs `tilewright plan --example`.
pub fn run(json: bool) -> Result<()> {
    let example = example().map_err(|violation| Failure::environment(violation.to_string()))?;
    if json {
        output::print_json(&example)
    } else {
        output::print(&describe(&example))
    }
}

fn describe(example: &Example) -> String {
    let mut text = String::from(
        "The budget guide's example: NVFP4, tile 128x256x64, 4 stages. Its figures, and what the worksheet computes;\n\
         sm_120 with the accumulators in shared memory, as the guide has it.\n\n",
    );
    let mut table = output::table();
    table.add_row(["", "guide", "sm_100", "guide", "sm_120", ""]);
    for line in &example.lines {
        let kib = |bytes: u64| {
            let kib = bytes as f64 / 1024.0;
            if bytes.is_multiple_of(1024) {
                format!("{kib:.0} KiB")
            } else {
                format!("{kib:.2} KiB")
            }
        };
        table.add_row([
            line.item.to_owned(),
            kib(line.guide_bytes[0]),
            kib(line.bytes[0]),
            kib(line.guide_bytes[1]),
            kib(line.bytes[1]),
            if line.guide_bytes == line.bytes { "" } else { "differs" }.to_owned(),
        ]);
    }
    output::right_align(&mut table, 1..5);
    text.push_str(&output::render(table));

    text.push_str("\nWhy the lines are as they are:\n");
    for Line { item, why, source, .. } in &example.lines {
        let _ = writeln!(text, "- {item}: {why} [{source}]");
    }
    let (guided, built) = (&example.sm_120_as_guided, &example.sm_120);
    let _ = writeln!(
        text,
        "\nOn sm_120 the guide's version is {} B too large. What makes it fit:\n{}",
        guided.over_by_bytes, example.moves
    );
    let _ = writeln!(
        text,
        "\nAs kernels for sm_120 are built, with the accumulators in registers from the start: {} B, {} B are left;\n\
         each of {} threads has {} accumulators in its registers.",
        built.total_bytes,
        built.left_bytes,
        built.template.warps * 32,
        built.registers.accumulator
    );
    text.push_str("\nWhat else the guide says:\n");
    for statement in example.statements {
        let _ = writeln!(
            text,
            "- \"{}\"\n  {} [{}]",
            statement.guide, statement.corrected, statement.source
        );
    }
    text
}
