//! Tests that run in processes beside this one, so that a fault of one leaves those after it a sound device.
//!
//! A launch that fails takes its context with it, and all that the process does on the GPU afterwards fails too. So
//! this program starts itself again, as workers that run one test after the other ([`Workers`]). After a test that
//! failed, hung or ended its worker the next one gets a new worker.
//!
//! Most of a test's time is not the GPU's: opening it, compiling PTX, the reference on the CPU. So several workers run
//! at once, on every GPU of the kind.
//!
//! Under compute-sanitizer, which watches one process, `TILEWRIGHT_IN_PROCESS=1` has all tests run in this one.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
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
    alone: bool,
}

impl Trial {
    /// A test of this name.
    pub fn test(name: impl Into<String>, run: impl FnOnce() -> Outcome + Send + 'static) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
            alone: false,
        }
    }

    /// The test, with no other beside it: it measures free memory, or takes most of it.
    #[allow(dead_code, reason = "not every program with this module has such tests")]
    pub fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Whether all tests are to run in this process.
pub fn in_process() -> bool {
    std::env::var_os(IN_PROCESS_VARIABLE).is_some()
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

/// Processes that run tests, as many as tests are run at once.
pub struct Workers {
    /// What `CUDA_VISIBLE_DEVICES` is for each: its GPU.
    places: Mutex<Vec<(String, Option<Worker>)>>,
    /// Cores for each.
    cores: usize,
    /// Held to read by each test, to write by one that is to be alone.
    machine: RwLock<()>,
}

impl Workers {
    /// Workers for GPUs that are named as in `CUDA_VISIBLE_DEVICES` and have so much memory each: up to three for each,
    /// as far as each gets 16 GiB of it and four cores. `TILEWRIGHT_GPU_WORKERS` is another number of them all.
    #[allow(dead_code, reason = "not every program with this module has a GPU")]
    pub fn on(gpus: &[String], memory_bytes: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let asked = std::env::var("TILEWRIGHT_GPU_WORKERS").ok();
        let asked = asked.and_then(|number| number.parse().ok());
        let of_each = (memory_bytes >> 34).clamp(1, 3) as usize;
        Self::new(gpus, asked.unwrap_or((of_each * gpus.len()).min(cores / 4)), cores)
    }

    /// So many workers, one at least, that share the cores.
    pub fn new(gpus: &[String], count: usize, cores: usize) -> Self {
        let count = count.max(1);
        let places = gpus.iter().cycle().take(count).map(|gpu| (gpu.clone(), None));
        Self {
            places: Mutex::new(places.collect()),
            cores: (cores / count).max(1),
            machine: RwLock::new(()),
        }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.places().len()
    }

    fn places(&self) -> std::sync::MutexGuard<'_, Vec<(String, Option<Worker>)>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a worker run a test, a new one where there is none. No more tests may be run at once than there are workers.
    fn run(&self, name: &str, alone: bool) -> Outcome {
        let _beside = (!alone).then(|| self.machine.read().unwrap_or_else(PoisonError::into_inner));
        let _alone = alone.then(|| self.machine.write().unwrap_or_else(PoisonError::into_inner));
        let (gpu, worker) = self.places().pop().ok_or("more tests at once than workers")?;
        let (outcome, worker) = match worker.map_or_else(|| Worker::start(&gpu, self.cores), Ok) {
            Ok(worker) => worker.run(name),
            Err(error) => (Err(format!("cannot start a worker: {error}").into()), None),
        };
        self.places().push((gpu, worker));
        outcome
    }
}

/// The tests for the harness. `on_end` is told of each how it ended.
pub fn in_workers(
    trials: Vec<Trial>,
    workers: Workers,
    on_end: impl Fn(&str, &Outcome, Duration) + Send + Sync + 'static,
) -> Vec<libtest_mimic::Trial> {
    let in_process = in_process();
    let workers = Arc::new(workers);
    let on_end = Arc::new(on_end);
    let wrap = |trial: Trial| {
        let (workers, on_end) = (Arc::clone(&workers), Arc::clone(&on_end));
        let name = trial.name.clone();
        libtest_mimic::Trial::test(trial.name, move || {
            let begin = Instant::now();
            let outcome = match in_process {
                true => run_here(trial.run),
                false => workers.run(&name, trial.alone),
            };
            on_end(&name, &outcome, begin.elapsed());
            outcome
        })
    };
    trials.into_iter().map(wrap).collect()
}

/// A process that runs tests.
struct Worker {
    child: Child,
    names: ChildStdin,
    lines: Receiver<String>,
}

impl Worker {
    /// Starts one for a GPU, with so many threads for the reference.
    fn start(gpu: &str, cores: usize) -> std::io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(WORKER_VARIABLE, "1")
            .env("CUDA_VISIBLE_DEVICES", gpu)
            .env("RAYON_NUM_THREADS", cores.to_string())
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
