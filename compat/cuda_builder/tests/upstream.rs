//! Crates that were written for the main branch of the published crates.

mod common;

use std::path::Path;

use common::{body, builder, ptx_of, ptxas, target};
use cuda_builder::{CudaBuilder, MemorySpace, NvvmArch};

#[test]
fn crate_that_says_nothing_about_std_is_compiled_as_it_is() {
    let ptx = ptx_of(builder("upstream").arch(NvvmArch::Compute90));
    let staged = body(&ptx, "staged");
    for instruction in [
        "cp.async.ca.shared.global",
        "cp.async.commit_group",
        "cp.async.wait_group",
    ] {
        assert!(staged.contains(instruction), "{staged}");
    }
    // An older architecture loads and stores instead.
    let ptx = ptx_of(builder("upstream").arch(NvvmArch::Compute75));
    assert!(
        !ptx.contains("cp.async") && body(&ptx, "staged").contains("st.shared"),
        "{ptx}"
    );
}

#[test]
fn options_of_the_main_branch_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("module.ll");
    let ptx = ptx_of(
        builder("upstream")
            .arch(NvvmArch::default().max(NvvmArch::Compute90))
            .fast_math(true)
            .override_libm(true)
            .use_constant_memory_space(false)
            .place_static("fixture_upstream::TABLE", MemorySpace::Constant)
            .crate_memory_space("fixture_upstream", MemorySpace::Global)
            .final_module_path(&module),
    );
    let staged = body(&ptx, "staged");
    assert!(
        staged.contains("div.approx.ftz.f32") && staged.contains("sqrt.approx.ftz.f32"),
        "{staged}"
    );
    let module = std::fs::read_to_string(module).unwrap();
    assert!(
        module.contains("@staged(") && module.contains("target triple = \"nvptx64"),
        "{module}"
    );
}

#[test]
fn corpus_of_the_main_branch_is_assembled() {
    let Some(ptxas) = ptxas() else {
        eprintln!("skipped: no ptxas; set PTXAS or run `cargo xtask setup`");
        return;
    };
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus-main");
    for arch in [NvvmArch::Compute75, NvvmArch::Compute90] {
        let target = target().to_string_lossy().into_owned();
        let builder = CudaBuilder::new(&corpus).build_args(&["--target-dir", &target]);
        let path = builder
            .arch(arch)
            .build()
            .unwrap_or_else(|error| panic!("{arch}: {error}"));
        // Whether it is PTX, not how fast it is: the optimiser would take a minute.
        let mut command = std::process::Command::new(&ptxas);
        command.arg("-O0").arg(format!("-arch={}", arch.sm_name())).arg(&path);
        let output = command.arg("-o").arg("/dev/null").output().unwrap();
        assert!(
            output.status.success(),
            "{arch}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let ptx = std::fs::read_to_string(&path).unwrap();
        for kernel in ["glam_positions", "async_stages", "exchanges_f64", "bounded_steps"] {
            body(&ptx, kernel);
        }
    }
}
