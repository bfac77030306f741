//! `tilewright fp8`: what it prints and refuses, and the page with its list.

use std::fs;
use std::path::Path;

use super::Place;

#[test]
fn a_product_is_simulated_and_equals_the_reference() {
    let place = Place::new();
    let printed = place.succeeds("fp8 -m 70 -n 40 -k 272");
    assert!(
        printed.contains("faults         none") && printed.contains("equals the reference"),
        "{printed}"
    );
    for (arguments, kernel, scalings, bytes) in [
        (
            "",
            "wgmma_fp8_blocks_e4m3_e4m3_64x64_bf16",
            ["1x128", "128x128"],
            208_128,
        ),
        (
            "--fast --output f32",
            "wgmma_fp8_fast_e4m3_e4m3_64x128_bf16",
            ["tensor", "tensor"],
            213_120,
        ),
        (
            "--scales row --b e5m2",
            "wgmma_fp8_promoted_e4m3_e5m2_128x128_bf16",
            ["row", "row"],
            196_688,
        ),
        (
            "--kernel wgmma_fp8_fast_e4m3_e4m3_128x256_f16 --output f16",
            "wgmma_fp8_fast_e4m3_e4m3_128x256_f16",
            ["tensor", "tensor"],
            229_440,
        ),
        (
            "--output f16 --accumulation truncated",
            "wgmma_fp8_blocks_e4m3_e4m3_128x128_f16",
            ["1x128", "128x128"],
            199_296,
        ),
    ] {
        let listing = place.json(&format!("fp8 -m 40 -n 40 -k 144 {arguments}"));
        let plan = &listing["plan"];
        assert_eq!(
            (&plan["kernel"], &plan["dynamic_bytes"]),
            (&kernel.into(), &bytes.into()),
            "{arguments}"
        );
        let [a, b] = scalings;
        assert_eq!(
            (&listing["scalings"][0], &listing["scalings"][1]),
            (&a.into(), &b.into()),
            "{arguments}"
        );
        assert_eq!(
            (&listing["clean"], &listing["equal"]),
            (&true.into(), &true.into()),
            "{arguments}"
        );
    }
}

#[test]
fn bad_input_ends_with_2_and_one_line() {
    let place = Place::new();
    for (arguments, problem) in [
        ("-k 40", "K = 40 of e4m3: it has to be a multiple of 16, nearest 48"),
        ("-k 0", "K = 0 of e4m3: it has to be a multiple of 16, nearest 16"),
        ("--a fp8", "`fp8`: unknown FP8 format; known: e4m3, e5m2"),
        (
            "--kernel simt",
            "`simt`: no FP8 kernel; `tilewright fp8 --list` has them",
        ),
        (
            "--fast --scales blocks",
            "scales of 1x128 and 128x128 are applied every 128 of K: there is no fast mode",
        ),
        (
            "--kernel wgmma_fp8_fast_e4m3_e4m3_64x128_bf16 --output f16",
            "the problem asks for fast of e4m3 x e4m3 with C of f16",
        ),
        ("--output f64", "no blocks kernel takes e4m3 x e4m3 with C of f64"),
        ("--schedule sideways", "sideways"),
        ("-m 2147483648", "2147483648"),
        (
            "-m 4096 -n 4096 -k 8192",
            "1.4e11 multiplications, more than 6.9e10; --yes does it all the same",
        ),
    ] {
        let error = place.fails(2, &format!("fp8 {arguments}"));
        assert!(error.contains(problem), "{arguments}: {error}");
    }
}

#[test]
fn nothing_panics_on_products_that_are_empty_or_beyond_all_memory() {
    let place = Place::new();
    let printed = place.succeeds("fp8 -m 0");
    assert!(printed.contains("0 of 0 elements"), "{printed}");
    let error = place.fails(1, "fp8 -m 4194304 -n 4194304 -k 2147483632");
    assert!(error.contains("memory"), "{error}");
}

#[test]
fn the_page_has_the_list_as_it_is() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fp8.md");
    let text = fs::read_to_string(&page).expect("the page");
    let (begin, end) = ("<!-- fp8:begin -->\n", "<!-- fp8:end -->");
    let (head, rest) = text.split_once(begin).expect("where it begins");
    let (_, tail) = rest.split_once(end).expect("where it ends");
    let list = Place::new().succeeds("fp8 --list");
    let now = format!("{head}{begin}```text\n{}\n```\n{end}{tail}", list.trim_end());
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::write(&page, &now).expect("the page is writable");
    }
    let text = fs::read_to_string(&page).expect("the page");
    assert!(
        text == now,
        "docs/fp8.md is out of date: run `BLESS=1 cargo test -p tilewright-cli --test cli fp8`"
    );
}
