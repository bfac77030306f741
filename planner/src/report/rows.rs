//! The parts of an answer, flat: worksheets and candidates.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;

use crate::estimate::Bound;
use crate::frontend::Frontend;
use crate::layout::Component;
use crate::occupancy::{Limiter, Occupancy};
use crate::path::Path;
use crate::registers::Registers;
use crate::select::{Candidate, Rejected};
use crate::template::{Accumulator, Epilogue, Template, TileShape};
use crate::tensor_memory::Columns;
use crate::worksheet::Worksheet;

/// A worksheet, flat.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    /// What a CTA may have.
    pub limit_bytes: u64,
    /// What the system takes for each resident CTA, besides the limit.
    pub reserved_bytes: u64,
    /// What is to be left free.
    pub margin_bytes: u64,
    /// What a CTA takes, static and dynamic.
    pub total_bytes: u64,
    /// Of it static.
    pub static_bytes: u64,
    /// Whether it fits.
    pub fits: bool,
    /// Bytes too many.
    pub over_by_bytes: u64,
    /// Bytes to spare.
    pub left_bytes: u64,
    /// The lines, which add up to the total.
    pub components: Vec<Component>,
    /// The tile.
    pub tile: TileShape,
    /// Stages in the frontend's meaning.
    pub stages: u32,
    /// Buffers of operands, which they come to.
    pub buffers: u32,
    /// Who makes the kernel.
    pub frontend: Frontend,
    /// The instructions.
    pub path: Path,
    /// Where the accumulators live.
    pub accumulator: Accumulator,
    /// How results leave.
    pub epilogue: Epilogue,
    /// Math warps.
    pub warps: u32,
    /// Producer warps.
    pub producer_warps: u32,
    /// Parts of K.
    pub split_k: u32,
    /// CTAs of a cluster.
    pub cluster: (u32, u32),
    /// Registers of a thread that multiplies.
    pub registers_per_thread: u32,
    /// Registers in detail.
    pub registers: Registers,
    /// Columns of tensor memory.
    pub tensor_memory: Option<Columns>,
    /// Resident CTAs and what limits them.
    pub occupancy: Occupancy,
}

impl From<&Worksheet> for Sheet {
    fn from(sheet: &Worksheet) -> Self {
        let template = &sheet.template;
        Self {
            limit_bytes: sheet.limit_bytes,
            reserved_bytes: sheet.reserved_bytes,
            margin_bytes: sheet.margin_bytes,
            total_bytes: sheet.total_bytes,
            static_bytes: sheet.static_bytes,
            fits: sheet.fits,
            over_by_bytes: sheet.over_by_bytes,
            left_bytes: sheet.left_bytes,
            components: sheet.components.clone(),
            tile: template.tile,
            stages: template.stages,
            buffers: sheet.buffers,
            frontend: template.frontend,
            path: template.path,
            accumulator: template.accumulator,
            epilogue: template.epilogue,
            warps: template.warps,
            producer_warps: template.producer_warps,
            split_k: template.split_k,
            cluster: template.cluster,
            registers_per_thread: sheet.registers.math,
            registers: sheet.registers,
            tensor_memory: sheet.tensor_memory,
            occupancy: sheet.occupancy,
        }
    }
}

/// A template that was considered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CandidateRow {
    /// The instructions.
    pub path: Path,
    /// The tile.
    pub tile: TileShape,
    /// Stages in the frontend's meaning.
    pub stages: u32,
    /// Math warps.
    pub warps: u32,
    /// Parts of K.
    pub split_k: u32,
    /// CTAs of a cluster.
    pub cluster: (u32, u32),
    /// Shared memory of a CTA; `None` for a template that breaks a rule.
    pub total_bytes: Option<u64>,
    /// Resident CTAs of an SM.
    pub blocks_per_sm: Option<u32>,
    /// What limits them.
    pub limiter: Option<Limiter>,
    /// Estimated microseconds.
    pub estimated_us: Option<f64>,
    /// What bounds that time.
    pub bound: Option<Bound>,
    /// Why it was passed over; `None` for one that was ranked.
    pub rejected: Option<String>,
    /// All of the template.
    #[serde(skip)]
    pub template: Template,
}

impl From<&Candidate> for CandidateRow {
    fn from(candidate: &Candidate) -> Self {
        let (sheet, template) = (&candidate.sheet, &candidate.sheet.template);
        Self {
            total_bytes: Some(sheet.total_bytes),
            blocks_per_sm: Some(sheet.occupancy.blocks_per_sm),
            limiter: Some(sheet.occupancy.limiter),
            estimated_us: Some(candidate.estimate.us),
            bound: Some(candidate.estimate.bound),
            ..Self::of_template(template)
        }
    }
}

impl From<&Rejected> for CandidateRow {
    fn from(rejected: &Rejected) -> Self {
        Self {
            rejected: Some(rejected.reason.to_string()),
            ..Self::of_template(&rejected.template)
        }
    }
}

impl CandidateRow {
    fn of_template(template: &Template) -> Self {
        Self {
            path: template.path,
            tile: template.tile,
            stages: template.stages,
            warps: template.warps,
            split_k: template.split_k,
            cluster: template.cluster,
            total_bytes: None,
            blocks_per_sm: None,
            limiter: None,
            estimated_us: None,
            bound: None,
            rejected: None,
            template: *template,
        }
    }
}
