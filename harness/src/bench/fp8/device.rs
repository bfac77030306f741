//! FP8 rows on the GPU.

use std::rc::Rc;
use std::time::Duration;

use half::bf16;
use tilewright::dispatch::PlanSummary;
use tilewright::fp8::{self, Plan, Policy};
use tilewright::launch::{Checks, Gpu, PreparedFp8};
use tilewright::{Activation, Error, Result, ptx};
use tilewright_contract::{FP8_KERNELS, Fp8Kernel};

use super::super::Options;
use super::super::cublas::{self, Algorithm};
use super::super::gpu::Bench;
use super::super::method::{self, Baselines, Candidate, Inputs, Observed, Product};
use super::super::results::{PassedOver, RowResult};
use super::super::rows::{Baseline, Row, Subject};
use super::super::timing::Schedule;
use super::Fp8Row;
use super::operands::{Operands, Set};
use crate::digest;

/// What computes an FP8 product on the device.
enum OnGpu<'c> {
    /// A kernel of ours.
    Ours(Box<PreparedFp8>, PlanSummary),
    /// An algorithm of cublasLt.
    Library(Rc<cublas::Product<'c>>, Algorithm),
}

impl Candidate for OnGpu<'_> {
    fn name(&self) -> String {
        match self {
            Self::Ours(_, plan) => format!("{}, {}x{}", plan.kernel, plan.tile[0], plan.tile[1]),
            Self::Library(_, algorithm) => algorithm.name(),
        }
    }

    fn plan(&self) -> Option<PlanSummary> {
        match self {
            Self::Ours(_, plan) => Some(plan.clone()),
            Self::Library(..) => None,
        }
    }
}

impl OnGpu<'_> {
    fn launch(&self, gpu: &Gpu, set: &mut Set<'_>) -> Result<()> {
        let operands = set.operands();
        // SAFETY: the buffers of a set are as long as the row's product asks for, and live until the device has been
        // waited for; C is borrowed exclusively.
        unsafe {
            match self {
                Self::Ours(prepared, _) => prepared.enqueue(gpu.stream().as_inner(), &operands),
                Self::Library(product, algorithm) => product.launch_fp8(algorithm, &operands),
            }
        }
    }
}

impl<'b> Bench<'b> {
    /// Checks and times the rows of one FP8 product.
    pub(in super::super) fn fp8_rows(
        &mut self,
        rows: &[Row],
        kind: Fp8Row,
        on_row: &mut dyn FnMut(usize),
    ) -> Vec<RowResult> {
        let (options, gpu) = (self.options, self.gpu);
        let plan = |row: &Row| {
            let has_baseline = matches!(row.baseline, Baseline::Library | Baseline::Others);
            if options.family.is_some() || row.subject != Subject::Auto || !has_baseline {
                return Err(Error::InvalidArgument(format!(
                    "{}: the kernels of FP8 are of no family, and compared with cublasLt or with each other",
                    row.name
                )));
            }
            ours(gpu, row, kind, &policy(options, kind, None))
        };
        method::rows_of_product(
            rows,
            options,
            plan,
            |row| {
                Ok(OnDevice {
                    operands: Operands::random(gpu, row, kind)?,
                    bench: self,
                    kind,
                })
            },
            on_row,
        )
    }
}

/// The planner's choice, or this kernel.
fn policy(options: &Options, kind: Fp8Row, kernel: Option<&'static Fp8Kernel>) -> Policy {
    Policy {
        kernel,
        fast: kind.is_fast(),
        speeds: options.speeds,
        ..Policy::default()
    }
}

/// What a policy takes for a row.
fn ours<'c>(gpu: &Gpu, row: &Row, kind: Fp8Row, policy: &Policy) -> Result<OnGpu<'c>> {
    let plan = fp8::plan(&kind.problem([row.m, row.n, row.k]), gpu.profile(), policy)?;
    let prepared = gpu
        .kernels()
        .prepare_fp8::<bf16, bf16>(&plan, false, Activation::None)?;
    // The buffers are this benchmark's own: the driver need not be asked about them at each launch.
    let prepared = prepared.with_checks(Checks::Arithmetic);
    Ok(OnGpu::Ours(
        Box::new(prepared),
        summary(&plan, gpu.profile().smem_per_block_optin),
    ))
}

/// A plan as the results have those of other kernels.
fn summary(plan: &Plan, limit_bytes: u32) -> PlanSummary {
    let (kernel, smem) = (plan.kernel(), plan.smem());
    PlanSummary {
        kernel: kernel.symbol,
        tile: [kernel.tile.m, kernel.tile.n],
        splits: 1,
        block: [kernel.tile.threads(), 1, 1],
        grid: [plan.ctas(), 1, 1],
        batch: 1,
        launches: 1,
        a_part_bytes: smem.stages * smem.a_per_stage.get(),
        b_part_bytes: smem.stages * smem.b_per_stage.get(),
        c_part_bytes: smem.c.get(),
        barrier_bytes: smem.barriers.get(),
        static_smem_bytes: 0,
        dynamic_smem_bytes: smem.dynamic_bytes().get(),
        limit_bytes,
        opt_in: true,
        padded_ld: [None, None],
        padded_bytes: 0,
    }
}

/// The operands of one product, and the bench that runs on them.
struct OnDevice<'t, 'b> {
    operands: Operands<'b>,
    bench: &'t mut Bench<'b>,
    kind: Fp8Row,
}

impl<'b> Product for OnDevice<'_, 'b> {
    type Candidate = OnGpu<'b>;

    fn baselines(&mut self, row: &Row) -> Result<Baselines<OnGpu<'b>>> {
        let mut found = Baselines::default();
        if row.baseline == Baseline::Others {
            let of = |kernel| {
                let policy = policy(self.bench.options, self.kind, kernel);
                ours(self.bench.gpu, row, self.kind, &policy)
            };
            let picked = of(None)?.plan().map(|plan| plan.kernel);
            let mode = self.kind.problem([row.m, row.n, row.k]).mode(self.kind.is_fast())?;
            let others = FP8_KERNELS.iter().filter(|kernel| {
                let of = (kernel.mode, kernel.formats, kernel.output, kernel.tile.groups);
                of == (mode, [Fp8Row::FORMAT; 2], row.dtype, false) && Some(kernel.symbol) != picked
            });
            for kernel in others {
                found.candidates.push(of(Some(kernel))?);
            }
            return Ok(found);
        }
        let Some(cublas) = self.bench.cublas else {
            return Ok(found);
        };
        let product = Rc::new(cublas.product(row)?);
        // The heuristics may ask for the scales' alignment.
        let (algorithms, problem) = match product.set_scales(self.operands.sets[0].operands().scales) {
            Ok(()) => product.algorithms(),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let none = || format!("its heuristics name no algorithm for {}", self.kind);
        let problem = problem.or_else(|| algorithms.is_empty().then(none));
        found.passed_over.extend(problem.map(|problem| PassedOver {
            name: "cublasLt".to_owned(),
            problem,
        }));
        let candidate = |algorithm| OnGpu::Library(Rc::clone(&product), algorithm);
        found.candidates.extend(algorithms.into_iter().map(candidate));
        Ok(found)
    }

    fn check(&mut self, candidate: &OnGpu<'b>) -> Result<f64> {
        let gpu = self.bench.gpu;
        let verdict = self.operands.check(gpu, |set| candidate.launch(gpu, set))?;
        Ok(verdict.max_error_over_bound)
    }

    fn fill(&mut self, inputs: Inputs) -> Result<()> {
        self.operands.fill(inputs)
    }

    fn turns(&mut self, candidates: &[&OnGpu<'b>], schedule: Schedule) -> Result<Vec<Vec<f64>>> {
        let gpu = self.bench.gpu;
        let (sets, timer) = (&mut self.operands.sets, &mut self.bench.timer);
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
        let (sets, timer) = (&mut self.operands.sets, &mut self.bench.timer);
        let mut launch = |at: usize, set: &mut Set<'b>| candidates[at].launch(gpu, set);
        timer.lone(sets, candidates.len(), rounds, &mut launch).map(Some)
    }

    fn digest(&self, kernel: &str) -> Option<String> {
        digest::of_level(ptx::fp8()).get(kernel).cloned()
    }

    fn now(&self) -> Duration {
        self.bench.start.elapsed()
    }

    fn sets(&self) -> usize {
        self.operands.sets.len()
    }
}
