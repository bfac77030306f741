//! The report of a launch on the CPU.

use std::fmt;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use serde::Serialize;

use crate::access::{AccessKind, Instruction, Space};
use crate::fault::{FaultKind, Severity, SimFault, SourceLocation};
use crate::launch::Checks;
use crate::synchronization::Synchronization;

/// Shared memory of a block, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedUsage {
    /// Static arrays that the run has used, as a compiler lays them out.
    pub static_bytes: u64,
    /// Dynamic shared memory of the launch.
    pub dynamic_bytes: u64,
    /// Static and dynamic together: the most of any block.
    pub high_water_bytes: u64,
    /// The architecture's limit for a block.
    pub limit_bytes: u64,
}

/// The accesses that a line of the traffic report counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TrafficKind {
    /// The memory.
    pub space: Space,
    /// The operation of the accesses.
    pub access: AccessKind,
    /// The instruction.
    pub instruction: Instruction,
}

impl fmt::Display for TrafficKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            AccessKind::Read => "load",
            AccessKind::Write => "store",
            AccessKind::Atomic => "atomic",
        };
        let instruction = match (self.instruction, self.access) {
            (Instruction::Lanes, _) => "",
            (Instruction::CpAsync, _) => " (cp.async)",
            (Instruction::Matrix, AccessKind::Read) => " (ldmatrix)",
            (Instruction::Matrix, _) => " (stmatrix)",
            (Instruction::BulkCopy, _) => " (bulk)",
            (Instruction::Wgmma, _) => " (wgmma)",
        };
        write!(f, "{} {access}{instruction}", self.space)
    }
}

/// The memory traffic of a source line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineTraffic {
    /// The line.
    pub location: SourceLocation,
    /// The accesses.
    #[serde(flatten)]
    pub kind: TrafficKind,
    /// Warp instructions: the n-th executions of the line by a warp's lanes count as one. A `wgmma` is one of four
    /// warps; a bulk copy, one for each block that it accesses.
    pub requests: u64,
    /// Accesses of single lanes.
    pub lanes: u64,
    /// Shared memory: wavefronts. Global memory: 32-byte sectors. Both summed over the requests.
    pub actual: u64,
    /// The fewest that could carry the same bytes; see [`banks`](crate::banks).
    pub ideal: u64,
    /// Bytes that the instructions ask for: those that several lanes access count for each.
    pub bytes: u64,
}

/// The outcome of a launch.
#[derive(Clone, Debug, Serialize)]
#[must_use = "the faults are in the report: `assert_clean` panics where there are any"]
pub struct Report {
    /// The name of the launch ([`Launch::named`](crate::Launch::named)), if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The architecture whose limits applied.
    pub architecture: String,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// The schedule.
    pub schedule: String,
    /// The checks that ran.
    pub checks: Checks,
    /// Number of blocks that ran.
    pub blocks: u64,
    /// Number of threads that ran.
    pub threads: u64,
    /// The most blocks that had started and not ended at one time: more than there are cores only if blocks wait for
    /// others. Of the first schedule.
    pub resident_blocks: u64,
    /// Faults, in the order of the schedule.
    pub faults: Vec<SimFault>,
    /// Faults beyond the limit of [`Launch::max_faults`](crate::Launch::max_faults).
    pub faults_left_out: u64,
    /// What is no fault, but relies on more than the memory model promises ([`Severity`]), in the
    /// order of the schedule. At most [`Launch::max_faults`](crate::Launch::max_faults).
    pub warnings: Vec<SimFault>,
    /// Shared memory.
    pub shared: SharedUsage,
    /// Barriers that a thread passes: the fewest and the most of any block.
    pub barriers_per_thread: (u32, u32),
    /// Memory traffic by source line. Of the first schedule; empty unless [`Checks::Full`].
    pub lines: Vec<LineTraffic>,
    /// Barriers, waits and fences by source line. Of the first schedule; empty unless
    /// [`Launch::synchronizations`](crate::Launch::synchronizations) asks for them.
    pub synchronizations: Vec<Synchronization>,
    /// Accesses in `lines` of lanes too far apart from their warp: each counts as a request of its own.
    pub approximate_accesses: u64,
    /// The kernel's output, block by block. Of the first schedule.
    pub output: String,
    /// Wall time of the simulation, which is unrelated to a GPU's.
    pub seconds: f64,
}

impl Report {
    /// Whether there are no faults.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// The names of the faults' kinds, in the order of the faults.
    pub fn kinds(&self) -> Vec<&'static str> {
        self.faults.iter().map(|fault| fault.kind.name()).collect()
    }

    /// The resource that this machine lacked, if any: the report then says nothing of the kernel.
    pub fn lacks(&self) -> Option<&str> {
        self.faults.iter().find_map(|fault| match &fault.kind {
            FaultKind::Resources { problem } => Some(problem.as_str()),
            _ => None,
        })
    }

    /// Whether every fault is that the launch asks for more shared memory than a CTA may have: the request does not
    /// fit, and nothing is said of the kernel.
    pub fn lacks_shared_memory_only(&self) -> bool {
        let is_limit = |fault: &SimFault| matches!(fault.kind, FaultKind::SharedLimit { .. });
        !self.faults.is_empty() && self.faults_left_out == 0 && self.faults.iter().all(is_limit)
    }

    /// The report, if there are no faults: for `?` where [`Report::assert_clean`] would panic.
    ///
    /// # Errors
    /// The faults, with the text of each.
    pub fn into_clean(self) -> Result<Self, Faulty> {
        if self.is_clean() {
            Ok(self)
        } else {
            Err(Faulty(Box::new(self)))
        }
    }

    /// # Panics
    /// If there are faults, with the text of each.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.is_clean(), "{}", Faults(self));
    }

    /// The kernel's total traffic of one memory and operation, by whatever instruction: actual and ideal.
    pub fn traffic(&self, space: Space, access: AccessKind) -> (u64, u64) {
        let lines = self.lines.iter();
        lines
            .filter(|line| line.kind.space == space && line.kind.access == access)
            .fold((0, 0), |(actual, ideal), line| {
                (actual + line.actual, ideal + line.ideal)
            })
    }

    /// Whether a fault or warning is like one of the report.
    pub(crate) fn has_like(&self, fault: &SimFault) -> bool {
        let mut known = self.faults.iter().chain(&self.warnings);
        known.any(|known| known.is_like(fault))
    }

    /// Adds a fault or warning to those that are like it.
    pub(crate) fn add_fault(&mut self, fault: SimFault) {
        let list = match fault.kind.severity() {
            Severity::Error => &mut self.faults,
            Severity::Warning => &mut self.warnings,
        };
        match list.iter_mut().find(|known| known.is_like(&fault)) {
            Some(known) => known.count += fault.count,
            None => list.push(fault),
        }
    }
}

impl SimFault {
    /// A fault of a launch as a whole.
    pub(crate) fn of_launch(kind: FaultKind) -> Self {
        Self {
            kind,
            launch: None,
            block: [0; 3],
            thread: [0; 3],
            location: None,
            stack: Vec::new(),
            interval: 0,
            other: None,
            buffer: None,
            shared_of: None,
            schedule: None,
            count: 1,
        }
    }

    /// Whether both have the same kind and lines.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let of_other = |fault: &Self| {
            let other = fault.other.as_ref();
            other.map(|other| (other.launch.clone(), other.location.clone()))
        };
        self.kind.name() == other.kind.name() && self.location == other.location && of_other(self) == of_other(other)
    }
}

/// The report of a launch with faults, as an error.
#[derive(Clone, Debug)]
pub struct Faulty(pub Box<Report>);

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Faults(&self.0).fmt(f)
    }
}

impl std::error::Error for Faulty {}

/// The faults as a text.
struct Faults<'a>(&'a Report);

impl fmt::Display for Faults<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(report) = self;
        match report.faults.len() {
            1 => writeln!(f, "1 fault")?,
            several => writeln!(f, "{several} faults")?,
        }
        for fault in &report.faults {
            writeln!(f, "  {fault}")?;
        }
        if report.faults_left_out > 0 {
            writeln!(f, "  and {} more", report.faults_left_out)?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [gx, gy, gz] = self.grid;
        let [bx, by, bz] = self.block;
        writeln!(
            f,
            "launch          {gx} x {gy} x {gz} blocks of {bx} x {by} x {bz} threads, limits of {}, schedule {}",
            self.architecture, self.schedule
        )?;
        writeln!(
            f,
            "shared memory   {} B static + {} B dynamic = {} B a block, of {} B",
            self.shared.static_bytes, self.shared.dynamic_bytes, self.shared.high_water_bytes, self.shared.limit_bytes
        )?;
        let (fewest, most) = self.barriers_per_thread;
        if fewest == most {
            writeln!(f, "barriers        {most} a thread")?;
        } else {
            writeln!(f, "barriers        {fewest} to {most} a thread")?;
        }
        if !self.lines.is_empty() {
            writeln!(f)?;
            writeln!(f, "{}", self.traffic_table())?;
            if self.approximate_accesses > 0 {
                let count = self.approximate_accesses;
                writeln!(
                    f,
                    "{count} accesses of lanes too far apart from their warp count as requests of their own"
                )?;
            }
        }
        if !self.is_clean() {
            writeln!(f)?;
            write!(f, "{}", Faults(self))?;
        }
        if !self.warnings.is_empty() {
            writeln!(f)?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "{warning}"))
    }
}

impl Report {
    fn traffic_table(&self) -> String {
        let mut table = Table::new();
        table
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(["line", "access", "requests", "bytes", "actual", "ideal", "ratio"]);
        for line in &self.lines {
            let unit = match line.kind.space {
                Space::Shared => "wavefronts",
                Space::Global => "sectors",
            };
            let ratio = line.actual as f64 / line.ideal.max(1) as f64;
            table.add_row([
                format!("{}:{}", line.location.file, line.location.line),
                line.kind.to_string(),
                line.requests.to_string(),
                line.bytes.to_string(),
                format!("{} {unit}", line.actual),
                line.ideal.to_string(),
                format!("{ratio:.2}"),
            ]);
        }
        for column in 2..7 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        lines.join("\n")
    }
}
