//! Crates that were written for the main branch of the published crates.

mod common;

use std::path::Path;
use std::process::Command;

use common::{body, builder, ptx_of, ptxas, target};
use cuda_builder::{CudaBuilder, MemorySpace, NvvmArch};
use xxhash_rust::xxh3::xxh3_128;

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

/// What `ptxas` has assembled: for each architecture its release, and a hash of the PTX.
const ASSEMBLED: &str = "tests/upstream.txt";

/// `ptxas` takes half a minute for each, so PTX that is on record is not assembled again; `BLESS=1` assembles all and
/// writes the record.
#[test]
fn corpus_of_the_main_branch_is_assembled() {
    let Some(ptxas) = ptxas() else {
        eprintln!("skipped: no ptxas; set PTXAS or run `cargo xtask setup`");
        return;
    };
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let record = package.join(ASSEMBLED);
    let before = std::fs::read_to_string(&record).expect("the record is in the repository");
    let blesses = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    let mut now = String::new();
    for arch in [NvvmArch::Compute75, NvvmArch::Compute90] {
        let target = target().to_string_lossy().into_owned();
        let builder = CudaBuilder::new(package.join("../corpus-main")).build_args(&["--target-dir", &target]);
        let path = builder
            .arch(arch)
            .build()
            .unwrap_or_else(|error| panic!("{arch}: {error}"));
        let ptx = std::fs::read_to_string(&path).unwrap();
        for kernel in ["glam_positions", "async_stages", "exchanges_f64", "bounded_steps"] {
            body(&ptx, kernel);
        }
        let line = format!("{arch} {} {:032x}\n", release(&ptxas), xxh3_128(ptx.as_bytes()));
        if !before.contains(&line) || blesses {
            // Whether it is PTX, not how fast it is: the optimiser would take a minute.
            let mut command = Command::new(&ptxas);
            command.arg("-O0").arg(format!("-arch={}", arch.sm_name())).arg(&path);
            let output = command.arg("-o").arg("/dev/null").output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{arch}: {said}");
        }
        now += &line;
    }
    if blesses {
        std::fs::write(&record, now).expect("the record is writable");
    }
}

/// The release of a `ptxas`: the last word that it says of itself that begins with a V.
fn release(ptxas: &Path) -> String {
    let output = Command::new(ptxas).arg("--version").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let word = said.split_whitespace().rfind(|word| word.starts_with('V'));
    word.unwrap_or_else(|| panic!("ptxas says no release: {said}"))
        .to_owned()
}
