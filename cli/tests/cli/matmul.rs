//! `tilewright matmul`: what it computes, writes and refuses.

use std::fs;

use half::{bf16, f16};

use super::{A, B, C, Place, le32, with_operands};

#[test]
fn matmul_writes_the_product_and_prints_a_table() {
    let place = with_operands();
    let text = place.succeeds("matmul a.npy b.npy -o c.npy --verify full --explain");
    assert_eq!(place.elements("c.npy"), le32(&C));
    for expected in [
        "2 x 2 x 3",
        "CPU",
        "cpu_tiled",
        "every element agrees",
        "GFLOP/s",
        "Why:",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(place.names(), ["a.npy", "b.npy", "c.npy"], "nothing else is left");
}

#[test]
fn matmul_json_has_every_key() {
    let report = with_operands().json("matmul a.npy b.npy -o c.npy --verify sample --tile 7");
    let keys = [
        "backend",
        "kernel",
        "m",
        "n",
        "k",
        "dtype",
        "alpha",
        "beta",
        "bias",
        "activation",
        "output",
        "tile",
        "splits",
        "block",
        "grid",
        "static_smem_bytes",
        "dynamic_smem_bytes",
        "limit_bytes",
        "kernel_ms",
        "gflops",
        "verified",
    ];
    for key in keys {
        assert!(report.get(key).is_some(), "{key} in {report}");
    }
    assert_eq!(
        (&report["m"], &report["n"], &report["k"]),
        (&2.into(), &2.into(), &3.into())
    );
    assert_eq!(
        (&report["backend"], &report["verified"], &report["tile"]),
        (&"cpu".into(), &"sample".into(), &serde_json::json!([7, 7]))
    );
    assert!(
        report["fallback"].as_str().expect("says why").contains("CUDA"),
        "{report}"
    );
}

#[test]
fn every_type_and_order_is_multiplied() {
    let place = Place::new();
    let transposed = [A[0], A[3], A[1], A[4], A[2], A[5]];
    for (descr, flags, to_bytes) in [
        ("<f4", "", (|x| x.to_le_bytes().to_vec()) as fn(f32) -> Vec<u8>),
        ("<f8", "", |x| f64::from(x).to_le_bytes().to_vec()),
        ("<f2", "", |x| f16::from_f32(x).to_le_bytes().to_vec()),
        ("<u2", "--bf16", |x| bf16::from_f32(x).to_le_bytes().to_vec()),
        ("<V2", "--bf16", |x| bf16::from_f32(x).to_le_bytes().to_vec()),
    ] {
        let bytes = |values: &[f32]| values.iter().copied().flat_map(to_bytes).collect::<Vec<u8>>();
        for fortran_order in [false, true] {
            place.put(
                "a.npy",
                descr,
                fortran_order,
                (2, 3),
                &bytes(if fortran_order { &transposed } else { &A }),
            );
            place.put("b.npy", descr, false, (3, 2), &bytes(&B));
            place.succeeds(&format!(
                "matmul a.npy b.npy -o c.npy --backend cpu --verify full {flags}"
            ));
            assert_eq!(place.elements("c.npy"), bytes(&C), "{descr} {fortran_order}");
            let header = String::from_utf8_lossy(&fs::read(place.path("c.npy")).expect("written")).into_owned();
            assert!(
                header.contains(&format!("'{descr}'")) && header.contains("False"),
                "{header}"
            );
        }
    }
}

#[test]
fn transposed_files_are_multiplied_as_they_are() {
    let place = with_operands();
    let a_transposed = [A[0], A[3], A[1], A[4], A[2], A[5]];
    let b_transposed = [B[0], B[2], B[4], B[1], B[3], B[5]];
    place.put("at.npy", "<f4", false, (3, 2), &le32(&a_transposed));
    place.put("bt.npy", "<f4", false, (2, 3), &le32(&b_transposed));
    for backend in ["cpu", "sim"] {
        for files in [
            "at.npy b.npy --trans-a",
            "a.npy bt.npy --trans-b",
            "at.npy bt.npy --trans-a --trans-b",
        ] {
            let report = place.json(&format!("matmul {files} -o c.npy --backend {backend} --verify full"));
            assert_eq!(place.elements("c.npy"), le32(&C), "{backend} {files}");
            assert_eq!(report["m"], 2);
        }
    }
    let error = place.fails(2, "matmul at.npy b.npy -o d.npy");
    assert!(error.contains("at.npy is 3 x 2, b.npy is 3 x 2"), "{error}");
    let error = place.fails(2, "matmul a.npy b.npy -o d.npy --trans-a");
    assert!(error.contains("a.npy is transposed 3 x 2, b.npy is 3 x 2"), "{error}");
}

#[test]
fn products_are_scaled_and_added() {
    let place = with_operands();
    place.put("c0.npy", "<f4", false, (2, 2), &le32(&[1.0, 2.0, 3.0, 4.0]));
    place.put("nan.npy", "<f4", false, (2, 2), &le32(&[f32::NAN; 4]));
    for backend in ["cpu", "sim"] {
        for (arguments, expected) in [
            ("--alpha 2", [8.0, 10.0, 20.0, 22.0]),
            ("--add c0.npy", [5.0, 7.0, 13.0, 15.0]),
            ("--alpha -1 --add c0.npy --beta -0.5", [-4.5, -6.0, -11.5, -13.0]),
            // What is not read cannot spread.
            ("--add nan.npy --beta 0", C),
        ] {
            let report = place.json(&format!(
                "matmul a.npy b.npy -o c.npy {arguments} --backend {backend} --verify full"
            ));
            assert_eq!(
                place.elements("c.npy"),
                le32(&expected),
                "{backend} {arguments}: {report}"
            );
        }
    }
    let text = place.succeeds("matmul a.npy b.npy -o c.npy --alpha 2 --add c0.npy");
    assert!(text.contains("alpha 2, beta 1"), "{text}");

    place.put("wide.npy", "<f8", false, (2, 2), &[0; 32]);
    place.put("tall.npy", "<f4", false, (3, 2), &[0; 24]);
    place.put("half.npy", "<f2", false, (2, 2), &[0; 8]);
    place.put("row.npy", "<f4", false, (1, 2), &[0; 8]);
    for (arguments, expected) in [
        ("a.npy b.npy --add wide.npy", "wide.npy holds f64, C f32"),
        ("a.npy b.npy --add tall.npy", "tall.npy is 3 x 2, the product 2 x 2"),
        ("wide.npy wide.npy --output-type f32", "wide.npy holds f64"),
        (
            "a.npy b.npy --bias b.npy",
            "b.npy is 3 x 2, a bias for this product 1 x 2 or of as many elements",
        ),
        ("half.npy half.npy --bias row.npy", "row.npy holds f32, A and B f16"),
        (
            "a.npy b.npy --activation relu --backend sim --kernel tiled_static",
            "tiled_static has no kernel for f32 with bias, activation or C of another type",
        ),
        ("a.npy b.npy --alpha inf --verify full", "must be finite to be checked"),
        (
            "a.npy b.npy --alpha 2 --backend sim --kernel tiled_static",
            "tiled_static has no kernel for f32 with alpha and beta",
        ),
    ] {
        let error = place.fails(2, &format!("matmul {arguments} -o d.npy"));
        assert!(error.contains(expected), "{arguments}: {error}");
    }
    let error = place.fails(2, "matmul a.npy b.npy -o d.npy --beta 2");
    assert!(error.contains("--add"), "{error}");
}

#[test]
fn empty_extents_are_multiplied() {
    let place = Place::new();
    for (m, n, k) in [(0, 2, 3), (2, 0, 3), (2, 3, 0), (0, 0, 0)] {
        place.put("a.npy", "<f4", false, (m, k), &vec![0; 4 * m * k]);
        place.put("b.npy", "<f4", false, (k, n), &vec![0; 4 * k * n]);
        place.succeeds("matmul a.npy b.npy -o c.npy --verify full");
        assert_eq!(place.elements("c.npy"), le32(&vec![0.0; m * n]));
    }
}

#[test]
fn inputs_that_cannot_be_multiplied_are_named_and_nothing_is_written() {
    let place = with_operands();
    place.put("half.npy", "<f2", false, (3, 2), &[0; 12]);
    place.put("words.npy", "<u2", false, (3, 2), &[0; 12]);
    place.put("short.npy", "<f4", false, (3, 2), &[0; 20]);
    place.put("long.npy", "<f4", false, (3, 2), &[0; 28]);
    place.put("huge.npy", "<f4", false, (1 << 40, 1 << 40), &[]);
    place.put("tall.npy", "<f4", false, (i32::MAX as usize, 0), &[]);
    place.put("wide.npy", "<f4", false, (0, i32::MAX as usize), &[]);
    place.put("taller.npy", "<f4", false, (1 << 31, 0), &[]);
    fs::write(place.path("text.npy"), "1 2\n3 4\n").expect("ours");
    fs::write(place.path("empty.npy"), "").expect("ours");
    fs::create_dir(place.path("folder")).expect("ours");
    let before = place.names();
    let error = place.fails(1, "matmul tall.npy wide.npy -o c.npy");
    assert!(
        error.contains("not enough resources: the product 2147483647 x 2147483647 x 0"),
        "{error}"
    );
    for (arguments, expected) in [
        (
            "a.npy a.npy -o c.npy",
            "a.npy is 2 x 3, a.npy is 2 x 3: the columns of A must be as many as the rows of B",
        ),
        ("a.npy half.npy -o c.npy", "a.npy holds f32, half.npy holds f16"),
        ("a.npy words.npy -o c.npy", "with --bf16 they are read as bfloat16"),
        ("a.npy b.npy --bf16 -o c.npy", "--bf16 reads 16-bit words"),
        (
            "a.npy short.npy -o c.npy",
            "is truncated: 3 x 2 elements of 4 B take 24 B, the file holds 20 B",
        ),
        ("a.npy long.npy -o c.npy", "is longer than its header says"),
        ("huge.npy b.npy -o c.npy", "overflows"),
        ("taller.npy wide.npy -o c.npy", "2147483648"),
        ("a.npy text.npy -o c.npy", "text.npy: is no .npy file"),
        ("a.npy empty.npy -o c.npy", "empty.npy: is no .npy file"),
        ("a.npy absent.npy -o c.npy", "absent.npy: "),
        ("a.npy folder -o c.npy", "folder: is not a regular file"),
        ("a.npy b.npy -o folder", "folder: is not a regular file"),
        ("a.npy b.npy -o absent/c.npy", "absent"),
        ("a.npy b.npy -o c.npy --tile 0", "nearest: 1"),
        ("a.npy b.npy -o c.npy --tile 4000000000", "nearest: "),
        (
            "a.npy b.npy -o c.npy --kernel r99",
            "unknown kernel `r99`; known: auto, tiled_static, tiled_dynamic, \
             register_tile, simt, matrix_vector, mma_sync, mma_f64, mma_f64_wide, wgmma, wgmma_bf16x6",
        ),
        (
            "a.npy b.npy -o c.npy --backend cpu --kernel tiled_static",
            "tiled_static runs on a GPU or in the simulator",
        ),
    ] {
        let error = place.fails(2, &format!("matmul {arguments}"));
        assert!(error.contains(expected), "`{arguments}`: {error:?} lacks {expected:?}");
        assert_eq!(place.names(), before, "`{arguments}`: nothing is written");
    }
}

#[test]
fn a_failure_leaves_an_earlier_result_alone() {
    let place = with_operands();
    fs::write(place.path("c.npy"), "earlier").expect("ours");
    place.fails(2, "matmul a.npy a.npy -o c.npy");
    place.fails(3, "matmul a.npy b.npy -o c.npy --backend gpu");
    assert_eq!(fs::read(place.path("c.npy")).expect("kept"), b"earlier");
    place.succeeds("matmul a.npy b.npy -o c.npy");
    assert_eq!(place.elements("c.npy"), le32(&C));
}
