//! The worksheet: what a kernel takes of an SM, line by line.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use cuda_arch::Architecture;
use serde::Serialize;

use crate::budget::Budget;
use crate::footprint::{Footprint, most_stages};
use crate::layout::{Component, layout};
use crate::occupancy::{BlockUse, Occupancy, occupancy};
use crate::registers::{Registers, registers};
use crate::rules::Violation;
use crate::template::Template;
use crate::tensor_memory::{Columns, columns};

/// What a worksheet is about: a [`Template`] of a matrix product, or a [`Kernel`](crate::Kernel) by its buffers.
pub trait Subject: fmt::Debug {
    /// The kernel in one line: `bf16 128x256x64 · 4 buffers · wgmma · accumulators in registers`.
    fn caption(&self) -> String;
}

/// What a kernel takes and what there is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worksheet<T: ?Sized = Template> {
    /// The architecture's name, such as `sm_120`.
    pub arch: &'static str,
    /// What a CTA may have: the opt-in limit, or 48 KiB where all of it is static.
    pub limit_bytes: u64,
    /// What the system takes for each resident CTA, besides the limit.
    pub reserved_bytes: u64,
    /// What the user wants to be left free.
    pub margin_bytes: u64,
    /// Copies of what each stage has its own of: buffers of operands, which the frontend's stages come to.
    pub buffers: u32,
    /// The lines. Their bytes add up to `total_bytes`.
    pub components: Vec<Component>,
    /// Static and dynamic shared memory of a CTA.
    pub total_bytes: u64,
    /// Of it static.
    pub static_bytes: u64,
    /// Whether total and margin are within the limit.
    pub fits: bool,
    /// Bytes above limit less margin.
    pub over_by_bytes: u64,
    /// Bytes below limit less margin.
    pub left_bytes: u64,
    /// Registers of a thread.
    pub registers: Registers,
    /// Columns of tensor memory, where the accumulators are there.
    pub tensor_memory: Option<Columns>,
    /// CTAs that an SM holds, and what limits them.
    pub occupancy: Occupancy,
    /// The kernel.
    pub template: T,
}

impl Worksheet {
    /// What of it a search for something that fits needs to know.
    pub(crate) fn footprint(&self) -> Footprint {
        Footprint {
            template: self.template,
            budget: Budget {
                limit_bytes: self.limit_bytes,
                margin_bytes: self.margin_bytes,
            },
            total_bytes: self.total_bytes,
        }
    }
}

impl<T: ?Sized> Worksheet<T> {
    /// Bytes of everything that each stage has its own of.
    pub fn stage_bytes(&self) -> u64 {
        self.components.iter().filter_map(|component| component.per_stage).sum()
    }

    /// The line of this name.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.name == name)
    }
}

/// The parts of a kernel that a worksheet is made of.
pub(crate) struct Parts<T> {
    pub template: T,
    pub budget: Budget,
    pub buffers: u32,
    /// The lines, which add up to the total.
    pub components: Vec<Component>,
    pub registers: Registers,
    pub tensor_memory: Option<Columns>,
    /// What a CTA takes; its static and dynamic bytes are the total.
    pub block: BlockUse,
}

impl<T> Parts<T> {
    /// Adds up the worksheet.
    pub fn add_up(self, arch: &Architecture) -> Worksheet<T> {
        let total_bytes = self.block.static_bytes + self.block.dynamic_bytes;
        Worksheet {
            arch: arch.name,
            limit_bytes: self.budget.limit_bytes,
            reserved_bytes: arch.smem_reserved_per_block.into(),
            margin_bytes: self.budget.margin_bytes,
            buffers: self.buffers,
            components: self.components,
            total_bytes,
            static_bytes: self.block.static_bytes,
            fits: self.budget.fits(total_bytes),
            over_by_bytes: self.budget.over_by_bytes(total_bytes),
            left_bytes: self.budget.left_bytes(total_bytes),
            registers: self.registers,
            tensor_memory: self.tensor_memory,
            occupancy: occupancy(arch, &self.block),
            template: self.template,
        }
    }
}

/// Computes the worksheet of a template.
///
/// # Errors
/// A [`Violation`] where the template breaks a rule other than the amount of shared memory: that is what the worksheet
/// shows.
pub fn worksheet(template: &Template, arch: &Architecture, margin_bytes: u64) -> Result<Worksheet, Violation> {
    let support = template.check(arch)?;
    let layout = layout(template, arch, &support);
    let footprint = Footprint::laid_out(template, arch, margin_bytes, &layout)?;
    let registers = registers(template, arch);
    let parts = Parts {
        template: *template,
        budget: footprint.budget,
        buffers: template.buffers(),
        components: layout.into_components(),
        registers,
        tensor_memory: columns(template, arch),
        block: BlockUse {
            barriers: template.barriers,
            ..BlockUse::new(
                template.threads(),
                registers.allocated,
                footprint.static_bytes(),
                footprint.dynamic_bytes(),
            )
        },
    };
    Ok(parts.add_up(arch))
}

/// The most stages, in the frontend's meaning, with which a template fits, and the worksheet with them; `None` where
/// not even the fewest do. The template's own stages do not matter.
///
/// # Errors
/// As [`worksheet`].
pub fn largest_stages(
    template: &Template,
    arch: &Architecture,
    margin_bytes: u64,
) -> Result<Option<(u32, Worksheet)>, Violation> {
    let most = most_stages(template, arch, margin_bytes)?;
    most.map(|stages| {
        Ok((
            stages,
            worksheet(&Template { stages, ..*template }, arch, margin_bytes)?,
        ))
    })
    .transpose()
}
