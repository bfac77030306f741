//! Runs a mutant or an unchanged kernel under the simulator; returns and judges the verdict.

use std::collections::BTreeSet;

use cuda_sim::{Checks, GlobalBuffer, Launch, Report, Schedule};
use sample_kernels::case::{Argument, Buffer, Case, Map};

use crate::call::Value;
use crate::products::map_parts;
use crate::ptx::tensor_map::TensorMap;
use crate::subject::{self, Subject};
use crate::table::Expect;

/// The outcome of a run.
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
    // Wavefronts and sectors are counted where they are looked at: it takes long.
    let checks = match subject.expect() {
        Expect::Slower => Checks::Full,
        Expect::Clean | Expect::Faults { .. } | Expect::Any(_) | Expect::Mismatch => Checks::Faults,
    };
    with_checks(subject, schedule, checks)
}

fn with_checks(subject: &Subject, schedule: Schedule, checks: Checks) -> Verdict {
    run(&subject.case(), subject.call, |launch| {
        launch.schedule(schedule).checks(checks)
    })
}

/// Runs a case. `configure` has the last word on the launch.
pub(crate) fn run(case: &Case, call: impl Fn(&[Value]) + Sync, configure: impl FnOnce(Launch) -> Launch) -> Verdict {
    let memory: Vec<(usize, &Buffer, GlobalBuffer<u8>)> = case
        .buffers()
        .map(|(number, buffer)| (number, buffer, allocate(buffer)))
        .collect();
    let address = |number: usize| {
        let found = memory.iter().find(|(of, ..)| *of == number);
        found.expect("a buffer of its own").2.as_mut_ptr()
    };
    let arguments = case
        .arguments
        .iter()
        .enumerate()
        .map(|(number, argument)| match argument {
            Argument::Words(words) => Value::Words(words.clone()),
            Argument::Buffer(_) => Value::Address(address(number)),
            Argument::Map(map) => Value::Map(Box::new(tensor_map(case, number, map, address(map.matrix)))),
        });
    let mut arguments: Vec<Value> = arguments.collect();
    if let Some(params) = Value::fp8_quantize(&arguments[..case.fields]) {
        arguments = vec![params];
    } else if case.fields > 0 {
        let params = Value::params(&arguments[..case.fields]);
        // Scales are where other kernels have workspace and counters.
        let scales = [&arguments[4], &arguments[5]];
        if let Some(scaled) = arguments.get(case.fields).and_then(|other| Value::fp8(scales, other)) {
            arguments[case.fields] = scaled;
        }
        arguments.splice(..case.fields, [params]);
    }
    let launch = Launch::new(case.grid, case.block)
        .cluster(case.cluster)
        .dynamic_shared_bytes(case.dynamic_shared_bytes);
    let report = configure(launch).run(|| call(&arguments));
    let difference = memory
        .iter()
        .find_map(|(_, buffer, memory)| buffer.check(&memory.to_vec()).err());
    Verdict { report, difference }
}

/// The simulator's tensor map for argument `number`.
fn tensor_map(case: &Case, number: usize, map: &Map, matrix: *mut u8) -> TensorMap {
    let parts = map_parts(case, map, matrix.expose_provenance() as u64);
    let parts = parts.unwrap_or_else(|| panic!("{}: argument {number} is no map of a matrix", case.kernel));
    TensorMap::simulated(&parts).unwrap_or_else(|error| panic!("{}: argument {number}: {error}", case.kernel))
}

/// The buffer in the simulator, as bytes: a kernel's loads and stores do not know more of it.
fn allocate(buffer: &Buffer) -> GlobalBuffer<u8> {
    let before = buffer.before.as_ref().map(|data| data.bytes());
    let width = buffer.element_bytes();
    match (before, buffer.rows) {
        (Some(bytes), None) => GlobalBuffer::from_slice(bytes),
        (Some(bytes), Some(rows)) => GlobalBuffer::matrix(bytes, rows.rows, rows.columns * width, rows.ld * width),
        (None, None) => GlobalBuffer::uninit(buffer.bytes),
        (None, Some(rows)) => GlobalBuffer::matrix_uninit(rows.rows, rows.columns * width, rows.ld * width),
    }
}

/// Whether the verdict is the one that the table expects.
///
/// # Errors
/// The missing or surplus faults, with their texts.
pub fn judge(subject: &Subject, verdict: &Verdict) -> Result<(), String> {
    let kinds = verdict.kinds();
    let problem = match subject.expect() {
        Expect::Clean if kinds.is_empty() && verdict.difference.is_none() => return Ok(()),
        Expect::Clean => "must be reported as clean".to_owned(),
        Expect::Mismatch if kinds.is_empty() && verdict.difference.is_some() => return Ok(()),
        Expect::Mismatch => "must give a wrong result and no fault".to_owned(),
        Expect::Slower => {
            let original = subject::find(&subject::original(subject.kernel.name)).expect("every kernel has a copy");
            let original = with_checks(&original, Schedule::Forward, Checks::Full);
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
        Expect::Any(any) if !kinds.is_empty() && kinds.iter().all(|kind| any.contains(kind)) => return Ok(()),
        Expect::Any(any) => format!("must report one or more of {any:?}, and no others"),
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
