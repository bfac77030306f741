//! `tilewright sim`: one kernel in the simulator, every access of it checked.

use clap::{Args, ValueEnum};
use cuda_sim::access::{AccessKind, Space};
use cuda_sim::{Checks, Report, Schedule};
use half::{bf16, f16};
use serde::Serialize;
use tilewright::check::{self, Expected};
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Plan, PlanSummary, plan};
use tilewright::random::random_matrix;
use tilewright::simulate::{DEFAULT_ARCHITECTURE, SimOptions, simulate};
use tilewright::{DType, Element, Gemm, GemmShape, Operand};

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::{barriers, guide, kernels, output, simulation};

/// Run a kernel on the CPU, thread by thread, and say what is wrong with it
///
/// The kernel is the GPU's own source. Every access is checked: races, reads of memory never written, bounds,
/// alignment; and so is every barrier. The operands are random, the result is compared with the CPU's reference. What
/// each source line costs is counted in wavefronts of shared memory and sectors of global memory. Chapter 4 of the
/// guide (docs/guide/src/04-the-simulator.md) explains the report.
#[derive(Args)]
pub struct Command {
    /// The kernel: a family, the symbol of one entry point, or auto
    #[arg(value_name = "KERNEL")]
    kernel: String,
    /// Rows of A and C
    #[arg(short, value_name = "ROWS")]
    m: usize,
    /// Columns of B and C
    #[arg(short, value_name = "COLUMNS")]
    n: usize,
    /// Columns of A, rows of B
    #[arg(short, value_name = "INNER")]
    k: usize,
    /// The element type: f32, f64, f16 or bf16; without it, the symbol's, or f32
    #[arg(long)]
    dtype: Option<String>,
    /// Tile width in elements; without it, the best that fits
    #[arg(long, value_name = "W")]
    tile: Option<u32>,
    /// The architecture whose limits hold, such as sm_120
    #[arg(long, default_value = DEFAULT_ARCHITECTURE)]
    arch: String,
    /// The order of threads and blocks: forward, reverse, random, preempt, or standard or all, which run several and
    /// compare what they compute
    #[arg(long, value_name = "ORDER", default_value = "forward")]
    schedule: String,
    /// The seed of the operands and of the random order
    #[arg(long, default_value_t = check::DEFAULT_SEED)]
    seed: u64,
    /// What is looked at
    #[arg(long, value_enum, default_value_t = Looked::Full)]
    checks: Looked,
    /// Leave out each barrier, wait and fence in turn, and say what notices: a fault, the result, or nothing
    #[arg(long, conflicts_with = "checks")]
    barriers: bool,
    /// Run even if that takes more than ten minutes, or more memory than there is
    #[arg(long)]
    yes: bool,
}

/// What is looked at.
#[derive(Clone, Copy, ValueEnum)]
enum Looked {
    /// Every access, and what each line costs
    Full,
    /// Every access
    Faults,
    /// Barriers and panics only
    Off,
}

impl From<Looked> for Checks {
    fn from(looked: Looked) -> Self {
        match looked {
            Looked::Full => Checks::Full,
            Looked::Faults => Checks::Faults,
            Looked::Off => Checks::Off,
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
pub struct Listing {
    m: usize,
    n: usize,
    k: usize,
    dtype: &'static str,
    seed: u64,
    /// Whose limits hold.
    arch: &'static str,
    plan: PlanSummary,
    /// Why this plan; one line each.
    reasons: Vec<String>,
    /// Whether the simulator found nothing wrong.
    clean: bool,
    /// Whether C is the product, up to rounding.
    pub equal: bool,
    /// What the comparison found.
    pub verdict: String,
    /// What the simulator found; null for an empty C, for which nothing is launched.
    pub report: Option<Report>,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let choice = kernels::Choice::of(&command.kernel, command.dtype.as_deref())?;
    let schedule = match command.schedule.parse().map_err(Failure::input)? {
        // Without a seed of its own, `random` takes the one that the operands have.
        Schedule::Random(_) if command.schedule == "random" => Schedule::Random(command.seed),
        schedule => schedule,
    };
    let options = SimOptions {
        architecture: cuda_arch::find(&command.arch).map_err(|unknown| Failure::input(unknown.to_string()))?,
        schedule,
        checks: command.checks.into(),
        ..SimOptions::default()
    };
    let shape = GemmShape::packed(command.m, command.n, command.k).map_err(tilewright::Error::from)?;
    let profile = DeviceProfile::of_arch(options.architecture);
    let policy = choice.policy(command.tile);
    let plan = plan(&shape, choice.dtype, &profile, &policy).map_err(tilewright::Error::from)?;
    let listing = match choice.dtype {
        DType::F32 => listing::<f32>,
        DType::F64 => listing::<f64>,
        DType::F16 => listing::<f16>,
        DType::Bf16 => listing::<bf16>,
    };
    if command.barriers {
        let without = |synchronizations| {
            let options = SimOptions {
                synchronizations,
                checks: Checks::Faults,
                ..options.clone()
            };
            listing(&plan, &options, command.seed, command.yes)
        };
        return barriers::run(without, json);
    }
    let listing = listing(&plan, &options, command.seed, command.yes)?;
    if json {
        output::print_json(&listing)?;
    } else {
        let explained = guide::SIMULATOR;
        output::print(&format!(
            "{}\nThe guide explains this report: {explained}\n",
            describe(&listing)
        ))?;
    }
    listing.outcome()
}

/// Simulates a plan with random operands and compares the result.
///
/// # Errors
/// For a simulation that takes long or much memory although `yes` is not said, and a K for which the reference has no
/// bound.
pub fn listing<T: Element>(plan: &Plan, options: &SimOptions, seed: u64, yes: bool) -> Result<Listing> {
    let shape = plan.shape();
    // Where there is no bound on the rounding, nothing could be said of the result: better known before.
    let empty = GemmShape::packed(0, 0, shape.k()).map_err(tilewright::Error::from)?;
    check::full::<T>(&empty, &[], &[], &[])?;
    let estimate = simulation::ensure_affordable::<T>(plan, options, yes)?;
    let operand = |operand, seed| random_matrix::<T>(seed, shape.span_elems(operand));
    let (a, b) = (operand(Operand::A, seed), operand(Operand::B, seed.wrapping_add(1)));
    let (options, bar) = simulation::with_progress(options.clone(), estimate);
    let product = simulate(plan, &Gemm::new(plan.shape()), &a, &b, None::<&[T]>, &options)?;
    bar.finish_and_clear();
    let expected = Expected::product(&shape, &a, &b)?.with_precision(plan.kernel().precision)?;
    let verdict = expected.by_size(&product.c, seed)?;
    Ok(Listing {
        m: shape.m(),
        n: shape.n(),
        k: shape.k(),
        dtype: T::DTYPE.name(),
        seed,
        arch: options.architecture.name,
        plan: plan.summary(),
        reasons: plan.reasons().to_vec(),
        clean: product.is_clean(),
        equal: verdict.passed(),
        verdict: verdict.to_string(),
        report: product.report,
    })
}

impl Listing {
    /// Kernel and product.
    pub fn title(&self) -> String {
        format!("{} on {} x {} x {}", self.plan.kernel, self.m, self.n, self.k)
    }

    /// Different faults.
    fn faults(&self) -> u64 {
        let report = self.report.as_ref();
        report.map_or(0, |report| report.faults.len() as u64 + report.faults_left_out)
    }

    /// Whether kernel and result are in order.
    pub fn outcome(&self) -> Result<()> {
        let faulty = match self.faults() {
            0 => None,
            1 => Some("1 fault".to_owned()),
            several => Some(format!("{several} faults")),
        };
        let wrong = (!self.equal).then(|| self.verdict.clone());
        let problems: Vec<_> = [faulty, wrong].into_iter().flatten().collect();
        if problems.is_empty() {
            return Ok(());
        }
        // Without room for its shared memory a kernel has computed nothing.
        let does_not_fit = self.report.as_ref().is_some_and(Report::lacks_shared_memory_only);
        let exit = if does_not_fit { Exit::Input } else { Exit::Wrong };
        Err(Failure::new(exit, format!("{}: {}", self.plan.kernel, problems.join("; "))).reported())
    }
}

impl Listing {
    /// A sentence, and the lines that read shared memory most often.
    pub fn in_short(&self) -> String {
        const LINES: usize = 2;
        let faults = match self.faults() {
            0 => "no fault".to_owned(),
            1 => "1 fault".to_owned(),
            several => format!("{several} faults"),
        };
        let result = if self.equal { "right" } else { "WRONG" };
        let mut text = format!(
            "What a GPU would run, simulated: {} on {} x {} x {}: {faults}, the result is {result}.\n",
            self.plan.kernel, self.m, self.n, self.k
        );
        let lines = self.report.iter().flat_map(|report| &report.lines);
        let mut loads: Vec<_> = lines
            .filter(|line| line.kind.space == Space::Shared && line.kind.access == AccessKind::Read)
            .collect();
        loads.sort_by_key(|line| std::cmp::Reverse(line.requests));
        for line in loads.into_iter().take(LINES) {
            text.push_str(&format!(
                "  {}:{}: {} warp-wide reads of shared memory take {} wavefronts, without bank conflicts {}\n",
                line.location.file, line.location.line, line.requests, line.actual, line.ideal
            ));
        }
        text.push_str(&format!(
            "  `tilewright sim {} -m {} -n {} -k {}` says more.\n",
            self.plan.kernel, self.m, self.n, self.k
        ));
        text
    }
}

/// The listing for people.
pub fn describe(listing: &Listing) -> String {
    let plan = &listing.plan;
    let mut rows = vec![
        (
            "product",
            format!(
                "{} x {} x {} (m x n x k), {}",
                listing.m, listing.n, listing.k, listing.dtype
            ),
        ),
        ("kernel", plan.kernel.to_owned()),
        ("tile", output::tile(plan.tile)),
    ];
    rows.extend(output::copied(plan.padded_ld, plan.padded_bytes));
    rows.push((
        "result",
        if listing.equal {
            format!("equals the reference: {}", listing.verdict)
        } else {
            format!("WRONG: {}", listing.verdict)
        },
    ));
    let Some(report) = &listing.report else {
        rows.push(("launch", "none: C is empty".to_owned()));
        return output::render(output::pairs(rows));
    };
    rows.push((
        "faults",
        match listing.faults() {
            0 => "none".to_owned(),
            faults => format!("{faults}, listed below"),
        },
    ));
    rows.push((
        "simulated in",
        format!("{:.3} s, which says nothing of a GPU's time", report.seconds),
    ));
    let report = report.to_string();
    format!("{}\n{}\n", output::render(output::pairs(rows)), report.trim_end())
}

#[cfg(test)]
mod tests {
    use cuda_sim::{Launch, Limits};
    use tilewright::dispatch::Policy;

    use super::*;

    fn right() -> Listing {
        let options = SimOptions::default();
        let shape = GemmShape::packed(3, 4, 5).expect("valid");
        let profile = DeviceProfile::of_arch(options.architecture);
        let plan = plan(&shape, DType::F32, &profile, &Policy::default()).expect("fits");
        listing::<f32>(&plan, &options, 1, false).expect("runs")
    }

    #[test]
    fn a_clean_kernel_with_the_right_result_is_a_success() {
        let listing = right();
        assert!(listing.clean && listing.equal && listing.outcome().is_ok());
        assert!(describe(&listing).contains("faults        none"));
    }

    #[test]
    fn a_fault_ends_with_4_and_is_shown_even_where_the_result_is_right() {
        // No kernel of the table is faulty; this fault is of a launch that no architecture allows.
        let report = Launch::new(1, 2048).run(|| {});
        let listing = Listing {
            clean: false,
            report: Some(report),
            ..right()
        };
        let failure = listing.outcome().expect_err("a fault");
        assert_eq!(failure.exit, Exit::Wrong);
        assert!(failure.message.ends_with("_f32: 1 fault"), "{}", failure.message);
        let text = describe(&listing);
        assert!(text.contains("1, listed below") && text.contains("2048"), "{text}");
        assert!(listing.in_short().contains("1 fault,"), "{}", listing.in_short());
    }

    #[test]
    fn shared_memory_that_does_not_fit_ends_with_2() {
        let limits = Limits::of_arch("sm_75").expect("known");
        let dynamic_bytes = limits.shared_bytes + 1;
        let report = Launch::new(1, 32)
            .limits(limits)
            .dynamic_shared_bytes(dynamic_bytes)
            .run(|| {});
        let listing = Listing {
            clean: false,
            equal: false,
            report: Some(report),
            ..right()
        };
        let failure = listing.outcome().expect_err("does not fit");
        assert_eq!(failure.exit, Exit::Input, "{}", failure.message);
    }

    #[test]
    fn a_wrong_result_ends_with_4() {
        let listing = Listing {
            equal: false,
            verdict: "7 elements differ".into(),
            ..right()
        };
        let failure = listing.outcome().expect_err("wrong");
        assert_eq!(failure.exit, Exit::Wrong);
        assert!(
            failure.message.ends_with("_f32: 7 elements differ"),
            "{}",
            failure.message
        );
        assert!(describe(&listing).contains("WRONG: 7 elements differ"));
    }
}
