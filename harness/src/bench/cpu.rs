//! Rows on the CPU: the tiled product against the `matrixmultiply` crate, on as many threads.

use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use tilewright::dispatch::PlanSummary;
use tilewright::random::random_matrix;
use tilewright::reference::{DEFAULT_TILE_WIDTH, tiled_parallel};
use tilewright::{Element, Error, Result, check};
use tilewright_contract::{DType, GemmShape, Operand};

use super::method::{self, Baselines, Candidate, Inputs, Product};
use super::results::{Outcome, RowResult};
use super::rows::{Baseline, Row, Subject};
use super::timing::Schedule;
use super::{Options, Progress};

/// What the peer takes at most.
const MOST_THREADS: usize = 4;

/// The threads of both sides.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS))
}

/// Checks and times every row.
///
/// # Errors
/// [`Error::Unavailable`] when the threads cannot be had.
pub fn run(rows: &[Row], options: &Options, on_progress: impl FnMut(Progress<'_>)) -> Result<Vec<RowResult>> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads())
        .build()
        .map_err(|error| Error::Unavailable(error.to_string()))?;
    Ok(method::run(rows, on_progress, |rows, on_row| match rows[0].dtype {
        DType::F32 => rows_of_product::<f32>(rows, options, &pool, on_row),
        DType::F64 => rows_of_product::<f64>(rows, options, &pool, on_row),
        other => {
            let error = Error::InvalidArgument(format!("matrixmultiply has no product of {other}"));
            let failed = |row: &Row| RowResult {
                row: row.clone(),
                kernel: None,
                outcome: Outcome::failed(&error),
            };
            rows.iter().map(failed).collect()
        }
    }))
}

fn rows_of_product<T: Peer>(
    rows: &[Row],
    options: &Options,
    pool: &ThreadPool,
    on_row: &mut dyn FnMut(usize),
) -> Vec<RowResult> {
    let plan = |row: &Row| match (row.subject, row.baseline) {
        (Subject::Auto, Baseline::Library) => Ok(OnCpu::Ours),
        _ => Err(Error::InvalidArgument("the CPU has one kernel and one peer".to_owned())),
    };
    let open = |row: &Row| OnHost::<T>::new(row.shape()?, pool);
    method::rows_of_product(rows, options, plan, open, on_row)
}

/// What computes a product on the CPU.
enum OnCpu {
    Ours,
    Library,
}

impl Candidate for OnCpu {
    fn name(&self) -> String {
        match self {
            Self::Ours => format!("tiled_parallel, tile {DEFAULT_TILE_WIDTH}"),
            Self::Library => "matrixmultiply".to_owned(),
        }
    }

    fn plan(&self) -> Option<PlanSummary> {
        None
    }
}

/// The operands of one product in host memory.
struct OnHost<'p, T> {
    shape: GemmShape,
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
    pool: &'p ThreadPool,
    start: Instant,
}

impl<'p, T: Peer> OnHost<'p, T> {
    fn new(shape: GemmShape, pool: &'p ThreadPool) -> Result<Self> {
        let mut made = Self {
            shape,
            a: Vec::new(),
            b: Vec::new(),
            c: vec![T::from_f64(0.0); shape.span_elems(Operand::C)],
            pool,
            start: Instant::now(),
        };
        made.fill(Inputs::Random)?;
        Ok(made)
    }

    fn run(&mut self, candidate: &OnCpu) -> Result<()> {
        let Self {
            shape, a, b, c, pool, ..
        } = self;
        match candidate {
            OnCpu::Ours => pool.install(|| tiled_parallel(shape, DEFAULT_TILE_WIDTH, a, b, c)),
            OnCpu::Library => T::gemm(shape, a, b, c),
        }
    }
}

impl<T: Peer> Product for OnHost<'_, T> {
    type Candidate = OnCpu;

    fn baselines(&mut self, _: &Row) -> Result<Baselines<OnCpu>> {
        Ok(Baselines {
            candidates: vec![OnCpu::Library],
            passed_over: Vec::new(),
        })
    }

    fn check(&mut self, candidate: &OnCpu) -> Result<f64> {
        self.c.fill(T::from_f64(f64::NAN));
        self.run(candidate)?;
        let verdict = check::full(&self.shape, &self.a, &self.b, &self.c)?.into_result()?;
        Ok(verdict.max_error_over_bound)
    }

    fn fill(&mut self, inputs: Inputs) -> Result<()> {
        let filled = |seed, elems| match inputs {
            Inputs::Random => random_matrix(seed, elems),
            Inputs::Zeros => vec![T::from_f64(0.0); elems],
        };
        self.a = filled(1, self.shape.span_elems(Operand::A));
        self.b = filled(2, self.shape.span_elems(Operand::B));
        Ok(())
    }

    fn turns(&mut self, candidates: &[&OnCpu], schedule: Schedule) -> Result<Vec<Vec<f64>>> {
        let mut times = vec![Vec::new(); candidates.len()];
        for _ in 0..schedule.rounds {
            for (candidate, times) in candidates.iter().zip(&mut times) {
                let start = Instant::now();
                for _ in 0..schedule.launches {
                    self.run(candidate)?;
                }
                times.push(start.elapsed().as_secs_f64() * 1e6 / schedule.launches as f64);
            }
        }
        Ok(times)
    }

    fn lone(&mut self, _: &[&OnCpu], _: usize) -> Result<Option<Vec<Vec<f64>>>> {
        Ok(None)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sets(&self) -> usize {
        1
    }
}

/// A type that the peer multiplies.
trait Peer: Element {
    fn gemm(shape: &GemmShape, a: &[Self], b: &[Self], c: &mut [Self]) -> Result<()>;
}

macro_rules! peer {
    ($type:ty, $gemm:path) => {
        impl Peer for $type {
            fn gemm(shape: &GemmShape, a: &[Self], b: &[Self], c: &mut [Self]) -> Result<()> {
                let (m, k, lda) = shape.extents(Operand::A);
                let (_, n, ldb) = shape.extents(Operand::B);
                let (_, _, ldc) = shape.extents(Operand::C);
                tilewright::reference::check_lengths(
                    shape,
                    &[
                        (Operand::A, a.len()),
                        (Operand::B, b.len()),
                        (Operand::C, c.len()),
                    ],
                )?;
                let [lda, ldb, ldc] = [lda, ldb, ldc].map(|ld| ld as isize);
                for [from_a, from_b, from_c] in (0..shape.batch().count).map(|index| shape.starts(index)) {
                    let (a, b) = (a[from_a..].as_ptr(), b[from_b..].as_ptr());
                    let c = c[from_c..].as_mut_ptr();
                    // SAFETY: each slice holds its operand, as checked, and C overlaps neither A nor B.
                    unsafe { $gemm(m, k, n, 1.0, a, lda, 1, b, ldb, 1, 0.0, c, ldc, 1) };
                }
                Ok(())
            }
        }
    };
}
peer!(f32, matrixmultiply::sgemm);
peer!(f64, matrixmultiply::dgemm);
