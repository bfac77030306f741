//! Launches of the matrix products, with the result that plain loops expect.

use classics::case::{Argument, Buffer, Case, Data, Rows};
use tilewright_contract::{Bytes, DType, GemmShape, Grid, Operand, Variant};

/// The launch of an `f32` entry point with tiles of this width, of which it must be capable.
///
/// The elements are small integers, so that every order of the sum gives the same result, and none of them is 0, so that none
/// can be left out unseen. Outside the matrices' columns, up to the leading dimensions, stands what no product has.
///
/// # Errors
/// Where the variant does not compute such tiles or the grid is too large.
pub fn case(variant: &'static Variant, shape: &GemmShape, width: u32) -> Result<Case, String> {
    if variant.dtype != DType::F32 || !variant.computes(width) {
        return Err(format!("{} has no tiles of width {width} in f32", variant.symbol));
    }
    let tile = variant.tile_of_width(width).map_err(|error| error.to_string())?;
    let args = shape.args();
    let grid = Grid::cover(args, tile.m(), tile.n(), 1).map_err(|error| error.to_string())?;
    let (a, b) = (elements(shape, Operand::A), elements(shape, Operand::B));
    let c = product(shape, &a, &b);
    let mut arguments = vec![
        Buffer::input(Data::F32(a)).with_rows(rows(shape, Operand::A)).into(),
        Buffer::input(Data::F32(b)).with_rows(rows(shape, Operand::B)).into(),
        Buffer::output(Data::F32(c)).with_rows(rows(shape, Operand::C)).into(),
        Argument::Words(vec![args.m, args.n, args.k, args.lda, args.ldb, args.ldc]),
    ];
    let dynamic = variant.dynamic_bytes(tile);
    if dynamic != Bytes(0) {
        let parts = variant.parts(tile);
        arguments.push(Argument::Words(vec![
            parts.tile_width,
            parts.a_part.get(),
            parts.b_part.get(),
        ]));
    }
    Ok(Case {
        kernel: variant.symbol,
        grid: [grid.blocks(), 1, 1],
        block: tile.block(),
        dynamic_shared_bytes: dynamic.get(),
        arguments,
    })
}

fn rows(shape: &GemmShape, operand: Operand) -> Rows {
    let (rows, columns, ld) = shape.extents(operand);
    Rows { rows, columns, ld }
}

/// Integers from -4 to 4 without 0 in the matrix, and a number too large for any sum between its rows.
fn elements(shape: &GemmShape, operand: Operand) -> Vec<f32> {
    let rows = rows(shape, operand);
    let seed = if operand == Operand::A { 1 } else { 2 };
    let at = |offset: usize| {
        let (row, column) = ((offset / rows.ld) as u32, (offset % rows.ld) as u32);
        // Any mixing of row and column that is not symmetric does.
        let mixed = (row + 1)
            .wrapping_mul(0x9e37_79b1)
            .wrapping_add((column + seed).wrapping_mul(0x85eb_ca77));
        let small = (mixed >> 13) % 8;
        if small < 4 {
            small as f32 - 4.0
        } else {
            small as f32 - 3.0
        }
    };
    let pad = 1.0e6;
    (0..rows.span())
        .map(|offset| if rows.contains(offset) { at(offset) } else { pad })
        .collect()
}

/// C as a plain sum over k; 0 between its rows.
fn product(shape: &GemmShape, a: &[f32], b: &[f32]) -> Vec<f32> {
    let c = rows(shape, Operand::C);
    let (a_rows, b_rows) = (rows(shape, Operand::A), rows(shape, Operand::B));
    let at = |offset: usize| {
        let (row, column) = (offset / c.ld, offset % c.ld);
        (0..a_rows.columns)
            .map(|k| a[row * a_rows.ld + k] * b[k * b_rows.ld + column])
            .sum()
    };
    (0..c.span())
        .map(|offset| if c.contains(offset) { at(offset) } else { 0.0 })
        .collect()
}
