//! What is on record, and what has changed.

use std::path::Path;

use tilewright::inspect::Inspected;

/// Holds one of the planner's files, `planner/src/kernels/FOLDER/ARCH.txt`, against what ptxas has said; with `BLESS=1` in the environment, writes it.
pub fn compare<'a>(folder: &str, arch: &str, kernels: impl IntoIterator<Item = &'a Inspected>) {
    let mut lines = String::from(
        "symbol registers static_bytes stack_bytes spill_store_bytes spill_load_bytes barriers max_threads\n",
    );
    lines.extend(kernels.into_iter().map(line));
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("planner/src/kernels/{folder}/{arch}.txt"));
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&record, &lines).expect("the record is writable");
    }
    let expected = std::fs::read_to_string(&record).expect("a file for every architecture");
    let (columns, changed) = (lines.lines().next(), differences(&expected, &lines));
    assert!(
        changed.is_empty(),
        "{arch}: what the kernels take has changed ({}):\n{changed}if that is right, run `BLESS=1 cargo test --test usage`",
        columns.unwrap_or_default()
    );
}

fn line(kernel: &Inspected) -> String {
    let Inspected { usage, max_threads, .. } = kernel;
    let max_threads = max_threads.map_or("-".to_owned(), |threads| threads.to_string());
    format!(
        "{} {} {} {} {} {} {} {max_threads}\n",
        usage.symbol,
        usage.registers,
        usage.static_smem_bytes,
        usage.stack_bytes,
        usage.spill_store_bytes,
        usage.spill_load_bytes,
        usage.barriers,
    )
}

/// The lines that two texts do not have in common, `-` before those of the first and `+` before those of the second.
fn differences(before: &str, after: &str) -> String {
    let gone = before.lines().filter(|line| after.lines().all(|other| other != *line));
    let come = after.lines().filter(|line| before.lines().all(|other| other != *line));
    let mut text: String = gone.map(|line| format!("- {line}\n")).collect();
    text.extend(come.map(|line| format!("+ {line}\n")));
    if text.is_empty() && before != after {
        text.push_str("the order of the lines\n");
    }
    text
}
