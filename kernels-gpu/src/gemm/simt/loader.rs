//! Loads of A and B into a stage.
//!
//! A stage has the same layout for either major: `k` rows of the tile's rows (of A) or columns (of B), its extent along
//! M or N, here `mn`. A K-major operand is transposed on the way, one element per load; of an MN-major one four
//! elements are loaded at once, where alignment allows it.
//!
//! A load is a `cp.async` ([`load`](GmemLoader::load)); or it goes through a register, so that what is loaded is stored
//! a k-tile later ([`fetch`](GmemLoader::fetch), [`put`](GmemLoader::put)).

use cuda_views::{Global, Shared};
use tilewright_contract::{BlockTile, GemmArgs, GemmParams};

use super::Tile;
use crate::block::batch;
use crate::block::major::{OperandMajor, k_tile_elems, span};
use crate::block::unroll::unrolled;
use crate::ptx::{async_copy, optimization_barrier};

/// Operand tile: the part of A or B in a stage, `k` rows of `mn` elements.
#[derive(Clone, Copy)]
pub struct OperandTile {
    mn: u32,
    /// Elements of the threads that load one row of an MN-major operand: where `mn` does not divide the CTA more than
    /// that, and the last of them have no place in the operand tile.
    lane_elems: u32,
    pitch: u32,
    k: u32,
    threads: u32,
}

impl OperandTile {
    /// Of A.
    pub const fn a(tile: BlockTile) -> Self {
        Self {
            mn: tile.m,
            lane_elems: tile.m.next_power_of_two(),
            pitch: tile.a_pitch(),
            k: tile.k,
            threads: tile.threads(),
        }
    }

    /// Of B.
    pub const fn b(tile: BlockTile) -> Self {
        Self {
            mn: tile.n,
            lane_elems: tile.n.next_power_of_two(),
            pitch: tile.b_pitch(),
            k: tile.k,
            threads: tile.threads(),
        }
    }

    /// Loads of one thread per stage.
    pub const fn loads<L: OperandMajor>(self) -> u32 {
        let mn = if L::MAJOR.is_k() { self.mn } else { self.lane_elems };
        mn * self.k / (self.threads * L::VECTOR)
    }

    /// Whether some threads have [no place](GmemLoader::has_place) in it.
    pub const fn has_idle_lanes<L: OperandMajor>(self) -> bool {
        !L::MAJOR.is_k() && self.lane_elems != self.mn
    }
}

/// Lanes with neighboring elements along K of a K-major operand: 32 bytes of a row, a sector.
const LANES_K: u32 = 8;

/// Elements along K of a load of the CTA from an MN-major operand.
const fn rows_of_load<L: OperandMajor>(tile: OperandTile) -> u32 {
    tile.threads * L::VECTOR / tile.lane_elems
}

/// Passes over `mn`, at most: their offsets are kept in registers.
const MAX_PASSES: usize = 8;

/// Loads of one thread from one operand.
///
/// Rows of A and columns of B past the last are loaded as the last ones, or as those of the last vector: their results
/// are never stored. Past the end of K there are zeros, which every accumulator adds.
pub struct GmemLoader {
    /// The operand, which [walks](Self::walks) from load to load.
    from: Global<f32>,
    /// First element of the k-tile there.
    base: usize,
    /// From there to the row of each pass.
    offsets: [u32; MAX_PASSES],
    ld: u32,
    /// This thread's first position in the operand tile.
    mn: u32,
    k: u32,
}

/// Loaders of thread `t` for the tile of C at `row` and `column`, from `k` on. `args` are those of `params`.
///
/// # Safety
/// The operands are as `params` describes them. The tile begins inside C, and `k` is inside K, or K is empty.
#[inline(always)]
pub unsafe fn of<T: Tile, LA: OperandMajor, LB: OperandMajor>(
    params: &GemmParams<f32>,
    args: GemmArgs,
    t: u32,
    [row, column]: [u32; 2],
    k: u32,
) -> (GmemLoader, GmemLoader) {
    let (tile_a, tile_b) = const { (OperandTile::a(T::TILE), OperandTile::b(T::TILE)) };
    // SAFETY: the caller's promise.
    unsafe {
        // Rows that end within a vector are those of copies, which have all of it.
        let from_a = Global::new_with(batch::a(params), || {
            span::<LA>(args.m.next_multiple_of(LA::VECTOR), args.k, args.lda)
        });
        let from_b = Global::new_with(batch::b(params), || {
            span::<LB>(args.n.next_multiple_of(LB::VECTOR), args.k, args.ldb)
        });
        (
            GmemLoader::new::<LA>(from_a, tile_a, t, [row, k], [args.m, args.lda]),
            GmemLoader::new::<LB>(from_b, tile_b, t, [column, k], [args.n, args.ldb]),
        )
    }
}

impl GmemLoader {
    /// Loader of thread `t`, from row or column `first` and element `k_first` along K on; `extent` rows of A or columns
    /// of B are `ld` elements apart.
    ///
    /// # Safety
    /// `from` is this operand; the first element is inside it, or K is empty.
    #[inline(always)]
    unsafe fn new<L: OperandMajor>(
        from: Global<f32>,
        tile: OperandTile,
        t: u32,
        [first, k_first]: [u32; 2],
        [extent, ld]: [u32; 2],
    ) -> Self {
        let mut offsets = [0; MAX_PASSES];
        let (mn, k, base);
        if const { L::MAJOR.is_k() } {
            mn = t / LANES_K;
            k = t % LANES_K;
            base = first as usize * ld as usize + (k_first + k) as usize;
            unrolled!(MAX_PASSES, at most 8, |pass| {
                offsets[pass] = (mn + pass as u32 * (tile.threads / LANES_K)).min(extent - 1 - first) * ld;
            });
        } else {
            let vectors = tile.lane_elems / L::VECTOR;
            mn = t % vectors * L::VECTOR;
            k = t / vectors;
            // The last vector, of which a copied row has all elements, wherever it ends.
            let last = (extent - 1) / L::VECTOR * L::VECTOR;
            base = (k_first + k) as usize * ld as usize + (first + mn).min(last) as usize;
        }
        let (from, base) = match const { Self::walks::<L>() } {
            true => (from.shifted(base), 0),
            false => (from, base),
        };
        Self {
            from,
            base,
            offsets,
            ld,
            mn,
            k,
        }
    }

    /// Whether each load moves on to the next one's element. The offsets of as many loads as single elements take would
    /// be kept in registers over the whole main loop.
    pub const fn walks<L: OperandMajor>() -> bool {
        !L::MAJOR.is_k() && L::VECTOR == 1
    }

    /// Where load `number` of a k-tile begins in a K-major operand.
    #[inline(always)]
    fn k_major_index(&self, tile: OperandTile, number: u32) -> usize {
        let parts = tile.k / LANES_K;
        let (pass, further) = ((number / parts) as usize, number % parts * LANES_K);
        self.base + self.offsets[pass] as usize + further as usize
    }

    /// Where load `number` of a k-tile begins, each in its turn: a view and an index.
    #[inline(always)]
    fn source<L: OperandMajor>(&mut self, tile: OperandTile, number: u32) -> (Global<f32>, usize) {
        if const { L::MAJOR.is_k() } {
            return (self.from, self.k_major_index(tile, number));
        }
        let rows = rows_of_load::<L>(tile);
        if const { Self::walks::<L>() } {
            let from = self.from;
            self.from = from.shifted((rows * self.ld) as usize);
            (from, 0)
        } else {
            (self.from, self.base + (number * rows * self.ld) as usize)
        }
    }

    /// Starts load `number` of a k-tile, each in its turn, into the stage at `to`; `left` elements along K are left.
    ///
    /// # Safety
    /// As for [`async_copy::copy`]: the stage is in `stages`, and nobody uses it until this thread has waited.
    #[inline(always)]
    pub unsafe fn load<L: OperandMajor>(
        &mut self,
        tile: OperandTile,
        stages: Shared<f32>,
        to: u32,
        number: u32,
        left: u32,
    ) {
        let [k, mn] = self.place::<L>(tile, number);
        let (from, first) = self.source::<L>(tile, number);
        let to = to + k * tile.pitch + mn;
        let inside = k < left;
        // SAFETY: the caller's promise for the stage. Inside K the element is the operand's: its row or column is
        // clamped.
        unsafe {
            match L::VECTOR {
                4 => async_copy::copy::<f32, 4>(stages, to, from, || first, if inside { 4 } else { 0 }),
                _ => async_copy::copy::<f32, 1>(stages, to, from, || first, if inside { 1 } else { 0 }),
            }
        }
    }

    /// Loads the element of load `number` of a k-tile; `left` elements along K are left, and past them it is 0. Of a
    /// k-tile that is `whole` all of it is left or nothing, and then `element` stays.
    ///
    /// # Safety
    /// The loader's operand is in memory. A `whole` k-tile is inside K, or nothing is left.
    #[inline(always)]
    pub unsafe fn fetch<L: OperandMajor>(
        &self,
        tile: OperandTile,
        number: u32,
        left: u32,
        whole: bool,
        element: &mut f32,
    ) {
        const { assert!(L::VECTOR == 1) };
        let (from, index) = match const { L::MAJOR.is_k() } {
            true => (self.from, self.k_major_index(tile, number)),
            // One multiplication to 64 bits with its addition, where a walk takes two additions.
            false => {
                let rows = (number * rows_of_load::<L>(tile)) as usize;
                (self.from.shifted(self.ld as usize * rows), 0)
            }
        };
        let [k, _] = self.place::<L>(tile, number);
        let (inside, otherwise) = if whole { (left > 0, *element) } else { (k < left, 0.0) };
        // SAFETY: inside K the element is the operand's: its row or column is clamped.
        *element = unsafe { from.get_if(inside, || index, otherwise) };
    }

    /// Stores the element of load `number` of a k-tile into the stage at `to`, if it has a place in the operand tile.
    ///
    /// # Safety
    /// The stage is in `stages`, and no thread reads it before a barrier.
    #[inline(always)]
    // On two lines: the simulator takes the n-th store of each lane on a line for one instruction, and lanes without a
    // place have fewer of them.
    #[allow(clippy::if_same_then_else)]
    pub unsafe fn put<L: OperandMajor>(
        &self,
        tile: OperandTile,
        stages: Shared<f32>,
        to: u32,
        number: u32,
        element: f32,
    ) {
        let [k, mn] = self.place::<L>(tile, number);
        let place = (to + k * tile.pitch + mn) as usize;
        // SAFETY: the caller's promise; no other thread has this place.
        unsafe {
            if !tile.has_idle_lanes::<L>() {
                stages.set(place, element);
            } else if self.mn < tile.mn {
                stages.set(place, element);
            }
        }
    }

    /// Place of the element of load `number` in the operand tile, along K and along `mn`.
    #[inline(always)]
    fn place<L: OperandMajor>(&self, tile: OperandTile, number: u32) -> [u32; 2] {
        if const { L::MAJOR.is_k() } {
            let parts = tile.k / LANES_K;
            let further = [number % parts * LANES_K, number / parts * (tile.threads / LANES_K)];
            [self.k + further[0], self.mn + further[1]]
        } else {
            [self.k + number * rows_of_load::<L>(tile), self.mn]
        }
    }

    /// Advances to the next k-tile.
    #[inline(always)]
    pub fn advance<L: OperandMajor>(&mut self, tile: OperandTile) {
        if const { !Self::walks::<L>() } {
            self.base += k_tile_elems::<L>(tile.k, self.ld);
        }
    }

    /// Advances by `k` elements along K, for what is [fetched](Self::fetch).
    #[inline(always)]
    pub fn advance_by<L: OperandMajor>(&mut self, k: u32) {
        if const { L::MAJOR.is_k() } {
            self.base += k as usize;
        } else {
            self.from = self.from.shifted(k as usize * self.ld as usize);
            // The distances to a k-tile's elements are computed as they are used: LLVM would keep them in registers.
            self.ld = optimization_barrier::hidden(self.ld);
        }
    }
}
