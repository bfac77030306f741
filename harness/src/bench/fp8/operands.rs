//! The matrices of an FP8 row, on both sides, and the check of what comes out.

use cust::memory::{CopyDestination, DeviceBuffer};
use half::bf16;
use tilewright::check::{Method, Mismatch, Verdict};
use tilewright::fp8::{Fp8, Fp8Gemm, Fp8Matrix, Fp8Scaling, reference};
use tilewright::launch::{DeviceMatrix, Fp8Operands, Gpu};
use tilewright::random::random_matrix;
use tilewright::{DriverCall, Element, Factors, Result};

use super::super::method::Inputs;
use super::super::operands::{l2_bytes, set_count};
use super::super::rows::Row;
use super::Fp8Row;

/// Rows and columns of C, at most, whose elements are compared: one of each 64 rows and one of each 128 columns of a C
/// of 4096 x 32768.
const MOST_SAMPLED: [usize; 2] = [64, 256];

/// A, B, their scales and C on the device.
pub struct Set<'gpu> {
    data: [DeviceBuffer<u8>; 2],
    scales: [DeviceBuffer<f32>; 2],
    /// C.
    pub c: DeviceMatrix<'gpu, bf16>,
}

impl Set<'_> {
    /// Where they are, for a product with alpha 1 and beta 0.
    pub fn operands(&self) -> Fp8Operands {
        Fp8Operands {
            data: self.data.each_ref().map(|data| data.as_device_ptr().as_raw()),
            scales: self.scales.each_ref().map(|scales| scales.as_device_ptr().as_raw()),
            c: self.c.as_device_ptr().as_raw(),
            bias: 0,
            group_ends: 0,
            factors: Factors::default(),
        }
    }
}

/// A and B on the host, and on the device so many times over that a launch finds nothing of its operands in the
/// second-level cache when its turn comes again.
pub struct Operands<'gpu> {
    a: Fp8Matrix,
    b: Fp8Matrix,
    kind: Fp8Row,
    expected: Sample,
    /// What launches take in turns.
    pub sets: Vec<Set<'gpu>>,
}

impl<'gpu> Operands<'gpu> {
    /// Random numbers, uniform in (-1, 1), the same at every call, quantized.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](tilewright::Error::InvalidArgument) for a K that is no multiple of 16,
    /// [`Error::Driver`](tilewright::Error::Driver) for more than the device has left.
    pub fn random(gpu: &'gpu Gpu, row: &Row, kind: Fp8Row) -> Result<Self> {
        let quantized = |seed, rows: usize, scaling| {
            let numbers = random_matrix::<f32>(seed, rows * row.k);
            Fp8Matrix::quantize(Fp8Row::FORMAT, scaling, rows, row.k, &numbers)
        };
        let [of_a, of_b] = kind.scalings();
        let (a, b) = (quantized(1, row.m, of_a)?, quantized(2, row.n, of_b)?);
        let expected = Sample::of(&a, &b, kind)?;
        let bytes_of = |matrix: &Fp8Matrix| matrix.data().len() + matrix.scale_layout().bytes();
        let bytes = bytes_of(&a) + bytes_of(&b) + row.m * row.n * size_of::<bf16>();
        let set = || -> Result<Set<'gpu>> {
            let upload = |matrix: &Fp8Matrix| DeviceBuffer::from_slice(matrix.data()).of_call("cuMemcpyHtoD");
            let upload_scales = |matrix: &Fp8Matrix| DeviceBuffer::from_slice(matrix.scales()).of_call("cuMemcpyHtoD");
            Ok(Set {
                data: [upload(&a)?, upload(&b)?],
                scales: [upload_scales(&a)?, upload_scales(&b)?],
                c: gpu.uninitialized(row.m * row.n)?,
            })
        };
        let sets = (0..set_count(bytes, l2_bytes(gpu)))
            .map(|_| set())
            .collect::<Result<_>>()?;
        Ok(Self {
            a,
            b,
            kind,
            expected,
            sets,
        })
    }

    /// Fills A and B of every set, after what was launched before. Their scales stay.
    ///
    /// # Errors
    /// [`Error::Driver`](tilewright::Error::Driver).
    pub fn fill(&mut self, inputs: Inputs) -> Result<()> {
        for set in &mut self.sets {
            for (data, matrix) in set.data.iter_mut().zip([&self.a, &self.b]) {
                match inputs {
                    Inputs::Zeros => data.set_8(0).of_call("cuMemsetD8")?,
                    Inputs::Random => data.copy_from(matrix.data()).of_call("cuMemcpyHtoD")?,
                }
            }
        }
        Ok(())
    }

    /// Runs a product on a C of NaNs, and compares a sample of what comes out with the CPU's; none of it may be NaN.
    ///
    /// # Errors
    /// Those of `launch`, of the device, and [`Error::Mismatch`](tilewright::Error::Mismatch).
    pub fn check(&mut self, gpu: &Gpu, launch: impl FnOnce(&mut Set<'gpu>) -> Result<()>) -> Result<Verdict> {
        let set = &mut self.sets[0];
        set.c.fill_bytes(0xff)?;
        launch(set)?;
        gpu.synchronize()?;
        let mut c = vec![bf16::ZERO; set.c.len()];
        set.c.download(&mut c)?;
        let n = self.b.rows();
        if let Some(at) = c.iter().position(|value| value.is_nan()) {
            let place = [at / n, at % n].map(|at| vec![at]);
            return Sample::at(&self.a, &self.b, self.kind, place)?
                .compare(&c, n)
                .into_result();
        }
        self.expected.compare(&c, n).into_result()
    }
}

/// Elements of C as the CPU computes them.
struct Sample {
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// Row by row.
    values: Vec<f64>,
    /// What may be lost along K.
    lost: f64,
}

impl Sample {
    /// Of rows and columns all over C.
    fn of(a: &Fp8Matrix, b: &Fp8Matrix, kind: Fp8Row) -> Result<Self> {
        let [rows, columns] = MOST_SAMPLED;
        Self::at(a, b, kind, [spread(a.rows(), rows), spread(b.rows(), columns)])
    }

    /// Of these rows and columns.
    fn at(a: &Fp8Matrix, b: &Fp8Matrix, kind: Fp8Row, [rows, columns]: [Vec<usize>; 2]) -> Result<Self> {
        let (of_a, of_b) = (some_rows(a, &rows)?, some_rows(b, &columns)?);
        let values = reference(&Fp8Gemm::<bf16>::new(&of_a, &of_b)?, None);
        let mean_square = values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64;
        Ok(Self {
            rows,
            columns,
            values,
            lost: lost(kind, a.k()) * mean_square.sqrt(),
        })
    }

    /// Compares them with a C of `n` columns. An element may be off by half a unit of bf16 and by what may be lost
    /// along K.
    fn compare(&self, c: &[bf16], n: usize) -> Verdict {
        let mut verdict = Verdict {
            compared: self.values.len(),
            mismatches: 0,
            first: None,
            max_error_over_bound: 0.0,
            method: Method::Sampled {
                vectors: 0,
                failing_rows: 0,
                compared_rows: 0,
                elements: c.len(),
            },
        };
        let places = self
            .rows
            .iter()
            .flat_map(|&row| self.columns.iter().map(move |&column| (row, column)));
        for ((row, column), &expected) in places.zip(&self.values) {
            let got = c[row * n + column].to_f64();
            let bound = expected.abs() * f64::exp2(-f64::from(bf16::DTYPE.significand_bits())) + self.lost;
            let error = (got - expected).abs();
            let over_bound = match (error.is_nan(), error == 0.0) {
                (true, _) => f64::INFINITY,
                (_, true) => 0.0,
                _ => error / bound,
            };
            verdict.max_error_over_bound = verdict.max_error_over_bound.max(over_bound);
            if over_bound > 1.0 {
                verdict.mismatches += 1;
                verdict.first.get_or_insert(Mismatch {
                    product: None,
                    row,
                    column,
                    got,
                    expected,
                    bound,
                });
            }
        }
        verdict
    }
}

/// What may be lost along K where terms have random signs, in units of the root mean square of C.
///
/// The tensor cores keep 13 bits below the largest among a `wgmma`'s 32 products and the sum so far, which stays below
/// four times the root mean square. A sum of that many terms is cut once for each 32, always toward 0, and the terms
/// once each, half of them up: the errors of these walk, and six times their standard deviation is allowed. Promotion
/// cuts sums of 128 alone, whose errors walk, too, as the sums do: relative to C they are those of one.
fn lost(kind: Fp8Row, k: usize) -> f64 {
    let terms = match kind.is_fast() {
        true => k,
        false => k.min(Fp8Scaling::BLOCK),
    } as f64;
    4.0 * f64::exp2(-13.0) * (terms / f64::from(Fp8::MMA_K) + 6.0 * (terms / 3.0).sqrt())
}

/// At most so many of these, one of each stretch of equal length, at a different place of each; the first and the last
/// among them.
fn spread(extent: usize, most: usize) -> Vec<usize> {
    /// Odd, so that multiples of it are at every place of a stretch of 2^n.
    const STRIDE: usize = 40_503;
    let count = extent.min(most);
    let of_stretch = |at: usize| {
        let [begin, end] = [at, at + 1].map(|at| at * extent / count);
        match at + 1 == count {
            true => end - 1,
            false => begin + at * STRIDE % (end - begin),
        }
    };
    (0..count).map(of_stretch).collect()
}

/// Some rows of a matrix, with the same values: a scale for each 128 of a row, whatever the matrix has them for.
fn some_rows(matrix: &Fp8Matrix, rows: &[usize]) -> Result<Fp8Matrix> {
    let (k, layout) = (matrix.k(), matrix.scale_layout());
    let data = rows
        .iter()
        .flat_map(|&row| matrix.data()[row * k..][..k].iter().copied());
    let blocks = (0..k).step_by(Fp8Scaling::BLOCK);
    let scales = blocks.flat_map(|at| rows.iter().map(move |&row| matrix.scales()[layout.index(row, at)]));
    Fp8Matrix::with_packed_scales(
        matrix.format(),
        Fp8Scaling::Rows128,
        [rows.len(), k],
        data.collect(),
        &scales.collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A and B of a kind, and the whole of C as the reference has it.
    fn product(kind: Fp8Row, [m, n, k]: [usize; 3]) -> (Fp8Matrix, Fp8Matrix, Vec<f64>) {
        let quantized = |seed, rows: usize, scaling| {
            let numbers = random_matrix::<f32>(seed, rows * k);
            Fp8Matrix::quantize(Fp8Row::FORMAT, scaling, rows, k, &numbers).expect("numbers")
        };
        let [of_a, of_b] = kind.scalings();
        let (a, b) = (quantized(1, m, of_a), quantized(2, n, of_b));
        let c = reference(&Fp8Gemm::<bf16>::new(&a, &b).expect("of one K"), None);
        (a, b, c)
    }

    #[test]
    fn a_sample_has_the_values_of_the_reference_in_every_scaling() {
        for kind in Fp8Row::ALL {
            let (a, b, c) = product(kind, [150, 300, 336]);
            let sample = Sample::of(&a, &b, kind).expect("fits");
            assert_eq!((sample.rows.len(), sample.columns.len()), (64, 256));
            let mut values = sample.values.iter();
            for row in &sample.rows {
                for column in &sample.columns {
                    assert_eq!(values.next(), Some(&c[row * 300 + column]), "{kind}: {row}, {column}");
                }
            }
            let c: Vec<_> = c.into_iter().map(bf16::from_f64).collect();
            let verdict = sample.compare(&c, 300);
            assert!(
                verdict.passed() && verdict.max_error_over_bound > 0.0,
                "{kind}: {verdict}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_found_with_its_place() {
        for kind in [Fp8Row::TensorFast, Fp8Row::Blocks] {
            let (a, b, c) = product(kind, [64, 200, 4096]);
            let sample = Sample::of(&a, &b, kind).expect("fits");
            let right: Vec<_> = c.iter().map(|&value| bf16::from_f64(value)).collect();
            let zeros = vec![bf16::ZERO; right.len()];
            let scaled: Vec<_> = c.iter().map(|&value| bf16::from_f64(1.5 * value)).collect();
            for wrong in [zeros, scaled, vec![bf16::NAN; right.len()]] {
                let verdict = sample.compare(&wrong, 200);
                assert!(2 * verdict.mismatches > verdict.compared, "{kind}: {verdict}");
            }
            let mut one = right.clone();
            let place = sample.rows[7] * 200 + sample.columns[9];
            one[place] = bf16::NAN;
            let verdict = sample.compare(&one, 200);
            let first = verdict.first.expect("one is NaN");
            assert_eq!(
                (verdict.mismatches, first.row, first.column),
                (1, sample.rows[7], sample.columns[9])
            );
            assert!(verdict.max_error_over_bound.is_infinite());
        }
    }

    #[test]
    fn a_sample_reaches_every_tile_and_both_ends() {
        for (extent, most) in [(1, 64), (64, 64), (100, 64), (4096, 64), (32_768, 256), (7168, 256)] {
            let places = spread(extent, most);
            assert_eq!(places.len(), extent.min(most));
            assert!(places.is_sorted_by(|a, b| a < b), "{extent}: {places:?}");
            assert_eq!((places[0], places.last()), (0, Some(&(extent - 1))));
            let tiles: std::collections::BTreeSet<_> = places.iter().map(|place| place / 128).collect();
            assert_eq!(tiles.len(), extent.div_ceil(128), "{extent}");
        }
    }
}
