//! The table of the corpus in `docs/simulator-corpus.md`.

mod bugs;

use std::fmt::Write as _;
use std::path::Path;

use crate::pair::Suite;
use crate::verdict::{EXCEPTIONS, Exception, Finding, Verdict};

const HEAD: &str = "\
# The simulator's corpus

Small kernels of our own after the patterns of public suites for checkers of GPU programs, in
[`sim/corpus`](../sim/corpus). Each pair is one source with a flag that switches its mistake on: a wrong kernel and its
right twin. Both run under the default schedule. *Found* counts the mistakes that the simulator reports, *right kind*
those whose first fault is of the expected kind, *right line* those of them with the expected line and, where the source
marks it, the expected line of the other access. A false alarm is any fault of a right twin. Beside this table the test
runs the right twins under `Schedule::All`, and the wrong ones that the first order does not show, which must be found
as the same; it compares the results of most right twins with the expected ones, and looks for each mistake in reverse
order, too.

`cargo run -p simulator_corpus -- no_proxy_fence` runs both kernels of a pair and prints what is reported of them.
`BLESS=1 cargo test -p simulator_corpus` writes this page; the test fails where it says something else.
";

/// The counts of a row.
fn counts(verdicts: &[&Verdict]) -> [usize; 6] {
    let at_least = |finding| verdicts.iter().filter(|verdict| verdict.finding >= finding).count();
    [
        verdicts.len(),
        at_least(Finding::OtherKind),
        at_least(Finding::OtherLine),
        at_least(Finding::Right),
        verdicts.len(),
        verdicts.iter().filter(|verdict| verdict.is_false_alarm).count(),
    ]
}

fn row(page: &mut String, name: &str, verdicts: &[&Verdict]) {
    let counts = counts(verdicts).map(|count| count.to_string()).join(" | ");
    writeln!(page, "| {name} | {counts} |").expect("a String takes all text");
}

fn table(page: &mut String, what: &str, rows: &[(String, Vec<&Verdict>)]) {
    write!(
        page,
        "\n| {what} | wrong | found | right kind | right line | right twins | false alarms |\n\
         |---|--:|--:|--:|--:|--:|--:|\n"
    )
    .expect("a String takes all text");
    for (name, verdicts) in rows {
        row(page, name, verdicts);
    }
    let all: Vec<&Verdict> = rows.iter().flat_map(|(_, verdicts)| verdicts.iter().copied()).collect();
    row(page, "**all**", &all);
}

fn text(verdicts: &[Verdict]) -> String {
    let mut page = HEAD.to_owned();
    let of_suite = |suite| {
        verdicts
            .iter()
            .filter(move |verdict| verdict.pair.suite == suite)
            .collect()
    };
    let suites = Suite::ALL.map(|suite| (suite.to_string(), of_suite(suite)));
    table(&mut page, "after the patterns of", &suites);
    let mut families: Vec<(String, Vec<&Verdict>)> = Vec::new();
    for verdict in verdicts {
        let name = format!("[`{0}`](../sim/corpus/src/{0}.rs)", verdict.family.name);
        match families.last_mut().filter(|(last, _)| *last == name) {
            Some((_, verdicts)) => verdicts.push(verdict),
            None => families.push((name, vec![verdict])),
        }
    }
    table(&mut page, "file", &families);
    bugs::write(&mut page, verdicts);
    page += "\n## Exceptions\n\n";
    page += match EXCEPTIONS {
        [] => "None.\n",
        _ => "| pair | reported | why |\n|---|---|---|\n",
    };
    for Exception { pair, wrong, reason } in EXCEPTIONS {
        let reported = match wrong {
            Finding::Missed => "nothing",
            Finding::OtherKind => "another kind of fault",
            Finding::OtherLine => "another line",
            Finding::Right => "as it should be",
        };
        writeln!(page, "| `{pair}` | {reported} | {reason} |").expect("a String takes all text");
    }
    page += "\n## Pairs\n\n| pair | file | after | fault |\n|---|---|---|---|\n";
    for verdict in verdicts {
        let (pair, mark) = (verdict.pair, &verdict.mark);
        let line = mark.line.map_or(String::new(), |line| format!(":{line}"));
        writeln!(
            page,
            "| `{}` | `{}.rs{line}` | {} | `{}` |",
            pair.name, verdict.family.name, pair.suite, mark.kind
        )
        .expect("a String takes all text");
    }
    page
}

/// Compares the page with what was found, or writes it.
///
/// # Panics
/// If it differs.
pub fn compare(verdicts: &[Verdict]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulator-corpus.md");
    let text = text(verdicts);
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).expect("the page can be written");
        return;
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == text,
        "{} is out of date: BLESS=1 cargo test -p simulator_corpus",
        path.display()
    );
    // The front page quotes it, in words that may be wrapped anywhere.
    let right = verdicts
        .iter()
        .filter(|verdict| verdict.finding == Finding::Right)
        .count();
    let quoted = format!(
        "it names {right} of {} mistakes at their line, without a false alarm.",
        verdicts.len()
    );
    let front = include_str!("../../../README.md")
        .split_whitespace()
        .collect::<Vec<_>>();
    assert!(
        front.join(" ").contains(&quoted),
        "README.md does not say that {quoted}"
    );
}
