//! Test programs, as many at a time as there are processors: most of them leave some idle.

use std::collections::VecDeque;
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context, ensure};
use xshell::{Shell, cmd};

use crate::build::Messages;
use crate::root;

/// Those that take longest begin first, so that none is left alone at the end. A name that is none does no harm.
const LONGEST: [&str; 11] = [
    "tests/subjects/device_rust/tests/differential.rs",
    "compat/cuda_builder/tests/upstream.rs",
    "kernels-gpu/tests/device.rs",
    "tests/your_project.rs",
    "tests/examples.rs",
    "tests/usage.rs",
    "tests/mutants.rs",
    "compat/cuda_builder/tests/library.rs",
    "compat/ptx_interpreter/tests/corpus.rs",
    "compat/cuda_builder/tests/attributes.rs",
    "host/tests/device.rs",
];

/// How often it is said what still runs.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// A program with tests.
#[derive(Clone)]
pub struct Program {
    /// Where its source is, below the repository's root; of one that runs again what is special about it.
    name: String,
    path: PathBuf,
    /// Its package's folder, in which cargo would run it.
    folder: PathBuf,
    /// Where the compiler's own libraries are, which tests of procedural macros need.
    libraries: PathBuf,
    /// What is passed to it.
    args: Vec<&'static str>,
    env: Vec<(&'static str, &'static str)>,
}

/// A program that has ended.
pub struct Ended {
    /// Its name.
    pub name: String,
    /// Whether all of its tests passed.
    pub passed: bool,
    /// What it printed.
    pub output: String,
}

/// The programs among what cargo built, in the order in which they begin.
pub fn of(sh: &Shell, built: &Messages) -> anyhow::Result<Vec<Program>> {
    let sysroot = cmd!(sh, "rustc --print sysroot").quiet().read()?;
    let libraries = PathBuf::from(sysroot).join("lib");
    let mut programs: Vec<Program> = built
        .tests()
        .map(|(source, path, manifest)| Program {
            name: source.strip_prefix(root()).unwrap_or(&source).display().to_string(),
            path,
            folder: manifest.parent().unwrap_or(root()).to_owned(),
            libraries: libraries.clone(),
            args: Vec::new(),
            env: Vec::new(),
        })
        .collect();
    ensure!(!programs.is_empty(), "cargo built no tests");
    let place = |program: &Program| LONGEST.iter().position(|name| *name == program.name);
    programs.sort_by_key(|program| place(program).unwrap_or(LONGEST.len()));
    Ok(programs)
}

/// Runs all of them. What a failing one printed is shown when it ends; of the others a line.
pub fn run(programs: Vec<Program>) -> anyhow::Result<Vec<Ended>> {
    let all = programs.len();
    let waiting = Mutex::new(VecDeque::from(programs));
    let running: Mutex<Vec<String>> = Mutex::default();
    let ended: Mutex<Vec<anyhow::Result<Ended>>> = Mutex::default();
    let work = || {
        loop {
            let next = waiting.lock().expect("nobody panics with it").pop_front();
            let Some(program) = next else { return };
            running
                .lock()
                .expect("nobody panics with it")
                .push(program.name.clone());
            let begun = Instant::now();
            let result = program.run();
            let mut ended = ended.lock().expect("nobody panics with it");
            running
                .lock()
                .expect("nobody panics with it")
                .retain(|name| *name != program.name);
            let seconds = begun.elapsed().as_secs_f64();
            if let Ok(result) = &result {
                println!(
                    "[{}/{all}] {}: {} ({seconds:.1} s)",
                    ended.len() + 1,
                    result.name,
                    result.summary()
                );
                if !result.passed {
                    println!("{}", result.output);
                }
            }
            ended.push(result);
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut said = Instant::now();
        while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(Duration::from_millis(100));
            if said.elapsed() >= HEARTBEAT {
                said = Instant::now();
                println!("running: {}", running.lock().expect("nobody panics with it").join(", "));
            }
        }
    });
    ended.into_inner().expect("nobody panics with it").into_iter().collect()
}

impl Program {
    /// Where its source is, below the repository's root; of one that runs again what is special about it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same program under another name, with these arguments and variables.
    pub fn again(&self, name: &str, args: &[&'static str], env: &[(&'static str, &'static str)]) -> Self {
        Self {
            name: name.to_owned(),
            args: args.to_vec(),
            env: env.to_vec(),
            ..self.clone()
        }
    }

    fn run(&self) -> anyhow::Result<Ended> {
        // A file, not a pipe, takes both of its outputs in their order.
        let mut file = tempfile::tempfile()?;
        let mut libraries = vec![self.libraries.clone()];
        libraries.extend(env::split_paths(&env::var_os("LD_LIBRARY_PATH").unwrap_or_default()));
        let status = Command::new(&self.path)
            .args(&self.args)
            .envs(self.env.iter().copied())
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("LD_LIBRARY_PATH", env::join_paths(libraries)?)
            .stdout(file.try_clone()?)
            .stderr(file.try_clone()?)
            .status()
            .with_context(|| format!("cannot run {}", self.path.display()))?;
        file.rewind()?;
        let mut output = Vec::new();
        file.read_to_end(&mut output)?;
        Ok(Ended::new(&self.name, status, &String::from_utf8_lossy(&output)))
    }
}

impl Ended {
    fn new(name: &str, status: ExitStatus, output: &str) -> Self {
        Self {
            name: name.to_owned(),
            passed: status.success(),
            output: output.to_owned(),
        }
    }

    /// What the harness says of all tests together: `test result: ok. 3 passed; 0 failed; 1 ignored; ..`.
    fn summary(&self) -> String {
        let result = self
            .output
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("test result: "));
        match result {
            Some(result) => result.split("; 0 measured").next().unwrap_or(result).to_owned(),
            None if self.passed => "ok".to_owned(),
            None => "FAILED".to_owned(),
        }
    }
}
