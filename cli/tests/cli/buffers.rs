//! `tilewright plan` for kernels that are no single product.

use std::fs;

use serde_json::Value;

use crate::Place;

const BUFFERS: &str = "--buffer q=m128x128:bf16 --buffer k=n128x128:bf16@stage --buffer v=n128x128:bf16@stage \
                       --buffer o=m128x128:bf16@after=v --stages 2 --threads 256";

#[test]
fn named_buffers_have_a_worksheet_moves_and_occupancy() {
    let place = Place::new();
    let (report, line) = place.ends(2, &format!("plan --arch sm_120 {BUFFERS} --registers 168 --json"));
    assert!(
        line.contains("the kernel needs 196608 B of shared memory, sm_120 gives a block 101376 B: 95232 B too many"),
        "{line}"
    );
    let plan: Value = serde_json::from_str(&report).expect("JSON");
    for (pointer, expected) in [
        ("/arch", Value::from("sm_120")),
        ("/fits", false.into()),
        ("/total_bytes", 196_608.into()),
        ("/over_by_bytes", 95_232.into()),
        ("/components/1/name", "k".into()),
        ("/components/1/shape", "128 x 128 bf16".into()),
        ("/components/1/per_stage", 32_768.into()),
        ("/template/kernel", "buffers".into()),
        ("/template/buffers/3", "o=m128x128:bf16@after=v".into()),
        ("/occupancy/limiter", "shared_memory".into()),
        ("/registers/math", 168.into()),
        ("/moves/0/name", "share memory".into()),
        ("/moves/1/name", "halve a dimension".into()),
        ("/moves/1/before_bytes", 163_840.into()),
        ("/moves/1/after_bytes", 98_304.into()),
        ("/after_moves/fits", true.into()),
        ("/after_moves/occupancy/blocks_per_sm", 1.into()),
    ] {
        assert_eq!(plan.pointer(pointer), Some(&expected), "{pointer}");
    }
    let (text, _) = place.ends(2, &format!("plan --arch sm_120 {BUFFERS}"));
    let verdict = text.lines().find(|line| line.starts_with("DOES NOT FIT"));
    assert!(verdict.is_some_and(|line| line.ends_with("95232 B")), "{text}");
    assert!(
        text.contains("1. share memory: 196608 -> 163840 B") && text.contains("--registers"),
        "{text}"
    );
    // The same fit where there is room for them.
    assert_eq!(place.json(&format!("plan --arch sm_90 {BUFFERS}"))["fits"], true);
}

#[test]
fn a_file_of_buffers_is_read_and_a_wrong_line_is_named() {
    let place = Place::new();
    fs::write(
        place.path("kernel.txt"),
        "# Q once\nq = 128x128:bf16\n\nkv = 128x128:bf16x2 @stage # K, V\n",
    )
    .expect("a file");
    let plan = place.json("plan --arch sm_90 --buffers kernel.txt --buffer bar=1x1:mbarrierx2@stage --stages 2");
    assert_eq!(plan["total_bytes"], 32_768 + 2 * 65_536 + 2 * 16);
    fs::write(place.path("wrong.txt"), "q=128x128:bf16\n\nkv=128x128:bf17\n").expect("a file");
    for (arguments, part) in [
        (
            "--buffers wrong.txt",
            "error: wrong.txt, line 3: unknown element type `bf17`",
        ),
        ("--buffers missing.txt", "error: missing.txt: No such file"),
        (
            "--buffers kernel.txt --buffer q=1x1:f32",
            "error: --buffer number 1: `q` is on line 2 already",
        ),
        ("--buffer a=1x1:f32 --buffer b=1", "error: --buffer number 2: `b=1`"),
        ("--buffer a=1x1:f32 --stages 65", "stages 65: from 1 to 64; nearest: 64"),
        ("--buffer a=1x1:f32 --threads 2048", "threads 2048: from 1 to 1024"),
        ("--buffer a=1x1:f32 --margin 232448", "margin"),
        (
            "--buffer a=1x1:f32 --tile 64x64x64",
            "--tile is no option of a kernel of named buffers",
        ),
        (
            "--buffer a=1x1:f32 --template grouped-moe",
            "--buffer is no option of grouped-moe",
        ),
        (
            "--threads 4 --tile 64x64x64",
            "--threads is no option of a matrix product",
        ),
    ] {
        let line = place.fails(2, &format!("plan --arch sm_90 {arguments}"));
        assert!(
            line.contains(part) && line.trim_end().lines().count() == 1,
            "`{arguments}`: {line}"
        );
    }
}

#[test]
fn flash_attention_fits_227_kib_and_is_moved_to_99() {
    let place = Place::new();
    let attention = "plan --template flash-attention --dtype bf16";
    let plan = place.json(&format!("{attention} --tile 128x176x128 --arch sm_90"));
    assert_eq!((&plan["total_bytes"], &plan["fits"]), (&213_064.into(), &true.into()));
    assert_eq!(plan["registers"]["accumulator"], 200);
    let (text, line) = place.ends(2, &format!("{attention} --tile 128x128x128 --arch sm_120 --explain"));
    assert!(
        line.contains("163840 B") && line.contains("62464 B too many; the moves"),
        "{line}"
    );
    assert!(text.contains("1. drop a stage: 163840 -> 98304 B, fits"), "{text}");
    let recompute = text
        .lines()
        .find(|line| line.starts_with("- recompute instead of staging: 163840 -> 131072 B"));
    assert!(
        recompute.is_some_and(|line| line.contains("4194304 more FLOP")),
        "{text}"
    );
    assert!(
        place
            .fails(2, &format!("{attention} --arch sm_90"))
            .contains("such as 128x128x128")
    );
    let wrong = place.fails(2, &format!("{attention} --tile 100x128x128 --arch sm_90"));
    assert!(wrong.contains("queries of the tile 100: a multiple of 64"), "{wrong}");
}

#[test]
fn a_grouped_product_has_its_table_of_groups() {
    let place = Place::new();
    let grouped = "plan --template grouped-moe --arch sm_120 --dtype nvfp4 --tile 128x128x128 --stages 4";
    let text = place.succeeds(&format!("{grouped} --groups 100 --frontend cutlass"));
    let line = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default()
            .to_owned()
    };
    assert!(
        line("table of groups").ends_with("400 B") && line("tensor maps").ends_with("512 B"),
        "{text}"
    );
    assert!(place.fails(2, grouped).contains("needs the number of groups"));
}

#[test]
fn a_gpu_alone_names_its_architecture() {
    let place = Place::new();
    let plan = place.json("plan --gpu rtx4090 --tile 128x128x64 --dtype bf16");
    assert_eq!((&plan["arch"], &plan["product"]), (&"sm_89".into(), &"RTX 4090".into()));
    let plan = place.json("plan --gpu H200 --buffer a=1x1:f32");
    assert_eq!(plan["arch"], "sm_90");
    for (arguments, parts) in [
        ("--gpu RTX4091", ["unknown GPU `RTX4091`", "nearest: RTX 4090"]),
        (
            "--gpu H200 --arch sm_120",
            ["H200 is an sm_90 GPU", "sm_120 GPUs: RTX PRO 6000"],
        ),
    ] {
        let line = place.fails(2, &format!("plan {arguments} --tile 64x64x64"));
        assert!(parts.iter().all(|part| line.contains(part)), "`{arguments}`: {line}");
    }
    let both = place.run("plan --gpu H200 --device 0 --tile 64x64x64");
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn pictures_and_pages_show_buffers_too() {
    let place = Place::new();
    place.ends(
        2,
        &format!("plan --arch sm_120 {BUFFERS} --svg plan.svg --html plan.html"),
    );
    let svg = fs::read_to_string(place.path("plan.svg")).expect("written");
    assert!(svg.contains("data-name=\"kv\"") || svg.contains("data-name=\"k\""));
    assert!(svg.contains("after the moves") && svg.contains("named buffers"));
    let html = fs::read_to_string(place.path("plan.html")).expect("written");
    assert!(html.contains("k=n128x128:bf16@stage"));
}
