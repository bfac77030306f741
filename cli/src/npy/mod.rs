//! Matrices, and batches of them, in NumPy's `.npy` files.
//!
//! Read: arrays of two dimensions, or three where a batch is taken, of `f4`, `f8`, `f2`, of bytes (`u1`) that are FP8,
//! and of 16-bit words (`u2`, or `V2` as `ml_dtypes` writes) that the user declares to be bfloat16; either byte order,
//! C or Fortran order. Nothing is allocated before the header agrees with the size of the file. Written:
//! little-endian, C order, and either the whole file or nothing.

mod header;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use tilewright::DType;

use crate::destination::Destination;
use crate::failure::{Failure, Result};
pub use header::{Descr, Held};
use header::{Header, has_dimensions};

/// Bytes converted at a time; a multiple of every element's size.
const CHUNK_BYTES: usize = 1 << 16;

/// An element as a file holds it.
pub trait Scalar: Copy {
    /// The type as files hold it.
    const HELD: Held;
    /// Reads the element from its little-endian bytes.
    fn from_le(bytes: &[u8]) -> Self;
    /// Appends the element's little-endian bytes.
    fn push_le(self, bytes: &mut Vec<u8>);
}

macro_rules! scalar {
    ($($type:ty: $held:expr),*) => {$(
        impl Scalar for $type {
            const HELD: Held = $held;

            fn from_le(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$type>()];
                array.copy_from_slice(bytes);
                <$type>::from_le_bytes(array)
            }

            fn push_le(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

scalar!(
    f32: Held::Numbers(DType::F32),
    f64: Held::Numbers(DType::F64),
    f16: Held::Numbers(DType::F16),
    bf16: Held::Numbers(DType::Bf16),
    u8: Held::Bytes
);

/// A file of a matrix, or of several, whose header has been read and found to agree with the file's size; its elements
/// are still in it.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    file: File,
    header: Header,
    held: Held,
}

impl Source {
    /// Opens a file of a matrix or of a batch and checks it. `words_are_bf16` declares 16-bit words to be bfloat16.
    pub fn open(path: &Path, words_are_bf16: bool) -> Result<Self> {
        Self::of_dimensions(path, words_are_bf16, 2..=3)
    }

    /// The same, but of one matrix alone.
    pub fn open_matrix(path: &Path, words_are_bf16: bool) -> Result<Self> {
        Self::of_dimensions(path, words_are_bf16, 2..=2)
    }

    /// The same of an array of up to two dimensions; what [`Source::extents`] says is the caller's to check.
    pub fn open_array(path: &Path) -> Result<Self> {
        Self::of_dimensions(path, false, 0..=2)
    }

    /// The same, but of one matrix, or of an array of one dimension, which is a matrix of one row.
    pub fn open_row(path: &Path, words_are_bf16: bool) -> Result<Self> {
        Self::of_dimensions(path, words_are_bf16, 1..=2)
    }

    fn of_dimensions(path: &Path, words_are_bf16: bool, taken: RangeInclusive<usize>) -> Result<Self> {
        let fail = |problem: String| Failure::file(path, problem);
        // Before opening: a named pipe would block.
        let metadata = fs::metadata(path).map_err(|error| fail(error.to_string()))?;
        if !metadata.is_file() {
            return Err(fail("is not a regular file".into()));
        }
        let mut file = File::open(path).map_err(|error| fail(error.to_string()))?;
        let header = Header::read(&mut file).map_err(fail)?;
        if !taken.contains(&header.dimensions) {
            return Err(fail(has_dimensions(header.dimensions)));
        }
        let held = header.held(words_are_bf16).map_err(fail)?;
        header.check_size(held, metadata.len()).map_err(fail)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            header,
            held,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The extents of the array, as many as it has dimensions.
    pub fn extents(&self) -> Vec<usize> {
        let all = [self.header.matrices, self.header.rows, self.header.columns];
        all[3 - self.header.dimensions..].to_vec()
    }

    /// Matrices, of an array of three dimensions.
    pub fn batch(&self) -> Option<usize> {
        (self.header.dimensions == 3).then_some(self.header.matrices)
    }

    /// Rows of a matrix.
    pub fn rows(&self) -> usize {
        self.header.rows
    }

    /// Columns of a matrix.
    pub fn columns(&self) -> usize {
        self.header.columns
    }

    /// The type of the elements.
    pub fn held(&self) -> Held {
        self.held
    }

    /// The type of numbers.
    ///
    /// # Errors
    /// For bytes, which only `fp8` takes.
    pub fn dtype(&self) -> Result<DType> {
        match self.held {
            Held::Numbers(dtype) => Ok(dtype),
            Held::Bytes => Err(Failure::file(
                &self.path,
                "holds uint8, which `tilewright fp8` takes with a file of scales",
            )),
        }
    }

    /// Whether reading puts the elements into another order, for which it takes the memory twice for a while.
    pub fn is_reordered(&self) -> bool {
        self.header.fortran_order
    }

    /// How the file names the type of its elements.
    pub fn descr(&self) -> Descr {
        self.header.descr
    }

    /// Reads all elements, matrix by matrix and row by row. `T` is the type that [`Source::held`] names.
    pub fn read<T: Scalar>(mut self) -> Result<Vec<T>> {
        let fail = |problem: String| Failure::file(&self.path, problem);
        if T::HELD != self.held {
            return Err(fail(format!("holds {}, not {}", self.held, T::HELD)));
        }
        let Header {
            matrices,
            rows,
            columns,
            ..
        } = self.header;
        let len = matrices * rows * columns; // The header's check has found that this does not overflow.
        let mut elements: Vec<T> = Vec::new();
        elements
            .try_reserve_exact(len)
            .map_err(|_| fail(format!("{len} elements do not fit into memory")))?;
        self.file
            .seek(SeekFrom::Start(self.header.data_offset))
            .map_err(|error| fail(error.to_string()))?;
        let size = size_of::<T>();
        let mut chunk = vec![0; CHUNK_BYTES];
        while elements.len() < len {
            let bytes = &mut chunk[..CHUNK_BYTES.min((len - elements.len()) * size)];
            self.file.read_exact(bytes).map_err(|error| fail(error.to_string()))?;
            for element in bytes.chunks_exact_mut(size) {
                if self.header.descr.big_endian {
                    element.reverse();
                }
                elements.push(T::from_le(element));
            }
        }
        if !self.header.fortran_order {
            return Ok(elements);
        }
        let mut by_rows: Vec<T> = Vec::new();
        by_rows
            .try_reserve_exact(len)
            .map_err(|_| fail(format!("{len} elements do not fit into memory twice")))?;
        by_rows.extend((0..len).map(|i| {
            let (matrix, row, column) = (i / columns / rows, i / columns % rows, i % columns);
            elements[(column * rows + row) * matrices + matrix]
        }));
        Ok(by_rows)
    }
}

/// The bytes of an array's file; more than 2^64 are as many.
pub fn file_bytes<T: Scalar>(descr: Descr, extents: &[usize]) -> std::result::Result<u64, String> {
    let header = header::to_bytes(descr, extents)?.len() as u64;
    let factors = extents.iter().map(|&extent| extent as u64);
    Ok(factors
        .fold(size_of::<T>() as u64, u64::saturating_mul)
        .saturating_add(header))
}

/// A shape as NumPy prints it.
pub fn shape_text(extents: &[usize]) -> String {
    match extents {
        [extent] => format!("({extent},)"),
        _ => format!(
            "({})",
            extents.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Writes an array, its last index running fastest.
pub fn write<T: Scalar>(destination: Destination, descr: Descr, extents: &[usize], elements: &[T]) -> Result<()> {
    fill(&destination, descr, extents, elements)?;
    destination.appear()
}

/// The same, of a file that [appears](Destination::appear) later.
pub fn fill<T: Scalar>(destination: &Destination, descr: Descr, extents: &[usize], elements: &[T]) -> Result<()> {
    let header = header::to_bytes(descr, extents).map_err(|problem| destination.failure(problem))?;
    destination.fill(|writer| {
        writer.write_all(&header)?;
        let mut bytes = Vec::with_capacity(CHUNK_BYTES);
        for chunk in elements.chunks(CHUNK_BYTES / size_of::<T>()) {
            bytes.clear();
            chunk.iter().for_each(|element| element.push_le(&mut bytes));
            writer.write_all(&bytes)?;
        }
        Ok(())
    })
}
