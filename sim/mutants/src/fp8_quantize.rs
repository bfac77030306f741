//! Launches of quantizations to FP8, with the result of the CPU's quantizer.

use half::bf16;
use sample_kernels::case::{Argument, Buffer, Case, Data, Rows};
use tilewright::fp8::{Fp8, Fp8Matrix};
use tilewright_contract::{FP8_QUANTIZE_KERNELS, Fp8QuantizeKernel};

/// Fields of the parameters: four addresses, and words.
const FIELDS: usize = 5;

/// The launch of a kernel of bf16 with scales of blocks, to e4m3; `padding` elements after each line of the source.
///
/// No two neighbors are the same, nor are the largest magnitudes of neighboring scales.
///
/// # Errors
/// There is no such kernel.
pub fn case(symbol: &str, [rows, k, padding]: [usize; 3]) -> Result<Case, String> {
    let kernel = FP8_QUANTIZE_KERNELS.iter().find(|kernel| kernel.symbol == symbol);
    let kernel = kernel.ok_or_else(|| format!("{symbol} quantizes nothing"))?;
    let value = |row: usize, k: usize| {
        let size = 1 + (row * 7 + k / 128 * 5) % 11;
        let element = (row * 31 + k * 17) % 29 + 1;
        bf16::from_f32((size * element) as f32)
    };
    let [lines, columns] = if kernel.is_transposed { [k, rows] } else { [rows, k] };
    let at = |line: usize, column: usize| match kernel.is_transposed {
        true => value(column, line),
        false => value(line, column),
    };
    let of_source = Rows {
        rows: lines,
        columns,
        ld: columns + padding,
    };
    let source = (0..of_source.span()).map(|offset| {
        let (line, column) = (offset / of_source.ld, offset % of_source.ld);
        at(line, column.min(columns - 1)).to_bits()
    });
    let source = Buffer::input(Data::U16(source.collect())).with_rows(of_source);
    let elements: Vec<f32> = (0..rows * k).map(|at| value(at / k, at % k).to_f32()).collect();
    let on_cpu = Fp8Matrix::quantize(Fp8::E4m3, kernel.scaling, rows, k, &elements);
    let on_cpu = on_cpu.map_err(|error| error.to_string())?;
    let layout = on_cpu.scale_layout();
    let data = Buffer::output(Data::U8(on_cpu.data().to_vec()));
    let scales = Buffer::output(Data::F32(on_cpu.scales().to_vec()));
    let words = [rows, k, of_source.ld, layout.ld, 0, Fp8::E4m3 as usize];
    let tiles = |extent: usize| (extent as u32).div_ceil(Fp8QuantizeKernel::TILE);
    let fields: [Argument; FIELDS] = [
        source.into(),
        data.into(),
        scales.into(),
        Argument::Words(vec![0; 2]),
        Argument::Words(words.map(|word| word as u32).to_vec()),
    ];
    Ok(Case {
        kernel: kernel.symbol,
        grid: [tiles(rows) * tiles(k), 1, 1],
        block: [Fp8QuantizeKernel::THREADS, 1, 1],
        cluster: 1,
        dynamic_shared_bytes: 0,
        fields: FIELDS,
        arguments: fields.to_vec(),
    })
}
