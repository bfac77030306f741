//! The chapters of the guide that explain what a command shows, from the root of the repository.

/// The course.
pub const LADDER: &str = "docs/guide/src/07-the-ladder.md";
/// Reports of the simulator.
pub const SIMULATOR: &str = "docs/guide/src/04-the-simulator.md";

/// The chapter with the idea of a lesson.
pub fn of_lesson(number: usize) -> &'static str {
    match number {
        1 => "docs/guide/src/01-why-tiles.md",
        2 | 3 => "docs/guide/src/02-static-and-dynamic.md",
        4..=6 => "docs/guide/src/06-registers.md",
        7 => "docs/guide/src/05-bank-conflicts.md",
        8 | 9 => "docs/guide/src/08-cp-async.md",
        10 | 11 => "docs/guide/src/09-tensor-cores.md",
        12 | 13 | 15 => "docs/guide/src/10-tma.md",
        14 => "docs/guide/src/11-clusters.md",
        _ => LADDER,
    }
}
