use tilewright_contract::DType;

use super::*;
use crate::bench::results::{About, Measurement, Outcome, RowResult, Side, Speed};
use crate::bench::stats::Quartiles;
use crate::bench::{Draw, Selection, Suite, json, markdown, plots, summary};

/// Random rows of two types with these ratios, by turns; `None` for a row without a peer.
fn results(ratios: &[Option<f64>]) -> Results {
    let selection = Selection {
        dtypes: vec![DType::F64, DType::F16],
        layouts: Vec::new(),
    };
    let draw = Draw {
        count: ratios.len(),
        seed: 7,
    };
    let suite = Suite::random(draw, &selection).expect("some rows");
    let measured = |ratio: &Option<f64>| Measurement {
        ours: Side {
            name: "ours".to_owned(),
            speed: Speed::of(&[10.0], 1e7),
            lone_us: None,
            error_over_bound: 0.1,
        },
        peer: None,
        ratio: ratio.and_then(|ratio| Quartiles::of(&[ratio])),
        lone_ratio: None,
        zeros: None,
        passed_over: Vec::new(),
        rounds: 9,
        launches: 1,
        lone_rounds: None,
        sets: 1,
        plan: None,
        digest: None,
        telemetry: None,
    };
    let rows = suite.rows.into_iter().zip(ratios.iter().cycle());
    Results {
        suite: suite.name,
        about: About {
            random: suite.random,
            warm_up_ms: 50,
            ..About::default()
        },
        rows: rows
            .map(|(row, ratio)| RowResult {
                row,
                kernel: None,
                outcome: Outcome::Measured(Box::new(measured(ratio))),
            })
            .collect(),
    }
}

#[test]
fn ratios_are_summed_up_by_type_and_layout_then_by_type_then_all() {
    let ratios = [0.5, 2.0, 0.8, 1.25, 0.79, 2.0, 1.25, 0.8].map(Some);
    let results = results(&ratios);
    let summaries = results.summaries();
    let titles: Vec<_> = summaries.iter().map(Summary::title).collect();
    let expected = [
        "f64 NN", "f64 NT", "f64 TN", "f64 TT", "f64", "f16 NN", "f16 NT", "f16 TN", "f16 TT", "f16", "all",
    ];
    assert_eq!(titles, expected);
    let [nn, f64s, all] = [0, 4, 10].map(|at| &summaries[at]);
    assert_eq!((nn.rows, f64s.rows, all.rows), (2, 8, 16));
    assert!((nn.geometric_mean - (0.5_f64 * 0.79).sqrt()).abs() < 1e-12);
    // R: quantile(c(0.5, 0.79, 0.8, 0.8, 1.25, 1.25, 2, 2), 0.05) gives 0.6015.
    assert!(
        (f64s.fifth_percentile - 0.6015).abs() < 1e-12,
        "{}",
        f64s.fifth_percentile
    );
    assert_eq!((f64s.least, &f64s.least_row), (0.5, &results.rows[0].row.name));
    // 0.8 itself is not below.
    let slow: Vec<_> = f64s.slow.iter().map(|slow| (slow.name.as_str(), slow.ratio)).collect();
    let [first, fifth] = [0, 4].map(|at| results.rows[at].row.name.as_str());
    assert_eq!(slow, [(first, 0.5), (fifth, 0.79)]);
    assert_eq!(all.slow.len(), 4);
}

#[test]
fn rows_without_a_ratio_do_not_count() {
    assert_eq!(results(&[None]).summaries(), []);
    assert_eq!(summary(&results(&[None])), None);
    let some = results(&[None, Some(1.5), None]).summaries();
    let titles: Vec<_> = some.iter().map(|some| (some.title(), some.rows)).collect();
    let expected = [("f64 NT", 1), ("f64", 1), ("f16 NT", 1), ("f16", 1), ("all", 2)];
    assert_eq!(titles, expected.map(|(title, rows)| (title.to_owned(), rows)));
}

#[test]
fn the_table_names_slow_rows_and_has_no_line_twice() {
    let table = summary(&results(&[0.5, 2.0].map(Some))).expect("has ratios");
    let cells: Vec<_> = table.rows.iter().map(|cells| cells[..6].join(" ")).collect();
    let expected = [
        "f64 NN 1 0.500 0.500 0.500 1",
        "f64 NT 1 2.000 2.000 2.000 0",
        "f64 2 1.000 0.575 0.500 1",
        "f16 NN 1 0.500 0.500 0.500 1",
        "f16 NT 1 2.000 2.000 2.000 0",
        "f16 2 1.000 0.575 0.500 1",
        "all 4 1.000 0.500 0.500 2",
    ];
    assert_eq!(cells, expected);
    assert_eq!(table.problems.len(), 2);
    assert!(
        table.problems[0].ends_with("f64 NN: ratio 0.500, below 0.80"),
        "{:?}",
        table.problems
    );
    let one = summary(&results(&[Some(1.0)])).expect("has ratios");
    let titles: Vec<_> = one.rows.iter().map(|cells| cells[0].as_str()).collect();
    assert_eq!(titles, ["f64", "f16", "all"]);
    assert!(one.rows.iter().all(|cells| cells.len() == one.columns.len()));
}

#[test]
fn reports_say_the_seed_the_count_and_the_same_numbers() {
    let results = results(&[0.5, 2.0].map(Some));
    let read: serde_json::Value = serde_json::from_str(&json(&results).expect("text keys")).expect("JSON");
    assert_eq!(read["about"]["random"], serde_json::json!({"count": 2, "seed": 7}));
    assert_eq!(read["about"]["warm_up_ms"], 50);
    let first = &read["summary"][0];
    assert_eq!((&first["dtype"], &first["layout"]), (&"f64".into(), &"NN".into()));
    assert_eq!(first["slow"][0]["ratio"], 0.5);
    let all = read["summary"].as_array().and_then(|all| all.last()).expect("has some");
    assert_eq!(
        (&all["dtype"], &all["layout"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!((&all["rows"], &all["fifth_percentile"]), (&4.into(), &0.5.into()));
    let text = markdown(&results);
    assert!(
        text.starts_with("# Suite random, 2 random shapes of each type, seed 7\n"),
        "{text}"
    );
    assert!(
        text.contains("| f64 | 2 | 1.000 | 0.575 | 0.500 | 1 | ") && text.contains("run for 50 ms"),
        "{text}"
    );
    let pictures = plots(&results).expect("drawn");
    let (_, ratios) = pictures.iter().find(|(name, _)| *name == "ratio").expect("has ratios");
    assert!(ratios.contains("2 random shapes of each type, seed 7"), "{ratios}");
}
