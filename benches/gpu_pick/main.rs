//! How good the planner's choice among our own kernels is, on a GPU.
//!
//! For each shape and element type every candidate is checked, then all are timed in turns on the same random inputs.
//! Reported is the time of the planner's choice over that of the fastest.
//!
//! `gpu_pick --out DIR [--commit ID] [--date YYYY-MM-DD]` writes `pick.json` and `pick.md` into DIR.
//!
//! `--calibrate` times other shapes, fits the planner's cost model to them, and writes `calibration.json` (the times)
//! and `speed.txt` (the coefficients), which `cargo xtask results` puts into the planner. For each element type it
//! takes those of the fitted coefficients with which it chooses better among what was timed, by more than the spread of
//! the times, else the previous ones. Kernels that are not timed keep theirs. `--speeds FILE` replaces the planner's
//! coefficients. `--fit calibration.json` fits to filed times and needs no GPU.

mod fit;
mod shapes;
mod speed;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Parser;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use shapes::{CALIBRATION, NAMED, SHAPES, layouts};
use speed::{Filed, Machine};
use tilewright::check::{DEFAULT_SEED, Expected};
use tilewright::dispatch::{Plan, Policy, Speeds, estimate_us, plan};
use tilewright::launch::Gpu;
use tilewright::{DType, Element, Gemm, GemmShape, KERNELS, Kernel, Operand, Precision, Transpose, random};
use tilewright_harness::bench::{Quartiles, choice_name, rows_on_lines};
use tilewright_harness::digest;

/// Times every candidate of the planner over many shapes.
#[derive(Parser)]
struct Arguments {
    /// Where the result files go.
    #[arg(long)]
    out: PathBuf,
    /// The commit that was built.
    #[arg(long, default_value = "unknown")]
    commit: String,
    /// The date of the run.
    #[arg(long, default_value = "unknown")]
    date: String,
    /// Time the shapes of the calibration and fit the model to them.
    #[arg(long)]
    calibrate: bool,
    /// Fit the model to the times of an earlier calibration, without a GPU.
    #[arg(long, conflicts_with = "calibrate")]
    fit: Option<PathBuf>,
    /// The table of speeds that the planner chooses by.
    #[arg(long)]
    speeds: Option<PathBuf>,
    /// Only this element type.
    #[arg(long)]
    dtype: Option<DType>,
    /// Timed rounds; in each, every candidate runs in its turn.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// What `cargo bench` passes.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Split-K factors that are tried.
const SPLITS: [u32; 13] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];
/// Most work tiles of a split-K launch for each SM; each split of a tile counts.
const TILES_PER_SM: u32 = 8;

/// Whether the planner may take a kernel unasked, and its tile is no width that a policy could name.
fn has_own_tile(kernel: &Kernel) -> bool {
    kernel.family.is_automatic() && kernel.widths.is_none()
}

/// Every plan that the planner could make for a product in this arithmetic or a more precise one.
fn candidates(gpu: &Gpu, shape: &GemmShape, dtype: DType, precision: Precision) -> Vec<Plan> {
    let named = NAMED.map(|(family, tile)| Policy {
        family: Some(family),
        tile: Some(tile),
        ..Policy::default()
    });
    let blocks = KERNELS
        .iter()
        .filter(|kernel| has_own_tile(kernel) && kernel.precision >= precision && kernel.taken(shape).is_some())
        .flat_map(|kernel| {
            SPLITS.map(|splits| Policy {
                kernel: Some(kernel),
                splits: Some(splits),
                ..Policy::default()
            })
        });
    let sms = gpu.profile().installed.as_ref().map_or(0, |installed| installed.sms);
    let mut plans: Vec<Plan> = Vec::new();
    for policy in named.into_iter().chain(blocks) {
        // A tile that does not fit this element type is no candidate.
        let Ok(plan) = plan(shape, dtype, gpu.profile(), &policy) else {
            continue;
        };
        let work = plan.work();
        let known = plans.iter().any(|other| {
            let other = other.work();
            // Of one tile the first entry point, which copies vectors where it can.
            let same = other.kernel.has_same_tile(&work.kernel) && other.kernel.family == work.kernel.family;
            same && other.splits == work.splits
        });
        // Work tiles, not CTAs: a persistent CTA computes several.
        if !known && (work.splits == 1 || plan.grid().tiles() <= TILES_PER_SM * sms) {
            plans.push(plan);
        }
    }
    plans
}

/// A regret of at most this is as good as the best: launches of one kernel differ by as much.
const WITHIN: f64 = 0.05;

#[derive(Serialize)]
struct Results {
    date: String,
    commit: String,
    device: String,
    driver: String,
    /// The SM clock that the driver reports; the coefficients are cycles of it.
    clock_khz: u32,
    rounds: usize,
    /// Of each kernel that was timed.
    digests: BTreeMap<String, String>,
    rows: Vec<Row>,
}

/// One shape and element type.
#[derive(Serialize, Deserialize)]
struct Row {
    m: usize,
    n: usize,
    k: usize,
    /// Whether A and B lie transposed.
    #[serde(default)]
    transpose: [bool; 2],
    dtype: String,
    candidates: Vec<Candidate>,
    picked: String,
    /// Time of the picked kernel over that of the fastest.
    over_best: f64,
}

#[derive(Serialize, Deserialize)]
struct Candidate {
    kernel: String,
    tile: [u32; 2],
    splits: u32,
    /// Median.
    us: f64,
    us_q1: f64,
    us_q3: f64,
    /// What the planner expected; null of a kernel that it does not price.
    estimated_us: Option<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let speeds = match &arguments.speeds {
        Some(file) => Speeds::read(std::fs::read_to_string(file)?)?,
        None => Speeds::default(),
    };
    std::fs::create_dir_all(&arguments.out)?;
    let write_speed = |text: &str| -> std::io::Result<()> {
        print!("{text}");
        std::fs::write(arguments.out.join("speed.txt"), text)
    };
    if let Some(file) = &arguments.fit {
        let filed: Filed = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        write_speed(&filed.speed(&speeds)?)?;
        return Ok(());
    }
    let gpu = Gpu::open(0)?;
    let mut results = Results {
        date: arguments.date,
        commit: arguments.commit,
        device: gpu.profile().name.clone(),
        driver: gpu
            .profile()
            .installed
            .as_ref()
            .map_or_else(String::new, |installed| installed.driver.clone()),
        clock_khz: gpu.profile().installed.as_ref().ok_or("a device")?.clock_khz,
        rounds: arguments.rounds,
        digests: BTreeMap::new(),
        rows: Vec::new(),
    };
    let shapes: Vec<_> = match arguments.calibrate {
        true => (0..)
            .zip(&CALIBRATION)
            .flat_map(|(number, shape)| layouts(number).map(|layout| (shape, layout)))
            .collect(),
        false => SHAPES.iter().map(|shape| (shape, [Transpose::No; 2])).collect(),
    };
    for (&(m, n, k), layout) in shapes {
        let shape = GemmShape::packed_transposed(m, n, k, layout)?;
        for dtype in DType::ALL
            .into_iter()
            .filter(|&dtype| arguments.dtype.is_none_or(|only| only == dtype))
        {
            let row = match dtype {
                DType::F32 => row::<f32>,
                DType::F64 => row::<f64>,
                DType::F16 => row::<f16>,
                DType::Bf16 => row::<bf16>,
            };
            // What is allowed unasked is judged, all is measured.
            let precision = match arguments.calibrate {
                true => Precision::ALL[0],
                false => Precision::default(),
            };
            results
                .rows
                .extend(row(&gpu, &shape, precision, &speeds, arguments.rounds)?);
        }
    }
    results.digests = digests(&gpu, &results.rows);
    if arguments.calibrate {
        let machine = Machine::of(&results.device, results.clock_khz)?;
        write_speed(&speed::text(&results.rows, &results.digests, &machine, &speeds)?)?;
        std::fs::write(arguments.out.join("calibration.json"), rows_on_lines(&results)?)?;
        return Ok(());
    }
    let table = results.markdown()?;
    print!("{table}");
    std::fs::write(arguments.out.join("pick.md"), table)?;
    std::fs::write(arguments.out.join("pick.json"), rows_on_lines(&results)?)?;
    Ok(())
}

/// The digests of the kernels that were timed.
fn digests(gpu: &Gpu, rows: &[Row]) -> BTreeMap<String, String> {
    let timed: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row.candidates.iter().map(|candidate| candidate.kernel.as_str()))
        .collect();
    let known = |kernel: &&Kernel| timed.contains(kernel.symbol);
    KERNELS
        .iter()
        .filter(known)
        .filter_map(|kernel| {
            let digest = digest::of_kernel(kernel.symbol, gpu.level().arch)?;
            Some((kernel.symbol.to_owned(), digest))
        })
        .collect()
}

/// `None` where no kernel is timed in this layout.
fn row<T: Element>(
    gpu: &Gpu,
    shape: &GemmShape,
    precision: Precision,
    speeds: &Speeds,
    rounds: usize,
) -> Result<Option<Row>, Box<dyn Error>> {
    let mut plans = candidates(gpu, shape, T::DTYPE, precision);
    if plans.is_empty() {
        return Ok(None);
    }
    let a_host: Vec<T> = random::random_matrix(1, shape.span_elems(Operand::A));
    let b_host: Vec<T> = random::random_matrix(2, shape.span_elems(Operand::B));
    let (a, b) = (gpu.upload(&a_host)?, gpu.upload(&b_host)?);
    let policy = Policy {
        precision,
        speeds: *speeds,
        ..Policy::default()
    };
    let picked = plan(shape, T::DTYPE, gpu.profile(), &policy)?;
    let launch = |plan: &Plan| (plan.kernel().symbol, plan.kernel().tile, plan.work().splits);
    // The planner tries more split-K factors than are timed here.
    if !plans.iter().any(|plan| launch(plan) == launch(&picked)) {
        plans.push(picked.clone());
    }
    let mut host = vec![T::from_f64(0.0); shape.span_elems(Operand::C)];
    let mut c = gpu.upload(&host)?;
    let mut launches = Vec::new();
    for plan in &plans {
        // A NaN of every type.
        c.fill_bytes(0xff)?;
        gpu.launch(plan, &Gemm::new(plan.shape()), &a, &b, &mut c)?;
        gpu.synchronize()?;
        c.download(&mut host)?;
        let expected = Expected::product(shape, &a_host, &b_host)?.with_precision(plan.kernel().precision)?;
        expected.sampled(&host, DEFAULT_SEED)?.into_result()?;
        // Short kernels in a row, so that the clock of events, half a microsecond, does not decide.
        let once = gpu.time_ms(|| gpu.launch(plan, &Gemm::new(plan.shape()), &a, &b, &mut c))?;
        launches.push((0.2 / once).clamp(1.0, 50.0) as u32);
    }
    let mut times = vec![Vec::new(); plans.len()];
    for _ in 0..rounds {
        for ((plan, &launches), times) in plans.iter().zip(&launches).zip(&mut times) {
            let ms = gpu.time_ms(|| {
                (0..launches).try_for_each(|_| gpu.launch(plan, &Gemm::new(plan.shape()), &a, &b, &mut c))
            })?;
            times.push(f64::from(ms) * 1e3 / f64::from(launches));
        }
    }
    let (architecture, product) = gpu
        .profile()
        .architecture()
        .zip(gpu.profile().gpu_model())
        .ok_or("this device's architecture is not in the table")?;
    let candidates: Vec<Candidate> = plans
        .iter()
        .zip(times)
        .filter_map(|(plan, times)| Some((plan, Quartiles::of(&times)?)))
        .map(|(plan, times)| Candidate {
            kernel: plan.kernel().symbol.to_owned(),
            tile: [plan.kernel().tile.m, plan.kernel().tile.n],
            splits: plan.work().splits,
            us: times.median,
            us_q1: times.q1,
            us_q3: times.q3,
            estimated_us: estimate_us(&plan.work(), shape, &architecture, &product, speeds),
        })
        .collect();
    let best = candidates
        .iter()
        .map(|candidate| candidate.us)
        .fold(f64::INFINITY, f64::min);
    let summary = picked.summary();
    let taken = candidates
        .iter()
        .find(|candidate| {
            (candidate.kernel.as_str(), candidate.tile, candidate.splits)
                == (summary.kernel, summary.tile, summary.splits)
        })
        .ok_or_else(|| {
            format!(
                "the planner picked what is not timed here: {} {:?} {}",
                summary.kernel, summary.tile, summary.splits
            )
        })?;
    Ok(Some(Row {
        m: shape.m(),
        n: shape.n(),
        k: shape.k(),
        transpose: [Operand::A, Operand::B].map(|operand| shape.transpose(operand) == Transpose::Yes),
        dtype: T::DTYPE.name().to_owned(),
        picked: name(taken),
        over_best: taken.us / best,
        candidates,
    }))
}

/// What it is called in the results.
fn name(candidate: &Candidate) -> String {
    choice_name(&candidate.kernel, candidate.tile, candidate.splits)
}

impl Results {
    fn markdown(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        writeln!(text, "# The planner's choice against every candidate\n")?;
        writeln!(
            text,
            "{}, driver CUDA {}, commit {}, {}. Random data, every candidate checked before timing; {} rounds in which \
             each runs in its turn, medians. Over best: time of the picked kernel over that of the fastest.\n",
            self.device, self.driver, self.commit, self.date, self.rounds
        )?;
        writeln!(
            text,
            "| type | rows | within {:.0} % | median | worst |",
            WITHIN * 100.0
        )?;
        writeln!(text, "|---|---:|---:|---:|---:|")?;
        for dtype in ["f32", "f64", "f16", "bf16"] {
            let of: Vec<f64> = self
                .rows
                .iter()
                .filter(|row| row.dtype == dtype)
                .map(|row| row.over_best)
                .collect();
            let Some(Quartiles { median, .. }) = Quartiles::of(&of) else {
                continue;
            };
            let good = of.iter().filter(|&&over| over <= 1.0 + WITHIN).count();
            writeln!(
                text,
                "| {dtype} | {} | {good} ({:.0} %) | {:.3} | {:.3} |",
                of.len(),
                100.0 * good as f64 / of.len() as f64,
                median,
                of.iter().copied().fold(0.0, f64::max)
            )?;
        }
        writeln!(
            text,
            "\n| m x n x k | type | picked | us | expected us | fastest | us | over best |"
        )?;
        writeln!(text, "|---|---|---|---:|---:|---|---:|---:|")?;
        for row in &self.rows {
            let by = |us: &Candidate, other: &Candidate| us.us.total_cmp(&other.us);
            let (Some(best), Some(taken)) = (
                row.candidates.iter().min_by(|a, b| by(a, b)),
                row.candidates.iter().find(|candidate| name(candidate) == row.picked),
            ) else {
                continue;
            };
            writeln!(
                text,
                "| {} x {} x {} | {} | {} | {:.1} | {:.1} | {} | {:.1} | {:.3} |",
                row.m,
                row.n,
                row.k,
                row.dtype,
                row.picked,
                taken.us,
                taken.estimated_us.unwrap_or(f64::NAN),
                name(best),
                best.us,
                row.over_best
            )?;
        }
        Ok(text)
    }
}
