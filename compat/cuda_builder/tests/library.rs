//! What becomes of `cuda_std`, `half` and panics, in the PTX of `fixtures/library`.

mod common;

use common::{assemble, body, builder, instructions, ptx_of, ptxas};
use cuda_builder::{CudaBuilder, NvvmArch, PanicStrategy};

fn library(arch: NvvmArch) -> CudaBuilder {
    builder("library").arch(arch)
}

/// The operations of a kernel that calculate with or convert 16-bit numbers, without their operands.
fn half_operations(ptx: &str, kernel: &str) -> Vec<String> {
    let names = ["add", "mul", "fma", "cvt", "setp"];
    let operation = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    let operations = instructions(body(ptx, kernel), &names)
        .into_iter()
        .map(operation)
        .map(|name| name.replace("add.rn.", "add."));
    operations
        .filter(|name| name.contains("f16") || name.contains("f32"))
        .collect()
}

#[test]
fn half_precision_is_calculated_by_instructions() {
    let ptx = ptx_of(library(NvvmArch::Compute90));
    for (kernel, float) in [("half_1_f16", "f16"), ("half_1_bf16", "bf16"), ("half_2_f16", "f16")] {
        let found = half_operations(&ptx, kernel);
        let expected = [
            // To the nearest is the default, and LLVM leaves `.rn` out for `f16`.
            format!("add.{float}"),
            format!("cvt.f32.{float}"),
            format!("cvt.rn.{float}.f32"),
            format!("fma.rn.{float}"),
        ];
        for operation in &expected {
            assert!(found.contains(operation), "{kernel}: no {operation} in {found:?}");
        }
    }
}

#[test]
fn angles_in_single_precision_need_no_double_precision_and_no_stack() {
    let ptx = ptx_of(library(NvvmArch::Compute75));
    let angles = body(&ptx, "angles");
    assert!(angles.contains("fma.rn.f32"), "{angles}");
    for word in ["f64", ".local", "call"] {
        assert!(!angles.contains(word), "{word} in\n{angles}");
    }
}

#[test]
fn panics_are_traps_in_release_builds() {
    let ptx = ptx_of(library(NvvmArch::Compute75));
    assert!(body(&ptx, "indexes").contains("trap;"), "{ptx}");
    assert!(!ptx.contains("__assertfail"), "{ptx}");
}

/// Bytes of a string as a global's initial value has them in PTX.
fn in_ptx(text: &str) -> String {
    let bytes: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
    bytes.join(", ")
}

#[test]
fn panics_tell_message_and_place_where_asked() {
    let messages = library(NvvmArch::Compute75).panic(PanicStrategy::Message);
    let dev = library(NvvmArch::Compute75).release(false);
    for builder in [messages, dev] {
        let ptx = ptx_of(builder);
        assert!(ptx.contains(".extern .func __assertfail"), "{ptx}");
        for text in [
            "src/lib.rs",
            "index out of bounds: the len is ",
            "memory allocation of ",
        ] {
            assert!(ptx.contains(&in_ptx(text)), "no {text:?} in\n{ptx}");
        }
    }
}

#[test]
fn every_form_is_assembled() {
    let Some(ptxas) = ptxas() else {
        eprintln!("no ptxas: set PTXAS, or run `cargo xtask setup`");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.ptx");
    for (arch, name, builder) in [
        (NvvmArch::Compute75, "sm_75", library as fn(NvvmArch) -> CudaBuilder),
        (NvvmArch::Compute80, "sm_80", library),
        (NvvmArch::Compute90, "sm_90", |arch| {
            library(arch).panic(PanicStrategy::Message)
        }),
    ] {
        builder(arch).copy_to(&path).build().unwrap();
        assemble(&ptxas, &path, name).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
