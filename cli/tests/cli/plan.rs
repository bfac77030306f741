//! `tilewright plan`.

use std::fs;

use serde_json::Value;

use crate::Place;

const TOO_LARGE: &str = "plan --arch sm_120 --dtype bf16 --tile 128x256x64 --stages 4";

/// The report of a tile that does not fit, and the error line.
fn too_large(place: &Place, arguments: &str) -> (Value, String) {
    let (report, line) = place.ends(2, &format!("{arguments} --json"));
    (serde_json::from_str(&report).expect("JSON"), line)
}

#[test]
fn json_has_the_worksheet_the_moves_and_the_occupancy() {
    let (plan, line) = too_large(&Place::new(), TOO_LARGE);
    assert!(
        line.contains("needs 196672 B of shared memory, sm_120 gives a block 101376 B: 95296 B too many; the moves"),
        "{line}"
    );
    assert_eq!(plan["arch"], "sm_120");
    assert_eq!(
        (&plan["limit_bytes"], &plan["reserved_bytes"]),
        (&Value::from(101_376), &Value::from(1024))
    );
    assert_eq!(
        (&plan["total_bytes"], &plan["over_by_bytes"]),
        (&Value::from(196_672), &Value::from(95_296))
    );
    assert_eq!((&plan["fits"], &plan["stages"]), (&Value::from(false), &Value::from(4)));
    assert_eq!(plan["tile"]["m"], 128);
    assert_eq!(
        (&plan["accumulator"], &plan["path"]),
        (&Value::from("registers"), &Value::from("mma.sync"))
    );
    assert!(
        plan["registers_per_thread"]
            .as_u64()
            .is_some_and(|registers| registers > 128)
    );
    assert_eq!(plan["occupancy"]["blocks_per_sm"], 0);
    assert_eq!(plan["occupancy"]["limiter"], "shared_memory");
    let components = plan["components"].as_array().expect("a list");
    let sum: u64 = components.iter().filter_map(|part| part["bytes"].as_u64()).sum();
    assert_eq!(Value::from(sum), plan["total_bytes"]);
    assert_eq!(components[0]["per_stage"], 16384);
    let moves = plan["moves"].as_array().expect("a list");
    assert_eq!(moves.len(), 2);
    let mut before = &plan["total_bytes"];
    for step in moves {
        assert_eq!(&step["before_bytes"], before);
        before = &step["after_bytes"];
        assert_eq!(step["name"], "drop a stage");
        assert!(step["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    }
    assert_eq!(
        (&plan["after_moves"]["total_bytes"], &plan["after_moves"]["fits"]),
        (before, &Value::from(true))
    );
    assert_eq!(
        (&plan["estimated_us"], &plan["candidates"]),
        (&Value::Null, &Value::from(Vec::<u8>::new()))
    );
}

#[test]
fn without_a_tile_the_fastest_is_selected_and_rejects_have_reasons() {
    let place = Place::new();
    let plan = place.json("plan --arch sm_90 --dtype bf16 -m 4096 -n 4096 -k 4096");
    assert_eq!(
        (&plan["path"], &plan["fits"]),
        (&Value::from("wgmma"), &Value::from(true))
    );
    let candidates = plan["candidates"].as_array().expect("a list");
    let (ranked, rejected): (Vec<_>, Vec<_>) = candidates.iter().partition(|row| row["rejected"].is_null());
    assert!(
        ranked.len() > 10 && !rejected.is_empty(),
        "{} {}",
        ranked.len(),
        rejected.len()
    );
    let times: Vec<f64> = ranked
        .iter()
        .map(|row| row["estimated_us"].as_f64().expect("a time"))
        .collect();
    assert!(times.is_sorted() && plan["estimated_us"].as_f64() == Some(times[0]));
    assert!(
        rejected
            .iter()
            .all(|row| row["rejected"].as_str().is_some_and(|why| why.contains('(')))
    );
    let text = place.succeeds("plan --arch sm_90 --dtype bf16 -m 4096 -n 4096 -k 4096 --explain");
    assert!(
        text.contains("Passed over:") && text.contains("Every move, tried once"),
        "{text}"
    );
}

#[test]
fn the_text_says_by_how_much_it_misses_and_what_makes_it_fit() {
    let (text, _) = Place::new().ends(2, TOO_LARGE);
    let line = text
        .lines()
        .find(|line| line.starts_with("DOES NOT FIT"))
        .expect("a verdict");
    assert!(line.ends_with("95296 B"), "{line}");
    assert!(
        text.contains("1. drop a stage: 196672 -> 147504 B") && text.contains("2. drop a stage"),
        "{text}"
    );
}

#[test]
fn the_example_has_the_guides_figures_and_the_corrected_ones() {
    let place = Place::new();
    let text = place.succeeds("plan --example");
    let line = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name}: {text}"))
    };
    for (name, numbers) in [
        ("scales of A and B", ["4 KiB", "6 KiB"]),
        ("total", ["181 KiB", "182.06 KiB"]),
        ("limit of a block", ["225 KiB", "227 KiB"]),
        ("limit of a block", ["97 KiB", "99 KiB"]),
    ] {
        assert!(
            numbers.iter().all(|number| line(name).contains(number)),
            "{}",
            line(name)
        );
    }
    let lines = &place.json("plan --example")["lines"];
    assert!(
        lines
            .as_array()
            .is_some_and(|lines| lines.iter().all(|line| line["source"].is_string()))
    );
}

#[test]
fn pictures_and_pages_are_written_whole() {
    let place = Place::new();
    place.ends(2, &format!("{TOO_LARGE} --svg plan.svg --html plan.html"));
    let svg = fs::read_to_string(place.path("plan.svg")).expect("written");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && svg.contains("after the moves"));
    let html = fs::read_to_string(place.path("plan.html")).expect("written");
    assert!(html.contains("sm_120") && html.trim_end().ends_with("</html>"));
    assert!(
        place
            .fails(2, &format!("{TOO_LARGE} --svg nowhere/plan.svg"))
            .contains("nowhere")
    );
}

#[test]
fn a_margin_is_the_users_own() {
    let place = Place::new();
    let tight = "plan --arch sm_120 --dtype bf16 --tile 128x256x64 --stages 2";
    assert_eq!(place.json(tight)["fits"], true);
    let (plan, line) = too_large(&place, &format!("{tight} --margin 4096"));
    assert!(line.contains("4096 B of which are to stay free"), "{line}");
    assert_eq!(
        (&plan["fits"], &plan["margin_bytes"]),
        (&Value::from(false), &Value::from(4096))
    );
    assert_eq!(plan["over_by_bytes"], 4096 - (101_376 - 98_336));
}

#[test]
fn bad_input_names_the_rule_its_source_and_the_nearest_value() {
    let place = Place::new();
    for (arguments, parts) in [
        (
            "-m 0 -n 8 -k 8 --arch sm_90",
            &["m 0", "at least 1", "nearest that works: -m 1\n"][..],
        ),
        (
            "-m 99999999999 -n 8 -k 8 --arch sm_90",
            &["2147483647", "nearest that works: -m 2147483647\n"],
        ),
        ("-m 8 -n 8 --arch sm_90", &["all three or none"]),
        ("--arch sm_90", &["a tile (MxNxK) or"]),
        (
            "--arch sm_70 --tile 64x64x64",
            &["unknown architecture `sm_70`", "sm_75"],
        ),
        (
            "--arch sm_75 --dtype tf32 -m 8 -n 8 -k 8",
            &["sm_75 tf32", "PTX ISA", "nearest that works: --dtype f32\n"],
        ),
        (
            "--arch sm_90 --tile 100x128x64",
            &["tile m 100", "wgmma", "nearest that works: --tile 128x128x64\n"],
        ),
        (
            "--arch sm_120 --dtype nvfp4 --tile 80x128x128",
            &["128 rows", "CUTLASS", "nearest that works: --tile 64x128x128\n"],
        ),
        (
            "--arch sm_120 --dtype nvfp4 --frontend cutlass --tile 64x128x128",
            &["128 rows", "nearest that works: --tile 128x128x128\n"],
        ),
        (
            "--arch sm_120 --path wgmma --tile 64x128x64",
            &["wgmma for f16", "nearest that works: --path mma.sync\n"],
        ),
        (
            "--arch sm_90 --path tcgen05 -m 8 -n 8 -k 8",
            &["tcgen05 for f16", "nearest that works: --path wgmma\n"],
        ),
        ("--arch sm_120 --tile 128x128x64 --cluster 2x1", &["cluster 2x1", "1x1"]),
        (
            "--arch sm_90 --tile 128x128x64 --margin 232448",
            &["margin", "nearest that works: --margin 232447\n"],
        ),
        (
            "--arch sm_90 --tile 128x128x64 --accumulator tmem",
            &["tmem", "nearest that works: --accumulator registers\n"],
        ),
        (
            "--arch sm_90 --tile 128x128x64 --static-bytes 49153",
            &["49152 B", "ptxas"],
        ),
        (
            "--arch sm_90 -m 512 -n 512 -k 512 --output-bytes 100000",
            &[
                "output bytes 100000: an element of C has at most 16 bytes",
                "nearest that works: --output-bytes 16\n",
            ],
        ),
        (
            "--arch sm_120 --gpu T4 --tile 128x128x64",
            &["T4 is an sm_75 GPU", "RTX 5090"],
        ),
    ] {
        let line = place.fails(2, &format!("plan {arguments}"));
        for part in parts {
            assert!(line.contains(part), "`{arguments}`: {line}");
        }
    }
    // The option's name before this one.
    assert!(
        place
            .fails(2, "plan --arch sm_120 --product T4 --tile 128x128x64")
            .contains("T4 is")
    );
    // Its own choice of warps is legal.
    place.succeeds("plan --arch sm_75 --dtype f16 --tile 80x24x64");
    // Without a device there is nothing to ask.
    assert!(place.fails(3, "plan --tile 64x64x64").contains("--arch"));
}

#[test]
fn rules_have_sources() {
    let rules = Place::new().json("plan --rules");
    let rules = rules.as_array().expect("a list");
    assert!(rules.len() > 15);
    assert!(
        rules
            .iter()
            .all(|rule| rule["source"].as_str().is_some_and(|source| !source.is_empty()))
    );
}
