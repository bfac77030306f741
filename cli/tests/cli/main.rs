//! The program as a user meets it: what it prints, where, and the code that it ends with.
//!
//! Every test hides the GPU, if there is one, so that it means the same on every machine.

mod barriers;
mod batches;
mod bench;
mod block_scaled;
mod buffers;
mod exit_codes;
mod files;
mod finish;
mod fp8;
mod fp8_files;
#[cfg(unix)]
mod hostile;
mod matmul;
mod plan;
mod shell;
mod simulation;
mod tune;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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
        let (rows, columns) = shape;
        self.put_array(name, descr, fortran_order, &[rows, columns], elements);
    }

    /// Writes an array file as NumPy does.
    fn put_array(&self, name: &str, descr: &str, fortran_order: bool, shape: &[usize], elements: &[u8]) {
        let order = if fortran_order { "True" } else { "False" };
        let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
        let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({extents}), }}");
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

    /// The error line of a run that fails with this code; with `--json` its object has the same message.
    fn fails(&self, code: i32, arguments: &str) -> String {
        let (stdout, stderr) = self.ends(code, arguments);
        if arguments.split(' ').any(|argument| argument == "--json") {
            let printed: Value = serde_json::from_str(&stdout).expect("JSON");
            let error = &printed["error"];
            assert_eq!(error["exit_code"], code, "`{arguments}`: {stdout}");
            let message = error["message"].as_str().expect("text");
            assert_eq!(stderr, format!("error: {message}\n"), "`{arguments}`");
        } else {
            assert_eq!(stdout, "", "`{arguments}`");
        }
        stderr
    }

    /// Standard output of a run whose result is that something is wrong, and its error line.
    fn ends(&self, code: i32, arguments: &str) -> (String, String) {
        let output = self.run(arguments);
        let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert_eq!(output.status.code(), Some(code), "`{arguments}`: {stderr}");
        assert!(
            stderr.starts_with("error: ") && stderr.ends_with('\n'),
            "`{arguments}`: {stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "`{arguments}`: {stderr}");
        assert!(!stderr.contains("panicked"), "`{arguments}`: {stderr}");
        (stdout, stderr)
    }

    /// What a matrix file of this program holds behind its header.
    fn elements(&self, name: &str) -> Vec<u8> {
        let bytes = fs::read(self.path(name)).expect("was written");
        let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        bytes[start..].to_vec()
    }

    /// The shape in the header of an array file of this program.
    fn shape(&self, name: &str) -> String {
        let bytes = fs::read(self.path(name)).expect("was written");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let shape = text.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')'));
        shape.expect("it has one").0.trim_end_matches([',', ' ']).to_owned()
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
fn without_a_gpu_the_codes_say_so() {
    let place = with_operands();
    for arguments in [
        "matmul a.npy b.npy -o c.npy --backend gpu",
        "matmul a.npy b.npy -o c.npy --kernel tiled_dynamic",
        "device",
        "device --json",
        "verify",
        "verify --kernel tiled_static --dtype f16 --json",
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
fn the_demo_finds_the_known_neighbors() {
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
        (&listing["neighbors_of_same_label"], &listing["images"]),
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
    place.fails(2, "verify --kernel tiled_static_16_f32 --dtype f64");
    place.fails(2, "verify --backend cpu --kernel tiled_static");
}

#[test]
fn ptx_is_printed_for_an_architecture_and_a_kernel() {
    let place = Place::new();
    let whole = place.succeeds("ptx");
    assert!(whole.contains(".target sm_75"), "the oldest level");
    let newer = place.json("ptx --arch sm_120 --kernel tiled_static");
    assert_eq!((&newer["arch"], &newer["level"]), (&"sm_120".into(), &"sm_80".into()));
    assert_eq!(newer["symbols"].as_array().expect("a list").len(), 8);
    let of_newer = place.json("ptx --arch sm_90 --kernel tiled_static_16_f32");
    let digest = of_newer["digests"]["tiled_static_16_f32"].as_str().expect("it has one");
    let line = place.succeeds("ptx --digests --arch sm_90 --kernel tiled_static_16_f32");
    assert_eq!(line, format!("tiled_static_16_f32 sm_80 {digest}\n"));
    let one = place.succeeds("ptx --kernel tiled_static_16_f32");
    assert!(one.starts_with(".visible .entry tiled_static_16_f32(") && one.ends_with("}\n"));
    assert!(whole.contains(&one));
    for (arguments, expected) in [
        ("ptx --arch sm_70", "sm_70"),
        ("ptx --arch pentium", "unknown architecture `pentium`"),
        ("ptx --arch sm_999", "unknown architecture `sm_999`"),
        ("ptx --kernel tiled_static_i8", "unknown kernel `tiled_static_i8`"),
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
