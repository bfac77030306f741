//! Rows on the GPU: the planner's choice or a family, against the better of cuBLAS and cublasLt.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use half::{bf16, f16};
use tilewright::dispatch::PlanSummary;
use tilewright::launch::Gpu;
use tilewright::{Element, Error, Result};
use tilewright_contract::{DType, Precision};
use tilewright_plan::{GemmType, Path as InstructionPath};

use super::cublas::{self, Algorithm, Cublas};
use super::kernel::Kernel;
use super::method::{self, Baselines, Candidate, Inputs, Observed, Product};
use super::operands::{Operands, Set};
use super::results::{About, Ceilings, PassedOver, RowResult};
use super::rows::{Baseline, Row, Subject};
use super::telemetry::Observer;
use super::timing::{Schedule, Timer};
use super::twins::{Twin, Twins};
use super::{Options, Progress};
use crate::digest;

/// A device with everything that a row needs.
pub struct Bench<'b> {
    pub(super) gpu: &'b Gpu,
    pub(super) options: &'b Options,
    pub(super) timer: Timer<'b>,
    pub(super) cublas: Option<&'b Cublas<'b>>,
    twins: Option<&'b Twins<'b>>,
    pub(super) observer: Option<Observer>,
    pub(super) start: Instant,
}

/// What computes a product on the device.
enum OnGpu<'c> {
    /// A kernel of ours.
    Ours(Kernel),
    /// A library's way for a product.
    Library(Rc<cublas::Product<'c>>, Algorithm),
    /// Our kernel in CUDA C++.
    Twin(Twin<'c>),
}

impl Candidate for OnGpu<'_> {
    fn name(&self) -> String {
        match self {
            Self::Ours(kernel) => kernel.name(),
            Self::Library(_, algorithm) => algorithm.name(),
            Self::Twin(twin) => twin.name().to_owned(),
        }
    }

    fn plan(&self) -> Option<PlanSummary> {
        match self {
            Self::Ours(kernel) => Some(kernel.summary()),
            Self::Library(..) | Self::Twin(_) => None,
        }
    }
}

impl OnGpu<'_> {
    fn precision(&self) -> Precision {
        match self {
            Self::Ours(kernel) => kernel.launch_plan().kernel().precision,
            Self::Library(product, _) => product.precision(),
            Self::Twin(_) => Precision::Ieee,
        }
    }

    fn launch<T: Element>(&self, gpu: &Gpu, set: &mut Set<'_, T>) -> Result<()> {
        match self {
            Self::Ours(kernel) => kernel.launch(gpu, &set.a, &set.b, &mut set.c),
            Self::Library(product, algorithm) => product.launch(algorithm, &set.a, &set.b, &mut set.c),
            Self::Twin(twin) => twin.launch(set),
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
    let (architecture, model) = gpu.profile().architecture().zip(gpu.profile().gpu_model())?;
    let rate = InstructionPath::Simt.support(&architecture, GemmType::F32)?.rate;
    let on_tensor_cores = |of| {
        let support = InstructionPath::best(&architecture, of)?.support(&architecture, of)?;
        Some(model.flops_per_second(support.rate) / 1e12)
    };
    Some(Ceilings {
        f32_tflops: model.flops_per_second(rate) / 1e12,
        half_tflops: on_tensor_cores(GemmType::F16),
        fp8_tflops: on_tensor_cores(GemmType::E4m3),
        clock_mhz: f64::from(model.clock_khz) / 1e3,
        dram_gb_per_second: model.dram_bytes_per_second as f64 / 1e9,
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
            start: Instant::now(),
        })
    }

    /// Bytes that are written before a lone launch.
    pub fn flushed_bytes(&self) -> u64 {
        self.timer.flushed_bytes()
    }

    /// Checks and times every row.
    pub fn run(&mut self, rows: &[Row], on_progress: impl FnMut(Progress<'_>)) -> Vec<RowResult> {
        method::run(rows, on_progress, |rows, on_row| match (rows[0].fp8, rows[0].dtype) {
            (Some(kind), _) => self.fp8_rows(rows, kind, on_row),
            (None, DType::F32) => self.rows_of_product::<f32>(rows, on_row),
            (None, DType::F64) => self.rows_of_product::<f64>(rows, on_row),
            (None, DType::F16) => self.rows_of_product::<f16>(rows, on_row),
            (None, DType::Bf16) => self.rows_of_product::<bf16>(rows, on_row),
        })
    }

    fn rows_of_product<T: Element>(&mut self, rows: &[Row], on_row: &mut dyn FnMut(usize)) -> Vec<RowResult> {
        let (options, gpu) = (self.options, self.gpu);
        let plan = |row: &Row| {
            let subject = options.family.map_or(row.subject, Subject::Family);
            Ok(OnGpu::Ours(Kernel::plan(
                row,
                subject,
                options.policy(),
                gpu.profile(),
            )?))
        };
        method::rows_of_product(
            rows,
            options,
            plan,
            |row| {
                Ok(OnDevice::<T> {
                    operands: Operands::random(gpu, row.shape()?)?,
                    bench: self,
                })
            },
            on_row,
        )
    }

    /// The CUDA C++ twin of what a row times.
    fn twin(&self, row: &Row) -> Result<Twin<'b>> {
        let missing = || {
            let how = "--twins FILE: benches/peers/tiled.cu, compiled by `nvcc -O3 -cubin` for this GPU";
            Error::InvalidArgument(format!("{} needs {how}", row.name))
        };
        if row.batch != 1 {
            let problem = format!(
                "{}: the twins compute one product, not a batch of {}",
                row.name, row.batch
            );
            return Err(Error::InvalidArgument(problem));
        }
        let subject = self.options.family.map_or(row.subject, Subject::Family);
        let ours = Kernel::plan(row, subject, self.options.policy(), self.gpu.profile())?;
        self.twins.ok_or_else(missing)?.of(ours.launch_plan().clone())
    }
}

/// The operands of one product, and the bench that runs on them.
struct OnDevice<'t, 'b, T: Element> {
    operands: Operands<'b, T>,
    bench: &'t mut Bench<'b>,
}

impl<'b, T: Element> Product for OnDevice<'_, 'b, T> {
    type Candidate = OnGpu<'b>;

    fn baselines(&mut self, row: &Row) -> Result<Baselines<OnGpu<'b>>> {
        let bench = &*self.bench;
        let mut found = Baselines::default();
        match row.baseline {
            Baseline::Twin => found.candidates.push(OnGpu::Twin(bench.twin(row)?)),
            Baseline::Kernel(subject) => {
                let other = Kernel::plan(row, subject, bench.options.policy(), bench.gpu.profile())?;
                found.candidates.push(OnGpu::Ours(other));
            }
            Baseline::Others => {
                return Err(Error::InvalidArgument(format!(
                    "{}: others are the kernels of FP8",
                    row.name
                )));
            }
            Baseline::Library => {
                if let Some(cublas) = bench.cublas {
                    // A family that the options name replaces that of the row.
                    let subject = bench.options.family.map_or(row.subject, Subject::Family);
                    let row = Row { subject, ..row.clone() };
                    let product = Rc::new(cublas.product(&row)?);
                    let (algorithms, problem) = product.algorithms();
                    let candidate = |algorithm| OnGpu::Library(Rc::clone(&product), algorithm);
                    found.candidates.extend(algorithms.into_iter().map(candidate));
                    let passed_over = |problem| PassedOver {
                        name: "cublasLt".to_owned(),
                        problem,
                    };
                    found.passed_over.extend(problem.map(passed_over));
                }
            }
        }
        Ok(found)
    }

    fn check(&mut self, candidate: &OnGpu<'b>) -> Result<f64> {
        let gpu = self.bench.gpu;
        let precision = candidate.precision();
        let verdict = self.operands.check(gpu, precision, |set| candidate.launch(gpu, set))?;
        Ok(verdict.max_error_over_bound)
    }

    fn fill(&mut self, inputs: Inputs) -> Result<()> {
        self.operands.fill(inputs)
    }

    fn turns(&mut self, candidates: &[&OnGpu<'b>], schedule: Schedule) -> Result<Vec<Vec<f64>>> {
        let gpu = self.bench.gpu;
        let sets = &mut self.operands.sets;
        let timer = &mut self.bench.timer;
        timer.turns(sets, candidates.len(), schedule, &mut |at, set| {
            candidates[at].launch(gpu, set)
        })
    }

    fn observed_turns(&mut self, candidates: &[&OnGpu<'b>], schedule: Schedule) -> Result<Observed> {
        let Some(observer) = self.bench.observer.take() else {
            return Ok((self.turns(candidates, schedule)?, None));
        };
        let (times, telemetry) = observer.during(|| self.turns(candidates, schedule));
        self.bench.observer = Some(observer);
        Ok((times?, Some(telemetry)))
    }

    fn lone(&mut self, candidates: &[&OnGpu<'b>], rounds: usize) -> Result<Option<Vec<Vec<f64>>>> {
        let gpu = self.bench.gpu;
        let sets = &mut self.operands.sets;
        let timer = &mut self.bench.timer;
        let mut launch = |at: usize, set: &mut Set<'b, T>| candidates[at].launch(gpu, set);
        timer.lone(sets, candidates.len(), rounds, &mut launch).map(Some)
    }

    fn digest(&self, kernel: &str) -> Option<String> {
        digest::of_kernel(kernel, self.bench.gpu.level().arch)
    }

    fn now(&self) -> Duration {
        self.bench.start.elapsed()
    }

    fn sets(&self) -> usize {
        self.operands.sets.len()
    }
}
