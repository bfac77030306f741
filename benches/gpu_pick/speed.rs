//! The planner's cost-model coefficients, fitted to measured times.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;

use cuda_arch::Architecture;
use serde::Deserialize;
use tilewright::dispatch::{LAUNCH_US, Rounds, Speeds, Work, estimate_us, kernel_sheet, reduction_us, usage};
use tilewright::{DType, GemmShape, KERNELS, Kernel, Precision, Transpose};
use tilewright_plan::GpuModel;

use super::fit::fit;
use super::shapes::NAMED;
use super::{Candidate, Row, has_own_tile};

/// A calibration as `cargo xtask results` files it.
#[derive(Deserialize)]
pub struct Filed {
    about: About,
    clock_khz: u32,
    digests: BTreeMap<String, String>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct About {
    device: String,
}

impl Filed {
    /// The table that it gives.
    pub fn speed(&self, before: &Speeds) -> Result<String, Box<dyn Error>> {
        let machine = Machine::of(&self.about.device, self.clock_khz)?;
        text(&self.rows, &self.digests, &machine, before)
    }
}

/// The GPU that was timed.
pub struct Machine {
    arch: &'static Architecture,
    product: GpuModel,
}

impl Machine {
    /// A device by its name, with the clock that the driver reports: a data sheet has a lower one.
    pub fn of(device: &str, clock_khz: u32) -> Result<Self, Box<dyn Error>> {
        let name = device.strip_prefix("NVIDIA ").unwrap_or(device);
        let product = GpuModel::find(name).ok_or_else(|| format!("the planner knows no `{device}`"))?;
        let arch = cuda_arch::find(&product.arch)?;
        let product = GpuModel {
            clock_khz,
            ..product.clone()
        };
        Ok(Self { arch, product })
    }
}

/// How much less of the time, over that of the fastest, fitted lines must cost to be taken (ratio of geometric means).
/// Less than that is the spread of the times, and each change of a line makes what was measured by dispatch stale.
const LEAST_GAIN: f64 = 0.005;

/// The least share of a time that must be left for the steps of a kernel for the fit to take it.
const LEAST_SHARE: f64 = 0.5;

/// Writes the table of coefficients. For each element type it takes those fitted lines with which it chooses better
/// among the timed candidates ([`best_lines`]), if that is by [`LEAST_GAIN`], else those of `before`. Kernels that were
/// not timed keep their lines; the line of a timed kernel carries the digest of the PTX that was timed.
pub fn text(
    rows: &[Row],
    digests: &BTreeMap<String, String>,
    machine: &Machine,
    before: &Speeds,
) -> Result<String, Box<dyn Error>> {
    let mut taken = format!("arch {}\n", machine.arch.name);
    for dtype in DType::ALL {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.dtype == dtype.name()).collect();
        let of_type = |symbol: &str| {
            KERNELS
                .iter()
                .any(|known| known.symbol == symbol && known.dtype == dtype)
        };
        let kept: Vec<String> = before
            .lines()
            .filter(|(symbol, _)| of_type(symbol))
            .map(|(_, line)| line.to_owned())
            .collect();
        let lines = match rows.is_empty() {
            true => kept,
            false => {
                let fitted = fitted(&rows, dtype, machine)?;
                // A new tile has no line before, and no other layout's either.
                let is_new = |line: &&String| {
                    let kernel = Kernel::named(subject(line)[0]);
                    kernel.is_some_and(|kernel| before.priced_by(kernel).is_none())
                };
                let kept = extended(&kept, &fitted.iter().filter(is_new).cloned().collect::<Vec<_>>());
                let cost = |lines: &[String]| {
                    let table = format!("arch {}\n{}\n", machine.arch.name, lines.join("\n"));
                    regret(&rows, machine, &Speeds::read(table)?)
                };
                let then = cost(&kept)?;
                let (lines, now) = best_lines(&kept, fitted, cost)?;
                let is_better = now < then - LEAST_GAIN;
                let which = if is_better { "these" } else { "the lines before" };
                eprintln!(
                    "{dtype}: over the fastest, geometric mean: {then:.4} by the lines before, {now:.4} by the best of \
                     them and the fitted ones; {which} are taken"
                );
                if is_better { lines } else { kept }
            }
        };
        for line in lines {
            let cells: Vec<&str> = line.split(' ').take(5).collect();
            let digest = digests
                .get(cells[0])
                .map(String::as_str)
                .or_else(|| line.split(' ').nth(5));
            writeln!(
                taken,
                "{}",
                cells.into_iter().chain(digest).collect::<Vec<_>>().join(" ")
            )?;
        }
    }
    Ok(taken)
}

/// The kernel and the width that a line is of.
fn subject(line: &str) -> Vec<&str> {
    line.split(' ').take(2).collect()
}

/// The lines, and those of `from` for other kernels and widths.
fn extended(lines: &[String], from: &[String]) -> Vec<String> {
    let is_other = |new: &&String| !lines.iter().any(|line| subject(line) == subject(new));
    lines.iter().chain(from.iter().filter(is_other)).cloned().collect()
}

/// Likewise, with those of `from` in place of the lines for the same kernels and widths.
fn replaced(lines: &[String], from: &[String]) -> Vec<String> {
    let new = |line: &String| {
        from.iter()
            .find(|new| subject(new) == subject(line))
            .unwrap_or(line)
            .clone()
    };
    extended(&lines.iter().map(new).collect::<Vec<_>>(), from)
}

/// Of each kernel and width the fitted line or the one before, whichever costs less, and what they cost together. A fit
/// is of times alone: it may describe a kernel well and still order two kernels wrongly.
fn best_lines(
    before: &[String],
    fitted: Vec<String>,
    cost: impl Fn(&[String]) -> Result<f64, Box<dyn Error>>,
) -> Result<(Vec<String>, f64), Box<dyn Error>> {
    let mut lines = replaced(before, &fitted);
    let mut least = cost(&lines)?;
    // Each step costs less than the one before, so this ends.
    loop {
        let mut best = None;
        for other in fitted.iter().chain(before) {
            let trial = replaced(&lines, std::slice::from_ref(other));
            let cost = cost(&trial)?;
            if cost < least - 1e-6 {
                (least, best) = (cost, Some(trial));
            }
        }
        match best {
            Some(better) => lines = better,
            None => return Ok((lines, least)),
        }
    }
}

/// Fits latency, work and block cycles to the times of each kernel and tile width: a line each, without a digest.
fn fitted(rows: &[&Row], dtype: DType, machine: &Machine) -> Result<Vec<String>, Box<dyn Error>> {
    let named = NAMED
        .into_iter()
        .filter_map(|(family, tile)| Kernel::find(family, dtype, tile));
    let blocks = KERNELS
        .iter()
        .filter(|kernel| kernel.dtype == dtype && has_own_tile(kernel))
        .copied();
    let mut lines = Vec::new();
    for kernel in named.chain(blocks) {
        let Some(used) = usage(kernel.symbol, machine.arch) else {
            continue;
        };
        let Ok(sheet) = kernel_sheet(&kernel, used, machine.arch) else {
            continue;
        };
        let resident = sheet.occupancy.blocks_per_sm;
        let mut samples = Vec::new();
        for row in rows {
            let shape = row.shape()?;
            for timed in row.candidates.iter().filter(|timed| timed.is_of(&kernel)) {
                let work = Work {
                    kernel,
                    splits: timed.splits,
                };
                let Some(rounds) = Rounds::new(&work, &shape, resident, machine.product.sms) else {
                    continue;
                };
                let left_us = timed.us - LAUNCH_US - reduction_us(&work, &shape);
                // Where most of the time is a launch and a reduction, what is left says more of their estimate.
                if left_us < LEAST_SHARE * timed.us {
                    continue;
                }
                let cycles = left_us * f64::from(machine.product.clock_khz) / 1e3;
                // A choice matters most where a launch fills the device.
                let weight = if rounds.blocks > 1 { 3.0 } else { 1.0 };
                samples.push((rounds.factors(), cycles, weight));
            }
        }
        // Layouts that were not timed share the line of one that was.
        if !samples.is_empty() {
            let [latency, work, block] = fit(&samples);
            // With block cycles alone the time would not depend on K.
            if latency + work > 0.0 {
                lines.push(format!(
                    "{} {} {latency:.2} {work:.2} {block:.1}",
                    kernel.symbol, kernel.tile.n
                ));
            }
        }
    }
    Ok(lines)
}

/// Geometric mean over the rows of the time of what the table chooses over that of the fastest, both among the kernels
/// that dispatch chooses from.
fn regret(rows: &[&Row], machine: &Machine, speeds: &Speeds) -> Result<f64, Box<dyn Error>> {
    let mut sum = 0.0;
    for row in rows {
        let shape = row.shape()?;
        let expected = |timed: &Candidate| -> f64 {
            let of = || {
                let kernel = timed.kernel()?;
                let tiled = match kernel.widths {
                    Some(_) => kernel.with_width(timed.tile[1])?,
                    None => *kernel,
                };
                let work = Work {
                    kernel: tiled,
                    splits: timed.splits,
                };
                estimate_us(&work, &shape, machine.arch, &machine.product, speeds)
            };
            of().unwrap_or(f64::INFINITY)
        };
        let automatic = || {
            // As where no precision is named: with the faster arithmetic the others would hardly count.
            let is_open = |of: &Kernel| of.family.is_automatic() && of.precision == Precision::Ieee;
            row.candidates
                .iter()
                .filter(move |timed| timed.kernel().is_some_and(is_open))
        };
        let chosen = automatic().min_by(|a, b| expected(a).total_cmp(&expected(b)));
        let fastest = automatic().map(|timed| timed.us).fold(f64::INFINITY, f64::min);
        sum += chosen.map_or(0.0, |chosen| (chosen.us / fastest).ln());
    }
    Ok((sum / rows.len().max(1) as f64).exp())
}

impl Row {
    fn shape(&self) -> Result<GemmShape, Box<dyn Error>> {
        let transpose = self.transpose.map(|is| if is { Transpose::Yes } else { Transpose::No });
        Ok(GemmShape::packed_transposed(self.m, self.n, self.k, transpose)?)
    }
}

impl Candidate {
    fn kernel(&self) -> Option<&'static Kernel> {
        KERNELS.iter().find(|kernel| kernel.symbol == self.kernel)
    }

    fn is_of(&self, kernel: &Kernel) -> bool {
        self.kernel == kernel.symbol && self.tile == [kernel.tile.m, kernel.tile.n]
    }
}
