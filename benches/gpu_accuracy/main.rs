//! Errors of f32 products by each arithmetic that there is, beside cuBLAS's SGEMM, against f64: over K, and over data
//! that are hard for one of them.
//!
//! The error of an element is its distance from the f64 product, over the sum of the magnitudes of its terms, in units
//! of 2^-24, the unit roundoff of f32.

mod data;
mod plot;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

use clap::Parser;
use data::{CASES, Case};
use serde::Serialize;
use tilewright::dispatch::{Policy, plan};
use tilewright::launch::Gpu;
use tilewright::{DType, Family, Gemm, Precision};
use tilewright_harness::bench::cublas::Cublas;
use tilewright_harness::bench::{Baseline, Layout, Row, Subject, rows_on_lines};
use tilewright_harness::digest;

/// Compares the errors of f32 products with those of cuBLAS.
#[derive(Parser)]
struct Arguments {
    /// Where the result file goes.
    #[arg(long)]
    out: PathBuf,
    /// The commit that was built.
    #[arg(long, default_value = "unknown")]
    commit: String,
    /// The date of the run.
    #[arg(long, default_value = "unknown")]
    date: String,
    /// The folder of cuBLAS; without it, where the loader finds it.
    #[arg(long)]
    cublas: Option<PathBuf>,
    /// What `cargo bench` passes.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Rows and columns of C: enough for every product to take its large tiles.
const EXTENT: usize = 2048;

/// Rows of C that are looked at, all their columns.
const SAMPLED_ROWS: usize = 32;

/// The rows of the sample: one of each part of C, at changing places.
fn sampled_rows() -> impl Iterator<Item = usize> {
    let part = EXTENT / SAMPLED_ROWS;
    (0..SAMPLED_ROWS).map(move |at| at * part + at * 7 % part)
}

/// Who computes a product.
#[derive(Clone, Copy)]
enum By {
    /// A family of ours.
    Ours(Family),
    /// cuBLAS, in the precision in which it is compared with a subject.
    Cublas(Subject),
}

/// What is compared.
const PRODUCTS: [(&str, By); 5] = [
    (Precision::EmulatedF32.name(), By::Ours(Family::WGMMA_BF16X6)),
    (Precision::Ieee.name(), By::Ours(Family::SIMT)),
    ("cuBLAS SGEMM", By::Cublas(Subject::Auto)),
    (Precision::Tf32.name(), By::Ours(Family::WGMMA_TF32)),
    ("cuBLAS TF32", By::Cublas(Subject::Family(Family::WGMMA_TF32))),
];

/// A table as the results page shows it.
#[derive(Serialize)]
struct Results {
    date: String,
    commit: String,
    device: String,
    driver: String,
    /// Of each kernel that was launched.
    digests: BTreeMap<String, String>,
    text: Vec<String>,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// What the sample of C should be, and the sums of magnitudes.
struct Reference {
    values: Vec<f64>,
    magnitudes: Vec<f64>,
}

impl Reference {
    fn of(k: usize, a: &[f32], b: &[f32]) -> Self {
        let elements = SAMPLED_ROWS * EXTENT;
        let mut reference = Self {
            values: vec![0.0; elements],
            magnitudes: vec![0.0; elements],
        };
        let values = reference.values.chunks_mut(EXTENT);
        let rows = values.zip(reference.magnitudes.chunks_mut(EXTENT));
        for (row, (values, magnitudes)) in sampled_rows().zip(rows) {
            for (&left, right) in a[row * k..].iter().zip(b.chunks(EXTENT)) {
                for ((value, magnitude), &right) in values.iter_mut().zip(&mut *magnitudes).zip(right) {
                    let term = f64::from(left) * f64::from(right);
                    *value += term;
                    *magnitude += term.abs();
                }
            }
        }
        reference
    }

    /// The errors of C.
    fn errors(&self, c: &[f32]) -> Errors {
        let mut errors = Errors::default();
        let mut counted = 0;
        let sampled = sampled_rows().flat_map(|row| &c[row * EXTENT..][..EXTENT]);
        for ((&value, &magnitude), &got) in self.values.iter().zip(&self.magnitudes).zip(sampled) {
            // What an f32 has no room for is an infinity.
            let expected = value as f32;
            let is_special = !expected.is_finite() || !got.is_finite();
            if is_special {
                let is_same = expected == got || expected.is_nan() && got.is_nan();
                errors.specials += usize::from(!expected.is_finite());
                errors.wrong_specials += usize::from(!is_same);
            } else if magnitude > 0.0 {
                let error = (f64::from(got) - value).abs() / magnitude * 2.0_f64.powi(24);
                errors.max = errors.max.max(error);
                errors.mean += error;
                counted += 1;
            }
        }
        errors.mean /= f64::from(counted.max(1));
        errors
    }
}

/// The errors of one product.
#[derive(Default)]
struct Errors {
    max: f64,
    mean: f64,
    /// Elements that should be infinite or NaN.
    specials: usize,
    /// Elements that are infinite or NaN and should not be, or the other way, or of the wrong kind.
    wrong_specials: usize,
}

impl Errors {
    fn cells(&self) -> [String; 3] {
        let wrong = match (self.specials, self.wrong_specials) {
            (0, 0) => String::new(),
            (specials, wrong) => format!("{wrong} of {specials}"),
        };
        [format!("{:.3}", self.max), format!("{:.4}", self.mean), wrong]
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    std::fs::create_dir_all(&arguments.out)?;
    let gpu = Gpu::open(0)?;
    let cublas = Cublas::load(&gpu, arguments.cublas.as_deref())?;
    let mut digests = BTreeMap::new();
    let mut rows = Vec::new();
    let mut series = PRODUCTS.map(|(name, _)| plot::Series {
        name,
        points: Vec::new(),
    });
    for case in &CASES {
        let all = measured(&gpu, &cublas, case, &mut digests)?;
        for ((name, errors), series) in all.into_iter().zip(&mut series) {
            if case.about == CASES[0].about {
                series.points.push((case.k as f64, errors.max, errors.mean));
            }
            let mut row = vec![case.about.to_owned(), case.k.to_string(), name.to_owned()];
            row.extend(errors.cells());
            println!("{}", row.join(" | "));
            rows.push(row);
        }
    }
    let results = Results {
        date: arguments.date,
        commit: arguments.commit,
        device: gpu.profile().name.clone(),
        driver: gpu
            .profile()
            .installed
            .as_ref()
            .map_or_else(String::new, |installed| installed.driver.clone()),
        digests,
        text: vec![format!(
            "Errors of {SAMPLED_ROWS} rows of a C of {EXTENT} x {EXTENT} elements against f64, over the sum of the \
             magnitudes of an element's terms, in units of 2^-24, cuBLAS {}. Special: elements that should be infinite \
             or NaN, and how many of all are not what they should be.",
            cublas.version()?
        )],
        columns: ["data", "K", "product", "largest", "mean", "wrong of special"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    };
    std::fs::write(
        arguments.out.join("accuracy.svg"),
        plot::over_k(&series, &results.device)?,
    )?;
    std::fs::write(arguments.out.join("accuracy.json"), rows_on_lines(&results)?)?;
    Ok(())
}

/// The errors of every product on the data of a case.
fn measured(
    gpu: &Gpu,
    cublas: &Cublas<'_>,
    case: &Case,
    digests: &mut BTreeMap<String, String>,
) -> Result<Vec<(&'static str, Errors)>, Box<dyn Error>> {
    let row = Row {
        name: case.about.to_owned(),
        m: EXTENT,
        n: EXTENT,
        k: case.k,
        batch: 1,
        dtype: DType::F32,
        layout: Layout::NN,
        fp8: None,
        subject: Subject::Auto,
        baseline: Baseline::Library,
    };
    let shape = row.shape()?;
    let (a, b) = case.operands(EXTENT);
    let reference = Reference::of(case.k, &a, &b);
    let (on_a, on_b) = (gpu.upload(&a)?, gpu.upload(&b)?);
    let mut all = Vec::new();
    for (name, by) in PRODUCTS {
        let mut on_c = gpu.upload(&vec![f32::NAN; EXTENT * EXTENT])?;
        match by {
            By::Ours(family) => {
                let policy = Policy {
                    family: Some(family),
                    ..Policy::default()
                };
                let plan = plan(&shape, DType::F32, gpu.profile(), &policy)?;
                let symbol = plan.kernel().symbol;
                digests.extend(digest::of_kernel(symbol, gpu.level().arch).map(|digest| (symbol.to_owned(), digest)));
                gpu.launch(&plan, &Gemm::new(shape), &on_a, &on_b, &mut on_c)?;
            }
            By::Cublas(subject) => {
                let product = cublas.product(&Row { subject, ..row.clone() })?;
                let (algorithms, _) = product.algorithms();
                product.launch(&algorithms[0], &on_a, &on_b, &mut on_c)?;
            }
        }
        gpu.synchronize()?;
        let mut c = vec![0.0; EXTENT * EXTENT];
        on_c.download(&mut c)?;
        all.push((name, reference.errors(&c)));
    }
    Ok(all)
}
