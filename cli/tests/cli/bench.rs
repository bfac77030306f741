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
    assert_eq!(all.as_array().map(Vec::len), Some(14));
    assert_eq!(all[1]["rows"].as_array().map(Vec::len), Some(30));
    let one = place.succeeds("bench --list --suite layouts");
    assert_eq!(one.lines().count(), 1 + 8, "{one}");
    assert!(
        one.contains("2049 x 4095 x 1027 TT  2049 x 4095 x 1027  f32  TT\n"),
        "{one}"
    );
    let fp8 = place.succeeds("bench --list --suite fp8");
    assert_eq!(fp8.lines().count(), 1 + 24, "{fp8}");
    assert!(
        fp8.contains("4096 tensor fast            4096 x 4096 x 4096   e4m3 tensor fast      NT\n"),
        "{fp8}"
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
fn random_shapes_are_listed_without_a_gpu_and_are_the_same_for_a_seed() {
    let place = Place::new();
    let text = place.succeeds("bench --list --random 5 --seed 7");
    assert!(
        text.starts_with("random: 5 random shapes of each type, seed 7, "),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1 + 5, "{text}");
    let five = place.json("bench --list --random 5 --seed 7");
    assert_eq!(five[0]["random"], serde_json::json!({"count": 5, "seed": 7}));
    let layouts: Vec<_> = rows(&five).iter().map(|row| row[row.len() - 2..].to_owned()).collect();
    assert_eq!(layouts, ["NN", "NT", "TN", "TT", "NN"]);
    assert!(rows(&five).iter().all(|row| row.contains(",f32,")));
    // As many of each type, the same ones; layouts by turns.
    let ten = place.json("bench --list --random 5 --seed 7 --dtype f64,bf16 --layout tt,nn");
    let ten = rows(&ten);
    assert_eq!(ten.len(), 10);
    let extents = |row: &String| row.split(',').skip(1).take(3).map(str::to_owned).collect::<Vec<_>>();
    for (at, row) in ten.iter().enumerate() {
        let end = format!(",{},{}", ["f64", "bf16"][at / 5], ["TT", "NN"][at % 5 % 2]);
        assert!(row.ends_with(&end), "{ten:?}");
        assert_eq!(extents(row), extents(&rows(&five)[at % 5]));
    }
    let unseeded = place.json("bench --list --random 2");
    assert_eq!(unseeded, place.json("bench --list --random 2 --seed 42"));
    assert_ne!(rows(&unseeded)[..2], rows(&five)[..2]);
    // Both of the first two that this seed draws are too large.
    assert_eq!(rows(&place.json("bench --list --random 1 --seed 973")).len(), 1);
    let most = format!("bench --list --random 10000 --seed {}", u64::MAX);
    assert_eq!(rows(&place.json(&most)).len(), 10_000);
    let error = place.fails(3, "bench --random 2");
    assert!(error.contains("CUDA") && error.contains("suite cpu"), "{error}");
}

#[test]
fn random_shapes_that_cannot_be_drawn_are_refused() {
    let place = Place::new();
    let usage = |arguments: &str| {
        let output = place.run(&format!("bench --list {arguments}"));
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(output.stdout.is_empty(), "{arguments}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    for (arguments, problem) in [
        ("--random 0", "0 is not in 1..=10000"),
        ("--random 10001", "10001 is not in 1..=10000"),
        ("--random many", "invalid value 'many' for '--random <COUNT>'"),
        ("--random -1", "unexpected argument '-1'"),
        ("--random 5 --seed seven", "invalid value 'seven' for '--seed <S>'"),
        (
            "--random 5 --seed 18446744073709551616",
            "invalid value '18446744073709551616' for '--seed <S>'",
        ),
        ("--seed 7", "--random <COUNT>"),
        (
            "--random 5 --suite squares",
            "'--random <COUNT>' cannot be used with '--suite <NAME>'",
        ),
        (
            "--random 5 --file shapes.csv",
            "'--random <COUNT>' cannot be used with '--file <CSV>'",
        ),
        ("--random 5 -m 1 -n 1 -k 1", "'--random <COUNT>' cannot be used with"),
        (
            "--random 5 --batch 2",
            "'--random <COUNT>' cannot be used with '--batch <N>'",
        ),
    ] {
        let error = usage(arguments);
        assert!(
            error.starts_with("error: ") && error.contains(problem),
            "{arguments}: {error}"
        );
    }
    assert!(
        place
            .fails(2, "bench --list --random 5 --dtype f8")
            .contains("`f8`: unknown element type")
    );
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
    // Every suite is summed up alike, in each form of the report.
    assert_eq!(
        (&printed["about"]["warm_up_ms"], &printed["about"]["random"]),
        (&200.into(), &Value::Null)
    );
    let summary = printed["summary"].as_array().expect("two sides");
    let of_type = summary
        .iter()
        .find(|of| of["dtype"] == "f32" && of["layout"].is_null())
        .expect("has f32");
    assert!(
        of_type["fifth_percentile"].is_number() && of_type["slow"].is_array(),
        "{of_type}"
    );
    let mean = format!("| {:.3} |", of_type["geometric_mean"].as_f64().expect("a number"));
    assert!(markdown.contains("| f32 | ") && markdown.contains(&mean), "{markdown}");
}
