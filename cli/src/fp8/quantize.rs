//! `tilewright fp8 quantize`: a matrix as a file of FP8 elements and one of scales.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tilewright::fp8::{Fp8, Fp8Matrix, Fp8Scaling};

use super::format_named;
use super::operands::{numbers, scale_extents};
use crate::destination::Destination;
use crate::failure::{Failure, Result};
use crate::npy::{self, Descr, Source, shape_text};
use crate::{memory, output};

/// Quantize a matrix: FP8 elements to one file, their scales to another
///
/// A scale is the largest magnitude of its elements over the largest of the format, an element the nearest to number /
/// scale.
#[derive(Args)]
pub struct Command {
    /// The matrix, f32 or f16, rows along K: A as its rows, m x k, B as its columns, n x k
    matrix: PathBuf,
    /// Where to write the elements, rows x k of uint8
    #[arg(short, long, value_name = "ELEMENTS")]
    out: PathBuf,
    /// Where to write the scales, f32
    #[arg(long, value_name = "SCALES")]
    scales_out: PathBuf,
    /// The format: e4m3 or e5m2
    #[arg(long, default_value = "e4m3")]
    format: String,
    /// Which elements share a scale: tensor, row, 1x128 (of A) or 128x128 (of B)
    #[arg(long, value_name = "SCALING")]
    scales: String,
    /// The file is k x rows, such as a B of k x n
    #[arg(long)]
    transpose: bool,
    /// Read 16-bit words (u2, or V2 as ml_dtypes writes them) as bfloat16
    #[arg(long)]
    bf16: bool,
    /// Run even if it takes more memory than there is
    #[arg(long)]
    yes: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing<'c> {
    rows: usize,
    k: usize,
    format: &'static str,
    scaling: &'static str,
    /// The shape of the file of scales.
    scale_shape: Vec<usize>,
    elements: &'c Path,
    scales: &'c Path,
}

/// Bytes of memory for each element: as it is in the file, in f32, transposed, and quantized.
const BYTES_OF_ELEMENT: u64 = 16;

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let format = format_named(&command.format)?;
    let scaling: Fp8Scaling = command
        .scales
        .parse()
        .map_err(|problem| Failure::input(format!("`{}`: {problem}", command.scales)))?;
    let source = Source::open_matrix(&command.matrix, command.bf16)?;
    let (rows, k) = match command.transpose {
        false => (source.rows(), source.columns()),
        true => (source.columns(), source.rows()),
    };
    let [elements, scales] = [&command.out, &command.scales_out].map(|path| Destination::new(path));
    let (elements, scales) = (elements?, scales?);
    if elements.is_same(&scales) {
        return Err(scales.failure("elements and scales would be one file"));
    }
    let what = || format!("quantizing {rows} x {k} elements");
    let len = (rows as u64).saturating_mul(k as u64);
    memory::ensure(what, len.saturating_mul(BYTES_OF_ELEMENT), command.yes)?;
    let matrix = quantized(source, format, scaling, [rows, k], command.transpose)?;
    let scale_shape = scale_extents(scaling, [rows, k]);
    // Neither appears before both are written.
    npy::fill(&elements, Descr::BYTE, &[rows, k], matrix.data())?;
    npy::fill(&scales, Descr::F32, &scale_shape, &matrix.packed_scales())?;
    elements.appear()?;
    scales.appear()?;
    let listing = Listing {
        rows,
        k,
        format: format.name(),
        scaling: scaling.name(),
        scale_shape,
        elements: &command.out,
        scales: &command.scales_out,
    };
    if json {
        return output::print_json(&listing);
    }
    let rows = [
        (
            "elements",
            format!("{}, {rows} x {k} of {format}", command.out.display()),
        ),
        (
            "scales",
            format!(
                "{}, {} of f32, {scaling}",
                command.scales_out.display(),
                shape_text(&listing.scale_shape)
            ),
        ),
    ];
    output::print(&output::render(output::pairs(rows)))
}

/// Reads and quantizes.
fn quantized(
    source: Source,
    format: Fp8,
    scaling: Fp8Scaling,
    [rows, k]: [usize; 2],
    is_transposed: bool,
) -> Result<Fp8Matrix> {
    let path = source.path().to_owned();
    let elements = numbers(source)?;
    let matrix = match is_transposed {
        false => Fp8Matrix::quantize(format, scaling, rows, k, &elements),
        true => Fp8Matrix::quantize_transposed(format, scaling, rows, k, &elements),
    };
    matrix.map_err(|error| Failure::file(&path, error))
}
