//! The ladder's table in the README, from the report that `tilewright bench --suite ladder` wrote.

use anyhow::Context;

/// The marks between which the table stands, in the report and in the README: those of `host/src/bench/report/markdown.rs`.
const MARKS: [&str; 2] = ["<!-- ladder:begin -->", "<!-- ladder:end -->"];

/// The README with the report's table in place of its own.
///
/// # Errors
/// Where one of the texts lacks a mark, or has them the wrong way round.
pub fn replace(readme: &str, report: &str) -> anyhow::Result<String> {
    let [before, _, after] = split(readme).context("the README")?;
    let [_, table, _] = split(report).context("the report of suite ladder")?;
    let [begin, end] = MARKS;
    Ok(format!("{before}{begin}{table}{end}{after}"))
}

/// What stands before, between and after the marks.
fn split(text: &str) -> anyhow::Result<[&str; 3]> {
    let [begin, end] = MARKS;
    let (before, rest) = text.split_once(begin).with_context(|| format!("has no mark {begin}"))?;
    let (between, after) = rest
        .split_once(end)
        .with_context(|| format!("has no mark {end} behind {begin}"))?;
    Ok([before, between, after])
}

#[cfg(test)]
mod tests {
    use super::replace;

    #[test]
    fn the_table_is_replaced_and_nothing_else() {
        let readme = "# a\n\n<!-- ladder:begin -->\nold\n<!-- ladder:end -->\n\nrest\n";
        let report = "# Suite ladder\n\n<!-- ladder:begin -->\n| new |\n<!-- ladder:end -->\n\n| other |\n";
        let replaced = replace(readme, report).expect("marks are there");
        assert_eq!(
            replaced,
            "# a\n\n<!-- ladder:begin -->\n| new |\n<!-- ladder:end -->\n\nrest\n"
        );
        assert_eq!(replace(&replaced, report).expect("marks are there"), replaced);
    }

    #[test]
    fn a_missing_mark_is_named() {
        let whole = "<!-- ladder:begin -->\n<!-- ladder:end -->";
        for (readme, report, who) in [
            ("no marks", whole, "README"),
            (whole, "<!-- ladder:begin -->", "report"),
            ("<!-- ladder:end --> <!-- ladder:begin -->", whole, "README"),
        ] {
            let problem = format!("{:#}", replace(readme, report).expect_err("a mark is missing"));
            assert!(
                problem.contains(who) && problem.contains("has no mark <!-- ladder:"),
                "{problem}"
            );
        }
    }

    #[test]
    fn the_readme_has_the_marks() {
        let readme = include_str!("../../README.md");
        assert!(replace(readme, readme).is_ok_and(|same| same == readme));
    }
}
