//! Finding a stock toolchain that can compile for the GPU.
//!
//! Three things must match: a Rust compiler, the sources of exactly its standard library, and LLVM's command-line tools
//! of at least its LLVM version. rustup and Debian's packages both offer the three.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Chooses a source: `rustup`, `debian`, or the name of one of rustup's toolchains, such as `1.95.0`. Unset, rustup and
/// then Debian are tried.
pub const TOOLCHAIN_VARIABLE: &str = "CUDA_BUILDER_TOOLCHAIN";

/// The tools of LLVM that the pipeline runs.
const TOOLS: [&str; 4] = ["llvm-link", "llvm-dis", "opt", "llc"];
/// Where Debian's packages put rustc and cargo.
const DEBIAN_BIN: &str = "/usr/bin";
/// What Debian calls the packages; LLVM's major version follows.
const DEBIAN_PACKAGES: &str = "rustc-web cargo-web rust-web-src llvm-";

/// The oldest LLVM whose faults this version knows.
const OLDEST_LLVM: u32 = 22;

/// The LLVM of the compiler in Debian's packages, for the command when there is no compiler to ask.
const CURRENT_LLVM: u32 = 22;

/// Where a toolchain came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The toolchain in use, with the rustup components `rust-src` and `llvm-tools`.
    Rustup,
    /// Debian's packages.
    Debian,
}

/// A toolchain that has all that the pipeline needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// Where it came from.
    pub source: Source,
    /// The compiler.
    pub rustc: PathBuf,
    /// The matching cargo.
    pub cargo: PathBuf,
    /// The compiler's sysroot.
    pub sysroot: PathBuf,
    /// The compiler's version as it prints it: `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub version: String,
    /// The major version of the compiler's LLVM.
    pub llvm_major: u32,
    /// The major version of LLVM's tools, which is that or a later one.
    pub tools_major: u32,
    llvm_bin: PathBuf,
}

impl Toolchain {
    /// The path of one of LLVM's tools, such as `opt`.
    pub fn llvm_tool(&self, name: &str) -> PathBuf {
        self.llvm_bin.join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// The folder of the standard library's sources.
    pub fn library_sources(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib/src/rust/library")
    }
}

/// No complete toolchain: what was looked at, what each lacks, and the commands that bring it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingToolchain {
    /// One line for each toolchain that was looked at.
    pub looked_at: Vec<String>,
    /// The commands to run; one of them is enough.
    pub commands: Vec<String>,
}

impl fmt::Display for MissingToolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no Rust toolchain here can compile for the GPU.")?;
        for line in &self.looked_at {
            write!(f, "\n  - {line}")?;
        }
        write!(f, "\nRun one of:")?;
        for command in &self.commands {
            write!(f, "\n    {command}")?;
        }
        Ok(())
    }
}

impl std::error::Error for MissingToolchain {}

/// Finds the toolchain to compile the crate at `crate_path` with.
///
/// A `rust-toolchain.toml` at or above the crate is respected; without one, the compiler that runs the build script
/// (`$RUSTC`) comes before the one on the `PATH`. Debian's packages come last. [`TOOLCHAIN_VARIABLE`] restricts the
/// search.
///
/// # Errors
/// [`MissingToolchain`] when no candidate has all the parts.
pub fn find(crate_path: impl AsRef<Path>) -> Result<Toolchain, MissingToolchain> {
    let crate_path = crate_path.as_ref();
    let wanted = env::var(TOOLCHAIN_VARIABLE).unwrap_or_default();
    let mut missing = MissingToolchain {
        looked_at: Vec::new(),
        commands: Vec::new(),
    };
    let debian = Candidate {
        source: Source::Debian,
        rustc: Path::new(DEBIAN_BIN).join("rustc").into(),
        pin: None,
    };
    let named = Candidate {
        source: Source::Rustup,
        rustc: "rustc".into(),
        pin: Some(wanted.clone().into()),
    };
    let candidates = match wanted.as_str() {
        "" => rustup_candidates(crate_path).into_iter().chain([debian]).collect(),
        "rustup" => rustup_candidates(crate_path),
        "debian" => vec![debian],
        _ => vec![named],
    };
    for candidate in candidates {
        match candidate.examine(crate_path) {
            Ok(toolchain) => return Ok(toolchain),
            Err((found, command)) => {
                if !missing.looked_at.contains(&found) {
                    missing.looked_at.push(found);
                }
                if !missing.commands.contains(&command) {
                    missing.commands.push(command);
                }
            }
        }
    }
    Err(missing)
}

/// A compiler to look at.
#[derive(Debug, PartialEq, Eq)]
struct Candidate {
    source: Source,
    rustc: OsString,
    /// What `RUSTUP_TOOLCHAIN` is set to while asking; `None` removes it, so that rustup reads `rust-toolchain.toml`.
    pin: Option<OsString>,
}

fn rustup_candidates(crate_path: &Path) -> Vec<Candidate> {
    let by_path = Candidate {
        source: Source::Rustup,
        rustc: "rustc".into(),
        pin: None,
    };
    let running = env::var_os("RUSTC").map(|rustc| Candidate {
        source: Source::Rustup,
        rustc,
        // Cargo may hand over a bare `rustc`, which is rustup's proxy: it needs to know which toolchain cargo belongs
        // to.
        pin: env::var_os("RUSTUP_TOOLCHAIN"),
    });
    let mut list: Vec<Candidate> = running.into_iter().collect();
    list.insert(if has_toolchain_file(crate_path) { 0 } else { list.len() }, by_path);
    list
}

fn has_toolchain_file(crate_path: &Path) -> bool {
    let full = crate_path.canonicalize().unwrap_or_else(|_| crate_path.to_owned());
    full.ancestors()
        .any(|folder| folder.join("rust-toolchain.toml").is_file() || folder.join("rust-toolchain").is_file())
}

impl Candidate {
    fn rustc(&self, crate_path: &Path) -> Command {
        let mut command = Command::new(&self.rustc);
        if crate_path.is_dir() {
            command.current_dir(crate_path);
        }
        match &self.pin {
            Some(pin) => command.env("RUSTUP_TOOLCHAIN", pin),
            None => command.env_remove("RUSTUP_TOOLCHAIN"),
        };
        command
    }

    /// The toolchain, or what it is and lacks and the command that helps.
    fn examine(&self, crate_path: &Path) -> Result<Toolchain, (String, String)> {
        let shown = self.rustc.to_string_lossy().into_owned();
        let verbose = output(self.rustc(crate_path).arg("-vV")).map_err(|why| {
            let command = match self.source {
                Source::Rustup => install_command(&why),
                Source::Debian => debian_command(CURRENT_LLVM),
            };
            (format!("{shown}: {why}"), command)
        })?;
        let field = |name: &str| {
            verbose
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap_or("")
                .trim()
                .to_owned()
        };
        let version = verbose.lines().next().unwrap_or("").to_owned();
        let (release, host) = (field("release:"), field("host:"));
        let llvm_major = major(&field("LLVM version:")).unwrap_or(0);
        let sysroot = output(self.rustc(crate_path).args(["--print", "sysroot"]))
            .map(|text| PathBuf::from(text.trim()))
            .unwrap_or_default();

        let command = match self.source {
            Source::Rustup => rustup_command(&sysroot, &release),
            Source::Debian => debian_command(llvm_major),
        };
        let lacks = |what: String| (format!("{version} in {}: {what}", sysroot.display()), command.clone());
        if !sysroot.join("lib/rustlib/src/rust/library/Cargo.lock").is_file() {
            return Err(lacks("the sources of its standard library are missing".to_owned()));
        }
        let (rustc, cargo) = match self.source {
            Source::Rustup => (sysroot.join("bin/rustc"), sysroot.join("bin/cargo")),
            Source::Debian => (Path::new(DEBIAN_BIN).join("rustc"), Path::new(DEBIAN_BIN).join("cargo")),
        };
        let cargo = with_exe_suffix(cargo);
        if !cargo.is_file() {
            return Err(lacks(format!("{} is missing", cargo.display())));
        }
        if llvm_major < OLDEST_LLVM {
            return Err(lacks(format!(
                "its LLVM is {llvm_major}, and {OLDEST_LLVM} is the oldest that this version was tried with"
            )));
        }
        let (llvm_bin, tools_major) = llvm_folder(self.source, &sysroot, &host, llvm_major).map_err(lacks)?;
        Ok(Toolchain {
            source: self.source,
            rustc: with_exe_suffix(rustc),
            cargo,
            sysroot,
            version,
            llvm_major,
            tools_major,
            llvm_bin,
        })
    }
}

/// The folder whose tools can read the compiler's bitcode.
fn llvm_folder(source: Source, sysroot: &Path, host: &str, llvm_major: u32) -> Result<(PathBuf, u32), String> {
    let folders = match source {
        Source::Rustup => vec![sysroot.join("lib/rustlib").join(host).join("bin")],
        // A newer LLVM reads the bitcode of an older one, not the other way round.
        Source::Debian => (llvm_major..llvm_major + 4)
            .map(|major| PathBuf::from(format!("/usr/lib/llvm-{major}/bin")))
            .collect(),
    };
    for folder in &folders {
        let has_all = TOOLS.iter().all(|tool| with_exe_suffix(folder.join(tool)).is_file());
        if !has_all {
            continue;
        }
        let version = output(Command::new(with_exe_suffix(folder.join("opt"))).arg("--version"))?;
        let tools_major = version
            .lines()
            .find_map(|line| major(line.split_once("LLVM version ")?.1));
        if let Some(tools) = tools_major.filter(|tools| *tools >= llvm_major) {
            return Ok((folder.clone(), tools));
        }
        return Err(format!(
            "its LLVM is {llvm_major}, but the tools in {} are of LLVM {}, too old to read its bitcode",
            folder.display(),
            tools_major.map_or("an unknown version".to_owned(), |tools| tools.to_string())
        ));
    }
    Err(format!(
        "LLVM's tools ({}) are missing in {}",
        TOOLS.join(", "),
        folders[0].display()
    ))
}

fn with_exe_suffix(path: PathBuf) -> PathBuf {
    if env::consts::EXE_EXTENSION.is_empty() {
        path
    } else {
        path.with_extension(env::consts::EXE_EXTENSION)
    }
}

/// The number before the first dot.
fn major(version: &str) -> Option<u32> {
    version.trim().split('.').next()?.parse().ok()
}

fn rustup_command(sysroot: &Path, release: &str) -> String {
    // The folder's name is the toolchain's name: `1.95.0-x86_64-unknown-linux-gnu`.
    let in_rustup = sysroot.parent().is_some_and(|parent| parent.ends_with("toolchains"));
    let name = sysroot
        .file_name()
        .filter(|_| in_rustup)
        .map_or(release.to_owned(), |name| name.to_string_lossy().into());
    format!("rustup component add --toolchain {name} rust-src llvm-tools")
}

/// For a toolchain that is not there at all; rustup's message names it in quotes.
fn install_command(why: &str) -> String {
    let named = why
        .split('\'')
        .nth(1)
        .filter(|_| why.contains("not installed"))
        .unwrap_or("stable");
    format!("rustup toolchain install {named} --component rust-src --component llvm-tools")
}

fn debian_command(llvm_major: u32) -> String {
    format!("apt-get install -y {DEBIAN_PACKAGES}{llvm_major}")
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(stderr
            .lines()
            .next()
            .unwrap_or("it failed without a message")
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_the_toolchain() {
        let sysroot = Path::new("/home/u/.rustup/toolchains/1.95.0-x86_64-unknown-linux-gnu");
        assert_eq!(
            rustup_command(sysroot, "1.95.0"),
            "rustup component add --toolchain 1.95.0-x86_64-unknown-linux-gnu rust-src llvm-tools"
        );
        assert_eq!(
            rustup_command(Path::new("/usr"), "1.96.0"),
            "rustup component add --toolchain 1.96.0 rust-src llvm-tools"
        );
        assert_eq!(
            debian_command(22),
            "apt-get install -y rustc-web cargo-web rust-web-src llvm-22"
        );
    }

    #[test]
    fn absent_toolchain_is_named() {
        let why = "error: toolchain '1.90.0-x86_64-unknown-linux-gnu' is not installed";
        let expected =
            "rustup toolchain install 1.90.0-x86_64-unknown-linux-gnu --component rust-src --component llvm-tools";
        assert_eq!(install_command(why), expected);
        assert!(install_command("No such file or directory").starts_with("rustup toolchain install stable "));
    }

    #[test]
    fn missing_toolchain_shows_commands() {
        let missing = MissingToolchain {
            looked_at: vec!["a: b".into()],
            commands: vec!["c".into(), "d".into()],
        };
        assert!(missing.to_string().ends_with("\n  - a: b\nRun one of:\n    c\n    d"));
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(major("22.1.2"), Some(22));
        assert_eq!(major(" 22.1.2-rust-1.95.0-stable"), Some(22));
        assert_eq!(major("?"), None);
    }

    #[test]
    fn absent_compiler_gives_a_command() {
        let candidate = Candidate {
            source: Source::Debian,
            rustc: "/nonexistent/rustc".into(),
            pin: None,
        };
        let (found, command) = candidate.examine(Path::new(".")).unwrap_err();
        assert!(found.starts_with("/nonexistent/rustc: "), "{found}");
        assert!(command.starts_with("apt-get install"), "{command}");
    }
}
