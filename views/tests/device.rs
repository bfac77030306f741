//! What views become on a GPU, looked up in the PTX of `tests/kernels`.

use std::path::Path;

use cuda_builder::{CudaBuilder, NvvmArch};

/// The PTX, built once for all tests of a run.
fn ptx() -> &'static str {
    static PTX: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    PTX.get_or_init(|| {
        let crate_path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
        // The folder that the build scripts of the workspace use too, so that the standard library is compiled once.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder");
        let path = CudaBuilder::new(crate_path)
            .arch(NvvmArch::Compute75)
            .build_args(&["--target-dir", &target.to_string_lossy()])
            .build()
            .unwrap_or_else(|error| panic!("{error}"));
        std::fs::read_to_string(path).expect("was written")
    })
}

/// The instructions of a kernel, in order, without their operands.
fn opcodes(kernel: &str) -> Vec<&'static str> {
    let head = format!(".entry {kernel}(");
    let start = ptx().find(&head).unwrap_or_else(|| panic!("no kernel {kernel}"));
    let body = ptx()[start..].split("\n}").next().expect("a kernel has a body");
    body.lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect()
}

/// The accesses of a kernel to shared and global memory.
fn accesses(kernel: &str) -> Vec<&'static str> {
    let mut opcodes = opcodes(kernel);
    opcodes.retain(|opcode| {
        let mut parts = opcode.split('.');
        matches!(parts.next(), Some("ld" | "st")) && parts.next() != Some("param")
    });
    opcodes
}

#[test]
fn a_view_is_a_bare_pointer() {
    assert_eq!(opcodes("reverse_view"), opcodes("reverse_pointer"));
    assert_eq!(
        accesses("reverse_view"),
        [
            "ld.global.b32",
            "st.shared.b32",
            "ld.shared.b32",
            "ld.global.b32",
            "st.global.b32"
        ]
    );
}

#[test]
fn a_vector_is_one_access_and_more_than_16_bytes_are_several() {
    // LLVM moves some of them as integers.
    for (kernel, access, times) in [
        ("bytes_2", "v2.b8", 1),
        ("bytes_4", "b32", 1),
        ("halves_2", "b32", 1),
        ("halves_4", "v2.b32", 1),
        ("floats_2", "v2.b32", 1),
        ("floats_4", "v4.b32", 1),
        ("doubles_2", "v2.b64", 1),
        ("doubles_4", "v2.b64", 2),
    ] {
        let expected: Vec<String> = ["ld.global", "st.shared", "ld.shared", "st.global"]
            .into_iter()
            .flat_map(|opcode| std::iter::repeat_n(format!("{opcode}.{access}"), times))
            .collect();
        assert_eq!(accesses(kernel), expected, "{kernel}");
    }
}
