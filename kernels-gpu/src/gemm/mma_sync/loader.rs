//! Loads of A and B into a stage, by `cp.async` or through registers, and of fragments from there.
//!
//! The part of an operand in a stage has the rows that the operand has in memory, [`Swizzle`]d: along K if it is
//! K-major, along M or N, here `mn`, if it is MN-major. `ldmatrix` loads the same fragments from either, with `.trans`
//! from the second.

use bytemuck::Pod;
use cuda_views::{Global, Shared};
use tilewright_contract::{Swizzle, TensorTile};

use crate::block::major::{OperandMajor, k_tile_elems};
use crate::block::unroll::unrolled;
use crate::ptx::mma::{FragmentA, FragmentB};
use crate::ptx::{async_copy, ldmatrix, partial_load};

/// Elements of a 16-byte vector.
const VECTOR: u32 = Swizzle::VECTOR;

/// Most vectors of a thread that [`GmemLoader::load_elements`] keeps in registers.
const REGISTER_VECTORS: usize = 4;

/// The vectors of one thread from a k-tile, in registers.
pub type Elements<T> = [[T; VECTOR as usize]; REGISTER_VECTORS];

/// Whether loads are of pairs.
const fn is_pairs<L: OperandMajor>() -> bool {
    L::VECTOR == 2
}

/// Operand tile: the part of A or B in a stage.
#[derive(Clone, Copy)]
pub struct OperandTile {
    mn: u32,
    k: u32,
    threads: u32,
}

impl OperandTile {
    /// Of A.
    pub const fn a(tile: TensorTile) -> Self {
        Self {
            mn: tile.m,
            k: tile.k,
            threads: tile.threads(),
        }
    }

    /// Of B.
    pub const fn b(tile: TensorTile) -> Self {
        Self {
            mn: tile.n,
            k: tile.k,
            threads: tile.threads(),
        }
    }

    /// Swizzle of its rows.
    const fn swizzle<L: OperandMajor>(self) -> Swizzle {
        Swizzle::of_row(if L::MAJOR.is_k() { self.k } else { self.mn })
    }

    /// Loads of one thread per stage.
    const fn loads<L: OperandMajor>(self) -> u32 {
        self.mn * self.k / (self.threads * if is_pairs::<L>() { 2 } else { VECTOR })
    }

    /// Whether [`Elements`] hold the vectors of one thread.
    pub const fn fits_in_registers(self) -> bool {
        self.mn * self.k <= self.threads * VECTOR * REGISTER_VECTORS as u32
    }

    /// Rows that the CTA loads at once.
    const fn pass<L: OperandMajor>(self) -> u32 {
        if is_pairs::<L>() {
            self.threads * 2 / self.swizzle::<L>().row_elems()
        } else {
            self.threads / self.swizzle::<L>().vectors()
        }
    }
}

/// Loads of one thread from one operand. Elements outside the operand become zeros.
pub struct GmemLoader<T> {
    from: Global<T>,
    /// First element of the k-tile's first load.
    base: usize,
    /// Its destination, from the start of the operand tile.
    to: u32,
    ld: u32,
    /// Row and column of the first load, within the k-tile.
    row: u32,
    column: u32,
    /// Extent of the operand along M or N, from the tile's start.
    mn: u32,
}

impl<T: Pod> GmemLoader<T> {
    /// Loader of thread `t`, for a tile that starts at row (of A) or column (of B) `first` of `mn`.
    #[inline(always)]
    pub fn new<L: OperandMajor>(from: Global<T>, tile: OperandTile, t: u32, first: u32, mn: u32, ld: u32) -> Self {
        let swizzle = tile.swizzle::<L>();
        let (row, vector, within) = if const { is_pairs::<L>() } {
            let lanes = swizzle.row_elems() / 2;
            (t / lanes, t % lanes / (VECTOR / 2), t % (VECTOR / 2) * 2)
        } else {
            (t / swizzle.vectors(), t % swizzle.vectors(), 0)
        };
        let column = vector * VECTOR + within;
        let base = if const { L::MAJOR.is_k() } {
            (first + row) as usize * ld as usize + column as usize
        } else {
            row as usize * ld as usize + (first + column) as usize
        };
        Self {
            from,
            base,
            to: swizzle.elem(row, vector) + within,
            ld,
            row,
            column,
            mn: mn - first,
        }
    }

    /// Starts the loads of a k-tile, of vectors or pairs, into `to`, its part of a stage; `left` elements along K are
    /// left. `WHOLE`: every vector is either inside the operand or outside ([`is_whole_vectors`]). Others cost three or
    /// four instructions more each.
    ///
    /// # Safety
    /// As for [`async_copy::copy`]: nobody uses `to` until this thread has waited. `from` is the operand that `new` was
    /// told of, and its rows start at multiples of the bytes of a load.
    #[inline(always)]
    pub unsafe fn load<L: OperandMajor, const WHOLE: bool>(&self, tile: OperandTile, to: Shared<T>, left: u32) {
        let pass = tile.pass::<L>();
        let (rows, columns) = if const { L::MAJOR.is_k() } {
            (self.mn, left)
        } else {
            (left, self.mn)
        };
        unrolled!(tile.loads::<L>(), at most 16, |number| {
            let valid = if self.row + number * pass >= rows {
                0
            } else if WHOLE {
                if self.column < columns { L::VECTOR } else { 0 }
            } else {
                columns.saturating_sub(self.column).min(L::VECTOR)
            };
            // SAFETY: the caller's promise; of the elements from there on, `valid` are in the operand.
            unsafe {
                if const { is_pairs::<L>() } {
                    let swizzle = tile.swizzle::<L>();
                    // A pass further the key has other bits, of which this thread's row has none.
                    let at = (self.to ^ (swizzle.key(number * pass) * VECTOR)) + number * pass * swizzle.row_elems();
                    let first = || self.base + (number * pass * self.ld) as usize;
                    async_copy::copy::<T, 2>(to, at, self.from, first, valid);
                } else {
                    async_copy::copy::<T, { VECTOR as usize }>(
                        to,
                        self.to + number * pass * tile.swizzle::<L>().row_elems(),
                        self.from,
                        || self.base + (number * pass * self.ld) as usize,
                        valid,
                    );
                }
            }
        });
    }

    /// Loads a k-tile into registers, element by element; `left` elements along K are left. Rows may begin anywhere.
    /// No load waits for another one.
    ///
    /// # Safety
    /// `from` is the operand that `new` was told of.
    #[inline(always)]
    pub unsafe fn load_elements<L: OperandMajor>(&self, tile: OperandTile, left: u32) -> Elements<T> {
        let pass = tile.pass::<L>();
        let (rows, columns) = if const { L::MAJOR.is_k() } {
            (self.mn, left)
        } else {
            (left, self.mn)
        };
        let valid = columns.saturating_sub(self.column);
        let mut elements = [[T::zeroed(); VECTOR as usize]; REGISTER_VECTORS];
        unrolled!(tile.loads::<L>(), at most 4, |number| {
            let row = number * pass;
            // In 64 bits: rows may be as far apart as addresses allow.
            let index = self.base + row as usize * self.ld as usize;
            let valid = if self.row + row >= rows { 0 } else { valid };
            // SAFETY: of the elements from there on, `valid` are in the operand, or a whole vector is.
            elements[number as usize] = unsafe { partial_load::load(self.from, index, valid) };
        });
        elements
    }

    /// Stores a k-tile that [`Self::load_elements`] has loaded into `to`, its part of a stage.
    ///
    /// # Safety
    /// No other thread accesses this thread's vectors of `to`: barriers order other accesses before and after.
    #[inline(always)]
    pub unsafe fn store_elements<L: OperandMajor>(&self, tile: OperandTile, to: Shared<T>, elements: &Elements<T>) {
        // SAFETY: the same bytes, in words of two elements.
        let words = unsafe { Shared::<u32>::new(to.as_mut_ptr().cast(), (tile.mn * tile.k / 2) as usize) };
        unrolled!(tile.loads::<L>(), at most 4, |number| {
            let index = self.to + number * tile.pass::<L>() * tile.swizzle::<L>().row_elems();
            let bits = |i: usize| u32::from(bytemuck::cast::<T, u16>(elements[number as usize][i]));
            let vector = [0, 2, 4, 6].map(|i| bits(i) | bits(i + 1) << 16);
            // SAFETY: the caller's promise. A vector is 16 bytes at a multiple of 16.
            unsafe { words.set_vec::<4>(index as usize / 2, vector) };
        });
    }

    /// Advances by `k` along K.
    #[inline(always)]
    pub fn advance<L: OperandMajor>(&mut self, k: u32) {
        self.base += k_tile_elems::<L>(k, self.ld);
    }
}

/// The pairs of one thread from a k-tile, `COUNT` of them, in registers: first their first elements, then the second
/// ones. Next to each other, LLVM would have both in one register, for which it waits for their loads.
pub type Pairs<T, const COUNT: usize> = [[T; COUNT]; 2];

/// Loads of one thread from one operand, pairs of neighbors in single elements: the lanes of a warp load one or two
/// rows at once. Elements outside the operand become zeros.
#[derive(Clone, Copy)]
pub struct PairLoader {
    /// Row and column of the first pair, within the k-tile.
    row: u32,
    column: u32,
    /// Its destination, from the start of the operand tile.
    to: u32,
}

impl PairLoader {
    /// Loader of thread `t`.
    #[inline(always)]
    pub fn new<L: OperandMajor>(tile: OperandTile, t: u32) -> Self {
        let swizzle = tile.swizzle::<L>();
        let pairs = swizzle.row_elems() / 2;
        let (row, column) = (t / pairs, t % pairs * 2);
        let to = swizzle.elem(row, column / VECTOR) + column % VECTOR;
        Self { row, column, to }
    }

    /// Pairs of a thread.
    pub const fn count(tile: OperandTile) -> usize {
        (tile.mn * tile.k / (2 * tile.threads)) as usize
    }

    /// Rows that the CTA loads at once.
    const fn pass<L: OperandMajor>(tile: OperandTile) -> u32 {
        tile.threads * 2 / tile.swizzle::<L>().row_elems()
    }

    /// Loads the k-tile that begins at row (of A) or column (of B) `first` and at `k`, of an operand of these extents.
    /// No load waits for another one.
    ///
    /// # Safety
    /// `from` is the operand, with rows `ld` elements apart.
    #[inline(always)]
    pub unsafe fn load<T: Pod, L: OperandMajor, const COUNT: usize>(
        self,
        tile: OperandTile,
        from: Global<T>,
        ld: u32,
        [first, k]: [u32; 2],
        [mn, k_end]: [u32; 2],
    ) -> Pairs<T, COUNT> {
        let ([row, column], [rows, columns]) = if const { L::MAJOR.is_k() } {
            ([first, k], [mn, k_end])
        } else {
            ([k, first], [k_end, mn])
        };
        let (row, column) = (row + self.row, column + self.column);
        let valid = columns.saturating_sub(column);
        let mut index = row as usize * ld as usize + column as usize;
        let mut pairs = [[T::zeroed(); COUNT]; 2];
        unrolled!(COUNT, at most 16, |number| {
            let further = number as u32 * Self::pass::<L>(tile);
            // SAFETY: in a row of the operand, `valid` elements are from there on.
            let (first, second) = unsafe { partial_load::load_pair(from, index, row + further < rows, valid) };
            index += Self::pass::<L>(tile) as usize * ld as usize;
            pairs[0][number] = first;
            pairs[1][number] = second;
        });
        pairs
    }

    /// Stores a k-tile that [`Self::load`] has loaded into `to`, its part of a stage.
    ///
    /// # Safety
    /// No other thread accesses this thread's pairs of `to`: barriers order other accesses before and after.
    #[inline(always)]
    pub unsafe fn store<T: Pod, L: OperandMajor, const COUNT: usize>(
        self,
        tile: OperandTile,
        to: Shared<T>,
        pairs: &Pairs<T, COUNT>,
    ) {
        // SAFETY: the same bytes, in words of two elements.
        let words = unsafe { Shared::<u32>::new(to.as_mut_ptr().cast(), (tile.mn * tile.k / 2) as usize) };
        let swizzle = tile.swizzle::<L>();
        unrolled!(COUNT, at most 16, |number| {
            let further = number as u32 * Self::pass::<L>(tile);
            // A pass further the key has other bits, of which this thread's row has none.
            let elem = (self.to ^ (swizzle.key(further) * VECTOR)) + further * swizzle.row_elems();
            // SAFETY: the caller's promise.
            unsafe { words.set(elem as usize / 2, partial_load::join(pairs[0][number], pairs[1][number])) };
        });
    }
}

/// Whether an operand of these extents consists of whole vectors.
#[inline(always)]
pub fn is_whole_vectors<L: OperandMajor>(mn: u32, k: u32) -> bool {
    let columns = if const { L::MAJOR.is_k() } { k } else { mn };
    columns.is_multiple_of(L::VECTOR)
}

/// Loads a lane's fragments from an operand tile.
#[derive(Clone, Copy)]
pub struct FragmentLoader {
    /// Element, from the start of the operand tile, of the row whose address the lane gives for the first MMA atom.
    base: u32,
}

impl FragmentLoader {
    /// Of a warp whose part of A starts at row `first`, a multiple of the rows of a warp.
    #[inline(always)]
    pub fn of_a<L: OperandMajor>(tile: OperandTile, first: u32, lane: u32) -> Self {
        Self::new::<L>(tile, first, lane / 8 % 2, lane / 16, lane % 8)
    }

    /// Of a warp whose part of B starts at column `first`, a multiple of the columns of a warp.
    #[inline(always)]
    pub fn of_b<L: OperandMajor>(tile: OperandTile, first: u32, lane: u32) -> Self {
        Self::new::<L>(tile, first, lane / 16, lane / 8 % 2, lane % 8)
    }

    /// Of a lane with the address of row `row` of an 8 x 8 matrix: of the first or last 8 along M or N (`mn` 0 or 1),
    /// of the first or last 8 along K.
    #[inline(always)]
    fn new<L: OperandMajor>(tile: OperandTile, first: u32, mn: u32, k: u32, row: u32) -> Self {
        let swizzle = tile.swizzle::<L>();
        let base = if const { L::MAJOR.is_k() } {
            swizzle.elem(first + 8 * mn + row, k)
        } else {
            swizzle.elem(8 * k + row, first / VECTOR + mn)
        };
        Self { base }
    }

    /// Loads 16 elements along M or N and 16 along K from `from`, the operand tile of a stage: MMA atom `atom` of the
    /// warp, k-block `k_block`. Of A it is one fragment; of B that of the first 8 columns, then that of the others.
    ///
    /// # Safety
    /// As for [`ldmatrix::load`]: the stage is full, and the whole warp is here.
    #[inline(always)]
    pub unsafe fn load<T: Pod, L: OperandMajor>(
        self,
        tile: OperandTile,
        from: Shared<T>,
        atom: u32,
        k_block: u32,
    ) -> [u32; 4] {
        const ATOM: u32 = TensorTile::MMA_ATOM;
        let row_elems = tile.swizzle::<L>().row_elems();
        // Two vectors further in the row: a bit of the vector's index, which the swizzle keeps or flips.
        // SAFETY: the caller's promise.
        unsafe {
            if const { L::MAJOR.is_k() } {
                ldmatrix::load::<T, 4>(from, (self.base ^ (k_block * ATOM)) + atom * (ATOM * row_elems))
            } else {
                ldmatrix::load_transposed::<T, 4>(from, (self.base ^ (atom * ATOM)) + k_block * (ATOM * row_elems))
            }
        }
    }
}

/// Loads the fragments of a k-block of a warp.
#[derive(Clone, Copy)]
pub struct WarpLoader {
    tile_a: OperandTile,
    tile_b: OperandTile,
    a: FragmentLoader,
    b: FragmentLoader,
}

impl WarpLoader {
    /// Of a warp whose part of the tile of C starts at `row` and `column`.
    #[inline(always)]
    pub fn new<LA: OperandMajor, LB: OperandMajor>(
        [tile_a, tile_b]: [OperandTile; 2],
        [row, column]: [u32; 2],
        lane: u32,
    ) -> Self {
        Self {
            tile_a,
            tile_b,
            a: FragmentLoader::of_a::<LA>(tile_a, row, lane),
            b: FragmentLoader::of_b::<LB>(tile_b, column, lane),
        }
    }

    /// Loads the fragments of k-block `k_block` from `from`, A's and B's part of a stage.
    ///
    /// # Safety
    /// As for [`FragmentLoader::load`].
    #[inline(always)]
    pub unsafe fn load<T: Pod, LA: OperandMajor, LB: OperandMajor>(
        self,
        [from_a, from_b]: [Shared<T>; 2],
        fragments_a: &mut [FragmentA],
        fragments_b: &mut [FragmentB],
        k_block: u32,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            for (atom, fragment) in (0..).zip(fragments_a) {
                *fragment = self.a.load::<T, LA>(self.tile_a, from_a, atom, k_block);
            }
            for (atom, pair) in (0..).zip(fragments_b.as_chunks_mut::<2>().0) {
                let [first, first_next, last, last_next] = self.b.load::<T, LB>(self.tile_b, from_b, atom, k_block);
                *pair = [[first, first_next], [last, last_next]];
            }
        }
    }
}
