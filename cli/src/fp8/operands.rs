//! The operands of `tilewright fp8`: random numbers, or files of numbers or of FP8 elements.

use std::path::{Path, PathBuf};

use half::{bf16, f16};
use tilewright::fp8::{Fp8, Fp8Matrix, Fp8ScaleLayout, Fp8Scaling};
use tilewright::random::random_matrix;
use tilewright::{DType, Element};

use super::Scales;
use crate::failure::{Failure, Result};
use crate::npy::{Held, Scalar, Source, shape_text};

/// An operand, rows along K: A as its rows, B as its columns. Its elements are not read yet.
pub enum Operand {
    /// Random numbers, which are quantized.
    Random {
        /// Where they begin.
        seed: u64,
        /// Rows and K.
        extents: [usize; 2],
    },
    /// A file of numbers, which are quantized.
    Numbers(Source),
    /// A file of FP8 elements, and that of their scales.
    Elements(Source, PathBuf),
}

/// A file of scales whose shape is right.
struct ScaleFile {
    source: Source,
    /// Whether lines are padded as [`Fp8ScaleLayout`] stores them.
    is_padded: bool,
}

impl Operand {
    /// Opens the files of A and B, each of numbers, or with `scales` of FP8 elements.
    pub fn pair(files: [&Path; 2], [of_a, of_b]: [Option<&PathBuf>; 2], words_are_bf16: bool) -> Result<[Self; 2]> {
        let a = Self::open(files[0], "--a-scales", of_a, words_are_bf16)?;
        let b = Self::open(files[1], "--b-scales", of_b, words_are_bf16)?;
        let ([m, k], [n, k_of_b]) = (a.extents(), b.extents());
        if k != k_of_b {
            let [a, b] = files.map(Path::display);
            return Err(Failure::input(format!(
                "{a} is {m} x {k}, {b} is {n} x {k_of_b}: A is stored as its rows, m x k, B as its columns, n x k, \
                 with one K"
            )));
        }
        Ok([a, b])
    }

    fn open(path: &Path, option: &str, scales: Option<&PathBuf>, words_are_bf16: bool) -> Result<Self> {
        let source = Source::open_matrix(path, words_are_bf16)?;
        match (source.held(), scales) {
            (Held::Bytes, Some(scales)) => Ok(Self::Elements(source, scales.clone())),
            (Held::Bytes, None) => Err(Failure::file(
                path,
                format!("holds uint8, FP8 elements: {option} names the file of their scales"),
            )),
            (held, Some(scales)) => Err(Failure::file(
                path,
                format!(
                    "holds {held}, which is quantized; {option} {} is for elements of uint8",
                    scales.display()
                ),
            )),
            (Held::Numbers(_), None) => Ok(Self::Numbers(source)),
        }
    }

    /// Rows and K.
    pub fn extents(&self) -> [usize; 2] {
        match self {
            Self::Random { extents, .. } => *extents,
            Self::Numbers(source) | Self::Elements(source, _) => [source.rows(), source.columns()],
        }
    }

    /// What it is made of, for people.
    pub fn origin(&self) -> String {
        match self {
            Self::Random { .. } => "random, quantized".to_owned(),
            Self::Numbers(source) => format!("{}, {} quantized", source.path().display(), source.held()),
            Self::Elements(source, scales) => {
                format!("{} with scales {}", source.path().display(), scales.display())
            }
        }
    }

    /// Reads the elements, and quantizes them where they are numbers. `what` is `A` or `B`.
    pub fn read(self, what: &str, format: Fp8, scaling: Fp8Scaling) -> Result<Fp8Matrix> {
        let [rows, k] = self.extents();
        match self {
            Self::Random { seed, .. } => {
                let elements = random_matrix::<f32>(seed, rows * k);
                Ok(Fp8Matrix::quantize(format, scaling, rows, k, &elements)?)
            }
            Self::Numbers(source) => {
                let path = source.path().to_owned();
                let elements = numbers(source)?;
                let quantized = Fp8Matrix::quantize(format, scaling, rows, k, &elements);
                quantized.map_err(|error| Failure::file(&path, error))
            }
            Self::Elements(source, scales) => {
                let path = source.path().to_owned();
                let file = ScaleFile::open(&scales, what, scaling, [rows, k])?;
                let numbers = file.source.read::<f32>()?;
                let data = source.read::<u8>()?;
                let matrix = match file.is_padded {
                    true => Fp8Matrix::from_parts(format, scaling, [rows, k], data, numbers),
                    false => Fp8Matrix::with_packed_scales(format, scaling, [rows, k], data, &numbers),
                };
                matrix.map_err(|error| {
                    Failure::input(format!("{} with scales {}: {error}", path.display(), scales.display()))
                })
            }
        }
    }

    /// Refuses scales of another type or shape, without reading them.
    pub fn check_scales(&self, what: &str, scaling: Fp8Scaling) -> Result<()> {
        match self {
            Self::Elements(_, scales) => ScaleFile::open(scales, what, scaling, self.extents()).map(drop),
            Self::Random { .. } | Self::Numbers(_) => Ok(()),
        }
    }
}

impl ScaleFile {
    fn open(path: &Path, what: &str, scaling: Fp8Scaling, extents: [usize; 2]) -> Result<Self> {
        let source = Source::open_array(path)?;
        if source.held() != f32::HELD {
            let held = source.held();
            return Err(Failure::file(path, format!("holds {held}, scales are f32")));
        }
        let held = source.extents();
        if let Some(is_padded) = takes(&held, scaling, extents) {
            return Ok(Self { source, is_padded });
        }
        let [rows, k] = extents;
        let natural = scale_extents(scaling, extents);
        let each = match scaling {
            Fp8Scaling::Tensor => "one for all",
            Fp8Scaling::Rows => "one for each row",
            Fp8Scaling::Rows128 => "K-blocks x rows",
            Fp8Scaling::Blocks128 => "blocks of rows x K-blocks",
        };
        let other = Scales::ALL.into_iter().find(|scales| {
            let of_other = scales.of_operands()[usize::from(what == "B")];
            takes(&held, of_other, extents).is_some()
        });
        let hint = other.map_or(String::new(), |scales| {
            format!("; --scales {} takes these", scales.name())
        });
        Err(Failure::file(
            path,
            format!(
                "has shape {}, {scaling} scales of {what}, stored as {rows} x {k}, have {}: {each}{hint}",
                shape_text(&held),
                shape_text(&natural)
            ),
        ))
    }
}

/// The shape of a file of scales: of one scale `(1,)`.
pub fn scale_extents(scaling: Fp8Scaling, [rows, k]: [usize; 2]) -> Vec<usize> {
    let layout = Fp8ScaleLayout::of(scaling, rows, k);
    match scaling.is_blocked() {
        true => vec![layout.lines, layout.columns],
        false => vec![layout.columns],
    }
}

/// Whether an array of this shape has the scales of `extents`, rows and K: `Some(true)` with padded lines. Dimensions
/// of 1 make no difference.
fn takes(held: &[usize], scaling: Fp8Scaling, extents: [usize; 2]) -> Option<bool> {
    let long = |extents: &[usize]| -> Vec<usize> { extents.iter().copied().filter(|&extent| extent != 1).collect() };
    let layout = Fp8ScaleLayout::of(scaling, extents[0], extents[1]);
    if long(held) == long(&scale_extents(scaling, extents)) {
        Some(false)
    } else if scaling.is_blocked() && held == [layout.lines, layout.ld] {
        Some(true)
    } else {
        None
    }
}

/// The numbers of a file in f32, exact.
pub fn numbers(source: Source) -> Result<Vec<f32>> {
    fn widened<T: Scalar + Element>(source: Source) -> Result<Vec<f32>> {
        let elements = source.read::<T>()?;
        Ok(elements.into_iter().map(|element| element.to_f64() as f32).collect())
    }
    match source.dtype()? {
        DType::F32 => source.read(),
        DType::F16 => widened::<f16>(source),
        DType::Bf16 => widened::<bf16>(source),
        DType::F64 => Err(Failure::file(
            source.path(),
            "holds f64; f32, f16 and bf16 are quantized",
        )),
    }
}
