//! The least invasive sequence of moves after which a template fits, or the proof that there is none.
//!
//! The search is exact and ends. Every move but dropping a stage is an edge between templates, its points are the
//! edge's length; the shortest path is looked for as Dijkstra does, over templates with a single buffer, because what
//! does not fit with one does not fit with more. To each template on the way belongs the largest number of stages with
//! which it fits, and the points for dropping the others: the sum decides. Extents only shrink, warps and parts of K
//! are bounded: there are finitely many templates. Of sequences with equal points the one found first is taken, which
//! is the same every time.
//!
//! Dropped stages come first in the result: they are what practice tries first. What fits is decided by making all the
//! moves in that order.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

use cuda_arch::Architecture;
use serde::Serialize;

use crate::footprint::Footprint;
use crate::moves::{Move, MoveKind, apply, moves, points};
use crate::rules::{self, Violation};
use crate::template::{Accumulator, Epilogue, EpilogueTile, Shape, Template, Widening};
use crate::worksheet::{Worksheet, worksheet};

/// How a template came to fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Where it began.
    pub start: Worksheet,
    /// The moves, in order.
    pub steps: Vec<Step>,
    /// The sum of their points ([`Cost::points`](crate::Cost::points)).
    pub points: u32,
    /// How it ended.
    pub outcome: Outcome,
}

/// A move that was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The move.
    pub taken: Move,
    /// The moves before it on the ladder: not possible here, or possible and not part of the least invasive sequence.
    pub passed_over: Vec<Move>,
    /// The worksheet afterwards.
    pub sheet: Worksheet,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// There was nothing to do.
    AlreadyFits,
    /// It fits after the steps.
    Fits,
    /// No sequence of moves makes it fit. There are no steps.
    Impossible(Box<Proof>),
}

/// Why nothing fits: every template that the moves lead to was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proof {
    /// Of all of them the one that misses the limit by the least.
    pub smallest: Worksheet,
    /// The moves from there.
    pub moves: Vec<Move>,
    /// How many templates were looked at, those that differ in stages alone not counted.
    pub templates: usize,
    /// The numbers in words.
    pub reason: String,
}

impl Fit {
    /// The last worksheet: the one that fits, or the start.
    pub fn end(&self) -> &Worksheet {
        self.steps.last().map_or(&self.start, |step| &step.sheet)
    }
}

impl fmt::Display for Fit {
    /// A line for the start, one for each step (stages dropped in a row share one), one for a proof.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = &self.start;
        let Template {
            ty, path, tile, stages, ..
        } = start.template;
        write!(
            f,
            "{ty} {tile} on {path}, {stages} stages: {} B on {}, ",
            start.total_bytes, start.arch
        )?;
        match (start.fits, start.margin_bytes) {
            (true, _) => write!(f, "fits, {} B left", start.left_bytes)?,
            (false, 0) => write!(f, "{} B over the limit of {} B", start.over_by_bytes, start.limit_bytes)?,
            (false, margin) => write!(
                f,
                "{} B over the limit of {} B less a margin of {margin} B",
                start.over_by_bytes, start.limit_bytes
            )?,
        }
        let is_drop = |step: &Step| step.taken.kind == MoveKind::DropStage;
        let mut number = 0;
        for row in self.steps.chunk_by(|a, b| is_drop(a) && is_drop(b)) {
            number += row.len();
            match row {
                [.., step] if row.len() == 1 => write!(f, "\n{number}. {}", step.taken)?,
                [first, .., last] => write!(
                    f,
                    "\n{}-{number}. drop {} stages: {} -> {} B, {}; {} -> {} stages",
                    number + 1 - row.len(),
                    row.len(),
                    first.taken.before_bytes,
                    last.taken.after_bytes,
                    last.taken.verdict(),
                    last.taken.template.stages as usize + row.len(),
                    last.taken.template.stages,
                )?,
                _ => {}
            }
        }
        match &self.outcome {
            Outcome::Impossible(proof) => write!(f, "\n{}", proof.reason),
            Outcome::AlreadyFits | Outcome::Fits => Ok(()),
        }
    }
}

/// Finds the least invasive moves after which `template` fits with `margin_bytes` to spare.
///
/// # Errors
/// A [`Violation`] where the template itself breaks a rule, where the margin leaves nothing, or where the shape is
/// empty.
pub fn fit(
    template: &Template,
    arch: &Architecture,
    margin_bytes: u64,
    shape: Option<Shape>,
) -> Result<Fit, Violation> {
    shape.map_or(Ok(()), rules::check_not_empty)?;
    let start = worksheet(template, arch, margin_bytes)?;
    if start.fits {
        return Ok(Fit {
            start,
            steps: Vec::new(),
            points: 0,
            outcome: Outcome::AlreadyFits,
        });
    }
    let search = Search { start, arch, shape };
    let (steps, outcome) = match search.run()? {
        Found::Sequence(kinds) => (search.steps(&kinds)?, Outcome::Fits),
        Found::Nothing { smallest, templates } => {
            let proof = search.proof(&smallest, templates)?;
            (Vec::new(), Outcome::Impossible(Box::new(proof)))
        }
    };
    Ok(Fit {
        points: steps.iter().map(|step| step.taken.cost.points).sum(),
        start: search.start,
        steps,
        outcome,
    })
}

struct Search<'a> {
    start: Worksheet,
    arch: &'a Architecture,
    shape: Option<Shape>,
}

/// A template with one buffer, and how it was reached.
struct Node {
    footprint: Footprint,
    from: Option<(usize, MoveKind)>,
}

enum Found {
    Sequence(Vec<MoveKind>),
    Nothing { smallest: Template, templates: usize },
}

impl Search<'_> {
    fn run(&self) -> Result<Found, Violation> {
        let dropping = self.points_of_dropping();
        let least = Template {
            stages: self.start.template.stages - self.droppable(),
            ..self.start.template
        };
        let mut nodes = vec![Node {
            footprint: self.footprint(&least)?,
            from: None,
        }];
        // The least points with which a template was reached.
        let mut reached = BTreeMap::from([(key(&least), 0)]);
        let mut open = BinaryHeap::from([Reverse((0, 0))]);
        let mut best: Option<(u32, Vec<MoveKind>)> = None;
        while let Some(Reverse((points_here, here))) = open.pop() {
            if best.as_ref().is_some_and(|(most, _)| *most <= points_here) {
                break;
            }
            let Node {
                footprint: before,
                from,
            } = nodes[here];
            let template = before.template;
            if reached.get(&key(&template)) != Some(&points_here) {
                // A shorter way was found since.
                continue;
            }
            if before.fits() {
                // More drops than these are no better than the best that is known.
                let known = best.as_ref().map_or(u32::MAX, |(known, _)| *known);
                let better = dropping.partition_point(|dropped| points_here + dropped < known);
                let kinds = path_to(&nodes, here);
                if let Some(drops) = self.fewest_drops(&kinds, better) {
                    let mut sequence = vec![MoveKind::DropStage; drops];
                    sequence.extend(kinds);
                    best = Some((points_here + dropping[drops], sequence));
                }
            }
            // What registers spill depends on everything else: it is the last move, if it is made at all.
            if from.is_some_and(|(_, kind)| kind == MoveKind::SpillRegisters) {
                continue;
            }
            for kind in MoveKind::ALL.into_iter().filter(|kind| *kind != MoveKind::DropStage) {
                let Ok(after) = apply(kind, &before, self.arch, self.shape) else {
                    continue;
                };
                // Without it the ladder's other moves would be tried again for every number of parts.
                if kind == MoveKind::SplitK && after.total_bytes == before.total_bytes {
                    continue;
                }
                let points = points_here + points(kind, &template, &after.template, self.shape);
                let known = reached.entry(key(&after.template)).or_insert(u32::MAX);
                if points < *known {
                    *known = points;
                    open.push(Reverse((points, nodes.len())));
                    nodes.push(Node {
                        footprint: after,
                        from: Some((here, kind)),
                    });
                }
            }
        }
        if let Some((_, sequence)) = best {
            return Ok(Found::Sequence(sequence));
        }
        // Of equal ones the first that was found.
        let footprints = nodes.iter().map(|node| node.footprint);
        let smallest = footprints.min_by_key(|footprint| (footprint.over_by_bytes(), footprint.total_bytes));
        Ok(Found::Nothing {
            smallest: smallest.map_or(least, |footprint| footprint.template),
            templates: reached.len(),
        })
    }

    fn footprint(&self, template: &Template) -> Result<Footprint, Violation> {
        Footprint::new(template, self.arch, self.start.margin_bytes)
    }

    fn worksheet(&self, template: &Template) -> Result<Worksheet, Violation> {
        worksheet(template, self.arch, self.start.margin_bytes)
    }

    /// Stages that can be dropped.
    fn droppable(&self) -> u32 {
        let Template {
            stages, frontend, path, ..
        } = self.start.template;
        stages - frontend.stages(1, path)
    }

    /// The points of dropping 0, 1, 2 ... stages.
    fn points_of_dropping(&self) -> Vec<u32> {
        let with = |drops| Template {
            stages: self.start.template.stages - drops,
            ..self.start.template
        };
        let one = |drop| points(MoveKind::DropStage, &with(drop), &with(drop + 1), self.shape);
        let sums = (0..self.droppable()).scan(0, |sum, drop| {
            *sum += one(drop);
            Some(*sum)
        });
        core::iter::once(0).chain(sums).collect()
    }

    /// How many stages must be dropped so that the template fits after these moves, if fewer than `bound` do.
    fn fewest_drops(&self, kinds: &[MoveKind], bound: usize) -> Option<usize> {
        let fits = |drops| self.replay(drops, kinds).is_some_and(|footprint| footprint.fits());
        // Totals grow with stages, so a bisection finds the edge.
        let (mut least, mut most) = (0, bound.checked_sub(1)? as u32);
        if !fits(most) {
            return None;
        }
        while least < most {
            let middle = least + (most - least) / 2;
            if fits(middle) {
                most = middle;
            } else {
                least = middle + 1;
            }
        }
        Some(most as usize)
    }

    /// What the template takes after dropping stages and then making these moves; `None` where one of them cannot be
    /// made.
    fn replay(&self, drops: u32, kinds: &[MoveKind]) -> Option<Footprint> {
        let template = Template {
            stages: self.start.template.stages - drops,
            ..self.start.template
        };
        let start = self.footprint(&template).ok()?;
        kinds
            .iter()
            .try_fold(start, |before, kind| apply(*kind, &before, self.arch, self.shape).ok())
    }

    /// Makes the moves, and writes down what was passed over.
    fn steps(&self, kinds: &[MoveKind]) -> Result<Vec<Step>, Violation> {
        let mut sheet = self.start.clone();
        let mut steps = Vec::with_capacity(kinds.len());
        for kind in kinds {
            let mut passed_over = moves(&sheet, self.arch, self.shape);
            passed_over.truncate(*kind as usize + 1);
            let Some(taken) = passed_over.pop() else { break };
            sheet = self.worksheet(&taken.template)?;
            steps.push(Step {
                taken,
                passed_over,
                sheet: sheet.clone(),
            });
        }
        Ok(steps)
    }

    fn proof(&self, smallest: &Template, templates: usize) -> Result<Proof, Violation> {
        let smallest = self.worksheet(smallest)?;
        let fixed: u64 = smallest
            .components
            .iter()
            .filter(|line| UNMOVED.contains(&&*line.name))
            .map(|line| line.bytes)
            .sum();
        let budget = smallest.footprint().budget;
        let margin = match smallest.margin_bytes {
            0 => String::new(),
            bytes => format!(" less a margin of {bytes} B"),
        };
        let unmoved = if !budget.fits(fixed) {
            format!(
                "; {fixed} B of it, which no move changes (static part, barriers, scratch, groups), are too much alone"
            )
        } else if fixed > 0 {
            format!("; {fixed} B of it no move changes (static part, barriers, scratch, groups)")
        } else {
            String::new()
        };
        Ok(Proof {
            reason: format!(
                "no sequence of moves makes it fit: the smallest of {templates} templates, {} with one buffer, takes \
                 {} B, {} B over the limit of {} B{margin}{unmoved}",
                smallest.template.tile, smallest.total_bytes, smallest.over_by_bytes, smallest.limit_bytes
            ),
            moves: moves(&smallest, self.arch, self.shape),
            smallest,
            templates,
        })
    }
}

/// Lines that no move makes smaller on purpose.
const UNMOVED: [&str; 5] = [
    "static part",
    "barriers, once",
    "scratch of warps",
    "table of groups",
    "tensor maps",
];

fn path_to(nodes: &[Node], mut at: usize) -> Vec<MoveKind> {
    let mut kinds = Vec::new();
    while let Some((from, kind)) = nodes[at].from {
        kinds.push(kind);
        at = from;
    }
    kinds.reverse();
    kinds
}

/// Everything that moves change, but the stages.
fn key(template: &Template) -> [u32; 14] {
    let EpilogueTile { m, n, buffers } = template
        .epilogue
        .tile()
        .unwrap_or(EpilogueTile { m: 0, n: 0, buffers: 0 });
    [
        template.tile.m,
        template.tile.n,
        template.tile.k,
        template.warps,
        matches!(template.epilogue, Epilogue::Reuse(_)).into(),
        m,
        n,
        buffers,
        (template.accumulator == Accumulator::SharedMemory).into(),
        (template.widening == Widening::Staging).into(),
        template.operands_static.into(),
        template.static_bytes,
        template.split_k,
        template.registers_per_thread.unwrap_or(0),
    ]
}
