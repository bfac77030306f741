//! What README and guide quote from results.
//!
//! A figure is a link whose title names it: `[1.004](docs/results/README.md "squares: mean")`. The command holds the
//! text against the figure, or writes it. A table stands between `<!-- NAME:begin -->` and `<!-- NAME:end -->`, and is
//! written as a whole. Text about one topic that quotes many of its numbers stands between `<!-- figures TOPIC:begin
//! -->` and `<!-- figures TOPIC:end -->`: each number with a point must be one of the topic's. A section that names
//! `commit 0123456789` tells of the past, and its figures are of that commit. Any other time or speed is refused.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};

use super::blocks;
use super::data::Evidence;
use super::figures::{Figures, numbers};

const STALE: [&str; 2] = ["<!-- stale:begin -->\n", "<!-- stale:end -->\n\n"];

/// What a page should read, and what is wrong with it that no command mends.
pub struct Renewed {
    /// The text with its tables, figures and stale block written anew.
    pub text: String,
    /// A line each.
    pub problems: Vec<String>,
}

/// Writes a page anew. `name` is its path from the repository's root.
pub fn renew(name: &str, old: &str, evidence: &Evidence, figures: &Figures) -> anyhow::Result<Renewed> {
    let mut problems = Vec::new();
    let mut topics = BTreeSet::new();
    let text = without_stale(old).with_context(|| name.to_owned())?;
    let text = blocks::renew(&text, evidence, &mut topics).with_context(|| name.to_owned())?;
    let text = figures_in_links(name, &text, figures, &mut topics, &mut problems);
    regions(name, &text, evidence, &mut topics, &mut problems);
    plots(&text, &mut topics);
    unclaimed(name, &text, &mut problems);
    let text = with_stale(&text, &stale_block(evidence, &topics));
    Ok(Renewed { text, problems })
}

fn without_stale(text: &str) -> anyhow::Result<String> {
    let Some((before, rest)) = text.split_once(STALE[0]) else {
        return Ok(text.to_owned());
    };
    let (_, after) = rest.split_once(STALE[1]).context("its stale block has no end")?;
    ensure!(!after.contains(STALE[0]), "it has two stale blocks");
    Ok(format!("{before}{after}"))
}

/// A link's text, address and title, where a text begins with a link that has a title; and how long it is.
fn link(text: &str) -> Option<(&str, &str, &str, usize)> {
    let (label, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (inside, _) = rest.split_once(')')?;
    let (address, title) = inside.split_once(" \"")?;
    let title = title.strip_suffix('"')?;
    let is_plain = !label.contains(['[', '\n']);
    is_plain.then_some((label, address, title, label.len() + inside.len() + 4))
}

/// How a value stands in a text like this one: with as many decimals, and what follows the number.
fn like(label: &str, value: f64) -> String {
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let number: &str = &label[..label.find(|c| !is_number(c)).unwrap_or(label.len())];
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{value:.decimals$}{}", &label[number.len()..])
}

/// Writes each figure that a link names.
fn figures_in_links(
    name: &str,
    text: &str,
    figures: &Figures,
    topics: &mut BTreeSet<String>,
    problems: &mut Vec<String>,
) -> String {
    let mut renewed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        renewed.push_str(&rest[..at]);
        rest = &rest[at..];
        match link(rest).filter(|(_, address, ..)| is_results(address)) {
            Some((label, address, title, length)) => {
                match figures.get(title) {
                    Some(&value) => {
                        topics.insert(title.split(':').next().unwrap_or_default().to_owned());
                        renewed.push_str(&format!("[{}]({address} \"{title}\")", like(label, value)));
                    }
                    None => {
                        problems.push(format!(
                            "{name}:{}: `{label}` is said to be `{title}`, which no result has",
                            line(&renewed)
                        ));
                        renewed.push_str(&rest[..length]);
                    }
                }
                rest = &rest[length..];
            }
            None => {
                renewed.push('[');
                rest = &rest[1..];
            }
        }
    }
    renewed + rest
}

fn is_results(address: &str) -> bool {
    let path = address.split('#').next().unwrap_or_default();
    path.ends_with("results/README.md")
}

/// The number of the line that follows a text.
fn line(before: &str) -> usize {
    before.lines().count().max(1)
}

/// The numbers of text about one topic.
fn regions(name: &str, text: &str, evidence: &Evidence, topics: &mut BTreeSet<String>, problems: &mut Vec<String>) {
    let mut at = 0;
    while let Some(found) = text[at..].find("<!-- figures ") {
        let begin = at + found;
        let rest = &text[begin + "<!-- figures ".len()..];
        let topic = rest.split(":begin -->").next().unwrap_or_default();
        let end = format!("<!-- figures {topic}:end -->");
        let Some(length) = text[begin..].find(&end) else {
            problems.push(format!(
                "{name}:{}: `<!-- figures {topic}:begin -->` has no end",
                line(&text[..begin])
            ));
            return;
        };
        topics.insert(topic.to_owned());
        let known = evidence
            .topics
            .get(topic)
            .map_or_else(Vec::new, |topic| numbers(&topic.value));
        let region = &text[begin..begin + length];
        for (offset, number) in decimals(region) {
            if !is_among(number, &region[offset + number.len()..], &known) {
                problems.push(format!(
                    "{name}:{}: {number} is no figure of `{topic}`",
                    line(&text[..begin + offset])
                ));
            }
        }
        at = begin + length + end.len();
    }
}

/// The numbers with a point, and where they are. Version numbers, dates and file names are none.
fn decimals(text: &str) -> Vec<(usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split(|c: char| !is_part(c)) {
        let trimmed = word.trim_end_matches('.');
        let mut parts = trimmed.split('.');
        let digits =
            |part: Option<&str>| part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        if digits(parts.next()) && digits(parts.next()) && parts.next().is_none() {
            found.push((at, trimmed));
        }
        at += word.len() + text[at + word.len()..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

/// Whether a number is one of those known, rounded, in the unit that follows it: results are in ones and in
/// milliseconds.
fn is_among(number: &str, rest: &str, known: &[f64]) -> bool {
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let unit = rest
        .trim_start_matches([' ', '\n'])
        .split(|c: char| !c.is_alphabetic() && c != '%')
        .next();
    let scales: &[f64] = match unit {
        Some("M" | "MB") => &[1e-6],
        Some("G" | "GB") => &[1e-9],
        Some("µs") => &[1e3],
        Some("%") => &[1.0, 1e2],
        _ => &[1.0],
    };
    scales.iter().any(|scale| {
        known
            .iter()
            .any(|value| format!("{:.decimals$}", value * scale) == number)
    })
}

/// The topics of the plots that are shown: `results/DEVICE-TOPIC-KIND.svg`.
fn plots(text: &str, topics: &mut BTreeSet<String>) {
    for address in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let file = address
            .rsplit_once("results/")
            .and_then(|(_, file)| file.strip_suffix(".svg"));
        if let Some((topic, _)) = file
            .and_then(|file| file.split_once('-'))
            .and_then(|(_, rest)| rest.rsplit_once('-'))
        {
            topics.insert(topic.to_owned());
        }
    }
}

/// Units of what only a device can tell.
const UNITS: [&str; 9] = [
    "TFLOP/s",
    "GFLOP/s",
    "TB/s",
    "GB/s",
    "us",
    "µs",
    "ms",
    "% of cuBLAS",
    "of cuBLAS",
];

/// Times and speeds that nothing ties to a result.
fn unclaimed(name: &str, text: &str, problems: &mut Vec<String>) {
    let mut inside: Option<String> = None;
    let mut dated = false;
    let mut before = "";
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        if line.starts_with('#') {
            let section = lines[number + 1..].iter().take_while(|line| !line.starts_with('#'));
            // A line may end between the word and the hash.
            dated = names_commit(&section.copied().collect::<Vec<_>>().join(" "));
            before = "";
        }
        if line.is_empty() {
            before = "";
        }
        if let Some(block) = line
            .strip_prefix("<!-- ")
            .and_then(|line| line.strip_suffix(":begin -->"))
        {
            inside = Some(format!("<!-- {block}:end -->"));
        }
        if inside.as_deref() == Some(*line) {
            inside = None;
        }
        if inside.is_some() || dated {
            continue;
        }
        for word in line.split_whitespace() {
            let unit = word.trim_end_matches([',', '.', ';', ':', ')', '|']);
            let is_number = before.bytes().any(|byte| byte.is_ascii_digit()) && !before.contains("](");
            let is_quoted = before
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b".,(~".contains(&byte));
            if UNITS.contains(&unit) && is_number && is_quoted {
                problems.push(format!(
                    "{name}:{}: `{before} {unit}` names no result: make it a link with a title, or name its commit",
                    number + 1
                ));
            }
            before = word;
        }
    }
}

/// Whether a text says `commit 0123456789`.
fn names_commit(text: &str) -> bool {
    text.split("commit ").skip(1).any(|rest| {
        let hash = rest.trim_start_matches('`');
        hash.len() >= 10 && hash.bytes().take(10).all(|byte| byte.is_ascii_hexdigit())
    })
}

/// What is stale of these topics, by the commit that they are of; empty where nothing is.
fn stale_block(evidence: &Evidence, topics: &BTreeSet<String>) -> String {
    let since_commit = |when: String| format!("stale since {when}");
    let never = || "never measured".to_owned();
    let mut since = BTreeMap::<String, Vec<&str>>::new();
    for topic in topics {
        if topic == blocks::CHECKS {
            let (when, missing) = blocks::stale_checks(evidence);
            for key in when
                .map(since_commit)
                .into_iter()
                .chain(missing.then(|| "not done with every kernel".to_owned()))
            {
                since.entry(key).or_default().push(topic);
            }
        } else if evidence.stale(topic).is_some() {
            let key = evidence
                .topics
                .get(topic)
                .map_or_else(never, |topic| since_commit(topic.about.when()));
            since.entry(key).or_default().push(topic);
        }
    }
    if since.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{}> Kernels have changed since these were measured; they stand until the next run on a GPU is filed.\n>\n",
        STALE[0]
    );
    for (when, topics) in since {
        let topics: Vec<_> = topics.iter().map(|topic| format!("`{topic}`")).collect();
        text.push_str(&format!("> - {when}: {}\n", topics.join(", ")));
    }
    text + "\n" + STALE[1]
}

/// Where a page wants its block of what is stale.
const PLACE: &str = "<!-- stale:here -->\n\n";

/// Puts the block where the page wants it, or below the heading of the first section that quotes something.
fn with_stale(text: &str, block: &str) -> String {
    if block.is_empty() {
        return text.to_owned();
    }
    if let Some((before, after)) = text.split_once(PLACE) {
        return format!("{before}{PLACE}{block}{after}");
    }
    let marks = ["results/README.md", ":begin -->", ".svg)"];
    let first = marks.iter().filter_map(|mark| text.find(mark)).min().unwrap_or(0);
    let heading = text[..first].rmatch_indices('\n').map(|(at, _)| at + 1).chain([0]);
    let at = heading.into_iter().find(|&at| text[at..].starts_with('#')).unwrap_or(0);
    let below = at + text[at..].find("\n\n").map_or(0, |end| end + 2);
    format!("{}{block}{}", &text[..below], &text[below..])
}

#[cfg(test)]
#[path = "pages/tests.rs"]
mod tests;
