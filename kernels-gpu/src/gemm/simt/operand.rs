//! How a block copies its part of A or B into a stage.
//!
//! Whatever way an operand lies in global memory, in shared memory it is `k` rows of the tile's rows (of A) or columns
//! (of B), here called lines. Along which of the two its elements are neighbours decides how a thread copies: along K
//! one element at a time, each to another row; along the lines four at once, where the addresses allow it.

use cuda_views::{Global, Shared};
use tilewright_contract::{BlockTile, span_elems};

use crate::block::unroll::unrolled;
use crate::ptx::async_copy;

/// One side of a tile: how many lines, and how they lie in shared memory.
#[derive(Clone, Copy)]
pub struct Side {
    lines: u32,
    pitch: u32,
    k: u32,
    threads: u32,
}

impl Side {
    /// The rows of A.
    pub const fn a(tile: BlockTile) -> Self {
        Self {
            lines: tile.m,
            pitch: tile.a_pitch(),
            k: tile.k,
            threads: tile.threads(),
        }
    }

    /// The columns of B.
    pub const fn b(tile: BlockTile) -> Self {
        Self {
            lines: tile.n,
            pitch: tile.b_pitch(),
            k: tile.k,
            threads: tile.threads(),
        }
    }
}

/// How an operand lies in global memory.
pub trait OperandMajor {
    /// Elements of one copy.
    const VECTOR: u32;
    /// Whether neighbours in memory are neighbours along K.
    const ALONG_K: bool;
}

/// Rows along K, as A lies untransposed and B transposed. 8 lanes take 8 elements of a row, 32 bytes: a sector.
pub struct KMajor;

impl OperandMajor for KMajor {
    const VECTOR: u32 = 1;
    const ALONG_K: bool = true;
}

/// Rows along the lines, as A lies transposed and B untransposed. `VECTOR` elements a copy, 1 or 4.
pub struct MnMajor<const VECTOR: u32>;

impl<const VECTOR: u32> OperandMajor for MnMajor<VECTOR> {
    const VECTOR: u32 = VECTOR;
    const ALONG_K: bool = false;
}

/// Elements of a whole operand, from its first to its last.
#[inline(always)]
pub fn span<L: OperandMajor>(lines: u32, k: u32, ld: u32) -> usize {
    let (lines, k, ld) = (lines as usize, k as usize, ld as usize);
    if L::ALONG_K {
        span_elems(lines, k, ld)
    } else {
        span_elems(k, lines, ld)
    }
}

/// Copies of one thread for one stage.
pub const fn copies<L: OperandMajor>(side: Side) -> u32 {
    side.lines * side.k / (side.threads * L::VECTOR)
}

/// Lanes that take neighbours along K where these are neighbours in memory.
const LANES_K: u32 = 8;

/// Passes through the lines, at most: their offsets are kept in registers.
const MAX_PASSES: usize = 8;

/// Where an operand is in a product.
#[derive(Clone, Copy)]
pub struct Position {
    /// The tile's first line.
    pub first: u32,
    /// Lines of the whole operand.
    pub lines: u32,
    /// Elements from one row in memory to the next.
    pub ld: u32,
    /// The first element along K.
    pub k: u32,
}

/// A thread's share of the copies of one side.
///
/// Lines beyond the operand's last are read as its last ones: what is computed from them is never stored. Beyond the
/// end of K there are zeros, which count in every sum.
pub struct Part {
    from: Global<f32>,
    /// The first element of the step.
    base: usize,
    /// From there to the line of each pass.
    offsets: [u32; MAX_PASSES],
    ld: u32,
    /// This thread's first line and its first element along K, within the tile.
    line: u32,
    k: u32,
}

impl Part {
    /// Of thread `t`.
    ///
    /// # Safety
    /// `from` is the operand that `position` describes; the tile's first line and the first element along K lie in it,
    /// or K is empty.
    #[inline(always)]
    pub unsafe fn new<L: OperandMajor>(from: Global<f32>, side: Side, t: u32, position: Position) -> Self {
        let Position {
            first,
            lines,
            ld,
            k: k_first,
        } = position;
        let mut offsets = [0; MAX_PASSES];
        let (line, k, base);
        if L::ALONG_K {
            line = t / LANES_K;
            k = t % LANES_K;
            base = first as usize * ld as usize + (k_first + k) as usize;
            unrolled!(MAX_PASSES, at most 8, |pass| {
                offsets[pass] = (line + pass as u32 * (side.threads / LANES_K)).min(lines - 1 - first) * ld;
            });
        } else {
            let row = side.lines / L::VECTOR;
            line = t % row * L::VECTOR;
            k = t / row;
            base = (k_first + k) as usize * ld as usize + (first + line).min(lines - L::VECTOR) as usize;
        }
        Self {
            from,
            base,
            offsets,
            ld,
            line,
            k,
        }
    }

    /// Starts copy `number` of a step into the stage at `to`, of which `left` elements along K are left.
    ///
    /// # Safety
    /// As for [`async_copy::copy`]: the stage lies in `ring`, and nobody uses it until this thread has waited.
    #[inline(always)]
    pub unsafe fn copy<L: OperandMajor>(&self, side: Side, ring: Shared<f32>, to: u32, number: u32, left: u32) {
        let (line, k, from);
        if L::ALONG_K {
            let parts = side.k / LANES_K;
            let pass = (number / parts) as usize;
            let further = number % parts * LANES_K;
            line = self.line + pass as u32 * (side.threads / LANES_K);
            k = self.k + further;
            from = self.base + self.offsets[pass] as usize + further as usize;
        } else {
            let rows = side.threads * L::VECTOR / side.lines;
            line = self.line;
            k = self.k + number * rows;
            from = self.base + (number * rows * self.ld) as usize;
        }
        let to = to + k * side.pitch + line;
        let inside = k < left;
        // SAFETY: the caller's promise for the stage. Inside K the element is one of the operand's: its line was
        // clamped to the last one.
        unsafe {
            match L::VECTOR {
                4 => async_copy::copy::<f32, 4>(ring, to, self.from, || from, if inside { 4 } else { 0 }),
                _ => async_copy::copy::<f32, 1>(ring, to, self.from, || from, if inside { 1 } else { 0 }),
            }
        }
    }

    /// On to the next step.
    #[inline(always)]
    pub fn advance<L: OperandMajor>(&mut self, side: Side) {
        self.base += side.k as usize * if L::ALONG_K { 1 } else { self.ld as usize };
    }
}
