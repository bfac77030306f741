//! Which template to use for a product: the fastest by [`estimate`](crate::estimate()) of those that fit.
//!
//! The stage count is a result and no axis of the search: as many as fit, as DeepGEMM has it. So is the cluster: of
//! each tile and split the one with which it is fastest.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

use cuda_arch::Architecture;
use serde::Serialize;

use crate::enumerate::{clusters, fewest_stages, splits, templates};
use crate::estimate::{Estimate, Machine, Work};
use crate::footprint::{Footprint, most_stages};
use crate::frontend::Frontend;
use crate::gemm_type::GemmType;
use crate::gpu_models::GpuModel;
use crate::path::Path;
use crate::rules::{self, Rule, Violation};
use crate::template::{Shape, Template};
use crate::worksheet::{Worksheet, worksheet};

/// What the caller wants of the templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Bytes of shared memory to be left free.
    pub margin_bytes: u64,
    /// The instructions; `None` for the fastest that the architecture has for the type, and slower ones only where
    /// nothing of it fits.
    pub path: Option<Path>,
    /// Whose meaning of stages, alignment and barriers.
    pub frontend: Frontend,
    /// Bytes of an element of C; `None` for the type's usual ones.
    pub output_bytes: Option<u32>,
    /// The most parts that k is split into; 1 for none.
    pub max_split_k: u32,
    /// Whether CTAs may form clusters that share loads, where the architecture has them.
    pub clusters: bool,
    /// The most stages.
    pub max_stages: u32,
}

impl Default for Policy {
    /// No margin, the fastest path, our own kernels' layout, split where it helps, clusters, up to 8 stages.
    fn default() -> Self {
        Self {
            margin_bytes: 0,
            path: None,
            frontend: Frontend::default(),
            output_bytes: None,
            max_split_k: 32,
            clusters: true,
            max_stages: 8,
        }
    }
}

/// A template that fits, with its worksheet and its estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The worksheet, which has the template.
    pub sheet: Worksheet,
    /// The estimate.
    pub estimate: Estimate,
}

/// Why a template was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It breaks a rule.
    Rule(Violation),
    /// It does not fit with the fewest stages that its path is built with.
    TooLarge {
        /// Those stages.
        stages: u32,
        /// Shared memory of a CTA with them.
        total_bytes: u64,
        /// By how much that is too much.
        over_by_bytes: u64,
        /// The rule about stages.
        rule: &'static Rule,
    },
    /// No CTA of it is ever resident.
    NeverResident,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Rule(violation) => violation.fmt(f),
            Reason::TooLarge {
                stages,
                total_bytes,
                over_by_bytes,
                rule,
            } => write!(
                f,
                "{total_bytes} B of shared memory with {stages} stages, {over_by_bytes} B too many: {} ({})",
                rule.says, rule.source
            ),
            Reason::NeverResident => f.write_str("no block of it is ever resident"),
        }
    }
}

/// A template that was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rejected {
    /// The template, with the stages that the reason speaks of.
    pub template: Template,
    /// Why.
    pub reason: Reason,
}

/// The outcome of a selection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Selection {
    /// Everything that fits, the fastest first; of each tile and split one cluster.
    pub ranked: Vec<Candidate>,
    /// Everything else that was considered.
    pub rejected: Vec<Rejected>,
}

impl Selection {
    /// The fastest; `None` where nothing fits, or nothing is to be computed.
    pub fn winner(&self) -> Option<&Candidate> {
        self.ranked.first()
    }

    /// All but the fastest, in order.
    pub fn runners_up(&self) -> &[Candidate] {
        self.ranked.get(1..).unwrap_or_default()
    }
}

/// Ranks the templates for a product of this shape and type.
///
/// Nothing is ranked where the architecture has no instructions for the type, where no template fits, or where the
/// shape has a zero extent: such a product needs no multiplications.
pub fn select(arch: &Architecture, gpu: &GpuModel, shape: &Shape, ty: GemmType, policy: &Policy) -> Selection {
    let search = Search {
        arch,
        gpu,
        shape,
        ty,
        policy,
    };
    let mut selection = Selection::default();
    for path in search.paths() {
        if selection.ranked.is_empty() {
            search.on_path(path, &mut selection);
        }
    }
    selection.ranked.sort_by_cached_key(order);
    selection
}

/// What candidates are sorted by: time, and where that is equal, the deeper step, the taller tile, the smaller split.
fn order(candidate: &Candidate) -> (u64, Reverse<u32>, Reverse<u32>, u32) {
    let template = &candidate.sheet.template;
    // The bits of positive numbers are in the numbers' order.
    let time = candidate.estimate.us.to_bits();
    let deeper = Reverse(template.tile.k);
    (time, deeper, Reverse(template.tile.m), template.split_k)
}

/// The arguments of a selection.
struct Search<'a> {
    arch: &'a Architecture,
    gpu: &'a GpuModel,
    shape: &'a Shape,
    ty: GemmType,
    policy: &'a Policy,
}

impl Search<'_> {
    /// The paths to try, until one has something that fits.
    fn paths(&self) -> impl Iterator<Item = Path> {
        let first = self.policy.path.or_else(|| Path::best(self.arch, self.ty));
        let others = if self.policy.path.is_some() {
            &[][..]
        } else {
            &Path::ALL
        };
        let others = others.iter().rev().copied().filter(move |&path| Some(path) != first);
        first.into_iter().chain(others)
    }

    fn on_path(&self, path: Path, selection: &mut Selection) {
        let Some(support) = path.support(self.arch, self.ty) else {
            return;
        };
        let machine = Machine::new(self.arch, self.gpu, support);
        for template in templates(self.arch, path, self.ty) {
            let template = Template {
                frontend: self.policy.frontend,
                output_bytes: self.policy.output_bytes.unwrap_or(template.output_bytes),
                ..template
            };
            match self.deepest(&template) {
                Ok(sheet) => {
                    let parts = splits(&template, self.shape, self.policy.max_split_k);
                    selection
                        .ranked
                        .extend(parts.filter_map(|split_k| self.with_best_cluster(&sheet, split_k, &machine)));
                }
                Err((stages, reason)) => selection.rejected.push(Rejected {
                    template: Template { stages, ..template },
                    reason,
                }),
            }
        }
    }

    /// The worksheet with the most stages that fit and that the policy allows; else the stages that were tried, and why
    /// not.
    fn deepest(&self, template: &Template) -> Result<Worksheet, (u32, Reason)> {
        let margin = self.policy.margin_bytes;
        let broken = |violation| (template.stages, Reason::Rule(violation));
        let with = |stages| Template { stages, ..*template };
        let fewest = fewest_stages(template);
        let most = most_stages(template, self.arch, margin).map_err(broken)?;
        let Some(stages) = most.filter(|stages| *stages >= fewest) else {
            let footprint = Footprint::new(&with(fewest), self.arch, margin).map_err(broken)?;
            let reason = Reason::TooLarge {
                stages: fewest,
                total_bytes: footprint.total_bytes,
                over_by_bytes: footprint.over_by_bytes(),
                rule: &rules::FEWEST_STAGES,
            };
            return Err((fewest, reason));
        };
        let stages = stages.min(self.policy.max_stages.max(fewest));
        let sheet = worksheet(&with(stages), self.arch, margin).map_err(broken)?;
        if sheet.occupancy.blocks_per_sm == 0 {
            return Err((sheet.template.stages, Reason::NeverResident));
        }
        Ok(sheet)
    }

    /// The candidate of a worksheet and a split, with the cluster that makes it fastest.
    fn with_best_cluster(&self, sheet: &Worksheet, split_k: u32, machine: &Machine<'_>) -> Option<Candidate> {
        let mut sheet = sheet.clone();
        sheet.template.split_k = split_k;
        let mut best: Option<(Estimate, (u32, u32))> = None;
        for cluster in clusters(self.arch, &sheet.template, self.shape, self.policy.clusters) {
            sheet.template.cluster = cluster;
            let estimate = Work::new(&sheet, self.shape, machine)?.estimate(machine)?;
            if best.is_none_or(|(fastest, _)| estimate.us < fastest.us) {
                best = Some((estimate, cluster));
            }
        }
        let (estimate, cluster) = best?;
        sheet.template.cluster = cluster;
        Some(Candidate { sheet, estimate })
    }
}
