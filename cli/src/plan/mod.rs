//! `tilewright plan`: what fits into shared memory, by how many bytes it does not, and what must give.

mod example;
mod text;

use std::io::Write;
use std::path::{Path as FilePath, PathBuf};

use clap::Args;
use tilewright::device;
use tilewright_plan::{
    Accumulator, Epilogue, Frontend, GemmType, Path, Refusal, Report, Request, TileShape, Violation, Widening,
    difference, nearest, picture, report, report_for,
};

use crate::destination::Destination;
use crate::failure::{Failure, Result};
use crate::output;

/// Arguments that ask about a GPU or a template, which neither the example nor the list of rules does.
const OF_A_REQUEST: [&str; 10] = [
    "m", "n", "k", "arch", "device", "tile", "path", "explain", "svg", "html",
];

/// Say what fits into a GPU's shared memory, by how many bytes it does not, and what must give
///
/// With --tile: the worksheet of that template, and where it does not fit the moves that make it fit. Without: the
/// fastest template for the product by the model, which needs -m, -n and -k. No GPU is needed; without --arch the first
/// CUDA device is asked.
#[derive(Args)]
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
    /// The architecture, such as sm_120; without it, that of the first CUDA device
    #[arg(long)]
    arch: Option<String>,
    /// Plan for this GPU, counted from 0 as the driver counts
    #[arg(long, value_name = "N", conflicts_with = "arch")]
    device: Option<u32>,
    /// The GPU whose speed is assumed, such as "RTX 5090"; without it, one that stands for the architecture
    #[arg(long, value_name = "NAME", requires = "arch", alias = "product")]
    gpu: Option<String>,
    /// The element types of A and B: f64, f32, tf32, f16, bf16, e4m3, e5m2, int8, mxfp8, mxfp4, nvfp4 or mxfp8xmxfp4
    #[arg(long, default_value = "f16")]
    dtype: GemmType,
    /// The tile, MxNxK in elements
    #[arg(long, value_name = "MxNxK")]
    tile: Option<TileShape>,
    /// Stages of the main loop, in the frontend's meaning; without it, as many as fit, 8 at most
    #[arg(long, requires = "tile")]
    stages: Option<u32>,
    /// The instructions: simt, mma.sync, wgmma or tcgen05; without it, the fastest
    #[arg(long)]
    path: Option<Path>,
    /// Where the accumulators live: registers, smem or tmem
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
    #[arg(long, requires = "tile")]
    registers: Option<u32>,
    /// Bytes of the limit that are to stay free
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    margin: u64,
    /// Show every move that was tried, and every template that was passed over, with the reason
    #[arg(long)]
    explain: bool,
    /// Write a picture of the bytes against the architectures' limits
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a page in which everything can be changed; it needs no server and no network
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
    fn request(&self) -> Request {
        Request {
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
            margin_bytes: self.margin,
            explain: self.explain,
        }
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
    let mut request = command.request();
    let report = answer(&mut request, command.device.unwrap_or_default())?;
    if let Some(file) = &command.svg {
        write(file, &picture::svg(&report.bars()))?;
    }
    if let Some(file) = &command.html {
        let request = serde_json::to_string(&request)
            .map_err(|error| Failure::environment(format!("cannot write JSON: {error}")))?;
        write(file, &tilewright_harness::page::page(&request))?;
    }
    if json {
        output::print_json(&report)?;
    } else {
        output::print(&text::describe(&report, command.explain))?;
    }
    match too_large(&report) {
        None => Ok(()),
        Some(message) => Err(Failure::input(message).reported()),
    }
}

/// By how much the template that was asked for exceeds the limit, and what mends that; `None` where it fits.
fn too_large(report: &Report) -> Option<String> {
    let sheet = &report.sheet;
    if sheet.fits {
        return None;
    }
    let margin = match sheet.margin_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} B of which are to stay free"),
    };
    let what_next = match (&report.impossible, &report.after_moves) {
        (None, Some(_)) => "the moves in the report make it fit",
        _ => "no moves make it fit",
    };
    Some(format!(
        "the tile needs {} B of shared memory, {} gives a block {} B{margin}: {} B too many; {what_next}",
        sheet.total_bytes, report.arch, sheet.limit_bytes, sheet.over_by_bytes
    ))
}

/// Asks about the named architecture, or about a device.
fn answer(request: &mut Request, device: u32) -> Result<Report> {
    let answered = if request.arch.is_empty() {
        let profile = device::query(device).map_err(|error| {
            Failure::new(
                error.kind().into(),
                format!("{error}; name an architecture: --arch sm_90"),
            )
        })?;
        let (Some(arch), Some(gpu)) = (profile.architecture(), profile.gpu_model()) else {
            let name = format!("sm_{}{}", profile.compute_capability.0, profile.compute_capability.1);
            let unknown = cuda_arch::UnknownArchitecture { name: &name };
            return Err(Failure::input(unknown.to_string()));
        };
        request.arch = arch.name.to_owned();
        report_for(request, &arch, &gpu)
    } else {
        report(request)
    };
    answered.map_err(|refusal| Failure::input(explained(request, refusal)))
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
