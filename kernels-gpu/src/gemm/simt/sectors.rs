//! The body of kernels for K of one or two k-tiles, where the store of C takes the time: in whole sectors of 32 bytes,
//! wherever its rows begin. One product, alone: `C = A * B`.
//!
//! L2 takes a sector that is written in part for about twice as long as a whole one
//! (docs/decisions/0050-whole-sectors.md). So a tile stores other columns of each row of C: those of whole sectors,
//! which begin up to 7 elements, the row's shift, to the left of its own first column. `B_s` has a sector more in front
//! of the tile, where each row of C finds its columns at the same place less its shift; a warp has every eighth row,
//! since rows that are so many apart have the same shift whatever the leading dimension is. Tiles overlap in
//! [`BlockTile::SECTOR`] columns, and only the ends of a row of C are stored in part.
//!
//! ```text
//! for each k-tile, mostly one:
//!     chunks of 16 along K, no more than there are: all loads of a chunk, then its stores into the stage
//!     barrier                                                         RAW: the stage is full
//!     for each k, up to the end of K: acc += outer product of 8 rows of A and a lane's 4 columns of B, 32 apart
//!     barrier, if there is another k-tile                             WAR: the stage is drained
//! each lane: 4 elements of 8 rows of C, 32 apart
//! ```
//!
//! Three CTAs of an SM hide each other's loads and stores; with two stages there would be two.

use cuda_std::{shared, thread};
use cuda_views::{Global, GlobalMut, Shared};
use tilewright_contract::{BlockTile, GemmParams, overlapped_columns, span_elems};

use super::Tile;
use crate::block::major::{OperandMajor, span};
use crate::block::unroll::unrolled;
use crate::ptx::fma::fma;
use crate::ptx::optimization_barrier;

/// Elements of a sector, which are also the warps of a CTA and the rows of C of a warp.
const SECTOR: u32 = BlockTile::SECTOR;
const ROWS: usize = SECTOR as usize;
const THREADS: u32 = 32 * SECTOR;

/// Columns of C of a lane, 32 apart.
const COLUMNS: usize = 4;

/// Lanes with neighbors along K of a K-major operand.
const LANES_K: u32 = 8;

/// Elements along K that are loaded at once, in two groups: the second one is skipped where K ends before it.
const CHUNK: u32 = 16;
const GROUPS: u32 = 2;

/// From the rows of A, and the columns of B, of one pass over a K-major operand to those of the next: rows of A that
/// are neighbors in the stage are a sector apart in C.
const A_STEP: u32 = THREADS / LANES_K / ROWS as u32;
const B_STEP: u32 = THREADS / LANES_K;

/// Loads of a thread in a chunk, at most: of A, and of B with its sector in front.
const LOADS_A: usize = 4;
const LOADS_B: usize = 10;

/// The elements of an operand that a thread loads, and where they go: `LINES` rows of A or columns of B.
#[derive(Clone, Copy)]
struct Loader<const LOADS: usize, const LINES: u32> {
    from: Global<f32>,
    ld: u32,
    /// Rows of A, or columns of B.
    extent: u32,
    /// Elements from one row of the stage, along K, to the next.
    pitch: u32,
}

impl<const LOADS: usize, const LINES: u32> Loader<LOADS, LINES> {
    /// Rows or columns that a pass of the CTA over a K-major operand loads, and the number of passes.
    const LINES_OF_PASS: u32 = THREADS / LANES_K;
    const PASSES: u32 = LINES.div_ceil(Self::LINES_OF_PASS);

    /// Lanes along M or N of an MN-major operand, elements along K of a load of the CTA, and loads of each group.
    const ALONG: u32 = LINES / 32 * 32;
    /// The columns of B in front of the tile.
    const BEFORE: u32 = LINES - Self::ALONG;
    const K_OF_LOAD: u32 = THREADS / Self::ALONG;
    const LOADS_OF_GROUP: u32 = CHUNK / GROUPS / Self::K_OF_LOAD;

    /// Loads a chunk, from `k` on, of which `left` elements along K are inside, and stores it at `to`. `line` tells
    /// which row or column is at a place of the stage, columns counted from those in front of B on; in a pass over a
    /// K-major operand they are `step` further on. What is outside is loaded as 0.
    ///
    /// # Safety
    /// `from` is this operand. The stage is drained.
    #[inline(always)]
    unsafe fn copy<L: OperandMajor>(self, to: Shared<f32>, k: u32, left: u32, line: impl Fn(u32) -> u32, step: u32) {
        // Computed again for each chunk: kept, it would take registers from the accumulators.
        let t = thread::thread_idx_x() + optimization_barrier::zero();
        let ld = self.ld as usize;
        let mut held = [0.0_f32; LOADS];
        // SAFETY: it is called for elements inside.
        let load = |from: Global<f32>, is_inside: bool, index: usize| unsafe { from.get_if(is_inside, || index, 0.0) };
        // SAFETY: the caller's promise; each thread stores to places of its own.
        let store = |along_k: u32, at: u32, value: f32| unsafe { to.set((along_k * self.pitch + at) as usize, value) };
        let is_line = |line: u32| line.wrapping_sub(Self::BEFORE) < self.extent;
        if const { L::MAJOR.is_k() } {
            let (first, along_k) = (t / LANES_K, t % LANES_K);
            let line = line(first);
            let first_element = (line as usize * ld + (k + along_k) as usize).wrapping_sub(Self::BEFORE as usize * ld);
            let mut from = self.from.shifted(first_element);
            unrolled!(const Self::PASSES, |pass| {
                let is_line = is_line(line + pass * step);
                unrolled!(GROUPS, at most 2, |group| {
                    let is_inside = group * LANES_K + along_k < left && is_line;
                    held[(group * Self::PASSES + pass) as usize] = load(from, is_inside, (group * LANES_K) as usize);
                });
                from = from.shifted(step as usize * ld);
            });
            unrolled!(GROUPS, at most 2, |group| {
                if group * LANES_K < left {
                    unrolled!(const Self::PASSES, |pass| {
                        let at = first + pass * Self::LINES_OF_PASS;
                        if (pass + 1) * Self::LINES_OF_PASS <= LINES || at < LINES {
                            store(group * LANES_K + along_k, at, held[(group * Self::PASSES + pass) as usize]);
                        }
                    });
                }
            });
        } else {
            let (at, along_k) = (t % Self::ALONG, t / Self::ALONG);
            let index = |along_k: u32, line: u32| {
                ((k + along_k) as usize * ld + line as usize).wrapping_sub(Self::BEFORE as usize)
            };
            let mut from = index(along_k, line(at));
            let is_group = |group: u32| group * (CHUNK / GROUPS) < left;
            unrolled!(GROUPS, at most 2, |group| {
                if is_group(group) {
                    unrolled!(const Self::LOADS_OF_GROUP, |number| {
                        let number = group * Self::LOADS_OF_GROUP + number;
                        let is_inside = number * Self::K_OF_LOAD + along_k < left && is_line(line(at));
                        held[number as usize] = load(self.from, is_inside, from);
                        from = from.wrapping_add(Self::K_OF_LOAD as usize * ld);
                    });
                }
            });
            // The sector in front makes the columns of B as many more: each chunk's by half of the threads.
            let (last, of_last) = (Self::ALONG + t % SECTOR, t / SECTOR);
            let has_last = Self::BEFORE > 0 && of_last < CHUNK;
            if has_last {
                let is_inside = of_last < left && is_line(line(last));
                held[LOADS - 1] = load(self.from, is_inside, index(of_last, line(last)));
            }
            unrolled!(GROUPS, at most 2, |group| {
                if is_group(group) {
                    unrolled!(const Self::LOADS_OF_GROUP, |number| {
                        let number = group * Self::LOADS_OF_GROUP + number;
                        store(number * Self::K_OF_LOAD + along_k, at, held[number as usize]);
                    });
                }
            });
            if has_last {
                store(of_last, last, held[LOADS - 1]);
            }
        }
    }
}

/// Computes this CTA's tile of C.
///
/// # Safety
/// - The operands are as `params` describes them, A and B with majors `LA` and `LB`, in global memory. It is one
///   product, alone.
/// - The CTA has the tile's threads along x and the bytes of its stage; the grid covers the overlapping tiles along x.
#[inline(always)]
pub unsafe fn gemm<T: Tile, LA: OperandMajor, LB: OperandMajor>(params: &GemmParams<f32>) {
    const { assert!(T::TILE.sectors && T::TILE.threads() == THREADS && T::TILE.n == 32 * COLUMNS as u32) };
    const { assert!(T::TILE.m == SECTOR * ROWS as u32 && T::TILE.k.is_multiple_of(CHUNK)) };
    let tile = const { T::TILE };
    let args = params.args();
    // A CTA means that there are tiles. The maximum states it to the compiler, which would keep a panic otherwise.
    let tiles_n = overlapped_columns(args.n, SECTOR).div_ceil(tile.n).max(1);
    // Where this warp's rows are, and the tile's first column.
    let place = |zero: u32| {
        let (cta, t) = (thread::block_idx_x() + zero, thread::thread_idx_x() + zero);
        let (row, column) = (cta / tiles_n * tile.m, cta % tiles_n * tile.n);
        ([row, row + t / 32], column, t % 32)
    };
    let ([tile_row, row], column, lane) = place(0);
    let elems = const { T::TILE.stage_elems() as usize };
    // SAFETY: the allocation holds the stage, aligned for vectors; the matrices are as `params` says.
    let (stage, from_a, from_b, c) = unsafe {
        (
            Shared::new(shared::dynamic_shared_mem::<f32>(), elems),
            Global::new_with(params.a, || span::<LA>(args.m, args.k, args.lda)),
            Global::new_with(params.b, || span::<LB>(args.n, args.k, args.ldb)),
            GlobalMut::new_with(params.c, || {
                span_elems(args.m as usize, args.n as usize, args.ldc as usize)
            }),
        )
    };
    // SAFETY: each part begins inside the stage.
    let part = |from: u32| unsafe { stage.part(from as usize, elems - from as usize) };
    let loader_a = Loader::<LOADS_A, { SECTOR * ROWS as u32 }> {
        from: from_a,
        ld: args.lda,
        extent: args.m,
        pitch: tile.a_pitch(),
    };
    let loader_b = Loader::<LOADS_B, { 32 * COLUMNS as u32 + SECTOR }> {
        from: from_b,
        ld: args.ldb,
        extent: args.n,
        pitch: tile.b_pitch(),
    };
    // Rows of a warp are next to each other in the stage.
    let row_of = |at: u32| tile_row + at % const { ROWS as u32 } * SECTOR + at / const { ROWS as u32 };
    let column_of = |at: u32| column + at;

    // Elements from a multiple of 32 bytes to this warp's rows.
    let first = (params.c.addr() / 4) as u32;
    let shift_of = |row: u32| first.wrapping_add(row.wrapping_mul(args.ldc)) % SECTOR;
    let a_s = part((row - tile_row) * const { ROWS as u32 });
    let b_s = part(tile.a_elems() + SECTOR - shift_of(row) + lane);
    let mut acc = [[0.0_f32; COLUMNS]; ROWS];
    let mut k = 0;
    while k < args.k {
        let left = args.k - k;
        let end = left.min(tile.k);
        let mut at = 0;
        while at < end {
            // SAFETY: no thread reads the stage: at first nobody does, later the last barrier has drained it.
            unsafe {
                let (to_a, to_b) = (part(at * tile.a_pitch()), part(tile.a_elems() + at * tile.b_pitch()));
                loader_a.copy::<LA>(to_a, k + at, left - at, row_of, A_STEP);
                loader_b.copy::<LB>(to_b, k + at, left - at, column_of, B_STEP);
            }
            at += CHUNK;
        }
        // RAW: every thread has stored its elements of the k-tile.
        thread::sync_threads();
        let mut kk = 0;
        while kk < end {
            unrolled!(4, at most 4, |next| {
                let at = ((kk + next) * tile.a_pitch()) as usize;
                // SAFETY: the stage is full to a multiple of 4 along K; vectors begin at multiples of 4 elements.
                let (low, high) = unsafe { (a_s.get_vec::<4>(at), a_s.get_vec::<4>(at + 4)) };
                let at = ((kk + next) * tile.b_pitch()) as usize;
                // SAFETY: as above.
                let b = unsafe { [b_s.get(at), b_s.get(at + 32), b_s.get(at + 64), b_s.get(at + 96)] };
                let a = [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]];
                unrolled!(ROWS, at most 8, |i| {
                    unrolled!(COLUMNS, at most 4, |j| fma(&mut acc[i][j], a[i], b[j]));
                });
            });
            kk += 4;
        }
        k += tile.k;
        if k < args.k {
            // WAR: no thread reads this k-tile any more, whose place the next one takes.
            thread::sync_threads();
        }
    }

    // Computed again: kept since the start, they would take registers from the accumulators.
    let ([_, row], column, lane) = place(optimization_barrier::zero());
    // Counted from a sector before C on, since a row's first columns may be before it.
    let from = column + lane + SECTOR - shift_of(row);
    let mut index = (row as usize * args.ldc as usize + from as usize).wrapping_sub(SECTOR as usize);
    let inside = |j: u32| SECTOR <= from + 32 * j && from + 32 * j < args.n + SECTOR;
    let inside = [inside(0), inside(1), inside(2), inside(3)];
    let rows = (args.m - row.min(args.m)).div_ceil(SECTOR);
    unrolled!(ROWS, at most 8, |i| {
        if (i as u32) < rows {
            unrolled!(COLUMNS, at most 4, |j| {
                // SAFETY: inside C; the tile on the left stores the columns up to this row's first sector here.
                unsafe { c.set_if(inside[j], || index.wrapping_add(32 * j), || acc[i][j]) };
            });
            index = index.wrapping_add(SECTOR as usize * args.ldc as usize);
        }
    });
}
