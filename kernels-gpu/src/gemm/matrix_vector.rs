//! C of one column or one row.
//!
//! ```text
//! K-major: each warp computes an element of C          MN-major: each lane computes 4, each warp every 8th k
//!     acc += row[k] * vector[k], lanes along K             acc += matrix[k][4] * vector[k], 8 rows loaded ahead
//!     reduce over the lanes, by shuffles                   reduce over the warps, through shared memory
//! C = alpha * acc + beta * C
//! ```
//!
//! Nothing is used twice, so nothing belongs in shared memory. A tile of 32 columns would compute 31 of them for
//! nothing; here the time is that of reading the matrix once. Enough loads must be in flight: by Little's law 4.8 TB/s
//! times 0.7 us are 25 KB per SM. A thread loads 8 vec4s before it uses the first, 32 KiB per CTA of 256 threads.
//! `min_blocks` keeps `ptxas` to that: by itself it places each FMA after its load, in 32 registers, so that an SM
//! could hold 8 CTAs, more than there are.
//!
//! Shapes (elements): C has `outputs` elements, the matrix `k` for each ([`MatrixVectorTile`] says which operand it
//! is). If few outputs leave SMs idle, K is split (split-K), as in [`simt`](super::simt).
//!
//! Prediction on an H200 at 4096 x 1 x 4096: 67 MB at 4.0 TB/s are 17 us, plus a launch of 2 us; a tile of
//! [`simt`](super::simt) takes 57 us, cuBLAS 21 us. 1 x 4096 x 4096: the same plus 1 to 2 us for the reduction.

use cuda_std::warp::warp_shuffle_xor;
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};
#[cfg(doc)]
use tilewright_contract::family::matrix_vector;
use tilewright_contract::{GemmParams, Major, MatrixVectorTile, span_elems};

use crate::block::batch;
use crate::block::epilogue::linear_combination;
use crate::block::split_k::{SplitTile, WholeCta, reduce};
use crate::block::unroll::unrolled;
use crate::ptx::{ctaid, optimization_barrier};

const AHEAD: usize = MatrixVectorTile::AHEAD as usize;

/// A matrix-vector product.
#[derive(Clone, Copy)]
struct Problem {
    matrix: Global<f32>,
    /// Elements from one row in memory to the next.
    ld: usize,
    /// Elements of C.
    outputs: u32,
    vector: Global<f32>,
    vector_stride: usize,
    c_stride: usize,
    /// Tile of this CTA within its product.
    tile: u32,
    /// Tiles of the product.
    tiles: u32,
    /// Elements along K of the split.
    k_begin: u32,
    k_end: u32,
}

impl Problem {
    /// Problem and split of this CTA.
    ///
    /// # Safety
    /// The operands are as `params` describes them, in the form of `matrix_vector::args`; the matrix has this
    /// major, and C is a column exactly if `C_IS_COLUMN`. A constant: of a choice at run time LLVM would make one
    /// pointer that may be A or B, in any state space.
    #[inline(always)]
    unsafe fn new<const C_IS_COLUMN: bool>(major: Major, params: &GemmParams<f32>) -> Self {
        let args = params.args();
        let k = args.k as usize;
        let (matrix, ld, outputs, vector, vector_stride, c_stride) = if C_IS_COLUMN {
            (
                batch::a(params),
                args.lda,
                args.m,
                batch::b(params),
                args.ldb as usize,
                args.ldc as usize,
            )
        } else {
            (
                batch::b(params),
                args.ldb,
                args.n,
                batch::a(params),
                args.lda as usize,
                1,
            )
        };
        let tiles = outputs.div_ceil(MatrixVectorTile::outputs(major));
        let cta = thread::block_idx_x();
        let (split, tile) = (cta / tiles.max(1), cta % tiles.max(1));
        let k_begin = split * params.k_per_split;
        let span = || match major {
            Major::K => span_elems(outputs as usize, k, ld as usize),
            Major::Mn => span_elems(k, outputs as usize, ld as usize),
        };
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                matrix: Global::new_with(matrix, span),
                ld: ld as usize,
                outputs,
                vector: Global::new_with(vector, || span_elems(k, 1, vector_stride)),
                vector_stride,
                c_stride,
                tile,
                tiles,
                k_begin,
                k_end: args.k.min(k_begin + params.k_per_split),
            }
        }
    }

    /// Stores a thread's accumulator as element `output` of its tile of C, if it has one. With split-K the CTA that
    /// holds the sum of all splits does.
    ///
    /// # Safety
    /// The operands are as `params` describes them. Every thread of the CTA calls this; no two have the same output.
    #[inline(always)]
    unsafe fn store(self, major: Major, acc: f32, output: Option<u32>, params: &GemmParams<f32>) {
        let mut acc = [[acc]];
        // Computed again: kept since the start, these numbers would take registers from the loads that are under way.
        let cta = thread::block_idx_x() + optimization_barrier::zero();
        let tiles = self.tiles.max(1);
        let first = cta % tiles * MatrixVectorTile::outputs(major);
        let output = output.map(|output| first + output);
        if params.splits > 1 {
            // Tiles of all products.
            let split = SplitTile {
                tile: cta % tiles + ctaid::y() * tiles,
                tiles: tiles * params.batch,
                split: cta / tiles,
                splits: params.splits,
                threads: MatrixVectorTile::THREADS,
            };
            // SAFETY: the caller's promise.
            if !unsafe { reduce(&WholeCta, &mut acc, split, params) } {
                return;
            }
        }
        let inside = output.is_some_and(|output| output < self.outputs);
        let index = || output.unwrap_or(0) as usize * self.c_stride;
        // SAFETY: C is as `params` says; inside it, and no other thread's element.
        unsafe {
            let c = batch::c::<f32, f32>(params);
            let c = GlobalMut::new_with(c, || span_elems(self.outputs as usize, 1, self.c_stride));
            let source = c.get_if(inside && params.beta != 0.0, index, 0.0);
            let value = linear_combination(params.alpha, acc[0][0], params.beta, || source);
            c.set_if(inside, index, || value);
        }
    }
}

/// K-major matrix, loaded in vectors of `V` elements: 4 or 1.
///
/// # Safety
/// As for the entry points.
#[inline(always)]
unsafe fn k_major<const V: usize, const C_IS_COLUMN: bool>(params: &GemmParams<f32>) {
    // SAFETY: the caller's promise.
    let problem = unsafe { Problem::new::<C_IS_COLUMN>(Major::K, params) };
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / 32, t % 32);
    let output = problem.tile * MatrixVectorTile::outputs(Major::K) + warp;
    // A warp without an output reads the last row: all its lanes take part in the reduction.
    let row = output.min(problem.outputs - 1) as usize * problem.ld;
    let step = 32 * V as u32;
    let from_vector = |k: u32| -> [f32; V] {
        let first = k as usize * problem.vector_stride;
        // SAFETY: elements along K of the split.
        unsafe {
            if problem.vector_stride == 1 {
                load::<V>(problem.vector, first)
            } else {
                core::array::from_fn(|i| problem.vector.get(first + i * problem.vector_stride))
            }
        }
    };
    let mut acc = [0.0; V];
    let mut fma = |row: [f32; V], vector: [f32; V]| {
        for i in 0..V {
            acc[i] += row[i] * vector[i];
        }
    };
    let mut k = problem.k_begin + lane * V as u32;
    while k + (AHEAD as u32 - 1) * step < problem.k_end {
        let mut loaded = [[0.0; V]; AHEAD];
        unrolled!(AHEAD, at most 8, |i| {
            // SAFETY: elements of a row.
            loaded[i] = unsafe { load::<V>(problem.matrix, row + (k + i as u32 * step) as usize) };
        });
        unrolled!(AHEAD, at most 8, |i| fma(loaded[i], from_vector(k + i as u32 * step)));
        k += AHEAD as u32 * step;
    }
    while k < problem.k_end {
        // SAFETY: elements of a row; K is whole vectors.
        let loaded = unsafe { load::<V>(problem.matrix, row + k as usize) };
        fma(loaded, from_vector(k));
        k += step;
    }
    let mut sum = acc.iter().sum::<f32>();
    unrolled!(5_u32, at most 8, |i| {
        // SAFETY: all lanes are here.
        sum += unsafe { warp_shuffle_xor(u32::MAX, sum, 16 >> i, 32) }.0;
    });
    // SAFETY: the caller's promise; the first lane of each warp has its output.
    unsafe { problem.store(Major::K, sum, (lane == 0).then_some(warp), params) };
}

/// MN-major matrix, loaded in vectors of `V` elements, 4 or 1: `4 / V` loads per lane.
///
/// # Safety
/// As for the entry points; `warps` holds 128 elements for each warp, in this CTA's shared memory.
#[inline(always)]
unsafe fn mn_major<const V: usize, const C_IS_COLUMN: bool>(params: &GemmParams<f32>, warps: Shared<f32>) {
    const LOADS: [usize; 2] = [MatrixVectorTile::LANE_OUTPUTS as usize, 1];
    // SAFETY: the caller's promise.
    let problem = unsafe { Problem::new::<C_IS_COLUMN>(Major::Mn, params) };
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / 32, t % 32);
    let first = problem.tile * MatrixVectorTile::outputs(Major::Mn);
    let loads = const { if V == 1 { LOADS[0] } else { LOADS[1] } };
    // The outputs of a lane: 4 neighbors, or 4 that are 32 apart.
    let output_of = |load: usize| first + lane * V as u32 + load as u32 * 32;
    let mut acc = [0.0; 4];
    let row = |k: u32| -> [f32; 4] {
        let mut elements = [0.0; 4];
        let start = k as usize * problem.ld;
        unrolled!(loads, at most 8, |load| {
            // Outputs past the last are read as the last ones; their results are never stored.
            let output = output_of(load).min(problem.outputs - V as u32) as usize;
            // SAFETY: elements of a row of the matrix.
            let loaded = unsafe { self::load::<V>(problem.matrix, start + output) };
            for i in 0..V {
                elements[load * V + i] = loaded[i];
            }
        });
        elements
    };
    // SAFETY: an element along K of the split.
    let from_vector = |k: u32| unsafe { problem.vector.get(k as usize * problem.vector_stride) };
    let mut fma = |elements: [f32; 4], factor: f32| {
        for i in 0..4 {
            acc[i] += elements[i] * factor;
        }
    };
    let mut k = problem.k_begin + warp;
    while k + (AHEAD as u32 - 1) * MatrixVectorTile::WARPS < problem.k_end {
        let mut rows = [[0.0; 4]; AHEAD];
        let mut factors = [0.0; AHEAD];
        unrolled!(AHEAD, at most 8, |i| {
            rows[i] = row(k + i as u32 * MatrixVectorTile::WARPS);
            factors[i] = from_vector(k + i as u32 * MatrixVectorTile::WARPS);
        });
        unrolled!(AHEAD, at most 8, |i| fma(rows[i], factors[i]));
        k += AHEAD as u32 * MatrixVectorTile::WARPS;
    }
    while k < problem.k_end {
        fma(row(k), from_vector(k));
        k += MatrixVectorTile::WARPS;
    }
    let outputs = MatrixVectorTile::outputs(Major::Mn);
    // SAFETY: the warp's 128 elements.
    unsafe {
        unrolled!(loads, at most 8, |load| {
            for i in 0..V {
                let output = output_of(load) + i as u32 - first;
                warps.set((warp * outputs + output) as usize, acc[load * V + i]);
            }
        });
    }
    // RAW: the accumulators of all warps are written.
    thread::sync_threads();
    let mut sum = 0.0;
    let own = t % outputs;
    unrolled!(MatrixVectorTile::WARPS, at most 8, |warp| {
        // SAFETY: an output of the tile.
        sum += unsafe { warps.get((warp * outputs + own) as usize) };
    });
    // SAFETY: the caller's promise; the first 128 threads have the outputs.
    unsafe { problem.store(Major::Mn, sum, (t < outputs).then_some(t), params) };
}

/// Loads `V` elements, 4 or 1, in one access.
///
/// # Safety
/// They are in the view; the address of the first is a multiple of their bytes.
#[inline(always)]
unsafe fn load<const V: usize>(from: Global<f32>, index: usize) -> [f32; V] {
    let mut elements = [0.0; V];
    // SAFETY: the caller's promise.
    unsafe {
        if const { V == 4 } {
            elements.copy_from_slice(&from.get_vec::<4>(index));
        } else {
            elements[0] = from.get(index);
        }
    }
    elements
}

/// The shared memory of [`mn_major`].
#[inline(always)]
fn warp_accumulators() -> Shared<f32> {
    const ELEMS: usize = MatrixVectorTile::static_bytes(Major::Mn).get() as usize / size_of::<f32>();
    let warps = shared_array![f32; ELEMS];
    // SAFETY: an array of so many elements.
    unsafe { Shared::new(warps, ELEMS) }
}

macro_rules! entry_points {
    ($($symbol:ident: $major:ident, $elems:literal;)*) => {
        $(
            #[doc = concat!("The matrix is ", stringify!($major), ", loaded in vectors of ", stringify!($elems), ".")]
            ///
            /// # Safety
            /// Operands as `params` describes them in the form of [`matrix_vector::args`], the matrix with this major,
            /// rows and address multiples of the vector's bytes; grid and CTA of the plan; workspace and counters as
            /// [`reduce`] asks for.
            #[kernel(max_threads = MatrixVectorTile::THREADS, min_blocks = MatrixVectorTile::MIN_BLOCKS)]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<f32>) {
                // SAFETY: the caller's promise; the array has the elements that the body asks for.
                unsafe {
                    if params.n == 1 {
                        entry_points!(@body $major, $elems, true)(params);
                    } else {
                        entry_points!(@body $major, $elems, false)(params);
                    }
                }
            }
        )*
    };
    (@body KMajor, $elems:literal, $column:literal) => { k_major::<$elems, $column> };
    (@body MnMajor, $elems:literal, $column:literal) => {
        |params| mn_major::<$elems, $column>(params, warp_accumulators())
    };
}

tilewright_contract::matrix_vector_kernels!(entry_points);
