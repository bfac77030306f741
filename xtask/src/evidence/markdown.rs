//! A table in Markdown as data: what the comparisons of the simulator with a GPU's tools are filed as.

use serde_json::{Map, Value, json};

/// The paragraphs, the first table and the list of a page, as the fields `text`, `columns`, `rows` and `notes`.
/// Headings are left out, and paragraphs that `is_about` recognizes, for a file says itself where and when it was
/// measured.
pub fn table(page: &str, is_about: impl Fn(&str) -> bool) -> Map<String, Value> {
    let (mut text, mut notes) = (Vec::new(), Vec::new());
    let mut table: Vec<Vec<String>> = Vec::new();
    for paragraph in page.split("\n\n") {
        let mut prose = Vec::new();
        for line in paragraph.lines().map(str::trim) {
            match line {
                _ if line.starts_with('#') || line.is_empty() => {}
                _ if line.starts_with('|') => table.push(cells(line)),
                _ => match line.strip_prefix("- ") {
                    Some(note) => notes.push(note),
                    None => prose.push(line),
                },
            }
        }
        let prose = prose.join(" ");
        if !prose.is_empty() && !is_about(&prose) {
            text.push(prose);
        }
    }
    let mut rows = table.into_iter();
    let columns = rows.next().unwrap_or_default();
    let rows: Vec<_> = rows.skip(1).collect();
    let fields = json!({ "text": text, "columns": columns, "rows": rows, "notes": notes });
    fields.as_object().cloned().unwrap_or_default()
}

/// The cells of a row. A bar behind a backslash is none between cells.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim_start_matches('|');
    let line = line.strip_suffix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for character in line.chars() {
        match cells.last_mut() {
            Some(cell) if character != '|' || escaped => cell.push(character),
            _ => cells.push(String::new()),
        }
        escaped = character == '\\';
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_data() {
        let page = "# Title\n\nDevice, commit 1.\n\n3 of\n4.\n\n| a | b |\n|---|---:|\n| x \\| y |  |\n\n\
                    ## Why\n\n- one\n- two\n";
        let fields = table(page, |text| text.contains("commit"));
        assert_eq!(fields["text"], json!(["3 of 4."]));
        assert_eq!(fields["columns"], json!(["a", "b"]));
        assert_eq!(fields["rows"], json!([["x \\| y", ""]]));
        assert_eq!(fields["notes"], json!(["one", "two"]));
    }
}
