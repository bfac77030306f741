//! How good the planner's choice among our own kernels is, on a GPU.
//!
//! For random shapes of each element type, in all layouts, every candidate is checked, then all are timed in turns on
//! the same random inputs. Reported is the time of the planner's choice over that of the fastest. Candidates that the
//! planner expects to take more than twice as long as its choice are left out.
//!
//! `gpu_pick --out DIR [--dtype TYPE] [--commit ID] [--date YYYY-MM-DD]` writes `pick.json` into DIR.
//!
//! `--calibrate` times every candidate of other shapes, fits the coefficients of the planner's cost model to the times,
//! and writes `calibration.json` (the times) and `speed.txt` (the coefficients), which `cargo xtask results` puts into
//! the planner. Types that are not timed keep their coefficients. `--speeds FILE` replaces the planner's coefficients.
//! `--fit calibration.json` fits to filed times and needs no GPU.

mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::PathBuf;

use clap::Parser;
use half::{bf16, f16};
use serde::Serialize;
use shapes::{CALIBRATION, NAMED, layouts};
use tilewright::check::{DEFAULT_SEED, Expected};
use tilewright::dispatch::{Plan, Policy, Speeds, estimate_us, plan};
use tilewright::launch::Gpu;
use tilewright::{DType, Element, Gemm, GemmShape, KERNELS, Kernel, Operand, Precision, Transpose, random};
use tilewright_harness::bench::{Quartiles, Schedule, Set, Timer, choice_name, rows_on_lines};
use tilewright_harness::calibration::{
    Filed, Machine, PICK_SEED, PRUNED_ABOVE, Quality, Row, TRAINING_SEED, Timed, fitted, layout, log_uniform,
    speeds_text,
};
use tilewright_harness::digest;

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
    /// Fit the model to the times of an earlier calibration, without a GPU.
    #[arg(long, conflicts_with = "calibrate")]
    fit: Option<PathBuf>,
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
const TRAINING_SHAPES: usize = 120;

/// Split-K factors that are tried.
const SPLITS: [u32; 13] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];

/// Most work tiles of a split-K launch for each SM; each split of a tile counts.
const TILES_PER_SM: u32 = 8;

/// A candidate that takes longer than the fastest by this factor says little of a choice.
const FAR: f64 = 3.0;

/// Rounds of such candidates.
const ROUNDS_OF_FAR: usize = 2;

/// What is timed and with what.
struct Session<'g> {
    gpu: &'g Gpu,
    machine: Machine,
    speeds: Speeds,
    rounds: usize,
    /// Whether every candidate is timed, or those that the planner may choose and does not expect to be slow.
    every: bool,
}

/// A run.
#[derive(Serialize)]
struct Results<R> {
    date: String,
    commit: String,
    device: String,
    driver: String,
    /// The SM clock that the driver reports; the coefficients are cycles of it.
    clock_khz: u32,
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
    if let Some(file) = &arguments.fit {
        let filed: Filed = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        return write_speeds(&arguments, &filed.rows, &filed.digests, &filed.machine()?, &speeds);
    }
    let gpu = Gpu::open(0)?;
    let installed = gpu.profile().installed.as_ref().ok_or("a device")?;
    let session = Session {
        gpu: &gpu,
        machine: Machine::of(&gpu.profile().name, installed.clock_khz)?,
        speeds,
        rounds: arguments.rounds,
        every: arguments.calibrate,
    };
    if arguments.calibrate {
        let random = log_uniform(TRAINING_SEED, TRAINING_SHAPES).zip(0..);
        let random = random.map(|(shape, number)| (shape, layout(number)));
        let listed = CALIBRATION.iter().zip(0..);
        let listed = listed.flat_map(|(&(m, n, k), number)| layouts(number).map(|layout| ([m, n, k], layout)));
        let rows = session.rows(listed.chain(random), arguments.dtype)?;
        let results = session.results(&arguments, TRAINING_SEED, rows, |row| &row.candidates);
        std::fs::write(arguments.out.join("calibration.json"), rows_on_lines(&results)?)?;
        return write_speeds(&arguments, &results.rows, &results.digests, &session.machine, &speeds);
    }
    println!("{} shapes of seed {PICK_SEED}", arguments.shapes);
    let random = log_uniform(PICK_SEED, arguments.shapes).zip(0..);
    let rows = session.rows(random.map(|(shape, number)| (shape, layout(number))), arguments.dtype)?;
    let picks: Result<Vec<Pick>, _> = rows.into_iter().map(|row| session.pick(row)).collect();
    let results = session.results(&arguments, PICK_SEED, picks?, |pick| &pick.candidates);
    for dtype in DType::ALL {
        let of_type = results.rows.iter().filter(|row| row.dtype == dtype.name());
        if let Some(quality) = Quality::of(&of_type.map(|row| row.over_best).collect::<Vec<_>>()) {
            println!("{dtype}: {quality}");
        }
    }
    std::fs::write(arguments.out.join("pick.json"), rows_on_lines(&results)?)?;
    Ok(())
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
            for (what, quality) in [("seen", found.seen), ("unseen", found.unseen)] {
                println!(
                    "{dtype}: {what}: {}",
                    quality.map_or(String::new(), |quality| quality.to_string())
                );
            }
        }
        of_types.push((dtype, found));
    }
    let text = speeds_text(&of_types, digests, machine, before);
    // It is a table.
    Speeds::read(text.clone())?;
    std::fs::write(arguments.out.join("speed.txt"), text)?;
    Ok(())
}

impl Session<'_> {
    /// Times the candidates of each shape, in each element type or the one that is asked for.
    fn rows(
        &self,
        shapes: impl Iterator<Item = ([usize; 3], [Transpose; 2])>,
        only: Option<DType>,
    ) -> Result<Vec<Row>, Box<dyn Error>> {
        let shapes: Result<Vec<_>, _> = shapes
            .map(|([m, n, k], layout)| GemmShape::packed_transposed(m, n, k, layout))
            .collect();
        let shapes = shapes?;
        let mut rows = Vec::new();
        for dtype in DType::ALL
            .into_iter()
            .filter(|&dtype| only.is_none_or(|only| only == dtype))
        {
            rows.extend(match dtype {
                DType::F32 => self.rows_of::<f32>(&shapes)?,
                DType::F64 => self.rows_of::<f64>(&shapes)?,
                DType::F16 => self.rows_of::<f16>(&shapes)?,
                DType::Bf16 => self.rows_of::<bf16>(&shapes)?,
            });
        }
        Ok(rows)
    }

    /// On the same inputs for all shapes: each takes as much of them as it needs.
    fn rows_of<T: Element>(&self, shapes: &[GemmShape]) -> Result<Vec<Row>, Box<dyn Error>> {
        let most = |operand| shapes.iter().map(|shape| shape.span_elems(operand)).max().unwrap_or(0);
        let a: Vec<T> = random::random_matrix(1, most(Operand::A));
        let b: Vec<T> = random::random_matrix(2, most(Operand::B));
        let mut set = [Set {
            a: self.gpu.upload(&a)?,
            b: self.gpu.upload(&b)?,
            c: self.gpu.uninitialized(most(Operand::C))?,
        }];
        let mut timer = Timer::new(self.gpu)?;
        let mut rows = Vec::new();
        for shape in shapes {
            let plans = self.candidates(shape, T::DTYPE)?;
            let mut host = vec![T::from_f64(0.0); shape.span_elems(Operand::C)];
            let mut once_us = Vec::new();
            for plan in &plans {
                let Set { a: on_a, b: on_b, c } = &mut set[0];
                // A NaN of every type.
                c.fill_bytes(0xff)?;
                self.gpu.launch(plan, &Gemm::new(*shape), on_a, on_b, c)?;
                self.gpu.synchronize()?;
                c.download_at(0, &mut host)?;
                let expected = Expected::product(shape, &a, &b)?.with_precision(plan.kernel().precision)?;
                expected.sampled(&host, DEFAULT_SEED)?.into_result()?;
                let once_ms = self
                    .gpu
                    .time_ms(|| self.gpu.launch(plan, &Gemm::new(*shape), on_a, on_b, c))?;
                once_us.push(f64::from(once_ms) * 1e3);
            }
            let precision = |at: usize| plans[at].kernel().precision;
            let is_near = |&at: &usize| {
                let alike = (0..plans.len()).filter(|&other| precision(other) == precision(at));
                once_us[at] <= FAR * alike.map(|other| once_us[other]).fold(f64::INFINITY, f64::min)
            };
            let (near, far): (Vec<usize>, Vec<usize>) = (0..plans.len()).partition(is_near);
            let mut candidates = Vec::new();
            for (of, rounds) in [(near, self.rounds), (far, ROUNDS_OF_FAR)] {
                let schedule = Schedule::of(&of.iter().map(|&at| once_us[at]).collect::<Vec<_>>(), Some(rounds));
                let times = timer.turns(&mut set, of.len(), schedule, &mut |at, set| {
                    self.gpu
                        .launch(&plans[of[at]], &Gemm::new(*shape), &set.a, &set.b, &mut set.c)
                })?;
                candidates.extend(of.iter().zip(times).filter_map(|(&at, times)| {
                    let us = Quartiles::of(&times)?.median;
                    Some(timed(&plans[at], us))
                }));
            }
            rows.push(Row {
                m: shape.m(),
                n: shape.n(),
                k: shape.k(),
                transpose: [Operand::A, Operand::B].map(|operand| shape.transpose(operand) == Transpose::Yes),
                dtype: T::DTYPE.into(),
                candidates,
            });
        }
        Ok(rows)
    }

    /// Every plan that the planner could make for a product, as far as it is to be timed.
    fn candidates(&self, shape: &GemmShape, dtype: DType) -> Result<Vec<Plan>, Box<dyn Error>> {
        let named = NAMED.map(|(family, tile)| Policy {
            family: Some(family),
            tile: Some(tile),
            ..Policy::default()
        });
        let has_own_tile = |kernel: &&Kernel| kernel.family.is_automatic() && kernel.widths.is_none();
        let tiles = KERNELS
            .iter()
            .filter(|kernel| has_own_tile(kernel) && self.is_open(kernel) && kernel.taken(shape).is_some())
            .flat_map(|kernel| {
                SPLITS.map(|splits| Policy {
                    kernel: Some(kernel),
                    splits: Some(splits),
                    ..Policy::default()
                })
            });
        // The planner tries more split-K factors than are timed here.
        let picked = plan(shape, dtype, self.gpu.profile(), &self.policy())?;
        let sms = self.machine.gpu.sms;
        let mut plans = vec![picked];
        for policy in named.into_iter().chain(tiles) {
            // A tile that does not fit this element type is no candidate.
            let Ok(plan) = plan(shape, dtype, self.gpu.profile(), &policy) else {
                continue;
            };
            let work = plan.work();
            let is_known = plans.iter().any(|other| {
                let other = other.work();
                // Of one tile the first entry point, which copies vectors where it can.
                let is_same = other.kernel.has_same_tile(&work.kernel) && other.kernel.family == work.kernel.family;
                is_same && other.splits == work.splits
            });
            // Work tiles, not CTAs: a persistent CTA computes several.
            if !is_known && (work.splits == 1 || plan.grid().tiles() <= TILES_PER_SM * sms) {
                plans.push(plan);
            }
        }
        if !self.every {
            let least_us = self.expected_us(&plans[0]);
            plans.retain(|plan| {
                plan.kernel().family.is_automatic() && self.expected_us(plan) <= PRUNED_ABOVE * least_us
            });
        }
        Ok(plans)
    }

    /// What is allowed unasked is judged, all is measured.
    fn is_open(&self, kernel: &Kernel) -> bool {
        self.every || kernel.precision >= Precision::default()
    }

    fn policy(&self) -> Policy {
        Policy {
            speeds: self.speeds,
            ..Policy::default()
        }
    }

    fn expected_us(&self, plan: &Plan) -> f64 {
        let Machine { arch, gpu } = &self.machine;
        estimate_us(&plan.work(), &plan.shape(), arch, gpu, &self.speeds).unwrap_or(f64::INFINITY)
    }

    /// What of a row concerns the choice.
    fn pick(&self, row: Row) -> Result<Pick, Box<dyn Error>> {
        let dtype = row
            .candidates
            .first()
            .and_then(Timed::work)
            .ok_or("a candidate")?
            .kernel
            .dtype;
        let summary = plan(&row.shape()?, dtype, self.gpu.profile(), &self.policy())?.summary();
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
        &self,
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
            let digest = digest::of_kernel(kernel, self.gpu.level().arch)?;
            Some(((*kernel).to_owned(), digest))
        };
        let digests = names.iter().filter_map(digest).collect();
        let profile = self.gpu.profile();
        Results {
            date: arguments.date.clone(),
            commit: arguments.commit.clone(),
            device: profile.name.clone(),
            driver: profile
                .installed
                .as_ref()
                .map_or_else(String::new, |installed| installed.driver.clone()),
            clock_khz: self.machine.gpu.clock_khz,
            rounds: self.rounds,
            seed,
            digests,
            rows,
        }
    }
}

fn timed(plan: &Plan, us: f64) -> Timed {
    Timed {
        kernel: plan.kernel().symbol.to_owned(),
        tile: [plan.kernel().tile.m, plan.kernel().tile.n],
        splits: plan.work().splits,
        us,
    }
}
