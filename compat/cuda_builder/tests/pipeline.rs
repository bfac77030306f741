//! The agreement of `docs/device-abi.md`, looked up in the PTX of `fixtures/kernels`.

mod common;

use common::{assemble, body, builder, fixture, instructions, ptx_of, ptxas, target};
use cuda_builder::{CudaBuilder, NvvmArch};

fn plain() -> String {
    ptx_of(builder("kernels").arch(NvvmArch::Compute80))
}

#[test]
fn shared_memory_is_accessed_as_such() {
    let ptx = plain();
    for kernel in ["static_shared", "dynamic_shared", "scalar_shared"] {
        let body = body(&ptx, kernel);
        assert!(body.contains("st.shared.") && body.contains("ld.shared."), "{body}");
    }
    // An access that names no address space would be generic.
    let generic = [
        "b",
        "u",
        "f",
        "v2",
        "v4",
        "v8",
        "volatile.b",
        "volatile.u",
        "volatile.f",
        "volatile.v",
    ];
    for access in generic {
        let generic = [format!("ld.{access}"), format!("st.{access}")];
        assert_eq!(instructions(&ptx, &[&generic[0], &generic[1]]), [""; 0], "{ptx}");
    }
    assert!(ptx.contains("[1024];"), "two tiles of 1024 bytes\n{ptx}");
}

#[test]
fn dynamic_shared_memory_is_external_and_aligned() {
    let declaration = ".extern .shared .align 128 .b8 cuda_std_dynamic_smem[];";
    let ptx = plain();
    assert_eq!(ptx.matches(declaration).count(), 1, "{ptx}");
}

/// LLVM 22's combiner would replace the copy by the constant and keep the cast to local memory: a read of a wrong
/// address.
#[test]
fn copy_of_a_constant_is_not_read_from_local_memory_at_the_constants_address() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("kernels.ptx");
    let builder = builder("kernels").build_args(&["--features", "copies"]);
    builder
        .arch(NvvmArch::Compute80)
        .emit_llvm_ir(true)
        .copy_to(&ptx)
        .build()
        .unwrap();
    let ir = std::fs::read_to_string(ptx.with_extension("ll")).unwrap();
    assert!(ir.contains("@walks_a_copy("));
    assert!(
        !ir.contains("to ptr addrspace(5))"),
        "a constant is cast to local memory"
    );
}

#[test]
fn constant_memory_keeps_its_values() {
    let ptx = plain();
    assert!(
        ptx.contains(".const .align 4 .b8 ") && ptx.contains("= {0, 0, 128, 63,"),
        "{ptx}"
    );
    assert!(body(&ptx, "static_shared").contains("ld.const.b32"), "{ptx}");
}

#[test]
fn barrier_stays_where_it_is() {
    let ptx = plain();
    let count = |kernel| instructions(body(&ptx, kernel), &["bar.sync", "barrier"]).len();
    assert_eq!(count("one_barrier"), 1, "{}", body(&ptx, "one_barrier"));
    assert_eq!(count("static_shared"), 1);
    assert_eq!(count("scalar_shared"), 2);
}

#[test]
fn value_is_read_again_after_a_barrier() {
    // Another thread may have written it: both reads must happen, each after its barrier.
    let ptx = plain();
    let order: Vec<&str> = instructions(body(&ptx, "scalar_shared"), &["st.shared", "ld.shared", "bar.sync"])
        .into_iter()
        .map(|line| line.split(['.', ' ']).next().unwrap())
        .collect();
    assert_eq!(
        order,
        ["st", "bar", "ld", "bar", "ld"],
        "{}",
        body(&ptx, "scalar_shared")
    );
}

#[test]
fn roots_stay_and_nothing_else() {
    let ptx = plain();
    assert!(
        ptx.contains(".visible .func  (.param .b32 func_retval0) visible_helper("),
        "{ptx}"
    );
    assert!(
        ptx.contains(".visible .global .align 4 .b8 HOST_WRITES[4] = {7};"),
        "{ptx}"
    );
    // The host may have written it: the value of the source must not be folded in.
    assert!(body(&ptx, "exported_static").contains("[HOST_WRITES]"), "{ptx}");
    for absent in ["dropped_helper", "__cuda_std_visible", "panic"] {
        assert!(!ptx.contains(absent), "{absent} in\n{ptx}");
    }
}

#[test]
fn panics_are_traps() {
    let ptx = plain();
    let slices = body(&ptx, "slices");
    assert!(slices.contains("trap;") && !slices.contains("call"), "{slices}");
}

#[test]
fn result_does_not_depend_on_where_things_lie() {
    // The same source elsewhere, compiled into another target folder. It is inside the repository, whose toolchain
    // applies.
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for file in ["Cargo.toml", "src/lib.rs"] {
        let copy = elsewhere.path().join("a/b").join(file);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(fixture("kernels").join(file), copy).unwrap();
    }
    let other_target = target().join("determinism").to_string_lossy().into_owned();
    let other = CudaBuilder::new(elsewhere.path().join("a/b")).build_args(&["--target-dir", &other_target]);
    let lines = |builder: CudaBuilder| {
        ptx_of(
            builder
                .arch(NvvmArch::Compute80)
                .debug(cuda_builder::DebugInfo::LineTables),
        )
    };
    assert_eq!(lines(other), lines(builder("kernels")));
}

#[test]
fn every_architecture_is_assembled() {
    let ptxas = ptxas();
    for &arch in NvvmArch::ALL {
        let path = builder("kernels")
            .arch(arch)
            .build()
            .unwrap_or_else(|error| panic!("{arch}: {error}"));
        let ptx = std::fs::read_to_string(&path).unwrap();
        let (major, minor) = arch.ptx_version();
        assert!(
            ptx.contains(&format!(".version {major}.{minor}\n.target {}\n", arch.sm_name())),
            "{arch}: {ptx}"
        );
        // CUDA 13 assembles for 7.5 and later, and calls 10.1 11.0.
        let assembled = arch >= NvvmArch::Compute75 && arch.capability() != (10, 1);
        if let Some(ptxas) = ptxas.as_ref().filter(|_| assembled) {
            assemble(ptxas, &path, &arch.sm_name()).unwrap_or_else(|error| panic!("{arch}: {error}"));
        }
    }
    if ptxas.is_none() {
        eprintln!("skipped assembling: no ptxas; set PTXAS or run `cargo xtask setup`");
    }
}

#[test]
#[ignore = "compiles Debian's standard library (half a minute); needs its packages rustc-web cargo-web rust-web-src \
            llvm-22"]
fn debians_packages_will_do() {
    // A variable of this process would meet the other tests: build in another process.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.ptx");
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "build_in_child", "--ignored", "--nocapture"])
        .env("CUDA_BUILDER_TOOLCHAIN", "debian")
        .env("CHILD_OUTPUT", &path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ptx = std::fs::read_to_string(path).unwrap();
    assert!(body(&ptx, "static_shared").contains("ld.shared."), "{ptx}");
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn build_in_child() {
    let Some(output) = std::env::var_os("CHILD_OUTPUT") else {
        return;
    };
    let target = target()
        .with_file_name("cuda-builder-debian")
        .to_string_lossy()
        .into_owned();
    let builder = CudaBuilder::new(fixture("kernels")).build_args(&["--target-dir", &target]);
    builder
        .arch(NvvmArch::Compute80)
        .copy_to(output)
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
}

/// The crate root that every kernel crate for the published `cuda_std` has, and a module beside it.
#[test]
fn crate_that_registers_attributes_is_compiled_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("published.ptx");
    let build = || {
        builder("published")
            .arch(NvvmArch::Compute80)
            .copy_to(&path)
            .build()
            .unwrap();
        std::fs::read_to_string(&path).unwrap()
    };
    let ptx = build();
    assert!(
        body(&ptx, "add").contains("add.rn.f32") || body(&ptx, "add").contains("add.f32"),
        "{ptx}"
    );
    assert_eq!(build(), ptx, "again, with everything there");
}
