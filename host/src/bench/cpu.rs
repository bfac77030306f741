//! Rows on the CPU: the tiled product against the `matrixmultiply` crate, on as many threads.

use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};
use tilewright_contract::{DType, GemmShape, Operand};

use super::gpu::ratios;
use super::kernel::shape;
use super::results::{Measurement, Outcome, RowResult, Side};
use super::rows::Row;
use super::timing::Schedule;
use super::{Options, Progress};
use crate::check;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::random::random_matrix;
use crate::reference::{DEFAULT_TILE_WIDTH, tiled_parallel};

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
pub fn run(rows: &[Row], options: &Options, mut on_progress: impl FnMut(Progress<'_>)) -> Result<Vec<RowResult>> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads())
        .build()
        .map_err(|error| Error::Unavailable(error.to_string()))?;
    Ok(rows
        .iter()
        .enumerate()
        .map(|(done, row)| {
            on_progress(Progress {
                done,
                total: rows.len(),
                row: &row.name,
            });
            let measured = match row.dtype {
                DType::F32 => measure::<f32>(row, options, &pool),
                DType::F64 => measure::<f64>(row, options, &pool),
                other => Err(Error::InvalidArgument(format!(
                    "matrixmultiply has no product of {other}"
                ))),
            };
            match measured {
                Ok(measurement) => RowResult {
                    row: row.clone(),
                    outcome: Outcome::Measured(Box::new(measurement)),
                },
                Err(error) => RowResult::failed(row, &error),
            }
        })
        .collect())
}

fn measure<T: Peer>(row: &Row, options: &Options, pool: &ThreadPool) -> Result<Measurement> {
    let shape = shape(row)?;
    let a: Vec<T> = random_matrix(1, shape.span_elems(Operand::A));
    let b: Vec<T> = random_matrix(2, shape.span_elems(Operand::B));
    let ours = |c: &mut [T]| pool.install(|| tiled_parallel(&shape, DEFAULT_TILE_WIDTH, &a, &b, c));
    let peer = |c: &mut [T]| T::gemm(&shape, &a, &b, c);
    let contenders: [Contender<'_, T>; 2] = [&ours, &peer];

    let mut c = vec![T::from_f64(0.0); shape.span_elems(Operand::C)];
    let mut errors = [0.0; 2];
    for (run, error) in contenders.iter().zip(&mut errors) {
        c.fill(T::from_f64(f64::NAN));
        run(&mut c)?;
        *error = check::full(&shape, &a, &b, &c)?.into_result()?.max_error_over_bound;
    }
    let mut time_us = |run: Contender<'_, T>| -> Result<f64> {
        let start = Instant::now();
        run(&mut c)?;
        Ok(start.elapsed().as_secs_f64() * 1e6)
    };
    let once = [time_us(&ours)?, time_us(&peer)?];
    let Schedule { rounds, .. } = Schedule::of(&once, options.rounds);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (run, times) in contenders.iter().zip(&mut times) {
            times.push(time_us(run)?);
        }
    }
    let flops = shape.flops();
    Ok(Measurement {
        ours: Side::new(
            format!("tiled_parallel, tile {DEFAULT_TILE_WIDTH}"),
            &times[0],
            flops,
            errors[0],
        ),
        peer: Some(Side::new("matrixmultiply".to_owned(), &times[1], flops, errors[1])),
        ratio: ratios(&times[0], &times[1]),
        rounds,
        launches: 1,
        sets: 1,
        plan: None,
        telemetry: None,
    })
}

/// Computes C.
type Contender<'c, T> = &'c dyn Fn(&mut [T]) -> Result<()>;

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
                crate::reference::check_lengths(
                    shape,
                    &[
                        (Operand::A, a.len()),
                        (Operand::B, b.len()),
                        (Operand::C, c.len()),
                    ],
                )?;
                let [lda, ldb, ldc] = [lda, ldb, ldc].map(|ld| ld as isize);
                let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                // SAFETY: each slice holds its operand, as checked, and C overlaps neither A nor B.
                unsafe { $gemm(m, k, n, 1.0, a, lda, 1, b, ldb, 1, 0.0, c, ldc, 1) };
                Ok(())
            }
        }
    };
}
peer!(f32, matrixmultiply::sgemm);
peer!(f64, matrixmultiply::dgemm);
