//! What a launch on the CPU tells.

use std::fmt;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use serde::Serialize;

use crate::access::{AccessKind, Space};
use crate::fault::{FaultKind, SimFault, Site};
use crate::launch::Checks;

/// Shared memory of a block, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedUsage {
    /// Static arrays that the run has met, as a compiler would lay them out.
    pub static_bytes: u64,
    /// What the launch asked for.
    pub dynamic_bytes: u64,
    /// Both together: the most that any block had.
    pub high_water_bytes: u64,
    /// What the architecture gives a block.
    pub limit_bytes: u64,
}

/// Which accesses a line of the traffic report counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TrafficKind {
    /// The memory.
    pub space: Space,
    /// What the accesses do.
    pub access: AccessKind,
}

impl fmt::Display for TrafficKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            AccessKind::Read => "load",
            AccessKind::Write => "store",
            AccessKind::Atomic => "atomic",
        };
        write!(f, "{} {access}", self.space)
    }
}

/// What a source line asks of the memory system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineTraffic {
    /// The line.
    pub site: Site,
    /// Which accesses.
    #[serde(flatten)]
    pub kind: TrafficKind,
    /// Instructions of a warp: the n-th executions of the line by its lanes count as one.
    pub requests: u64,
    /// Accesses of single lanes.
    pub lanes: u64,
    /// Shared memory: wavefronts. Global memory: 32-byte sectors. Both summed over the requests.
    pub actual: u64,
    /// The fewest that could carry the same bytes; see [`banks`](crate::banks).
    pub ideal: u64,
}

/// The outcome of a launch.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whose limits held.
    pub architecture: String,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// The schedule.
    pub schedule: String,
    /// What was looked at.
    pub checks: Checks,
    /// Blocks that ran.
    pub blocks: u64,
    /// Threads that ran.
    pub threads: u64,
    /// What is wrong, in the order of the schedule.
    pub faults: Vec<SimFault>,
    /// Faults beyond the limit of [`Launch::max_faults`](crate::Launch::max_faults).
    pub faults_left_out: u64,
    /// Shared memory.
    pub shared: SharedUsage,
    /// Barriers that the threads of a block pass: the fewest and the most of any block.
    pub barriers_per_thread: (u32, u32),
    /// By source line what the memory system has to do. Of the first schedule; empty unless [`Checks::Full`].
    pub lines: Vec<LineTraffic>,
    /// Accesses in `lines` of lanes that were so far behind their warp that each counts as a request of its own.
    pub approximate_accesses: u64,
    /// What the kernel printed, block by block. Of the first schedule.
    pub output: String,
    /// Wall time. It says nothing of a GPU's.
    pub seconds: f64,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// What the machine that simulates lacked, where it lacked something: then the report says nothing of the kernel.
    pub fn lacks(&self) -> Option<&str> {
        self.faults.iter().find_map(|fault| match &fault.kind {
            FaultKind::Resources { problem } => Some(problem.as_str()),
            _ => None,
        })
    }

    /// # Panics
    /// If something is wrong, with the text of every fault.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.is_clean(), "{}", Faults(self));
    }

    /// What of one kind of traffic the kernel causes in all: actual and ideal.
    pub fn traffic(&self, space: Space, access: AccessKind) -> (u64, u64) {
        let lines = self.lines.iter();
        lines
            .filter(|line| line.kind == TrafficKind { space, access })
            .fold((0, 0), |(actual, ideal), line| {
                (actual + line.actual, ideal + line.ideal)
            })
    }

    pub(crate) fn add_fault(&mut self, fault: SimFault) {
        match self.faults.iter_mut().find(|known| known.is_like(&fault)) {
            Some(known) => known.count += fault.count,
            None => self.faults.push(fault),
        }
    }
}

impl SimFault {
    /// A fault of a launch as a whole.
    pub(crate) fn of_launch(kind: FaultKind) -> Self {
        Self {
            kind,
            block: [0; 3],
            thread: [0; 3],
            site: None,
            interval: 0,
            other: None,
            count: 1,
        }
    }

    /// Whether both say the same of the same lines.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let site = |fault: &Self| fault.other.as_ref().map(|other| other.site.clone());
        self.kind.name() == other.kind.name() && self.site == other.site && site(self) == site(other)
    }
}

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
                    "{count} accesses of lanes far behind their warp count as requests of their own"
                )?;
            }
        }
        if !self.is_clean() {
            writeln!(f)?;
            write!(f, "{}", Faults(self))?;
        }
        Ok(())
    }
}

impl Report {
    fn traffic_table(&self) -> String {
        let mut table = Table::new();
        table
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(["line", "access", "requests", "actual", "ideal", "ratio"]);
        for line in &self.lines {
            let unit = match line.kind.space {
                Space::Shared => "wavefronts",
                Space::Global => "sectors",
            };
            let ratio = line.actual as f64 / line.ideal.max(1) as f64;
            table.add_row([
                format!("{}:{}", line.site.file, line.site.line),
                line.kind.to_string(),
                line.requests.to_string(),
                format!("{} {unit}", line.actual),
                line.ideal.to_string(),
                format!("{ratio:.2}"),
            ]);
        }
        for column in 2..6 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        lines.join("\n")
    }
}
