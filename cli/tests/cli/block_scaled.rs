//! `tilewright block-scaled`: what it prints and refuses, and the page with its list.

use std::fs;
use std::path::Path;

use super::Place;

#[test]
fn a_product_is_simulated_and_equals_the_reference() {
    let place = Place::new();
    let printed = place.succeeds("block-scaled -m 70 -n 40 -k 96");
    assert!(
        printed.contains("faults         none") && printed.contains("equals the reference"),
        "{printed}"
    );
    for (arguments, kernel, stages, bytes) in [
        // Strategies of the budget guide: C, A, E.
        (
            "--kernel mma_block_scaled_nvfp4_128x256x64_bf16 --stages 4",
            "128x256x64_bf16",
            4,
            55_360,
        ),
        (
            "--kernel mma_block_scaled_nvfp4_64x128x128_bf16 --stages 2",
            "64x128x128_bf16",
            2,
            28_704,
        ),
        ("--scales l2 --stages 6", "nvfp4_l2_128x128x128_bf16", 6, 98_400),
        ("--format mxfp8 --output f32", "mxfp8_128x128x128_bf16", 2, 67_616),
        ("--output f16 --arch sm_121", "nvfp4_128x128x128_f16", 5, 92_240),
    ] {
        let listing = place.json(&format!("block-scaled -m 70 -n 40 -k 128 {arguments}"));
        let plan = &listing["plan"];
        assert!(
            plan["kernel"].as_str().is_some_and(|symbol| symbol.ends_with(kernel)),
            "{arguments}: {plan}"
        );
        assert_eq!(
            (&plan["stages"], &plan["dynamic_bytes"]),
            (&stages.into(), &bytes.into()),
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
        ("-k 40", "K = 40 of nvfp4: it has to be a multiple of 32"),
        ("--stages 6", "stages of mma_block_scaled_"),
        ("--stages 0", "0 stages of mma_block_scaled_"),
        (
            "--format fp4",
            "`fp4`: unknown block-scaled format; known: nvfp4, mxfp4, mxfp8",
        ),
        (
            "--kernel simt",
            "`simt`: no block-scaled kernel; `tilewright block-scaled --list` has them",
        ),
        (
            "--kernel mma_block_scaled_mxfp4_128x128x128_bf16 --format nvfp4",
            "takes mxfp4 with C of bf16 or f32, not nvfp4 with C of bf16",
        ),
        (
            "--arch sm_90",
            "nvfp4 needs compute capability 12.0 or 12.1, any sm_90 device has 9.0",
        ),
        ("--output f64", "no kernel takes nvfp4 with C of f64"),
        ("--schedule sideways", "sideways"),
        (
            "--list --arch sm_90",
            "sm_90 runs none of these kernels, sm_120 and sm_121 do",
        ),
        ("-m 2147483648", "2147483648"),
        (
            "-m 4096 -n 4096 -k 8192",
            "1.4e11 multiplications, more than 6.9e10; --yes does it all the same",
        ),
    ] {
        let kernel = if arguments == "--stages 6" {
            " --format mxfp8"
        } else {
            ""
        };
        let error = place.fails(2, &format!("block-scaled {arguments}{kernel}"));
        assert!(error.contains(problem), "{arguments}: {error}");
    }
}

#[test]
fn nothing_panics_on_products_that_are_empty_or_beyond_all_memory() {
    let place = Place::new();
    let printed = place.succeeds("block-scaled -m 0");
    assert!(printed.contains("0 of 0 elements"), "{printed}");
    let error = place.fails(2, "block-scaled -m 2147483647 -n 2147483647 -k 2147483616");
    assert!(
        error.contains("the tiling needs") && error.contains("a grid holds"),
        "{error}"
    );
    let error = place.fails(1, "block-scaled -m 4194304 -n 4194304 -k 2147483616");
    assert!(error.contains("memory"), "{error}");
}

#[test]
fn the_page_has_the_list_as_it_is() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/block-scaled.md");
    let text = fs::read_to_string(&page).expect("the page");
    let (begin, end) = ("<!-- block-scaled:begin -->\n", "<!-- block-scaled:end -->");
    let (head, rest) = text.split_once(begin).expect("where it begins");
    let (_, tail) = rest.split_once(end).expect("where it ends");
    let list = Place::new().succeeds("block-scaled --list");
    let now = format!("{head}{begin}```text\n{}\n```\n{end}{tail}", list.trim_end());
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::write(&page, &now).expect("the page is writable");
    }
    let text = fs::read_to_string(&page).expect("the page");
    assert!(
        text == now,
        "docs/block-scaled.md is out of date: run `BLESS=1 cargo test -p tilewright-cli --test cli block_scaled`"
    );
}
