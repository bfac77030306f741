//! `tilewright plan`: what fits into shared memory, by how many bytes it does not, and what must give.

mod example;
mod kernel;
mod text;

use std::fs;
use std::io::Write;
use std::path::{Path as FilePath, PathBuf};

use clap::{ArgGroup, Args};
use cuda_arch::Architecture;
use serde::Serialize;
use tilewright::device;
use tilewright_plan::picture::{self, Bar};
use tilewright_plan::{
    Accumulator, Epilogue, Frontend, GemmType, GpuModel, Path, Refusal, Request, TemplateName, TileShape, Violation,
    Widening, Worksheet, difference, kernel_report, kernel_report_for, nearest, report, report_for,
};

use crate::destination::Destination;
use crate::failure::{Failure, Result};
use crate::output;

/// Arguments that ask about a GPU or a template, which neither the example nor the list of rules does.
const OF_A_REQUEST: [&str; 15] = [
    "m", "n", "k", "arch", "device", "gpu", "tile", "path", "template", "buffer", "buffers", "threads", "explain",
    "svg", "html",
];

/// Say what fits into a GPU's shared memory, by how many bytes it does not, and what must give
///
/// With --tile: the worksheet of that template, and where it does not fit the moves that make it fit. Without: the
/// fastest template for the product by the model, which needs -m, -n and -k. With --buffer: the worksheet of a kernel
/// that is no product, by its named buffers; with --template, of FlashAttention or of a grouped product. No GPU is
/// needed; without --arch and --gpu the first CUDA device is asked.
#[derive(Args)]
#[command(group = ArgGroup::new("kernel").multiple(true))]
pub struct Command {
    /// Rows of A and C
    #[arg(short, value_name = "ROWS")]
    m: Option<u64>,
    /// Columns of B and C
    #[arg(short, value_name = "COLUMNS")]
    n: Option<u64>,
    /// Columns of A, rows of B
    #[arg(short, value_name = "INNER")]
    k: Option<u64>,
    /// The architecture, such as sm_120; without it, that of --gpu, or of the first CUDA device
    #[arg(long)]
    arch: Option<String>,
    /// Plan for this GPU, counted from 0 as the driver counts
    #[arg(long, value_name = "N", conflicts_with_all = ["arch", "gpu"])]
    device: Option<u32>,
    /// The GPU that is planned for, such as "RTX 5090"; without it, one that stands for the architecture
    #[arg(long, value_name = "NAME", alias = "product")]
    gpu: Option<String>,
    /// The element types of A and B: f64, f32, tf32, f16, bf16, e4m3, e5m2, int8, mxfp8, mxfp4, nvfp4 or mxfp8xmxfp4
    #[arg(long, default_value = "f16", conflicts_with_all = ["buffer", "buffers"])]
    dtype: GemmType,
    /// The template: flash-attention (forward) or grouped-moe (a product for each group of rows); both need --tile
    #[arg(long, value_name = "NAME")]
    template: Option<TemplateName>,
    /// A buffer of a kernel that is no product, NAME=ROWSxCOLUMNS:TYPE[xCOUNT] and marks: @stage (each stage has its
    /// own; else it is there once), @static, @align=BYTES, @over=NAME (shares the memory of NAME), @after=NAME (may
    /// share it). An extent with letters before it, such as n128, may be halved. Repeatable
    #[arg(long, value_name = "BUFFER", group = "kernel")]
    buffer: Vec<String>,
    /// A file of buffers, one a line; `#` begins a comment
    #[arg(long, value_name = "FILE", group = "kernel")]
    buffers: Option<PathBuf>,
    /// The tile, MxNxK in elements; for flash-attention queries x keys x head dimension
    #[arg(long, value_name = "MxNxK", group = "kernel")]
    tile: Option<TileShape>,
    /// Stages of the main loop, in the frontend's meaning; without it, as many as fit, 8 at most (flash-attention: 2,
    /// buffers: 1)
    #[arg(long, requires = "kernel")]
    stages: Option<u32>,
    /// The instructions: simt, mma.sync, wgmma or tcgen05; without it, the fastest
    #[arg(long)]
    path: Option<Path>,
    /// Where the accumulators live: registers, smem or tmem; for flash-attention, where P does
    #[arg(long, requires = "tile")]
    accumulator: Option<Accumulator>,
    /// Accumulators in tensor memory at once
    #[arg(long, value_name = "COUNT", requires = "tile")]
    accumulator_buffers: Option<u32>,
    /// How results leave: direct, MxN, MxNxBUFFERS, or reuse:MxN over the operands' buffers
    #[arg(long, requires = "tile")]
    epilogue: Option<Epilogue>,
    /// Math warps
    #[arg(long, requires = "tile")]
    warps: Option<u32>,
    /// Producer warps
    #[arg(long, requires = "tile")]
    producer_warps: Option<u32>,
    /// Who makes the kernel, which decides what stages and barriers cost: tilewright, cutlass, triton or deepgemm
    #[arg(long)]
    frontend: Option<Frontend>,
    /// When narrow elements are widened, where the instructions cannot take them: loading or staging
    #[arg(long, requires = "tile")]
    widening: Option<Widening>,
    /// Bytes of an element of C
    #[arg(long, value_name = "BYTES")]
    output_bytes: Option<u32>,
    /// Static shared memory besides the operands
    #[arg(long, value_name = "BYTES", requires = "tile")]
    static_bytes: Option<u32>,
    /// Shared memory that each warp has for itself
    #[arg(long, value_name = "BYTES", requires = "tile")]
    scratch_per_warp: Option<u32>,
    /// Split-K factor
    #[arg(long, value_name = "PARTS", requires = "tile")]
    split_k: Option<u32>,
    /// CTAs of a cluster along m and n
    #[arg(long, value_name = "MxN", requires = "tile", value_parser = cluster)]
    cluster: Option<(u32, u32)>,
    /// Registers of a thread, where a compiler has said so
    #[arg(long, requires = "kernel")]
    registers: Option<u32>,
    /// Threads of a CTA, for --buffer; 128 without it
    #[arg(long)]
    threads: Option<u32>,
    /// For flash-attention: where Q is during the main loop, registers or smem
    #[arg(long, value_name = "HOME")]
    queries: Option<Accumulator>,
    /// For flash-attention: passes over the keys, each for a part of O, with S computed anew
    #[arg(long, value_name = "COUNT")]
    passes: Option<u32>,
    /// For grouped-moe: groups of rows (experts) whose ends the tile scheduler keeps in shared memory
    #[arg(long, value_name = "COUNT")]
    groups: Option<u32>,
    /// Bytes of the limit that are to stay free
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    margin: u64,
    /// Show every move that was tried, and every template that was passed over, with the reason
    #[arg(long)]
    explain: bool,
    /// Write a picture of the bytes against the architectures' limits
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a page in which everything can be changed; it needs no server and no network. Chapter 12 of the guide
    /// (docs/guide/src/12-99-kib.md) explains it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show the budget guide's example, 128x256x64 NVFP4 with four stages, its figures beside the corrected ones
    #[arg(long, conflicts_with_all = OF_A_REQUEST)]
    example: bool,
    /// Print the rules that a template is held against, with their sources
    #[arg(long, conflicts_with_all = OF_A_REQUEST, conflicts_with = "example")]
    rules: bool,
}

/// Reads `2x1`.
fn cluster(text: &str) -> std::result::Result<(u32, u32), &'static str> {
    let message = "a cluster is written MxN, such as 2x1";
    let (m, n) = text.split_once('x').ok_or(message)?;
    let number = |part: &str| part.parse().map_err(|_| message);
    Ok((number(m)?, number(n)?))
}

impl Command {
    fn request(&self) -> Result<Request> {
        Ok(Request {
            arch: self.arch.clone().unwrap_or_default(),
            gpu: self.gpu.clone(),
            dtype: self.dtype,
            m: self.m,
            n: self.n,
            k: self.k,
            tile: self.tile,
            stages: self.stages,
            path: self.path,
            accumulator: self.accumulator,
            accumulator_buffers: self.accumulator_buffers,
            epilogue: self.epilogue,
            warps: self.warps,
            producer_warps: self.producer_warps,
            frontend: self.frontend,
            widening: self.widening,
            output_bytes: self.output_bytes,
            static_bytes: self.static_bytes,
            scratch_per_warp_bytes: self.scratch_per_warp,
            split_k: self.split_k,
            cluster: self.cluster,
            registers_per_thread: self.registers,
            template: self.template,
            buffers: self.named_buffers()?,
            threads: self.threads,
            queries: self.queries,
            passes: self.passes,
            groups: self.groups,
            margin_bytes: self.margin,
            explain: self.explain,
        })
    }

    /// Where a line of the buffers was given: in the file, or by an option of its own.
    fn place_of(&self, line: usize, request: &Request) -> String {
        let in_file = request.buffers.lines().count().saturating_sub(self.buffer.len());
        match &self.buffers {
            Some(file) if line <= in_file => format!("{}, line {line}", file.display()),
            _ => format!("--buffer number {}", line.saturating_sub(in_file)),
        }
    }

    /// Writes the picture and the page that were asked for.
    fn write_files(&self, request: &Request, bars: &[Bar<'_>]) -> Result<()> {
        if let Some(file) = &self.svg {
            write(file, &picture::svg(bars))?;
        }
        if let Some(file) = &self.html {
            let request = serde_json::to_string(request)
                .map_err(|error| Failure::environment(format!("cannot write JSON: {error}")))?;
            write(file, &tilewright_harness::page::page(&request))?;
        }
        Ok(())
    }

    /// The buffers as text: the file's lines first, so that they keep their numbers.
    fn named_buffers(&self) -> Result<String> {
        let mut text = match &self.buffers {
            Some(file) => {
                fs::read_to_string(file).map_err(|error| Failure::input(format!("{}: {error}", file.display())))?
            }
            None => String::new(),
        };
        for buffer in &self.buffer {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(buffer);
        }
        Ok(text)
    }
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    if command.example {
        return example::run(json);
    }
    if command.rules {
        return text::rules(json);
    }
    let mut request = command.request()?;
    if request.is_of_kernel() {
        let report = answer(command, &mut request, kernel_report, kernel_report_for)?;
        command.write_files(&request, &report.bars())?;
        let has_moves = report.after_moves.is_some();
        let too_large = too_large("kernel", &report.worksheet, has_moves);
        return finish(&report, json, || kernel::describe(&report), too_large);
    }
    let report = answer(command, &mut request, report, report_for)?;
    command.write_files(&request, &report.bars())?;
    let has_moves = report.impossible.is_none() && report.after_moves.is_some();
    let too_large = too_large("tile", &report.worksheet, has_moves);
    finish(&report, json, || text::describe(&report, command.explain), too_large)
}

/// Prints a report; one of something that does not fit is printed and is a failure.
fn finish(report: &impl Serialize, json: bool, text: impl FnOnce() -> String, too_large: Option<String>) -> Result<()> {
    if json {
        output::print_json(report)?;
    } else {
        output::print(&text())?;
    }
    match too_large {
        None => Ok(()),
        Some(message) => Err(Failure::input(message).reported()),
    }
}

/// By how much what was asked for exceeds the limit, and what mends that; `None` where it fits.
fn too_large<T>(what: &str, sheet: &Worksheet<T>, has_moves: bool) -> Option<String> {
    if sheet.fits {
        return None;
    }
    let margin = match sheet.margin_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} B of which are to stay free"),
    };
    let what_next = if has_moves {
        "the moves in the report make it fit"
    } else {
        "no moves make it fit"
    };
    Some(format!(
        "the {what} needs {} B of shared memory, {} gives a block {} B{margin}: {} B too many; {what_next}",
        sheet.total_bytes, sheet.arch, sheet.limit_bytes, sheet.over_by_bytes
    ))
}

/// Asks about the named architecture or GPU, or about a device. The request has the architecture afterwards.
fn answer<R>(
    command: &Command,
    request: &mut Request,
    of_arch: fn(&Request) -> std::result::Result<R, Refusal>,
    of_device: fn(&Request, &Architecture, &GpuModel) -> std::result::Result<R, Refusal>,
) -> Result<R> {
    let answered = if request.arch.is_empty() && request.gpu.is_none() {
        let profile = device::query(command.device.unwrap_or_default()).map_err(|error| {
            Failure::new(
                error.kind().into(),
                format!("{error}; name an architecture or a GPU: --arch sm_90, --gpu H200"),
            )
        })?;
        let (Some(arch), Some(gpu)) = (profile.architecture(), profile.gpu_model()) else {
            let name = format!("sm_{}{}", profile.compute_capability.0, profile.compute_capability.1);
            let unknown = cuda_arch::UnknownArchitecture { name: &name };
            return Err(Failure::input(unknown.to_string()));
        };
        request.arch = arch.name.to_owned();
        of_device(request, &arch, &gpu)
    } else {
        let answered = of_arch(request);
        if request.arch.is_empty()
            && let Some(gpu) = request.gpu.as_deref().and_then(GpuModel::find)
        {
            request.arch = gpu.arch.to_string();
        }
        answered
    };
    answered.map_err(|refusal| {
        Failure::input(match refusal {
            Refusal::Buffer { line, reason } => format!("{}: {reason}", command.place_of(line, request)),
            refusal => explained(request, refusal),
        })
    })
}

/// Why a request is refused, with the options of the nearest one that is not.
fn explained(request: &Request, refusal: Refusal) -> String {
    let Refusal::Violation(violation) = refusal else {
        return refusal.to_string();
    };
    let Some(legal) = nearest(request, &violation) else {
        return violation.to_string();
    };
    let changed = difference(request, &legal)
        .into_iter()
        .map(|(flag, value)| match value {
            Some(value) => format!("{flag} {value}"),
            None => format!("no {flag}"),
        });
    let broken = Violation {
        nearest: None,
        ..violation
    };
    format!(
        "{broken}; nearest that works: {}",
        changed.collect::<Vec<_>>().join(" ")
    )
}

fn write(file: &FilePath, text: &str) -> Result<()> {
    Destination::new(file)?.write(|writer| writer.write_all(text.as_bytes()))
}
