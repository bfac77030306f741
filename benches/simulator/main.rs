//! The simulator against Numba's CUDA simulator: the 16 x 16 tiled matrix product, on this machine's CPU.
//!
//! Ours is an entry point of `tiled_static`, without checks of single accesses, and with every check: in one order of
//! threads, under the default schedule, and in all orders. The peer is the same kernel in
//! `benches/peers/numba_sim.py`. All run in turns, and every result is compared with a product in double precision. A
//! second measurement says how much memory a live thread takes.
//!
//! `cargo bench --bench simulator -- [--size N] [--rounds N] [--peer | --python PATH] [--peer-rounds N] [--out DIR
//! [--commit ID] [--date YYYY-MM-DD]]` prints a table and writes `simulator.json` and `simulator.md` into DIR. `--peer`
//! installs Numba below `target`; `--python` names an interpreter that has it. With neither, the peer is not run. At
//! 256, the size that counts, it takes about five minutes a round, and runs in the first `--peer-rounds` rounds alone.

mod peer;

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use cuda_sim::{Checks, GlobalBuffer, Launch, Schedule};
use kernels_gpu::host;
use serde::Serialize;
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Plan, Policy, plan};
use tilewright::{DType, Family, GemmShape, Operand, SimOptions, random};
use tilewright_contract::GemmParams;

use peer::{About, Peer};

/// Times the simulator against Numba's.
#[derive(Parser)]
struct Arguments {
    /// Rows and columns of the matrices.
    #[arg(long, default_value_t = GOAL_SIZE)]
    size: usize,
    /// How often each side runs.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How many of them the peer takes part in.
    #[arg(long, default_value_t = 1)]
    peer_rounds: u32,
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
    memory: Option<Side>,
    /// What `cargo bench` passes.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The size that the goals are for.
const GOAL_SIZE: usize = 256;

/// The ways in which ours runs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Side {
    /// No access is looked at.
    Off,
    /// Every access is checked and counted, in one order of threads.
    Full,
    /// The same under the default schedule.
    Default,
    /// The same in all orders.
    All,
}

impl Side {
    const EACH: [Side; 4] = [Side::Off, Side::Full, Side::Default, Side::All];
    /// Those whose memory is measured: runs under several orders follow each other.
    const WITH_MEMORY: [Side; 2] = [Side::Off, Side::Full];

    fn checks(self) -> Checks {
        match self {
            Side::Off => Checks::Off,
            Side::Full | Side::Default | Side::All => Checks::Full,
        }
    }

    fn schedule(self) -> Schedule {
        match self {
            Side::Off | Side::Full => Schedule::Forward,
            Side::Default => Schedule::default(),
            Side::All => Schedule::All,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Side::Off => "ours, unchecked",
            Side::Full => "ours, fully checked",
            Side::Default => "ours, default schedule",
            Side::All => "ours, all schedules",
        }
    }

    /// How many times faster than the peer it shall be at [`GOAL_SIZE`].
    fn goal(self) -> Option<f64> {
        match self {
            Side::Off => Some(500.0),
            Side::Full => Some(100.0),
            Side::Default | Side::All => None,
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
    /// Its time over the one of a single order, round by round: median, least and most. `None` but for several orders.
    over_single: Option<[f64; 3]>,
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
    if let Some(side) = arguments.memory {
        println!("{}", memory_per_thread(side)?);
        return Ok(());
    }
    let python = match &arguments.python {
        Some(python) => Some(python.clone()),
        None if arguments.peer => Some(peer::install()?),
        None => None,
    };
    let mut peer = python.map(|python| Peer::start(&python, arguments.size)).transpose()?;
    if peer.is_none() {
        println!("The peer was not run: --peer installs it, --python PATH names a Python that has numba-cuda.\n");
    }

    let product = Product::new(arguments.size, 16)?;
    for side in Side::EACH {
        // The first run also pays for what the process does only once.
        product.run(side)?;
    }
    let (mut times, mut of_peer): ([Vec<f64>; 4], Vec<f64>) = Default::default();
    for round in 1..=arguments.rounds {
        for (times, side) in times.iter_mut().zip(Side::EACH) {
            times.push(product.run(side)?);
        }
        if let Some(peer) = peer.as_mut().filter(|_| round <= arguments.peer_rounds) {
            let seconds = peer.run()?;
            println!("round {round} of {}: {seconds:.1} s in Numba", arguments.rounds);
            of_peer.push(seconds);
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
        rows: rows(&times, &of_peer, arguments.size),
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
    fn run(&self, side: Side) -> Result<f64, Box<dyn Error>> {
        let size = self.shape.m();
        let kernel = host::find::<f32>(self.plan.kernel().symbol).ok_or("no such kernel on the host")?;
        let c = GlobalBuffer::<f32>::matrix_uninit(size, size, size);
        let [x, y] = self.plan.kernel().block;
        let launch = Launch::new(self.plan.summary().grid, (x, y))
            .checks(side.checks())
            .schedule(side.schedule());
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
            Some(at) => Err(format!("{}: element {at} is wrong", side.name()).into()),
        }
    }
}

/// Each way's memory, in a process that has done nothing else.
fn memory() -> Result<Vec<Memory>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for side in Side::WITH_MEMORY {
        let value = side.to_possible_value().expect("no kernel is skipped");
        let output = Command::new(std::env::current_exe()?)
            .args(["--memory", value.get_name()])
            .stderr(Stdio::inherit())
            .output()?;
        let live_threads = live_threads()?;
        let bytes: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
        rows.push(Memory {
            side: side.name(),
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
fn memory_per_thread(side: Side) -> Result<u64, Box<dyn Error>> {
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
        let result = product.run(side);
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

fn rows(times: &[Vec<f64>; 4], of_peer: &[f64], size: usize) -> Vec<Row> {
    let over = |above: &[f64], below: &[f64]| {
        let ratios: Vec<f64> = above.iter().zip(below).map(|(above, below)| above / below).collect();
        (!ratios.is_empty()).then(|| spread(&ratios))
    };
    let row = |side, sample: &[f64]| {
        let [seconds, least, most] = spread(sample);
        Row {
            side,
            seconds,
            least,
            most,
            ratio: None,
            goal: None,
            over_single: None,
        }
    };
    let [_, single, ..] = times;
    let ours = times.iter().zip(Side::EACH).map(|(sample, side)| Row {
        ratio: over(of_peer, sample),
        goal: side.goal().filter(|_| size == GOAL_SIZE),
        over_single: over(sample, single).filter(|_| matches!(side, Side::Default | Side::All)),
        ..row(side.name(), sample)
    });
    let peer = (!of_peer.is_empty()).then(|| row("Numba", of_peer));
    ours.chain(peer).collect()
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
             Numba's time over ours; over one: the time over that of one order, fully checked.\n",
            self.processor, self.cores, self.commit, self.date, self.rounds
        )?;
        writeln!(
            text,
            "| side | seconds, median [least, most] | ratio, median [least, most] | goal | over one |"
        )?;
        writeln!(text, "|---|---:|---:|---:|---:|")?;
        for row in &self.rows {
            let spread = |ratio: Option<[f64; 3]>, digits: usize| match ratio {
                Some([median, least, most]) => format!("{median:.digits$} [{least:.digits$}, {most:.digits$}]"),
                None => String::new(),
            };
            let (ratio, over_single) = (spread(row.ratio, 0), spread(row.over_single, 2));
            let goal = row.goal.map(|goal| format!("{goal:.0}")).unwrap_or_default();
            writeln!(
                text,
                "| {} | {:.3} [{:.3}, {:.3}] | {ratio} | {goal} | {over_single} |",
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
