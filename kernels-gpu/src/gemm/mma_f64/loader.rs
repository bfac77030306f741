//! Loads of A and B into a stage, and of fragments from there.
//!
//! The part of an operand in a stage has the rows that the operand has in memory, [swizzled](F64Tile::swizzled): along
//! K if it is K-major, along M or N, here `mn`, if it is MN-major.

use cuda_views::{Global, Shared};
use tilewright_contract::F64Tile;

use crate::block::major::{OperandMajor, k_tile_elems};
use crate::block::unroll::unrolled;
use crate::ptx::async_copy;

/// Operand tile: the part of A or B in a stage.
#[derive(Clone, Copy)]
pub struct OperandTile {
    mn: u32,
    k: u32,
    threads: u32,
}

impl OperandTile {
    /// Of A.
    pub const fn a(tile: F64Tile) -> Self {
        Self {
            mn: tile.m,
            k: tile.k,
            threads: tile.threads(),
        }
    }

    /// Of B.
    pub const fn b(tile: F64Tile) -> Self {
        Self {
            mn: tile.n,
            k: tile.k,
            threads: tile.threads(),
        }
    }

    /// Elements of a row.
    const fn row<L: OperandMajor>(self) -> u32 {
        if L::MAJOR.is_k() { self.k } else { self.mn }
    }

    /// Rows that the CTA loads at once.
    const fn pass<L: OperandMajor>(self) -> u32 {
        let loads_of_row = self.row::<L>() / L::VECTOR;
        assert!(self.threads.is_multiple_of(loads_of_row), "whole rows");
        self.threads / loads_of_row
    }

    /// Loads of one thread per stage.
    const fn loads<L: OperandMajor>(self) -> u32 {
        self.mn * self.k / (self.threads * L::VECTOR)
    }
}

/// Loads of one thread from one operand. Elements outside the operand become zeros.
pub struct GmemLoader {
    from: Global<f64>,
    /// First element of the k-tile's first load.
    base: usize,
    ld: u32,
    /// Row and column of the first load, within the k-tile.
    row: u32,
    column: u32,
    /// Extent of the operand along M or N, from the tile's start.
    mn: u32,
}

impl GmemLoader {
    /// Loader of thread `t`, for a tile that starts at row (of A) or column (of B) `first` of `mn`, and at `k`.
    #[inline(always)]
    pub fn new<L: OperandMajor>(
        from: Global<f64>,
        tile: OperandTile,
        t: u32,
        [first, mn, ld]: [u32; 3],
        k: u32,
    ) -> Self {
        let loads_of_row = tile.row::<L>() / L::VECTOR;
        let (row, column) = (t / loads_of_row, t % loads_of_row * L::VECTOR);
        let base = if const { L::MAJOR.is_k() } {
            (first + row) as usize * ld as usize + (k + column) as usize
        } else {
            (k + row) as usize * ld as usize + (first + column) as usize
        };
        Self {
            from,
            base,
            ld,
            row,
            column,
            mn: mn - first,
        }
    }

    /// Starts the loads of a k-tile into `to`, its part of a stage; `left` elements along K are left.
    ///
    /// # Safety
    /// As for [`async_copy::copy`]: nobody uses `to` until this thread has waited. `from` is the operand that `new` was
    /// told of; each load is inside it or outside.
    #[inline(always)]
    pub unsafe fn load<L: OperandMajor>(&self, tile: OperandTile, to: Shared<f64>, left: u32) {
        let pass = tile.pass::<L>();
        let (rows, columns) = if const { L::MAJOR.is_k() } {
            (self.mn, left)
        } else {
            (left, self.mn)
        };
        unrolled!(tile.loads::<L>(), at most 16, |number| {
            let row = self.row + number * pass;
            let to_index = row * tile.row::<L>() + (self.column ^ F64Tile::swizzled(row));
            let inside = row < rows && self.column < columns;
            let from_index = || self.base + (number * pass * self.ld) as usize;
            // SAFETY: the caller's promise.
            unsafe {
                match L::VECTOR {
                    2 => async_copy::copy::<f64, 2>(to, to_index, self.from, from_index, if inside { 2 } else { 0 }),
                    _ => async_copy::copy::<f64, 1>(to, to_index, self.from, from_index, u32::from(inside)),
                }
            }
        });
    }

    /// Advances to the next k-tile.
    #[inline(always)]
    pub fn advance<L: OperandMajor>(&mut self, tile: OperandTile) {
        self.base += k_tile_elems::<L>(tile.k, self.ld);
    }
}

/// Loads a lane's fragments from an operand tile, element by element: the registers of an `mma` are neighbors, which
/// the halves of vectors would have to be moved to.
#[derive(Clone, Copy)]
pub struct FragmentLoader {
    /// Its first element, from the start of the operand tile.
    base: u32,
}

impl FragmentLoader {
    /// Of a warp whose part of the operand starts at row (of A) or column (of B) `first`, a multiple of 16.
    #[inline(always)]
    pub fn new<L: OperandMajor>(tile: OperandTile, first: u32, lane: u32) -> Self {
        let (mn, k) = (lane / 4, lane % 4);
        let base = if const { L::MAJOR.is_k() } {
            (first + mn) * tile.k + (k ^ F64Tile::swizzled(mn))
        } else {
            k * tile.mn + first + (mn ^ F64Tile::swizzled(k))
        };
        Self { base }
    }

    /// Loads the element of the lane in the `eight`th eight rows (of A) or columns (of B) of the warp and the `four`th
    /// four k of the k-tile: row or column `lane / 4` and k `lane % 4` of these.
    ///
    /// # Safety
    /// The stage of `from` is full; the element is inside the operand tile.
    #[inline(always)]
    pub unsafe fn load<L: OperandMajor>(self, tile: OperandTile, from: Shared<f64>, eight: u32, four: u32) -> f64 {
        // What the swizzle keeps or flips is XORed.
        let index = if const { L::MAJOR.is_k() } {
            (self.base ^ (4 * four)) + 8 * eight * tile.k
        } else {
            (self.base ^ (8 * (eight % 2))) + 16 * (eight / 2) + 4 * four * tile.mn
        };
        // SAFETY: the caller's promise.
        unsafe { from.get(index as usize) }
    }
}
