//! The body of the tiled families.
//!
//! ```text
//! for each k-tile of `width` elements:
//!     the CTA loads a width x width tile of A and one of B into shared memory      (outside the matrix: zeros)
//!     barrier                                                                      RAW: tiles filled
//!     every thread: acc += A_s[its rows][..] * B_s[..][its columns]
//!     barrier                                                                      WAR: tiles drained
//! C = acc
//! ```
//!
//! Each element of A and B is loaded from global memory once per CTA instead of once per thread: `width` times fewer
//! loads.
//!
//! Shapes (elements): `A_s`, `B_s` are width x width, row-major, pitch = width. A thread holds `R x R` elements of C,
//! `stride` apart: rows `ty + i * stride`, columns `tx + j * stride`.

use cuda_std::thread;
use cuda_views::Shared;
use tilewright_contract::{TileGeometry, TileOrigin};

use crate::block::element::{Accumulator, Element};
use crate::block::operands::Operands;
use crate::block::unroll::unrolled;

/// A tile width: a constant, which lets the compiler unroll and fold addresses, or a value of the launch.
pub trait Width: Copy {
    /// The width in elements.
    fn get(self) -> u32;
}

/// A width that the compiler knows.
#[derive(Clone, Copy)]
pub struct Fixed<const WIDTH: u32>;

impl<const WIDTH: u32> Width for Fixed<WIDTH> {
    #[inline(always)]
    fn get(self) -> u32 {
        const { assert!(WIDTH >= TileGeometry::MIN_WIDTH && WIDTH <= TileGeometry::MAX_WIDTH) };
        WIDTH
    }
}

/// A width given at launch.
#[derive(Clone, Copy)]
pub struct Runtime(pub u32);

impl Width for Runtime {
    #[inline(always)]
    fn get(self) -> u32 {
        self.0
    }
}

/// The two tiles in shared memory, width x width elements each.
pub struct Tiles<E> {
    /// The tile of A.
    pub a_s: Shared<E>,
    /// The tile of B.
    pub b_s: Shared<E>,
}

/// Computes this CTA's tile of C. `R` is the number of elements of C that a thread holds along each side.
///
/// # Safety
/// - `operands` describes matrices in global memory.
/// - `tiles` are two disjoint parts of this CTA's shared memory, each `width * width` elements, aligned for `E`.
/// - `R` is [`TileGeometry::outputs_per_side`] of the width, the CTA has [`TileGeometry::threads_per_side`]
///   squared threads and the grid along x [`Grid::cover`](tilewright_contract::Grid::cover)s C. Every thread of the CTA
///   calls this.
#[inline(always)]
pub unsafe fn tiled<E: Element, W: Width, const R: usize>(operands: Operands<E>, tiles: Tiles<E>, width: W) {
    let Operands { a, b, c, args } = operands;
    let Tiles { a_s, b_s } = tiles;
    let width = width.get();
    let stride = TileGeometry::stride(width, R as u32);
    let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
    let origin = TileOrigin::of_block(thread::block_idx_x(), args.n, width);
    // With R > 1 the last elements of a thread may be outside the tile, if R does not divide the width.
    let inside = |offset: u32| R == 1 || offset < width;

    let mut acc = [[E::Acc::ZERO; R]; R];
    let mut k0 = 0;
    while k0 < args.k {
        for i in 0..R {
            let row = ty + i as u32 * stride;
            for j in 0..R {
                let column = tx + j as u32 * stride;
                if inside(row) && inside(column) {
                    let (a_row, a_column) = (origin.row + row, k0 + column);
                    let (b_row, b_column) = (k0 + row, origin.column + column);
                    // SAFETY: guarded by the matrices' extents. Offsets have 64 bits: an operand may exceed 2^32
                    // elements.
                    let (from_a, from_b) = unsafe {
                        (
                            a.get_if(
                                a_row < args.m && a_column < args.k,
                                || a_row as usize * args.lda as usize + a_column as usize,
                                E::ZERO,
                            ),
                            b.get_if(
                                b_row < args.k && b_column < args.n,
                                || b_row as usize * args.ldb as usize + b_column as usize,
                                E::ZERO,
                            ),
                        )
                    };
                    // SAFETY: row, column < width; each element of a tile is written by one thread.
                    unsafe {
                        a_s.set((row * width + column) as usize, from_a);
                        b_s.set((row * width + column) as usize, from_b);
                    }
                }
            }
        }
        // RAW: the tiles are filled before any thread reads what others wrote.
        thread::sync_threads();

        // A row or column outside the tile is read as the last one inside; its accumulator is never stored.
        let clamped = |offset: u32| if inside(offset) { offset } else { width - 1 };
        let mut outer_product = |kk: u32| {
            let mut from_a = [E::Acc::ZERO; R];
            let mut from_b = [E::Acc::ZERO; R];
            for i in 0..R {
                // SAFETY: the row or column is clamped to the tile, kk < width.
                unsafe {
                    from_a[i] = a_s.get((clamped(ty + i as u32 * stride) * width + kk) as usize).widen();
                    from_b[i] = b_s.get((kk * width + clamped(tx + i as u32 * stride)) as usize).widen();
                }
            }
            for i in 0..R {
                for j in 0..R {
                    acc[i][j] = acc[i][j] + from_a[i] * from_b[j];
                }
            }
        };
        // One element per thread: unrolled by eight. With a constant width the compiler joins four neighboring elements
        // of a row of A_s into one 16-byte load; by itself it would unroll less. With more elements per thread one k is
        // work enough, and eight would only fill registers.
        let mut kk = 0;
        while R == 1 && kk + 8 <= width {
            outer_product(kk);
            outer_product(kk + 1);
            outer_product(kk + 2);
            outer_product(kk + 3);
            outer_product(kk + 4);
            outer_product(kk + 5);
            outer_product(kk + 6);
            outer_product(kk + 7);
            kk += 8;
        }
        while kk < width {
            outer_product(kk);
            kk += 1;
        }
        // WAR: the tiles are drained before the next k-tile overwrites them.
        thread::sync_threads();
        k0 += width;
    }

    let store_row = |i: usize, acc: [E::Acc; R]| {
        let (tile_row, row) = (ty + i as u32 * stride, origin.row + ty + i as u32 * stride);
        for (j, &value) in acc.iter().enumerate() {
            let (tile_column, column) = (tx + j as u32 * stride, origin.column + tx + j as u32 * stride);
            // SAFETY: inside C, and inside this CTA's tile, which no other CTA writes.
            unsafe {
                c.set_if(
                    inside(tile_row) && inside(tile_column) && row < args.m && column < args.n,
                    || row as usize * args.ldc as usize + column as usize,
                    || E::narrow(value),
                );
            }
        }
    };
    unrolled!(R, at most 8, |i| store_row(i, acc[i]));
}
