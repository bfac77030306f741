//! The texts of results of the made-up device.

use super::*;
use crate::bench::rows::Layout;
use crate::bench::{About, Results, Table, json, markdown, plots, table};

/// Results with a row of each kind: measured with everything, and failed.
fn results(zeros: bool) -> Results {
    let with_zeros = Options { zeros, ..options() };
    let refused = Made {
        fails: Some(refused),
        ..made("cublasLt #2", 10.0)
    };
    let device = Device::new(vec![refused, made("cublasGemmEx", 50.0)], &Log::default());
    let rows = [row("a | b"), row("again")];
    let mut rows = measured(&rows, &with_zeros, &ours(100.0), device);
    let fails = |_: &Row| -> Result<Made> { Err(Error::InvalidArgument("too large".to_owned())) };
    let other = Row {
        layout: Layout::TT,
        ..row("failing")
    };
    let device = Device::new(Vec::new(), &Log::default());
    rows.extend(rows_of_product(
        &[other],
        &options(),
        fails,
        |_| Ok(device),
        &mut |_| {},
    ));
    Results {
        suite: "own".to_owned(),
        about: About {
            device: "made up".to_owned(),
            flushed_bytes: Some(256 << 20),
            ..About::default()
        },
        rows,
    }
}

#[test]
fn tables_have_columns_for_what_was_measured_only() {
    let titles = |table: &Table| table.columns.iter().map(|(title, _)| *title).collect::<Vec<_>>();
    let with_zeros = table(&results(true));
    // Nobody measured the power on zeros.
    let expected = [
        "row",
        "ours",
        "us",
        "lone us",
        "TFLOP/s",
        "peer",
        "us",
        "lone us",
        "TFLOP/s",
        "ratio",
        "lone ratio",
        "MHz",
        "W",
        "zeros: us",
        "zeros: peer us",
        "zeros: ratio",
        "zeros: MHz",
    ];
    assert_eq!(titles(&with_zeros), expected);
    let first = [
        "a | b",
        "ours",
        "102.0",
        "306.0",
        "0.3290",
        "cublasGemmEx",
        "51.0",
        "153.0",
        "0.6579",
        "0.500 [0.500, 0.500]",
        "0.500 [0.500, 0.500]",
        "1500",
        "700",
        "91.8",
        "45.9",
        "0.500 [0.500, 0.500]",
        "1980",
    ];
    assert_eq!(with_zeros.rows[0], first);
    assert_eq!(with_zeros.rows[2][..3], ["failing", "not measured", ""]);
    // Two rows of one product, and what failed there is said once.
    let expected = [
        "256 x 256 x 256 f32 NN: cublasLt #2 passed over: cuBLAS: cublasLtMatmul returned 15 \
         (CUBLAS_STATUS_NOT_SUPPORTED)",
        "failing: too large",
    ];
    assert_eq!(with_zeros.problems, expected);
    for table in [&with_zeros, &table(&results(false))] {
        assert!(table.rows.iter().all(|cells| cells.len() == table.columns.len()));
    }
    assert!(
        !titles(&table(&results(false)))
            .iter()
            .any(|title| title.starts_with("zeros"))
    );
}

#[test]
fn markdown_has_every_row_on_a_line_of_as_many_cells() {
    let text = markdown(&results(true));
    let (before, rows) = text.split_once("| row |").expect("the table of the rows");
    // Two ratios, of one type and layout.
    let (_, summary) = before
        .split_once("| row of the least |\n")
        .expect("the table of the ratios");
    let expected = [
        "|---|---:|---:|---:|---:|---:|---|",
        r"| f32 | 2 | 0.500 | 0.500 | 0.500 | 2 | a \| b |",
        "",
        "a | b: ratio 0.500, below 0.80",
        "",
        "again: ratio 0.500, below 0.80",
        "",
    ];
    assert!(summary.lines().eq(expected), "{text}");
    let rows = format!("| row |{rows}");
    let lines: Vec<_> = rows.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(lines.len(), 2 + 3, "{text}");
    // 17 columns, and the product's two; a bar in a name is no cell's end.
    let cells = |line: &str| line.replace("\\|", "").matches('|').count() - 1;
    assert!(lines.iter().all(|line| cells(line) == 19), "{text}");
    assert!(
        lines[2].starts_with(r"| a \| b | 256 x 256 x 256 f32 | NN | ours | 102.0 | 306.0 |"),
        "{text}"
    );
    assert!(
        text.contains("after a write of 256 MiB") && text.contains("Zeros: the same turns"),
        "{text}"
    );
    assert!(text.contains("\nfailing: too large\n"), "{text}");
    assert!(!markdown(&results(false)).contains("eros"));
    let empty = Results {
        rows: Vec::new(),
        ..results(false)
    };
    assert!(markdown(&empty).contains("| row | m x n x k | layout |"));
}

#[test]
fn json_has_a_line_a_row_with_kernel_and_both_times() {
    let results = results(true);
    let text = json(&results).expect("text keys");
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("\"name\":\"a | b\",\"m\":256"))
            .count(),
        1
    );
    let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (&read["suite"], &read["about"]["flushed_bytes"]),
        (&"own".into(), &(256 << 20).into())
    );
    let row = &read["rows"][0];
    assert_eq!(
        (&row["kernel"], &row["dtype"], &row["layout"]),
        (&"simt_f32".into(), &"f32".into(), &"NN".into())
    );
    // The names that filed results have.
    let measured = &row["measured"];
    for side in ["ours", "peer"] {
        let side = &measured[side];
        assert!(
            side["name"].is_string() && side["tflops"].is_number() && side["error_over_bound"].is_number(),
            "{side}"
        );
        assert!(
            side["us"]["median"].is_number() && side["lone_us"]["q3"].is_number(),
            "{side}"
        );
    }
    assert!(measured["ratio"]["q1"].is_number() && measured["lone_ratio"]["q1"].is_number());
    assert_eq!(measured["plan"]["kernel"], "simt_f32");
    assert_eq!(measured["passed_over"][0]["name"], "cublasLt #2");
    assert!(measured["zeros"]["ours"]["us"]["median"].is_number() && measured["zeros"]["ratio"]["median"].is_number());
    let failed = &read["rows"][2];
    assert_eq!(
        (&failed["kernel"], &failed["failed"]["kind"]),
        (&serde_json::Value::Null, &"input".into())
    );
    assert!(plots(&results).is_ok_and(|pictures| pictures.len() == 2));
}
