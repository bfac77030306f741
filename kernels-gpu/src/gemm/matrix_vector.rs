//! C of one column or one row.
//!
//! ```text
//! lines along K in memory:  each warp has a line       lines across K:  each lane has 4 lines, each warp every 8th k
//!     sum += line[k] * vector[k], lanes along K            sums += matrix[k][lines] * vector[k], 8 rows loaded ahead
//!     sum over the lanes, by shuffles                      sums over the warps, through shared memory
//! C = alpha * sum + beta * C
//! ```
//!
//! Nothing is used twice, so nothing is worth a place in shared memory. A tile of 32
//! columns would multiply 31 times for nothing; here the time is that of reading the matrix once. What counts is that
//! enough loads are under way: by Little's law 4.8 TB/s times 0.7 us are 25 KB a multiprocessor. A thread loads 8
//! vectors of 16 bytes before it uses the first, 32 KiB a block of 256 threads. `min_blocks` keeps `ptxas` to that: by
//! itself it puts each product behind its load, in 32 registers, so that the multiprocessor could hold 8 blocks, of
//! which there are not so many.
//!
//! Shapes (elements): the matrix has `lines` lines of `k` elements ([`LineTile`] says which operand it is). Where few
//! lines leave SMs idle, K is split, as in [`simt`](super::simt).
//!
//! Prediction on an H200 at 4096 x 1 x 4096: 67 MB at 4.0 TB/s are 17 us and a launch of 2 us, against 57 us of a
//! tile of [`simt`](super::simt) and 21 us of cuBLAS. 1 x 4096 x 4096: the same and 1 to 2 us for the reduction.

use cuda_std::warp::warp_shuffle_xor;
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};
#[cfg(doc)]
use tilewright_contract::family::matrix_vector;
use tilewright_contract::{GemmParams, LineTile, Major, span_elems};

use crate::block::split_k::{Share, WholeCta, reduce};
use crate::block::unroll::unrolled;

const AHEAD: usize = LineTile::AHEAD as usize;

/// A product of a matrix with a vector.
#[derive(Clone, Copy)]
struct Problem {
    matrix: Global<f32>,
    /// Elements from a row in memory to the next, whether that is a line or an element of each.
    ld: usize,
    lines: u32,
    vector: Global<f32>,
    vector_stride: usize,
    c: GlobalMut<f32>,
    c_stride: usize,
    /// This block's tile and slice.
    share: Share,
    /// The elements along K of the slice.
    k_begin: u32,
    k_end: u32,
}

impl Problem {
    /// Of this block.
    ///
    /// # Safety
    /// The operands are as `params` describes them, in the form of `matrix_vector::args`; the matrix is stored as
    /// `major` says, and C is a column exactly where `C_IS_COLUMN`: not a choice at run time, of which LLVM would make
    /// one pointer that may be A or B, and so lie in any state space.
    #[inline(always)]
    unsafe fn new<const C_IS_COLUMN: bool>(major: Major, params: &GemmParams<f32>) -> Self {
        let args = params.args();
        let k = args.k as usize;
        let (matrix, ld, lines, vector, vector_stride, c_stride) = if C_IS_COLUMN {
            (
                params.a,
                args.lda,
                args.m,
                params.b,
                args.ldb as usize,
                args.ldc as usize,
            )
        } else {
            (params.b, args.ldb, args.n, params.a, args.lda as usize, 1)
        };
        let tiles = lines.div_ceil(LineTile::lines(major));
        let block = thread::block_idx_x();
        let (slice, tile_of_c) = (block / tiles.max(1), block % tiles.max(1));
        let k_begin = slice * params.k_per_split;
        let span = || match major {
            Major::K => span_elems(lines as usize, k, ld as usize),
            Major::Mn => span_elems(k, lines as usize, ld as usize),
        };
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                matrix: Global::new_with(matrix, span),
                ld: ld as usize,
                lines,
                vector: Global::new_with(vector, || span_elems(k, 1, vector_stride)),
                vector_stride,
                c: GlobalMut::new_with(params.c, || span_elems(lines as usize, 1, c_stride)),
                c_stride,
                share: Share {
                    tile: tile_of_c,
                    tiles,
                    slice,
                    slices: params.splits,
                    threads: LineTile::THREADS,
                },
                k_begin,
                k_end: args.k.min(k_begin + params.k_per_split),
            }
        }
    }

    /// This thread's sum meets those of the other slices; the block that has all stores them: a thread its line's,
    /// where it has one.
    ///
    /// # Safety
    /// The operands are as `params` describes them. Every thread of the block calls this; no two have one line.
    #[inline(always)]
    unsafe fn store(self, sum: f32, line: Option<u32>, params: &GemmParams<f32>) {
        let mut sums = [[sum]];
        // SAFETY: the caller's promise.
        if params.splits > 1 && !unsafe { reduce(&WholeCta, &mut sums, self.share, params) } {
            return;
        }
        let inside = line.is_some_and(|line| line < self.lines);
        let index = || line.unwrap_or(0) as usize * self.c_stride;
        // SAFETY: inside C, and no other thread's element.
        unsafe {
            let before = self.c.get_if(inside && params.beta != 0.0, index, 0.0);
            let product = params.alpha * sums[0][0];
            let added = if params.beta == 0.0 {
                product
            } else {
                product + params.beta * before
            };
            self.c.set_if(inside, index, || added);
        }
    }
}

/// Lines whose elements are neighbours in memory, loaded in vectors of `V`: 4 or 1.
///
/// # Safety
/// As for the entry points.
#[inline(always)]
unsafe fn k_major<const V: usize, const C_IS_COLUMN: bool>(params: &GemmParams<f32>) {
    // SAFETY: the caller's promise.
    let problem = unsafe { Problem::new::<C_IS_COLUMN>(Major::K, params) };
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / 32, t % 32);
    let line = problem.share.tile * LineTile::lines(Major::K) + warp;
    // A warp without a line reads the last one: all lanes take part in what follows.
    let row = line.min(problem.lines - 1) as usize * problem.ld;
    let step = 32 * V as u32;
    let from_vector = |k: u32| -> [f32; V] {
        let first = k as usize * problem.vector_stride;
        // SAFETY: elements along K of the slice.
        unsafe {
            if problem.vector_stride == 1 {
                load::<V>(problem.vector, first)
            } else {
                core::array::from_fn(|i| problem.vector.get(first + i * problem.vector_stride))
            }
        }
    };
    let mut sums = [0.0; V];
    let mut multiply = |line: [f32; V], vector: [f32; V]| {
        for i in 0..V {
            sums[i] += line[i] * vector[i];
        }
    };
    let mut k = problem.k_begin + lane * V as u32;
    while k + (AHEAD as u32 - 1) * step < problem.k_end {
        let mut loaded = [[0.0; V]; AHEAD];
        unrolled!(AHEAD, at most 8, |i| {
            // SAFETY: elements of a line.
            loaded[i] = unsafe { load::<V>(problem.matrix, row + (k + i as u32 * step) as usize) };
        });
        unrolled!(AHEAD, at most 8, |i| multiply(loaded[i], from_vector(k + i as u32 * step)));
        k += AHEAD as u32 * step;
    }
    while k < problem.k_end {
        // SAFETY: elements of a line; of vectors K has whole ones.
        let loaded = unsafe { load::<V>(problem.matrix, row + k as usize) };
        multiply(loaded, from_vector(k));
        k += step;
    }
    let mut sum = sums.iter().sum::<f32>();
    unrolled!(5_u32, at most 8, |i| {
        // SAFETY: all lanes are here.
        sum += unsafe { warp_shuffle_xor(u32::MAX, sum, 16 >> i, 32) }.0;
    });
    // SAFETY: the caller's promise; the first lane of each warp has its line.
    unsafe { problem.store(sum, (lane == 0).then_some(line), params) };
}

/// Lines whose neighbours are neighbours in memory, loaded in vectors of `V`, 4 or 1, by `4 / V` loads of a lane.
///
/// # Safety
/// As for the entry points; `warps` holds 128 elements for each warp, in this block's shared memory.
#[inline(always)]
unsafe fn mn_major<const V: usize, const C_IS_COLUMN: bool>(params: &GemmParams<f32>, warps: Shared<f32>) {
    const LOADS: [usize; 2] = [LineTile::LANE_LINES as usize, 1];
    // SAFETY: the caller's promise.
    let problem = unsafe { Problem::new::<C_IS_COLUMN>(Major::Mn, params) };
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / 32, t % 32);
    let first = problem.share.tile * LineTile::lines(Major::Mn);
    let loads = const { if V == 1 { LOADS[0] } else { LOADS[1] } };
    // The lines of a lane: 4 neighbours, or 4 that are 32 apart.
    let line_of = |load: usize| first + lane * V as u32 + load as u32 * 32;
    let mut sums = [0.0; 4];
    let row = |k: u32| -> [f32; 4] {
        let mut elements = [0.0; 4];
        let start = k as usize * problem.ld;
        unrolled!(loads, at most 8, |load| {
            // Lines beyond the last are read as the last ones: what is computed from them is never stored.
            let line = line_of(load).min(problem.lines - V as u32) as usize;
            // SAFETY: elements of a row of the matrix.
            let loaded = unsafe { self::load::<V>(problem.matrix, start + line) };
            for i in 0..V {
                elements[load * V + i] = loaded[i];
            }
        });
        elements
    };
    // SAFETY: an element along K of the slice.
    let from_vector = |k: u32| unsafe { problem.vector.get(k as usize * problem.vector_stride) };
    let mut multiply = |elements: [f32; 4], factor: f32| {
        for i in 0..4 {
            sums[i] += elements[i] * factor;
        }
    };
    let mut k = problem.k_begin + warp;
    while k + (AHEAD as u32 - 1) * LineTile::WARPS < problem.k_end {
        let mut rows = [[0.0; 4]; AHEAD];
        let mut factors = [0.0; AHEAD];
        unrolled!(AHEAD, at most 8, |i| {
            rows[i] = row(k + i as u32 * LineTile::WARPS);
            factors[i] = from_vector(k + i as u32 * LineTile::WARPS);
        });
        unrolled!(AHEAD, at most 8, |i| multiply(rows[i], factors[i]));
        k += AHEAD as u32 * LineTile::WARPS;
    }
    while k < problem.k_end {
        multiply(row(k), from_vector(k));
        k += LineTile::WARPS;
    }
    let lines = LineTile::lines(Major::Mn);
    // SAFETY: the warp's 128 elements.
    unsafe {
        unrolled!(loads, at most 8, |load| {
            for i in 0..V {
                let line = line_of(load) + i as u32 - first;
                warps.set((warp * lines + line) as usize, sums[load * V + i]);
            }
        });
    }
    // RAW: the sums of all warps are there.
    thread::sync_threads();
    let mut sum = 0.0;
    let mine = t % lines;
    unrolled!(LineTile::WARPS, at most 8, |warp| {
        // SAFETY: a line of the tile.
        sum += unsafe { warps.get((warp * lines + mine) as usize) };
    });
    // SAFETY: the caller's promise; the first 128 threads have the lines.
    unsafe { problem.store(sum, (t < lines).then_some(first + t), params) };
}

/// `V` elements, 4 or 1, in one access.
///
/// # Safety
/// They lie in the view; the address of the first is a multiple of their bytes.
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
fn sums_of_warps() -> Shared<f32> {
    const ELEMS: usize = LineTile::static_bytes(Major::Mn).get() as usize / size_of::<f32>();
    let sums = shared_array![f32; ELEMS];
    // SAFETY: an array of so many elements.
    unsafe { Shared::new(sums, ELEMS) }
}

macro_rules! entry_points {
    ($($symbol:ident: $major:ident, $elems:literal;)*) => {
        $(
            #[doc = concat!("The matrix is ", stringify!($major), ", loaded in vectors of ", stringify!($elems), ".")]
            ///
            /// # Safety
            /// Operands as `params` describes them in the form of [`matrix_vector::args`], the matrix with this major,
            /// rows and address multiples of the vector's bytes; grid and block of the plan; workspace and counters as
            /// [`reduce`] asks for.
            #[kernel(max_threads = LineTile::THREADS, min_blocks = LineTile::MIN_BLOCKS)]
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
        |params| mn_major::<$elems, $column>(params, sums_of_warps())
    };
}

tilewright_contract::matrix_vector_kernels!(entry_points);
