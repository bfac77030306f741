//! Kernels that are no single product: their named buffers, and the templates that come to such buffers.
//!
//! A [`Kernel`] has the same worksheet as a template of a matrix product, line by line, with the limit, the occupancy
//! and the moves. [`fit_kernel`] makes it fit.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cuda_arch::Architecture;
use serde::Serialize;

use crate::budget::Budget;
use crate::occupancy::BlockUse;
use crate::registers::Registers;
use crate::rules;
use crate::worksheet::{Parts, Subject, Worksheet};

mod attention;
mod buffer;
mod fit;
mod moves;
mod parse;
mod place;
#[cfg(test)]
mod tests;

pub use attention::Attention;
pub use buffer::{Buffer, ElementType, Extent};
pub use fit::{KernelFit, fit_kernel};
pub use moves::{KernelMove, kernel_moves};
pub(crate) use parse::{WrongLine, buffers};

/// Stages, at most.
const MOST_STAGES: u32 = 64;

/// A kernel whose shared memory is a list of buffers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kernel", rename_all = "kebab-case")]
pub enum Kernel {
    /// Buffers that the user has named.
    Buffers(Buffers),
    /// FlashAttention forward.
    FlashAttention(Attention),
}

/// Named buffers, and the rest of what occupancy asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Buffers {
    /// The buffers, as text in JSON.
    pub buffers: Vec<Buffer>,
    /// Copies of those that are staged.
    pub stages: u32,
    /// Threads of a CTA.
    pub threads: u32,
    /// Registers of a thread; they do not limit the occupancy where they are not given.
    pub registers_per_thread: Option<u32>,
}

impl Kernel {
    /// The name on the command line and in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Kernel::Buffers(_) => "buffers",
            Kernel::FlashAttention(_) => "flash-attention",
        }
    }

    /// Copies of the buffers that are staged.
    pub const fn stages(&self) -> u32 {
        match self {
            Kernel::Buffers(buffers) => buffers.stages,
            Kernel::FlashAttention(attention) => attention.stages,
        }
    }

    /// Threads of a CTA.
    pub const fn threads(&self) -> u32 {
        match self {
            Kernel::Buffers(buffers) => buffers.threads,
            Kernel::FlashAttention(attention) => attention.threads(),
        }
    }

    /// The buffers on this architecture.
    pub fn buffers(&self, arch: &Architecture) -> Cow<'_, [Buffer]> {
        match self {
            Kernel::Buffers(buffers) => Cow::Borrowed(&buffers.buffers),
            Kernel::FlashAttention(attention) => Cow::Owned(attention.buffers(arch)),
        }
    }

    /// Registers of a thread: all 0 where nobody has said or can estimate how many there are.
    pub fn registers(&self) -> Registers {
        match self {
            Kernel::FlashAttention(attention) => attention.registers(),
            Kernel::Buffers(buffers) => {
                let given = buffers.registers_per_thread;
                Registers {
                    accumulator: 0,
                    math: given.unwrap_or(0),
                    allocated: given.unwrap_or(0),
                    known: given.is_some(),
                }
            }
        }
    }

    /// What the kernel is, in names and values.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        match self {
            Kernel::Buffers(buffers) => Vec::from([
                ("stages", buffers.stages.to_string()),
                ("threads", buffers.threads.to_string()),
            ]),
            Kernel::FlashAttention(attention) => attention.facts(),
        }
    }

    /// Holds the kernel against what the planner computes with and what the architecture has.
    ///
    /// # Errors
    /// One line with the numbers.
    pub fn check(&self, arch: &Architecture) -> Result<(), String> {
        match self {
            Kernel::Buffers(buffers) => buffers.check(arch),
            Kernel::FlashAttention(attention) => attention.check(arch),
        }
    }

    /// Computes the worksheet, which is to leave `margin_bytes` free.
    ///
    /// # Errors
    /// One line with the numbers where the kernel or the margin breaks a rule other than the amount of shared memory.
    pub fn worksheet(&self, arch: &Architecture, margin_bytes: u64) -> Result<Worksheet<Kernel>, String> {
        self.check(arch)?;
        let placed = place::place(&self.buffers(arch), self.stages());
        let all_static = placed.static_bytes == placed.total_bytes;
        let limit = if all_static {
            Budget::by_default(arch)
        } else {
            Budget::opted_in(arch)
        };
        let registers = self.registers();
        let parts = Parts {
            template: self.clone(),
            budget: rules::with_margin(limit, margin_bytes).map_err(|violation| violation.to_string())?,
            buffers: self.stages(),
            components: placed.components,
            registers,
            tensor_memory: None,
            block: BlockUse::new(
                self.threads(),
                registers.allocated,
                placed.static_bytes,
                placed.total_bytes - placed.static_bytes,
            ),
        };
        Ok(parts.add_up(arch))
    }
}

impl Buffers {
    fn check(&self, arch: &Architecture) -> Result<(), String> {
        if self.buffers.is_empty() {
            return Err("a kernel without a buffer: name one, such as q=128x128:bf16".into());
        }
        within("stages", self.stages, MOST_STAGES)?;
        within("threads", self.threads, arch.threads_per_block)?;
        let registers = self.registers_per_thread.unwrap_or(1);
        within("registers of a thread", registers, arch.registers_per_thread)?;
        let placed = place::place(&self.buffers, self.stages);
        let most_static = Budget::by_default(arch).usable_bytes();
        if placed.static_bytes > most_static && placed.static_bytes < placed.total_bytes {
            return Err(format!(
                "the static buffers take {} B: {} ({})",
                placed.static_bytes,
                rules::STATIC_BYTES.says,
                rules::STATIC_BYTES.source
            ));
        }
        Ok(())
    }
}

/// Holds a count against its limits.
fn within(what: &str, got: u32, most: u32) -> Result<(), String> {
    match (1..=most).contains(&got) {
        true => Ok(()),
        false => Err(format!(
            "{what} {got}: from 1 to {most}; nearest: {}",
            got.clamp(1, most)
        )),
    }
}

impl Subject for Kernel {
    fn caption(&self) -> String {
        let stages = match self.stages() {
            1 => "1 stage".into(),
            stages => format!("{stages} stages"),
        };
        match self {
            Kernel::Buffers(buffers) => format!("named buffers · {stages} · {} threads", buffers.threads),
            Kernel::FlashAttention(attention) => format!(
                "FlashAttention {} {} · {stages} · {} · {} warps",
                attention.ty, attention.tile, attention.path, attention.warps
            ),
        }
    }
}
