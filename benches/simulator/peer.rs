//! The peer: Numba's CUDA simulator, which runs the same kernel in Python.

use std::error::Error;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::{Deserialize, Serialize};

/// What the peer says of itself.
#[derive(Serialize, Deserialize)]
pub struct About {
    pub simulator: String,
    pub numpy: String,
    pub python: String,
}

#[derive(Deserialize)]
struct PeerRun {
    seconds: f64,
    error_over_bound: f64,
}

/// Numba's simulator in a process of its own, which runs once for each line that it gets.
pub struct Peer {
    pub about: About,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Peer {
    /// Starts it with this Python, for matrices of `size` rows and columns.
    pub fn start(python: &Path, size: usize) -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(python)
            .arg(peers().join("numba_sim.py"))
            .args(["--on-request", "--size", &size.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", python.display()))?;
        let input = process.stdin.take().ok_or("no pipe")?;
        let mut output = BufReader::new(process.stdout.take().ok_or("no pipe")?).lines();
        let about = output
            .next()
            .ok_or("numba_sim.py ended at once; what it says stands above")??;
        Ok(Self {
            about: serde_json::from_str(&about)?,
            input,
            output,
            _process: process,
        })
    }

    /// Seconds of one launch, whose result was right.
    pub fn run(&mut self) -> Result<f64, Box<dyn Error>> {
        writeln!(self.input)?;
        let line = self.output.next().ok_or("numba_sim.py ended")??;
        let run: PeerRun = serde_json::from_str(&line)?;
        if run.error_over_bound <= 1.0 {
            Ok(run.seconds)
        } else {
            Err(format!("Numba's result is off by {} times the bound", run.error_over_bound).into())
        }
    }
}

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers")
}

/// Makes a virtual environment with the pinned packages, once; gives its Python.
pub fn install() -> Result<PathBuf, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/numba-venv");
    let python = folder.join("bin/python");
    let done = folder.join("installed");
    let requirements = peers().join("numba_sim.txt");
    let wanted = std::fs::read_to_string(&requirements)?;
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let run = |command: &mut Command| match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--requirement"])
        .arg(&requirements))?;
    std::fs::write(done, wanted)?;
    Ok(python)
}
