//! What the rungs with tiles of registers and copies of 16 bytes share: 128 x 128 elements of C a block of 256 threads,
//! 8 x 8 a thread, steps of 8 along K.
//!
//! Shapes (elements): a stage of shared memory is `A_s`, 8 x 128, transposed, and `B_s`, 8 x 128, behind it, both with
//! a pitch of 132 ([`BlockTile`]). A thread has two vectors of 4 rows and two of 4 columns; where they lie in the tile
//! is a rung's choice, its [`Place`].

mod quads;

use cuda_std::thread;
use cuda_views::Shared;
use tilewright_contract::{BlockTile, TileOrigin, tiles};

use crate::operands::Operands;
use crate::unroll::unrolled;
pub use quads::allow_vectors;
use quads::{Quads, set_quad};

/// The tile of all these rungs but for the number of its stages.
const TILE: BlockTile = tiles::ONE_STAGE_128X128;
/// Elements of a thread along each side.
const SIDE: usize = 8;
/// Vectors of 4 elements from one row of B_s to the next, and of A from one row of the step to the next.
const B_QUADS: u32 = TILE.n / 4;
const A_QUADS: u32 = TILE.k / 4;
const _: () = assert!(TILE.m == TILE.n && TILE.thread_m as usize == SIDE && TILE.thread_n as usize == SIDE);
const _: () = assert!(
    TILE.m * A_QUADS == TILE.threads() && TILE.k * B_QUADS == TILE.threads(),
    "a thread copies one vector of each"
);

/// Sums of one thread.
pub type Sums = [[f32; SIDE]; SIDE];

/// Rows or columns of one thread, of which `A_s` or `B_s` holds one element each for every k.
pub type Fragment = [f32; SIDE];

/// Where a thread's elements are in the tile of C: the first row and the first column of its first vectors, and how far
/// its second ones lie behind.
#[derive(Clone, Copy)]
pub struct Place {
    /// The first row.
    pub row: u32,
    /// From the first vector of rows to the second.
    pub rows_apart: u32,
    /// The first column.
    pub column: u32,
    /// From the first vector of columns to the second.
    pub columns_apart: u32,
}

/// What one thread copies for one step: a vector along K of A and one along N of B. Two neighbouring lanes load 32
/// bytes of a row of A, a warp 512 of a row of B.
#[derive(Clone, Copy)]
pub struct Share {
    a: [f32; 4],
    b: [f32; 4],
}

/// How a thread copies, step by step; from global memory in vectors where `VECTORS`.
#[derive(Clone, Copy)]
pub struct Copier<const VECTORS: bool> {
    a: Quads<VECTORS>,
    b: Quads<VECTORS>,
    /// Row and first element along K of the vector of A, within the step and the tile.
    a_m: u32,
    a_k: u32,
    /// Likewise of B.
    b_k: u32,
    b_n: u32,
    origin: TileOrigin,
}

impl<const VECTORS: bool> Copier<VECTORS> {
    /// Of thread `t`, for the tile at `origin`.
    #[inline(always)]
    pub fn new(operands: Operands<f32>, origin: TileOrigin, t: u32) -> Self {
        let Operands { a, b, args, .. } = operands;
        Self {
            a: Quads {
                from: a,
                rows: args.m,
                columns: args.k,
                ld: args.lda,
            },
            b: Quads {
                from: b,
                rows: args.k,
                columns: args.n,
                ld: args.ldb,
            },
            a_m: t / A_QUADS,
            a_k: t % A_QUADS * 4,
            b_k: t / B_QUADS,
            b_n: t % B_QUADS * 4,
            origin,
        }
    }

    /// Loads the share of the step at `k0`; outside the matrices are zeros.
    ///
    /// # Safety
    /// The operands that `new` was told of describe matrices in global memory, which [`allow_vectors`] with `VECTORS`.
    #[inline(always)]
    pub unsafe fn load(self, k0: u32) -> Share {
        // SAFETY: the caller's promise.
        unsafe {
            Share {
                a: self.a.get(self.origin.row + self.a_m, k0 + self.a_k),
                b: self.b.get(k0 + self.b_k, self.origin.column + self.b_n),
            }
        }
    }

    /// Stores a share: A transposed, so that a fragment is two vectors.
    ///
    /// # Safety
    /// `stage` is a stage of this block's shared memory, aligned to 16 bytes, which no thread reads meanwhile.
    #[inline(always)]
    pub unsafe fn store(self, stage: Shared<f32>, share: Share) {
        // SAFETY: rows and columns of the tile; each element is written by one thread. The vector starts at a multiple
        // of 4 elements.
        unsafe {
            for i in 0..4 {
                let a_index = (self.a_k + i) * TILE.a_pitch() + self.a_m;
                stage.set(a_index as usize, share.a[i as usize]);
            }
            let b_index = TILE.a_elems() + self.b_k * TILE.b_pitch() + self.b_n;
            stage.set_vec(b_index as usize, share.b);
        }
    }
}

/// The thread's fragments of one k.
///
/// # Safety
/// `stage` is filled and aligned to 16 bytes; `kk` is below the tile's k, `place` inside its 128 x 128.
#[inline(always)]
pub unsafe fn fragments(stage: Shared<f32>, place: Place, kk: u32) -> (Fragment, Fragment) {
    let (mut from_a, mut from_b) = ([0.0; SIDE], [0.0; SIDE]);
    let a_index = kk * TILE.a_pitch() + place.row;
    let b_index = TILE.a_elems() + kk * TILE.b_pitch() + place.column;
    // SAFETY: the caller's promise; all four start at multiples of 4 elements.
    unsafe {
        from_a[..4].copy_from_slice(&stage.get_vec::<4>(a_index as usize));
        from_a[4..].copy_from_slice(&stage.get_vec::<4>((a_index + place.rows_apart) as usize));
        from_b[..4].copy_from_slice(&stage.get_vec::<4>(b_index as usize));
        from_b[4..].copy_from_slice(&stage.get_vec::<4>((b_index + place.columns_apart) as usize));
    }
    (from_a, from_b)
}

/// Computes this block's tile of C with one stage of shared memory.
///
/// # Safety
/// - `operands` describes matrices in global memory, which [`allow_vectors`] with `VECTORS`.
/// - `stage` is one stage in this block's shared memory, aligned to 16 bytes.
/// - The block has the tile's threads along x, the grid covers C with the tile. The places of its threads are all of
///   the tile's elements, each once. Every thread calls this.
#[inline(always)]
pub unsafe fn one_stage<const VECTORS: bool>(operands: Operands<f32>, stage: Shared<f32>, place: Place) {
    let origin = origin(operands);
    let copier = Copier::<VECTORS>::new(operands, origin, thread::thread_idx_x());
    let mut sums: Sums = [[0.0; SIDE]; SIDE];
    let mut k0 = 0;
    while k0 < operands.args.k {
        // SAFETY: the operands are the caller's promise; the barrier before has drained the stage.
        unsafe { copier.store(stage, copier.load(k0)) };
        // RAW: the stage is filled before any thread reads what others wrote.
        thread::sync_threads();
        unrolled!(TILE.k, at most 8, |kk| {
            // SAFETY: filled, by the barrier.
            let (from_a, from_b) = unsafe { fragments(stage, place, kk) };
            for i in 0..SIDE {
                for j in 0..SIDE {
                    sums[i][j] += from_a[i] * from_b[j];
                }
            }
        });
        // WAR: the stage is drained before the next step overwrites it.
        thread::sync_threads();
        k0 += TILE.k;
    }
    // SAFETY: the caller's promise.
    unsafe { store::<VECTORS>(operands, origin, place, sums) };
}

/// The first element of this block's tile.
#[inline(always)]
pub fn origin(operands: Operands<f32>) -> TileOrigin {
    TileOrigin::of_block(thread::block_idx_x(), operands.args.n, TILE.n)
}

/// Stores a thread's sums into C, in vectors where `VECTORS`.
///
/// # Safety
/// `operands` describes matrices in global memory, which [`allow_vectors`] with `VECTORS`; no other thread has this
/// place in the tile at `origin`.
#[inline(always)]
pub unsafe fn store<const VECTORS: bool>(operands: Operands<f32>, origin: TileOrigin, place: Place, sums: Sums) {
    unrolled!(SIDE, at most 8, |i| {
        let row = origin.row + place.row + i as u32 % 4 + i as u32 / 4 * place.rows_apart;
        let column = origin.column + place.column;
        // `sum + 0.0`, which no compiler may leave out since it is not the sum where that is -0.0, is another register:
        // of sums that are stored as vectors `ptxas` makes four neighbouring registers, as of the vectors of A and B,
        // and comes to products whose three operands all lie in one bank.
        let [s0, s1, s2, s3, s4, s5, s6, s7] = sums[i].map(|sum| sum + 0.0);
        // SAFETY: this thread's elements.
        unsafe {
            set_quad::<VECTORS>(operands, row, column, [s0, s1, s2, s3]);
            set_quad::<VECTORS>(operands, row, column + place.columns_apart, [s4, s5, s6, s7]);
        }
    });
}
