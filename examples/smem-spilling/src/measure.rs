//! Times of the variants of one problem and budget, in turns.

use serde::Serialize;

use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::kernels::{Spills, Variant};
use crate::record::Resources;
use crate::workload::Workload;

/// A sample is of as many launches as take so long together: shorter ones would measure the events.
const SAMPLE_MS: f32 = 0.2;

/// What a run found.
#[derive(Serialize)]
pub struct Results {
    pub date: String,
    pub commit: String,
    pub device: String,
    pub driver: String,
    pub rounds: usize,
    /// The variants as the driver compiled them.
    pub variants: Vec<Resources>,
    pub rows: Vec<Row>,
}

/// One problem of one size with one budget.
#[derive(Serialize)]
pub struct Row {
    pub family: &'static str,
    pub dtype: &'static str,
    pub size: String,
    pub threads: u32,
    pub max_registers: u32,
    pub kept: Time,
    pub local: Time,
    pub shared: Time,
    pub unbounded: Option<Time>,
    /// Above 1: the pragma gains.
    pub local_over_shared: Ratio,
    /// Above 1: a cap on registers with the pragma gains.
    pub kept_over_shared: Ratio,
    /// Below 1: the pragma without launch bounds costs.
    pub local_over_unbounded: Option<Ratio>,
}

/// One variant.
#[derive(Serialize)]
pub struct Time {
    pub symbol: &'static str,
    /// Median of a launch.
    pub ms: f64,
    /// TFLOP/s or TB/s, as the problem says.
    pub rate: f64,
    /// Of one launch, by `ncu`.
    pub counters: Option<Counters>,
}

/// Quartiles of the ratios of neighboring times.
#[derive(Serialize)]
pub struct Ratio {
    pub median: f64,
    pub q1: f64,
    pub q3: f64,
}

impl Row {
    /// The times, in the order of [`Spills::ALL`].
    pub fn times(&self) -> impl Iterator<Item = &Time> {
        [&self.kept, &self.local, &self.shared]
            .into_iter()
            .chain(&self.unbounded)
    }

    /// The same.
    pub fn times_mut(&mut self) -> impl Iterator<Item = &mut Time> {
        [&mut self.kept, &mut self.local, &mut self.shared]
            .into_iter()
            .chain(&mut self.unbounded)
    }
}

/// Times the siblings of a variant in turns, `rounds` samples of each.
///
/// # Errors
/// [`Error::Driver`]; [`Error::InvalidArgument`] for a variant without a budget, or no rounds.
pub fn measure(gpu: &Gpu, workload: &mut dyn Workload, shared: &Variant, rounds: usize) -> Result<Row> {
    let siblings: Vec<&Variant> = Spills::ALL
        .into_iter()
        .filter_map(|spills| shared.sibling(spills))
        .collect();
    let mut time_ms = |variant: &Variant, launches| -> Result<f32> {
        gpu.time_ms(|| (0..launches).try_for_each(|_| workload.launch(variant)))
    };
    // One untimed launch of each says how many make a sample.
    let mut launches = 1;
    for variant in &siblings {
        launches = launches.max((SAMPLE_MS / time_ms(variant, 1)?).ceil() as u32);
    }
    let mut times = vec![Vec::with_capacity(rounds); siblings.len()];
    for _ in 0..rounds {
        for (variant, times) in siblings.iter().zip(&mut times) {
            times.push(f64::from(time_ms(variant, launches)?) / f64::from(launches));
        }
    }
    let place = |spills| siblings.iter().position(|variant| variant.spills == spills);
    let time = |spills| {
        let at = place(spills)?;
        let [_, ms, _] = quartiles(&times[at])?;
        Some(Time {
            symbol: siblings[at].symbol,
            ms,
            rate: workload.work() / (ms * 1e9),
            counters: None,
        })
    };
    let ratio = |of, over| {
        let (of, over) = (&times[place(of)?], &times[place(over)?]);
        let ratios: Vec<f64> = of.iter().zip(over).map(|(of, over)| of / over).collect();
        let [q1, median, q3] = quartiles(&ratios)?;
        Some(Ratio { median, q1, q3 })
    };
    let [family, dtype] = shared.problem.names();
    let row = || {
        Some(Row {
            family,
            dtype,
            size: workload.label(),
            threads: shared.threads,
            max_registers: shared.max_registers()?,
            kept: time(Spills::Kept)?,
            local: time(Spills::Local)?,
            shared: time(Spills::Shared)?,
            unbounded: time(Spills::Unbounded),
            local_over_shared: ratio(Spills::Local, Spills::Shared)?,
            kept_over_shared: ratio(Spills::Kept, Spills::Shared)?,
            local_over_unbounded: ratio(Spills::Local, Spills::Unbounded),
        })
    };
    row().ok_or_else(|| Error::InvalidArgument(format!("{} has no siblings, or there are no rounds", shared.symbol)))
}

/// The quartiles of a sample, interpolated between neighbors (R. J. Hyndman and Y. Fan, "Sample quantiles in
/// statistical packages", The American Statistician 50, 1996: definition 7); `None` for an empty one.
fn quartiles(sample: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)? as f64;
    Some([0.25, 0.5, 0.75].map(|quantile| {
        let position = last * quantile;
        let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
        below + (above - below) * position.fract()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        assert_eq!(quartiles(&[4.0, 1.0, 3.0, 2.0]), Some([1.75, 2.5, 3.25]));
        assert_eq!(quartiles(&[7.0]), Some([7.0; 3]));
        assert_eq!(quartiles(&[]), None);
    }
}
