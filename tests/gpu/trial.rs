//! Tests that run in a process beside this one, so that a fault of one leaves those after it a sound device.
//!
//! A launch that fails takes its context with it, and all that the process does on the GPU afterwards fails too. So
//! this program starts itself a second time, as a worker that runs one test after the other. After a test that failed,
//! hung or ended the worker the next one gets a new worker.
//!
//! Under compute-sanitizer, which watches one process, `TILEWRIGHT_IN_PROCESS=1` has all tests run in this one.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use crate::Outcome;

/// Set where this process is a worker.
const WORKER_VARIABLE: &str = "TILEWRIGHT_GPU_WORKER";

/// Set where all tests are to run in one process.
const IN_PROCESS_VARIABLE: &str = "TILEWRIGHT_IN_PROCESS";

/// What a line of a worker begins with that says how a test ended: `null`, or the reason as a JSON string.
const ENDED: &str = "\u{1}ended ";

/// How long a test may take. The slowest took about a minute on an H200.
const LIMIT: Duration = Duration::from_secs(300);

/// A test by its name.
pub struct Trial {
    name: String,
    run: Box<dyn FnOnce() -> Outcome + Send>,
}

impl Trial {
    /// A test of this name.
    pub fn test(name: impl Into<String>, run: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Runs what a parent asks for, where this process was started as its worker; returns its exit code.
pub fn run_as_worker(trials: impl FnOnce() -> Vec<Trial>) -> Option<i32> {
    std::env::var_os(WORKER_VARIABLE)?;
    let mut trials: BTreeMap<String, Trial> = trials().into_iter().map(|trial| (trial.name.clone(), trial)).collect();
    for name in std::io::stdin().lines().map_while(Result::ok) {
        let outcome = match trials.remove(&name) {
            Some(trial) => run_here(trial.run),
            None => Err(format!("the worker has no test {name}").into()),
        };
        let reason = outcome.err().map(|failed| message(&failed));
        println!("\n{ENDED}{}", serde_json::json!(reason));
    }
    Some(0)
}

/// Runs a test in this process.
fn run_here(run: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(format!("it panicked: {text}").into())
    })
}

fn message(failed: &Failed) -> String {
    failed.message().unwrap_or("no reason given").to_owned()
}

/// The tests for the harness. `on_end` is told of each how it ended.
pub fn in_workers(
    trials: Vec<Trial>,
    on_end: impl Fn(&str, &Outcome, Duration) + Send + Sync + 'static,
) -> Vec<libtest_mimic::Trial> {
    let in_process = std::env::var_os(IN_PROCESS_VARIABLE).is_some();
    let worker = Arc::new(Mutex::new(None));
    let on_end = Arc::new(on_end);
    let wrap = |trial: Trial| {
        let (worker, on_end) = (Arc::clone(&worker), Arc::clone(&on_end));
        let name = trial.name.clone();
        libtest_mimic::Trial::test(trial.name, move || {
            let begin = Instant::now();
            let outcome = if in_process {
                run_here(trial.run)
            } else {
                let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
                ask(&mut worker, &name)
            };
            on_end(&name, &outcome, begin.elapsed());
            outcome
        })
    };
    trials.into_iter().map(wrap).collect()
}

/// Has a worker run a test, a new one where there is none.
fn ask(worker: &mut Option<Worker>, name: &str) -> Outcome {
    let running = match worker.take() {
        Some(running) => running,
        None => Worker::start().map_err(|error| format!("cannot start a worker: {error}"))?,
    };
    let (outcome, reusable) = running.run(name);
    *worker = reusable;
    outcome
}

/// A process that runs tests.
struct Worker {
    child: Child,
    names: ChildStdin,
    lines: Receiver<String>,
}

impl Worker {
    fn start() -> std::io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(WORKER_VARIABLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let names = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, names, lines })
    }

    /// Runs a test, and returns how it ended and this worker where it is sound.
    fn run(mut self, name: &str) -> (Outcome, Option<Self>) {
        if let Err(error) = writeln!(self.names, "{name}") {
            return (Err(format!("the worker takes no test: {error}").into()), None);
        }
        let deadline = Instant::now() + LIMIT;
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(rest) {
                Ok(line) => match line.strip_prefix(ENDED) {
                    None if line.is_empty() => {}
                    None => println!("{line}"),
                    Some("null") => return (Ok(()), Some(self)),
                    Some(reason) => {
                        let reason = serde_json::from_str(reason).unwrap_or_else(|_| reason.to_owned());
                        return (Err(reason.into()), None);
                    }
                },
                Err(RecvTimeoutError::Timeout) => {
                    return (Err(format!("it did not end within {} s", LIMIT.as_secs()).into()), None);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait().map_or_else(|error| error.to_string(), ended);
                    return (Err(format!("its process ended: {status}").into()), None);
                }
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ended(status: ExitStatus) -> String {
    status.to_string()
}
