//! How a row is measured, apart from the hardware: which baseline is taken, what is checked, in which order things are
//! timed.

use std::collections::VecDeque;
use std::time::Duration;

use tilewright::dispatch::PlanSummary;
use tilewright::{Error, Result};

use super::results::{Measurement, OnZeros, Outcome, PassedOver, RowResult, Side, Speed};
use super::rows::{Baseline, Row};
use super::stats::{Quartiles, ratios};
use super::telemetry::Telemetry;
use super::timing::Schedule;
use super::{Options, Progress};

/// A candidate that took longer at first than the fastest by this factor is timed no further.
const STILL_IN: f64 = 1.15;

/// Launches of each candidate that is still in; fewer where one takes long.
const TRIALS: usize = 5;
const LONG_US: f64 = 20_000.0;

/// An error that is so many times ours is no rounding of f32 sums: TensorFloat-32 makes two orders of magnitude.
const SUSPICIOUS_ERROR: f64 = 16.0;

/// What A and B hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// Uniform in (-1, 1), from fixed seeds.
    Random,
    /// Zeros. Wires that do not switch take little power: the clock stays up.
    Zeros,
}

/// Something that computes a product: a kernel of ours or an algorithm of a library.
pub trait Candidate {
    /// What reports call it.
    fn name(&self) -> String;

    /// Geometry and memory of a kernel of ours; `None` for others.
    fn plan(&self) -> Option<PlanSummary>;
}

/// A product with its operands on a device: what is asked of hardware. Tests answer with a device and a clock of their
/// own.
pub trait Product {
    /// What can be run on the operands.
    type Candidate: Candidate;

    /// What a row is compared with, best guess first, and what of it cannot even be tried.
    ///
    /// # Errors
    /// What the caller of the benchmark has to settle: files that are missing, kernels that do not fit.
    fn baselines(&mut self, row: &Row) -> Result<Baselines<Self::Candidate>>;

    /// Runs a candidate on a C of NaNs, and compares with the reference. Returns the largest error in units of the
    /// bound.
    ///
    /// # Errors
    /// Those of the launch, and [`Error::Mismatch`].
    fn check(&mut self, candidate: &Self::Candidate) -> Result<f64>;

    /// Fills A and B.
    ///
    /// # Errors
    /// Those of the device.
    fn fill(&mut self, inputs: Inputs) -> Result<()>;

    /// Microseconds of a launch of each candidate, for each round: A-B-A-B.
    ///
    /// # Errors
    /// Those of a launch.
    fn turns(&mut self, candidates: &[&Self::Candidate], schedule: Schedule) -> Result<Vec<Vec<f64>>>;

    /// As [`turns`](Self::turns), and how the device fared meanwhile, where it can tell.
    ///
    /// # Errors
    /// Those of a launch.
    fn observed_turns(&mut self, candidates: &[&Self::Candidate], schedule: Schedule) -> Result<Observed> {
        Ok((self.turns(candidates, schedule)?, None))
    }

    /// As [`turns`](Self::turns), but each launch alone on an idle device and with nothing of its operands in a cache;
    /// `None` where caches cannot be emptied.
    ///
    /// # Errors
    /// Those of a launch.
    fn lone(&mut self, candidates: &[&Self::Candidate], rounds: usize) -> Result<Option<Vec<Vec<f64>>>>;

    /// The [digest](crate::digest::digests) of a kernel of ours as this device loads it; `None` on the CPU.
    fn digest(&self, kernel: &str) -> Option<String> {
        _ = kernel;
        None
    }

    /// The time.
    fn now(&self) -> Duration;

    /// Sets of operands that launches take in turns.
    fn sets(&self) -> usize;
}

/// Times, by candidate and round, and the device meanwhile.
pub type Observed = (Vec<Vec<f64>>, Option<Telemetry>);

/// What a row is compared with: candidates that can be tried, and what cannot.
pub struct Baselines<C> {
    pub candidates: Vec<C>,
    pub passed_over: Vec<PassedOver>,
}

impl<C> Default for Baselines<C> {
    fn default() -> Self {
        Self {
            candidates: Vec::new(),
            passed_over: Vec::new(),
        }
    }
}

/// Measures every row; `product` measures the rows of one product, which share its operands and the library's
/// candidates.
pub fn run(
    rows: &[Row],
    mut on_progress: impl FnMut(Progress<'_>),
    mut product: impl FnMut(&[Row], &mut dyn FnMut(usize)) -> Vec<RowResult>,
) -> Vec<RowResult> {
    let mut results = Vec::new();
    for of_one_product in rows.chunk_by(Row::is_same_product) {
        let mut on_row = |index: usize| {
            on_progress(Progress {
                done: results.len() + index,
                total: rows.len(),
                row: &of_one_product[index].name,
            });
        };
        let more = product(of_one_product, &mut on_row);
        results.extend(more);
    }
    results
}

/// Measures the rows of one product: `plan` says what of ours a row times, `open` makes the operands, which costs more.
pub fn rows_of_product<P: Product>(
    rows: &[Row],
    options: &Options,
    plan: impl Fn(&Row) -> Result<P::Candidate>,
    open: impl FnOnce(&Row) -> Result<P>,
    on_row: &mut dyn FnMut(usize),
) -> Vec<RowResult> {
    on_row(0);
    let planned: Vec<_> = rows.iter().map(plan).collect();
    // No gigabytes are filled where no row can run.
    let mut product = match planned.iter().any(Result::is_ok) {
        true => open(&rows[0]),
        false => Err(Error::InvalidArgument("no row can run".to_owned())),
    };
    let mut library = None;
    let mut results = Vec::new();
    for (index, (row, ours)) in rows.iter().zip(planned).enumerate() {
        on_row(index);
        let kernel = ours.as_ref().ok().and_then(Candidate::plan).map(|plan| plan.kernel);
        let outcome = match (&ours, &mut product) {
            (Err(error), _) => Outcome::failed(error),
            (Ok(_), Err(error)) => Outcome::failed(error),
            (Ok(ours), Ok(product)) => match measure(product, row, ours, &mut library, options) {
                Ok(measured) => Outcome::Measured(Box::new(measured)),
                Err(error) => Outcome::failed(&error),
            },
        };
        results.push(RowResult {
            row: row.clone(),
            kernel,
            outcome,
        });
    }
    results
}

/// Checks ours, then times both. `library` holds the library's candidates once a row has asked for them.
fn measure<P: Product>(
    product: &mut P,
    row: &Row,
    ours: &P::Candidate,
    library: &mut Option<Ranking<P::Candidate>>,
    options: &Options,
) -> Result<Measurement> {
    let error_over_bound = product.check(ours)?;
    let mut own = None;
    let ranking = match row.baseline {
        Baseline::Library => &mut *library,
        Baseline::Twin | Baseline::Kernel(_) | Baseline::Others => &mut own,
    };
    let ranking = match ranking {
        Some(ranking) => ranking,
        None => ranking.insert(Ranking::new(product, row)?),
    };
    ranking.settle(product, error_over_bound)?;
    let peer = ranking.best.as_ref();
    let candidates: Vec<_> = [ours].into_iter().chain(peer.map(|best| &best.candidate)).collect();

    let pace = options.pace;
    let schedule = Schedule::of(&warm_up(product, &candidates, pace.warm_up)?, pace.rounds);
    let (times, telemetry) = product.observed_turns(&candidates, schedule)?;
    let fastest: Vec<_> = times.iter().map(|times| least(times)).collect();
    let lone = product.lone(&candidates, Schedule::lone_rounds(&fastest, pace.lone))?;
    let flops = row.shape()?.flops();
    let side = |at: usize, candidate: &P::Candidate, error_over_bound| Side {
        name: candidate.name(),
        speed: Speed::of(&times[at], flops),
        lone_us: lone.as_ref().and_then(|lone| Quartiles::of(&lone[at])),
        error_over_bound,
    };
    let ratio = |times: &[Vec<f64>]| ratios(times.first()?, times.get(1)?);
    Ok(Measurement {
        ours: side(0, ours, error_over_bound),
        peer: peer.map(|best| side(1, &best.candidate, best.error_over_bound)),
        ratio: ratio(&times),
        lone_ratio: lone.as_deref().and_then(ratio),
        zeros: match options.zeros {
            true => Some(on_zeros(product, &candidates, pace.warm_up, schedule, flops)?),
            false => None,
        },
        passed_over: ranking.passed_over.clone(),
        rounds: schedule.rounds,
        launches: schedule.launches,
        lone_rounds: lone.as_ref().and_then(|lone| Some(lone.first()?.len())),
        sets: product.sets(),
        plan: ours.plan(),
        digest: ours.plan().and_then(|plan| product.digest(plan.kernel)),
        telemetry,
    })
}

/// The same turns on zeros. The operands are random again afterwards.
fn on_zeros<P: Product>(
    product: &mut P,
    candidates: &[&P::Candidate],
    time: Duration,
    schedule: Schedule,
    flops: f64,
) -> Result<OnZeros> {
    product.fill(Inputs::Zeros)?;
    let observed = warm_up(product, candidates, time).and_then(|_| product.observed_turns(candidates, schedule));
    product.fill(Inputs::Random)?;
    let (times, telemetry) = observed?;
    Ok(OnZeros {
        ours: Speed::of(&times[0], flops),
        peer: times.get(1).map(|times| Speed::of(times, flops)),
        ratio: times.get(1).and_then(|peer| ratios(&times[0], peer)),
        telemetry,
    })
}

/// Keeps the device busy with the candidates in turns for this time. Returns the microseconds of the fastest launch of
/// each.
fn warm_up<P: Product>(product: &mut P, candidates: &[&P::Candidate], time: Duration) -> Result<Vec<f64>> {
    let start = product.now();
    let mut fastest = vec![f64::INFINITY; candidates.len()];
    while product.now() - start < time {
        let schedule = Schedule { rounds: 3, launches: 1 };
        for (fastest, times) in fastest.iter_mut().zip(product.turns(candidates, schedule)?) {
            *fastest = fastest.min(least(&times));
        }
    }
    Ok(fastest)
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The candidates of a baseline: the fastest that is right, those that follow, those that are out.
struct Ranking<C> {
    best: Option<Checked<C>>,
    /// Fastest first.
    others: VecDeque<C>,
    passed_over: Vec<PassedOver>,
}

/// A candidate whose result is right.
struct Checked<C> {
    candidate: C,
    error_over_bound: f64,
}

impl<C: Candidate> Ranking<C> {
    /// Times the candidates of a row. All run once; those that are near the fastest of them run again.
    fn new<P: Product<Candidate = C>>(product: &mut P, row: &Row) -> Result<Self> {
        let Baselines {
            candidates,
            mut passed_over,
        } = product.baselines(row)?;
        let mut timed: Vec<(f64, C)> = Vec::new();
        for candidate in candidates {
            // The first launch ever loads a kernel and is not counted.
            let first = trial_us(product, &candidate, 1).and_then(|_| trial_us(product, &candidate, 1));
            match kept(first, &candidate, &mut passed_over)? {
                Some(us) => timed.push((us, candidate)),
                None => continue,
            }
        }
        let limit = STILL_IN * timed.iter().map(|(us, _)| *us).fold(f64::INFINITY, f64::min);
        let trials = if limit > LONG_US { 1 } else { TRIALS };
        let mut ranked: Vec<(f64, C)> = Vec::new();
        for (us, candidate) in timed {
            if us > limit {
                ranked.push((us, candidate));
                continue;
            }
            let again = trial_us(product, &candidate, trials);
            if let Some(again) = kept(again, &candidate, &mut passed_over)? {
                ranked.push((us.min(again), candidate));
            }
        }
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Self {
            best: None,
            others: ranked.into_iter().map(|(_, candidate)| candidate).collect(),
            passed_over,
        })
    }

    /// Settles on the fastest candidate whose result is right, and as precise as one of ours with this error. There may
    /// be none.
    fn settle<P: Product<Candidate = C>>(&mut self, product: &mut P, our_error: f64) -> Result<()> {
        loop {
            if let Some(best) = self.best.take() {
                if best.error_over_bound <= SUSPICIOUS_ERROR * our_error {
                    self.best = Some(best);
                    return Ok(());
                }
                self.passed_over.push(PassedOver {
                    name: best.candidate.name(),
                    problem: format!(
                        "computes with less precision: its largest error is {:.2e} of the bound, ours {our_error:.2e}",
                        best.error_over_bound
                    ),
                });
            }
            let Some(candidate) = self.others.pop_front() else {
                return Ok(());
            };
            let checked = product.check(&candidate);
            self.best = kept(checked, &candidate, &mut self.passed_over)?.map(|error_over_bound| Checked {
                candidate,
                error_over_bound,
            });
        }
    }
}

/// Microseconds of the fastest of some launches.
fn trial_us<P: Product>(product: &mut P, candidate: &P::Candidate, rounds: usize) -> Result<f64> {
    let times = product.turns(&[candidate], Schedule { rounds, launches: 1 })?;
    Ok(times.iter().flatten().copied().fold(f64::INFINITY, f64::min))
}

/// What came of trying a candidate; `None` where it failed, which is noted. Without a device no other can be tried.
fn kept(tried: Result<f64>, candidate: &impl Candidate, passed_over: &mut Vec<PassedOver>) -> Result<Option<f64>> {
    match tried {
        Ok(value) => Ok(Some(value)),
        Err(error @ Error::Unavailable(_)) => Err(error),
        Err(error) => {
            passed_over.push(PassedOver {
                name: candidate.name(),
                problem: error.to_string(),
            });
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests;
