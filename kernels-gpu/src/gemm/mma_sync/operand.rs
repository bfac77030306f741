//! How a block copies its part of A or B into a stage, and how a warp loads its fragments from there.
//!
//! The rows of A and the columns of B are here called lines. An operand lies in memory along K, line by line, or along
//! its lines, one k after the other; its part of a stage has the same rows, [`Swizzle`]d. `ldmatrix` gives the same
//! fragments from either, by the way of `.trans` from the second.

use bytemuck::Pod;
use cuda_views::{Global, Shared};
use tilewright_contract::{Swizzle, TensorTile, span_elems};

use crate::block::unroll::unrolled;
use crate::ptx::{async_copy, ldmatrix};

/// How an operand lies in global memory.
pub trait OperandMajor {
    /// Whether neighbours in memory are neighbours along K.
    const ALONG_K: bool;
}

/// Rows along K: A as it is, B transposed.
pub struct KMajor;

impl OperandMajor for KMajor {
    const ALONG_K: bool = true;
}

/// Rows along the lines: A transposed, B as it is.
pub struct MnMajor;

impl OperandMajor for MnMajor {
    const ALONG_K: bool = false;
}

/// Elements of a chunk.
const CHUNK: u32 = Swizzle::VECTOR;

/// One side of a tile.
#[derive(Clone, Copy)]
pub struct Side {
    lines: u32,
    k: u32,
    threads: u32,
}

impl Side {
    /// The rows of A.
    pub const fn a(tile: TensorTile) -> Self {
        Self {
            lines: tile.m,
            k: tile.k,
            threads: tile.threads(),
        }
    }

    /// The columns of B.
    pub const fn b(tile: TensorTile) -> Self {
        Self {
            lines: tile.n,
            k: tile.k,
            threads: tile.threads(),
        }
    }

    /// How its rows lie in a stage.
    const fn swizzle<L: OperandMajor>(self) -> Swizzle {
        Swizzle::of_row(if L::ALONG_K { self.k } else { self.lines })
    }

    /// Copies of one thread for one stage.
    const fn copies(self) -> u32 {
        self.lines * self.k / (self.threads * CHUNK)
    }

    /// Rows that the block copies at once.
    const fn pass<L: OperandMajor>(self) -> u32 {
        self.threads / self.swizzle::<L>().vectors()
    }
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

/// A thread's share of the copies of one side. What lies outside the operand becomes zeros.
pub struct Copier<T> {
    from: Global<T>,
    /// The element of the step that the first copy begins with.
    base: usize,
    /// Where that copy goes, from the start of the side.
    to: u32,
    ld: u32,
    /// The row of the first copy, and where in a row its chunk begins; both within the step.
    row: u32,
    column: u32,
    /// Lines of the operand from the tile's first one on.
    lines: u32,
}

impl<T: Pod> Copier<T> {
    /// Of thread `t`, for the tile whose first line is `first`, of an operand of `lines` lines with rows `ld` apart.
    #[inline(always)]
    pub fn new<L: OperandMajor>(from: Global<T>, side: Side, t: u32, first: u32, lines: u32, ld: u32) -> Self {
        let swizzle = side.swizzle::<L>();
        let (row, chunk) = (t / swizzle.vectors(), t % swizzle.vectors());
        let column = chunk * CHUNK;
        let base = if L::ALONG_K {
            (first + row) as usize * ld as usize + column as usize
        } else {
            row as usize * ld as usize + (first + column) as usize
        };
        Self {
            from,
            base,
            to: swizzle.elem(row, chunk),
            ld,
            row,
            column,
            lines: lines - first,
        }
    }

    /// Starts the copies of a step into `to`, the side's part of a stage. Of the step, `left` elements along K are
    /// left. `WHOLE`: every chunk is either all inside the operand or all outside ([`are_whole`]). Chunks that may be
    /// neither cost three or four instructions more each.
    ///
    /// # Safety
    /// As for [`async_copy::copy`]: nobody uses the side until this thread has waited. `from` is the operand that `new`
    /// was told of, and its rows begin at multiples of 16 bytes.
    #[inline(always)]
    pub unsafe fn copy<L: OperandMajor, const WHOLE: bool>(&self, side: Side, to: Shared<T>, left: u32) {
        let pass = side.pass::<L>();
        let (rows, columns) = if L::ALONG_K {
            (self.lines, left)
        } else {
            (left, self.lines)
        };
        unrolled!(side.copies(), at most 16, |number| {
            let valid = if self.row + number * pass >= rows {
                0
            } else if WHOLE {
                if self.column < columns { CHUNK } else { 0 }
            } else {
                columns.saturating_sub(self.column).min(CHUNK)
            };
            // SAFETY: the caller's promise; of the elements from there on, `valid` are in the operand.
            unsafe {
                async_copy::copy::<T, { CHUNK as usize }>(
                    to,
                    self.to + number * pass * side.swizzle::<L>().row_elems(),
                    self.from,
                    || self.base + (number * pass * self.ld) as usize,
                    valid,
                );
            }
        });
    }

    /// On to the next step.
    #[inline(always)]
    pub fn advance<L: OperandMajor>(&mut self, side: Side) {
        self.base += side.k as usize * if L::ALONG_K { 1 } else { self.ld as usize };
    }
}

/// Whether an operand of so many lines and elements along K is made of whole chunks.
#[inline(always)]
pub fn are_whole<L: OperandMajor>(lines: u32, k: u32) -> bool {
    let columns = if L::ALONG_K { k } else { lines };
    columns.is_multiple_of(CHUNK)
}

/// A lane's part in loading the fragments of its warp.
#[derive(Clone, Copy)]
pub struct Reader {
    /// The element, from the start of the side, of the row that the lane brings for the first piece.
    base: u32,
}

impl Reader {
    /// Of a warp whose part of A begins with row `first`, a multiple of the rows of a warp.
    #[inline(always)]
    pub fn of_a<L: OperandMajor>(side: Side, first: u32, lane: u32) -> Self {
        Self::new::<L>(side, first, lane / 8 % 2, lane / 16, lane % 8)
    }

    /// Of a warp whose part of B begins with column `first`, a multiple of the columns of a warp.
    #[inline(always)]
    pub fn of_b<L: OperandMajor>(side: Side, first: u32, lane: u32) -> Self {
        Self::new::<L>(side, first, lane / 16, lane / 8 % 2, lane % 8)
    }

    /// Of a lane that brings row `row` of a matrix of a piece: of its first or last 8 lines (`line` 0 or 1), of its
    /// first or last 8 elements along K.
    #[inline(always)]
    fn new<L: OperandMajor>(side: Side, first: u32, line: u32, k: u32, row: u32) -> Self {
        let swizzle = side.swizzle::<L>();
        let base = if L::ALONG_K {
            swizzle.elem(first + 8 * line + row, k)
        } else {
            swizzle.elem(8 * k + row, first / CHUNK + line)
        };
        Self { base }
    }

    /// Loads a piece of 16 lines and 16 elements along K from `from`, the side's part of a stage: number `piece` of the
    /// warp's lines, `kk` of the step. Of A it is a fragment; of B the one of its first 8 columns and then that of the
    /// others.
    ///
    /// # Safety
    /// As for [`ldmatrix::load`]: the side is filled, and the whole warp is here.
    #[inline(always)]
    pub unsafe fn load<T: Pod, L: OperandMajor>(self, side: Side, from: Shared<T>, piece: u32, kk: u32) -> [u32; 4] {
        const PIECE: u32 = TensorTile::MMA_ATOM;
        let row_elems = side.swizzle::<L>().row_elems();
        // Two chunks further in the row: a bit of the chunk's number, which the swizzle leaves as it is or turns over.
        // SAFETY: the caller's promise.
        unsafe {
            if L::ALONG_K {
                ldmatrix::load::<T, 4>(from, (self.base ^ (kk * PIECE)) + piece * (PIECE * row_elems))
            } else {
                ldmatrix::load_transposed::<T, 4>(from, (self.base ^ (piece * PIECE)) + kk * (PIECE * row_elems))
            }
        }
    }
}
