//! What commands that simulate have in common: they ask before they take long, and show how far they are.

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Plan, plan};
use tilewright::simulate::{Estimate, SimOptions, estimate};
use tilewright::{Backend, Element, GemmShape, Operand, Options};

use crate::failure::{Failure, Result};
use crate::memory;

/// A simulation that takes longer needs the user's word for it, in seconds.
const LONG_SECONDS: f64 = 600.0;

/// Multiplications below which a simulation is a matter of seconds, however it is done: not worth an estimate.
const SHORT_PRODUCTS: f64 = (1 << 22) as f64;

/// Refuses a simulation that would take long or more memory than there is, unless the user said yes. `None` where it is
/// certainly short.
pub fn ensure_affordable<T: Element>(plan: &Plan, options: &SimOptions, yes: bool) -> Result<Option<Estimate>> {
    let shape = plan.shape();
    // An empty extent has no products, but may have blocks.
    let products = [shape.m(), shape.n(), shape.k()].map(|extent| extent.max(1) as f64);
    if products.into_iter().product::<f64>() < SHORT_PRODUCTS {
        return Ok(None);
    }
    let what = || format!("simulating {} for {shape}", plan.kernel().symbol);
    memory::ensure(what, memory_bytes::<T>(&shape), yes)?;
    let estimate = estimate::<T>(plan, options);
    if estimate.seconds() > LONG_SECONDS && !yes {
        let runs = if estimate.runs > 1 {
            format!(", {} runs", estimate.runs)
        } else {
            String::new()
        };
        return Err(Failure::input(format!(
            "simulating {} for {shape} takes about {}: {} blocks of about {}, {} at a time{runs}; --yes does it all \
             the same",
            plan.kernel().symbol,
            duration(estimate.seconds()),
            estimate.blocks,
            duration(estimate.block_seconds),
            estimate.workers,
        )));
    }
    Ok(Some(estimate))
}

/// What a simulation takes of memory, roughly: each operand on the host, in the simulator's global memory and in a copy
/// of that from before the launch; and for each of its bytes what the simulator notes about accesses (`cuda_sim`, the
/// shadow of global memory): 8 bytes where it is read, 4 where it is written, twice that for elements of 2 bytes.
fn memory_bytes<T>(shape: &GemmShape) -> u64 {
    const COPIES: u64 = 3;
    let finer = if size_of::<T>() < 4 { 2 } else { 1 };
    let bytes = |operand, noted: u64| (shape.span_elems(operand) * size_of::<T>()) as u64 * (COPIES + noted * finer);
    bytes(Operand::A, 8) + bytes(Operand::B, 8) + bytes(Operand::C, 4)
}

/// Refuses a product whose options ask for the simulator if it would take long, unless the user said yes.
pub fn ensure_product_affordable<T: Element>(shape: &GemmShape, options: &Options, yes: bool) -> Result<()> {
    if options.backend != Backend::Sim {
        return Ok(());
    }
    let simulator = SimOptions::default();
    let profile = DeviceProfile::of_arch(simulator.architecture);
    let plan = plan(shape, T::DTYPE, &profile, &options.policy).map_err(tilewright::Error::from)?;
    ensure_affordable::<T>(&plan, &simulator, yes).map(drop)
}

/// Adds a progress bar to the options of a run that takes a while; hidden where standard error is no terminal.
pub fn with_progress(mut options: SimOptions, estimate: Option<Estimate>) -> (SimOptions, ProgressBar) {
    const WHILE_SECONDS: f64 = 1.0;
    let Some(estimate) = estimate.filter(|estimate| estimate.seconds() > WHILE_SECONDS) else {
        return (options, ProgressBar::hidden());
    };
    let bar = ProgressBar::new(estimate.blocks);
    // The template is a constant; were it wrong, the default style would do.
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} blocks, {eta} left") {
        bar.set_style(style);
    }
    let shown = bar.clone();
    options.on_progress = Some(Arc::new(move |done, blocks| {
        shown.set_length(blocks);
        shown.set_position(done);
    }));
    (options, bar)
}

/// A time to one or two digits, in the unit that suits it.
fn duration(seconds: f64) -> String {
    const UNITS: [(f64, &str); 5] = [
        (365.25 * 86400.0, "years"),
        (86400.0, "days"),
        (3600.0, "h"),
        (60.0, "min"),
        (1.0, "s"),
    ];
    let (size, unit) = UNITS
        .into_iter()
        .find(|(size, _)| seconds >= *size)
        .unwrap_or((1e-3, "ms"));
    let value = seconds / size;
    let digits = if value < 10.0 { 1 } else { 0 };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        for (seconds, text) in [
            (0.0004, "0.4 ms"),
            (0.25, "250 ms"),
            (1.0, "1.0 s"),
            (42.4, "42 s"),
            (600.0, "10 min"),
            (3600.0, "1.0 h"),
            (90_000.0, "1.0 days"),
            (1e9, "32 years"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
