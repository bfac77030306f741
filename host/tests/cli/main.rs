//! The program as a user meets it: what it prints, where, and the code that it ends with.
//!
//! Every test hides the GPU, if there is one, so that it means the same on every machine.

mod bench;
mod files;
mod finish;
#[cfg(unix)]
mod hostile;
mod plan;
mod simulation;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use half::{bf16, f16};
use serde_json::Value;
use tempfile::TempDir;

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilewright"));
    command.env("CUDA_VISIBLE_DEVICES", "");
    command
}

/// A folder of its own for a test, and the program run in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a matrix file as NumPy does.
    fn put(&self, name: &str, descr: &str, fortran_order: bool, shape: (usize, usize), elements: &[u8]) {
        let order = if fortran_order { "True" } else { "False" };
        let (rows, columns) = shape;
        let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({rows}, {columns}), }}");
        let len = (10 + text.len() + 1).next_multiple_of(64) - 10;
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(len as u16).to_le_bytes());
        bytes.extend_from_slice(format!("{text:<width$}\n", width = len - 1).as_bytes());
        bytes.extend_from_slice(elements);
        fs::write(self.path(name), bytes).expect("the folder is ours");
    }

    fn run(&self, arguments: &str) -> Output {
        program()
            .current_dir(self.0.path())
            .args(arguments.split_whitespace())
            .output()
            .expect("runs")
    }

    /// Standard output of a run that succeeds.
    fn succeeds(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{arguments}`: {:?}: {stderr}", output.status);
        assert_eq!(stderr, "", "`{arguments}`: no progress bars without a terminal");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.succeeds(&format!("{arguments} --json"))).expect("JSON")
    }

    /// The error line of a run that fails with this code.
    fn fails(&self, code: i32, arguments: &str) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "`{arguments}`: {stderr}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "`{arguments}`");
        assert!(
            stderr.starts_with("error: ") && stderr.ends_with('\n'),
            "`{arguments}`: {stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "`{arguments}`: {stderr}");
        assert!(!stderr.contains("panicked"), "`{arguments}`: {stderr}");
        stderr
    }

    /// What a matrix file of this program holds behind its header.
    fn elements(&self, name: &str) -> Vec<u8> {
        let bytes = fs::read(self.path(name)).expect("was written");
        let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        bytes[start..].to_vec()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("ours");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("ours").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn le32(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// 2 x 3, 3 x 2, and their product.
const A: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const B: [f32; 6] = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
const C: [f32; 4] = [4.0, 5.0, 10.0, 11.0];

fn with_operands() -> Place {
    let place = Place::new();
    place.put("a.npy", "<f4", false, (2, 3), &le32(&A));
    place.put("b.npy", "<f4", false, (3, 2), &le32(&B));
    place
}

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
        "slices",
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
            "a.npy b.npy --activation relu --backend sim --kernel r02_tiled_static",
            "r02_tiled_static has no kernel for f32 with bias, activation or C of another type",
        ),
        ("a.npy b.npy --alpha inf --verify full", "must be finite to be checked"),
        (
            "a.npy b.npy --alpha 2 --backend sim --kernel r02_tiled_static",
            "r02_tiled_static has no kernel for f32 with alpha and beta",
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
            "unknown kernel `r99`; known: auto, r01_naive, r02_tiled_static, r03_tiled_dynamic, r04_register_column, r05_register_tile, r06_vector_copy, r07_warp_tile, \
             r08_double_buffer, r09_async_copy, r10_gemm, r11_matrix_vector, r12_mma_sync, \
             r13_wgmma, r14_warp_specialized, r15_persistent, r16_cluster, r17_wgmma_gemm",
        ),
        (
            "a.npy b.npy -o c.npy --backend cpu --kernel r01_naive",
            "r01_naive runs on a GPU or in the simulator",
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

#[test]
fn without_a_gpu_the_codes_say_so() {
    let place = with_operands();
    for arguments in [
        "matmul a.npy b.npy -o c.npy --backend gpu",
        "matmul a.npy b.npy -o c.npy --kernel r03_tiled_dynamic",
        "device",
        "device --json",
        "verify",
        "verify --kernel r02_tiled_static --dtype f16 --json",
        "demo --backend gpu",
    ] {
        let error = place.fails(3, arguments);
        // Without a driver the line says what was looked for, with one what it answered.
        assert!(error.contains("looked for") || error.contains("CUDA"), "{error}");
    }
}

#[test]
fn usage_errors_end_with_2() {
    let place = with_operands();
    for arguments in [
        "",
        "frobnicate",
        "matmul a.npy",
        "matmul a.npy b.npy",
        "matmul a.npy b.npy -o c.npy --tile wide",
        "bench --list --date x",
        "bench --list --date 2026-13-01",
    ] {
        assert_eq!(place.run(arguments).status.code(), Some(2), "`{arguments}`");
    }
    for arguments in ["--help", "--version", "matmul --help"] {
        assert!(place.run(arguments).status.success(), "`{arguments}`");
    }
}

#[test]
fn the_demo_finds_the_known_neighbours() {
    let place = Place::new();
    let text = place.succeeds("demo");
    for expected in [
        "1776 of 1797 digits (98.8 %)",
        "CPU",
        "cpu_tiled",
        "every element agrees",
        "CC BY 4.0",
        "██",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let listing = place.json("demo --backend cpu");
    assert_eq!(
        (&listing["neighbours_of_same_label"], &listing["images"]),
        (&1776.into(), &1797.into())
    );
    assert_eq!(
        (&listing["m"], &listing["k"], &listing["verified"]),
        (&1797.into(), &64.into(), &"full".into())
    );
}

#[test]
fn verify_passes_on_the_cpu() {
    let place = Place::new();
    let listing = place.json("verify --backend cpu --dtype f32");
    assert_eq!(listing["failed"], 0);
    assert!(listing["passed"].as_u64().expect("a number") >= 90, "{listing}");
    let error = place.fails(2, "verify --dtype f128");
    assert!(error.contains("f32, f64, f16, bf16"), "{error}");
    place.fails(2, "verify --kernel r99");
    place.fails(2, "verify --kernel r01_naive_f32 --dtype f64");
    place.fails(2, "verify --backend cpu --kernel r01_naive");
}

#[test]
fn ptx_is_printed_for_an_architecture_and_a_kernel() {
    let place = Place::new();
    let whole = place.succeeds("ptx");
    assert!(whole.contains(".target sm_75"), "the oldest level");
    let newer = place.json("ptx --arch sm_120 --kernel r02_tiled_static");
    assert_eq!((&newer["arch"], &newer["level"]), (&"sm_120".into(), &"sm_80".into()));
    assert_eq!(newer["symbols"].as_array().expect("a list").len(), 8);
    let of_newer = place.json("ptx --arch sm_90 --kernel r01_naive_f32");
    let digest = of_newer["digests"]["r01_naive_f32"].as_str().expect("it has one");
    let line = place.succeeds("ptx --digests --arch sm_90 --kernel r01_naive_f32");
    assert_eq!(line, format!("r01_naive_f32 sm_80 {digest}\n"));
    let one = place.succeeds("ptx --kernel r01_naive_f32");
    assert!(one.starts_with(".visible .entry r01_naive_f32(") && one.ends_with("}\n"));
    assert!(whole.contains(&one));
    for (arguments, expected) in [
        ("ptx --arch sm_70", "sm_70"),
        ("ptx --arch pentium", "unknown architecture `pentium`"),
        ("ptx --arch sm_999", "unknown architecture `sm_999`"),
        ("ptx --kernel r01_naive_i8", "unknown kernel `r01_naive_i8`"),
    ] {
        let error = place.fails(2, arguments);
        assert!(error.contains(expected), "{error}");
    }
}

/// `tilewright ptx | head -1`
#[test]
fn a_reader_who_leaves_is_no_error() {
    let mut child = program()
        .arg("ptx")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[cfg(unix)]
#[test]
fn results_have_the_permissions_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).expect("exists").permissions().mode();
    let place = with_operands();
    place.succeeds("matmul a.npy b.npy -o c.npy");
    assert_eq!(mode(&place.path("c.npy")), mode(&place.path("a.npy")));
}
