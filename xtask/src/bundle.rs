//! The bundle for a GPU machine without Rust: programs, CUDA sources to compare with, and the script that runs them.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use xshell::{Shell, cmd};

use crate::evidence::data::Evidence;
use crate::evidence::filed;
use crate::{build, device_toolchain, root};

/// The most that a bundle may take.
const LIMIT_BYTES: u64 = 40 << 20;

/// The feature with which the mutants are compiled to PTX.
const MUTANTS_PTX: &str = "mutants-ptx";

/// Fills target/bundle.
pub fn run(sh: &Shell) -> anyhow::Result<()> {
    device_toolchain::ensure(sh)?;
    let bundle = root().join("target/bundle");
    sh.remove_path(&bundle)?;

    // One profile for all: GPU tests check against the CPU reference, which only an optimised build computes in good
    // time.
    let program = build::cargo(
        sh,
        &[
            "build",
            "--release",
            "--package",
            "tilewright-cli",
            "--bin",
            "tilewright",
        ],
    )?;
    let tests = build::cargo(
        sh,
        &[
            "test",
            "--no-run",
            "--release",
            "--features",
            MUTANTS_PTX,
            "--test",
            "gpu",
        ],
    )?;
    let benches = build::cargo(
        sh,
        &["bench", "--no-run", "--features", MUTANTS_PTX, "--bench", "gpu_*"],
    )?;
    of_mutants(sh)?;
    place(sh, &program, "bin", &bundle)?;
    place(sh, &tests, "test", &bundle.join("tests"))?;
    place(sh, &benches, "bench", &bundle.join("benches"))?;

    differential(sh, &bundle.join("differential"))?;
    // What of a calibration need not be timed again.
    sh.create_dir(bundle.join("calibrations"))?;
    for filed in sh.read_dir(root().join("docs/results"))? {
        if filed.to_string_lossy().ends_with("-calibration.json") {
            sh.copy_file(&filed, bundle.join("calibrations"))?;
        }
    }
    let packed = ["tilewright", "tests", "benches", "differential", "calibrations"];
    pack(sh, &bundle, &packed)?;

    let peers = bundle.join("peers");
    sh.create_dir(&peers)?;
    for source in sh.read_dir(root().join("benches/peers"))? {
        if source.extension().is_some_and(|extension| extension == "cu") {
            sh.copy_file(&source, &peers)?;
        }
    }
    for script in ["run.sh", "parts"] {
        let from = root().join("xtask/bundle").join(script);
        cmd!(sh, "cp -r {from} {bundle}").quiet().run()?;
    }
    let (_, _, unpacked) = program.executables().next().context("cargo built no program")?;
    digests(sh, &unpacked, &bundle)?;
    sh.write_file(bundle.join("COMMIT"), commit(sh)?)?;

    let bytes = size(&bundle)?;
    ensure!(
        bytes < LIMIT_BYTES,
        "{} takes {bytes} bytes, the limit is {LIMIT_BYTES}",
        bundle.display()
    );
    println!(
        "{} ({:.1} MiB): on the GPU machine, run its run.sh",
        bundle.display(),
        bytes as f64 / f64::from(1 << 20)
    );
    Ok(())
}

/// The tests that need no GPU but the mutants' PTX, which is built for bundles alone.
fn of_mutants(sh: &Shell) -> anyhow::Result<()> {
    let tests = ["the_digests_on_record", "assemble", "instructions_on_a_gpu"];
    cmd!(
        sh,
        "cargo test --release --features {MUTANTS_PTX} --test evidence --test mutants -- {tests...}"
    )
    .run()?;
    Ok(())
}

/// The digests of the kernels, which must be those of the programs, and of the results that are filed. Those of
/// `examples/smem-spilling` [`of_mutants`] has compared with its PTX.
fn digests(sh: &Shell, program: &Path, bundle: &Path) -> anyhow::Result<()> {
    let record = root().join("docs/results/digests.txt");
    let shipped = cmd!(sh, "{program} ptx --digests").quiet().read()?;
    let recorded = sh.read_file(&record)?;
    let is_recorded = |line: &str| recorded.lines().any(|known| known.starts_with(&format!("{line} ")));
    if let Some(line) = shipped.lines().find(|line| !is_recorded(line)) {
        bail!(
            "{} lacks `{line}`: run `BLESS=1 cargo test --test evidence`",
            record.display()
        );
    }
    sh.copy_file(record, bundle)?;
    sh.write_file(bundle.join("filed.txt"), filed::list(&Evidence::read(root())?))?;
    Ok(())
}

/// How many random programs the bundle holds, and in how many modules.
const FUZZED: [&str; 2] = ["200", "100"];

/// The functions that host and GPU must compute alike, with their inputs and outputs.
fn differential(sh: &Shell, into: &Path) -> anyhow::Result<()> {
    let target = root().join("target/cuda-builder");
    cmd!(
        sh,
        "cargo run --release --package device_rust --example emit -- {into} --target-dir {target}"
    )
    .run()?;
    let [programs, batch] = FUZZED;
    cmd!(
        sh,
        "cargo run --release --package device_fuzz -- --programs {programs} --batch {batch} --seed 2 --emit {into}"
    )
    .run()?;
    Ok(())
}

/// Copies the programs of one kind, under the names of their targets.
fn place(sh: &Shell, built: &build::Messages, kind: &str, into: &Path) -> anyhow::Result<()> {
    let programs: Vec<_> = built.executables().filter(|(of, ..)| *of == kind).collect();
    ensure!(!programs.is_empty(), "cargo built no program of kind `{kind}`");
    sh.create_dir(into)?;
    for (_, name, program) in programs {
        let to = into.join(name);
        sh.copy_file(program, &to)?;
        cmd!(sh, "strip {to}").quiet().run()?;
    }
    Ok(())
}

/// Packs these files and folders of the bundle; `run.sh` unpacks them before it does anything. The programs hold the
/// same megabytes of PTX: with a window for all of them they take a third of what they take one by one.
fn pack(sh: &Shell, bundle: &Path, names: &[&str]) -> anyhow::Result<()> {
    let _in_bundle = sh.push_dir(bundle);
    cmd!(sh, "tar -cf packed.tar {names...}").quiet().run()?;
    cmd!(sh, "xz --threads=1 --lzma2=preset=6,dict=256MiB packed.tar")
        .quiet()
        .run()?;
    cmd!(sh, "rm -r {names...}").quiet().run()?;
    Ok(())
}

/// The commit that the programs were built from, marked where the working tree differs from it.
fn commit(sh: &Shell) -> anyhow::Result<String> {
    let hash = cmd!(sh, "git rev-parse HEAD")
        .quiet()
        .read()
        .context("the bundle names its commit, which git knows")?;
    let clean = cmd!(sh, "git status --porcelain").quiet().read()?.is_empty();
    Ok(format!("{hash}{}\n", if clean { "" } else { "-dirty" }))
}

#[cfg(test)]
#[path = "bundle/tests.rs"]
mod tests;

/// Bytes of the files in a folder and below.
fn size(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir()? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                bytes += metadata.len();
            }
        }
    }
    Ok(bytes)
}
