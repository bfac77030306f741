//! The corpus: small kernels after the patterns of public suites for checkers of GPU programs, and after bugs of
//! published Hopper kernels, each with a mistake and without. The simulator must report every mistake as the fault that
//! it is, at its line, and nothing else.
//!
//! Both twins are one source with a flag, `wrong`, that switches the mistake on. A comment on the line that must be
//! reported says so:
//!
//! ```text
//! data.set(i, 1); // expect: missing_guard OutOfBounds
//! ```
//!
//! and, for a race, `// against: missing_guard` on the line of the other access. Marks are separated by `;`, and a
//! comment of its own is about the next line of code. `// expect without line: NAME KIND` is a fault that no single
//! line has. `EXCEPTIONS` in `verdict.rs` lists the deviations with their reasons.
//!
//! # Safety
//!
//! *Kernels*: each is launched by its own pair alone, with the grid, the block, the buffers and the dynamic shared
//! memory that it is written for. Half of them break a rule on purpose, and not beyond this: the simulator checks
//! accesses through views, atomics and copies before it makes them, and does not make what it refuses; a bare pointer
//! stays within the red zone of its buffer or the canary of its array.
//!
//! *Launches*: buffers outlive the launch, and are as long as the kernel takes them to be.
//!
//! `cargo run -p simulator_corpus -- missing_guard` runs both twins of a pair and prints what the simulator says.
//! `BLESS=1 cargo test -p simulator_corpus` writes `docs/simulator-corpus.md`, which is compared otherwise.

#[cfg(test)]
mod page;
pub mod pair;
pub mod patterns;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdict;

mod algorithms;
mod alignment;
mod async_copies;
mod barriers;
mod bounds;
mod clusters;
mod distributed;
mod global_races;
mod graphs;
mod hopper;
mod initialization;
mod launches;
mod locks;
mod messages;
mod named_barriers;
mod overlaps;
mod pipelines;
mod progress;
mod scopes;
mod shared_races;
mod tensor_maps;
mod tiles;
mod warpgroups;
mod warps;

use cuda_sim::{Report, Schedule, SimFault};
use pair::{Family, Pair, Twin};

/// The kernels, by subject.
pub const FAMILIES: &[Family] = &[
    bounds::FAMILY,
    alignment::FAMILY,
    initialization::FAMILY,
    shared_races::FAMILY,
    overlaps::FAMILY,
    algorithms::FAMILY,
    tiles::FAMILY,
    global_races::FAMILY,
    graphs::FAMILY,
    scopes::FAMILY,
    messages::FAMILY,
    locks::FAMILY,
    progress::FAMILY,
    barriers::FAMILY,
    named_barriers::FAMILY,
    warps::FAMILY,
    async_copies::FAMILY,
    pipelines::FAMILY,
    clusters::FAMILY,
    distributed::FAMILY,
    hopper::FAMILY,
    tensor_maps::FAMILY,
    warpgroups::FAMILY,
    launches::FAMILY,
];

/// A pair and the file it is in, by the pair's name.
pub fn find(name: &str) -> Option<(&'static Family, &'static Pair)> {
    let pairs = FAMILIES.iter().flat_map(|family| {
        let of_family = family.pairs.iter();
        of_family.map(move |pair| (family, pair))
    });
    pairs.into_iter().find(|(_, pair)| pair.name == name)
}

/// Report of one kernel of a pair.
pub fn run(pair: &Pair, wrong: bool, schedule: Schedule) -> Report {
    (pair.run)(Twin { wrong, schedule })
}

/// First fault of a report, or else its first warning.
pub fn first(report: &Report) -> Option<&SimFault> {
    report.faults.iter().chain(&report.warnings).next()
}

/// What the simulator says of both kernels of a pair; none without a pair of this name.
pub fn told(name: &str) -> Option<String> {
    let (family, pair) = find(name)?;
    let mut text = format!("{name}, {}\n", family.path());
    for (twin, wrong) in [("with the mistake", true), ("without", false)] {
        let report = run(pair, wrong, Schedule::default());
        let mut found = report.faults.iter().chain(&report.warnings).peekable();
        if found.peek().is_none() {
            text += &format!("{twin}: nothing is reported\n");
            continue;
        }
        text += &format!("{twin}:\n");
        found.for_each(|fault| text += &format!("  {fault}\n"));
    }
    Some(text)
}
