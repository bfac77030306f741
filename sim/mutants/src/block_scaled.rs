//! Launches of block-scaled products, with the result that the CPU's reference expects.

use std::ptr::{null, null_mut};

use half::bf16;
use sample_kernels::case::{Argument, Buffer, Case, Data, Map, Rows};
use tilewright::block_scaled::{BlockFormat, BlockScaled, BlockScaledGemm, ScaleLayout, reference};
use tilewright_contract::{BlockScaledKernel, BlockScaledTile, GemmParams, GemmShape, Transpose};

use crate::products::{FIELDS, words};

/// The launch of a kernel with its scales in the stages and C of bf16.
///
/// Elements are small integers and scales powers of two, no two neighbors the same: every sum is exact, and what takes
/// an element or a scale for another shows.
///
/// # Errors
/// There is no such kernel, or it does not take these stages.
pub fn case(symbol: &str, [m, n, k]: [usize; 3], stages: u32) -> Result<Case, String> {
    let kernel = BlockScaledKernel::named(symbol).ok_or_else(|| format!("{symbol} is no block-scaled kernel"))?;
    let tile = kernel.tile;
    if stages < tile.least_stages() {
        return Err(format!("{symbol} takes {} stages at least", tile.least_stages()));
    }
    let (a, b) = (matrix(tile.format, m, k, 1), matrix(tile.format, n, k, 3));
    let problem = |error: tilewright::Error| error.to_string();
    let gemm = BlockScaledGemm::<bf16>::new(&a, &b).map_err(problem)?;
    let c = reference(&gemm, None).into_iter().map(|c| bf16::from_f64(c).to_bits());
    let c = Buffer::output(Data::U16(c.collect()));
    let shape = GemmShape::packed_transposed(m, n, k, [Transpose::No, Transpose::Yes]);
    let shape = shape.map_err(|error| error.to_string())?;
    let layout = a.scale_layout();
    let of_data = |matrix: &BlockScaled| {
        let row = tile.format.bytes(k);
        let rows = Rows {
            rows: matrix.rows(),
            columns: row,
            ld: row,
        };
        Buffer::input(Data::U8(matrix.data().to_vec())).with_rows(rows)
    };
    let of_scales = |matrix: &BlockScaled| {
        let layout = matrix.scale_layout();
        let row = layout.k_tiles * ScaleLayout::TILE_BYTES as usize / 4;
        let rows = Rows {
            rows: layout.row_tiles,
            columns: row,
            ld: row,
        };
        let (scales, _) = matrix.scales().as_chunks::<4>();
        let scales = scales.iter().map(|&bytes| u32::from_le_bytes(bytes));
        Buffer::input(Data::U32(scales.collect())).with_rows(rows)
    };
    let params = GemmParams::<u8>::product(null(), null(), null_mut(), shape.args());
    let null = || Argument::Words(vec![0; 2]);
    // Maps are of buffers that are arguments. The kernel reads none of these four by its address.
    let fields: [Argument; FIELDS] = [
        of_data(&a).into(),
        of_data(&b).into(),
        c.into(),
        null(),
        of_scales(&a).into(),
        of_scales(&b).into(),
        null(),
        Argument::Words(words(&params)),
    ];
    // Null pointers to scales, tiles of them along K, and the stages.
    let scaled = Argument::Words(vec![0, 0, 0, 0, layout.k_tiles as u32, stages]);
    let map = |matrix, box_extents, swizzled| {
        Argument::Map(Map {
            matrix,
            box_extents,
            swizzled,
            planes: None,
        })
    };
    let of_box = |rows| {
        [
            tile.scale_k_tiles() * ScaleLayout::TILE_BYTES / 4,
            BlockScaledTile::scale_row_tiles(rows),
        ]
    };
    let maps = [
        map(0, [tile.k_bytes(), tile.m], true),
        map(1, [tile.k_bytes(), tile.n], true),
        map(4, of_box(tile.m), false),
        map(5, of_box(tile.n), false),
    ];
    Ok(Case {
        kernel: kernel.symbol,
        grid: [(m as u32).div_ceil(tile.m) * (n as u32).div_ceil(tile.n), 1, 1],
        block: [tile.threads(), 1, 1],
        cluster: 1,
        dynamic_shared_bytes: tile.smem(stages).dynamic_bytes().get(),
        fields: FIELDS,
        arguments: fields.into_iter().chain([scaled]).chain(maps).collect(),
    })
}

/// Rows of 1, 2, 3 and -4, or 1, 2, -1 and 3, and scales of 1/2, 1 and 2.
fn matrix(format: BlockFormat, rows: usize, k: usize, seed: usize) -> BlockScaled {
    let pick = |at: usize| at.wrapping_mul(seed + 6) / 5 + at / 7;
    let data = match format.element_bits() {
        4 => (0..rows * k / 2)
            .map(|i| [2, 4, 5, 14][pick(2 * i) % 4] | [2, 12, 5, 6][pick(2 * i + 1) % 4] << 4)
            .collect(),
        _ => (0..rows * k).map(|i| [0x38, 0x40, 0xb8, 0x44][pick(i) % 4]).collect(),
    };
    let blocks = k / format.block() as usize;
    let scale = |at: usize| match format.scale_is_exponent() {
        true => [126, 127, 128][pick(at) % 3],
        false => [0x30, 0x38, 0x40][pick(at) % 3],
    };
    let scales: Vec<u8> = (0..rows * blocks).map(scale).collect();
    BlockScaled::with_row_major_scales(format, [rows, k], data, &scales, 1.0).expect("numbers")
}
