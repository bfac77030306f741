//! Runs a mutant or an unchanged kernel under the simulator and says what it reports.

use std::collections::BTreeSet;
use std::time::Duration;

use classics::case::{Argument, Buffer, Case};
use cuda_sim::{GlobalBuffer, Launch, Report, Schedule};

use crate::call::Value;
use crate::subject::{self, Subject};
use crate::table::Expect;

/// How long a block may run before it is taken to run for ever. The kernels here take milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// What came out of a run.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The simulator's report.
    pub report: Report,
    /// How the result differs from the CPU's, if it does.
    pub difference: Option<String>,
}

impl Verdict {
    /// The kinds of the faults.
    pub fn kinds(&self) -> BTreeSet<&'static str> {
        self.report.faults.iter().map(|fault| fault.kind.name()).collect()
    }

    /// Shared wavefronts and global sectors, all lines together.
    fn cost(&self) -> u64 {
        self.report.lines.iter().map(|line| line.actual).sum()
    }

    /// The verdict in a few words: the kinds of the faults, `wrong result`, or `clean`.
    pub fn summary(&self) -> String {
        let kinds: Vec<_> = self.kinds().into_iter().collect();
        match (kinds.is_empty(), &self.difference) {
            (false, _) => kinds.join(", "),
            (true, Some(_)) => "wrong result".to_owned(),
            (true, None) => "clean".to_owned(),
        }
    }
}

/// Runs a subject's case under one schedule, or under [all](Schedule::All).
pub fn of(subject: &Subject, schedule: Schedule) -> Verdict {
    run(&subject.case(), subject.call, |launch| launch.schedule(schedule))
}

/// Runs a case. `configure` has the last word on the launch.
pub(crate) fn run(case: &Case, call: impl Fn(&[Value]) + Sync, configure: impl FnOnce(Launch) -> Launch) -> Verdict {
    let memory: Vec<(&Buffer, GlobalBuffer<u32>)> = case.buffers().map(|buffer| (buffer, allocate(buffer))).collect();
    let mut addresses = memory.iter().map(|(_, memory)| memory.as_mut_ptr().cast());
    let arguments = case.arguments.iter().map(|argument| match argument {
        Argument::Words(words) => Value::Words(words.clone()),
        Argument::Buffer(_) => Value::Address(addresses.next().expect("one for each buffer")),
    });
    let arguments: Vec<Value> = arguments.collect();
    let launch = Launch::new(case.grid, case.block)
        .dynamic_shared_bytes(case.dynamic_shared_bytes)
        .time_limit(TIME_LIMIT);
    let report = configure(launch).run(|| call(&arguments));
    let difference = memory
        .iter()
        .find_map(|(buffer, memory)| buffer.check(&memory.to_vec()).err());
    Verdict { report, difference }
}

/// The buffer in the simulator. Every element has 32 bits, and a kernel's loads and stores do not know more of them.
fn allocate(buffer: &Buffer) -> GlobalBuffer<u32> {
    let before = buffer.before.as_ref().map(|data| data.to_bits());
    match (before, buffer.rows) {
        (Some(bits), None) => GlobalBuffer::from_slice(&bits),
        (Some(bits), Some(rows)) => GlobalBuffer::matrix(&bits, rows.rows, rows.columns, rows.ld),
        (None, None) => GlobalBuffer::uninit(buffer.data().len()),
        (None, Some(rows)) => GlobalBuffer::matrix_uninit(rows.rows, rows.columns, rows.ld),
    }
}

/// Whether the verdict is the one that the table expects.
///
/// # Errors
/// What is missing or too much, with the faults' texts.
pub fn judge(subject: &Subject, verdict: &Verdict) -> Result<(), String> {
    let kinds = verdict.kinds();
    let problem = match subject.expect() {
        Expect::Clean if kinds.is_empty() && verdict.difference.is_none() => return Ok(()),
        Expect::Clean => "must be reported as clean".to_owned(),
        Expect::Mismatch if kinds.is_empty() && verdict.difference.is_some() => return Ok(()),
        Expect::Mismatch => "must give a wrong result and no fault".to_owned(),
        Expect::Slower => {
            let original = subject::find(&subject::original(subject.kernel.name)).expect("every kernel has a copy");
            let original = of(&original, Schedule::Forward);
            let (mutant, original) = (verdict.cost(), original.cost());
            if kinds.is_empty() && verdict.difference.is_none() && mutant > original {
                return Ok(());
            }
            format!("must be clean and cost more than {original} wavefronts and sectors; it costs {mutant}")
        }
        Expect::Faults { all, also } => {
            let missing: Vec<_> = all.iter().filter(|kind| !kinds.contains(*kind)).collect();
            let foreign: Vec<_> = kinds
                .iter()
                .filter(|kind| !all.contains(kind) && !also.contains(kind))
                .collect();
            if missing.is_empty() && foreign.is_empty() {
                return Ok(());
            }
            format!("must report {missing:?} too, and not {foreign:?}")
        }
    };
    let faults: Vec<String> = verdict.report.faults.iter().map(|fault| format!("  {fault}")).collect();
    let result = verdict.difference.as_deref().unwrap_or("right");
    Err(format!(
        "{} ({}): {problem}\n  result: {result}\n{}",
        subject.id,
        verdict.report.schedule,
        faults.join("\n")
    ))
}
