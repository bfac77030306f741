//! Results as JSON, one row a line, so that two runs compare line by line.

use super::super::results::Results;

/// The results as JSON; ends with a line break.
///
/// # Errors
/// None for what [`run`](super::super::run) returns: its keys are text.
pub fn json(results: &Results) -> serde_json::Result<String> {
    let rows = results
        .rows
        .iter()
        .map(|row| Ok(format!("    {}", serde_json::to_string(row)?)))
        .collect::<serde_json::Result<Vec<_>>>()?;
    Ok(format!(
        "{{\n  \"suite\": {},\n  \"about\": {},\n  \"rows\": [\n{}\n  ]\n}}\n",
        serde_json::to_string(&results.suite)?,
        serde_json::to_string(&results.about)?,
        rows.join(",\n")
    ))
}
