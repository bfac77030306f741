//! `tilewright bench`: what it would time, what it refuses, and what it says without a GPU.

use std::fs;

use serde_json::Value;

use super::Place;

/// A place with a file of shapes.
fn place(shapes: &str) -> Place {
    let place = Place::new();
    fs::write(place.path("shapes.csv"), shapes).expect("the folder is ours");
    place
}

/// Name, m, n, k, type and layout of each row of a list.
fn rows(suites: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let row = |row: &Value| {
        ["name", "m", "n", "k", "dtype", "layout"]
            .map(|key| text(&row[key]))
            .join(",")
    };
    suites[0]["rows"].as_array().expect("rows").iter().map(row).collect()
}

#[test]
fn suites_are_listed_with_the_numbers_of_their_rows() {
    let place = Place::new();
    let text = place.succeeds("bench --list");
    let line = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{text}"))
    };
    assert!(line("half-shapes").contains(" 30  layers of transformers"), "{text}");
    assert!(line("cpu").contains(" 3  the CPU's product"), "{text}");
    let all = place.json("bench --list");
    assert_eq!(all.as_array().map(Vec::len), Some(12));
    assert_eq!(all[1]["rows"].as_array().map(Vec::len), Some(30));
    let one = place.succeeds("bench --list --suite layouts");
    assert_eq!(one.lines().count(), 1 + 8, "{one}");
    assert!(
        one.contains("2049 x 4095 x 1027 TT  2049 x 4095 x 1027  f32  TT\n"),
        "{one}"
    );
}

#[test]
fn own_shapes_are_crossed_with_types_and_layouts() {
    let listed = Place::new().json("bench --list -m 3 -n 5 -k 7 --dtype f32,bf16 --layout nn,TN,nn");
    let expected = [
        "3 x 5 x 7 f32 NN,3,5,7,f32,NN",
        "3 x 5 x 7 f32 TN,3,5,7,f32,TN",
        "3 x 5 x 7 bf16 NN,3,5,7,bf16,NN",
        "3 x 5 x 7 bf16 TN,3,5,7,bf16,TN",
    ];
    assert_eq!(rows(&listed), expected);
    let place = place("# of a profile\nname,m,n,k,dtype\nqkv,16,12288,4096,\n\"up, gate\",16,11008,4096,f16\n");
    let listed = place.json("bench --list --file shapes.csv --dtype f16,bf16");
    assert_eq!(listed[0]["suite"], "own-shapes");
    let expected = [
        "qkv f16,16,12288,4096,f16,NN",
        "qkv bf16,16,12288,4096,bf16,NN",
        "up, gate,16,11008,4096,f16,NN",
    ];
    assert_eq!(rows(&listed), expected);
}

#[test]
fn a_bad_row_ends_with_2_and_one_line_that_has_its_number() {
    for (shapes, problem) in [
        ("1,2,3\n4,five,6\n", "line 2: n is `five`, not a number from 1 on"),
        ("# shapes\nm,n,k,type\n", "line 2: unknown column `type`"),
        ("1,2,3,f32,nn,a,b", "line 1: 7 fields"),
        ("1,1,99999999999", "line 1: "),
        ("", "no rows; a row is m,n,k[,dtype][,layout][,name]"),
    ] {
        let error = place(shapes).fails(2, "bench --file shapes.csv");
        assert!(
            error.starts_with("error: shapes.csv: ") && error.contains(problem),
            "{error}"
        );
    }
    let place = place("1,2,3,f32");
    let error = place.fails(2, "bench --file shapes.csv --dtype f16");
    assert!(error.contains("the rows are of f32 NN"), "{error}");
    assert!(place.fails(2, "bench --file missing.csv").contains("missing.csv: "));
    assert!(place.fails(2, "bench -m 1 -n 0 -k 1").contains("n is 0"));
    assert!(place.fails(2, "bench -m 1 -n 1 -k 4294967296").contains("4294967296"));
    assert!(
        place
            .fails(2, "bench -m 1 -n 1 -k 1 --dtype f8")
            .contains("`f8`: unknown element type")
    );
    assert!(
        place
            .fails(2, "bench -m 1 -n 1 -k 1 --layout tx")
            .contains("`tx`: unknown layout")
    );
    assert!(place.fails(2, "bench --suite cubes").contains("known: squares, shapes"));
}

#[test]
fn own_shapes_without_a_gpu_end_with_3_and_one_line() {
    let place = place("1,2,3\n");
    for arguments in ["bench -m 64 -n 64 -k 64", "bench --file shapes.csv --zeros"] {
        let error = place.fails(3, arguments);
        assert!(error.contains("CUDA") && error.contains("suite cpu"), "{error}");
    }
}

#[test]
fn without_a_gpu_a_suite_is_the_cpus_and_its_files_say_so() {
    let place = Place::new();
    let printed = place.json("bench --suite shapes --rounds 1 --zeros --out results --commit abc --date 2026-01-02");
    assert_eq!(printed["suite"], "cpu");
    assert!(
        printed["about"]["notes"][0]
            .as_str()
            .is_some_and(|note| note.starts_with("No GPU: ")),
        "{printed}"
    );
    let written = fs::read_to_string(place.path("results/bench-cpu.json")).expect("written");
    assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), printed);
    let rows = printed["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(row["kernel"], Value::Null);
        let measured = &row["measured"];
        let (ours, peer) = (&measured["ours"]["us"]["median"], &measured["peer"]["us"]["median"]);
        let ratio = measured["ratio"]["median"].as_f64().expect("two sides");
        // One round: the ratio is that of the two times.
        let expected = peer.as_f64().expect("timed") / ours.as_f64().expect("timed");
        assert!((ratio / expected - 1.0).abs() < 1e-9, "{row}");
        assert!(
            measured["zeros"]["ratio"]["median"].is_number() && measured["ours"]["lone_us"].is_null(),
            "{row}"
        );
    }
    let markdown = fs::read_to_string(place.path("results/bench-cpu.md")).expect("written");
    assert!(
        markdown.contains("| 500 x 515 x 485 f32 |") && markdown.contains("zeros: ratio"),
        "{markdown}"
    );
    assert!(place.path("results/bench-cpu-ratio.svg").exists());
}
