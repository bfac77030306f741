//! One question to the planner and its answer: what the command line, the web page and scripts share.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use cuda_arch::{Architecture, UnknownArchitecture};
use serde::Serialize;

use crate::budget::Budget;
use crate::estimate::{Estimate, estimate};
use crate::fit::{Fit, Outcome, fit};
use crate::footprint::most_stages;
use crate::gemm_type::GemmType;
use crate::gpu_models::GpuModel;
use crate::moves::{Move, moves};
use crate::path::Path;
use crate::picture::Bar;
use crate::rules::{self, Violation};
use crate::select::{Selection, select};
use crate::template::{Shape, Template, TileShape};
use crate::worksheet::{Worksheet, worksheet};

mod kernel;
mod request;
mod rows;

pub use kernel::{KernelReport, kernel_report, kernel_report_for};
pub use request::{Request, TemplateName};
pub use rows::{CandidateRow, Sheet};

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The architecture's name.
    pub arch: &'static str,
    /// The GPU whose speed is assumed.
    #[serde(rename = "product")]
    pub gpu: String,
    /// The element types.
    pub dtype: GemmType,
    /// The product's shape, where it was given.
    pub shape: Option<Shape>,
    /// The worksheet's numbers.
    #[serde(flatten)]
    pub sheet: Sheet,
    /// The worksheet itself.
    #[serde(skip)]
    pub worksheet: Worksheet,
    /// The moves that make it fit, in order; none where it fits as it is.
    pub moves: Vec<Move>,
    /// The worksheet after the moves; `None` where there are none.
    pub after_moves: Option<Sheet>,
    /// That worksheet itself.
    #[serde(skip)]
    pub worksheet_after_moves: Option<Worksheet>,
    /// Why no moves make it fit, where none do.
    pub impossible: Option<String>,
    /// With `explain`: every move tried once from the start.
    pub considered: Vec<Move>,
    /// Where no tile was given: every template that was considered, the fastest first, rejects last.
    pub candidates: Vec<CandidateRow>,
    /// Estimated microseconds of the product; `None` without a shape, or where nothing fits.
    pub estimated_us: Option<f64>,
    /// Where the time goes.
    pub estimate: Option<Estimate>,
}

impl Report {
    /// The bars of the picture: the template as asked or as selected, and what the moves make of it.
    pub fn bars(&self) -> Vec<Bar<'_>> {
        let asked = Bar {
            label: if self.candidates.is_empty() {
                "as asked"
            } else {
                "selected"
            },
            sheet: &self.worksheet,
        };
        let after = self.worksheet_after_moves.as_ref().map(|sheet| Bar {
            label: "after the moves",
            sheet,
        });
        [asked].into_iter().chain(after).collect()
    }

    /// The templates that were selected from, the fastest first; none where a tile was given.
    pub fn ranked(&self) -> impl Iterator<Item = &Template> {
        self.candidates
            .iter()
            .filter(|row| row.rejected.is_none())
            .map(|row| &row.template)
    }
}

/// Why there is no answer. Each is one line with the numbers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// The architecture is not in the table; the text lists those that are.
    UnknownArchitecture(String),
    /// No such GPU; the names of those that are known.
    UnknownGpu(String),
    /// Some of m, n, k were given and some not, or neither a shape nor a tile.
    Incomplete(&'static str),
    /// A rule is broken.
    Violation(Violation),
    /// A named buffer is wrong.
    Buffer {
        /// The line that it is on, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Something is wrong with a kernel of buffers, or an option does not belong to what is asked about.
    Kernel(String),
    /// Nothing of all templates fits: how many there were, and the one that misses by the least.
    NothingFits {
        /// Templates that were considered.
        considered: usize,
        /// The last reason.
        reason: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::UnknownArchitecture(text) | Refusal::UnknownGpu(text) | Refusal::Kernel(text) => f.write_str(text),
            Refusal::Incomplete(text) => f.write_str(text),
            Refusal::Buffer { line, reason } => write!(f, "line {line}: {reason}"),
            Refusal::Violation(violation) => violation.fmt(f),
            Refusal::NothingFits { considered, reason } => {
                write!(
                    f,
                    "none of {considered} templates can be used; the nearest miss: {reason}"
                )
            }
        }
    }
}

impl core::error::Error for Refusal {}

impl From<Violation> for Refusal {
    fn from(violation: Violation) -> Self {
        Refusal::Violation(violation)
    }
}

/// Answers a request about any device of an architecture.
///
/// # Errors
/// [`Refusal`], with the rule that is broken, its source and the nearest value that keeps it.
pub fn report(request: &Request) -> Result<Report, Refusal> {
    let (arch, gpu) = device(request)?;
    report_for(request, arch, gpu)
}

/// The architecture that is asked about, and the GPU that stands for it: where no architecture is named, that of the
/// GPU.
fn device(request: &Request) -> Result<(&'static Architecture, &'static GpuModel), Refusal> {
    let unknown_arch = |unknown: UnknownArchitecture<'_>| Refusal::UnknownArchitecture(unknown.to_string());
    let Some(name) = &request.gpu else {
        let arch = cuda_arch::find(&request.arch).map_err(unknown_arch)?;
        let assumed = GpuModel::assumed(arch).ok_or(Refusal::Incomplete("no GPU of this architecture is known"))?;
        return Ok((arch, assumed));
    };
    let gpu = GpuModel::find(name).ok_or_else(|| Refusal::UnknownGpu(GpuModel::unknown(name)))?;
    if request.arch.is_empty() {
        return Ok((gpu.architecture().map_err(unknown_arch)?, gpu));
    }
    let arch = cuda_arch::find(&request.arch).map_err(unknown_arch)?;
    if gpu.arch == arch.name {
        return Ok((arch, gpu));
    }
    let of_arch: Vec<String> = GpuModel::of_architecture(arch)
        .map(|gpu| gpu.name.to_string())
        .collect();
    Err(Refusal::UnknownGpu(format!(
        "{} is an {} GPU, and {} is asked for; {} GPUs: {}",
        gpu.name,
        gpu.arch,
        arch.name,
        arch.name,
        of_arch.join(", ")
    )))
}

/// Answers a request about one device: its own limits and speed. The request's architecture and GPU are not looked at.
///
/// # Errors
/// As [`report`].
pub fn report_for(request: &Request, arch: &Architecture, gpu: &GpuModel) -> Result<Report, Refusal> {
    if request.is_of_kernel() {
        return Err(Refusal::Kernel("a kernel of buffers is no matrix product".into()));
    }
    kernel::check_options(request)?;
    let shape = shape(request)?;
    let best = Path::best(arch, request.dtype).ok_or_else(|| unsupported(arch, request.dtype))?;
    rules::with_margin(Budget::opted_in(arch), request.margin_bytes)?;
    match request.tile {
        Some(tile) => with_tile(request, arch, gpu, shape, request.path.unwrap_or(best), tile),
        None => selected(
            request,
            arch,
            gpu,
            shape.ok_or(Refusal::Incomplete(
                "a tile (MxNxK) or the product's m, n and k are needed",
            ))?,
        ),
    }
}

fn shape(request: &Request) -> Result<Option<Shape>, Refusal> {
    let (m, n, k) = match (request.m, request.n, request.k) {
        (None, None, None) => return Ok(None),
        (Some(m), Some(n), Some(k)) => (m, n, k),
        _ => return Err(Refusal::Incomplete("m, n and k belong together: all three or none")),
    };
    let shape = Shape { m, n, k };
    rules::check_shape(shape)?;
    Ok(Some(shape))
}

/// No path has the type: the supported one of the nearest width is named.
fn unsupported(arch: &Architecture, ty: GemmType) -> Refusal {
    let bits = |ty: GemmType| ty.stored_bits()[0];
    let nearest = GemmType::all()
        .filter(|&other| Path::best(arch, other).is_some())
        .min_by_key(|&other| bits(other).abs_diff(bits(ty)));
    Refusal::Violation(Violation::name(
        &rules::PATH,
        arch.name,
        ty.name(),
        nearest.map(GemmType::name),
    ))
}

fn with_tile(
    request: &Request,
    arch: &Architecture,
    gpu: &GpuModel,
    shape: Option<Shape>,
    path: Path,
    tile: TileShape,
) -> Result<Report, Refusal> {
    const MOST_STAGES: u32 = 8;
    let with = |stages| request.template(arch, path, tile, stages);
    let frontend = request.frontend.unwrap_or_default();
    let stages = match request.stages {
        Some(stages) => stages,
        None => match most_stages(&with(1), arch, request.margin_bytes)? {
            Some(stages) => stages.min(MOST_STAGES),
            // Two buffers are the least that hide anything: what they miss the limit by is what the moves are for.
            None => frontend.stages(2, path),
        },
    };
    let sheet = worksheet(&with(stages), arch, request.margin_bytes)?;
    let Fit {
        start: _,
        steps,
        outcome,
        ..
    } = fit(&sheet.template, arch, request.margin_bytes, shape)?;
    let last = steps.last().map(|step| step.sheet.clone());
    let estimate = shape.and_then(|shape| estimate(last.as_ref().unwrap_or(&sheet), &shape, gpu));
    Ok(Report {
        considered: considered(request, &sheet, arch, shape),
        moves: steps.into_iter().map(|step| step.taken).collect(),
        after_moves: last.as_ref().map(Sheet::from),
        worksheet_after_moves: last,
        impossible: match outcome {
            Outcome::Impossible(proof) => Some(proof.reason),
            Outcome::AlreadyFits | Outcome::Fits => None,
        },
        estimated_us: estimate.map(|estimate| estimate.us),
        estimate,
        ..plain(request, gpu, shape, &sheet)
    })
}

fn selected(request: &Request, arch: &Architecture, gpu: &GpuModel, shape: Shape) -> Result<Report, Refusal> {
    let policy = request.policy();
    if let Some(path) = request.path {
        // A path that the architecture lacks is the user's to know, and not a list of rejects.
        Template::on_path(arch, path, request.dtype, TileShape::new(1, 1, 1), 1).support(arch)?;
    }
    // The same of numbers that no template could have.
    let path = request.path.or(Path::best(arch, request.dtype)).unwrap_or(Path::Simt);
    rules::check_extents(&request.template(arch, path, TileShape::new(1, 1, 1), 1))?;
    let selection = select(arch, gpu, &shape, request.dtype, &policy);
    let Some(winner) = selection.winner() else {
        return Err(nothing_fits(&selection));
    };
    let rows = selection.ranked.iter().map(CandidateRow::from);
    Ok(Report {
        considered: considered(request, &winner.sheet, arch, Some(shape)),
        candidates: rows.chain(selection.rejected.iter().map(CandidateRow::from)).collect(),
        estimated_us: Some(winner.estimate.us),
        estimate: Some(winner.estimate),
        ..plain(request, gpu, Some(shape), &winner.sheet)
    })
}

fn considered(request: &Request, sheet: &Worksheet, arch: &Architecture, shape: Option<Shape>) -> Vec<Move> {
    if request.explain {
        moves(sheet, arch, shape)
    } else {
        Vec::new()
    }
}

fn plain(request: &Request, gpu: &GpuModel, shape: Option<Shape>, sheet: &Worksheet) -> Report {
    Report {
        arch: sheet.arch,
        gpu: gpu.name.to_string(),
        dtype: request.dtype,
        shape,
        sheet: Sheet::from(sheet),
        worksheet: sheet.clone(),
        moves: Vec::new(),
        after_moves: None,
        worksheet_after_moves: None,
        impossible: None,
        considered: Vec::new(),
        candidates: Vec::new(),
        estimated_us: None,
        estimate: None,
    }
}

fn nothing_fits(selection: &Selection) -> Refusal {
    let nearest = selection.rejected.iter().min_by_key(|rejected| match rejected.reason {
        crate::Reason::TooLarge { over_by_bytes, .. } => over_by_bytes,
        crate::Reason::Rule(_) | crate::Reason::NeverResident => u64::MAX,
    });
    Refusal::NothingFits {
        considered: selection.rejected.len(),
        reason: nearest.map(|rejected| rejected.reason.to_string()).unwrap_or_default(),
    }
}
