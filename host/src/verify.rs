//! Every kernel against the reference, over shapes that reach every edge of a tile.
//!
//! The command `tilewright verify`, the project's GPU tests and those of the simulator run the same table. C is full of
//! NaN before a kernel runs: an element that it does not write shows, and so does one that it writes but should not,
//! between the rows or behind the last. The padding of A and B is NaN too: who reads it spreads it.

use half::{bf16, f16};
use serde::{Serialize, Serializer};
use tilewright_contract::{
    Bytes, Copies, DType, GemmShape, LineTile, Operand, RowCopy, SharedMemory, Tile, TileGeometry, TilePair, Transpose,
    VARIANTS, Variant, WgmmaTile,
};

use crate::check;
use crate::device::DeviceProfile;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::Gpu;
use crate::plan::{Plan, Policy, plan};
use crate::random::random_matrix;
use crate::reference;
use crate::simulate::{SimOptions, simulate_plan};

/// A shape and what it is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// What the shape reaches.
    pub name: &'static str,
    /// The shape.
    pub shape: GemmShape,
}

/// How a case ended.
#[derive(Debug)]
pub enum Outcome {
    /// Every element agrees with the reference, nothing else was written.
    Passed,
    /// A wrong or a stray element; one line.
    Wrong(String),
    /// No result at all.
    Failed(Error),
}

impl Outcome {
    /// What went wrong, on one line; `None` for [`Outcome::Passed`].
    pub fn problem(&self) -> Option<String> {
        match self {
            Outcome::Passed => None,
            Outcome::Wrong(problem) => Some(problem.clone()),
            Outcome::Failed(error) => Some(error.to_string()),
        }
    }

    /// The code that a program ends with: 0, 4 for a wrong element, else the error's.
    pub fn exit_code(&self) -> u8 {
        match self {
            Outcome::Passed => 0,
            Outcome::Wrong(_) => 4,
            Outcome::Failed(error) => error.exit_code(),
        }
    }
}

impl Serialize for Outcome {
    /// `null`, or what went wrong.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.problem().serialize(serializer)
    }
}

/// One case of one kernel.
#[derive(Debug, Serialize)]
pub struct CaseResult {
    /// The entry point's symbol, or `cpu_tiled`.
    pub kernel: &'static str,
    /// Element type.
    pub dtype: &'static str,
    /// Rows and columns of a tile, in elements.
    pub tile: [u32; 2],
    /// The limit on shared memory that led to the tile; `None` where the tile was named.
    pub smem_limit_bytes: Option<u32>,
    /// What the shape reaches.
    pub case: &'static str,
    /// `m x n x k (lda, ldb, ldc)`.
    pub shape: String,
    /// What went wrong; `null` in JSON when nothing did.
    pub problem: Outcome,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Cases done.
    pub done: usize,
    /// Cases in all.
    pub total: usize,
    /// The kernel at work.
    pub kernel: &'static str,
}

/// Tile widths to try, besides both ends of an entry point's range: powers of two, their neighbours, and widths that
/// fill neither a warp nor a multiple of the padding.
const WIDTHS: [u32; 13] = [1, 7, 16, 17, 31, 32, 33, 48, 64, 65, 96, 100, 128];

/// Widths whose bytes, given as the limit on shared memory, let the plan choose the tile: below its own candidates, so
/// that it takes just these.
const WIDTHS_BY_LIMIT: [u32; 3] = [2, 5, 11];

/// Elements behind the last one of C that a kernel must not touch.
const GUARD_ELEMS: usize = 64;

/// The shapes for a tile of an entry point, or of the CPU's nest: rows, columns, elements along K of a step, as its
/// copies take them.
pub fn cases([w, h, d]: [usize; 3], copies: &Copies) -> Vec<Case> {
    // One below the tile, but not zero: empty extents have cases of their own.
    let under = |extent: usize| extent.saturating_sub(1).max(1);
    let packed = [
        ("no rows", 0, h + 1, d),
        ("no columns", w + 1, 0, d),
        ("nothing to sum", w + 1, h, 0),
        ("one element", 1, 1, 1),
        ("below one tile", under(w), under(h), under(d)),
        ("one tile", w, h, d),
        ("above one tile", w + 1, h + 1, d + 1),
        ("whole tiles", 2 * w, 3 * h, 2 * d),
        ("wide", w / 2 + 1, 2 * h + 1, d + 3),
        ("tall", 2 * w + 1, h / 2 + 1, d + 3),
        ("one row", 1, 2 * h + 1, d + 1),
        ("one column", 2 * w + 1, 1, d + 1),
        ("deep", w + 1, under(h), 1000 + d),
    ];
    let padded = [
        ("padded rows", w + 1, h + 2, d + 3, [5, 3, 7]),
        ("padded rows of whole tiles", 2 * w, h, d, [1, 32, 16]),
        ("padded, one column", w + 1, 1, 2 * d + 1, [0, 2, 4]),
    ];
    packed
        .into_iter()
        .map(|(name, m, n, k)| (name, m, n, k, [0; 3]))
        .chain(padded)
        .filter_map(|(name, m, n, k, gaps)| {
            let shape = fitting([m, n, k], gaps, copies)?;
            Some(Case { name, shape })
        })
        .collect()
}

/// The shapes for a tile of a kernel on tensor cores that reach what happens where rows of A, of B, or of both begin at
/// odd elements: they are copied first.
pub fn copied_cases([w, h, d]: [usize; 3], transpose: [Transpose; 2]) -> Vec<Case> {
    [
        ("rows of A at odd elements", w + 1, h, d + 3, [true, false]),
        ("rows of B at odd elements", w, h + 1, d + 2, [false, true]),
        ("rows of A and B at odd elements", w + 3, h + 2, d + 1, [true, true]),
    ]
    .into_iter()
    .filter_map(|(name, m, n, k, odd)| {
        let packed = GemmShape::packed_transposed(m, n, k, transpose).ok()?;
        let ld = |operand, odd: bool| {
            let (_, columns, _) = packed.extents(operand);
            if odd { columns | 1 } else { RowCopy::padded(columns) }
        };
        let shape = packed.with_operand_lds([ld(Operand::A, odd[0]), ld(Operand::B, odd[1])]);
        Some(Case {
            name,
            shape: shape.ok()?,
        })
    })
    .collect()
}

/// The shapes for a product with a vector, of a matrix whose rows in memory are loaded `vector` elements at a time: C
/// of one column and of one row, the vector in one row of memory and in one column, each as the matrix lies in `tile`.
pub fn vector_cases(tile: LineTile, vector: usize) -> Vec<Case> {
    let (w, d) = (tile.lines() as usize, tile.depth() as usize);
    // Lines, elements along K, elements behind each row of the matrix and from one element of the vector and of C to
    // the next.
    let extents = [
        ("nothing to sum", w + 1, 0, 0, 1),
        ("one element", 1, 1, 0, 1),
        ("below one tile", w - 1, d - 1, 0, 1),
        ("one tile", w, d, 0, 1),
        ("above one tile", w + 1, d + 1, 0, 1),
        ("whole tiles", 2 * w, 2 * d, 0, 1),
        ("shallow", 3 * w + 5, 7, 0, 1),
        ("deep", 3, 5 * d + 3, 0, 1),
        ("padded", w + 3, d + 33, 5, 3),
    ];
    let mut cases = Vec::new();
    for (name, lines, k, gap, stride) in extents {
        for (is_column, vector_in_a_row) in [(true, true), (true, false), (false, true), (false, false)] {
            // Along K the rows of the matrix in memory are lines, across it they are elements of all lines.
            let (lines, k) = match tile {
                LineTile::AlongK => (lines, k.next_multiple_of(vector)),
                LineTile::AcrossK => (lines.next_multiple_of(vector), k),
            };
            let (row, matrix) = match (tile, is_column) {
                (LineTile::AlongK, true) => (k, Transpose::No),
                (LineTile::AlongK, false) => (k, Transpose::Yes),
                (LineTile::AcrossK, true) => (lines, Transpose::Yes),
                (LineTile::AcrossK, false) => (lines, Transpose::No),
            };
            let matrix_ld = (row + gap).next_multiple_of(vector);
            let vector_ld = if vector_in_a_row { k.max(1) } else { stride };
            let shape = if is_column {
                let other = if vector_in_a_row { Transpose::Yes } else { Transpose::No };
                GemmShape::with_transposes(lines, 1, k, [matrix, other], [matrix_ld, vector_ld, stride])
            } else {
                let other = if vector_in_a_row { Transpose::No } else { Transpose::Yes };
                GemmShape::with_transposes(1, lines, k, [other, matrix], [vector_ld, matrix_ld, lines + gap])
            };
            cases.extend(shape.ok().map(|shape| Case { name, shape }));
        }
    }
    // Of one line C has one column and one row: the matrix is A.
    cases.retain(|case| tilewright_contract::lines_of(&case.shape).is_some_and(|(_, lies)| lies == tile));
    cases
}

/// A shape whose leading dimensions are multiples of what the copies move at once, and whose rows are unless they may
/// be ragged, with so many elements at least behind each row of A, B and C.
fn fitting([m, n, k]: [usize; 3], gaps: [usize; 3], copies: &Copies) -> Option<GemmShape> {
    let [vector_a, vector_b] = copies.vector.map(|vector| vector as usize);
    let (mut m, mut n, mut k) = (m, n, k);
    let [row_a, row_b] = if copies.ragged { [1; 2] } else { [vector_a, vector_b] };
    match copies.transpose[0] {
        Transpose::Yes => m = m.next_multiple_of(row_a),
        Transpose::No => k = k.next_multiple_of(row_a),
    }
    match copies.transpose[1] {
        Transpose::Yes => k = k.next_multiple_of(row_b),
        Transpose::No => n = n.next_multiple_of(row_b),
    }
    let packed = GemmShape::packed_transposed(m, n, k, copies.transpose).ok()?;
    let ld = |operand, gap: usize, vector| (packed.extents(operand).2 + gap).next_multiple_of(vector);
    let lds = [
        ld(Operand::A, gaps[0], vector_a),
        ld(Operand::B, gaps[1], vector_b),
        ld(Operand::C, gaps[2], 1),
    ];
    GemmShape::with_transposes(m, n, k, copies.transpose, lds).ok()
}

/// The policies under which `variant` is tried where a block may use `limit`; none where nothing of it fits.
pub fn policies(variant: &'static Variant, limit: Bytes) -> Vec<Policy> {
    let fits = |width: u32| {
        variant
            .tile_of_width(width)
            .is_ok_and(|tile| variant.static_bytes().get() + variant.dynamic_bytes(tile).get() <= limit.get())
    };
    // A range holds widths that have an entry point of their own, which is what users get.
    let is_for = |width: u32| {
        Variant::find(variant.rung, variant.dtype, width).is_some_and(|found| found.symbol == variant.symbol)
    };
    let of_width = |width| Policy {
        rung: Some(variant.rung),
        tile: width,
        entry_point: Some(variant),
        ..Policy::default()
    };
    let ends = match variant.tile {
        Tile::Fixed(width) => [width, width],
        Tile::Runtime { min, max } => [min, max],
        Tile::Block(_) | Tile::Lines(_) | Tile::Tensor(_) | Tile::Wgmma(_) => {
            let fits = variant
                .tile
                .only()
                .is_some_and(|tile| variant.dynamic_bytes(tile) <= limit);
            let slices = if variant.takes_slices() { &[1, 3][..] } else { &[1] };
            let of_slices = |&slices| Policy {
                slices: Some(slices),
                ..of_width(None)
            };
            return slices.iter().filter(|_| fits).map(of_slices).collect();
        }
    };
    let mut widths = [&WIDTHS[..], &ends].concat();
    widths.sort_unstable();
    widths.dedup();
    let named = widths
        .into_iter()
        .filter(|&width| is_for(width) && fits(width))
        .map(|width| of_width(Some(width)));
    let limits = WIDTHS_BY_LIMIT
        .into_iter()
        .filter(|&width| variant.shared == SharedMemory::Dynamic && is_for(width) && fits(width))
        .filter_map(|width| TileGeometry::new(width).ok())
        .map(|tile| Policy {
            smem_limit: Some(TilePair::new(tile, variant.dtype).total()),
            ..of_width(None)
        });
    named.chain(limits).collect()
}

/// Runs the cases that `wanted` lets pass of the entry points that `filter` lets pass. Ends early when the device is
/// gone.
pub fn run(
    gpu: &Gpu,
    filter: impl Fn(&Variant) -> bool,
    wanted: impl Fn(&Case) -> bool,
    on_progress: impl FnMut(Progress),
) -> Vec<CaseResult> {
    let limit = gpu.profile().block_limit(None);
    each_case(limit, filter, wanted, on_progress, |variant, policy, shape| {
        let on_gpu = match variant.dtype {
            DType::F32 => on_gpu::<f32>,
            DType::F64 => on_gpu::<f64>,
            DType::F16 => on_gpu::<f16>,
            DType::Bf16 => on_gpu::<bf16>,
        };
        on_gpu(gpu, variant, policy, shape)
    })
}

/// Runs every case of the entry points that `filter` lets pass in the simulator. A fault is an error of its own.
pub fn run_in_simulator(
    options: &SimOptions,
    filter: impl Fn(&Variant) -> bool,
    on_progress: impl FnMut(Progress),
) -> Vec<CaseResult> {
    let profile = DeviceProfile::of_arch(options.architecture);
    each_case(
        profile.block_limit(None),
        filter,
        |_| true,
        on_progress,
        |variant, policy, shape| {
            let simulated = match variant.dtype {
                DType::F32 => in_simulator::<f32>,
                DType::F64 => in_simulator::<f64>,
                DType::F16 => in_simulator::<f16>,
                DType::Bf16 => in_simulator::<bf16>,
            };
            simulated(&profile, options, variant, policy, shape)
        },
    )
}

/// Lets `run` do the cases that `wanted` lets pass of the entry points that `filter` lets pass, where a block may use
/// `limit`; it returns the tile that was run and how it went.
fn each_case(
    limit: Bytes,
    filter: impl Fn(&Variant) -> bool,
    wanted: impl Fn(&Case) -> bool,
    mut on_progress: impl FnMut(Progress),
    mut run: impl FnMut(&'static Variant, &Policy, &GemmShape) -> ([u32; 2], Outcome),
) -> Vec<CaseResult> {
    let mut trials = Vec::new();
    for variant in VARIANTS.iter().filter(|variant| filter(variant)) {
        for policy in policies(variant, limit) {
            // A named tile has its shapes; one that a limit leads to has those of the width that the limit was made
            // from.
            let width = policy
                .tile
                .or_else(|| width_within(policy.smem_limit?, variant.dtype))
                .unwrap_or(1);
            let of_tensor_cores = |extents: [u32; 3]| {
                let extents = extents.map(|extent| extent as usize);
                let copied = copied_cases(extents, variant.copies.transpose);
                [cases(extents, &variant.copies), copied].concat()
            };
            let cases = match variant.tile {
                Tile::Block(tile) => cases([tile.m, tile.n, tile.k].map(|extent| extent as usize), &variant.copies),
                Tile::Fixed(_) | Tile::Runtime { .. } => cases([width as usize; 3], &variant.copies),
                Tile::Tensor(tile) => of_tensor_cores([tile.m, tile.n, tile.k]),
                Tile::Wgmma(tile) => of_tensor_cores([tile.m, tile.n, WgmmaTile::K]),
                Tile::Lines(tile) => vector_cases(tile, variant.copies.vector[0] as usize),
            };
            trials.extend(cases.into_iter().filter(&wanted).map(|case| (variant, policy, case)));
        }
    }
    let total = trials.len();
    let mut results = Vec::with_capacity(total);
    for (done, (variant, policy, case)) in trials.into_iter().enumerate() {
        on_progress(Progress {
            done,
            total,
            kernel: variant.symbol,
        });
        let (tile, problem) = run(variant, &policy, &case.shape);
        let gone = matches!(problem, Outcome::Failed(Error::Unavailable(_)));
        results.push(CaseResult {
            kernel: variant.symbol,
            dtype: variant.dtype.name(),
            tile,
            smem_limit_bytes: policy.smem_limit.map(Bytes::get),
            case: case.name,
            shape: describe(&case.shape),
            problem,
        });
        if gone {
            break;
        }
    }
    results
}

/// Runs every case of the CPU's tiled loop nest for these element types.
pub fn run_on_cpu(dtypes: &[DType], mut on_progress: impl FnMut(Progress)) -> Vec<CaseResult> {
    const KERNEL: &str = "cpu_tiled";
    const CPU_WIDTHS: [u32; 6] = [1, 7, 16, 31, 32, 64];
    let trials: Vec<_> = dtypes
        .iter()
        .flat_map(|&dtype| CPU_WIDTHS.map(|width| (dtype, width)))
        .flat_map(|(dtype, width)| {
            cases([width as usize; 3], &Copies::PLAIN)
                .into_iter()
                .map(move |case| (dtype, width, case))
        })
        .collect();
    let total = trials.len();
    let run = |(done, (dtype, tile, case)): (usize, (DType, u32, Case))| {
        on_progress(Progress {
            done,
            total,
            kernel: KERNEL,
        });
        let on_cpu = match dtype {
            DType::F32 => on_cpu::<f32>,
            DType::F64 => on_cpu::<f64>,
            DType::F16 => on_cpu::<f16>,
            DType::Bf16 => on_cpu::<bf16>,
        };
        CaseResult {
            kernel: KERNEL,
            dtype: dtype.name(),
            tile: [tile; 2],
            smem_limit_bytes: None,
            case: case.name,
            shape: describe(&case.shape),
            problem: on_cpu(tile, &case.shape).unwrap_or_else(Outcome::Failed),
        }
    };
    trials.into_iter().enumerate().map(run).collect()
}

fn width_within(limit: Bytes, dtype: DType) -> Option<u32> {
    TilePair::widest_within(limit, dtype).map(TileGeometry::width)
}

fn describe(shape: &GemmShape) -> String {
    let ld = |operand| shape.extents(operand).2;
    format!("{shape} ({}, {}, {})", ld(Operand::A), ld(Operand::B), ld(Operand::C))
}

/// The tile that was run and how it went.
fn on_gpu<T: Element>(gpu: &Gpu, variant: &'static Variant, policy: &Policy, shape: &GemmShape) -> ([u32; 2], Outcome) {
    with_plan::<T>(gpu.profile(), variant, policy, shape, |plan, a, b, c| {
        let (a, b, mut on_device) = (gpu.upload(a)?, gpu.upload(b)?, gpu.upload(c)?);
        gpu.launch(plan, &a, &b, &mut on_device)?;
        gpu.synchronize()?;
        on_device.download(c)
    })
}

/// The tile that was run and how it went.
fn in_simulator<T: Element>(
    profile: &DeviceProfile,
    options: &SimOptions,
    variant: &'static Variant,
    policy: &Policy,
    shape: &GemmShape,
) -> ([u32; 2], Outcome) {
    with_plan::<T>(profile, variant, policy, shape, |plan, a, b, c| {
        let product = simulate_plan(plan, a, b, options)?;
        if let Some(report) = product.report.filter(|report| !report.is_clean()) {
            return Err(Error::Faults(Box::new(report)));
        }
        // What lies outside the matrix is the simulator's to watch: an access to it is a fault.
        let (_, columns, ld) = shape.extents(Operand::C);
        for (target, source) in c.chunks_mut(ld.max(1)).zip(product.c.chunks(ld.max(1))) {
            target[..columns].copy_from_slice(&source[..columns]);
        }
        Ok(())
    })
}

/// Plans for `variant` and lets `multiply` follow the plan: the tile and how it went.
fn with_plan<T: Element>(
    profile: &DeviceProfile,
    variant: &'static Variant,
    policy: &Policy,
    shape: &GemmShape,
    multiply: impl FnOnce(&Plan, &[T], &[T], &mut [T]) -> Result<()>,
) -> ([u32; 2], Outcome) {
    let plan = match plan(shape, T::DTYPE, profile, policy) {
        Ok(plan) => plan,
        Err(error) => return ([policy.tile.unwrap_or(0); 2], Outcome::Failed(error.into())),
    };
    let taken = plan.variant().symbol;
    if taken != variant.symbol {
        let problem = format!("the plan took {taken} in place of {}", variant.symbol);
        return ([plan.tile().m(), plan.tile().n()], Outcome::Wrong(problem));
    }
    let outcome = compare::<T>(shape, |a, b, c| multiply(&plan, a, b, c));
    (
        [plan.tile().m(), plan.tile().n()],
        outcome.unwrap_or_else(Outcome::Failed),
    )
}

fn on_cpu<T: Element>(width: u32, shape: &GemmShape) -> Result<Outcome> {
    compare::<T>(shape, |a, b, c| {
        reference::tiled_parallel(shape, width as usize, a, b, c)
    })
}

/// Lets `multiply` work on random operands and a poisoned C, and judges what it leaves.
fn compare<T: Element>(
    shape: &GemmShape,
    multiply: impl FnOnce(&[T], &[T], &mut [T]) -> Result<()>,
) -> Result<Outcome> {
    let (a, b) = (operand::<T>(shape, Operand::A, 1), operand::<T>(shape, Operand::B, 2));
    let span = shape.span_elems(Operand::C);
    let mut c = vec![T::from_f64(f64::NAN); span + GUARD_ELEMS];
    multiply(&a, &b, &mut c)?;
    match check::full(shape, &a, &b, &c[..span])?.into_result() {
        Ok(_) => {}
        Err(Error::Mismatch(verdict)) => return Ok(Outcome::Wrong(verdict.to_string())),
        Err(error) => return Err(error),
    }
    let (rows, columns, ld) = shape.extents(Operand::C);
    let stray = |i: usize| (columns == 0 || i % ld >= columns || i / ld >= rows) && !c[i].to_f64().is_nan();
    Ok(match (0..c.len()).find(|&i| stray(i)) {
        Some(i) => Outcome::Wrong(format!(
            "element {i} of C lies outside the matrix and was overwritten with {}",
            c[i].to_f64()
        )),
        None => Outcome::Passed,
    })
}

/// A random operand whose padding is NaN.
fn operand<T: Element>(shape: &GemmShape, operand: Operand, seed: u64) -> Vec<T> {
    let (_, columns, ld) = shape.extents(operand);
    let mut elements = random_matrix::<T>(seed, shape.span_elems(operand));
    for (i, element) in elements.iter_mut().enumerate() {
        if i % ld >= columns {
            *element = T::from_f64(f64::NAN);
        }
    }
    elements
}

#[cfg(test)]
mod tests {
    use tilewright_contract::Rung;

    use super::*;

    #[test]
    fn the_shapes_reach_every_edge() {
        for width in WIDTHS {
            let (w, cases) = (width as usize, cases([width as usize; 3], &Copies::PLAIN));
            let extents: Vec<_> = cases
                .iter()
                .map(|case| (case.shape.m(), case.shape.n(), case.shape.k()))
                .collect();
            for extent in [0, 1, w, w + 1].into_iter().chain((w > 1).then_some(w - 1)) {
                assert!(extents.iter().any(|&(m, ..)| m == extent), "{width}: m = {extent}");
                assert!(extents.iter().any(|&(_, n, _)| n == extent), "{width}: n = {extent}");
                assert!(extents.iter().any(|&(.., k)| k == extent), "{width}: k = {extent}");
            }
            for operand in [Operand::A, Operand::B, Operand::C] {
                let padded = |case: &Case| case.shape.extents(operand).2 > case.shape.extents(operand).1;
                assert!(cases.iter().any(padded), "{width}: {operand} padded");
            }
            assert_eq!(cases.len(), 16, "{width}: none was refused");
        }
    }

    #[test]
    fn every_kernel_on_tensor_cores_is_tried_with_rows_that_it_does_not_take() {
        for variant in VARIANTS.iter().filter(|variant| variant.rung.takes_epilogue()) {
            let cases = copied_cases([64, 64, 64], variant.copies.transpose);
            let copied = |case: &Case| {
                let taken = variant.taken(&case.shape).expect("copied");
                [Operand::A, Operand::B].map(|operand| RowCopy::between(&case.shape, &taken, operand).is_some())
            };
            let copied: Vec<_> = cases.iter().map(copied).collect();
            assert_eq!(
                copied,
                [[true, false], [false, true], [true, true]],
                "{}",
                variant.symbol
            );
        }
    }

    #[test]
    fn every_entry_point_is_tried_where_memory_allows() {
        let ample = Bytes(256 << 10);
        for variant in &VARIANTS {
            let policies = policies(variant, ample);
            assert!(!policies.is_empty(), "{}", variant.symbol);
            for width in policies.iter().filter_map(|policy| policy.tile) {
                assert_eq!(
                    Variant::find(variant.rung, variant.dtype, width),
                    Some(variant),
                    "{width}"
                );
            }
            let by_limit = policies.iter().any(|policy| policy.smem_limit.is_some());
            assert_eq!(
                by_limit,
                variant.rung == Rung::TiledDynamic && variant.computes(1),
                "{}",
                variant.symbol
            );
        }
    }

    #[test]
    fn a_stray_write_and_a_wrong_element_are_found() {
        let shape = GemmShape::with_ld(2, 2, 1, 1, 2, 3).expect("valid");
        let multiply = |a: &[f32], b: &[f32], c: &mut [f32]| reference::tiled_parallel(&shape, 2, a, b, c);
        let outcome = |spoil: &dyn Fn(&mut [f32])| {
            compare::<f32>(&shape, |a, b, c| {
                multiply(a, b, c)?;
                spoil(c);
                Ok(())
            })
            .expect("runs")
        };
        assert!(matches!(outcome(&|_| {}), Outcome::Passed));
        for stray in [2, 5, 5 + GUARD_ELEMS - 1] {
            assert!(
                matches!(outcome(&|c| c[stray] = 0.0), Outcome::Wrong(_)),
                "element {stray}"
            );
        }
        for inside in [0, 1, 3, 4] {
            assert!(
                matches!(outcome(&|c| c[inside] = 1e3), Outcome::Wrong(_)),
                "element {inside}"
            );
            assert!(
                matches!(outcome(&|c| c[inside] = f32::NAN), Outcome::Wrong(_)),
                "element {inside}"
            );
        }
    }
}
