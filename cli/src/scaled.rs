//! What `fp8` and `block-scaled` have in common: they refuse what takes long, and end by what was found.

use cuda_sim::Report;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::{memory, output};

/// Multiplications, those of residue tiles included, that are simulated without the user's word for it.
const MANY_PRODUCTS: f64 = (1_u64 << 36) as f64;

/// A simulation that is asked for.
pub struct Simulation<'p> {
    /// The kernel.
    pub symbol: &'p str,
    /// m, n and k.
    pub extents: [usize; 3],
    /// Rows and columns of C of a CTA.
    pub tile: [u32; 2],
    /// CTAs.
    pub ctas: u32,
    /// Host memory for each element of A and B: their numbers, what they are quantized to, what the simulator notes.
    pub bytes_of_element: u64,
}

impl Simulation<'_> {
    /// Refuses it where it would take long or more memory than there is, unless the user said yes.
    pub fn ensure_affordable(&self, yes: bool) -> Result<()> {
        let [m, n, k] = self.extents.map(|extent| extent as u64);
        let what = || format!("simulating {} for {m} x {n} x {k}", self.symbol);
        let operands = (m + n).saturating_mul(k).saturating_mul(self.bytes_of_element);
        // C, its reference and the same.
        memory::ensure(what, operands.saturating_add((m * n).saturating_mul(48)), yes)?;
        let [rows, columns] = self.tile;
        let products = f64::from(self.ctas) * f64::from(rows) * f64::from(columns) * k as f64;
        if products > MANY_PRODUCTS && !yes {
            return Err(Failure::input(format!(
                "{} is {products:.1e} multiplications, more than {MANY_PRODUCTS:.1e}; --yes does it all the same",
                what()
            )));
        }
        Ok(())
    }
}

/// What was found, for people: bytes of shared memory, of a CTA and at most, faults, and the comparison.
pub fn outcome(
    [dynamic, limit]: [u32; 2],
    report: Option<&Report>,
    equal: bool,
    verdict: &str,
) -> [(&'static str, String); 3] {
    let faults = match faults(report) {
        0 => "none".to_owned(),
        faults => format!("{faults}, listed below"),
    };
    let result = match equal {
        true => format!("equals the reference: {verdict}"),
        false => format!("WRONG: {verdict}"),
    };
    let left = limit - dynamic;
    [
        ("shared memory", format!("{dynamic} B of {limit} B, {left} B are left")),
        ("faults", faults),
        ("result", result),
    ]
}

/// These rows, and below them what the simulator found.
pub fn table(rows: Vec<(&'static str, String)>, report: Option<&Report>) -> String {
    let table = output::render(output::pairs(rows));
    match report {
        Some(report) => format!("{table}\n{}\n", report.to_string().trim_end()),
        None => table,
    }
}

/// Different faults.
fn faults(report: Option<&Report>) -> u64 {
    report.map_or(0, |report| report.faults.len() as u64 + report.faults_left_out)
}

/// The end of the command: an error where the simulator found faults or the comparison a difference, `wrong`.
pub fn ended(kernel: &str, report: Option<&Report>, wrong: Option<String>) -> Result<()> {
    let is_faulty = report.is_some_and(|report| !report.is_clean());
    let faulty = is_faulty.then(|| format!("{} faults", faults(report)));
    let problems: Vec<_> = [faulty, wrong].into_iter().flatten().collect();
    if problems.is_empty() {
        return Ok(());
    }
    let message = format!("{kernel}: {}", problems.join("; "));
    Err(Failure::new(Exit::Wrong, message).reported())
}

/// Bytes of all stages, and of one.
pub fn staged(bytes: u32, stages: u32) -> String {
    format!("{} B, {bytes} B x {stages} stages", bytes * stages)
}
