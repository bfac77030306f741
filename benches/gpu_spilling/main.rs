//! What spilling registers into shared memory gains, does not change, or costs, on a GPU.
//!
//! For each size of each problem: every twin's result is checked first, then the twins of one line of the table
//! (`kept`, `local`, `shared`, where there is one `unbounded`) are timed in turns on the same random inputs. Reported
//! are the ratios of neighbouring times: `local / shared` above 1 means that the pragma gains, `kept / shared` above 1
//! that capping registers and spilling gains over having enough of them.
//!
//! `gpu_spilling --out DIR [--counters FILE] [--commit ID] [--date YYYY-MM-DD]` writes `spilling.json` and
//! `spilling.md` into DIR. `gpu_spilling --once` launches each twin once a size and measures nothing: under `ncu --csv`
//! it writes the FILE that `--counters` puts beside the times.

mod counters;
mod problem;
mod table;

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;
use serde::Serialize;
use tilewright::DType;
use tilewright::bench::{Quartiles, rows_on_lines};
use tilewright::launch::Gpu;
use tilewright::ptx;
use tilewright::spilling::{Family, Spills, TWINS, Twin, Twins};

use counters::{Counted, Counters};
use problem::Problem;

/// Times twins that spill against those that do not.
#[derive(Parser)]
struct Arguments {
    /// Where the result files go.
    #[arg(long, required_unless_present = "once")]
    out: Option<PathBuf>,
    /// What `ncu --csv` wrote of `--once`.
    #[arg(long)]
    counters: Option<PathBuf>,
    /// Launch each twin once a size, and nothing else.
    #[arg(long)]
    once: bool,
    /// The commit that was built.
    #[arg(long, default_value = "unknown")]
    commit: String,
    /// The date of the run.
    #[arg(long, default_value = "unknown")]
    date: String,
    /// Timed samples of each twin and size.
    #[arg(long, default_value = "21")]
    rounds: NonZeroUsize,
    /// What `cargo bench` passes.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The problems, each of three sizes.
const PROBLEMS: [(Family, DType); 3] = [
    (Family::RegisterTile, DType::F32),
    (Family::Inverse8, DType::F32),
    (Family::Inverse8, DType::F64),
];

/// A sample is of as many launches as take so long together: shorter ones would measure the events.
const SAMPLE_MS: f32 = 0.2;

#[derive(Serialize)]
struct Results {
    date: String,
    commit: String,
    device: String,
    driver: String,
    rounds: usize,
    twins: Vec<Resources>,
    rows: Vec<Row>,
}

/// A twin as the driver compiled it.
#[derive(Serialize)]
struct Resources {
    symbol: &'static str,
    /// The digest of its PTX.
    digest: Option<String>,
    registers: u32,
    local_bytes: u32,
    static_bytes: u32,
    blocks_per_multiprocessor: u32,
}

/// One line of the table of twins, with one size.
#[derive(Serialize)]
struct Row {
    family: &'static str,
    dtype: &'static str,
    size: String,
    threads: u32,
    max_registers: u32,
    kept: Time,
    local: Time,
    shared: Time,
    unbounded: Option<Time>,
    /// Above 1: the pragma gains.
    local_over_shared: Ratio,
    /// Above 1: capping registers and spilling into shared memory gains.
    kept_over_shared: Ratio,
    /// Below 1: the pragma without launch bounds costs.
    local_over_unbounded: Option<Ratio>,
}

#[derive(Serialize)]
struct Time {
    symbol: &'static str,
    /// Median of a launch.
    ms: f64,
    /// TFLOP/s or TB/s, as the size says.
    rate: f64,
    counters: Option<Counters>,
}

/// Ratios of neighbouring times.
#[derive(Serialize)]
struct Ratio {
    median: f64,
    q1: f64,
    q3: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let gpu = Gpu::open(0)?;
    let twins = Twins::load(&gpu)?;
    if arguments.once {
        return once(&gpu, &twins);
    }
    let counted = arguments.counters.as_deref().map(Counted::read).transpose()?;
    let installed = gpu.profile().installed.as_ref();
    let mut results = Results {
        date: arguments.date,
        commit: arguments.commit,
        device: gpu.profile().name.clone(),
        driver: installed.map_or_else(String::new, |installed| installed.driver.clone()),
        rounds: arguments.rounds.get(),
        twins: TWINS
            .iter()
            .map(|twin| Resources::of(&twins, twin))
            .collect::<Result<_, _>>()?,
        rows: Vec::new(),
    };
    for (family, dtype) in PROBLEMS {
        for size in 0..problem::SIZES {
            let mut problem = problem::of(&gpu, family, dtype, size)?;
            check(&mut *problem, &twins, family, dtype)?;
            for shared in of_problem(family, dtype).filter(|twin| twin.spills == Spills::Shared) {
                let mut row = measure(&mut *problem, &twins, shared, arguments.rounds.get())?;
                if let (Some(counted), Some(nth)) = (&counted, problem::COUNTED.iter().position(|other| *other == size))
                {
                    row.times()
                        .for_each(|time| time.counters = counted.of(time.symbol, nth));
                }
                results.rows.push(row);
            }
        }
    }
    let table = results.markdown()?;
    print!("{table}");
    let out = arguments.out.unwrap_or_default();
    std::fs::create_dir_all(&out)?;
    std::fs::write(out.join("spilling.md"), table)?;
    std::fs::write(out.join("spilling.json"), rows_on_lines(&results)?)?;
    Ok(())
}

fn of_problem(family: Family, dtype: DType) -> impl Iterator<Item = &'static Twin> {
    TWINS
        .iter()
        .filter(move |twin| (twin.family, twin.dtype) == (family, dtype))
}

/// Launches each twin once a size that is counted, in their order: what [`Counted::of`] relies on.
fn once(gpu: &Gpu, twins: &Twins<'_>) -> Result<(), Box<dyn Error>> {
    for (family, dtype) in PROBLEMS {
        for size in problem::COUNTED {
            let mut problem = problem::of(gpu, family, dtype, size)?;
            for twin in of_problem(family, dtype) {
                problem.launch(twins, twin)?;
            }
            gpu.synchronize()?;
        }
    }
    Ok(())
}

/// Compares the first twin's result with the reference and those of the others with its, to the bit.
fn check(problem: &mut dyn Problem, twins: &Twins<'_>, family: Family, dtype: DType) -> Result<(), Box<dyn Error>> {
    for (i, twin) in of_problem(family, dtype).enumerate() {
        problem.poison()?;
        problem.launch(twins, twin)?;
        let same = if i == 0 { problem.check() } else { problem.check_same() };
        same.map_err(|error| format!("{}, {}: {error}", twin.symbol, problem.label()))?;
    }
    Ok(())
}

/// Times the siblings of a twin in turns.
fn measure(
    problem: &mut dyn Problem,
    twins: &Twins<'_>,
    shared: &'static Twin,
    rounds: usize,
) -> Result<Row, Box<dyn Error>> {
    let siblings: Vec<&'static Twin> = [Spills::Kept, Spills::Local, Spills::Shared, Spills::Unbounded]
        .into_iter()
        .filter_map(|spills| shared.sibling(spills))
        .collect();
    // One untimed launch of each says how many make a sample.
    let mut launches = 1;
    for twin in &siblings {
        let ms = problem.time_ms(twins, twin, 1)?;
        launches = launches.max((SAMPLE_MS / ms).ceil() as u32);
    }
    let mut times = vec![Vec::with_capacity(rounds); siblings.len()];
    for _ in 0..rounds {
        for (twin, times) in siblings.iter().zip(&mut times) {
            times.push(f64::from(problem.time_ms(twins, twin, launches)?) / f64::from(launches));
        }
    }
    let place = |spills| siblings.iter().position(|twin| twin.spills == spills);
    let time = |spills| {
        place(spills).map(|i| {
            let ms = Quartiles::of(&times[i]).expect("at least one round").median;
            Time {
                symbol: siblings[i].symbol,
                ms,
                rate: problem.work() / (ms * 1e9),
                counters: None,
            }
        })
    };
    let ratio = |of, over| {
        let (of, over) = (&times[place(of)?], &times[place(over)?]);
        let ratios: Vec<f64> = of.iter().zip(over).map(|(of, over)| of / over).collect();
        let Quartiles { median, q1, q3 } = Quartiles::of(&ratios)?;
        Some(Ratio { median, q1, q3 })
    };
    let there = "the table has all three";
    Ok(Row {
        family: shared.family.name(),
        dtype: shared.dtype.name(),
        size: problem.label(),
        threads: shared.threads,
        max_registers: shared.max_registers.ok_or("a twin that spills has a cap")?,
        kept: time(Spills::Kept).ok_or(there)?,
        local: time(Spills::Local).ok_or(there)?,
        shared: time(Spills::Shared).ok_or(there)?,
        unbounded: time(Spills::Unbounded),
        local_over_shared: ratio(Spills::Local, Spills::Shared).ok_or(there)?,
        kept_over_shared: ratio(Spills::Kept, Spills::Shared).ok_or(there)?,
        local_over_unbounded: ratio(Spills::Local, Spills::Unbounded),
    })
}

impl Row {
    fn times(&mut self) -> impl Iterator<Item = &mut Time> {
        [&mut self.kept, &mut self.local, &mut self.shared]
            .into_iter()
            .chain(&mut self.unbounded)
    }
}

impl Resources {
    fn of(twins: &Twins<'_>, twin: &'static Twin) -> tilewright::Result<Self> {
        let usage = twins.usage(twin)?;
        Ok(Self {
            symbol: twin.symbol,
            digest: ptx::spilling().digests().get(twin.symbol).cloned(),
            registers: usage.registers,
            local_bytes: usage.local_bytes,
            static_bytes: usage.static_smem_bytes,
            blocks_per_multiprocessor: twins.blocks_per_multiprocessor(twin)?,
        })
    }
}
