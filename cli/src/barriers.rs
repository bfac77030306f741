//! `tilewright sim --barriers`: which barriers, waits and fences of a kernel are needed, by leaving out each.

use cuda_sim::{SimFault, SyncKind, Synchronization, Synchronizations};
use serde::Serialize;

use crate::failure::Result;
use crate::output;
use crate::sim::Listing;

/// What notices that one is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum NoticedBy {
    /// The simulator reports a fault.
    Fault,
    /// No fault, but C is not the product.
    Result,
    /// Neither: it may be redundant on this shape, or the simulator cannot see what it is for.
    Nothing,
    /// It gives a value, so no kernel runs without it.
    NotTried,
}

/// A barrier, wait or fence, and what a run without it shows.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    synchronization: Synchronization,
    noticed_by: NoticedBy,
    /// The first fault, or what is wrong with C.
    finding: Option<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Table<'l> {
    #[serde(flatten)]
    listing: &'l Listing,
    synchronizations: Vec<Row>,
}

/// Simulates with all barriers, then without each, and prints what notices. `simulate` is one such run.
pub fn run(simulate: impl Fn(Synchronizations) -> Result<Listing>, json: bool) -> Result<()> {
    let whole = simulate(Synchronizations::Listed)?;
    // What is noticed of a faulty kernel says nothing of a barrier.
    whole.outcome()?;
    let listed = whole.report.as_ref().map_or(&[][..], |report| &report.synchronizations);
    let bar = output::progress_bar(listed.len());
    let mut rows = Vec::new();
    for synchronization in listed {
        bar.set_message(format!("without {}", place(synchronization)));
        rows.push(without(synchronization, &simulate)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let table = Table {
        listing: &whole,
        synchronizations: rows,
    };
    if json {
        return output::print_json(&table);
    }
    output::print(&describe(&table))
}

/// One run without it.
fn without(synchronization: &Synchronization, simulate: impl Fn(Synchronizations) -> Result<Listing>) -> Result<Row> {
    let row = |noticed_by, finding| Row {
        synchronization: synchronization.clone(),
        noticed_by,
        finding,
    };
    if !synchronization.kind.can_be_left_out() {
        return Ok(row(NoticedBy::NotTried, None));
    }
    let listing = simulate(Synchronizations::Without(synchronization.clone()))?;
    let fault = listing.report.as_ref().and_then(|report| report.faults.first());
    Ok(match fault {
        Some(fault) => row(NoticedBy::Fault, Some(in_a_line(fault))),
        None if !listing.equal => row(NoticedBy::Result, Some(listing.verdict)),
        None => row(NoticedBy::Nothing, None),
    })
}

fn place(synchronization: &Synchronization) -> String {
    let location = &synchronization.location;
    format!("{}:{}", location.file, location.line)
}

/// What a fault is, and where.
fn in_a_line(fault: &SimFault) -> String {
    let text = fault.to_string();
    let what = text.lines().next().unwrap_or_default().trim();
    match &fault.location {
        Some(location) => format!("{what}, at {}:{}", location.file, location.line),
        None => what.to_owned(),
    }
}

fn describe(table: &Table<'_>) -> String {
    let mut rows = output::table();
    rows.add_row(["line", "kind", "executions", "noticed by", "finding"]);
    for row in &table.synchronizations {
        let noticed_by = match row.noticed_by {
            NoticedBy::Fault => "a fault",
            NoticedBy::Result => "the result",
            NoticedBy::Nothing => "NOTHING",
            NoticedBy::NotTried => "not tried",
        };
        rows.add_row([
            place(&row.synchronization),
            row.synchronization.kind.to_string(),
            row.synchronization.executions.to_string(),
            noticed_by.to_owned(),
            row.finding.clone().unwrap_or_default(),
        ]);
    }
    output::right_align(&mut rows, 2..3);
    let of = |noticed_by| {
        let rows = table.synchronizations.iter();
        rows.filter(|row| row.noticed_by == noticed_by).count()
    };
    let mut text = format!(
        "{}: each barrier, wait and fence is left out in turn.\n\n{}\n{} noticed by a fault, {} by the result, {} by \
         nothing.\n",
        table.listing.title(),
        output::render(rows),
        of(NoticedBy::Fault),
        of(NoticedBy::Result),
        of(NoticedBy::Nothing)
    );
    if of(NoticedBy::Nothing) > 0 {
        text.push_str(
            "What nothing notices may be redundant on this shape, or for what the simulator does not model.\n",
        );
    }
    let has_values = |row: &Row| row.synchronization.kind == SyncKind::ReducingBarrier;
    if table.synchronizations.iter().any(has_values) {
        text.push_str("A barrier with a value is not tried: the kernel needs the value.\n");
    }
    text
}
