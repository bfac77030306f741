//! One row tile of the nest: the buffers of its tiles, how they are filled, and the loops over them.

use multiversion::multiversion;
use tilewright_contract::{GemmShape, Operand};

use crate::element::{Accumulator, Element};

/// Rows that the innermost loop sums at once: it loads a vector of B_s once for all of them. With four there are enough
/// independent sums to hide the latency of an addition, and their vectors still fit into 16 registers.
pub(super) const ROWS: usize = 4;

/// The buffers of one thread, all in the type of the sums. `COLUMNS` columns are summed at once.
pub(super) struct Tiles<X, const COLUMNS: usize> {
    /// Elements along k that a tile has room for.
    depth: usize,
    /// Columns of C that a tile covers.
    width: usize,
    /// Rows of C that a tile has room for, a multiple of [`ROWS`].
    rows: usize,
    /// A_s: row, k.
    a: Vec<X>,
    /// B_s, `COLUMNS` columns at a time: strip, k, column of the strip.
    b: Vec<[X; COLUMNS]>,
    /// C_s: strip, row, column of the strip.
    c: Vec<[X; COLUMNS]>,
}

/// A part of the product: a tile's extents where the matrix may end inside it.
#[derive(Clone, Copy)]
struct Extents {
    rows: usize,
    columns: usize,
    depth: usize,
}

impl<X: Accumulator, const COLUMNS: usize> Tiles<X, COLUMNS> {
    /// Room for tiles of `width x width`, or less where the shape has less. No extent of the shape is 0.
    pub(super) fn new(shape: &GemmShape, width: usize) -> Self {
        let rows = width.min(shape.m()).next_multiple_of(ROWS);
        let depth = width.min(shape.k());
        let width = width.min(shape.n());
        let strips = width.div_ceil(COLUMNS);
        Self {
            depth,
            width,
            rows,
            a: vec![X::default(); rows * depth],
            b: vec![[X::default(); COLUMNS]; strips * depth],
            c: vec![[X::default(); COLUMNS]; strips * rows],
        }
    }

    /// Fills A_s from the rows of `a`, which begin `lda` elements apart.
    #[inline(always)]
    fn fill_a<T: Element<Accumulator = X>>(&mut self, a: &[T], lda: usize, tile: Extents) {
        for (row, filled) in a.chunks(lda).take(tile.rows).zip(self.a.chunks_exact_mut(self.depth)) {
            filled
                .iter_mut()
                .zip(&row[..tile.depth])
                .for_each(|(x, source)| *x = source.to_accumulator());
        }
    }

    /// Fills B_s from the rows of `b`, which begin `ldb` elements apart. Columns past the last are zero.
    #[inline(always)]
    fn fill_b<T: Element<Accumulator = X>>(&mut self, b: &[T], ldb: usize, tile: Extents) {
        for (k, row) in b.chunks(ldb).take(tile.depth).enumerate() {
            let (strips, rest) = row[..tile.columns].as_chunks::<COLUMNS>();
            for (strip, source) in strips.iter().enumerate() {
                self.b[strip * self.depth + k] = std::array::from_fn(|column| source[column].to_accumulator());
            }
            if !rest.is_empty() {
                let mut last = [X::default(); COLUMNS];
                last.iter_mut()
                    .zip(rest)
                    .for_each(|(x, source)| *x = source.to_accumulator());
                self.b[strips.len() * self.depth + k] = last;
            }
        }
    }

    /// Multiplies A_s and B_s. The first inner tile stores into C_s, later ones add.
    #[inline(always)]
    fn multiply(&mut self, tile: Extents, first: bool) {
        for group in 0..tile.rows.div_ceil(ROWS) {
            // A group that reaches past the last row sums what is left there from before, and nobody reads that.
            let a = std::array::from_fn(|r| &self.a[(group * ROWS + r) * self.depth..][..tile.depth]);
            for (strip, b) in self
                .b
                .chunks_exact(self.depth)
                .take(tile.columns.div_ceil(COLUMNS))
                .enumerate()
            {
                let sums = dot_products(a, &b[..tile.depth]);
                let c = &mut self.c[strip * self.rows + group * ROWS..][..ROWS];
                for (c, sums) in c.iter_mut().zip(sums) {
                    for (c, sum) in c.iter_mut().zip(sums) {
                        *c = if first { sum } else { *c + sum };
                    }
                }
            }
        }
    }

    /// Writes C_s to the rows of `c`, which begin `ldc` elements apart, and rounds to the element type.
    #[inline(always)]
    fn write_c<C: Element<Accumulator = X>>(&self, c: &mut [C], ldc: usize, tile: Extents) {
        for (row, target) in c.chunks_mut(ldc).take(tile.rows).enumerate() {
            for (strip, target) in target[..tile.columns].chunks_mut(COLUMNS).enumerate() {
                let sums = &self.c[strip * self.rows + row];
                target
                    .iter_mut()
                    .zip(sums)
                    .for_each(|(c, &sum)| *c = C::from_accumulator(sum));
            }
        }
    }
}

/// `ROWS x COLUMNS` dot products, each in the order of k. The sums stay in registers: the extents are constants, so
/// both inner loops disappear.
#[inline(always)]
fn dot_products<X: Accumulator, const COLUMNS: usize>(a: [&[X]; ROWS], b: &[[X; COLUMNS]]) -> [[X; COLUMNS]; ROWS] {
    let mut sums = [[X::default(); COLUMNS]; ROWS];
    let [a0, a1, a2, a3] = a;
    // Zipped rather than indexed, so that one count serves all five and no index is checked.
    for ((((b, &a0), &a1), &a2), &a3) in b.iter().zip(a0).zip(a1).zip(a2).zip(a3) {
        for (sums, a) in sums.iter_mut().zip([a0, a1, a2, a3]) {
            for (sum, &b) in sums.iter_mut().zip(b) {
                *sum = *sum + a * b;
            }
        }
    }
    sums
}

/// Computes the row tile of C that begins at row `first_row`. `c` holds its rows and ends with the last element of the
/// last.
///
/// Compiled for several instruction sets, of which the best that the CPU has is taken when called. They differ in the
/// width of their vectors, not in a result: no lane ever meets another.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(super) fn row_tile<T: Element, C: Element<Accumulator = T::Accumulator>, const COLUMNS: usize>(
    shape: &GemmShape,
    first_row: usize,
    a: &[T],
    b: &[T],
    c: &mut [C],
    tiles: &mut Tiles<T::Accumulator, COLUMNS>,
) {
    let (_, inner, lda) = shape.extents(Operand::A);
    let (_, columns, ldb) = shape.extents(Operand::B);
    let (_, _, ldc) = shape.extents(Operand::C);
    let rows = c.len().div_ceil(ldc);
    for column in (0..columns).step_by(tiles.width) {
        let mut tile = Extents {
            rows,
            columns: tiles.width.min(columns - column),
            depth: 0,
        };
        for k in (0..inner).step_by(tiles.depth) {
            tile.depth = tiles.depth.min(inner - k);
            tiles.fill_a(&a[first_row * lda + k..], lda, tile);
            tiles.fill_b(&b[k * ldb + column..], ldb, tile);
            tiles.multiply(tile, k == 0);
        }
        tiles.write_c(&mut c[column..], ldc, tile);
    }
}
