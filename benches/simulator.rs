//! The simulator against Numba's CUDA simulator: the 16 x 16 tiled matrix product, on this machine's CPU.
//!
//! Ours is an entry point of `tiled_static`, once without checks of single accesses and once with every check; the peer
//! is the same kernel in `benches/peers/numba_sim.py`. All three run in turns, and every result is compared with a
//! product in double precision. A second measurement says how much memory a live thread takes.
//!
//! `cargo bench --bench simulator -- [--size N] [--peer | --python PATH] [--out DIR [--commit ID] [--date YYYY-MM-DD]]`
//! prints a table and writes `simulator.json` and `simulator.md` into DIR. `--peer` installs Numba below `target`;
//! `--python` names an interpreter that has it. With neither, the peer is not run. At 256, the size that counts, it
//! takes about eight minutes a round.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use cuda_sim::{Checks, GlobalBuffer, Launch};
use kernels_gpu::host;
use serde::{Deserialize, Serialize};
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Plan, Policy, plan};
use tilewright::{DType, Family, GemmShape, Operand, SimOptions, random};
use tilewright_contract::GemmParams;

/// Times the simulator against Numba's.
#[derive(Parser)]
struct Arguments {
    /// Rows and columns of the matrices.
    #[arg(long, default_value_t = GOAL_SIZE)]
    size: usize,
    /// How often each side runs.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// A Python that has numba-cuda.
    #[arg(long, conflicts_with = "peer")]
    python: Option<PathBuf>,
    /// Install numba-cuda into target/numba-venv and run the peer with it.
    #[arg(long)]
    peer: bool,
    /// Where the result files go.
    #[arg(long)]
    out: Option<PathBuf>,
    /// The commit that was built.
    #[arg(long, default_value = "unknown")]
    commit: String,
    /// The date of the run.
    #[arg(long, default_value = "unknown")]
    date: String,
    /// Measures memory, in a process of its own, and prints bytes.
    #[arg(long, hide = true)]
    memory: Option<Checked>,
    /// What `cargo bench` passes.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The size that the goals are for.
const GOAL_SIZE: usize = 256;

/// The two ways in which ours runs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Checked {
    /// No access is looked at.
    Off,
    /// Every access is checked and counted.
    Full,
}

impl Checked {
    const BOTH: [Checked; 2] = [Checked::Off, Checked::Full];

    fn checks(self) -> Checks {
        match self {
            Checked::Off => Checks::Off,
            Checked::Full => Checks::Full,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Checked::Off => "ours, unchecked",
            Checked::Full => "ours, fully checked",
        }
    }

    /// How many times faster than the peer it shall be at [`GOAL_SIZE`].
    fn goal(self) -> f64 {
        match self {
            Checked::Off => 500.0,
            Checked::Full => 100.0,
        }
    }
}

#[derive(Serialize)]
struct Results {
    date: String,
    commit: String,
    processor: String,
    cores: usize,
    size: usize,
    rounds: u32,
    /// The peer's simulator and Python; `None` where it was not run.
    peer: Option<About>,
    rows: Vec<Row>,
    memory: Vec<Memory>,
}

#[derive(Serialize)]
struct Row {
    side: &'static str,
    /// Seconds of the launch alone: median, least and most.
    seconds: f64,
    least: f64,
    most: f64,
    /// The peer's time over this one's, pair by pair: median, least and most. `None` for the peer, or without it.
    ratio: Option<[f64; 3]>,
    goal: Option<f64>,
}

#[derive(Serialize)]
struct Memory {
    side: &'static str,
    live_threads: usize,
    /// Resident memory at its peak less that before the launch, over the live threads.
    bytes_per_thread: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    if let Some(checked) = arguments.memory {
        println!("{}", memory_per_thread(checked)?);
        return Ok(());
    }
    let python = match &arguments.python {
        Some(python) => Some(python.clone()),
        None if arguments.peer => Some(install_peer()?),
        None => None,
    };
    let mut peer = python.map(|python| Peer::start(&python, arguments.size)).transpose()?;
    if peer.is_none() {
        println!("The peer was not run: --peer installs it, --python PATH names a Python that has numba-cuda.\n");
    }

    let product = Product::new(arguments.size, 16)?;
    for checked in Checked::BOTH {
        // The first run also pays for what the process does only once.
        product.run(checked)?;
    }
    let mut times: [Vec<f64>; 3] = Default::default();
    for round in 1..=arguments.rounds {
        for (times, checked) in times.iter_mut().zip(Checked::BOTH) {
            times.push(product.run(checked)?);
        }
        if let Some(peer) = &mut peer {
            times[2].push(peer.run()?);
            let seconds = times[2].last().copied().unwrap_or_default();
            println!("round {round} of {}: {seconds:.1} s in Numba", arguments.rounds);
        }
    }

    let results = Results {
        date: arguments.date,
        commit: arguments.commit,
        processor: processor(),
        cores: std::thread::available_parallelism()?.get(),
        size: arguments.size,
        rounds: arguments.rounds,
        peer: peer.map(|peer| peer.about),
        rows: rows(&times, arguments.size),
        memory: memory()?,
    };
    let table = results.markdown()?;
    print!("{table}");
    if let Some(out) = &arguments.out {
        std::fs::create_dir_all(out)?;
        std::fs::write(out.join("simulator.md"), table)?;
        std::fs::write(
            out.join("simulator.json"),
            serde_json::to_string_pretty(&results)? + "\n",
        )?;
    }
    Ok(())
}

/// A product of two square matrices, on the host and in the simulator.
struct Product {
    shape: GemmShape,
    plan: Plan,
    a: GlobalBuffer<f32>,
    b: GlobalBuffer<f32>,
    /// In double precision, and how far a sum of single precision may be off.
    expected: Vec<(f64, f64)>,
}

impl Product {
    fn new(size: usize, width: u32) -> Result<Self, Box<dyn Error>> {
        let shape = GemmShape::packed(size, size, size)?;
        let policy = Policy {
            family: Some(Family::TILED_STATIC),
            tile: Some(width),
            ..Policy::default()
        };
        let profile = DeviceProfile::of_arch(SimOptions::default().architecture);
        let plan = plan(&shape, DType::F32, &profile, &policy)?;
        let a: Vec<f32> = random::random_matrix(1, shape.span_elems(Operand::A));
        let b: Vec<f32> = random::random_matrix(2, shape.span_elems(Operand::B));
        let element = |at: usize| {
            let (row, column) = (at / size, at % size);
            let products = (0..size).map(|k| f64::from(a[row * size + k]) * f64::from(b[k * size + column]));
            let (sum, magnitude) = products.fold((0.0, 0.0), |(sum, all): (f64, f64), x| (sum + x, all + x.abs()));
            // The usual bound of a sum's rounding: terms times epsilon times the sum of magnitudes.
            (sum, size as f64 * f64::from(f32::EPSILON) * magnitude)
        };
        Ok(Self {
            shape,
            plan,
            expected: (0..size * size).map(element).collect(),
            a: GlobalBuffer::matrix(&a, size, size, size),
            b: GlobalBuffer::matrix(&b, size, size, size),
        })
    }

    /// Seconds of one launch. Its result is checked afterwards.
    fn run(&self, checked: Checked) -> Result<f64, Box<dyn Error>> {
        let size = self.shape.m();
        let kernel = host::find::<f32>(self.plan.kernel().symbol).ok_or("no such kernel on the host")?;
        let c = GlobalBuffer::<f32>::matrix_uninit(size, size, size);
        let [x, y] = self.plan.kernel().block;
        let launch = Launch::new(self.plan.summary().grid, (x, y)).checks(checked.checks());
        let params = || GemmParams {
            a: self.a.as_ptr(),
            b: self.b.as_ptr(),
            c: c.as_mut_ptr(),
            ..self.plan.params(1, [1.0, 0.0])
        };
        let begin = Instant::now();
        // SAFETY: the buffers are the matrices of the plan; grid and block are its, and it has no slices.
        let report = launch.run(|| unsafe { kernel.call(&params(), None) });
        let seconds = begin.elapsed().as_secs_f64();
        if !report.is_clean() {
            return Err(report.to_string().into());
        }
        // NaN is no number within the bound.
        let is_right = |found: f32, (expected, bound): (f64, f64)| (f64::from(found) - expected).abs() <= bound;
        let wrong = black_box(c.to_vec())
            .into_iter()
            .zip(&self.expected)
            .position(|(found, &expected)| !is_right(found, expected));
        match wrong {
            None => Ok(seconds),
            Some(at) => Err(format!("{}: element {at} is wrong", checked.name()).into()),
        }
    }
}

/// What the peer says of itself.
#[derive(Serialize, Deserialize)]
struct About {
    simulator: String,
    numpy: String,
    python: String,
}

#[derive(Deserialize)]
struct PeerRun {
    seconds: f64,
    error_over_bound: f64,
}

/// Numba's simulator in a process of its own, which runs once for each line that it gets.
struct Peer {
    about: About,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Peer {
    fn start(python: &Path, size: usize) -> Result<Self, Box<dyn Error>> {
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
    fn run(&mut self) -> Result<f64, Box<dyn Error>> {
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
fn install_peer() -> Result<PathBuf, Box<dyn Error>> {
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

/// Each way's memory, in a process that has done nothing else.
fn memory() -> Result<Vec<Memory>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for checked in Checked::BOTH {
        let value = checked.to_possible_value().expect("no kernel is skipped");
        let output = Command::new(std::env::current_exe()?)
            .args(["--memory", value.get_name()])
            .stderr(Stdio::inherit())
            .output()?;
        let live_threads = live_threads()?;
        let bytes: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
        rows.push(Memory {
            side: checked.name(),
            live_threads,
            bytes_per_thread: bytes,
        });
    }
    Ok(rows)
}

/// The threads that live at one time in a launch of the largest blocks: one block for each core.
fn live_threads() -> Result<usize, Box<dyn Error>> {
    Ok(std::thread::available_parallelism()?.get() * 1024)
}

/// Runs blocks of 1024 threads and watches the process's resident memory. The buffers are there before; the memory that
/// the simulator keeps about them is counted.
fn memory_per_thread(checked: Checked) -> Result<u64, Box<dyn Error>> {
    let product = Product::new(128, 32)?;
    let before = resident_bytes()?;
    let done = AtomicBool::new(false);
    let peak = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut peak = 0;
            while !done.load(Relaxed) {
                peak = peak.max(resident_bytes().unwrap_or(0));
                std::thread::sleep(Duration::from_micros(200));
            }
            peak
        });
        let result = product.run(checked);
        done.store(true, Relaxed);
        result.map(|_| watch.join().expect("the watch does not panic"))
    })?;
    Ok(peak.saturating_sub(before) / live_threads()? as u64)
}

/// This process's resident memory.
fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS in /proc/self/status")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024)
}

/// The processor's name, as Linux tells it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("unknown", |(_, name)| name).to_owned()
}

/// Median, least and most of a sample that is not empty.
fn spread(sample: &[f64]) -> [f64; 3] {
    let mut sample = sample.to_vec();
    sample.sort_by(f64::total_cmp);
    [sample[sample.len() / 2], sample[0], sample[sample.len() - 1]]
}

fn rows(times: &[Vec<f64>; 3], size: usize) -> Vec<Row> {
    let [.., peer] = times;
    let mut rows = Vec::new();
    for (ours, checked) in times.iter().zip(Checked::BOTH) {
        let [seconds, least, most] = spread(ours);
        let ratios: Vec<f64> = ours.iter().zip(peer).map(|(ours, peer)| peer / ours).collect();
        rows.push(Row {
            side: checked.name(),
            seconds,
            least,
            most,
            ratio: (!ratios.is_empty()).then(|| spread(&ratios)),
            goal: (size == GOAL_SIZE).then_some(checked.goal()),
        });
    }
    if !peer.is_empty() {
        let [seconds, least, most] = spread(peer);
        rows.push(Row {
            side: "Numba",
            seconds,
            least,
            most,
            ratio: None,
            goal: None,
        });
    }
    rows
}

impl Results {
    fn markdown(&self) -> Result<String, std::fmt::Error> {
        let Self { size, .. } = self;
        let mut text = String::new();
        writeln!(text, "# The simulator against Numba's\n")?;
        let peer = match &self.peer {
            Some(peer) => format!("{}, NumPy {}, Python {}", peer.simulator, peer.numpy, peer.python),
            None => "the peer was not run".to_owned(),
        };
        writeln!(
            text,
            "16 x 16 tiled matrix product, {size} x {size} x {size} in f32, on {} ({} cores); {peer}. Commit {}, {}. \
             {} rounds, all sides in turns, every result checked. Seconds are those of the launch alone; ratio: \
             Numba's time over ours.\n",
            self.processor, self.cores, self.commit, self.date, self.rounds
        )?;
        writeln!(
            text,
            "| side | seconds, median [least, most] | ratio, median [least, most] | goal |"
        )?;
        writeln!(text, "|---|---:|---:|---:|")?;
        for row in &self.rows {
            let ratio = match row.ratio {
                Some([median, least, most]) => format!("{median:.0} [{least:.0}, {most:.0}]"),
                None => String::new(),
            };
            let goal = row.goal.map(|goal| format!("{goal:.0}")).unwrap_or_default();
            writeln!(
                text,
                "| {} | {:.3} [{:.3}, {:.3}] | {ratio} | {goal} |",
                row.side, row.seconds, row.least, row.most
            )?;
        }
        writeln!(
            text,
            "\nMemory of a live thread, with blocks of 1024 threads: the process's resident memory at its peak less \
             that before the launch, over the threads that live at one time. The goal is 64 KiB.\n"
        )?;
        writeln!(text, "| side | live threads | KiB a thread |\n|---|---:|---:|")?;
        for row in &self.memory {
            let kib = row.bytes_per_thread as f64 / 1024.0;
            writeln!(text, "| {} | {} | {kib:.1} |", row.side, row.live_threads)?;
        }
        Ok(text)
    }
}
