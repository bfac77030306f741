use super::*;
use crate::evidence::tests::Copy;

#[test]
fn device_names_become_parts_of_file_names() {
    assert_eq!(slug("NVIDIA H200"), "h200");
    assert_eq!(slug("NVIDIA RTX PRO 6000 (Blackwell)"), "rtx-pro-6000-blackwell");
}

#[test]
fn rows_of_one_type_replace_those_of_the_same() {
    let row = |dtype: &str, kernel: &str| json!({"dtype": dtype, "candidates": [{"kernel": kernel}]});
    let of = |dtype: &str, value: u32, kernel: &str| {
        json!({
            "rows": [row(dtype, kernel)],
            "digests": {kernel: value.to_string()},
            "rounds": value,
        })
    };
    let old = of("f32", 1, "gone");
    let (digests, fields) = merged(Some(old), vec![of("f64", 2, "b"), of("f32", 3, "a")]);
    assert_eq!(fields["rows"], json!([row("f64", "b"), row("f32", "a")]));
    assert_eq!(Value::from(digests), json!({"a": "3", "b": "2"}));
    assert_eq!(fields["rounds"], 3);
}

#[test]
fn coefficients_that_a_run_has_not_fitted_stay() {
    let before = "arch sm_90\nfp8 1\nshared f32 1\na_f32 64 1\nshared f16 1\na_f16 64 1\n";
    let new = "arch sm_90\nfp8 2\nshared f32 2\na_f32 64 2\nb_f32 64 2\nshared f16 2\na_f16 64 2\n";
    let merged = |fitted: &[&str]| {
        let fitted = fitted.iter().map(|&of| of.to_owned());
        merged_speeds(before, new, &fitted.collect())
    };
    let expected = "arch sm_90\nfp8 1\nshared f32 2\na_f32 64 2\nb_f32 64 2\nshared f16 1\na_f16 64 1\n";
    assert_eq!(merged(&["arch", "f32"]), expected);
    assert_eq!(merged(&["arch"]), before);
    assert_eq!(merged(&["arch", "fp8", "f32", "f16"]), new);
}

/// A suite as `tilewright bench` writes it, with one product.
fn squares(kernel: &str, digest: &str, ratio: f64) -> Value {
    let side = |name: &str| {
        let us = json!({"q1": 1.0, "median": 2.0, "q3": 3.0});
        json!({"name": name, "us": us, "tflops": 41.25, "error_over_bound": 0.1})
    };
    json!({
        "suite": "squares",
        "about": {"date": "x", "commit": "x", "device": "x", "peer": "cuBLAS 14", "notes": []},
        "rows": [{
            "name": "1024", "m": 1024, "n": 1024, "k": 1024, "dtype": "f32", "layout": "NN",
            "measured": {
                "ours": side("ours"), "peer": side("cublasSgemm"),
                "ratio": {"q1": ratio, "median": ratio, "q3": ratio},
                "plan": {"kernel": kernel, "tile": [1, 2]}, "digest": digest, "telemetry": null,
            },
        }],
    })
}

#[test]
fn a_run_is_filed_from_its_tar_and_its_pages_follow() {
    let sh = Shell::new().expect("a shell");
    let copy = Copy::new();
    copy.settle(&["squares"]);
    copy.leave_checks_of_one_device();
    let digests = sh.read_file(copy.path("docs/results/digests.txt")).expect("readable");
    let shipped = Shipped::parse(&digests).expect("valid");
    let kernel = "simt_nn4_128x128_f32";
    let digest = shipped.digest(kernel).expect("it ships");

    let run_folder = sh.create_temp_dir().expect("a folder");
    let write = |name: &str, text: &str| sh.write_file(run_folder.path().join(name), text).expect("writable");
    write(
        "about.json",
        r#"{"date": "2030-01-02", "device": "NVIDIA H200", "driver": "600.1", "commit": "00112233445566778899"}"#,
    );
    write("digests.txt", &digests);
    write("bench-squares.json", &squares(kernel, digest, 1.25).to_string());
    write("bench-half-ratio.svg", "<svg/>");
    write("bench-half-roofline.svg", "<svg/>");
    write("log.txt", "not filed");
    let row = |check: &str, outcome: &str| {
        format!("{check},{kernel},{digest},{outcome},2030-01-02,00112233445566778899,NVIDIA H200,600.1,why, and how\n")
    };
    write(
        "checks.csv",
        &format!("{CHECKS_HEAD}\n{}{}", row("test", "passed"), row("racecheck", "no end")),
    );
    let speed = sh
        .read_file(copy.path("host/src/dispatch/speed.txt"))
        .expect("readable");
    let own = speed
        .lines()
        .find(|line| line.starts_with(kernel))
        .expect("it has a line");
    let (numbers, _) = own.rsplit_once(' ').expect("a digest");
    write("speed.txt", &speed.replace(own, &format!("{numbers} {digest}")));
    let out = sh.create_temp_dir().expect("a folder");
    let tar = out.path().join("results.tar");
    let from = run_folder.path();
    cmd!(sh, "tar -cf {tar} -C {from} .")
        .quiet()
        .run()
        .expect("tar is there");

    // Not measured by this run.
    let other = copy.path("docs/results/h200-half.json");
    let mut value: serde_json::Value = serde_json::from_str(&sh.read_file(&other).expect("readable")).expect("JSON");
    for digest in value["digests"].as_object_mut().expect("it has them").values_mut() {
        *digest = "0000000000000000".into();
    }
    sh.write_file(&other, value.to_string()).expect("writable");
    let checks = sh
        .read_file(copy.path("docs/results/h200-checks.csv"))
        .expect("readable");
    let own = format!("memcheck,{kernel},");
    let line = checks.lines().find(|line| line.starts_with(&own)).expect("it was run");
    let older = line.replacen(line.split(',').nth(2).expect("a digest"), "0000000000000000", 1);
    let no_longer_ships = older.replace(kernel, "gone_f32");
    // Nor has racecheck come to its end before, which would stay.
    let of_racecheck = format!("racecheck,{kernel},");
    let others: String = checks
        .replace(line, &older)
        .split_inclusive('\n')
        .filter(|line| !line.starts_with(&of_racecheck))
        .collect();
    sh.write_file(
        copy.path("docs/results/h200-checks.csv"),
        format!("{others}{no_longer_ships}\n"),
    )
    .expect("writable");
    // The folder that holds the tar, and the tar itself.
    for path in [out.path(), &tar] {
        run(&sh, copy.root(), &[path.to_owned()]).expect("everything is known");
    }
    evidence::run(copy.root(), false).expect("the pages were written");
    let readme = sh.read_file(copy.path("README.md")).expect("readable");
    assert!(
        readme.contains("| `squares`: f32, cubes | 1 | 1.250 | 1.250 | 1.250 | 0011223344 (2030-01-02) |"),
        "{readme}"
    );
    let stale: String = readme.lines().filter(|line| line.starts_with("> - stale")).collect();
    assert!(!stale.contains("`squares`") && stale.contains("`half`"), "{stale}");
    let page = sh.read_file(copy.path("docs/results/README.md")).expect("readable");
    let row = page
        .lines()
        .find(|line| line.starts_with(&format!("| `{kernel}`")))
        .expect("it has a row");
    let cells: Vec<_> = row.split('|').map(str::trim).collect();
    assert_eq!(
        (cells[4], cells[8], cells[10]),
        ("0011223344", "no end", "yes"),
        "{row}"
    );
    assert!(cells[5].starts_with("stale"), "memcheck was not run: {row}");
    assert!(page.contains("no end: why, and how"));
    let checks = sh
        .read_file(copy.path("docs/results/h200-checks.csv"))
        .expect("readable");
    assert!(!checks.contains("gone_f32") && checks.contains(&older), "{checks}");
    let plot = sh
        .read_file(copy.path("docs/results/h200-half-ratio.svg"))
        .expect("readable");
    assert_eq!(plot, "<svg/>");
    assert!(!copy.path("docs/results/h200-half-roofline.svg").exists());
}

#[test]
fn random_shapes_are_filed_as_a_topic_with_what_sums_them_up() {
    let sh = Shell::new().expect("a shell");
    let copy = Copy::new();
    copy.settle(&["random"]);
    let kernel = "simt_nn4_128x128_f32";
    let digests = sh.read_file(copy.path("docs/results/digests.txt")).expect("readable");
    let shipped = Shipped::parse(&digests).expect("valid");
    let mut random = squares(kernel, shipped.digest(kernel).expect("it ships"), 0.75);
    random["suite"] = "random".into();
    random["about"]["random"] = json!({"count": 7, "seed": 9});
    let row = random["rows"][0].clone();
    let rows = (0..7).map(|number| {
        let mut row = row.clone();
        row["name"] = format!("shape {number}").into();
        row["measured"]["ratio"]["median"] = (0.75 + f64::from(number)).into();
        row
    });
    random["rows"] = rows.collect();
    random["summary"] = json!([{
        "dtype": "f32", "layout": null, "rows": 7, "geometric_mean": 2.5, "fifth_percentile": 1.125, "least": 0.75,
        "least_row": "shape 0", "slow": [{"name": "shape 0", "ratio": 0.75}],
    }]);
    let folder = sh.create_temp_dir().expect("a folder");
    let write = |name: &str, text: &str| sh.write_file(folder.path().join(name), text).expect("writable");
    write(
        "about.json",
        r#"{"date": "2030-01-02", "device": "NVIDIA H200", "driver": "600.1", "commit": "0011223344"}"#,
    );
    // Digests of rows replace those that are filed.
    let mut changed = random.clone();
    for row in changed["rows"].as_array_mut().expect("rows") {
        row["measured"]["digest"] = "0123456789abcdef".into();
    }
    write("bench-random-f32.json", &changed.to_string());
    file(&sh, copy.root(), folder.path()).expect("it is a run");
    let filed = sh
        .read_file(copy.path("docs/results/h200-random.json"))
        .expect("it is filed");
    let filed: Value = serde_json::from_str(&filed).expect("JSON");
    let kernel = random["rows"][0]["measured"]["plan"]["kernel"]
        .as_str()
        .expect("a name");
    assert_eq!(filed["digests"][kernel], "0123456789abcdef");
    write("bench-random-f32.json", &random.to_string());
    // Another type is a part of its own.
    let mut of_f64 = random.clone();
    of_f64["rows"] = json!([random["rows"][0]]);
    of_f64["rows"][0]["dtype"] = "f64".into();
    of_f64["summary"][0]["dtype"] = "f64".into();
    of_f64["summary"][0]["rows"] = 1.into();
    // Of the types of this part, which are not all.
    let mut of_all = of_f64["summary"][0].clone();
    of_all["dtype"] = Value::Null;
    of_f64["summary"] = json!([of_f64["summary"][0], of_all]);
    write("bench-random-f64.json", &of_f64.to_string());
    write("bench-random-ratio.svg", "<svg/>");
    file(&sh, copy.root(), folder.path()).expect("it is a run");
    // No page shows its picture.
    assert!(!copy.path("docs/results/h200-random-ratio.svg").exists());
    let page = evidence::judge(copy.root()).expect("readable").files;
    let page = &page[Path::new("docs/results/README.md")];
    let (_, section) = page.split_once("\n## random\n").expect("a topic");
    let section = section.split("\n## ").next().expect("its text");
    assert!(section.contains("7 random shapes of each type, seed 9."), "{section}");
    assert!(
        section.contains("| f32 | all | 7 | 2.500 | 1.125 | 0.750 | 1 |")
            && section.contains("| f64 | all | 1 | 2.500 | 1.125 | 0.750 | 1 |")
            && !section.contains("| all | all |"),
        "{section}"
    );
    assert!(
        section.contains("| shape 4 |") && !section.contains("| shape 5 |"),
        "{section}"
    );
    assert!(!section.contains("Stale"), "{section}");
}

#[test]
fn a_check_that_came_to_no_end_does_not_undo_one_that_passed() {
    let sh = Shell::new().expect("a shell");
    let copy = Copy::new();
    let digests = sh.read_file(copy.path("docs/results/digests.txt")).expect("readable");
    let shipped = Shipped::parse(&digests).expect("valid");
    let kernel = "simt_nn4_128x128_f32";
    let digest = shipped.digest(kernel).expect("it ships");
    let folder = sh.create_temp_dir().expect("a folder");
    let write = |name: &str, text: &str| sh.write_file(folder.path().join(name), text).expect("writable");
    write(
        "about.json",
        r#"{"date": "2030-01-02", "device": "NVIDIA H200", "driver": "600.1", "commit": "0011223344"}"#,
    );
    let outcome_after = |digest: &str, outcome: &str| {
        let row = format!("racecheck,{kernel},{digest},{outcome},2030-01-02,0011223344,NVIDIA H200,600.1,60 s");
        write("checks.csv", &format!("{CHECKS_HEAD}\n{row}\n"));
        file(&sh, copy.root(), folder.path()).expect("it is a run");
        let filed = sh
            .read_file(copy.path("docs/results/h200-checks.csv"))
            .expect("readable");
        let filed = checks(&filed).expect("valid").into_iter();
        let of = filed.filter(|row| (&*row.check, &*row.kernel) == ("racecheck", kernel));
        of.map(|row| row.outcome).collect::<Vec<_>>()
    };
    assert_eq!(outcome_after(digest, "passed"), ["passed"]);
    assert_eq!(outcome_after(digest, "no end"), ["passed"]);
    assert_eq!(outcome_after(digest, "failed"), ["failed"]);
    assert_eq!(outcome_after(digest, "no end"), ["no end"]);
    assert_eq!(outcome_after("0000000000000000", "passed"), ["passed"]);
    assert_eq!(outcome_after(digest, "no end"), ["no end"]);
}

#[test]
fn what_is_no_run_is_refused() {
    let sh = Shell::new().expect("a shell");
    let copy = Copy::new();
    let folder = sh.create_temp_dir().expect("a folder");
    let filed = || run(&sh, copy.root(), &[folder.path().to_owned()]);
    assert!(filed().is_err(), "no about.json");
    let about = folder.path().join("about.json");
    sh.write_file(&about, r#"{"date": "2030-01-02"}"#).expect("writable");
    assert!(filed().is_err_and(|error| format!("{error:#}").contains("device")));
    let whole = r#"{"date": "d", "device": "NVIDIA H200", "driver": "1", "commit": "c"}"#;
    sh.write_file(&about, whole).expect("writable");
    assert!(filed().is_err_and(|error| format!("{error:#}").contains("holds no result")));
}
