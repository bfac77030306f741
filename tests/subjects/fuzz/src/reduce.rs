//! Making a program that fails smaller while it fails.

use std::collections::BTreeSet;

use crate::compare::{Finding, compare};
use crate::device::Options;
use crate::error::Error;
use crate::generator::Program;
use crate::tree::{Edit, Edits};

/// How many smaller programs are compiled in one crate.
const TOGETHER: usize = 40;
/// The same where each failure ends the build of all.
const TOGETHER_CRASHING: usize = 6;

/// Removes statements and simplifies expressions of a finding, in at most `builds` comparisons.
///
/// Each comparison tries many edits at once, one per program. Those after which the program still fails are then made
/// together, as many as possible.
///
/// # Errors
/// When the reference cannot be made.
pub fn reduce(finding: &Finding, options: &Options, builds: usize) -> Result<Finding, Error> {
    let mut best = finding.clone();
    let mut left = builds;
    let mut start = 0;
    let crashing = matches!(finding.difference, crate::compare::Difference::Build(_));
    let together = if crashing { TOGETHER_CRASHING } else { TOGETHER };
    while left > 0 {
        let edits = best.program.tree.edits();
        let tried: Vec<(usize, Edit)> = edits.iter().skip(start).take(together).copied().collect();
        if tried.is_empty() {
            break;
        }
        left -= 1;
        let single: Vec<Edits> = tried.iter().map(|&edit| Edits::from([edit])).collect();
        let failing = failing(&best, &single, options)?;
        if failing.is_empty() {
            start += together;
            continue;
        }
        // The first of them saves most. Many may go together: all, half of them, a quarter.
        let mut next = failing[0].1.clone();
        let mut joint = Vec::new();
        let mut count = failing.len();
        while count > 1 {
            let chosen = failing.iter().take(count).map(|&(at, _)| tried[at]);
            // The first edit of a node is the one that saves most.
            let mut edits = Edits::new();
            for (node, edit) in chosen {
                edits.entry(node).or_insert(edit);
            }
            joint.push(edits);
            count /= 2;
        }
        if !joint.is_empty() && left > 0 {
            left -= 1;
            let candidates = self::failing(&best, &joint, options)?;
            let smallest = candidates
                .into_iter()
                .map(|(_, finding)| finding)
                .min_by_key(|finding| finding.program.tree.render().len());
            next = smallest.unwrap_or(next);
        }
        best = next;
        start = 0;
    }
    Ok(best)
}

/// The edited programs that fail like `finding`, with the number of the edits.
fn failing(finding: &Finding, edits: &[Edits], options: &Options) -> Result<Vec<(usize, Finding)>, Error> {
    let programs: Vec<Program> = edits
        .iter()
        .enumerate()
        .map(|(number, edits)| Program {
            name: format!("r{number:04}"),
            features: finding.program.features.clone(),
            tree: finding.program.tree.edited(edits),
        })
        .collect();
    let inputs = vec![finding.inputs.clone(); programs.len()];
    let mut found: Vec<(usize, Finding)> = Vec::new();
    let mut seen = BTreeSet::new();
    for failure in compare(&programs, &inputs, options)? {
        let number = programs.iter().position(|program| program.name == failure.program.name);
        let number = number.expect("a finding is one of the programs");
        if failure.difference.resembles(&finding.difference) && seen.insert(number) {
            let program = Program {
                name: finding.program.name.clone(),
                ..failure.program
            };
            found.push((number, Finding { program, ..failure }));
        }
    }
    found.sort_by_key(|&(number, _)| number);
    Ok(found)
}
