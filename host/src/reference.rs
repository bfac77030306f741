//! The product on the CPU: the tiled loop nest, sequential and on all cores, and an oracle to test against.
//!
//! # The nest
//!
//! Tiling works for a CPU too, with the cache in the place of shared memory:
//!
//! ```text
//! for each row tile, each column tile of C:
//!   for each inner tile along k:
//!     fill A_s and B_s                                    what a block does before its first barrier
//!     for each row, each column of the tile of C:         what the threads of a block do between the barriers
//!       sum = 0;  for k in the inner tile: sum += A_s[row][k] * B_s[k][column]
//!       first inner tile: C_s = sum, later ones: C_s += sum
//!   write C_s to C
//! ```
//!
//! It differs from the lecture's nest ("Tiling also works for CPU") in three ways, none of which changes a result:
//!
//! * **Tiles are copied** into contiguous buffers. Read in place, a column of B touches one cache line an element, and
//!   at leading dimensions that are powers of two all of them compete for one cache set.
//! * **Four rows and 64 bytes of columns are summed at once** by the innermost loop, as vectors. Each element still
//!   has one sum of its own, taken in the order of k.
//! * **C_s has the accumulator's type.** Adding into an f16 C would round once an inner tile; here an element of C is
//!   rounded once, at the end.
//!
//! The order of the additions is that of the plain triple loop within an inner tile, and inner tiles are added in
//! order. So the tile width decides the rounding, and nothing else does: not the number of threads, not the vector
//! instructions. The compiler may not contract `a * b + c` into one rounding, so every machine computes the same bits.
//!
//! An operand that lies transposed is copied first. This module does not scale or add to C, and does not try to be a
//! BLAS: it has no panel packing across tiles and no assembly. `benches/cpu_reference.rs` says what that costs.

mod nest;
mod oracle;

use rayon::prelude::*;
use tilewright_contract::{GemmShape, Operand};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::plain::Plain;
use crate::problem::{check_group_ends, products};
use nest::{Tiles, row_tile};

pub use oracle::oracle;
pub(crate) use oracle::{element_product, row_products};

/// The tile width to take where nothing else decides, in elements: B_s just fits into a first-level cache of 32 KiB,
/// and a matrix of 1024 rows has a row tile for each of 16 threads. Wider tiles are filled less often and can be a
/// tenth faster on few threads.
pub const DEFAULT_TILE_WIDTH: usize = 64;

/// The widest tile: three of 1024 x 1024 f64 take 24 MiB a thread, more than any cache that tiles are meant for.
pub const MAX_TILE_WIDTH: usize = 1024;

/// Computes `C (m x n) = op(A) (m x k) · op(B) (k x n)` tile by tile on the calling thread, the products of a batch one
/// after the other.
///
/// Operands are row-major slices with the leading dimensions of `shape`, in elements; they may be longer than
/// [`GemmShape::span_elems`]. Elements of `c` that are not elements of C - the gap behind each row, the rest of the
/// slice - are left as they are. With k = 0, C becomes 0.
///
/// `tile_width` counts elements along each side of a tile; three tiles of the accumulator's type are allocated.
///
/// # Errors
/// [`Error::InvalidArgument`] for a slice shorter than its operand, a tile width outside `1..=`[`MAX_TILE_WIDTH`], or
/// groups of rows, which [`gemm`](crate::gemm()) takes.
pub fn tiled<T: Element>(shape: &GemmShape, tile_width: usize, a: &[T], b: &[T], c: &mut [T]) -> Result<()> {
    each_product(shape, tile_width, [a, b], c, |Plain { shape, a, b }, c| {
        match size_of::<T::Accumulator>() {
            4 => on_one_thread::<T, 16>(shape, tile_width, a, b, c),
            _ => on_one_thread::<T, 8>(shape, tile_width, a, b, c),
        }
    })
}

/// [`tiled`], with the row tiles of C shared out among the threads of the current rayon pool. The result is the same
/// to the bit.
///
/// # Errors
/// Those of [`tiled`].
pub fn tiled_parallel<T: Element>(shape: &GemmShape, tile_width: usize, a: &[T], b: &[T], c: &mut [T]) -> Result<()> {
    each_product(shape, tile_width, [a, b], c, |Plain { shape, a, b }, c| {
        match size_of::<T::Accumulator>() {
            4 => on_all_threads::<T, 16>(shape, tile_width, a, b, c),
            _ => on_all_threads::<T, 8>(shape, tile_width, a, b, c),
        }
    })
}

/// [`tiled_parallel`] with an epilogue. `epilogue` computes rows of C from their accumulators: it takes where the C of
/// the product starts, in elements, the number of the first row, the accumulators and the elements of C, both with the
/// leading dimension of C. Each thread holds the accumulators of one tile of rows.
///
/// # Errors
/// Those of [`tiled`].
pub(crate) fn tiled_parallel_finished<T: Element, C: Element<Accumulator = T::Accumulator>>(
    shape: &GemmShape,
    tile_width: usize,
    group_ends: Option<&[u32]>,
    [a, b]: [&[T]; 2],
    c: &mut [C],
    epilogue: impl Fn(usize, usize, &[T::Accumulator], &mut [C]) + Sync,
) -> Result<()> {
    check_arguments(shape, tile_width, a, b, c)?;
    check_group_ends(shape, group_ends)?;
    for (product, [from_a, from_b, from_c]) in products(shape, group_ends) {
        let c = &mut c[from_c..][..product.span_elems(Operand::C)];
        let plain = &Plain::new(&product, &a[from_a..], &b[from_b..]);
        let epilogue = |row, sums: &[_], elements: &mut [_]| epilogue(from_c, row, sums, elements);
        match size_of::<T::Accumulator>() {
            4 => with_epilogue_on_all_threads::<T, C, 16>(plain, tile_width, c, epilogue),
            _ => with_epilogue_on_all_threads::<T, C, 8>(plain, tile_width, c, epilogue),
        }
    }
    Ok(())
}

/// The row tiles of C, in any order, each with the epilogue of the thread that holds its accumulators.
fn with_epilogue_on_all_threads<T: Element, C: Element<Accumulator = T::Accumulator>, const COLUMNS: usize>(
    Plain { shape, a, b }: &Plain<'_, T>,
    width: usize,
    c: &mut [C],
    epilogue: impl Fn(usize, &[T::Accumulator], &mut [C]) + Sync,
) {
    let start = || (Tiles::<T::Accumulator, COLUMNS>::new(shape, width), Vec::new());
    c.par_chunks_mut(row_tile_elems(shape, width).max(1))
        .enumerate()
        .for_each_init(start, |(tiles, accumulators), (index, rows_of_c)| {
            // With nothing along K the accumulators stay 0.
            accumulators.resize(rows_of_c.len(), T::Accumulator::default());
            if shape.k() > 0 {
                row_tile(shape, index * width, a, b, accumulators, tiles);
            }
            epilogue(index * width, accumulators, rows_of_c);
        });
}

/// The row tiles of C, a span that is not empty, one after the other.
fn on_one_thread<T: Element, const COLUMNS: usize>(shape: &GemmShape, width: usize, a: &[T], b: &[T], c: &mut [T]) {
    let mut tiles = Tiles::<T::Accumulator, COLUMNS>::new(shape, width);
    for (index, rows_of_c) in c.chunks_mut(row_tile_elems(shape, width)).enumerate() {
        row_tile(shape, index * width, a, b, rows_of_c, &mut tiles);
    }
}

/// The row tiles of C, a span that is not empty, in any order. They share no element of C, so nothing is locked.
fn on_all_threads<T: Element, const COLUMNS: usize>(shape: &GemmShape, width: usize, a: &[T], b: &[T], c: &mut [T]) {
    c.par_chunks_mut(row_tile_elems(shape, width))
        .enumerate()
        .for_each_init(
            || Tiles::<T::Accumulator, COLUMNS>::new(shape, width),
            |tiles, (index, rows_of_c)| row_tile(shape, index * width, a, b, rows_of_c, tiles),
        );
}

/// Checks the arguments, settles the shapes without a product, and computes each product of others: from the operands
/// to the span of its C.
fn each_product<T: Element>(
    shape: &GemmShape,
    tile_width: usize,
    [a, b]: [&[T]; 2],
    c: &mut [T],
    compute: impl Fn(&Plain<'_, T>, &mut [T]),
) -> Result<()> {
    check_arguments(shape, tile_width, a, b, c)?;
    check_group_ends(shape, None)?;
    let (_, columns, ld) = shape.extents(Operand::C);
    let span = shape.product().span_elems(Operand::C);
    for (product, [from_a, from_b, from_c]) in products(shape, None).filter(|_| span > 0) {
        let c = &mut c[from_c..][..span];
        match shape.k() {
            0 => c.chunks_mut(ld).for_each(|row| row[..columns].fill(T::from_f64(0.0))),
            _ => compute(&Plain::new(&product, &a[from_a..], &b[from_b..]), c),
        }
    }
    Ok(())
}

/// Refuses slices that are too short, and tile widths out of range.
fn check_arguments<T, C>(shape: &GemmShape, tile_width: usize, a: &[T], b: &[T], c: &[C]) -> Result<()> {
    check_lengths(
        shape,
        &[(Operand::A, a.len()), (Operand::B, b.len()), (Operand::C, c.len())],
    )?;
    if !(1..=MAX_TILE_WIDTH).contains(&tile_width) {
        return Err(Error::InvalidArgument(format!(
            "tile width {tile_width} is outside 1..={MAX_TILE_WIDTH}; nearest: {}",
            tile_width.clamp(1, MAX_TILE_WIDTH)
        )));
    }
    Ok(())
}

/// Elements of C from the first of one row tile to the first of the next.
fn row_tile_elems(shape: &GemmShape, tile_width: usize) -> usize {
    let (_, _, ld) = shape.extents(Operand::C);
    tile_width * ld
}

/// Refuses slices that are shorter than their operands.
///
/// # Errors
/// [`Error::InvalidArgument`] for the first that is.
pub fn check_lengths(shape: &GemmShape, slices: &[(Operand, usize)]) -> Result<()> {
    for &(operand, got) in slices {
        let needed = shape.span_elems(operand);
        if got < needed {
            return Err(Error::short_slice(operand, needed, got));
        }
    }
    Ok(())
}
