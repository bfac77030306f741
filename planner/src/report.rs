//! One question to the planner and its answer: what the command line, the web page and scripts share.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use arrayvec::ArrayVec;
use cuda_arch::Architecture;
use serde::{Deserialize, Serialize};

use crate::estimate::{Bound, Estimate, estimate};
use crate::fit::{Fit, Outcome, fit};
use crate::frontend::Frontend;
use crate::gemm_type::GemmType;
use crate::moves::{Move, moves};
use crate::path::Path;
use crate::products::Product;
use crate::registers::Registers;
use crate::rules::{self, Violation};
use crate::select::{Candidate, Policy, Rejected, Selection, select};
use crate::template::{Accumulator, Epilogue, Shape, Template, TileShape, Widening};
use crate::tensor_memory::Columns;
use crate::worksheet::{Component, MAX_COMPONENTS, Worksheet, largest_stages, worksheet};
use crate::{Limiter, Occupancy};

/// What is asked. Without a tile the planner selects one, for which it needs the shape; everything else that is left
/// open is as usual for the path ([`Template::on_path`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The architecture, such as `sm_120`.
    pub arch: String,
    /// The product whose speed is assumed, by name; else the first of the architecture.
    pub product: Option<String>,
    /// The element types.
    pub dtype: GemmType,
    /// Rows of A and C.
    pub m: Option<u64>,
    /// Columns of B and C.
    pub n: Option<u64>,
    /// Columns of A, rows of B.
    pub k: Option<u64>,
    /// The tile.
    pub tile: Option<TileShape>,
    /// Stages in the frontend's meaning; else as many as fit, 8 at most.
    pub stages: Option<u32>,
    /// The instructions.
    pub path: Option<Path>,
    /// Where the sums live.
    pub accumulator: Option<Accumulator>,
    /// Accumulators in tensor memory at once.
    pub accumulator_buffers: Option<u32>,
    /// How results leave.
    pub epilogue: Option<Epilogue>,
    /// Warps that multiply.
    pub warps: Option<u32>,
    /// Warps that copy.
    pub producer_warps: Option<u32>,
    /// Who makes the kernel.
    pub frontend: Option<Frontend>,
    /// When narrow elements are widened.
    pub widening: Option<Widening>,
    /// Bytes of an element of C.
    pub output_bytes: Option<u32>,
    /// Static shared memory besides the operands.
    pub static_bytes: Option<u32>,
    /// Bytes that each warp has for itself.
    pub scratch_per_warp_bytes: Option<u32>,
    /// Parts of K that different blocks sum.
    pub split_k: Option<u32>,
    /// Blocks of a cluster along m and n.
    pub cluster: Option<(u32, u32)>,
    /// Registers of a thread, where a compiler has said so.
    pub registers_per_thread: Option<u32>,
    /// Bytes that are to be left free.
    pub margin_bytes: u64,
    /// Whether the answer lists every move tried from the start, and not only those that are made.
    pub explain: bool,
}

impl Default for Request {
    /// f16 on sm_90, and everything else open.
    fn default() -> Self {
        Self {
            arch: "sm_90".to_string(),
            product: None,
            dtype: GemmType::F16,
            m: None,
            n: None,
            k: None,
            tile: None,
            stages: None,
            path: None,
            accumulator: None,
            accumulator_buffers: None,
            epilogue: None,
            warps: None,
            producer_warps: None,
            frontend: None,
            widening: None,
            output_bytes: None,
            static_bytes: None,
            scratch_per_warp_bytes: None,
            split_k: None,
            cluster: None,
            registers_per_thread: None,
            margin_bytes: 0,
            explain: false,
        }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The architecture's name.
    pub arch: &'static str,
    /// The product whose speed is assumed.
    pub product: String,
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

/// A worksheet, flat.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    /// What a block may have.
    pub limit_bytes: u64,
    /// What the system takes for each resident block, besides the limit.
    pub reserved_bytes: u64,
    /// What is to be left free.
    pub margin_bytes: u64,
    /// What a block takes, static and dynamic.
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
    pub components: ArrayVec<Component, MAX_COMPONENTS>,
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
    /// Where the sums live.
    pub accumulator: Accumulator,
    /// How results leave.
    pub epilogue: Epilogue,
    /// Warps that multiply.
    pub warps: u32,
    /// Warps that copy.
    pub producer_warps: u32,
    /// Parts of K.
    pub split_k: u32,
    /// Blocks of a cluster.
    pub cluster: (u32, u32),
    /// Registers of a thread that multiplies.
    pub registers_per_thread: u32,
    /// Registers in detail.
    pub registers: Registers,
    /// Columns of tensor memory.
    pub tensor_memory: Option<Columns>,
    /// Resident blocks and what limits them.
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
    /// Warps that multiply.
    pub warps: u32,
    /// Parts of K.
    pub split_k: u32,
    /// Blocks of a cluster.
    pub cluster: (u32, u32),
    /// Shared memory of a block; `None` for a template that breaks a rule.
    pub total_bytes: Option<u64>,
    /// Resident blocks of a multiprocessor.
    pub blocks_per_sm: Option<u32>,
    /// What limits them.
    pub limiter: Option<Limiter>,
    /// Estimated microseconds.
    pub estimated_us: Option<f64>,
    /// What bounds that time.
    pub bound: Option<Bound>,
    /// Why it was passed over; `None` for one that was ranked.
    pub rejected: Option<String>,
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
        }
    }
}

/// Why there is no answer. Each is one line with the numbers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// The architecture is not in the table; the text lists those that are.
    UnknownArchitecture(String),
    /// No such product; the names of those that are known.
    UnknownProduct(String),
    /// Some of m, n, k were given and some not, or neither a shape nor a tile.
    Incomplete(&'static str),
    /// A rule is broken.
    Violation(Violation),
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
            Refusal::UnknownArchitecture(text) | Refusal::UnknownProduct(text) => f.write_str(text),
            Refusal::Incomplete(text) => f.write_str(text),
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
    let arch = cuda_arch::find(&request.arch).map_err(|unknown| Refusal::UnknownArchitecture(unknown.to_string()))?;
    let product = match &request.product {
        Some(name) => {
            let of_arch = || Product::of_architecture(arch).map(|product| product.name.to_string());
            Product::find(name)
                .filter(|product| product.arch == arch.name)
                .ok_or_else(|| {
                    let known: Vec<String> = of_arch().collect();
                    Refusal::UnknownProduct(alloc::format!(
                        "unknown {} product `{name}`; known: {}",
                        arch.name,
                        known.join(", ")
                    ))
                })?
        }
        None => Product::assumed(arch).ok_or(Refusal::Incomplete("no product of this architecture is known"))?,
    };
    report_for(request, arch, product)
}

/// Answers a request about one device: its own limits and speed. The request's architecture and product are not looked
/// at.
///
/// # Errors
/// As [`report`].
pub fn report_for(request: &Request, arch: &Architecture, product: &Product) -> Result<Report, Refusal> {
    let shape = shape(request)?;
    let best = Path::best(arch, request.dtype).ok_or_else(|| unsupported(arch, request.dtype))?;
    let limit = u64::from(arch.smem_per_block_optin);
    if request.margin_bytes >= limit {
        return Err(Violation::number(&rules::MARGIN, "margin of bytes", request.margin_bytes, Some(limit - 1)).into());
    }
    match request.tile {
        Some(tile) => with_tile(request, arch, product, shape, request.path.unwrap_or(best), tile),
        None => selected(
            request,
            arch,
            product,
            shape.ok_or(Refusal::Incomplete(
                "a tile (MxNxK) or the product's m, n and k are needed",
            ))?,
        ),
    }
}

/// Whether the template that a request describes keeps every rule; whether it fits is another question, and takes
/// longer.
pub(crate) fn keeps_rules(request: &Request) -> bool {
    let arch = cuda_arch::find(&request.arch).ok();
    let path = arch.and_then(|arch| request.path.or(Path::best(arch, request.dtype)));
    let (Some(arch), Some(path), Some(tile)) = (arch, path, request.tile) else {
        return false;
    };
    let one = request.frontend.unwrap_or_default().stages(1, path);
    template(request, arch, path, tile, request.stages.unwrap_or(one))
        .check(arch)
        .is_ok()
}

fn shape(request: &Request) -> Result<Option<Shape>, Refusal> {
    let (m, n, k) = match (request.m, request.n, request.k) {
        (None, None, None) => return Ok(None),
        (Some(m), Some(n), Some(k)) => (m, n, k),
        _ => return Err(Refusal::Incomplete("m, n and k belong together: all three or none")),
    };
    for (what, extent) in [("m", m), ("n", n), ("k", k)] {
        if extent == 0 {
            return Err(Violation::number(&rules::POSITIVE, what, 0, Some(1)).into());
        }
        let most = i32::MAX as u64;
        if extent > most {
            return Err(Violation::number(&rules::INDEX, what, extent, Some(most)).into());
        }
    }
    Ok(Some(Shape { m, n, k }))
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

/// The template that a request describes on a path with a tile.
fn template(request: &Request, arch: &Architecture, path: Path, tile: TileShape, stages: u32) -> Template {
    let usual = Template::on_path(arch, path, request.dtype, tile, stages);
    Template {
        frontend: request.frontend.unwrap_or(usual.frontend),
        warps: request.warps.unwrap_or(usual.warps),
        producer_warps: request.producer_warps.unwrap_or(usual.producer_warps),
        accumulator: request.accumulator.unwrap_or(usual.accumulator),
        accumulator_buffers: request.accumulator_buffers.unwrap_or(usual.accumulator_buffers),
        epilogue: request.epilogue.unwrap_or(usual.epilogue),
        output_bytes: request.output_bytes.unwrap_or(usual.output_bytes),
        widening: request.widening.unwrap_or(usual.widening),
        scratch_per_warp_bytes: request.scratch_per_warp_bytes.unwrap_or(usual.scratch_per_warp_bytes),
        static_bytes: request.static_bytes.unwrap_or(usual.static_bytes),
        split_k: request.split_k.unwrap_or(usual.split_k),
        cluster: request.cluster.unwrap_or(usual.cluster),
        registers_per_thread: request.registers_per_thread.or(usual.registers_per_thread),
        ..usual
    }
}

fn with_tile(
    request: &Request,
    arch: &Architecture,
    product: &Product,
    shape: Option<Shape>,
    path: Path,
    tile: TileShape,
) -> Result<Report, Refusal> {
    const MOST_STAGES: u32 = 8;
    let with = |stages| template(request, arch, path, tile, stages);
    let frontend = request.frontend.unwrap_or_default();
    let stages = match request.stages {
        Some(stages) => stages,
        None => match largest_stages(&with(1), arch, request.margin_bytes)? {
            Some((stages, _)) => stages.min(MOST_STAGES),
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
    let estimate = shape.and_then(|shape| estimate(last.as_ref().unwrap_or(&sheet), &shape, product));
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
        ..plain(request, product, shape, &sheet)
    })
}

fn selected(request: &Request, arch: &Architecture, product: &Product, shape: Shape) -> Result<Report, Refusal> {
    let policy = Policy {
        margin_bytes: request.margin_bytes,
        path: request.path,
        frontend: request.frontend.unwrap_or_default(),
        output_bytes: request.output_bytes,
        ..Policy::default()
    };
    if let Some(path) = request.path {
        // A path that the architecture lacks is the user's to know, and not a list of rejects.
        Template::on_path(arch, path, request.dtype, TileShape::new(1, 1, 1), 1).support(arch)?;
    }
    // The same of numbers that no template could have.
    let path = request.path.or(Path::best(arch, request.dtype)).unwrap_or(Path::Simt);
    template(request, arch, path, TileShape::new(1, 1, 1), 1).check_extents()?;
    let selection = select(arch, product, &shape, request.dtype, &policy);
    let Some(winner) = selection.winner() else {
        return Err(nothing_fits(&selection));
    };
    let rows = selection.ranked.iter().map(CandidateRow::from);
    Ok(Report {
        considered: considered(request, &winner.sheet, arch, Some(shape)),
        candidates: rows.chain(selection.rejected.iter().map(CandidateRow::from)).collect(),
        estimated_us: Some(winner.estimate.us),
        estimate: Some(winner.estimate),
        ..plain(request, product, Some(shape), &winner.sheet)
    })
}

fn considered(request: &Request, sheet: &Worksheet, arch: &Architecture, shape: Option<Shape>) -> Vec<Move> {
    if request.explain {
        moves(sheet, arch, shape)
    } else {
        Vec::new()
    }
}

fn plain(request: &Request, product: &Product, shape: Option<Shape>, sheet: &Worksheet) -> Report {
    Report {
        arch: sheet.arch,
        product: product.name.to_string(),
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
