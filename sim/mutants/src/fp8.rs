//! Launches of FP8 products, with the result that the CPU's reference expects.

use std::ptr::{null, null_mut};

use half::bf16;
use sample_kernels::case::{Argument, Buffer, Case, Data, Map, Rows};
use tilewright::fp8::{Fp8, Fp8Gemm, Fp8Matrix, Fp8ScaleLayout, Fp8Scaling, reference};
use tilewright_contract::{Fp8Kernel, Fp8Mode, GemmParams, GemmShape, Major, Transpose};

use crate::products::{FIELDS, words};

/// The launch of a kernel of e4m3 with C of bf16, a CTA for each tile; with scales of blocks, else of rows.
///
/// Elements are small integers and scales powers of two, no two neighbors the same: every sum is exact, and what takes
/// an element or a scale for another shows.
///
/// # Errors
/// There is no such kernel.
pub fn case(symbol: &str, [m, n, k]: [usize; 3]) -> Result<Case, String> {
    let kernel = Fp8Kernel::named(symbol).ok_or_else(|| format!("{symbol} is no FP8 kernel"))?;
    let (tile, has_scales) = (kernel.tile, kernel.mode == Fp8Mode::Blocks);
    let [of_a, of_b] = match has_scales {
        true => [Fp8Scaling::Rows128, Fp8Scaling::Blocks128],
        false => [Fp8Scaling::Rows; 2],
    };
    let (a, b) = (matrix(of_a, m, k, 1), matrix(of_b, n, k, 3));
    let problem = |error: tilewright::Error| error.to_string();
    let gemm = Fp8Gemm::<bf16>::new(&a, &b).map_err(problem)?;
    let c = reference(&gemm, None).into_iter().map(|c| bf16::from_f64(c).to_bits());
    let c = Buffer::output(Data::U16(c.collect())).with_rows(packed(m, n));
    let shape = GemmShape::packed_transposed(m, n, k, [Transpose::No, Transpose::Yes]);
    let shape = shape.map_err(|error| error.to_string())?;
    let of_data = |matrix: &Fp8Matrix| {
        Buffer::input(Data::U8(matrix.data().to_vec())).with_rows(packed(matrix.rows(), matrix.k()))
    };
    let of_scales = |matrix: &Fp8Matrix| {
        let layout = matrix.scale_layout();
        Buffer::input(Data::F32(matrix.scales().to_vec())).with_rows(packed(layout.lines, layout.ld))
    };
    let params = GemmParams::<u8>::product(null(), null(), null_mut(), shape.args());
    let null = || Argument::Words(vec![0; 2]);
    // The kernel reads A and B by their maps, and scales by the addresses in its second parameter: a run puts those of
    // these two there.
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
    // Two addresses, from the scale of a row to that of the next, from one block of columns to the next, alignment.
    let scaled = Argument::Words(vec![0, 0, 0, 0, 1, 1, b.scale_layout().ld as u32, 0]);
    let [a_rows, b_rows, c_rows] = tile.box_rows([Major::K; 2], [m as u32, n as u32]);
    let map = |matrix, box_extents, planes| {
        Argument::Map(Map {
            matrix,
            box_extents,
            swizzled: planes == Some(1),
            planes,
        })
    };
    let of_a = map(0, [tile.k, a_rows], Some(1));
    let maps = [
        of_a.clone(),
        map(1, [tile.k, b_rows], Some(1)),
        map(2, [tile.c_columns(), c_rows], Some(1)),
        match has_scales {
            true => map(4, [tile.m, 1], None),
            false => of_a,
        },
    ];
    Ok(Case {
        kernel: kernel.symbol,
        grid: [(m as u32).div_ceil(tile.m) * (n as u32).div_ceil(tile.n), 1, 1],
        block: [tile.threads(), 1, 1],
        cluster: 1,
        dynamic_shared_bytes: kernel.smem().dynamic_bytes().get(),
        fields: FIELDS,
        arguments: fields.into_iter().chain([scaled]).chain(maps).collect(),
    })
}

fn packed(rows: usize, columns: usize) -> Rows {
    Rows {
        rows,
        columns,
        ld: columns,
    }
}

/// Rows of 1, 2, -1 and 3, and scales of 1/2, 1 and 2.
fn matrix(scaling: Fp8Scaling, rows: usize, k: usize, seed: usize) -> Fp8Matrix {
    let pick = |at: usize| at.wrapping_mul(seed + 6) / 5 + at / 7;
    let data = (0..rows * k).map(|at| [0x38, 0x40, 0xb8, 0x44][pick(at) % 4]).collect();
    let layout = Fp8ScaleLayout::of(scaling, rows, k);
    let scales = (0..layout.lines * layout.columns).map(|at| [0.5, 1.0, 2.0][pick(at) % 3]);
    let scales: Vec<f32> = scales.collect();
    Fp8Matrix::with_packed_scales(Fp8::E4m3, scaling, [rows, k], data, &scales).expect("numbers")
}
