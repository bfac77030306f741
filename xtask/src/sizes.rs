//! Sizes of Rust files and of their lines, macro bodies, strings and comments included: rustfmt reaches none of these.

use std::fmt;

use anyhow::{Context, ensure};
use xshell::{Shell, cmd};

/// The most lines of a file.
const MAX_LINES: usize = 500;

/// The most columns of a line, in characters; `max_width` of rustfmt.toml.
const MAX_COLUMNS: usize = 120;

/// A file or a line that is too long.
#[derive(Debug, PartialEq, Eq)]
enum Excess {
    /// The file has so many lines.
    Lines(usize),
    /// The line of this number, counted from 1, has so many columns.
    Columns { line: usize, columns: usize },
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Excess::Lines(lines) => write!(f, " {lines} lines, at most {MAX_LINES}: split the file by its ideas"),
            Excess::Columns { line, columns } => write!(f, "{line}: {columns} columns, at most {MAX_COLUMNS}"),
        }
    }
}

/// Checks every Rust file that git tracks or would track.
///
/// # Errors
/// One line for each file and each line that is too long.
pub fn check(sh: &Shell) -> anyhow::Result<()> {
    let listing = ["--cached", "--others", "--exclude-standard", "-z", "*.rs"];
    let files = cmd!(sh, "git ls-files {listing...}")
        .quiet()
        .read()
        .context("list the repository's files")?;
    let mut report = Vec::new();
    for file in files.split_terminator('\0').filter(|file| sh.path_exists(file)) {
        let text = sh.read_file(file)?;
        report.extend(excesses(&text).map(|excess| format!("{file}:{excess}")));
    }
    ensure!(report.is_empty(), "files or lines are too long:\n{}", report.join("\n"));
    Ok(())
}

/// Everything in a file that is too long.
fn excesses(text: &str) -> impl Iterator<Item = Excess> {
    let lines = text.lines().count();
    let too_many = (lines > MAX_LINES).then_some(Excess::Lines(lines));
    let too_wide = text.lines().zip(1..).filter_map(|(content, line)| {
        let columns = content.chars().count();
        (columns > MAX_COLUMNS && !cannot_be_split(content)).then_some(Excess::Columns { line, columns })
    });
    too_many.into_iter().chain(too_wide)
}

/// Whether a line is the row of a table in a doc comment, or a comment of nothing but a URL. Strings can be split, by
/// `\` at the line's end or by `concat!`.
fn cannot_be_split(line: &str) -> bool {
    let line = line.trim_start();
    let Some(comment) = line.strip_prefix("//") else {
        return false;
    };
    let doc = comment.strip_prefix(['/', '!']);
    let is_row = doc.is_some_and(|text| text.trim_start().starts_with('|'));
    let words = doc.unwrap_or(comment).trim().trim_start_matches("- ");
    let is_url = words.trim_start_matches('<').starts_with("https://") && !words.contains(char::is_whitespace);
    is_row || is_url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Excess> {
        excesses(text).collect()
    }

    #[test]
    fn lines_are_measured_in_characters() {
        let widest = "µ".repeat(MAX_COLUMNS);
        assert_eq!(found(&format!("{widest}\n{widest}\n")), []);
        let wider = format!("ok\n{widest}µ\r\nok\n");
        assert_eq!(found(&wider), [Excess::Columns { line: 2, columns: 121 }]);
    }

    #[test]
    fn files_have_at_most_500_lines() {
        assert_eq!(found(&"x\n".repeat(MAX_LINES)), []);
        let longer = "x\n".repeat(MAX_LINES) + "the last has no end";
        assert_eq!(found(&longer), [Excess::Lines(501)]);
    }

    #[test]
    fn rows_of_tables_and_urls_are_let_pass_and_nothing_else() {
        let long = "x".repeat(MAX_COLUMNS);
        for allowed in [
            format!("    /// | {long} |"),
            format!("//! | {long} |"),
            format!("//! - <https://{long}>."),
            format!("// https://{long}"),
        ] {
            assert_eq!(found(&allowed), [], "{allowed}");
        }
        for refused in [
            format!("// | {long} |"),
            format!("let url = \"https://{long}\";"),
            format!("/// see https://{long}"),
            format!("/// {long}"),
            format!("| {long} |"),
        ] {
            assert_eq!(found(&refused).len(), 1, "{refused}");
        }
    }
}
