//! How good the planner's choice among our own kernels is, on a GPU.
//!
//! For random shapes of each element type, in all layouts, every candidate is checked, then all are timed in turns on
//! the same random inputs. Reported is the time of the planner's choice over that of the fastest. Candidates that the
//! planner expects to take more than twice as long as its choice are left out.
//!
//! `gpu_pick --out DIR [--dtype TYPE] [--commit ID] [--date YYYY-MM-DD]` writes `pick.json` into DIR.
//!
//! `--calibrate` times the candidates of other shapes, fits the coefficients of the planner's cost model to the times,
//! and writes `calibration.json` (the times) and `speed.txt` (the coefficients), which `cargo xtask results` puts into
//! the planner. Types that are not timed keep their coefficients. `--speeds FILE` replaces the planner's coefficients.
//! `--keep calibration.json` times only kernels that have changed since those times, or are new, and keeps the others'.
//! `--fit calibration.json...` fits to the times of calibrations, as written or as filed, and needs no GPU. Types of
//! which kernels have changed since keep their coefficients, f16 and bf16 unless the other one's are current: these two
//! are fitted together. `--fit-fp8 fp8-choice.json` does so for FP8.

mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde::Serialize;
use shapes::{BATCHES, CALIBRATION, FEW_TOKENS, TINY, layouts};
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Speeds, plan};
use tilewright::launch::Gpu;
use tilewright::{DType, GemmShape, Precision, Transpose, ptx};
use tilewright_harness::bench::{choice_name, rows_on_lines};
use tilewright_harness::calibration::{Filed, Fp8Filed, Machine, Quality, Row, Session, Timed, fitted, speeds_text};
use tilewright_harness::digest;
use tilewright_harness::shapes::{PICK_SEED, TRAINING_SEED, layout, log_uniform};

/// Times the candidates of the planner over many shapes.
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
    /// Times of an earlier calibration: kernels that have not changed since are not timed again on the same device.
    #[arg(long, requires = "calibrate")]
    keep: Option<PathBuf>,
    /// Fit the model to the times of earlier calibrations of one device, without a GPU.
    #[arg(long, num_args = 1.., conflicts_with = "calibrate")]
    fit: Vec<PathBuf>,
    /// Fit the model of FP8 kernels to the times of the suite `fp8-choice`, without a GPU.
    #[arg(long, conflicts_with_all = ["calibrate", "fit"])]
    fit_fp8: Option<PathBuf>,
    /// The table of speeds that the planner chooses by.
    #[arg(long)]
    speeds: Option<PathBuf>,
    /// Only this element type.
    #[arg(long)]
    dtype: Option<DType>,
    /// Random shapes of each element type on which the choice is judged.
    #[arg(long, default_value_t = 400)]
    shapes: usize,
    /// Timed rounds; in each, every candidate runs in its turn.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// What `cargo bench` passes.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Random shapes of each element type that the model is fitted to, besides the listed ones.
const TRAINING_SHAPES: usize = 360;

/// Of so many of them every candidate is timed. Of the others those that dispatch may choose and does not expect to be
/// slow: a choice is between these, and they are timed in less time than all.
const WITH_EVERY_CANDIDATE: usize = 120;

/// After so many products a line says how far a run is.
const PRODUCTS_OF_A_LINE: usize = 20;

/// A run.
#[derive(Serialize)]
struct Results<R> {
    date: String,
    commit: String,
    device: String,
    driver: String,
    /// The SM clock that the driver reports; the coefficients are cycles of it.
    clock_khz: u32,
    /// What the planner takes the memory for: of the driver, or of a data sheet where the driver does not say.
    dram_bytes_per_second: Option<u64>,
    rounds: usize,
    /// Of the random shapes.
    seed: u64,
    /// Of each kernel that a row names.
    digests: BTreeMap<String, String>,
    rows: Vec<R>,
}

/// The choice for one shape and element type.
#[derive(Serialize)]
struct Pick {
    m: usize,
    n: usize,
    k: usize,
    transpose: [bool; 2],
    dtype: String,
    picked: String,
    /// Time of the picked kernel over that of the fastest.
    over_best: f64,
    /// Number of candidates that were timed.
    timed: usize,
    /// Of them the picked one and the fastest.
    candidates: Vec<Timed>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let speeds = match &arguments.speeds {
        Some(file) => Speeds::read(std::fs::read_to_string(file)?)?,
        None => Speeds::default(),
    };
    std::fs::create_dir_all(&arguments.out)?;
    if let Some(file) = &arguments.fit_fp8 {
        let filed: Fp8Filed = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        let digests = digest::of_level(ptx::fp8());
        let fitted = filed.fitted(|kernel| digests.get(kernel).cloned())?;
        print_quality("FP8", fitted.seen, fitted.unseen);
        return write_table(&arguments.out, fitted.speeds_text(&speeds));
    }
    if let Some((first, others)) = arguments.fit.split_first() {
        let mut filed = calibration(first)?;
        for other in others {
            filed = filed.and(calibration(other)?)?;
        }
        let arch = filed.machine()?.arch;
        let level = ptx::for_compute_capability(DeviceProfile::of_arch(arch).compute_capability)
            .ok_or("no PTX for the device")?;
        for dtype in filed.retain_current(|kernel| digest::of_kernel(kernel, level.arch)) {
            println!("{dtype}: left out, kernels have changed since they were timed");
        }
        return write_speeds(&arguments, &filed.rows, &filed.digests, &filed.machine()?, &speeds);
    }
    let gpu = Gpu::open(0)?;
    // What is allowed unasked is judged, all is measured.
    let precision = match arguments.calibrate {
        true => Precision::ALL[0],
        false => Precision::default(),
    };
    let kept = arguments.keep.as_deref().map(calibration).transpose()?;
    let current = |filed: &Filed| {
        let digest = |kernel: &str| digest::of_kernel(kernel, gpu.level().arch);
        filed.current(&gpu.profile().name, digest)
    };
    let session = Session {
        precision,
        rounds: arguments.rounds,
        every: arguments.calibrate,
        known: kept.as_ref().map(current).unwrap_or_default(),
        ..Session::on(&gpu, speeds)?
    };
    if arguments.calibrate {
        let random = || {
            let random = log_uniform(TRAINING_SEED, TRAINING_SHAPES).zip(0..);
            random.map(|(extents, number)| product(extents, layout(number)))
        };
        let listed = CALIBRATION.iter().zip(0..);
        let listed = listed.flat_map(|(&(m, n, k), number)| layouts(number).map(|layout| ([m, n, k], layout)));
        let of_tokens = FEW_TOKENS.map(|(m, n, k)| ([m, n, k], [Transpose::No, Transpose::Yes]));
        let tiny = TINY.map(|(m, n, k)| ([m, n, k], [Transpose::No; 2]));
        let single = listed
            .chain(of_tokens)
            .chain(tiny)
            .map(|(extents, layout)| product(extents, layout));
        let batches =
            BATCHES.map(|(count, extents)| Ok(product(extents, [Transpose::No; 2])?.with_packed_batch(count)?));
        let of_every = single.chain(random().take(WITH_EVERY_CANDIDATE)).chain(batches);
        let mut rows = rows(&session, of_every, arguments.dtype)?;
        let near = Session {
            precision: Precision::default(),
            rounds: session.rounds,
            known: session.known.clone(),
            ..Session::on(&gpu, speeds)?
        };
        let others = random().skip(WITH_EVERY_CANDIDATE);
        rows.extend(self::rows(&near, others, arguments.dtype)?);
        if let Some(kept) = kept {
            println!("times of {} kernels are kept", session.known.len());
            kept.add_to(&mut rows, &session.known);
        }
        let results = results(&session, &arguments, TRAINING_SEED, rows, |row| &row.candidates);
        std::fs::write(arguments.out.join("calibration.json"), rows_on_lines(&results)?)?;
        return write_speeds(&arguments, &results.rows, &results.digests, &session.machine, &speeds);
    }
    println!("{} shapes of seed {PICK_SEED}", arguments.shapes);
    let random = log_uniform(PICK_SEED, arguments.shapes).zip(0..);
    let random = random.map(|(extents, number)| product(extents, layout(number)));
    let rows = rows(&session, random, arguments.dtype)?;
    let picks: Result<Vec<Pick>, _> = rows.into_iter().map(|row| pick(&session, row)).collect();
    let results = results(&session, &arguments, PICK_SEED, picks?, |pick| &pick.candidates);
    for dtype in DType::ALL {
        let of_type = results.rows.iter().filter(|row| row.dtype == dtype.name());
        if let Some(quality) = Quality::of(&of_type.map(|row| row.over_best).collect::<Vec<_>>()) {
            println!("{dtype}: {quality}");
        }
    }
    std::fs::write(arguments.out.join("pick.json"), rows_on_lines(&results)?)?;
    Ok(())
}

/// Reads a calibration.
fn calibration(file: &Path) -> Result<Filed, Box<dyn Error>> {
    Ok(serde_json::from_str(&std::fs::read_to_string(file)?)?)
}

/// Fits the coefficients and writes the table.
fn write_speeds(
    arguments: &Arguments,
    rows: &[Row],
    digests: &BTreeMap<String, String>,
    machine: &Machine,
    before: &Speeds,
) -> Result<(), Box<dyn Error>> {
    let mut of_types = Vec::new();
    for dtype in DType::ALL {
        let is_asked_for = arguments.dtype.is_none_or(|only| only == dtype);
        let found = if is_asked_for {
            fitted(rows, dtype, machine)?
        } else {
            None
        };
        if let Some(found) = &found {
            print_quality(dtype.name(), found.seen, found.unseen);
        }
        of_types.push((dtype, found));
    }
    write_table(&arguments.out, speeds_text(&of_types, digests, machine, before))
}

/// Writes a table of speeds that can be read.
fn write_table(out: &Path, text: String) -> Result<(), Box<dyn Error>> {
    Speeds::read(text.clone())?;
    Ok(std::fs::write(out.join("speed.txt"), text)?)
}

/// Prints what was chosen of the rows that the coefficients were fitted to, and of rows that were left out.
fn print_quality(elements: &str, seen: Option<Quality>, unseen: Option<Quality>) {
    for (what, quality) in [("seen", seen), ("unseen", unseen)] {
        match quality {
            Some(quality) => println!("{elements}: {what}: {quality}"),
            None => println!("{elements}: {what}: no row of its own has a choice"),
        }
    }
}

fn product([m, n, k]: [usize; 3], layout: [Transpose; 2]) -> tilewright::Result<GemmShape> {
    Ok(GemmShape::packed_transposed(m, n, k, layout)?)
}

/// Times the candidates of each shape, in each element type or the one that is asked for.
fn rows(
    session: &Session<'_>,
    shapes: impl Iterator<Item = tilewright::Result<GemmShape>>,
    only: Option<DType>,
) -> tilewright::Result<Vec<Row>> {
    let shapes = shapes.collect::<tilewright::Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    for dtype in DType::ALL
        .into_iter()
        .filter(|&dtype| only.is_none_or(|only| only == dtype))
    {
        let mut done = 0;
        rows.extend(session.rows(&shapes, dtype, &mut || {
            done += 1;
            if done % PRODUCTS_OF_A_LINE == 0 {
                eprintln!("{dtype}: {done} of {} products", shapes.len());
            }
        })?);
    }
    Ok(rows)
}

/// What of a row concerns the choice.
fn pick(session: &Session<'_>, row: Row) -> Result<Pick, Box<dyn Error>> {
    let dtype = row
        .candidates
        .first()
        .and_then(Timed::work)
        .ok_or("a candidate")?
        .kernel
        .dtype;
    let summary = plan(&row.shape()?, dtype, session.gpu.profile(), &session.policy())?.summary();
    let is_picked = |timed: &&Timed| {
        (timed.kernel.as_str(), timed.tile, timed.splits) == (summary.kernel, summary.tile, summary.splits)
    };
    let picked = row
        .candidates
        .iter()
        .find(is_picked)
        .ok_or("the choice is timed first")?;
    let fastest = row
        .candidates
        .iter()
        .min_by(|a, b| a.us.total_cmp(&b.us))
        .ok_or("a candidate")?;
    let mut candidates = vec![picked.clone()];
    if fastest.us < picked.us {
        candidates.push(fastest.clone());
    }
    Ok(Pick {
        m: row.m,
        n: row.n,
        k: row.k,
        transpose: row.transpose,
        dtype: dtype.name().to_owned(),
        picked: choice_name(&picked.kernel, picked.tile, picked.splits),
        over_best: picked.us / fastest.us,
        timed: row.candidates.len(),
        candidates,
    })
}

fn results<R>(
    session: &Session<'_>,
    arguments: &Arguments,
    seed: u64,
    rows: Vec<R>,
    candidates: impl Fn(&R) -> &[Timed],
) -> Results<R> {
    let names: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| candidates(row).iter().map(|timed| timed.kernel.as_str()))
        .collect();
    let digest = |kernel: &&str| {
        let digest = digest::of_kernel(kernel, session.gpu.level().arch)?;
        Some(((*kernel).to_owned(), digest))
    };
    let digests = names.iter().filter_map(digest).collect();
    let profile = session.gpu.profile();
    Results {
        date: arguments.date.clone(),
        commit: arguments.commit.clone(),
        device: profile.name.clone(),
        driver: profile
            .installed
            .as_ref()
            .map_or_else(String::new, |installed| installed.driver.clone()),
        clock_khz: session.machine.gpu.clock_khz,
        dram_bytes_per_second: profile.gpu_model().map(|model| model.dram_bytes_per_second),
        rounds: session.rounds,
        seed,
        digests,
        rows,
    }
}
