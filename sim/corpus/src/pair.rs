//! A pair of kernels: the one with the mistake, and its twin without.

use std::fmt;

use cuda_sim::{Dim3, GlobalBuffer, Launch, Report, Schedule, StreamReport};

/// A suite whose pattern a pair follows. No source is copied: the kernels are our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suite {
    /// ScoR: races by insufficient scope (Kamath et al., IISWC 2020).
    Scor,
    /// GPUVerify's test suite: barrier divergence, races within and between blocks.
    GpuVerify,
    /// compute-sanitizer, memcheck.
    Memcheck,
    /// compute-sanitizer, racecheck.
    Racecheck,
    /// compute-sanitizer, initcheck.
    Initcheck,
    /// compute-sanitizer, synccheck.
    Synccheck,
    /// Indigo: irregular programs with planted bugs (Liu et al., ICS 2022).
    Indigo,
    /// DataRaceBench: patterns of loops with and without races.
    DataRaceBench,
    /// Pipelines as the CUDA guide and CUTLASS show them.
    Cutlass,
    /// Bugs of published Hopper kernels, as their trackers describe them.
    Trackers,
    /// Programmatic dependent launch as the CUDA guide shows it.
    DependentLaunch,
}

impl Suite {
    /// All of them, in the order of the page's table.
    pub const ALL: [Self; 11] = [
        Self::Scor,
        Self::GpuVerify,
        Self::Memcheck,
        Self::Racecheck,
        Self::Initcheck,
        Self::Synccheck,
        Self::Indigo,
        Self::DataRaceBench,
        Self::Cutlass,
        Self::Trackers,
        Self::DependentLaunch,
    ];
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scor => "ScoR",
            Self::GpuVerify => "GPUVerify",
            Self::Memcheck => "compute-sanitizer memcheck",
            Self::Racecheck => "compute-sanitizer racecheck",
            Self::Initcheck => "compute-sanitizer initcheck",
            Self::Synccheck => "compute-sanitizer synccheck",
            Self::Indigo => "Indigo",
            Self::DataRaceBench => "DataRaceBench",
            Self::Cutlass => "CUTLASS pipelines",
            Self::Trackers => "trackers of Hopper kernels",
            Self::DependentLaunch => "programmatic dependent launch",
        })
    }
}

/// A kernel with a mistake, and without.
pub struct Pair {
    /// The pair's name, as in the comments of the source.
    pub name: &'static str,
    /// The suite whose pattern it is.
    pub suite: Suite,
    /// Launches one of the two.
    pub run: fn(Twin) -> Report,
}

/// A [`Pair`].
pub const fn pair(name: &'static str, suite: Suite, run: fn(Twin) -> Report) -> Pair {
    Pair { name, suite, run }
}

/// One kernel of a pair.
#[derive(Clone, Copy)]
pub struct Twin {
    /// Whether it is the one with the mistake.
    pub wrong: bool,
    /// The schedule to run it under.
    pub schedule: Schedule,
}

impl Twin {
    /// A launch under the twin's schedule.
    pub fn launch(self, grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Launch {
        Launch::new(grid, block).schedule(self.schedule)
    }

    /// The report, after a look at the result of the right twin, which must be `expected`.
    #[track_caller]
    pub fn checked(self, report: Report, found: &GlobalBuffer<u32>, expected: impl IntoIterator<Item = u32>) -> Report {
        if !self.wrong && report.is_clean() && report.warnings.is_empty() {
            assert_eq!(found.to_vec(), expected.into_iter().collect::<Vec<_>>());
        }
        report
    }
}

impl Twin {
    /// Launches a kernel that reads the numbers below `len` and writes uninitialized memory, which then is `expected`.
    #[track_caller]
    pub fn map(
        self,
        launch: Launch,
        len: u32,
        kernel: impl Fn(*const u32, *mut u32) + Sync,
        expected: impl IntoIterator<Item = u32>,
    ) -> Report {
        let expected: Vec<u32> = expected.into_iter().collect();
        let (from, to) = (numbers(len), GlobalBuffer::uninit(expected.len()));
        let report = launch.run(|| kernel(from.as_ptr(), to.as_mut_ptr()));
        self.checked(report, &to, expected)
    }

    /// Launches a kernel that changes `before` to `after`.
    #[track_caller]
    pub fn update<const N: usize>(
        self,
        launch: Launch,
        before: [u32; N],
        kernel: impl Fn(*mut u32) + Sync,
        after: [u32; N],
    ) -> Report {
        let data = GlobalBuffer::from_slice(&before);
        let report = launch.run(|| kernel(data.as_mut_ptr()));
        self.checked(report, &data, after)
    }
}

/// The report of the first launch with a fault, or else of the last one.
///
/// # Panics
/// If there is no launch.
pub fn first_faulty(stream: StreamReport) -> Report {
    let mut reports = stream.launches;
    let first = reports.iter().position(|report| !report.is_clean());
    reports.swap_remove(first.unwrap_or(reports.len() - 1))
}

/// The numbers 0, 1, .. in a buffer.
pub fn numbers(len: u32) -> GlobalBuffer<u32> {
    GlobalBuffer::from_slice(&(0..len).collect::<Vec<_>>())
}

/// The pairs of one file.
pub struct Family {
    /// The file's name without its extension.
    pub name: &'static str,
    /// The file's text.
    pub source: &'static str,
    /// The pairs, in the order of the file.
    pub pairs: &'static [Pair],
}

/// What a comment of the source expects of a pair.
pub struct Mark {
    /// The pair's name.
    pub pair: &'static str,
    /// The fault's kind.
    pub kind: &'static str,
    /// The line that must be reported, from 1; none for a fault without one.
    pub line: Option<u32>,
    /// The line of the other access, if the source names it.
    pub against: Option<u32>,
}

impl Family {
    /// The path of the file, as the compiler has it.
    pub fn path(&self) -> String {
        format!("sim/corpus/src/{}.rs", self.name)
    }

    /// The marks in the file's comments.
    pub fn marks(&self) -> Vec<Mark> {
        let lines: Vec<&str> = self.source.lines().collect();
        let is_comment = |line: &str| line.trim_start().starts_with("//");
        // A comment alone speaks of the next line of code.
        let line_of = |at: usize| at + lines[at..].iter().take_while(|line| is_comment(line)).count();
        let after = |key: &'static str| {
            let lines = lines.iter().enumerate();
            lines.filter_map(move |(at, line)| Some((line.split_once(key)?.1, line_of(at) as u32 + 1)))
        };
        let expected = |key, has_line: bool| {
            after(key).flat_map(move |(text, number)| {
                text.split(';').map(move |mark| {
                    let mut words = mark.split_whitespace();
                    let (pair, kind) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
                    (pair, kind, has_line.then_some(number))
                })
            })
        };
        let all = expected("// expect: ", true).chain(expected("// expect without line: ", false));
        all.map(|(pair, kind, line)| {
            let mut others = after("// against: ");
            let against = others.find(|(text, _)| text.split(';').any(|name| name.trim() == pair));
            Mark {
                pair,
                kind,
                line,
                against: against.map(|(_, number)| number),
            }
        })
        .collect()
    }

    /// What the source expects of a pair.
    ///
    /// # Panics
    /// If it has not exactly one mark.
    pub fn mark(&self, pair: &Pair) -> Mark {
        let mut marks: Vec<Mark> = self.marks();
        marks.retain(|mark| mark.pair == pair.name);
        assert_eq!(marks.len(), 1, "{}: {} has {} marks", self.name, pair.name, marks.len());
        marks.remove(0)
    }
}
