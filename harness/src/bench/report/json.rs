//! Results as JSON, one row a line, so that two runs compare line by line.

use serde::Serialize;

use super::super::results::Results;

/// The results as JSON, with their [summaries](Results::summaries); ends with a line break.
///
/// # Errors
/// None for what [`run`](super::super::run) returns: its keys are text.
pub fn json(results: &Results) -> serde_json::Result<String> {
    Ok(format!(
        "{{\n  \"suite\": {},\n  \"about\": {},\n  \"summary\": {},\n  \"rows\": {}\n}}\n",
        serde_json::to_string(&results.suite)?,
        serde_json::to_string(&results.about)?,
        on_lines(&results.summaries())?,
        on_lines(&results.rows)?
    ))
}

/// A list with an element a line.
fn on_lines(elements: &[impl Serialize]) -> serde_json::Result<String> {
    let lines = elements
        .iter()
        .map(|element| Ok(format!("    {}", serde_json::to_string(element)?)))
        .collect::<serde_json::Result<Vec<_>>>()?;
    Ok(format!("[\n{}\n  ]", lines.join(",\n")))
}

/// Any results as JSON: the lists of the object with an element a line, the rest as short as it can be; ends with a
/// line break.
///
/// # Errors
/// Keys that are not text.
pub fn rows_on_lines(results: &impl Serialize) -> serde_json::Result<String> {
    let short = serde_json::to_string(results)?;
    let mut text = String::with_capacity(short.len());
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for character in short.chars() {
        text.push(character);
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' | '[' => open.push(character),
            '}' | ']' => drop(open.pop()),
            ',' if open == ['{', '['] => text.push('\n'),
            _ => {}
        }
    }
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_a_line_of_its_own_and_nothing_else_has() {
        let results = serde_json::json!({"a": "x,\"[{,", "rows": [{"m": 1, "list": [1, 2]}, {"m": 2}]});
        let text = rows_on_lines(&results).expect("text keys");
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(
            text.lines().last().is_some_and(|line| line.starts_with("{\"m\":2")),
            "{text}"
        );
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, results);
    }
}
