//! `tilewright sim --barriers`, and the page of what it says of every lesson and of a kernel of each family.

use std::fmt::Write as _;

use super::*;

/// Kernels, each with a product of several tiles and of more k-tiles than it has stages.
const KERNELS: [(&str, [u32; 3]); 28] = [
    ("lesson_01_naive", [18, 24, 19]),
    ("lesson_02_static_tiles", [34, 40, 93]),
    ("lesson_03_dynamic_tiles", [34, 40, 93]),
    ("lesson_04_register_column", [66, 72, 21]),
    ("lesson_05_register_tile", [130, 136, 21]),
    ("lesson_06_vector_copies", [130, 136, 24]),
    ("lesson_07_warp_tiles", [130, 136, 24]),
    ("lesson_08_double_buffering", [130, 136, 40]),
    ("lesson_09_cp_async", [130, 136, 112]),
    ("lesson_10_mma_sync", [130, 136, 160]),
    ("lesson_11_wgmma", [130, 136, 200]),
    ("lesson_12_warp_specialized", [130, 264, 328]),
    ("lesson_13_persistent", [130, 264, 328]),
    ("lesson_14_cluster", [130, 264, 328]),
    ("lesson_15_tma_store", [130, 264, 328]),
    ("tiled_static_16_f32", [34, 40, 40]),
    ("tiled_dynamic_4x4_f32", [66, 72, 66]),
    ("register_tile_f32", [130, 136, 21]),
    ("simt_nn4_64x64_f32", [68, 72, 112]),
    ("simt_sliced_nn_64x64_f32", [65, 67, 109]),
    ("simt_registers_nn_64x64_f32", [65, 67, 36]),
    ("simt_sectors_nn_64x136_f32", [65, 131, 67]),
    ("simt_sliced_nn_32x32_f32", [33, 35, 109]),
    ("matrix_vector_k4_f32", [40, 1, 264]),
    ("matrix_vector_mn4_f32", [1, 264, 528]),
    ("mma_sync_nn_128x128_f16", [130, 136, 160]),
    ("mma_sync_strips_nn1_64x128_f16", [65, 131, 67]),
    ("wgmma_nn_64x64_f16", [72, 72, 1096]),
];

/// What the page begins with.
const HEAD: &str = "\
# Which barriers are needed

Each barrier, wait and fence of a kernel is left out in turn, in the simulator (`tilewright sim KERNEL -m M -n N -k K
--barriers`). *A fault*: the simulator reports one. *The result*: C is wrong, without a fault. *Nothing*: it may be
redundant on this product, or it is for something that the simulator does not model, such as lanes of a warp that have
to be together again. Barriers of a cluster, and those that give a value, are never left out.

`BLESS=1 cargo test -p tilewright-cli --test cli barriers` writes this page; the test fails where it differs.

| kernel | product | a fault | the result | nothing | what nothing notices |
|---|---|--:|--:|--:|---|
";

/// The page: it says only what changes with the kernels' barriers, not with every line above them.
fn page(place: &Place) -> String {
    let mut page = HEAD.to_owned();
    for (kernel, [m, n, k]) in KERNELS {
        let table = place.json(&format!("sim {kernel} -m {m} -n {n} -k {k} --barriers"));
        let rows = table["synchronizations"].as_array().expect("a list");
        let of = |noticed: &'static str| rows.iter().filter(move |row| row["noticed_by"] == noticed);
        let unnoticed: Vec<String> = of("nothing")
            .map(|row| {
                let path = row["location"]["file"].as_str().expect("a path");
                let file = path.rsplit('/').next().expect("a name");
                format!(
                    "{} in `{file}`",
                    row["kind"].as_str().expect("a kind").replace('_', " ")
                )
            })
            .collect();
        writeln!(
            page,
            "| `{kernel}` | {m} x {n} x {k} | {} | {} | {} | {} |",
            of("fault").count(),
            of("result").count(),
            unnoticed.len(),
            unnoticed.join(", ")
        )
        .expect("a String takes all text");
    }
    page
}

#[test]
fn the_page_says_what_notices_each_barrier_that_is_left_out() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/needed-barriers.md");
    let text = page(&Place::new());
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, text).expect("the page can be written");
        return;
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == text,
        "{} is out of date: BLESS=1 cargo test -p tilewright-cli --test cli barriers\n{text}",
        path.display()
    );
}

#[test]
fn a_barrier_that_is_left_out_is_shown_with_its_line_and_what_follows() {
    let place = Place::new();
    let text = place.succeeds("sim lesson_03_dynamic_tiles -m 34 -n 40 -k 93 --barriers");
    let rows: Vec<_> = text
        .lines()
        .filter(|line| line.contains("l03_dynamic_tiles.rs:"))
        .collect();
    assert_eq!(rows.len(), 2, "{text}");
    for row in rows {
        assert!(
            row.contains("barrier") && row.contains("a fault") && row.contains("race in shared memory"),
            "{row}"
        );
    }
    assert!(
        text.ends_with("2 noticed by a fault, 0 by the result, 0 by nothing.\n"),
        "{text}"
    );
    // Nothing is launched, so nothing can be left out.
    assert!(
        place
            .succeeds("sim lesson_03_dynamic_tiles -m 0 -n 40 -k 93 --barriers")
            .contains("0 by nothing")
    );
    // Without checks nothing would be noticed.
    let refused = place.run("sim lesson_03_dynamic_tiles -m 4 -n 4 -k 4 --barriers --checks off");
    assert_eq!(refused.status.code(), Some(2));
}
