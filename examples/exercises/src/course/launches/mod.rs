//! The launch of each exercise, with its data and the expected result.

use std::ops::Range;

use cuda_sim::GlobalBuffer;

pub mod copies;
pub mod layouts;
pub mod tensors;
pub mod tiles;

/// The item of a version: of the reader's file or of the solution.
macro_rules! pick {
    ($version:expr, $file:ident::$item:ident) => {
        match $version {
            $crate::course::Version::Yours => $crate::$file::$item,
            $crate::course::Version::Solution => $crate::solutions::$file::$item,
        }
    };
}
pub(crate) use pick;

/// The numbers of a range.
fn numbers(range: Range<u32>) -> Vec<u32> {
    range.collect()
}

/// The numbers of a range in a buffer with a name.
fn buffer(name: &str, range: Range<u32>) -> GlobalBuffer<u32> {
    GlobalBuffer::from_slice(&numbers(range)).named(name)
}

/// Small integers, so that sums of their products are exact in any order.
fn small(seed: usize, len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7 + seed) % 11) as f32 - 5.0).collect()
}

/// The product of two square matrices.
fn square_product(a: &[f32], b: &[f32], width: usize) -> Vec<f32> {
    let element = |i: usize| {
        let (row, column) = (i / width, i % width);
        (0..width).map(|k| a[row * width + k] * b[k * width + column]).sum()
    };
    (0..width * width).map(element).collect()
}

/// Each row in reverse.
fn reversed_rows(len: u32, row: u32) -> Vec<u32> {
    (0..len).map(|i| i / row * row + row - 1 - i % row).collect()
}
