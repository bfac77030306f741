//! Numbers in words.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cuda_arch::Architecture;
use serde::Serialize;
use tilewright_plan::{Kernel, KernelReport, Limiter, Occupancy, Report, TENSOR_MEMORY_COLUMNS};

/// A number that matters.
#[derive(Serialize)]
pub struct Fact {
    name: &'static str,
    value: String,
    note: String,
}

/// A resource of an SM.
#[derive(Serialize)]
pub struct Resource {
    name: &'static str,
    /// CTAs that it has room for; `None` where it sets no limit.
    blocks: Option<u32>,
    /// What a CTA takes, and what there is.
    taken: String,
    /// Whether it is what limits the CTAs.
    limits: bool,
}

/// What matters besides whether it fits.
pub fn facts(report: &Report) -> Vec<Fact> {
    let sheet = &report.worksheet;
    let (template, registers, occupancy) = (&sheet.template, &sheet.registers, &sheet.occupancy);
    let mut facts = Vec::from([
        Fact {
            name: "Tile, stages",
            value: format!("{}, {}", template.tile, template.stages),
            note: if sheet.buffers == template.stages {
                String::new()
            } else {
                format!("{} buffers", sheet.buffers)
            },
        },
        Fact {
            name: "Instructions",
            value: template.path.to_string(),
            note: format!("accumulators in {}", template.accumulator),
        },
        Fact {
            name: "CTAs of an SM",
            value: occupancy.blocks_per_sm.to_string(),
            note: format!("limited by {}", occupancy.limiter.name()),
        },
        Fact {
            name: "Registers of a thread",
            value: format!("{}{}", if registers.known { "" } else { "about " }, registers.math),
            note: format!("{} for accumulators", registers.accumulator),
        },
        Fact {
            name: "Warps of a CTA",
            value: template.warps.to_string(),
            note: match template.producer_warps {
                0 => String::new(),
                producers => format!("and {producers} producers"),
            },
        },
    ]);
    if let Some(columns) = sheet.tensor_memory {
        facts.push(Fact {
            name: "Tensor memory",
            value: format!("{} of {TENSOR_MEMORY_COLUMNS} columns", columns.needed),
            note: format!(
                "{} for accumulators, {} for scales; {} allocated",
                columns.accumulator, columns.scales, columns.allocated
            ),
        });
    }
    if let Some(estimate) = &report.estimate {
        let when = if report.after_moves.is_some() {
            "after the moves, "
        } else {
            ""
        };
        facts.push(Fact {
            name: "Estimated time",
            value: format!("{:.1} µs", estimate.us),
            note: format!("{when}on {}, bound by {}", report.gpu, estimate.bound.name()),
        });
    }
    facts
}

/// What matters of a kernel of buffers besides whether it fits.
pub fn kernel_facts(report: &KernelReport) -> Vec<Fact> {
    let sheet = &report.worksheet;
    let (registers, occupancy) = (&sheet.registers, &sheet.occupancy);
    let mut facts: Vec<Fact> = sheet
        .template
        .facts()
        .into_iter()
        .map(|(name, value)| Fact {
            name,
            value,
            note: String::new(),
        })
        .collect();
    facts.push(Fact {
        name: "CTAs of an SM",
        value: occupancy.blocks_per_sm.to_string(),
        note: format!("limited by {}", occupancy.limiter.name()),
    });
    let (value, note) = match &sheet.template {
        Kernel::Buffers(_) if !registers.known => ("not given".into(), "not counted".into()),
        Kernel::Buffers(_) => (registers.math.to_string(), String::new()),
        Kernel::FlashAttention(attention) => (
            format!("{}{}", if registers.known { "" } else { "about " }, registers.math),
            attention.holdings(),
        ),
    };
    facts.push(Fact {
        name: "Registers of a thread",
        value,
        note,
    });
    facts
}

/// Every resource that counts, with the CTAs that it allows.
pub fn resources(occupancy: &Occupancy, threads: u32, arch: &Architecture) -> Vec<Resource> {
    let limiting: Vec<Limiter> = occupancy.limiters().collect();
    occupancy
        .limits()
        .into_iter()
        .filter(|(_, blocks)| blocks.is_some())
        .map(|(limiter, blocks)| Resource {
            name: limiter.name(),
            blocks,
            taken: taken(limiter, occupancy, threads, arch),
            limits: limiting.contains(&limiter),
        })
        .collect()
}

fn taken(limiter: Limiter, occupancy: &Occupancy, threads: u32, arch: &Architecture) -> String {
    match limiter {
        Limiter::SharedMemory => format!("{} of {} B", occupancy.allocated_bytes, arch.smem_per_sm),
        Limiter::Registers => format!("{} of {}", occupancy.allocated_registers, arch.registers_per_sm),
        Limiter::Warps => format!("{} of {}", threads.div_ceil(arch.warp_size), arch.warps_per_sm),
        Limiter::Blocks => format!("1 of {}", arch.blocks_per_sm),
        Limiter::Barriers => format!("1 of {}", arch.block_barriers_per_sm),
        Limiter::VirtualResources => "0".to_string(),
    }
}
