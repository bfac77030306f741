//! Random arguments, files, limits and signals: a run ends by itself, says in a line what was wrong, blames no kernel,
//! and leaves nothing behind.

use std::os::unix::process::ExitStatusExt;
use std::process::{Output, Stdio};
use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Place, le32, program, with_operands};

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// The least address space, in KiB, in which the program starts. Where its own image does not fit, the system ends it
/// with SIGSEGV before its first instruction, and no program can say a word about that.
fn image_kib() -> u64 {
    let bytes = std::fs::metadata(env!("CARGO_BIN_EXE_tilewright"))
        .expect("was built")
        .len();
    bytes.div_ceil(1024)
}

/// Whether a run ended as the program promises.
fn is_orderly(output: &Output, what: &str) -> Result<(), TestCaseError> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    prop_assert!(matches!(code, Some(0..=3)), "{what}: {:?}: {stderr}", output.status);
    prop_assert!(!stderr.contains("panicked"), "{what}: {stderr}");
    if code != Some(0) {
        // Of the program one line; what clap says of its usage is more.
        let is_line = stderr.starts_with("error: ") && stderr.lines().count() == 1;
        prop_assert!(is_line || stderr.contains("--help"), "{what}: {stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        // A tile that does not fit has a report; any other failure has an object where JSON was asked for.
        let is_report = what.starts_with("plan") && (stdout.contains("DOES NOT FIT") || stdout.contains("\"fits\""));
        let is_object = what.contains("--json") && stdout.starts_with("{\n  \"error\"");
        prop_assert!(stdout.is_empty() || is_report || is_object, "{what}: {stdout}");
    }
    Ok(())
}

/// What stands in the place of a number.
fn number() -> impl Strategy<Value = String> {
    let odd = [
        "0",
        "1",
        "2",
        "3",
        "16",
        "64",
        "100",
        "128",
        "129",
        "256",
        "-1",
        "-0",
        "1e9",
        "4294967296",
        "99999999999999999999",
        "",
        "x",
        "0x10",
        "1.5",
        "inf",
        "NaN",
        "-1e-3",
        ".5",
        "1e39",
        "1e-60",
    ];
    prop_oneof![4 => select(odd.to_vec()).prop_map(str::to_owned), 1 => any::<i64>().prop_map(|x| x.to_string())]
}

/// An option and what follows it.
fn option() -> impl Strategy<Value = String> {
    let of_number = [
        "-m",
        "-n",
        "-k",
        "--tile",
        "--alpha",
        "--beta",
        "--smem-limit",
        "--seed",
        "--stages",
        "--warps",
        "--producer-warps",
        "--output-bytes",
        "--split-k",
        "--registers",
        "--margin",
        "--static-bytes",
        "--scratch-per-warp",
        "--accumulator-buffers",
        "--rounds",
        "--device",
    ];
    let of_word = [
        "--dtype",
        "--kernel",
        "--arch",
        "--backend",
        "--verify",
        "--schedule",
        "--checks",
        "--path",
        "--accumulator",
        "--epilogue",
        "--frontend",
        "--widening",
        "--cluster",
        "--tile",
        "--gpu",
        "--suite",
        "--layout",
        "--add",
        "--bias",
        "--activation",
    ];
    let words = [
        "f32",
        "f64",
        "f16",
        "bf16",
        "nvfp4",
        "auto",
        "cpu",
        "sim",
        "tiled_dynamic",
        "wgmma",
        "matrix_vector",
        "sm_75",
        "sm_90",
        "sm_120",
        "sm_999",
        "full",
        "sample",
        "none",
        "all",
        "random",
        "128x128x64",
        "80x24x64",
        "0x0x0",
        "2x1",
        "mma.sync",
        "tcgen05",
        "tmem",
        "smem",
        "triton",
        "direct",
        "reuse:64x64",
        "squares",
        "nt",
        "a.npy",
        "c.npy",
        "nowhere.npy",
        "relu",
        "",
        "--",
        "\u{fc}",
    ];
    let alone = [
        "--json",
        "--trans-a",
        "--trans-b",
        "--bf16",
        "--explain",
        "--list",
        "--rules",
        "--example",
        "--usage",
        "-h",
        "-V",
    ];
    prop_oneof![
        4 => (select(of_number.to_vec()), number()).prop_map(|(option, value)| format!("{option} {value}")),
        4 => (select(of_word.to_vec()), select(words.to_vec())).prop_map(|(option, value)| format!("{option} {value}")),
        1 => select(alone.to_vec()).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_arguments_end_in_an_answer_or_a_line(
        command in select(vec![
            "matmul a.npy b.npy -o c.npy", "matmul a.npy b.npy -o c.npy --backend sim", "plan",
            "plan --arch sm_120 --tile 128x128x64", "sim auto -m 9 -n 8 -k 7", "sim simt -m 3 -n 4 -k 5",
            "bench --list", "ptx", "ptx tiled_static --arch sm_80", "device", "verify --backend cpu --dtype f32",
        ]),
        options in vec(option(), 0..4),
    ) {
        let place = with_operands();
        let before = place.names();
        let line = format!("{command} {}", options.join(" "));
        is_orderly(&place.run(&line), &line)?;
        let left = place.names().into_iter().filter(|name| !before.contains(name) && name != "c.npy");
        prop_assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new(), "{}", line);
    }

    #[test]
    fn any_file_is_multiplied_or_refused(
        at in vec((0..160_usize, any::<u8>()), 0..4),
        cut in prop_oneof![4 => Just(None), 1 => (0..160_usize).prop_map(Some)],
        descr in select(vec![
            "<f4", ">f4", "=f4", "|f4", "<f8", "<i4", "<f2", "<u2", "|V2", "<c8", "O", "", "<f4', 'x': '",
        ]),
        fortran_order: bool,
        shape in (0..5_usize, 0..5_usize),
    ) {
        let place = with_operands();
        place.put("x.npy", descr, fortran_order, shape, &le32(&[1.0; 6]));
        let mut bytes = std::fs::read(place.path("x.npy")).expect("was written");
        for (index, value) in at {
            if let Some(byte) = bytes.get_mut(index) {
                *byte = value;
            }
        }
        bytes.truncate(cut.unwrap_or(bytes.len()));
        std::fs::write(place.path("x.npy"), &bytes).expect("ours");
        let line = format!("matmul x.npy b.npy -o c.npy --verify full, of {descr} {shape:?}");
        let output = place.run("matmul x.npy b.npy -o c.npy --verify full");
        is_orderly(&output, &line)?;
        prop_assert_eq!(place.path("c.npy").exists(), output.status.success(), "{}", line);
    }
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn a_lack_of_resources_blames_no_kernel(
        command in select(vec![
            "matmul a.npy b.npy -o c.npy --verify full", "sim tiled_dynamic -m 40 -n 40 -k 40 --tile 16",
            "demo --json",
        ]),
        limit in prop_oneof![
            (image_kib()..600_000).prop_map(|kib| format!("-v {kib}")),
            (0..64_u64).prop_map(|blocks| format!("-f {blocks}")),
            (3..20_u64).prop_map(|files| format!("-n {files}")),
            (64..4000_u64).prop_map(|kib| format!("-s {kib}")),
        ],
    ) {
        let place = with_operands();
        let line = format!("trap '' XFSZ; ulimit {limit} || exit 0; exec \"$0\" {command}");
        let output = std::process::Command::new("sh")
            .args(["-c", &line, env!("CARGO_BIN_EXE_tilewright")])
            .env("CUDA_VISIBLE_DEVICES", "")
            .current_dir(place.path("."))
            .output()
            .expect("starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        // The loader may fail before the program begins, with 127.
        prop_assert!(matches!(output.status.code(), Some(0..=3 | 127)), "{line}: {:?}: {stderr}", output.status);
        prop_assert!(!stderr.contains("panicked"), "{line}: {stderr}");
        prop_assert!(place.names().iter().all(|name| !name.starts_with(".tilewright")), "{line}");
    }

    #[test]
    fn a_signal_leaves_the_folder_as_it_was(signal in select(vec!["INT", "TERM", "HUP"]), ms in 0..60_u64) {
        let place = Place::new();
        let extent = 400;
        let elements = le32(&vec![1.0; extent * extent]);
        place.put("a.npy", "<f4", false, (extent, extent), &elements);
        place.put("c.npy", "<f4", false, (1, 1), &[0; 4]);
        let names = place.names();
        let mut child = program()
            .current_dir(place.path("."))
            .args(["matmul", "a.npy", "a.npy", "-o", "c.npy", "--verify", "full"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        thread::sleep(Duration::from_millis(ms));
        let _ = std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        let status = child.wait().expect("ends");
        prop_assert!(status.success() || status.signal().is_some(), "{status}");
        prop_assert_eq!(place.names(), names);
        // Whole, the old one or the new one.
        let len = std::fs::metadata(place.path("c.npy")).expect("there").len();
        prop_assert!(len == 128 + 4 || len == 128 + 4 * (extent * extent) as u64, "{len}");
    }
}
