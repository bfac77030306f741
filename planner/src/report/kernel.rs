//! Answers about kernels of buffers: named ones, and templates that come to buffers.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cuda_arch::Architecture;
use serde::Serialize;

use super::{Refusal, Request, TemplateName, device};
use crate::arguments::arguments;
use crate::gpu_models::GpuModel;
use crate::kernel::{Attention, Buffers, Kernel, KernelFit, KernelMove, WrongLine, buffers, fit_kernel, kernel_moves};
use crate::moves::Move;
use crate::picture::Bar;
use crate::worksheet::Worksheet;

/// The answer about a kernel of buffers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelReport {
    /// The GPU that was asked about, or that stands for the architecture.
    #[serde(rename = "product")]
    pub gpu: String,
    /// The worksheet.
    #[serde(flatten)]
    pub worksheet: Worksheet<Kernel>,
    /// The moves that make it fit, in order; none where it fits as it is.
    pub moves: Vec<Move<Kernel, KernelMove>>,
    /// The worksheet after the moves; `None` where there are none.
    pub after_moves: Option<Worksheet<Kernel>>,
    /// Why no moves make it fit, where none do.
    pub impossible: Option<String>,
    /// With `explain`: every move tried once from the start.
    pub considered: Vec<Move<Kernel, KernelMove>>,
}

impl KernelReport {
    /// The bars of the picture: the kernel as asked, and what the moves make of it.
    pub fn bars(&self) -> Vec<Bar<'_>> {
        let asked = Bar {
            label: "as asked",
            sheet: &self.worksheet,
        };
        let after = self.after_moves.as_ref().map(|sheet| Bar {
            label: "after the moves",
            sheet,
        });
        [asked].into_iter().chain(after).collect()
    }
}

impl Kernel {
    /// The request that asks for this kernel and leaves nothing open; `request` has what a kernel does not.
    pub fn request(&self, request: &Request) -> Request {
        let stages = Some(self.stages());
        match self {
            Kernel::Buffers(kernel) => Request {
                buffers: kernel.buffers.iter().map(|buffer| format!("{buffer}\n")).collect(),
                stages,
                threads: Some(kernel.threads),
                ..request.clone()
            },
            Kernel::FlashAttention(attention) => Request {
                tile: Some(attention.tile),
                stages,
                path: Some(attention.path),
                warps: Some(attention.warps),
                producer_warps: Some(attention.producer_warps),
                accumulator: Some(attention.probabilities),
                queries: Some(attention.queries),
                passes: Some(attention.passes),
                registers_per_thread: attention.registers_per_thread,
                ..request.clone()
            },
        }
    }
}

/// Answers a request about a kernel of buffers on any device of an architecture.
///
/// # Errors
/// [`Refusal`], one line with the numbers: for a wrong buffer its line.
pub fn kernel_report(request: &Request) -> Result<KernelReport, Refusal> {
    let (arch, gpu) = device(request)?;
    kernel_report_for(request, arch, gpu)
}

/// Answers a request about a kernel of buffers on one device, by its own limits. The request's architecture and GPU are
/// not looked at.
///
/// # Errors
/// As [`kernel_report`].
pub fn kernel_report_for(request: &Request, arch: &Architecture, gpu: &GpuModel) -> Result<KernelReport, Refusal> {
    check_options(request)?;
    let kernel = kernel(request, arch)?;
    let sheet = kernel.worksheet(arch, request.margin_bytes).map_err(Refusal::Kernel)?;
    let KernelFit {
        moves,
        after,
        impossible,
    } = fit_kernel(&sheet, arch).map_err(Refusal::Kernel)?;
    Ok(KernelReport {
        gpu: gpu.name.to_string(),
        considered: match request.explain {
            true => kernel_moves(&sheet, arch),
            false => Vec::new(),
        },
        worksheet: sheet,
        moves,
        after_moves: after,
        impossible,
    })
}

/// The kernel that is asked for, with what is usual where nothing is said.
fn kernel(request: &Request, arch: &Architecture) -> Result<Kernel, Refusal> {
    if request.template != Some(TemplateName::FlashAttention) {
        let buffers =
            buffers(&request.buffers).map_err(|WrongLine { line, reason }| Refusal::Buffer { line, reason })?;
        return Ok(Kernel::Buffers(Buffers {
            buffers,
            stages: request.stages.unwrap_or(1),
            threads: request.threads.unwrap_or(128),
            registers_per_thread: request.registers_per_thread,
        }));
    }
    let tile = request.tile.ok_or(Refusal::Incomplete(
        "flash-attention needs a tile, QUERIESxKEYSxHEAD_DIMENSION, such as 128x128x128",
    ))?;
    let usual = Attention::usual(arch, request.path, request.dtype, tile, request.stages.unwrap_or(2));
    Ok(Kernel::FlashAttention(Attention {
        warps: request.warps.unwrap_or(usual.warps),
        producer_warps: request.producer_warps.unwrap_or(usual.producer_warps),
        probabilities: request.accumulator.unwrap_or(usual.probabilities),
        queries: request.queries.unwrap_or(usual.queries),
        passes: request.passes.unwrap_or(usual.passes),
        registers_per_thread: request.registers_per_thread,
        ..usual
    }))
}

/// Options that say where something is planned, and how it is shown.
const ALWAYS: [&str; 3] = ["--arch", "--gpu", "--margin"];
const OF_BUFFERS: [&str; 4] = ["--buffer", "--stages", "--threads", "--registers"];
const OF_ATTENTION: [&str; 11] = [
    "--template",
    "--dtype",
    "--tile",
    "--stages",
    "--path",
    "--accumulator",
    "--warps",
    "--producer-warps",
    "--queries",
    "--passes",
    "--registers",
];
/// Options of kernels of buffers, which products have not.
const OF_KERNELS_ALONE: [&str; 4] = ["--buffer", "--threads", "--queries", "--passes"];

/// Holds the options that are given against what is asked about: what would have no effect is refused.
pub(super) fn check_options(request: &Request) -> Result<(), Refusal> {
    let grouped = request.template == Some(TemplateName::GroupedMoe);
    let (what, has): (&str, &dyn Fn(&str) -> bool) = match request.template {
        Some(TemplateName::FlashAttention) => ("flash-attention", &|flag| OF_ATTENTION.contains(&flag)),
        None if request.is_of_kernel() => ("a kernel of named buffers", &|flag| OF_BUFFERS.contains(&flag)),
        Some(TemplateName::GroupedMoe) => ("grouped-moe", &|flag| {
            !OF_KERNELS_ALONE.contains(&flag) && !matches!(flag, "-m" | "-n" | "-k")
        }),
        None => ("a matrix product", &|flag| {
            !OF_KERNELS_ALONE.contains(&flag) && flag != "--groups"
        }),
    };
    let given = arguments(request).into_iter().filter(|(_, value)| value.is_some());
    let without_effect = given
        .map(|(flag, _)| flag)
        .find(|flag| !ALWAYS.contains(flag) && !has(flag));
    if let Some(flag) = without_effect {
        return Err(Refusal::Kernel(format!("{flag} is no option of {what}")));
    }
    match grouped {
        true if request.tile.is_none() => Err(Refusal::Incomplete("grouped-moe needs a tile, MxNxK")),
        true if request.groups.is_none() => Err(Refusal::Incomplete(
            "grouped-moe needs the number of groups, such as 8 experts",
        )),
        _ => Ok(()),
    }
}
