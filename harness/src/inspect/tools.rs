//! NVIDIA's assembler and disassembler: where they are, and running them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use tilewright::{Error, Result};

use crate::inspect::report::Report;

/// The environment variable that names the folder of the tools. Where it is set, no other is looked in.
pub const FOLDER_VARIABLE: &str = "TILEWRIGHT_CUDA_BIN";

/// `ptxas`, which makes machine code of PTX.
#[derive(Clone, Debug)]
pub struct Ptxas {
    path: PathBuf,
}

/// `nvdisasm`, which makes text of machine code.
#[derive(Clone, Debug)]
pub struct Nvdisasm {
    path: PathBuf,
}

/// Assembled PTX.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// What `ptxas` said.
    pub report: Report,
    /// The machine code, an ELF file.
    pub cubin: Vec<u8>,
}

impl Ptxas {
    pub(super) const NAME: &str = "ptxas";

    /// Looks for it: in the folder that [`FOLDER_VARIABLE`] names; else where `cargo xtask setup` puts it, among the
    /// programs of `PATH`, and where CUDA is installed.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the places that were looked in.
    pub fn find() -> Result<Self> {
        let path = find(Self::NAME, &Surroundings::here())?;
        Ok(Self { path })
    }

    /// The one in a folder.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where there is none.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        let path = find(Self::NAME, &Surroundings::only(folder))?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version, such as `13.0.88`.
    ///
    /// # Errors
    /// [`Error::Tool`] if it does not run.
    pub fn version(&self) -> Result<String> {
        version(Self::NAME, &self.path)
    }

    /// Assembles PTX for an architecture, with further options such as `--entry=k`.
    ///
    /// # Errors
    /// [`Error::Tool`] with what it says when it refuses.
    pub fn assemble(&self, ptx: &str, arch: &str, options: &[&str]) -> Result<Assembled> {
        const SOURCE: &str = "kernels.ptx";
        const OBJECT: &str = "kernels.cubin";
        let tool = |message| Error::Tool {
            tool: Self::NAME,
            message,
        };
        let files = |error: io::Error| tool(format!("temporary files: {error}"));
        let folder = TempDir::new().map_err(files)?;
        std::fs::write(folder.path().join(SOURCE), ptx).map_err(files)?;
        // In the folder, so that no message has its name.
        let mut command = Command::new(&self.path);
        command
            .current_dir(folder.path())
            .args([
                "--verbose",
                "--warn-on-spills",
                "--gpu-name",
                arch,
                "--output-file",
                OBJECT,
            ])
            .args(options)
            .arg(SOURCE);
        let output = succeed(Self::NAME, command)?;
        let report =
            Report::parse(&String::from_utf8_lossy(&output.stderr)).map_err(|error| tool(error.to_string()))?;
        Ok(Assembled {
            report,
            cubin: std::fs::read(folder.path().join(OBJECT)).map_err(files)?,
        })
    }
}

impl Nvdisasm {
    const NAME: &str = "nvdisasm";

    /// Looks for it, where [`Ptxas::find`] does.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the places that were looked in.
    pub fn find() -> Result<Self> {
        let path = find(Self::NAME, &Surroundings::here())?;
        Ok(Self { path })
    }

    /// The one in a folder.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where there is none.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        let path = find(Self::NAME, &Surroundings::only(folder))?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The code of a cubin.
    ///
    /// # Errors
    /// [`Error::Tool`] when it refuses.
    pub fn disassemble(&self, cubin: &[u8]) -> Result<String> {
        const OBJECT: &str = "kernels.cubin";
        let files = |error: io::Error| Error::Tool {
            tool: Self::NAME,
            message: format!("temporary files: {error}"),
        };
        let folder = TempDir::new().map_err(files)?;
        std::fs::write(folder.path().join(OBJECT), cubin).map_err(files)?;
        let mut command = Command::new(&self.path);
        command.current_dir(folder.path()).args(["--print-code", OBJECT]);
        let output = succeed(Self::NAME, command)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Runs a tool that must succeed.
fn succeed(tool: &'static str, mut command: Command) -> Result<Output> {
    let failed = |message| Error::Tool { tool, message };
    let output = command
        .output()
        .map_err(|error| failed(format!("does not start: {error}")))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // The lines that say what is wrong, if there are any: the others are of kernels with which nothing is.
    let complaints = || {
        said.lines()
            .filter(|line| line.contains("error") || line.contains("fatal"))
    };
    let mut lines: Vec<_> = complaints().collect();
    if lines.is_empty() {
        lines = said.lines().collect();
    }
    let lines: Vec<_> = lines
        .into_iter()
        .map(|line| line.strip_prefix(tool).unwrap_or(line).trim_start())
        .collect();
    Err(failed(match &lines[..] {
        [] => output.status.to_string(),
        lines => lines.join("\n"),
    }))
}

/// The version in the line `Cuda compilation tools, release 13.0, V13.0.88`.
fn version(tool: &'static str, path: &Path) -> Result<String> {
    let mut command = Command::new(path);
    command.arg("--version");
    let output = succeed(tool, command)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().rev().find_map(|word| word.strip_prefix('V'));
    version.map(str::to_owned).ok_or_else(|| Error::Tool {
        tool,
        message: format!("no version in `{}`", text.trim()),
    })
}

/// What decides where tools are looked for.
#[derive(Default)]
struct Surroundings {
    /// The folder that the user has named.
    folder: Option<PathBuf>,
    /// The running program.
    program: Option<PathBuf>,
    /// The folder that it runs in.
    current: Option<PathBuf>,
    /// `PATH`.
    path: Option<OsString>,
    /// `CUDA_HOME`.
    cuda_home: Option<PathBuf>,
}

impl Surroundings {
    fn here() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            folder: variable(FOLDER_VARIABLE).map(PathBuf::from),
            program: std::env::current_exe().ok(),
            current: std::env::current_dir().ok(),
            path: variable("PATH"),
            cuda_home: variable("CUDA_HOME").map(PathBuf::from),
        }
    }

    fn only(folder: &Path) -> Self {
        Self {
            folder: Some(folder.to_owned()),
            ..Self::default()
        }
    }

    /// The folders to look in, the first first.
    fn folders(&self) -> Vec<PathBuf> {
        if let Some(folder) = &self.folder {
            return vec![folder.clone()];
        }
        // A program that cargo has built is somewhere in the folder `target`; one that runs in the repository has it
        // below.
        let mut around = self.program.iter().flat_map(|program| program.ancestors());
        let target = around.find(|folder| folder.ends_with("target"));
        let target = target.map(|folder| folder.join("cuda-tools/bin"));
        let repository = self.current.iter().map(|folder| folder.join("target/cuda-tools/bin"));
        let path = self.path.iter().flat_map(std::env::split_paths);
        let installed = self.cuda_home.iter().map(|home| home.join("bin"));
        target
            .into_iter()
            .chain(repository)
            .chain(path)
            .chain(installed)
            .chain([PathBuf::from("/usr/local/cuda/bin")])
            .filter(|folder| !folder.as_os_str().is_empty())
            .collect()
    }
}

fn find(tool: &str, surroundings: &Surroundings) -> Result<PathBuf> {
    let name = format!("{tool}{}", std::env::consts::EXE_SUFFIX);
    let found = surroundings
        .folders()
        .into_iter()
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file());
    if let Some(path) = found {
        // Absolute, because it is run in another folder.
        return std::path::absolute(&path).map_err(|error| Error::Unavailable(format!("{}: {error}", path.display())));
    }
    let places = match &surroundings.folder {
        Some(folder) => format!("in {}", folder.display()),
        None => format!(
            "in target/cuda-tools/bin, PATH, $CUDA_HOME/bin and /usr/local/cuda/bin, and {FOLDER_VARIABLE} names no \
             folder"
        ),
    };
    Err(Error::Unavailable(format!(
        "no {tool} {places}; `cargo xtask setup` in the repository brings ptxas and nvdisasm"
    )))
}

#[cfg(test)]
mod tests {
    use tilewright::ErrorKind;

    use super::*;

    #[test]
    fn the_named_folder_is_the_only_one() {
        let surroundings = Surroundings {
            path: Some("/bin".into()),
            ..Surroundings::only(Path::new("here"))
        };
        assert_eq!(surroundings.folders(), [Path::new("here")]);
    }

    #[cfg(unix)]
    #[test]
    fn the_repository_comes_before_what_is_installed() {
        let surroundings = Surroundings {
            folder: None,
            program: Some("/r/target/debug/deps/tilewright".into()),
            current: Some("/w".into()),
            path: Some("/bin:/usr/bin".into()),
            cuda_home: Some("/cuda".into()),
        };
        let expected = [
            "/r/target/cuda-tools/bin",
            "/w/target/cuda-tools/bin",
            "/bin",
            "/usr/bin",
            "/cuda/bin",
            "/usr/local/cuda/bin",
        ];
        assert_eq!(surroundings.folders(), expected.map(PathBuf::from));
    }

    #[test]
    fn a_missing_tool_is_unavailable_and_says_where_it_was_looked_for() {
        let folder = TempDir::new().expect("a folder");
        let nowhere = Surroundings::only(&folder.path().join("none"));
        let error = find("ptxas", &nowhere).expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let text = error.to_string();
        assert!(text.contains("none") && text.contains("cargo xtask setup"), "{text}");
        // A folder of that name is no program.
        std::fs::create_dir(folder.path().join("ptxas")).expect("ours");
        assert!(find("ptxas", &Surroundings::only(folder.path())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_tool_that_fails_says_why_on_the_lines_that_matter() {
        let run = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            succeed("ptxas", command).expect_err("fails").to_string()
        };
        assert_eq!(
            run("echo 'ptxas info : fine' >&2; echo 'ptxas fatal   : no' >&2; exit 255"),
            "ptxas: fatal   : no"
        );
        assert_eq!(run("echo odd >&2; exit 1"), "ptxas: odd");
        assert!(run("exit 7").contains('7'));
    }
}
