//! `tilewright inspect` as a user meets it.
//!
//! No GPU is needed, and one that is there is hidden. `cargo xtask setup` fetches `ptxas` and `nvdisasm`; where they
//! are missing these tests fail.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tilewright::KERNELS;
use tilewright_harness::inspect::FOLDER_VARIABLE;

fn tools() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/cuda-tools/bin");
    for tool in ["ptxas", "nvdisasm"] {
        let path = folder.join(tool);
        assert!(path.exists(), "{} is missing: run `cargo xtask setup`", path.display());
    }
    folder
}

/// The program, which finds tools in `folder` only.
fn program(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilewright"));
    command
        .env("CUDA_VISIBLE_DEVICES", "")
        .env(FOLDER_VARIABLE, folder)
        .arg("inspect")
        .args(arguments.split_whitespace());
    command
}

fn run(arguments: &str) -> Output {
    program(&tools(), arguments).output().expect("runs")
}

/// Standard output of a run that succeeds.
fn succeeds(arguments: &str) -> String {
    let output = run(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{arguments}`: {:?}: {stderr}", output.status);
    assert_eq!(stderr, "", "`{arguments}`");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&succeeds(&format!("{arguments} --json"))).expect("JSON")
}

/// The error line of a command that fails with this code.
fn failure(code: i32, mut command: Command) -> String {
    let output = command.output().expect("runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{command:?}");
    assert!(stderr.starts_with("error: "), "{command:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{command:?}: {stderr}");
    stderr
}

fn fails(code: i32, arguments: &str) -> String {
    failure(code, program(&tools(), arguments))
}

#[test]
fn a_table_has_a_line_for_each_kernel_and_architecture() {
    let text = succeeds("--kernel tiled_static --arch sm_86,sm_120");
    let rows: Vec<Vec<_>> = text
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0][..4], ["kernel", "architecture", "registers", "barriers"]);
    let named = |rows: &[Vec<&str>]| {
        rows.iter()
            .map(|row| (row[0].to_owned(), row[1].to_owned()))
            .collect::<Vec<_>>()
    };
    let expected: Vec<_> = KERNELS
        .iter()
        .filter(|kernel| kernel.symbol.starts_with("tiled_static"))
        .flat_map(|kernel| ["sm_86", "sm_120"].map(|arch| (kernel.symbol.to_owned(), arch.to_owned())))
        .collect();
    assert_eq!(named(&rows[1..]), expected);
    // kernel, architecture, registers, barriers, stack, spill stores, loads, tile, static, dynamic, shared, limit
    let row = rows
        .iter()
        .find(|row| row[0] == "tiled_static_32_f64" && row[1] == "sm_120");
    let row = row.expect("a row");
    assert_eq!(
        row[3..12],
        ["1", "0", "0", "0", "32x32", "16384", "0", "16384", "101376"]
    );
    assert!(text.contains("The driver's own numbers are not shown: "), "{text}");
}

#[test]
fn json_has_the_recorded_registers_the_budget_and_the_occupancy() {
    let listing = json("--kernel tiled_dynamic_8x8_f32");
    assert!(
        listing["ptxas"]
            .as_str()
            .is_some_and(|version| version.starts_with("13."))
    );
    assert!(listing["device"].is_null() && listing["no_device"].is_string());
    let kernels = listing["kernels"].as_array().expect("a list");
    assert_eq!(kernels.len(), cuda_arch::ARCHITECTURES.len());
    for (kernel, arch) in kernels.iter().zip(&cuda_arch::ARCHITECTURES) {
        assert_eq!(kernel["kernel"], "tiled_dynamic_8x8_f32");
        assert_eq!(kernel["arch"], arch.name);
        let registers = tilewright::dispatch::usage("tiled_dynamic_8x8_f32", arch).map(|used| used.registers);
        assert_eq!(kernel["registers"], registers.expect("on record"), "{}", arch.name);
        for field in [
            "static_smem_bytes",
            "stack_bytes",
            "spill_store_bytes",
            "spill_load_bytes",
        ] {
            assert_eq!(kernel[field], 0, "{} {field}", arch.name);
        }
        assert_eq!(kernel["barriers"], 1);
        let budget = &kernel["budget"];
        assert_eq!(budget["limit_bytes"], arch.smem_per_block_optin);
        assert_eq!(budget["total_bytes"], budget["dynamic_bytes"]);
        assert!(budget["total_bytes"].as_u64() <= budget["limit_bytes"].as_u64());
        assert_eq!(budget["fits"], true);
        assert!(kernel["occupancy"]["blocks_per_sm"].as_u64() >= Some(1));
        assert!(kernel["occupancy"]["limiter"].is_string());
        assert!(kernel["driver"].is_null());
    }
    let consumer = &kernels[cuda_arch::ARCHITECTURES
        .iter()
        .position(|arch| arch.name == "sm_120")
        .expect("there")];
    assert_eq!(consumer["budget"]["tile"], serde_json::json!([112, 112]));
    assert_eq!(consumer["occupancy"]["limiter"], "shared_memory");
}

#[test]
fn a_suffix_is_kept_and_an_architecture_is_shown_once() {
    let listing = json("--usage --kernel tiled_static_16_f32 --arch sm_90a --arch 9.0,sm_90");
    let archs: Vec<_> = listing["kernels"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|kernel| &kernel["arch"])
        .collect();
    assert_eq!(archs, ["sm_90a", "sm_90"]);
}

#[test]
fn ptx_is_what_the_ptx_command_prints() {
    let whole = |arguments: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tilewright"))
            .args(arguments.split_whitespace())
            .output()
            .expect("runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    for choice in [
        "--arch sm_120 --kernel tiled_static_16_f32",
        "--arch sm_80 --kernel tiled_static",
        "--arch sm_90",
    ] {
        assert_eq!(
            succeeds(&format!("--ptx {choice}")),
            whole(&format!("ptx {choice}")),
            "{choice}"
        );
    }
    let levels = json("--ptx --kernel tiled_static_16_f32 --arch sm_120,sm_90,sm_75");
    let levels = levels["levels"].as_array().expect("a list");
    let names: Vec<_> = levels.iter().map(|level| &level["level"]).collect();
    assert_eq!(names, ["sm_80", "sm_75"]);
    assert!(
        levels[1]["ptx"]
            .as_str()
            .is_some_and(|ptx| ptx.starts_with(".visible .entry tiled_static_16_f32("))
    );
}

#[test]
fn machine_code_is_that_of_the_one_kernel() {
    let text = succeeds("--sass --kernel tiled_static_16_f32 --arch sm_120");
    assert!(text.contains(".text.tiled_static_16_f32"), "{text}");
    assert_eq!(text.matches(".section").count(), 1, "{text}");
    for instruction in ["STS", "LDS", "FFMA", "BAR.SYNC", "EXIT"] {
        assert!(text.contains(instruction), "{instruction}: {text}");
    }
    for local in ["STL", "LDL"] {
        assert!(!text.contains(local), "{local}: {text}");
    }
    let listings = json("--sass --kernel tiled_static_16_f32 --arch sm_75,sm_90a");
    let kernels = listings["kernels"].as_array().expect("a list");
    let archs: Vec<_> = kernels.iter().map(|kernel| &kernel["arch"]).collect();
    assert_eq!(archs, ["sm_75", "sm_90a"]);
    assert!(
        kernels
            .iter()
            .all(|kernel| kernel["sass"].as_str().is_some_and(|sass| sass.contains("FFMA")))
    );
}

#[test]
fn several_texts_have_headings() {
    let text = succeeds("--sass --kernel tiled_static_16_f32 --arch sm_75,sm_120");
    let heads: Vec<_> = text.lines().filter(|line| line.starts_with("// ")).collect();
    assert_eq!(
        heads,
        ["// tiled_static_16_f32 for sm_75", "// tiled_static_16_f32 for sm_120"]
    );
}

#[test]
fn what_does_not_exist_is_bad_input() {
    for arguments in ["--kernel r99_none", "--kernel r99_none --arch sm_90 --sass"] {
        assert!(fails(2, arguments).contains("unknown kernel `r99_none`"));
    }
    assert!(fails(2, "--arch sm_107").contains("unknown architecture `sm_107`; known: sm_75, "));
    assert!(fails(2, "--arch sm_90,sm_75a --ptx").contains("unknown architecture `sm_75a`"));
    // Too much to show at once.
    for view in [
        "--sass",
        "--ptx",
        "--usage --ptx --arch sm_90",
        "--sass --ptx --arch sm_90",
    ] {
        assert_eq!(run(view).status.code(), Some(2), "{view}");
    }
}

#[test]
fn without_the_tools_the_line_says_what_brings_them() {
    let nowhere = tempfile::tempdir().expect("a folder");
    let arguments = "--kernel tiled_static_16_f32 --arch sm_90";
    for view in ["", "--sass"] {
        let line = failure(3, program(nowhere.path(), &format!("{arguments} {view}")));
        assert!(
            line.contains("no ptxas in ") && line.contains("`cargo xtask setup`"),
            "{line}"
        );
    }
    // PTX is in the program itself.
    let ptx = program(nowhere.path(), &format!("{arguments} --ptx")).output();
    assert!(ptx.expect("runs").status.success());
    let ptxas = tools().join("ptxas").canonicalize().expect("there");
    let (only_ptxas, beside) = (nowhere.path(), nowhere.path().join("ptxas"));
    std::fs::copy(ptxas, beside).expect("the folder is ours");
    let line = failure(3, program(only_ptxas, &format!("{arguments} --sass")));
    assert!(line.contains("no nvdisasm in "), "{line}");
}

#[cfg(unix)]
#[test]
fn a_tool_that_fails_is_an_error_of_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let broken = folder.path().join("ptxas");
    let script =
        "#!/bin/sh\necho \"ptxas fatal   : Value 'sm_90' is not defined for option 'gpu-name'\" >&2\nexit 255\n";
    std::fs::write(&broken, script).expect("the folder is ours");
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let line = failure(1, program(folder.path(), "--kernel tiled_static_16_f32 --arch sm_90"));
    assert!(
        line.starts_with("error: ptxas: fatal") && line.contains("'sm_90' is not defined"),
        "{line}"
    );
}
