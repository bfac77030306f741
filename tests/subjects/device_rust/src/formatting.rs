//! `core::fmt` into a buffer of fixed size.

use core::fmt::{self, Write};

use crate::support::{Text, moderate, pack};

/// Writes what the arguments say, and stores length and bytes.
fn store(arguments: fmt::Arguments, output: &mut [u64]) {
    let mut text = Text::<1024>::new();
    let failed = text.write_fmt(arguments).is_err();
    pack(text.as_bytes(), output);
    output[0] |= u64::from(failed) << 32;
}

subject! {
    /// Decimal, hexadecimal, octal and binary integers.
    fn fmt_integers(input: &[u64; 2], output: &mut [u64; 48]) {
        let [x, y] = *input;
        store(
            format_args!(
                "{x} {} {:x} {y:X} {:o} {:b} {} {}",
                y as i64, x as u8, x as u16, y as u16, x as i8, y as i16
            ),
            output,
        );
    }
}

subject! {
    /// Integers of 128 bits.
    fn fmt_u128(input: &[u64; 2], output: &mut [u64; 24]) {
        let x = u128::from(input[0]) << 64 | u128::from(input[1]);
        store(format_args!("{x} {} {x:x} {:e}", x as i128, input[1]), output);
    }
}

subject! {
    /// Width, fill, alignment, sign, prefix, and widths of arguments.
    fn fmt_padding(input: &[u64; 3], output: &mut [u64; 40]) {
        let [x, y, z] = *input;
        let width = z as usize % 20;
        store(
            format_args!(
                "[{x:>24}|{:<8}|{:^+9}|{:#010x}|{:*^width$}|{:#b}|{:08}|{:?}]",
                y as u16, y as i16, z as u32, x as u8, z as u8, y as i32, x as i8,
            ),
            output,
        );
    }
}

subject! {
    /// Text with width and precision, chars, bools.
    fn fmt_text(input: &[u64; 3], output: &mut [u64; 40]) {
        let words = ["", "a", "quotes \"\\ and\ttab", "größer", "日本語テキスト"];
        let word = words[input[0] as usize % 5];
        let c = char::from_u32(input[1] as u32 % 0xd800).unwrap_or('?');
        let precision = input[2] as usize % 8;
        store(
            format_args!(
                "{word:.precision$}|{word:>12}|{word:?}|{c}|{c:?}|{:5}|{:-<7.2}",
                input[2] % 2 == 0,
                word
            ),
            output,
        );
    }
}

#[derive(Debug, Clone, Copy)]
#[allow(dead_code)] // The fields are read by Debug.
struct Point {
    x: i32,
    name: &'static str,
    inner: Option<Inner>,
}

#[derive(Debug, Clone, Copy)]
#[allow(dead_code)] // As above.
enum Inner {
    Unit,
    Tuple(u8, char),
    Struct { flag: bool, range: (u16, u16) },
}

subject! {
    /// Derived Debug of structs and enums, plain and pretty.
    fn fmt_debug(input: &[u64; 3], output: &mut [u64; 64]) {
        let inner = match input[0] % 4 {
            0 => None,
            1 => Some(Inner::Unit),
            2 => Some(Inner::Tuple(input[1] as u8, 'x')),
            _ => Some(Inner::Struct {
                flag: input[1] % 2 == 0,
                range: (input[2] as u16, 9),
            }),
        };
        let point = Point {
            x: input[1] as i32,
            name: "p\n",
            inner,
        };
        store(format_args!("{point:?} {point:#?} {inner:02x?}"), output);
    }
}

subject! {
    /// Debug of slices, arrays, tuples, options, results and ranges.
    fn fmt_debug_collections(input: &[u64; 6], output: &mut [u64; 64]) {
        let slice = &input[..input[0] as usize % 6];
        let result: Result<u8, _> = u8::try_from(input[1]);
        let nested: [Option<(i8, bool)>; 3] =
            core::array::from_fn(|i| (input[i] % 3 > 0).then_some((input[i] as i8, i == 1)));
        store(
            format_args!(
                "{slice:?} {result:?} {nested:?} {:?} {:#x?} {:?}",
                input[2]..input[3],
                &slice[..slice.len().min(2)],
                ()
            ),
            output,
        );
    }
}

subject! {
    /// Display of one's own, with helpers of the formatter.
    fn fmt_own_display(input: &[u64; 4], output: &mut [u64; 48]) {
        struct Matrix([[i16; 2]; 2]);
        impl fmt::Display for Matrix {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                for (i, row) in self.0.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "; " })?;
                    for x in row {
                        write!(f, "{x:>w$} ", w = f.width().unwrap_or(1))?;
                    }
                }
                f.pad_integral(self.0[0][0] >= 0, "0q", "77")
            }
        }
        impl fmt::Debug for Matrix {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.debug_struct("Matrix")
                    .field("trace", &(i32::from(self.0[0][0]) + i32::from(self.0[1][1])))
                    .finish_non_exhaustive()?;
                f.debug_list().entries(self.0.iter()).finish()?;
                f.debug_map().entry(&"k", &self.0[0]).finish()
            }
        }
        let matrix = Matrix([[input[0] as i16, input[1] as i16], [input[2] as i16, input[3] as i16]]);
        store(format_args!("{matrix} {matrix:+7} {matrix:?}"), output);
    }
}

subject! {
    /// A buffer that is too small: what was written before the error.
    fn fmt_overflow(input: &[u64; 4], output: &mut [u64; 8]) {
        let mut text = Text::<40>::new();
        let written = input.iter().try_for_each(|x| write!(text, "{x},"));
        pack(text.as_bytes(), &mut output[1..]);
        output[0] = u64::from(written.is_ok());
    }
}

subject! {
    stack_bytes: 16 << 10;
    /// Shortest text of floats: f64 and f32, plain and with exponents.
    fn fmt_floats(input: &[u64; 2], output: &mut [u64; 140]) {
        let (x, y) = (f64::from_bits(input[0]), f32::from_bits(input[1] as u32));
        store(
            format_args!(
                "{x:?} {y:?} {x:e} {y:E} {} {}",
                moderate(input[0]),
                moderate(input[1]) as f32
            ),
            output,
        );
    }
}

subject! {
    stack_bytes: 16 << 10;
    /// Floats with a given number of digits.
    fn fmt_floats_exact(input: &[u64; 3], output: &mut [u64; 64]) {
        let (x, y) = (moderate(input[0]), f64::from_bits(input[1]));
        let digits = input[2] as usize % 12;
        store(
            format_args!(
                "{x:.3} {x:+.0} {y:.5e} {x:012.2} {x:.digits$} {:.1}",
                moderate(input[2]) as f32
            ),
            output,
        );
    }
}
