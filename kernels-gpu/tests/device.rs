//! What warp-wide primitives become on a GPU: the PTX of `tests/kernels`, and what NVIDIA's `ptxas` makes of it. No GPU
//! is needed; without `ptxas` and `nvdisasm`, which `cargo xtask setup` fetches, these tests fail.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cuda_builder::{CudaBuilder, NvvmArch};

/// A level of PTX and a target that it is assembled for.
const LEVELS: [(NvvmArch, &str); 3] = [
    (NvvmArch::Compute80, "sm_80"),
    (NvvmArch::Compute80, "sm_120"),
    (NvvmArch::Compute90, "sm_90"),
];

/// The one with Hopper's instructions.
const HOPPER: usize = 2;

/// The PTX of an architecture level, built once for all tests of a run.
fn ptx(arch: NvvmArch) -> &'static Path {
    static AMPERE: OnceLock<PathBuf> = OnceLock::new();
    static HOPPER: OnceLock<PathBuf> = OnceLock::new();
    let (built, features) = match arch {
        NvvmArch::Compute90 => (&HOPPER, "hopper"),
        _ => (&AMPERE, ""),
    };
    built.get_or_init(|| {
        let crate_path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
        // The folder that the build scripts of the workspace use too, so that the standard library is compiled once.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder");
        CudaBuilder::new(crate_path)
            .arch(arch)
            .copy_to(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("warp_kernels_{features}.ptx")))
            .build_args(&["--target-dir", &target.to_string_lossy(), "--features", features])
            .build()
            .unwrap_or_else(|error| panic!("{error}"))
    })
}

/// The instructions of a kernel that begin with one of `names`, without their operands. `head` comes before the
/// kernel's name, `end` after its body.
fn opcodes(text: &str, head: &str, end: &str, names: &[&str]) -> Vec<String> {
    let start = text.find(head).unwrap_or_else(|| panic!("no {head} in\n{text}"));
    let body = text[start..].split(end).next().expect("a body");
    let words = body.split(|c: char| c.is_whitespace() || c == ';');
    let wanted = words.filter(|word| names.iter().any(|name| word.starts_with(name)));
    wanted.map(str::to_owned).collect()
}

fn in_ptx(arch: NvvmArch, kernel: &str, names: &[&str]) -> Vec<String> {
    let text = std::fs::read_to_string(ptx(arch)).expect("was written");
    opcodes(&text, &format!(".entry {kernel}("), "\n}", names)
}

/// A program of NVIDIA's.
fn tool(name: &str, variable: &str) -> PathBuf {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../target/cuda-tools/bin")
        .join(name);
    let named = std::env::var_os(variable).map(PathBuf::from);
    let found = named.into_iter().chain([fetched]).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("no {name}: set {variable}, or run `cargo xtask setup`"))
}

/// The machine code for a target, as text; assembled once for all tests of a run.
fn sass(level: usize) -> &'static str {
    static SASS: [OnceLock<String>; LEVELS.len()] = [const { OnceLock::new() }; LEVELS.len()];
    SASS[level].get_or_init(|| {
        let (arch, target) = LEVELS[level];
        assemble(arch, target)
    })
}

/// Assembles for `target`. Nothing may be in local memory.
fn assemble(arch: NvvmArch, target: &str) -> String {
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("warp_kernels_{target}.cubin"));
    let mut command = Command::new(tool("ptxas", "PTXAS"));
    command.args(["--verbose", "--gpu-name", target, "--output-file"]);
    let output = command.arg(&object).arg(ptx(arch)).output().expect("ptxas runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let frames: Vec<_> = said.lines().filter(|line| line.contains("bytes stack frame")).collect();
    assert!(!frames.is_empty(), "{said}");
    for frame in frames {
        assert!(
            frame.contains(" 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"),
            "{said}"
        );
    }
    let output = Command::new(tool("nvdisasm", "NVDISASM"))
        .arg(&object)
        .output()
        .expect("nvdisasm runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn in_sass(sass: &str, kernel: &str, names: &[&str]) -> Vec<String> {
    opcodes(sass, &format!(".text.{kernel}:"), ".section", names)
}

#[test]
fn matrices_are_loaded_by_one_instruction() {
    for (level, (arch, target)) in LEVELS.into_iter().enumerate() {
        let sass = sass(level);
        for (kernel, ptx, machine) in [
            ("load_1", "x1", "LDSM.16.M88"),
            ("load_2", "x2", "LDSM.16.M88.2"),
            ("load_4", "x4", "LDSM.16.M88.4"),
            ("load_transposed_1", "x1.trans", "LDSM.16.MT88"),
            ("load_transposed_2", "x2.trans", "LDSM.16.MT88.2"),
            ("load_transposed_4", "x4.trans", "LDSM.16.MT88.4"),
        ] {
            let expected = format!("ldmatrix.sync.aligned.m8n8.{ptx}.shared.b16");
            assert_eq!(in_ptx(arch, kernel, &["ldmatrix", "ld.shared"]), [expected]);
            assert_eq!(
                in_sass(sass, kernel, &["LDSM", "LDS.", "LDL", "STL"]),
                [machine],
                "{target}"
            );
        }
    }
}

#[test]
fn products_are_one_instruction() {
    for (level, (arch, target)) in LEVELS.into_iter().enumerate() {
        let sass = sass(level);
        for (kernel, name, machine) in [
            ("product_f16", "f16", "HMMA.16816.F32"),
            ("product_bf16", "bf16", "HMMA.16816.F32.BF16"),
        ] {
            let expected = format!("mma.sync.aligned.m16n8k16.row.col.f32.{name}.{name}.f32");
            assert_eq!(in_ptx(arch, kernel, &["mma"]), [expected]);
            let mut found = in_sass(sass, kernel, &["HMMA", "LDSM"]);
            found.sort_unstable();
            assert_eq!(found, [machine, "LDSM.16.M88.4", "LDSM.16.MT88.2"], "{target}");
        }
    }
}

#[test]
fn named_barriers_are_barriers_with_a_count() {
    for (level, (arch, target)) in LEVELS.into_iter().enumerate() {
        assert_eq!(in_ptx(arch, "hand_over", &["bar."]), ["bar.arrive", "bar.sync"]);
        assert_eq!(in_sass(sass(level), "hand_over", &["BAR."]).len(), 2, "{target}");
    }
}

#[test]
fn hopper_stores_matrices_and_elects() {
    let sass = sass(HOPPER);
    for (kernel, ptx, machine) in [
        ("store_1", "x1", "STSM.16.M88"),
        ("store_2", "x2", "STSM.16.M88.2"),
        ("store_4", "x4", "STSM.16.M88.4"),
        ("store_transposed_1", "x1.trans", "STSM.16.MT88"),
        ("store_transposed_2", "x2.trans", "STSM.16.MT88.2"),
        ("store_transposed_4", "x4.trans", "STSM.16.MT88.4"),
    ] {
        let expected = format!("stmatrix.sync.aligned.m8n8.{ptx}.shared.b16");
        assert_eq!(
            in_ptx(NvvmArch::Compute90, kernel, &["stmatrix", "st.shared"]),
            [expected]
        );
        assert_eq!(in_sass(sass, kernel, &["STSM", "STS."]), [machine]);
    }
    assert_eq!(in_ptx(NvvmArch::Compute90, "elected", &["elect."]), ["elect.sync"]);
    assert_eq!(in_sass(sass, "elected", &["ELECT"]), ["ELECT"]);
}

#[test]
fn the_tensor_core_body_is_copies_matrices_and_products() {
    // Two bodies, of whole chunks and of partial ones, each with a step of 32 along K: 2 x 4 x 8 products of two times
    // 4 + 4 pieces, of which the first 8 are loaded ahead; the copies of a step, and of the first three steps ahead. C
    // goes through shared memory in 64 pairs of its own elements; where its rows are no vectors of 8, four times in 16
    // pairs, whose last store LLVM has once for all; or eight times in 8 of f32, for C of either type and in vectors of
    // 4, 2 or 1.
    const KERNELS: [(&str, usize); 6] = [
        ("gemm_nn_f16", 4 + 4),
        ("gemm_nt_f16", 4 + 4),
        ("gemm_nn_bf16", 4 + 4),
        ("gemm_nt_bf16", 4 + 4),
        ("gemm_256x128_nn_f16", 4 + 2),
        ("gemm_256x128_nt_f16", 4 + 2),
    ];
    for (kernel, copies) in KERNELS {
        let count = |name: &str| in_ptx(NvvmArch::Compute80, kernel, &[name]).len();
        assert_eq!(
            (count("mma.sync"), count("ldmatrix"), count("cp.async.cg")),
            (2 * 64, 2 * (8 + 16), 2 * (3 * copies + copies)),
            "{kernel}"
        );
        let [pairs, pairs_of_f32] = ["st.shared.b32", "st.shared.v2.b32"].map(count);
        assert_eq!((pairs, pairs_of_f32), (64 + 4 * 15 + 1, 2 * 3 * 8), "{kernel}");
        let stores = in_ptx(NvvmArch::Compute80, kernel, &["st.shared", "st.local"]);
        assert_eq!(stores.len(), pairs + pairs_of_f32, "{kernel}: {stores:?}");
        let loads = in_ptx(NvvmArch::Compute80, kernel, &["ld.shared", "ld.local"]);
        let are_shared = loads.iter().all(|load| load.starts_with("ld.shared"));
        assert!(
            are_shared && loads.contains(&"ld.shared.v4.b32".to_owned()),
            "{kernel}: {loads:?}"
        );
    }
    for (level, (_, target)) in LEVELS.into_iter().enumerate() {
        let sass = sass(level);
        for (kernel, _) in KERNELS {
            let product = if kernel.contains("bf16") {
                "HMMA.16816.F32.BF16"
            } else {
                "HMMA.16816.F32"
            };
            assert_eq!(in_sass(sass, kernel, &["HMMA"]), [product; 128], "{kernel}, {target}");
        }
    }
}
