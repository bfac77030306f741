//! Rows on the GPU: the planner's choice or a rung, against the better of cuBLAS and cublasLt.

use std::path::Path;

use half::{bf16, f16};
use tilewright_contract::DType;
use tilewright_plan::{GemmType, Path as InstructionPath};

use super::cublas::{Algorithm, Cublas, Product};
use super::kernel::{self, Kernel};
use super::operands::{Operands, Set};
use super::results::{About, Ceilings, Measurement, Outcome, RowResult, Side};
use super::rows::{Against, Ours, Row};
use super::stats::Quartiles;
use super::telemetry::Observer;
use super::timing::{Contender, Schedule, Timer};
use super::twins::{Twin, Twins};
use super::{Options, Progress};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::Gpu;

/// An algorithm of the peer that took longer at first than the best by this factor is out.
const STILL_IN: f64 = 1.15;

/// Launches of each algorithm that is still in; fewer where one takes long.
const TRIALS: usize = 5;
const LONG_US: f64 = 20_000.0;

/// An error that is so many times ours is no rounding of f32 sums: TensorFloat-32 makes two orders of magnitude.
const SUSPICIOUS_ERROR: f64 = 16.0;

/// A device with everything that a row needs.
pub struct Bench<'b> {
    gpu: &'b Gpu,
    options: &'b Options,
    timer: Timer<'b>,
    cublas: Option<&'b Cublas<'b>>,
    twins: Option<&'b Twins<'b>>,
    observer: Option<Observer>,
}

/// What ours is compared with.
struct Peer<'c> {
    side: PeerSide<'c>,
    error_over_bound: f64,
}

enum PeerSide<'c> {
    /// The library's fastest way for a product.
    Library(Product<'c>, Algorithm),
    /// Our kernel in CUDA C++.
    Twin(Twin<'c>),
    /// Another kernel of ours.
    Ours(Kernel),
}

impl PeerSide<'_> {
    fn name(&self) -> String {
        match self {
            Self::Library(_, algorithm) => algorithm.name(),
            Self::Twin(twin) => twin.name().to_owned(),
            Self::Ours(kernel) => kernel.name(),
        }
    }

    fn launch<T: Element>(&self, gpu: &Gpu, set: &mut Set<'_, T>) -> Result<()> {
        match self {
            Self::Library(product, algorithm) => product.launch(algorithm, &set.a, &set.b, &mut set.c),
            Self::Twin(twin) => twin.launch(set),
            Self::Ours(kernel) => kernel.launch(gpu, &set.a, &set.b, &mut set.c),
        }
    }
}

/// Loads cuBLAS, or says in `about` why there is none.
pub fn load_peer<'gpu>(gpu: &'gpu Gpu, folder: Option<&Path>, about: &mut About) -> Result<Option<Cublas<'gpu>>> {
    match Cublas::load(gpu, folder) {
        Ok(cublas) => {
            about.peer = Some(format!("cuBLAS {}", cublas.version()?));
            Ok(Some(cublas))
        }
        // A folder that was named must hold it.
        Err(Error::Unavailable(problem)) if folder.is_none() => {
            about.notes.push(format!("Nothing to compare with: {problem}."));
            Ok(None)
        }
        Err(Error::Unavailable(problem)) => Err(Error::InvalidArgument(problem)),
        Err(other) => Err(other),
    }
}

/// What the device can do at most.
pub fn ceilings(gpu: &Gpu) -> Option<Ceilings> {
    let (architecture, product) = gpu.profile().architecture().zip(gpu.profile().product())?;
    let rate = InstructionPath::Simt
        .support(&architecture, GemmType::from(DType::F32))?
        .rate;
    let half = GemmType::from(DType::F16);
    let on_tensor_cores = InstructionPath::best(&architecture, half).and_then(|path| path.support(&architecture, half));
    Some(Ceilings {
        f32_tflops: product.flops_per_second(rate) / 1e12,
        half_tflops: on_tensor_cores.map(|support| product.flops_per_second(support.rate) / 1e12),
        clock_mhz: f64::from(product.clock_khz) / 1e3,
        dram_gb_per_second: product.dram_bytes_per_second as f64 / 1e9,
    })
}

impl<'b> Bench<'b> {
    /// A bench on a device.
    ///
    /// # Errors
    /// [`Error::Driver`] without memory.
    pub fn new(
        gpu: &'b Gpu,
        cublas: Option<&'b Cublas<'b>>,
        twins: Option<&'b Twins<'b>>,
        options: &'b Options,
    ) -> Result<Self> {
        Ok(Self {
            gpu,
            options,
            timer: Timer::new(gpu)?,
            cublas,
            twins,
            observer: Observer::of_device(0),
        })
    }

    /// Checks and times every row.
    pub fn run(&mut self, rows: &[Row], mut on_progress: impl FnMut(Progress<'_>)) -> Vec<RowResult> {
        let mut results = Vec::new();
        // Rows of one product share its operands and the peer's algorithm.
        for of_one_product in rows.chunk_by(Row::is_same_product) {
            let mut on_row = |index: usize, row: &Row| {
                on_progress(Progress {
                    done: results.len() + index,
                    total: rows.len(),
                    row: &row.name,
                });
            };
            let more = match of_one_product[0].dtype {
                DType::F32 => self.product::<f32>(of_one_product, &mut on_row),
                DType::F64 => self.product::<f64>(of_one_product, &mut on_row),
                DType::F16 => self.product::<f16>(of_one_product, &mut on_row),
                DType::Bf16 => self.product::<bf16>(of_one_product, &mut on_row),
            };
            results.extend(more);
        }
        results
    }

    /// The rows of one product.
    fn product<T: Element>(&mut self, rows: &[Row], on_row: &mut dyn FnMut(usize, &Row)) -> Vec<RowResult> {
        on_row(0, &rows[0]);
        let shared = self.shared::<T>(&rows[0]);
        let (mut operands, peer) = match shared {
            Ok(shared) => shared,
            Err(error) => return rows.iter().map(|row| RowResult::failed(row, &error)).collect(),
        };
        let mut results = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            on_row(index, row);
            results.push(match self.measure(row, &mut operands, peer.as_ref()) {
                Ok(measurement) => RowResult {
                    row: row.clone(),
                    outcome: Outcome::Measured(Box::new(measurement)),
                },
                Err(error) => RowResult::failed(row, &error),
            });
        }
        results
    }

    /// What rows of one product share.
    fn shared<T: Element>(&mut self, row: &Row) -> Result<(Operands<'b, T>, Option<Peer<'b>>)> {
        // Before gigabytes are filled for a row that cannot run.
        Kernel::plan(row, self.options, self.gpu.profile())?;
        let mut operands = Operands::random(self.gpu, kernel::shape(row)?)?;
        let peer = match (self.cublas, row.against) {
            (Some(cublas), Against::Library) => Some(self.fastest(cublas.product(row)?, &mut operands)?),
            _ => None,
        };
        Ok((operands, peer))
    }

    /// The peer's fastest algorithm for a product. All run once; those that are near the fastest of them run again.
    fn fastest<T: Element>(&mut self, product: Product<'b>, operands: &mut Operands<'b, T>) -> Result<Peer<'b>> {
        let mut algorithms: Vec<(f64, Algorithm)> = Vec::new();
        for algorithm in product.algorithms()? {
            let us = self.trial_us(&product, &algorithm, operands, 1)?;
            algorithms.push((us, algorithm));
        }
        let best = |algorithms: &[(f64, Algorithm)]| algorithms.iter().map(|(us, _)| *us).fold(f64::INFINITY, f64::min);
        let limit = best(&algorithms) * STILL_IN;
        algorithms.retain(|(us, _)| *us <= limit);
        let trials = if limit > LONG_US { 1 } else { TRIALS };
        for (us, algorithm) in &mut algorithms {
            *us = us.min(self.trial_us(&product, algorithm, operands, trials)?);
        }
        let fastest = algorithms.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let (_, algorithm) = fastest.ok_or_else(|| Error::Tool {
            tool: "cuBLAS",
            message: "no algorithm for this product".into(),
        })?;
        self.checked(PeerSide::Library(product, algorithm), operands)
    }

    /// The peer of a row that has one of its own.
    fn own_peer<T: Element>(
        &self,
        row: &Row,
        kernel: &Kernel,
        operands: &mut Operands<'b, T>,
    ) -> Result<Option<Peer<'b>>> {
        let side = match row.against {
            Against::Library => return Ok(None),
            Against::Twin => {
                let missing = || {
                    let how = "--twins FILE: benches/peers/tiled.cu, compiled by `nvcc -O3 -cubin` for this GPU";
                    Error::InvalidArgument(format!("{} needs {how}", row.name))
                };
                PeerSide::Twin(self.twins.ok_or_else(missing)?.of(kernel.launch_plan().clone())?)
            }
            Against::Tile(rung, width) => {
                let other = Row {
                    ours: Ours::Tile(rung, width),
                    ..row.clone()
                };
                PeerSide::Ours(Kernel::plan(&other, self.options, self.gpu.profile())?)
            }
        };
        self.checked(side, operands).map(Some)
    }

    fn checked<T: Element>(&self, side: PeerSide<'b>, operands: &mut Operands<'b, T>) -> Result<Peer<'b>> {
        let verdict = operands.check(self.gpu, |set| side.launch(self.gpu, set));
        let error_over_bound = verdict.map_err(|error| of_peer(&side, error))?.max_error_over_bound;
        Ok(Peer { side, error_over_bound })
    }

    fn trial_us<T: Element>(
        &mut self,
        product: &Product<'b>,
        algorithm: &Algorithm,
        operands: &mut Operands<'b, T>,
        trials: usize,
    ) -> Result<f64> {
        let mut launch = |set: &mut Set<'b, T>| product.launch(algorithm, &set.a, &set.b, &mut set.c);
        self.timer.fastest_us(&mut operands.sets, &mut launch, trials)
    }

    /// Checks ours, then times both.
    fn measure<T: Element>(
        &mut self,
        row: &Row,
        operands: &mut Operands<'b, T>,
        peer: Option<&Peer<'b>>,
    ) -> Result<Measurement> {
        let gpu = self.gpu;
        let kernel = Kernel::plan(row, self.options, gpu.profile())?;
        let verdict = operands.check(gpu, |set| kernel.launch(gpu, &set.a, &set.b, &mut set.c))?;
        let own = self.own_peer(row, &kernel, operands)?;
        let peer = own.as_ref().or(peer);
        if let Some(peer) = peer
            && peer.error_over_bound > SUSPICIOUS_ERROR * verdict.max_error_over_bound
        {
            return Err(Error::Tool {
                tool: "the peer",
                message: format!(
                    "{} computes with less precision: its largest error is {:.2e} of the bound, ours {:.2e}",
                    peer.side.name(),
                    peer.error_over_bound,
                    verdict.max_error_over_bound
                ),
            });
        }

        let mut ours = |set: &mut Set<'b, T>| kernel.launch(gpu, &set.a, &set.b, &mut set.c);
        let mut theirs = peer.map(|peer| |set: &mut Set<'b, T>| peer.side.launch(gpu, set));
        let mut contenders: Vec<Contender<'_, 'b, T>> = vec![&mut ours];
        if let Some(theirs) = &mut theirs {
            contenders.push(theirs);
        }
        let sets = &mut operands.sets;
        let us = self.timer.warm_up(sets, &mut contenders)?;
        let schedule = Schedule::of(&us, self.options.rounds);
        let timer = &mut self.timer;
        let mut work = || timer.interleave(sets, &mut contenders, schedule);
        let (times, telemetry) = match &self.observer {
            Some(observer) => {
                let (times, telemetry) = observer.during(work);
                (times, Some(telemetry))
            }
            None => (work(), None),
        };
        let times = times?;
        let flops = kernel::shape(row)?.flops();
        let peer_side = peer.map(|peer| Side::new(peer.side.name(), &times[1], flops, peer.error_over_bound));
        Ok(Measurement {
            ours: Side::new(kernel.name(), &times[0], flops, verdict.max_error_over_bound),
            ratio: peer.and_then(|_| ratios(&times[0], &times[1])),
            peer: peer_side,
            rounds: schedule.rounds,
            launches: schedule.launches,
            sets: operands.sets.len(),
            plan: Some(kernel.summary()),
            telemetry,
        })
    }
}

/// A wrong result of the peer is no fault of ours.
fn of_peer(side: &PeerSide<'_>, error: Error) -> Error {
    match error {
        Error::Mismatch(verdict) => Error::Tool {
            tool: "the peer",
            message: format!("{}: {verdict}", side.name()),
        },
        other => other,
    }
}

/// The peer's times over ours, pair by pair.
pub(super) fn ratios(ours: &[f64], peer: &[f64]) -> Option<Quartiles> {
    let ratios: Vec<f64> = ours.iter().zip(peer).map(|(ours, peer)| peer / ours).collect();
    Quartiles::of(&ratios)
}
