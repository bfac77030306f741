//! Every kernel against the reference, over shapes that reach every edge of a tile.
//!
//! The command `tilewright verify`, the project's GPU tests and those of the simulator run the same table. C is full of
//! NaN before a kernel runs: an element that it does not write shows, and so does one that it writes but should not,
//! between the rows or behind the last. The padding of A and B is NaN too: who reads it spreads it.

use half::{bf16, f16};
use tilewright::check::Expected;
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Plan, Policy, plan};
use tilewright::launch::Gpu;
use tilewright::random::random_matrix;
use tilewright::simulate::{SimOptions, simulate};
use tilewright::{Element, Error, Gemm, Result, reference};
use tilewright_contract::{
    Alignment, Batch, Bytes, DType, GemmShape, KERNELS, Kernel, Operand, Operands, Precision, Storage, TileGeometry,
    TilePair, Transpose,
};

mod cases;
mod outcome;

pub use cases::{Case, batches, cases, copied_cases, group_ends, groups, vector_cases};
pub use outcome::{CaseResult, Outcome, Progress};

/// Tile widths to try, besides both ends of an entry point's range: powers of two, their neighbours, and widths that
/// fill neither a warp nor a multiple of the padding.
const WIDTHS: [u32; 13] = [1, 7, 16, 17, 31, 32, 33, 48, 64, 65, 96, 100, 128];

/// Widths whose bytes, given as the limit on shared memory, let the plan choose the tile: below its own candidates, so
/// that it takes just these.
const WIDTHS_BY_LIMIT: [u32; 3] = [2, 5, 11];

/// Elements behind the last one of C that a kernel must not touch.
const GUARD_ELEMS: usize = 64;

/// The policies under which `kernel` is tried where a block may use `limit`; none where nothing of it fits.
pub fn policies(kernel: &'static Kernel, limit: Bytes) -> Vec<Policy> {
    let fits = |width: u32| {
        kernel
            .with_width(width)
            .is_some_and(|kernel| kernel.smem.total() <= limit)
    };
    // A range holds widths that have an entry point of their own, which is what users get.
    let is_for = |width: u32| {
        Kernel::find(kernel.family, kernel.dtype, width).is_some_and(|found| found.symbol == kernel.symbol)
    };
    let of_width = |width| Policy {
        family: Some(kernel.family),
        tile: width,
        kernel: Some(kernel),
        ..Policy::default()
    };
    let Some(ends) = kernel.widths else {
        let fits = kernel.dynamic_bytes() <= limit;
        let splits = if kernel.split_k.is_some() { &[1, 3][..] } else { &[1] };
        let with_splits = |&splits| Policy {
            splits: Some(splits),
            ..of_width(None)
        };
        return splits.iter().filter(|_| fits).map(with_splits).collect();
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
        .filter(|&width| kernel.smem.storage == Storage::Dynamic && is_for(width) && fits(width))
        .filter_map(|width| TileGeometry::new(width).ok())
        .map(|tile| Policy {
            smem_limit: Some(TilePair::new(tile, kernel.dtype).total()),
            ..of_width(None)
        });
    named.chain(limits).collect()
}

/// Runs the cases that `wanted` lets pass of the entry points that `filter` lets pass. Ends early when the device is
/// gone.
pub fn run(
    gpu: &Gpu,
    filter: impl Fn(&Kernel) -> bool,
    wanted: impl Fn(&Case) -> bool,
    on_progress: impl FnMut(Progress),
) -> Vec<CaseResult> {
    let limit = Bytes(gpu.profile().block_limit_bytes(None));
    each_case(limit, filter, wanted, on_progress, |kernel, policy, shape| {
        let on_gpu = match kernel.dtype {
            DType::F32 => on_gpu::<f32>,
            DType::F64 => on_gpu::<f64>,
            DType::F16 => on_gpu::<f16>,
            DType::Bf16 => on_gpu::<bf16>,
        };
        on_gpu(gpu, kernel, policy, shape)
    })
}

/// Runs every case of the entry points that `filter` lets pass in the simulator. A fault is an error of its own.
pub fn run_in_simulator(
    options: &SimOptions,
    filter: impl Fn(&Kernel) -> bool,
    on_progress: impl FnMut(Progress),
) -> Vec<CaseResult> {
    let profile = DeviceProfile::of_arch(options.architecture);
    each_case(
        Bytes(profile.block_limit_bytes(None)),
        filter,
        |_| true,
        on_progress,
        |kernel, policy, shape| {
            let simulated = match kernel.dtype {
                DType::F32 => in_simulator::<f32>,
                DType::F64 => in_simulator::<f64>,
                DType::F16 => in_simulator::<f16>,
                DType::Bf16 => in_simulator::<bf16>,
            };
            simulated(&profile, options, kernel, policy, shape)
        },
    )
}

/// Lets `run` do the cases that `wanted` lets pass of the entry points that `filter` lets pass, where a block may use
/// `limit`; it returns the tile that was run and how it went.
fn each_case(
    limit: Bytes,
    filter: impl Fn(&Kernel) -> bool,
    wanted: impl Fn(&Case) -> bool,
    mut on_progress: impl FnMut(Progress),
    mut run: impl FnMut(&'static Kernel, &Policy, &GemmShape) -> ([u32; 2], Outcome),
) -> Vec<CaseResult> {
    let mut trials = Vec::new();
    for kernel in KERNELS.iter().filter(|kernel| filter(kernel)) {
        for policy in policies(kernel, limit) {
            // A named tile has its shapes; one that a limit leads to has those of the width that the limit was made
            // from.
            let width = policy
                .tile
                .or_else(|| width_within(policy.smem_limit?, kernel.dtype))
                .unwrap_or(1);
            let tile = match kernel.widths {
                Some(_) => [width; 3],
                None => [kernel.tile.m, kernel.tile.n, kernel.tile.k],
            };
            let mut tile = tile.map(|extent| extent as usize);
            if kernel.supports.groups {
                // Groups of several tiles.
                tile[0] = 3 * tile[0] + 1;
            }
            let cases = match kernel.operands {
                Operands::MatrixAndVector(major) => vector_cases(tile, major, kernel.alignment.elems[0] as usize),
                Operands::Matrices(_) => {
                    let transposes = kernel.transposes();
                    let mut cases = cases(tile, transposes, kernel.alignment);
                    cases.extend(copied_cases(tile, kernel));
                    cases
                }
            };
            let of_batches = if kernel.supports.batch {
                batches(&cases, kernel)
            } else {
                Vec::new()
            };
            let cases = match kernel.supports.groups {
                true => groups(&cases, kernel),
                false => [cases, of_batches].concat(),
            };
            trials.extend(cases.into_iter().filter(&wanted).map(|case| (kernel, policy, case)));
        }
    }
    let total = trials.len();
    let mut results = Vec::with_capacity(total);
    for (done, (kernel, policy, case)) in trials.into_iter().enumerate() {
        on_progress(Progress {
            done,
            total,
            kernel: kernel.symbol,
        });
        let (tile, problem) = run(kernel, &policy, &case.shape);
        let gone = matches!(problem, Outcome::Failed(Error::Unavailable(_)));
        results.push(CaseResult {
            kernel: kernel.symbol,
            dtype: kernel.dtype.name(),
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
            let single = cases([width as usize; 3], [Transpose::No; 2], Alignment::NONE);
            let of_batches = cases::batches_of(&single, Alignment::NONE);
            let all = single.into_iter().chain(of_batches);
            all.map(move |case| (dtype, width, case))
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
    let lds = format!("{shape} ({}, {}, {})", ld(Operand::A), ld(Operand::B), ld(Operand::C));
    match shape.batch() {
        Batch {
            groups: true,
            strides: [_, b, _],
            ..
        } => format!("{lds}, stride of B {b}"),
        Batch { count: 1, .. } => lds,
        Batch { strides: [a, b, c], .. } => format!("{lds}, strides {a}, {b}, {c}"),
    }
}

/// The tile that was run and how it went.
fn on_gpu<T: Element>(gpu: &Gpu, kernel: &'static Kernel, policy: &Policy, shape: &GemmShape) -> ([u32; 2], Outcome) {
    with_plan::<T>(gpu.profile(), kernel, policy, shape, |plan, a, b, c| {
        let (a, b, mut on_device) = (gpu.upload(a)?, gpu.upload(b)?, gpu.upload(c)?);
        let ends = group_ends(&plan.shape())
            .map(|ends| gpu.upload_group_ends(&ends))
            .transpose()?;
        let problem = Gemm {
            group_ends: ends.as_ref(),
            ..Gemm::new(plan.shape())
        };
        gpu.launch(plan, &problem, &a, &b, &mut on_device)?;
        gpu.synchronize()?;
        on_device.download(c)
    })
}

/// The tile that was run and how it went.
fn in_simulator<T: Element>(
    profile: &DeviceProfile,
    options: &SimOptions,
    kernel: &'static Kernel,
    policy: &Policy,
    shape: &GemmShape,
) -> ([u32; 2], Outcome) {
    with_plan::<T>(profile, kernel, policy, shape, |plan, a, b, c| {
        let ends = group_ends(&plan.shape());
        let problem = Gemm {
            group_ends: ends.as_deref(),
            ..Gemm::new(plan.shape())
        };
        let product = simulate(plan, &problem, a, b, None::<&[T]>, options)?;
        if let Some(report) = product.report.filter(|report| !report.is_clean()) {
            return Err(Error::Faults(Box::new(report)));
        }
        // What lies outside the matrix is the simulator's to watch: an access to it is a fault.
        let elements = c.iter_mut().zip(product.c).zip(elements_of(shape, Operand::C));
        for ((target, source), _) in elements.filter(|(_, is_element)| *is_element) {
            *target = source;
        }
        Ok(())
    })
}

/// Plans for `kernel` and lets `multiply` follow the plan: the tile and how it went.
fn with_plan<T: Element>(
    profile: &DeviceProfile,
    kernel: &'static Kernel,
    policy: &Policy,
    shape: &GemmShape,
    multiply: impl FnOnce(&Plan, &[T], &[T], &mut [T]) -> Result<()>,
) -> ([u32; 2], Outcome) {
    let plan = match plan(shape, T::DTYPE, profile, policy) {
        Ok(plan) => plan,
        Err(error) => return ([policy.tile.unwrap_or(0); 2], Outcome::Failed(error.into())),
    };
    let taken = plan.kernel().symbol;
    if taken != kernel.symbol {
        let problem = format!("the plan took {taken} in place of {}", kernel.symbol);
        return ([plan.kernel().tile.m, plan.kernel().tile.n], Outcome::Wrong(problem));
    }
    let outcome = compare::<T>(shape, kernel.precision, |a, b, c| multiply(&plan, a, b, c));
    (
        [plan.kernel().tile.m, plan.kernel().tile.n],
        outcome.unwrap_or_else(Outcome::Failed),
    )
}

fn on_cpu<T: Element>(width: u32, shape: &GemmShape) -> Result<Outcome> {
    compare::<T>(shape, Precision::Ieee, |a, b, c| {
        reference::tiled_parallel(shape, width as usize, a, b, c)
    })
}

/// Lets `multiply` work on random operands and a poisoned C, and judges what it leaves.
fn compare<T: Element>(
    shape: &GemmShape,
    precision: Precision,
    multiply: impl FnOnce(&[T], &[T], &mut [T]) -> Result<()>,
) -> Result<Outcome> {
    let (a, b) = (operand::<T>(shape, Operand::A, 1), operand::<T>(shape, Operand::B, 2));
    let span = shape.span_elems(Operand::C);
    let mut c = vec![T::from_f64(f64::NAN); span + GUARD_ELEMS];
    multiply(&a, &b, &mut c)?;
    let ends = group_ends(shape);
    let expected = Expected::of_groups(shape, ends.as_deref(), &a, &b)?.with_precision(precision)?;
    match expected.full(&c[..span])?.into_result() {
        Ok(_) => {}
        Err(Error::Mismatch(verdict)) => return Ok(Outcome::Wrong(verdict.to_string())),
        Err(error) => return Err(error),
    }
    let is_element = elements_of(shape, Operand::C);
    let stray = |i: usize| !is_element.get(i).copied().unwrap_or(false) && !c[i].to_f64().is_nan();
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
    let mut elements = random_matrix::<T>(seed, shape.span_elems(operand));
    for (element, is_element) in elements.iter_mut().zip(elements_of(shape, operand)) {
        if !is_element {
            *element = T::from_f64(f64::NAN);
        }
    }
    elements
}

/// Which elements of an operand's span are of its matrices; the others are padding, or rows of no group.
pub fn elements_of(shape: &GemmShape, operand: Operand) -> Vec<bool> {
    let (rows, columns, ld) = shape.extents(operand);
    let rows = match (group_ends(shape), operand) {
        (Some(ends), Operand::A | Operand::C) => ends.last().map_or(0, |&end| end as usize),
        _ => rows,
    };
    let mut is_element = vec![false; shape.span_elems(operand)];
    for index in 0..shape.batch().count {
        let start = shape.offset(operand, index);
        for row in 0..if columns == 0 { 0 } else { rows } {
            is_element[start + row * ld..][..columns].fill(true);
        }
    }
    is_element
}

#[cfg(test)]
mod tests {
    use tilewright_contract::Family;

    use super::*;

    #[test]
    fn every_entry_point_is_tried_where_memory_allows() {
        let ample = Bytes(256 << 10);
        for kernel in &KERNELS {
            let policies = policies(kernel, ample);
            assert!(!policies.is_empty(), "{}", kernel.symbol);
            for width in policies.iter().filter_map(|policy| policy.tile) {
                let found = Kernel::find(kernel.family, kernel.dtype, width).expect("tried by its width");
                assert_eq!(found.symbol, kernel.symbol, "{width}");
            }
            let by_limit = policies.iter().any(|policy| policy.smem_limit.is_some());
            assert_eq!(
                by_limit,
                kernel.family == Family::TILED_DYNAMIC && kernel.with_width(1).is_some(),
                "{}",
                kernel.symbol
            );
        }
    }

    #[test]
    fn a_stray_write_and_a_wrong_element_are_found() {
        let shape = GemmShape::with_ld(2, 2, 1, 1, 2, 3).expect("valid");
        let multiply = |a: &[f32], b: &[f32], c: &mut [f32]| reference::tiled_parallel(&shape, 2, a, b, c);
        let outcome = |spoil: &dyn Fn(&mut [f32])| {
            compare::<f32>(&shape, Precision::Ieee, |a, b, c| {
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
