//! The figures of each topic that a page may quote, by name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::data::{Evidence, Topic};

/// One product of a benchmark.
pub struct Row<'v>(&'v Value);

impl<'v> Row<'v> {
    /// The products of a suite that were measured.
    pub fn of(topic: &'v Topic) -> impl Iterator<Item = Row<'v>> {
        topic
            .list("rows")
            .iter()
            .map(Row)
            .filter(|row| row.0["measured"].is_object())
    }

    /// Its name in the suite.
    pub fn name(&self) -> &'v str {
        self.0["name"].as_str().unwrap_or_default()
    }

    /// A field of the row itself.
    pub fn field(&self, name: &str) -> &'v Value {
        &self.0[name]
    }

    /// What was measured.
    pub fn measured(&self) -> &'v Value {
        &self.0["measured"]
    }

    /// `ours` or `peer`: microseconds of a launch and 10¹² operations in a second.
    pub fn side(&self, side: &str) -> Option<(&'v str, f64, f64)> {
        let side = &self.measured()[side];
        Some((
            side["name"].as_str()?,
            side["us"]["median"].as_f64()?,
            side["tflops"].as_f64()?,
        ))
    }

    /// The peer's time over ours.
    pub fn ratio(&self) -> Option<f64> {
        self.measured()["ratio"]["median"].as_f64()
    }

    fn m(&self) -> u64 {
        self.0["m"].as_u64().unwrap_or_default()
    }
}

/// Figures by their names.
pub type Figures = BTreeMap<String, f64>;

/// Every figure of every topic, by `TOPIC: NAME`.
pub fn all(evidence: &Evidence) -> Figures {
    let mut all = Figures::new();
    for topic in evidence.topics.values() {
        let figures = match topic.name.as_str() {
            "pick" => pick(topic),
            "mutants" => mutants(topic),
            "wavefronts" => wavefronts(topic),
            "simulator" => simulator(topic),
            "banks" => Figures::from([("patterns".to_owned(), topic.list("rows").len() as f64)]),
            "matmul-heuristics" => heuristics(topic),
            _ => suite(topic),
        };
        all.extend(
            figures
                .into_iter()
                .map(|(name, value)| (format!("{}: {name}", topic.name), value)),
        );
    }
    all
}

/// Geometric mean, least and most of some ratios; and the mean without the largest.
fn summary(figures: &mut Figures, of: &str, mut ratios: Vec<f64>) {
    ratios.sort_by(f64::total_cmp);
    let mean = |ratios: &[f64]| (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let (Some(&least), Some(&most)) = (ratios.first(), ratios.last()) else {
        return;
    };
    figures.insert(format!("rows{of}"), ratios.len() as f64);
    figures.insert(format!("mean{of}"), mean(&ratios));
    figures.insert(format!("least{of}"), least);
    figures.insert(format!("most{of}"), most);
    for without in 1..ratios.len().min(4) {
        let rest = &ratios[..ratios.len() - without];
        figures.insert(format!("mean without {without}{of}"), mean(rest));
        figures.insert(format!("most without {without}{of}"), *rest.last().unwrap_or(&least));
    }
}

/// Of a suite of benchmarks: the ratios together, those of each element type and layout, those of at least and of at
/// most so many rows of C, and each product's own numbers.
fn suite(topic: &Topic) -> Figures {
    let mut figures = of_types(topic);
    let rows: Vec<_> = Row::of(topic).collect();
    let measured: Vec<(u64, f64)> = rows.iter().filter_map(|row| Some((row.m(), row.ratio()?))).collect();
    let ratios = |wanted: &dyn Fn(u64) -> bool| -> Vec<f64> {
        let wanted = measured.iter().filter(|(m, _)| wanted(*m));
        wanted.map(|(_, ratio)| *ratio).collect()
    };
    summary(&mut figures, "", ratios(&|_| true));
    let limits: BTreeSet<u64> = rows.iter().map(Row::m).collect();
    for limit in limits {
        summary(&mut figures, &format!(" of m >= {limit}"), ratios(&|m| m >= limit));
        summary(&mut figures, &format!(" of m <= {limit}"), ratios(&|m| m <= limit));
    }
    for row in &rows {
        for side in ["ours", "peer"] {
            if let Some((_, us, tflops)) = row.side(side) {
                figures.insert(format!("{} {side} us", row.name()), us);
                figures.insert(format!("{} {side} TFLOP/s", row.name()), tflops);
            }
        }
        if let Some(ratio) = row.ratio() {
            figures.insert(format!("{} ratio", row.name()), ratio);
        }
        if let Some(ratio) = row.measured()["lone_ratio"]["median"].as_f64() {
            figures.insert(format!("{} lone ratio", row.name()), ratio);
        }
    }
    figures
}

/// The summaries that a suite was filed with, such as `f32 mean`, `f32 NN least` and, of all rows, `5th percentile`.
fn of_types(topic: &Topic) -> Figures {
    let mut figures = Figures::new();
    for summary in topic.list("summary") {
        let words = [&summary["dtype"], &summary["layout"]];
        let prefix: String = words
            .into_iter()
            .filter_map(Value::as_str)
            .map(|word| format!("{word} "))
            .collect();
        let slow = summary["slow"].as_array().map(|slow| slow.len() as f64);
        for (name, value) in [
            ("rows", summary["rows"].as_f64()),
            ("mean", summary["geometric_mean"].as_f64()),
            ("5th percentile", summary["fifth_percentile"].as_f64()),
            ("least", summary["least"].as_f64()),
            ("below 0.80", slow),
        ] {
            figures.extend(value.map(|value| (format!("{prefix}{name}"), value)));
        }
    }
    figures
}

/// How far above the fastest a choice may be and count as good.
pub const WITHIN: f64 = 1.05;

/// Of the planner's choice: by element type how many there are, how many are good, and how far behind the worst is, in
/// percent.
fn pick(topic: &Topic) -> Figures {
    let mut over = BTreeMap::<&str, Vec<f64>>::new();
    for row in topic.list("rows") {
        if let (Some(dtype), Some(value)) = (row["dtype"].as_str(), row["over_best"].as_f64()) {
            over.entry(dtype).or_default().push(value);
        }
    }
    let of = |(dtype, values): (&str, Vec<f64>)| {
        let worst = values.iter().copied().fold(1.0, f64::max);
        [
            (format!("{dtype} rows"), values.len() as f64),
            (
                format!("{dtype} within 5 %"),
                values.iter().filter(|&&value| value <= WITHIN).count() as f64,
            ),
            (format!("{dtype} worst %"), 100.0 * (worst - 1.0)),
        ]
    };
    over.into_iter().flat_map(of).collect()
}

/// The number before or behind some words of a text.
fn beside(text: &str, before: &str, behind: &str) -> Option<f64> {
    let rest = match before {
        "" => text,
        _ => text.split_once(before)?.1,
    };
    let number = match behind {
        "" => rest.split(|c: char| !c.is_ascii_digit()).next()?,
        _ => rest
            .split_once(behind)?
            .0
            .rsplit(|c: char| !c.is_ascii_digit())
            .next()?,
    };
    number.parse().ok()
}

fn mutants(topic: &Topic) -> Figures {
    let text = topic.list("text").first().and_then(Value::as_str).unwrap_or_default();
    [
        ("kernels", "", " kernels"),
        ("wrong", "", " of them wrong"),
        ("found by the simulator", "reports ", ""),
        ("found by compute-sanitizer", "compute-sanitizer reports ", ""),
        ("wrong, run", "", " wrong ones that ran"),
        ("right alone", "ran on this GPU, ", ""),
    ]
    .into_iter()
    .filter_map(|(name, before, behind)| Some((name.to_owned(), beside(text, before, behind)?)))
    .collect()
}

fn wavefronts(topic: &Topic) -> Figures {
    let text = topic.list("text").first().and_then(Value::as_str).unwrap_or_default();
    [
        ("counts", "", " counts of"),
        ("launches", "", " launches"),
        ("equal", "", " of them equal"),
    ]
    .into_iter()
    .filter_map(|(name, before, behind)| Some((name.to_owned(), beside(text, before, behind)?)))
    .collect()
}

fn simulator(topic: &Topic) -> Figures {
    let of = |row: &Value| Some((format!("{} seconds", row["side"].as_str()?), row["seconds"].as_f64()?));
    topic.list("rows").iter().filter_map(of).collect()
}

/// The last row of the table, which is of all shapes, by the names of its columns.
fn heuristics(topic: &Topic) -> Figures {
    let cells = topic.list("rows").last().and_then(Value::as_array);
    let mut before = "";
    let mut figures = Figures::new();
    for (column, cell) in topic.list("columns").iter().zip(cells.into_iter().flatten()) {
        let (Some(column), Some(cell)) = (column.as_str(), cell.as_str()) else {
            continue;
        };
        // A column `mnk: median` is followed by one for the same key that is named without it.
        let name = match column.split_once(": ") {
            Some((key, _)) => {
                before = key;
                column.to_owned()
            }
            None => format!("{before}: {column}"),
        };
        if let Ok(value) = cell.trim_end_matches(" %").parse() {
            figures.insert(name, value);
        }
    }
    figures
}

/// Every number of a value, for pages whose text is about one topic.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(number) => number.as_f64().into_iter().collect(),
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        Value::Object(object) => object.values().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn topic(value: Value) -> Topic {
        Topic::of(value).expect("a topic")
    }

    #[test]
    fn a_suite_is_summed_up_by_its_ratios() {
        let row = |m: u64, ratio: f64| {
            let ours = json!({"name": "k", "us": {"median": 2.0}, "tflops": 3.5});
            json!({"name": format!("{m}"), "m": m, "measured": {"ratio": {"median": ratio}, "ours": ours}})
        };
        let suite = topic(json!({"topic": "squares", "digests": {}, "rows": [row(1, 0.5), row(2, 2.0), row(4, 8.0)]}));
        let figures = suite_of(&suite);
        for (name, value) in [
            ("mean", 2.0),
            ("rows", 3.0),
            ("least", 0.5),
            ("most", 8.0),
            ("mean of m >= 2", 4.0),
            ("most of m <= 2", 2.0),
            ("mean without 1", 1.0),
            ("4 ours TFLOP/s", 3.5),
            ("4 ratio", 8.0),
        ] {
            assert!((figures[name] - value).abs() < 1e-12, "{name}: {}", figures[name]);
        }
    }

    #[test]
    fn summaries_are_quoted_by_type_and_layout() {
        let of = |dtype: Value, layout: Value, least: f64| {
            let slow = [json!({"name": "a", "ratio": least})];
            json!({
                "dtype": dtype, "layout": layout, "rows": 25, "geometric_mean": 1.01, "fifth_percentile": 0.95,
                "least": least, "least_row": "a", "slow": slow,
            })
        };
        let all = of(Value::Null, Value::Null, 0.25);
        let summary = [
            of("f32".into(), "NT".into(), 0.5),
            of("f32".into(), Value::Null, 0.75),
            all,
        ];
        let figures = suite_of(&topic(
            json!({"topic": "random", "digests": {}, "rows": [], "summary": summary}),
        ));
        for (name, value) in [
            ("f32 NT least", 0.5),
            ("f32 least", 0.75),
            ("least", 0.25),
            ("f32 5th percentile", 0.95),
            ("f32 mean", 1.01),
            ("below 0.80", 1.0),
            ("rows", 25.0),
        ] {
            assert_eq!(figures[name], value, "{name}");
        }
    }

    fn suite_of(topic: &Topic) -> Figures {
        suite(topic)
    }

    #[test]
    fn numbers_are_read_from_sentences_and_tables() {
        let text = "124 kernels, 102 of them wrong. The simulator, with the comparison of the result, reports 101 of \
                    these and 0 of the others; compute-sanitizer reports 70 and 0, 2 reports not counted that are \
                    false. Of 98 wrong ones that ran on this GPU, 34 leave the right result.";
        let figures = mutants(&topic(json!({"topic": "mutants", "digests": {}, "text": [text]})));
        let values: Vec<_> = figures.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(
            values,
            [
                ("found by compute-sanitizer", 70.0),
                ("found by the simulator", 101.0),
                ("kernels", 124.0),
                ("right alone", 34.0),
                ("wrong", 102.0),
                ("wrong, run", 98.0)
            ]
        );
        let table = json!({
            "topic": "matmul-heuristics",
            "digests": {},
            "columns": ["GPU", "all: median", "first five", "mnk: median", "first five"],
            "rows": [["x", "9", "1 %", "9", "2 %"], ["all", "2", "77 %", "1", "92 %"]],
        });
        let figures = heuristics(&topic(table));
        assert_eq!((figures["all: first five"], figures["mnk: first five"]), (77.0, 92.0));
    }
}
