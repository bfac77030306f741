//! Coefficients of the FP8 kernels, from the times of the suite `fp8-choice`.

use std::collections::BTreeMap;

use serde::Deserialize;
use tilewright::dispatch::Speeds;
use tilewright::fp8::{FP8_KERNELS, FP8_TERMS, Fp8Kernel, Fp8Terms, estimate_fp8_us, fp8_terms};
use tilewright::{Error, Result};

use super::fit::{Prior, Sample, fit};
use super::rows::{Machine, Quality};
use super::table::{FOLDS, OF_ZERO, fold_of};
use crate::bench::Fp8Row;

/// What the suite writes, or `cargo xtask results` files.
#[derive(Debug, Deserialize)]
pub struct Fp8Filed {
    about: About,
    /// Of each kernel that was timed; a run of the kernels that ship has none.
    #[serde(default)]
    pub digests: BTreeMap<String, String>,
    rows: Vec<TimedRow>,
}

#[derive(Debug, Deserialize)]
struct About {
    device: String,
    ceilings: Ceilings,
}

#[derive(Debug, Deserialize)]
struct Ceilings {
    clock_mhz: f64,
}

#[derive(Debug, Deserialize)]
struct TimedRow {
    m: usize,
    n: usize,
    k: usize,
    #[serde(deserialize_with = "by_name")]
    fp8: Fp8Row,
    measured: Measured,
}

#[derive(Debug, Deserialize)]
struct Measured {
    ours: Side,
    peer: Option<Side>,
    telemetry: Option<Telemetry>,
}

/// A kernel, `SYMBOL, 128x128`, and its time.
#[derive(Debug, Deserialize)]
struct Side {
    name: String,
    us: Median,
}

#[derive(Debug, Deserialize)]
struct Median {
    median: f64,
}

#[derive(Debug, Deserialize)]
struct Telemetry {
    clock_mhz: Option<f64>,
}

/// Reads `e4m3 tensor fast` and its like.
fn by_name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Fp8Row, D::Error> {
    let name = String::deserialize(deserializer)?;
    Fp8Row::reported(&name).ok_or_else(|| serde::de::Error::custom(format!("no row of FP8 is `{name}`")))
}

impl Side {
    fn symbol(&self) -> &str {
        self.name.split(',').next().unwrap_or_default()
    }

    fn kernel(&self) -> Option<&'static Fp8Kernel> {
        FP8_KERNELS.iter().find(|kernel| kernel.symbol == self.symbol())
    }
}

/// What was launched for a row, with its terms.
struct Launch {
    terms: Fp8Terms,
    us: f64,
}

/// A row: what the planner chose, and the fastest other kernel.
struct Pair {
    fold: usize,
    launches: Vec<Launch>,
}

/// Coefficients of FP8 kernels, and how good they choose.
pub struct Fp8Fitted {
    coefficients: Fp8Terms,
    /// Choices among the rows that they were fitted to.
    pub seen: Option<Quality>,
    /// Choices among rows that were left out, each part of them in its turn.
    pub unseen: Option<Quality>,
}

impl Fp8Filed {
    /// Fits the coefficients to the times of kernels whose digest is the one of before. `digest`: of a kernel that
    /// ships. Cycles are those of the clock at which a row ran.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a device that the planner does not know, and where no row counts.
    pub fn fitted(&self, digest: impl Fn(&str) -> Option<String>) -> Result<Fp8Fitted> {
        let is_current = |side: &Side| {
            let filed = self.digests.get(side.symbol());
            self.digests.is_empty() || filed.is_some() && filed == digest(side.symbol()).as_ref()
        };
        let mut pairs = Vec::new();
        for row in &self.rows {
            let sides = [Some(&row.measured.ours), row.measured.peer.as_ref()];
            let clock_mhz = row.measured.telemetry.as_ref().and_then(|of| of.clock_mhz);
            let clock_khz = clock_mhz.unwrap_or(self.about.ceilings.clock_mhz) * 1e3;
            let machine = Machine::of(&self.about.device, clock_khz as u32)?;
            let problem = row.fp8.problem([row.m, row.n, row.k]);
            let launch = |side: &Side| {
                Some(Launch {
                    terms: fp8_terms(side.kernel()?, &problem, &machine.gpu),
                    us: side.us.median,
                })
            };
            let sides = sides.into_iter().flatten().filter(|side| is_current(side));
            pairs.push(Pair {
                fold: fold_of([row.m, row.n, row.k]),
                launches: sides.filter_map(launch).collect(),
            });
        }
        pairs.retain(|pair| !pair.launches.is_empty());
        if pairs.is_empty() {
            return Err(Error::InvalidArgument(
                "no row is of kernels that ship: FP8 keeps its coefficients".to_owned(),
            ));
        }
        let all: Vec<&Pair> = pairs.iter().collect();
        let coefficients = coefficients(&all);
        let mut unseen = Vec::new();
        for fold in 0..FOLDS {
            let (left_out, kept): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(|pair| pair.fold == fold);
            unseen.extend(over_best(&left_out, &self::coefficients(&kept)));
        }
        Ok(Fp8Fitted {
            coefficients,
            seen: Quality::of(&over_best(&all, &coefficients)),
            unseen: Quality::of(&unseen),
        })
    }
}

impl Fp8Fitted {
    /// The table of before, with these coefficients.
    pub fn speeds_text(&self, before: &Speeds) -> String {
        before.with_fp8(&self.coefficients)
    }
}

fn coefficients(pairs: &[&Pair]) -> Fp8Terms {
    let launches = pairs.iter().flat_map(|pair| &pair.launches);
    let sample = |launch: &Launch| Sample {
        terms: launch.terms.into_iter().enumerate().collect(),
        us: launch.us,
        weight: 1.0,
    };
    let prior = Prior {
        coefficients: &[0.0; FP8_TERMS.len()],
        strength: OF_ZERO,
    };
    let found = fit(&launches.map(sample).collect::<Vec<_>>(), prior);
    found.try_into().expect("one for each term")
}

/// Time of each choice over that of the fastest, of rows where there is one.
fn over_best(pairs: &[&Pair], coefficients: &Fp8Terms) -> Vec<f64> {
    let over = |pair: &&Pair| {
        let us = |launch: &Launch| estimate_fp8_us(&launch.terms, coefficients);
        let picked = pair.launches.iter().min_by(|a, b| us(a).total_cmp(&us(b)))?;
        let fastest = pair
            .launches
            .iter()
            .map(|launch| launch.us)
            .fold(f64::INFINITY, f64::min);
        (pair.launches.len() > 1).then_some(picked.us / fastest)
    };
    pairs.iter().filter_map(over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row whose times are those of these coefficients.
    fn row([m, n, k]: [usize; 3], coefficients: &Fp8Terms) -> String {
        let machine = Machine::of("NVIDIA H200", 1_500_000).expect("known");
        let problem = Fp8Row::TensorFast.problem([m, n, k]);
        let side = |symbol: &str| {
            let kernel = FP8_KERNELS.iter().find(|kernel| kernel.symbol == symbol);
            let terms = fp8_terms(kernel.expect("in the table"), &problem, &machine.gpu);
            let us = estimate_fp8_us(&terms, coefficients);
            format!(r#"{{"name": "{symbol}, 1x1", "us": {{"median": {us}}}}}"#)
        };
        format!(
            r#"{{"m": {m}, "n": {n}, "k": {k}, "fp8": "e4m3 tensor fast", "measured": {{"ours": {}, "peer": {},
                "telemetry": {{"clock_mhz": 1500.0}}}}}}"#,
            side("wgmma_fp8_fast_e4m3_e4m3_64x128_bf16"),
            side("wgmma_fp8_fast_e4m3_e4m3_128x256_bf16"),
        )
    }

    fn filed(digests: &str) -> Fp8Filed {
        let coefficients = [1500.0, 2500.0, 100.0, 1.1, 0.6];
        let shapes = [
            [64, 2112, 7168],
            [128, 24576, 1536],
            [4096, 4096, 4096],
            [1024, 7168, 2048],
            [4096, 2112, 7168],
            [256, 512, 1024],
        ];
        let rows = shapes.map(|extents| row(extents, &coefficients)).join(", ");
        let text = format!(
            r#"{{"about": {{"device": "NVIDIA H200", "ceilings": {{"clock_mhz": 1980.0}}}}, "digests": {digests},
                "rows": [{rows}]}}"#
        );
        serde_json::from_str(&text).expect("results")
    }

    #[test]
    fn coefficients_are_found_again() {
        let fitted = filed("{}").fitted(|_| None).expect("rows");
        for (found, of) in fitted.coefficients.into_iter().zip([1500.0, 2500.0, 100.0, 1.1, 0.6]) {
            assert!((found / of - 1.0).abs() < 0.1, "{:?}", fitted.coefficients);
        }
        assert_eq!(fitted.seen.map(|seen| (seen.rows, seen.within)), Some((6, 6)));
        let text = fitted.speeds_text(&Speeds::default());
        let read = Speeds::read(text).expect("a table");
        assert!((read.fp8().expect("its line")[3] - fitted.coefficients[3]).abs() < 1e-3);
        let of = tilewright::DType::F32;
        assert!(read.lines(of).eq(Speeds::default().lines(of)), "the others stay");
    }

    #[test]
    fn times_of_other_kernels_do_not_count() {
        let filed = filed(r#"{"wgmma_fp8_fast_e4m3_e4m3_64x128_bf16": "1"}"#);
        let fitted = filed.fitted(|_| Some("1".to_owned())).expect("rows");
        assert!(fitted.seen.is_none(), "no row has two kernels");
        let error = filed.fitted(|_| Some("2".to_owned())).err().expect("no row is left");
        assert!(error.to_string().contains("no row is of kernels that ship"), "{error}");
    }
}
