//! The header of a `.npy` file: magic, version, and a Python dictionary with element type, order and shape.
//!
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use std::fmt;
use std::io::Read;

use ndarray_npy::npy::header::{Header as NpyHeader, Layout, ParseHeaderError, ReadHeaderError};
use py_literal::Value;
use tilewright::DType;

/// The longest header, with the blanks after its text: the longest that version 1 can count.
const MAX_HEADER_BYTES: usize = u16::MAX as usize;

/// NumPy's own limit for a header's text (`max_header_size`).
const MAX_TEXT_BYTES: usize = 10_000;

/// Opening brackets in a header's text, at most. A plain array has two, one of an enormous structured type a few more.
const MAX_BRACKETS: usize = 32;

/// How a file names the type of its elements, as far as [`DType`] does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descr {
    /// `f` for floats, `u` for unsigned integers, `V` for raw bytes.
    kind: char,
    /// Bytes of one element.
    size: u8,
    /// Most significant byte first.
    pub big_endian: bool,
}

impl Descr {
    /// A little-endian f32.
    pub const F32: Self = Self {
        kind: 'f',
        size: 4,
        big_endian: false,
    };

    /// A little-endian f16.
    pub const F16: Self = Self { size: 2, ..Self::F32 };

    /// A bfloat16, as `ml_dtypes` writes it.
    pub const BF16: Self = Self { kind: 'V', ..Self::F16 };

    /// A byte, an element of FP8.
    pub const BYTE: Self = Self {
        kind: 'u',
        size: 1,
        ..Self::F32
    };

    /// Reads NumPy's type string: byte order, kind, bytes. `None` for types that no matrix here can have.
    fn parse(text: &str) -> Option<Self> {
        let mut chars = text.chars();
        let order = chars.next()?;
        let kind = chars.next()?;
        let size = chars.as_str();
        let big_endian = match order {
            '<' => false,
            '>' => true,
            // This machine's, and where there is no order: NumPy takes both for this machine's.
            '=' | '|' => cfg!(target_endian = "big"),
            _ => return None,
        };
        if !matches!((kind, size), ('f', "2" | "4" | "8") | ('u' | 'V', "1" | "2")) {
            return None;
        }
        Some(Self {
            kind,
            size: size.parse().ok()?,
            big_endian,
        })
    }

    /// The type as a user reads it, such as `<f4`.
    fn text(self) -> String {
        // `ml_dtypes` writes bfloat16 as `<V2`, for which NumPy reads `|V2`: so do we write what it writes.
        let order = match (self.size, self.big_endian) {
            (1, _) => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        format!("{order}{}{}", self.kind, self.size)
    }
}

/// The type of the elements of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Numbers of this type.
    Numbers(DType),
    /// Bytes: FP8, of a format that the file does not say.
    Bytes,
}

impl Held {
    /// Bytes of an element.
    fn size_bytes(self) -> u32 {
        match self {
            Self::Numbers(dtype) => dtype.size_bytes(),
            Self::Bytes => 1,
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers(dtype) => dtype.fmt(f),
            Self::Bytes => f.write_str("uint8"),
        }
    }
}

/// What a header says of a matrix, or of a batch of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// Matrices.
    pub matrices: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub columns: usize,
    /// Whether the first index runs fastest: the elements of a matrix are stored column by column.
    pub fortran_order: bool,
    /// The dimensions of the array, from 0, one element, and 1, a row, to 3, matrices.
    pub dimensions: usize,
    /// The elements' type.
    pub descr: Descr,
    /// Where the elements begin, in bytes.
    pub data_offset: u64,
}

impl Header {
    /// Reads a header from the beginning of a file.
    pub fn read(file: &mut impl Read) -> Result<Self, String> {
        let (text, data_offset) = read_text(file)?;
        let header = NpyHeader::from_reader(&mut text.as_slice()).map_err(|error| match error {
            // The parser's own message takes several lines.
            ReadHeaderError::Parse(ParseHeaderError::DictParse(_)) => "its header is no Python dictionary".to_owned(),
            other => format!("its header cannot be read: {other}"),
        })?;
        let Value::String(descr) = &header.type_descriptor else {
            return Err("holds a structured type; a matrix of f2, f4 or f8 is needed".into());
        };
        let descr = Descr::parse(descr).ok_or_else(|| {
            format!(
                "holds elements of type {descr:?}; f2, f4 and f8 can be multiplied, u2 or V2 as bfloat16, and u1 as FP8"
            )
        })?;
        let dimensions = header.shape.len();
        let [matrices, rows, columns] = match header.shape[..] {
            [matrices, rows, columns] => [matrices, rows, columns],
            [rows, columns] => [1, rows, columns],
            [columns] => [1, 1, columns],
            [] => [1, 1, 1],
            _ => return Err(has_dimensions(dimensions)),
        };
        Ok(Self {
            matrices,
            rows,
            columns,
            fortran_order: header.layout.is_fortran(),
            dimensions,
            descr,
            data_offset,
        })
    }

    /// The type of the elements. `words_are_bf16` declares 16-bit words to be bfloat16.
    pub fn held(&self, words_are_bf16: bool) -> Result<Held, String> {
        match (self.descr.kind, self.descr.size, words_are_bf16) {
            (_, 1, _) => Ok(Held::Bytes),
            ('u' | 'V', _, true) => Ok(Held::Numbers(DType::Bf16)),
            ('u' | 'V', _, false) => Err(format!(
                "holds 16-bit words ({}); with --bf16 they are read as bfloat16",
                self.descr.text()
            )),
            (_, _, true) => Err(format!(
                "holds {}; --bf16 reads 16-bit words (u2 or V2)",
                self.descr.text()
            )),
            (_, 2, false) => Ok(Held::Numbers(DType::F16)),
            (_, 4, false) => Ok(Held::Numbers(DType::F32)),
            (_, _, false) => Ok(Held::Numbers(DType::F64)),
        }
    }

    /// Compares the bytes that the header promises with those of the file.
    pub fn check_size(&self, held: Held, file_bytes: u64) -> Result<(), String> {
        let size = held.size_bytes();
        let factors = [self.matrices, self.rows, self.columns, size as usize];
        let product = factors.into_iter().try_fold(1_usize, usize::checked_mul);
        let Some(promised) = product else {
            return Err(format!("its header's shape overflows: {self} elements of {size} B"));
        };
        let held = file_bytes.saturating_sub(self.data_offset);
        match (promised as u64).cmp(&held) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(format!(
                "is truncated: {self} elements of {size} B take {promised} B, the file holds {held} B of them"
            )),
            std::cmp::Ordering::Less => Err(format!(
                "is longer than its header says: {self} elements of {size} B take {promised} B, the file holds {held} B"
            )),
        }
    }
}

impl fmt::Display for Header {
    /// Writes the shape.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dimensions {
            3 => write!(f, "{} x {} x {}", self.matrices, self.rows, self.columns),
            _ => write!(f, "{} x {}", self.rows, self.columns),
        }
    }
}

/// Why an array is not taken.
pub fn has_dimensions(dimensions: usize) -> String {
    format!("holds an array of {dimensions} dimensions; a matrix has 2")
}

/// The bytes of a header, from the magic to a line break that ends it, without the blanks before that; and where the
/// elements begin.
///
/// The library's parser recurses and converts numbers of any length, so it is given only what the header of a plain
/// array can contain.
fn read_text(file: &mut impl Read) -> Result<(Vec<u8>, u64), String> {
    let mut fill = |bytes: &mut [u8]| {
        file.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "is no .npy file: it ends within the header".to_owned(),
            _ => error.to_string(),
        })
    };
    let mut head = vec![0; 8];
    fill(&mut head)?;
    if !head.starts_with(b"\x93NUMPY") {
        return Err("is no .npy file: it does not begin with \\x93NUMPY".into());
    }
    // Version 1 counts the header in 2 bytes, 2 and 3 in 4.
    let mut count = [0; 4];
    let digits = if head[6] == 1 { 2 } else { 4 };
    fill(&mut count[..digits])?;
    let len = u32::from_le_bytes(count) as usize;
    if len > MAX_HEADER_BYTES {
        return Err(format!(
            "its header claims {len} B, the longest allowed is {MAX_HEADER_BYTES} B"
        ));
    }
    let mut header = vec![0; len];
    fill(&mut header)?;
    // NumPy ends it with blanks and a line break; what reads it needs neither.
    let text = header.trim_ascii_end();
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!(
            "its header has {} B of text, the longest allowed is {MAX_TEXT_BYTES} B",
            text.len()
        ));
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" _{}()[]'\",:<>|=\n".contains(byte);
    let brackets = text.iter().filter(|byte| b"{([".contains(byte)).count();
    if !text.iter().all(plain) || brackets > MAX_BRACKETS {
        return Err("its header is not that of a plain array".into());
    }
    if has_number_with_leading_zero(text) {
        return Err("its header is no Python dictionary: a number begins with 0".into());
    }
    let data_offset = (head.len() + digits + len) as u64;
    count = (text.len() as u32 + 1).to_le_bytes();
    head.extend_from_slice(&count[..digits]);
    head.extend_from_slice(text);
    head.push(b'\n');
    Ok((head, data_offset))
}

/// Whether a number other than zero begins with a zero, which Python refuses and the library's parser takes.
fn has_number_with_leading_zero(text: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_alphanumeric())
        .filter(|word| word.len() > 1 && word.iter().all(u8::is_ascii_digit))
        .any(|number| number[0] == b'0' && number.iter().any(|&digit| digit != b'0'))
}

/// The header of a little-endian array in C order.
pub fn to_bytes(descr: Descr, extents: &[usize]) -> Result<Vec<u8>, String> {
    let header = NpyHeader {
        type_descriptor: Value::String(
            Descr {
                big_endian: false,
                ..descr
            }
            .text(),
        ),
        layout: Layout::Standard,
        shape: extents.to_vec(),
    };
    header.to_bytes().map_err(|error| error.to_string())
}
