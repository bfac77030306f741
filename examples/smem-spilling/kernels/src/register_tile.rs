//! `C = A · B` in f32 with a tile of 8 x 8 accumulators a thread.
//!
//! ```text
//! for each k-tile of DEPTH:
//!     the CTA copies WIDTH x DEPTH of A, transposed, and DEPTH x WIDTH of B into shared memory   (outside: zeros)
//!     barrier                                                                                    RAW: tiles filled
//!     for each k of the k-tile:
//!         the thread loads 8 elements of A_s and 8 of B_s, as four vectors of 16 bytes
//!         its 8 x 8 accumulators += their outer product
//!     barrier                                                                                    WAR: tiles drained
//! C = accumulators
//! ```
//!
//! Shapes (elements): `A_s` is DEPTH x WIDTH with a pitch of WIDTH + 4, so that the 4 x 8 elements that a warp stores
//! fall into different banks; `B_s` is DEPTH x WIDTH. A thread's rows are `4 ty..` and `4 ty + 64..`, four each, its
//! columns likewise by `tx`.

use cuda_std::{shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Rows and columns of a CTA's tile of C.
pub const WIDTH: u32 = 128;
/// Threads along each side of the CTA.
pub const SIDE: u32 = 16;
/// Elements along K of a k-tile.
const DEPTH: u32 = 8;
/// Elements from one row of `A_s` to the next. Without the padding of 4, the stores of a warp would fall into 4 banks.
const PITCH: u32 = WIDTH + 4;
const A_ELEMS: usize = (DEPTH * PITCH) as usize;
const B_ELEMS: usize = (DEPTH * WIDTH) as usize;
/// Bytes of static shared memory of the body: `A_s` and `B_s`.
pub const SHARED_BYTES: u32 = 4 * (A_ELEMS + B_ELEMS) as u32;

/// Extents and leading dimensions of `C (m x n) = A (m x k) · B (k x n)`, row-major, in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Elements from one row of A to the next.
    pub lda: u32,
    /// Elements from one row of B to the next.
    pub ldb: u32,
    /// Elements from one row of C to the next.
    pub ldc: u32,
}

impl Extents {
    /// Elements from the first to the last of A, B and C, both included; 0 for an empty matrix.
    #[inline(always)]
    pub const fn span_elems(&self) -> [usize; 3] {
        const fn of(rows: u32, columns: u32, ld: u32) -> usize {
            if rows == 0 || columns == 0 {
                return 0;
            }
            (rows as usize - 1) * ld as usize + columns as usize
        }
        [
            of(self.m, self.k, self.lda),
            of(self.k, self.n, self.ldb),
            of(self.m, self.n, self.ldc),
        ]
    }
}

/// Computes this CTA's tile of C.
///
/// # Safety
/// - `a`, `b`, `c` are the matrices that `extents` describes, in global memory; `c` overlaps neither. No extent exceeds
///   `i32::MAX`, and no leading dimension is shorter than its row.
/// - The CTA is [`SIDE`] x [`SIDE`], the grid is one-dimensional and covers C with tiles of [`WIDTH`], tiles of one row
///   of tiles first. Every thread of the CTA calls this.
#[inline(always)]
pub unsafe fn multiply(a: *const f32, b: *const f32, c: *mut f32, extents: Extents) {
    let Extents { m, n, k, lda, ldb, ldc } = extents;
    // SAFETY: the caller's promise.
    let (a, b, c) = unsafe {
        (
            Global::new_with(a, || extents.span_elems()[0]),
            Global::new_with(b, || extents.span_elems()[1]),
            GlobalMut::new_with(c, || extents.span_elems()[2]),
        )
    };
    // u128: aligned for vectors of 16 bytes.
    let (a_s, b_s) = (shared_array![u128; A_ELEMS / 4], shared_array![u128; B_ELEMS / 4]);
    // SAFETY: two arrays of so many elements.
    let (a_s, b_s) = unsafe { (Shared::new(a_s.cast(), A_ELEMS), Shared::new(b_s.cast(), B_ELEMS)) };

    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let first = ty * SIDE + tx;
    let cta = thread::block_idx_x();
    // A CTA that runs has a tile. Without the first case the compiler would keep a panic for a division by zero.
    let tiles_n = match n.div_ceil(WIDTH) {
        0 => 1,
        tiles => tiles,
    };
    let (tile_row, tile_column) = (cta / tiles_n * WIDTH, cta % tiles_n * WIDTH);

    let mut accumulators = [[0.0_f32; 8]; 8];
    let mut k0 = 0;
    while k0 < k {
        for i in 0..WIDTH * DEPTH / (SIDE * SIDE) {
            let element = first + i * (SIDE * SIDE);
            let (a_m, a_k) = (element / DEPTH, element % DEPTH);
            let (b_k, b_n) = (element / WIDTH, element % WIDTH);
            let (a_row, a_column) = (tile_row + a_m, k0 + a_k);
            let (b_row, b_column) = (k0 + b_k, tile_column + b_n);
            // SAFETY: guarded by the matrices' extents; each element of a tile is written by one thread.
            unsafe {
                let from_a = a.get_if(
                    a_row < m && a_column < k,
                    || a_row as usize * lda as usize + a_column as usize,
                    0.0,
                );
                let from_b = b.get_if(
                    b_row < k && b_column < n,
                    || b_row as usize * ldb as usize + b_column as usize,
                    0.0,
                );
                a_s.set((a_k * PITCH + a_m) as usize, from_a);
                b_s.set(element as usize, from_b);
            }
        }
        // RAW: the tiles are filled before any thread reads what others wrote.
        thread::sync_threads();
        for kk in 0..DEPTH {
            // SAFETY: 4 ty + 67 and 4 tx + 67 are below WIDTH; every start is a multiple of 4 elements.
            let (low_a, high_a, low_b, high_b): ([f32; 4], [f32; 4], [f32; 4], [f32; 4]) = unsafe {
                (
                    a_s.get_vec((kk * PITCH + 4 * ty) as usize),
                    a_s.get_vec((kk * PITCH + 4 * ty + WIDTH / 2) as usize),
                    b_s.get_vec((kk * WIDTH + 4 * tx) as usize),
                    b_s.get_vec((kk * WIDTH + 4 * tx + WIDTH / 2) as usize),
                )
            };
            for i in 0..8 {
                let from_a = if i < 4 { low_a[i] } else { high_a[i - 4] };
                for j in 0..8 {
                    let from_b = if j < 4 { low_b[j] } else { high_b[j - 4] };
                    accumulators[i][j] += from_a * from_b;
                }
            }
        }
        // WAR: the tiles are drained before the next k-tile overwrites them.
        thread::sync_threads();
        k0 += DEPTH;
    }

    // Every row written out: accumulators that are indexed at run time would live in local memory.
    macro_rules! store_rows {
        ($($i:literal)*) => {$(
            let row = tile_row + 4 * ty + $i % 4 + $i / 4 * (WIDTH / 2);
            for (j, &accumulator) in accumulators[$i].iter().enumerate() {
                let j = j as u32;
                let column = tile_column + 4 * tx + j % 4 + j / 4 * (WIDTH / 2);
                // SAFETY: inside C, and inside this CTA's tile, which no other CTA writes.
                unsafe {
                    c.set_if(
                        row < m && column < n,
                        || row as usize * ldc as usize + column as usize,
                        || accumulator,
                    );
                }
            }
        )*};
    }
    store_rows!(0 1 2 3 4 5 6 7);
}
