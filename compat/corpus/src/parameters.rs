//! What a kernel can take: slices, strings, references, structs by value, small scalars.

use cuda_std::prelude::*;
use cuda_std::vek::Vec2;
use cuda_std::GpuFloat;

/// `y[i] += alpha * x[i]`, the plainest kernel. Any launch of one dimension with enough threads.
#[kernel]
pub unsafe fn axpy(alpha: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *y.add(i) += alpha * x[i];
    }
}

/// Slices of different elements, the second of which may be empty, around a number: writes the sum of all lengths and
/// elements.
#[kernel]
#[allow(clippy::needless_lifetimes)]
pub unsafe fn slices<'a>(bytes: &'a [u8], empty: &[u64], scale: u16, pairs: &[[u32; 2]], out: *mut u32) {
    let first = empty.first().copied().unwrap_or(7) as u32;
    let bytes_sum: u32 = bytes.iter().map(|&b| u32::from(b)).sum();
    let pairs_sum: u32 = pairs.iter().map(|[a, b]| a * b).sum();
    *out = bytes.len() as u32 + 10 * pairs.len() as u32 + first * 100 + u32::from(scale) * (bytes_sum + pairs_sum);
}

/// Settings of [`structs`], with padding inside.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Settings {
    /// One byte, then padding.
    pub flag: bool,
    /// At an offset of 8.
    pub scale: f64,
    /// An array.
    pub counts: [u16; 5],
    /// A struct within.
    pub nested: Nested,
}

/// A struct within another, and smaller than a register.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Nested {
    /// A signed byte.
    pub low: i8,
    /// A byte.
    pub high: u8,
}

/// Structs, an array and a vector by value: writes their fields as numbers.
#[kernel]
pub unsafe fn structs(settings: Settings, mut small: Nested, row: [f32; 3], point: Vec2<u32>, out: *mut f64) {
    small.low += 1;
    let fields = [
        settings.flag as u32 as f64,
        settings.scale,
        settings.counts[thread::thread_idx_x() as usize + 4].into(),
        settings.nested.low.into(),
        settings.nested.high.into(),
        small.low.into(),
        small.high.into(),
        row.iter().sum::<f32>().into(),
        point.x.into(),
        point.y.into(),
    ];
    for (i, field) in fields.iter().enumerate() {
        *out.add(i) = *field;
    }
}

/// Scalars of every size, and references.
#[kernel]
pub unsafe fn scalars(a: u8, b: i16, c: char, d: bool, e: i64, f: f64, g: &u32, h: &[u32; 2], out: *mut f64) {
    let all = [
        a.into(),
        b.into(),
        u32::from(c).into(),
        (d as u32).into(),
        e as f64,
        f,
        (*g).into(),
        (h[0] + h[1]).into(),
    ];
    for (i, number) in all.iter().enumerate() {
        *out.add(i) = *number;
    }
}

/// Reads a text: writes its bytes and its characters.
#[kernel]
pub unsafe fn text(text: &str, out: *mut u32) {
    *out = text.len() as u32;
    *out.add(1) = text.chars().count() as u32;
}

/// A kernel from a macro: its types come wrapped in invisible groups.
macro_rules! scaling_kernel {
    ($name:ident, $slice:ty, $number:ty) => {
        #[doc = concat!("Writes the square roots of a `", stringify!($slice), "`.")]
        #[kernel]
        pub unsafe fn $name(x: $slice, out: *mut $number) {
            let i = thread::index_1d() as usize;
            if i < x.len() {
                *out.add(i) = GpuFloat::sqrt(x[i]);
            }
        }
    };
}

scaling_kernel!(square_roots_f32, &[f32], f32);
scaling_kernel!(square_roots_f64, &[f64], f64);

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data, Expected};

    let numbers: Vec<f32> = (0..1000).map(|i| i as f32 / 8.0).collect();
    let ones = Data::F32(vec![1.0; 1000]);
    let scaled = Data::F32(numbers.iter().map(|x| 2.5 * x + 1.0).collect());
    let value = |bytes: &[u8]| Argument::Value(bytes.to_vec());
    let halves = |number: u64| Data::U32(vec![number as u32, (number >> 32) as u32]);
    let settings: Vec<u8> = [
        &[1, 0, 0, 0, 0, 0, 0, 0][..],
        &0.75f64.to_ne_bytes(),
        &[1u16, 2, 3, 4, 5].map(u16::to_ne_bytes).concat(),
        &[-3i8 as u8, 200],
        &[0; 4],
    ]
    .concat();
    let row: Vec<u8> = [0.5f32, 1.5, 2.0].map(f32::to_ne_bytes).concat();
    let point: Vec<u8> = [11u32, 12].map(u32::to_ne_bytes).concat();
    vec![
        Case::new(
            entry!(axpy(_, _, _)),
            8,
            128,
            vec![
                value(&2.5f32.to_ne_bytes()),
                Argument::Slice(Data::F32(numbers.clone())),
                Argument::Updated(
                    ones,
                    Expected {
                        data: scaled,
                        tolerance: 1e-6,
                    },
                ),
            ],
        ),
        // The lengths that `Argument::Slice` passes are of 32-bit words, so these three slices are given as pointer and
        // number.
        Case::new(
            entry!(slices(_, _, _, _, _)),
            1,
            1,
            vec![
                Argument::Pointer(halves(0x0807_0605_0403_0201)),
                value(&8u64.to_ne_bytes()),
                value(&0u64.to_ne_bytes()),
                value(&0u64.to_ne_bytes()),
                value(&3u16.to_ne_bytes()),
                Argument::Pointer(Data::U32(vec![1, 2, 3, 4])),
                value(&2u64.to_ne_bytes()),
                Argument::out_u32([8 + 20 + 700 + 3 * (36 + 14)]),
            ],
        ),
        Case::new(
            entry!(structs(_, _, _, _, _)),
            1,
            1,
            vec![
                value(&settings),
                value(&[9, 250]),
                value(&row),
                value(&point),
                Argument::out_f64([1.0, 0.75, 5.0, -3.0, 200.0, 10.0, 250.0, 4.0, 11.0, 12.0], 0.0),
            ],
        ),
        Case::new(
            entry!(scalars(_, _, _, _, _, _, _, _, _)),
            1,
            1,
            vec![
                value(&[255]),
                value(&(-2i16).to_ne_bytes()),
                value(&u32::from('ß').to_ne_bytes()),
                value(&[1]),
                value(&(-5i64).to_ne_bytes()),
                value(&0.1f64.to_ne_bytes()),
                Argument::Pointer(Data::U32(vec![77])),
                Argument::Pointer(Data::U32(vec![30, 40])),
                Argument::out_f64([255.0, -2.0, 223.0, 1.0, -5.0, 0.1, 77.0, 70.0], 0.0),
            ],
        ),
        Case::new(
            entry!(text(_, _)),
            1,
            1,
            vec![
                Argument::Pointer(Data::U32(vec![
                    u32::from_ne_bytes(*b"gr\xc3\xbc"),
                    u32::from_ne_bytes(*b"n   "),
                ])),
                value(&5u64.to_ne_bytes()),
                Argument::out_u32([5, 4]),
            ],
        ),
        Case::new(
            entry!(square_roots_f32(_, _)),
            8,
            128,
            vec![
                Argument::Slice(Data::F32(numbers.clone())),
                Argument::out_f32(numbers.iter().map(|x| x.sqrt()), 0.0),
            ],
        ),
        Case::new(
            entry!(square_roots_f64(_, _)),
            8,
            128,
            vec![
                Argument::Slice(Data::F64(numbers.iter().map(|&x| x.into()).collect())),
                Argument::out_f64(numbers.iter().map(|&x| f64::from(x).sqrt()), 0.0),
            ],
        ),
    ]
}
