//! C's `printf` for the host: what the driver makes of a format and of the arguments that a kernel left.
//!
//! The conversions are those of the CUDA guide, "Format Specifiers": `%[flags][width][.precision][size]type` with the
//! flags `#`, `0`, `+`, `-` and space, `*` for a width or precision, the sizes `h`, `l`, `ll` (and C's others), and the
//! types `c d i o u x X p s e E f F g G a A %`. Anything else is printed as it stands, as C libraries do.

use core::ffi::{CStr, c_char, c_void};

/// What `format` and the arguments at `arguments` print, and how many arguments that took.
///
/// # Safety
///
/// - `format` must point to a string that ends with a NUL.
/// - At `arguments` must lie what its conversions ask for, one after the other, each aligned as its type; null if there
///   are none.
/// - What a `%s` asks for must point to a string that ends with a NUL, or be null.
pub unsafe fn formatted(format: *const u8, arguments: *const c_void) -> (String, i32) {
    // SAFETY: as the caller promises.
    let mut rest = unsafe { CStr::from_ptr(format.cast()) }.to_bytes();
    let mut arguments = Arguments {
        next: arguments.cast(),
        taken: 0,
    };
    let mut text = Vec::new();
    while let Some((&byte, after)) = rest.split_first() {
        let conversion = if byte == b'%' { Conversion::parse(after) } else { None };
        rest = match conversion {
            Some((conversion, after)) => {
                // SAFETY: the arguments are this format's, taken in its order.
                text.extend(unsafe { conversion.print(&mut arguments) });
                after
            }
            None => {
                text.push(byte);
                after
            }
        };
    }
    (String::from_utf8_lossy(&text).into_owned(), arguments.taken)
}

/// The arguments that are still to be taken.
struct Arguments {
    next: *const u8,
    taken: i32,
}

impl Arguments {
    /// The next argument.
    ///
    /// # Safety
    ///
    /// The next argument must be there and be a `T`.
    unsafe fn take<T: Copy>(&mut self) -> T {
        let here = self.next.wrapping_add(self.next.align_offset(align_of::<T>()));
        self.next = here.wrapping_add(size_of::<T>());
        self.taken += 1;
        // SAFETY: as the caller promises.
        unsafe { here.cast::<T>().read() }
    }
}

/// A width or a precision.
#[derive(Clone, Copy)]
enum Number {
    Given(usize),
    /// `*`
    Argument,
}

/// The bits that an integer's size leaves.
#[derive(Clone, Copy, PartialEq)]
enum Size {
    Char,
    Short,
    Int,
    Long,
}

/// An argument as its conversion reads it.
enum Value {
    Percent,
    Text(Vec<u8>),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

/// One conversion of a format.
struct Conversion {
    alternate: bool,
    zeros: bool,
    left: bool,
    space: bool,
    plus: bool,
    width: Number,
    precision: Option<Number>,
    size: Size,
    kind: u8,
}

impl Conversion {
    /// Reads a conversion from after its `%`; returns it with the rest of the text.
    fn parse(format: &[u8]) -> Option<(Self, &[u8])> {
        let (flags, rest) = take_while(format, |byte| b"#0- +".contains(&byte));
        let (width, rest) = number(rest);
        let (precision, rest) = match rest.split_first() {
            Some((b'.', rest)) => {
                let (precision, rest) = number(rest);
                (Some(precision), rest)
            }
            _ => (None, rest),
        };
        let (size, rest) = take_while(rest, |byte| b"hljztqL".contains(&byte));
        let (&kind, rest) = rest.split_first()?;
        let conversion = Self {
            alternate: flags.contains(&b'#'),
            zeros: flags.contains(&b'0'),
            left: flags.contains(&b'-'),
            space: flags.contains(&b' '),
            plus: flags.contains(&b'+'),
            width,
            precision,
            size: match size {
                b"hh" => Size::Char,
                b"h" => Size::Short,
                b"" => Size::Int,
                _ => Size::Long,
            },
            kind,
        };
        b"cdiouxXpseEfFgGaA%".contains(&kind).then_some((conversion, rest))
    }

    /// What it prints.
    ///
    /// # Safety
    ///
    /// The next arguments must be what it asks for.
    unsafe fn print(mut self, arguments: &mut Arguments) -> Vec<u8> {
        let mut resolve = |number| match number {
            Number::Given(number) => Ok(number),
            // SAFETY: a `*` asks for an `int`.
            Number::Argument => match unsafe { arguments.take::<i32>() } {
                number if number < 0 => Err(number.unsigned_abs() as usize),
                number => Ok(number as usize),
            },
        };
        let width = resolve(self.width).unwrap_or_else(|width| {
            self.left = true;
            width
        });
        // A negative precision is none.
        let precision = self.precision.and_then(|precision| resolve(precision).ok());
        // SAFETY: as the caller promises; width and precision, which come first, are taken.
        let value = unsafe { self.value(precision, arguments) };
        // A precision says how many digits an integer has, so zeros do not fill its width too.
        let zeros = self.zeros && precision.is_none();
        match value {
            Value::Percent => b"%".to_vec(),
            Value::Text(text) => self.padded("", &text, width, false),
            Value::Signed(value) => {
                let digits = minimum(format!("{}", value.unsigned_abs()), precision);
                self.padded(self.sign(value < 0), digits.as_bytes(), width, zeros)
            }
            Value::Unsigned(0) if self.kind == b'p' => self.padded("", b"(nil)", width, false),
            Value::Unsigned(value) => {
                let (prefix, digits) = self.unsigned(value, precision);
                self.padded(prefix, digits.as_bytes(), width, zeros)
            }
            Value::Float(value) => {
                let (prefix, digits) = self.floating(value.abs(), precision);
                let prefix = format!("{}{prefix}", self.sign(value.is_sign_negative()));
                self.padded(&prefix, digits.as_bytes(), width, self.zeros && value.is_finite())
            }
        }
    }

    /// Takes what it prints; of a text, no more than the precision says.
    ///
    /// # Safety
    ///
    /// The next argument must be what it asks for.
    unsafe fn value(&self, precision: Option<usize>, arguments: &mut Arguments) -> Value {
        // SAFETY: as the caller promises.
        unsafe {
            match (self.kind, self.size) {
                (b'%', _) => Value::Percent,
                (b'c', _) => Value::Text(vec![arguments.take::<i32>() as u8]),
                (b's', _) => Value::Text(text(arguments.take(), precision.unwrap_or(usize::MAX))),
                (b'p', _) => Value::Unsigned(arguments.take::<usize>() as u64),
                (b'd' | b'i', Size::Long) => Value::Signed(arguments.take()),
                (b'd' | b'i', Size::Int) => Value::Signed(arguments.take::<i32>().into()),
                (b'd' | b'i', Size::Short) => Value::Signed((arguments.take::<i32>() as i16).into()),
                (b'd' | b'i', Size::Char) => Value::Signed((arguments.take::<i32>() as i8).into()),
                (b'o' | b'u' | b'x' | b'X', Size::Long) => Value::Unsigned(arguments.take()),
                (b'o' | b'u' | b'x' | b'X', Size::Int) => Value::Unsigned(arguments.take::<u32>().into()),
                (b'o' | b'u' | b'x' | b'X', Size::Short) => Value::Unsigned((arguments.take::<u32>() as u16).into()),
                (b'o' | b'u' | b'x' | b'X', Size::Char) => Value::Unsigned((arguments.take::<u32>() as u8).into()),
                _ => Value::Float(arguments.take()),
            }
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match self {
            _ if negative => "-",
            Self { plus: true, .. } => "+",
            Self { space: true, .. } => " ",
            _ => "",
        }
    }

    fn unsigned(&self, value: u64, precision: Option<usize>) -> (&'static str, String) {
        let digits = match self.kind {
            b'o' => format!("{value:o}"),
            b'x' | b'p' => format!("{value:x}"),
            b'X' => format!("{value:X}"),
            _ => format!("{value}"),
        };
        let digits = minimum(digits, precision);
        match self.kind {
            b'p' => ("0x", digits),
            b'x' if self.alternate && value != 0 => ("0x", digits),
            b'X' if self.alternate && value != 0 => ("0X", digits),
            b'o' if self.alternate && !digits.starts_with('0') => ("0", digits),
            _ => ("", digits),
        }
    }

    /// Prefix and digits of a number that is not negative.
    fn floating(&self, value: f64, precision: Option<usize>) -> (&'static str, String) {
        let upper = self.kind.is_ascii_uppercase();
        let (prefix, text) = match self.kind.to_ascii_lowercase() {
            _ if value.is_nan() => ("", "nan".into()),
            _ if value.is_infinite() => ("", "inf".into()),
            b'e' => ("", exponential(value, precision.unwrap_or(6), self.alternate)),
            b'f' => ("", fixed(value, precision.unwrap_or(6), self.alternate)),
            b'a' => ("0x", hexadecimal(value, precision, self.alternate)),
            // `g`: as many significant digits as the precision says, in the shorter of the two forms.
            _ => {
                let significant = precision.unwrap_or(6).max(1);
                let rounded = format!("{value:.*e}", significant - 1);
                let exponent = rounded.split_once('e').map_or(0, |(_, e)| e.parse().unwrap_or(0));
                let text = if (-4..significant as i32).contains(&exponent) {
                    fixed(value, (significant as i32 - 1 - exponent) as usize, self.alternate)
                } else {
                    exponential(value, significant - 1, self.alternate)
                };
                (
                    "",
                    if self.alternate {
                        text
                    } else {
                        without_trailing_zeros(&text)
                    },
                )
            }
        };
        match upper {
            true if prefix.is_empty() => ("", text.to_ascii_uppercase()),
            true => ("0X", text.to_ascii_uppercase()),
            false => (prefix, text),
        }
    }

    /// Fills up to the width: with spaces on either side, or with zeros after the sign.
    fn padded(&self, sign: &str, text: &[u8], width: usize, zeros: bool) -> Vec<u8> {
        let missing = width.saturating_sub(sign.len() + text.len());
        let fill = |byte, count| core::iter::repeat_n(byte, count);
        let zeros = zeros && !self.left;
        let before = if self.left || zeros { 0 } else { missing };
        let mut all: Vec<u8> = fill(b' ', before).collect();
        all.extend(sign.bytes());
        all.extend(fill(b'0', if zeros { missing } else { 0 }));
        all.extend(text);
        all.extend(fill(b' ', if self.left { missing } else { 0 }));
        all
    }
}

/// The bytes of a text up to its end, and at most `limit`; with that many it need not end. Null is printed too.
///
/// # Safety
///
/// `start` must point to such a text or be null.
unsafe fn text(start: *const c_char, limit: usize) -> Vec<u8> {
    let start = if start.is_null() { c"(null)".as_ptr() } else { start };
    // SAFETY: as the caller promises; nothing is read after the end.
    let bytes = (0..limit).map(|i| unsafe { start.cast::<u8>().add(i).read() });
    bytes.take_while(|&byte| byte != 0).collect()
}

/// Splits where `belongs` first fails.
fn take_while(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&byte| !belongs(byte)).unwrap_or(bytes.len());
    bytes.split_at(end)
}

fn number(format: &[u8]) -> (Number, &[u8]) {
    if let Some((b'*', rest)) = format.split_first() {
        return (Number::Argument, rest);
    }
    let (digits, rest) = take_while(format, |byte| byte.is_ascii_digit());
    let append = |number: usize, digit: &u8| number.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
    // A width beyond this is not meant, and must not fill memory.
    (Number::Given(digits.iter().fold(0, append).min(1 << 20)), rest)
}

/// An integer's digits, with zeros in front up to the precision; none of a 0 whose precision is 0.
fn minimum(digits: String, precision: Option<usize>) -> String {
    match precision {
        Some(0) if digits == "0" => String::new(),
        Some(precision) => format!("{digits:0>precision$}"),
        None => digits,
    }
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    let text = format!("{value:.precision$}");
    if point && precision == 0 { text + "." } else { text }
}

fn exponential(value: f64, precision: usize, point: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = if point && precision == 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{point}e{sign}{:02}", exponent.abs())
}

/// The digits of `%a` after its `0x`.
fn hexadecimal(value: f64, precision: Option<usize>, point: bool) -> String {
    const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = value.to_bits();
    let biased = (bits >> FRACTION_BITS) as i32;
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let (mut mantissa, exponent) = match (biased, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (fraction, f64::MIN_EXP - 1),
        _ => (fraction | 1 << FRACTION_BITS, biased + f64::MIN_EXP - 2),
    };
    let digits = (FRACTION_BITS / 4) as usize;
    let kept = precision.unwrap_or(digits).min(digits);
    // Round to the nearest, and from halfway to the even digit.
    let cut = 4 * (digits - kept) as u32;
    if cut > 0 {
        let (half, low) = (1 << (cut - 1), mantissa & ((1 << cut) - 1));
        mantissa >>= cut;
        mantissa += u64::from(low > half || low == half && mantissa & 1 == 1);
        mantissa <<= cut;
    }
    let fraction = format!("{:013x}", mantissa & ((1 << FRACTION_BITS) - 1));
    let fraction = match precision {
        Some(precision) => format!("{:0<precision$}", &fraction[..kept]),
        None => fraction.trim_end_matches('0').into(),
    };
    let point = if point || !fraction.is_empty() { "." } else { "" };
    format!("{}{point}{fraction}p{exponent:+}", mantissa >> FRACTION_BITS)
}

/// A number without the zeros at the end of its fraction.
fn without_trailing_zeros(text: &str) -> String {
    let (digits, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    format!("{digits}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Room for arguments of up to 8 bytes, laid out as the device does it.
    #[derive(Default)]
    struct List(Vec<u64>, usize);

    impl List {
        fn with<T: Copy>(mut self, argument: T) -> Self {
            self.0.resize(32, 0);
            let at = self.1.next_multiple_of(align_of::<T>());
            // SAFETY: `at` is aligned and within the 256 bytes, for tests have few arguments.
            unsafe { self.0.as_mut_ptr().byte_add(at).cast::<T>().write(argument) };
            self.1 = at + size_of::<T>();
            self
        }
    }

    fn print(format: &CStr, list: List) -> (String, i32) {
        // SAFETY: each test gives what its format asks for.
        unsafe { formatted(format.as_ptr().cast(), list.0.as_ptr().cast()) }
    }

    /// Compares with what glibc's `printf` gives for the same.
    macro_rules! prints {
        ($($format:literal, $($argument:expr),* => $text:literal;)*) => {$(
            let list = List::default()$(.with($argument))*;
            std::assert_eq!(print($format, list).0, $text, "{:?}", $format);
        )*};
    }

    #[test]
    fn integers_are_printed_as_c_prints_them() {
        prints! {
            c"%d %i|%5d|%-5d|%05d|%+d|% d", -5i32, 7i32, 42i32, 42i32, -42i32, 42i32, 42i32
                => "-5 7|   42|42   |-0042|+42| 42";
            c"%u %x %X %o %#x %#X %#o", 7u32, 255u32, 255u32, 8u32, 255u32, 255u32, 8u32 => "7 ff FF 10 0xff 0XFF 010";
            c"%.3d|%8.3d|%08.3d|%.0d|%#x|%#.0o", 5i32, -5i32, 5i32, 0i32, 0u32, 0u32 => "005|    -005|     005||0|0";
            c"%ld %lld %llu %lx", i64::MIN, -1i64, u64::MAX, 1u64 << 40
                => "-9223372036854775808 -1 18446744073709551615 10000000000";
            c"%hhd %hd %hhu %hu", 255i32, 65535i32, 256u32, 65537u32 => "-1 -1 0 1";
            c"%*d|%-*d|%*d|%.*d|%.*d", 4i32, 1i32, 4i32, 2i32, -4i32, 3i32, 2i32, 4i32, -1i32, 5i32
                => "   1|2   |3   |04|5";
        }
    }

    #[test]
    fn floating_point_numbers_are_printed_as_c_prints_them() {
        prints! {
            c"%f %.2f %.0f %#.0f %8.3f|%-8.1f|%08.2f", 1.5f64, 2.675f64, 2.5f64, 3.0f64, -1.0f64, 2.0f64, -3.14259f64
                => "1.500000 2.67 2 3.   -1.000|2.0     |-0003.14";
            c"%e %.2E %.0e %e", 12345.678f64, 0.00012f64, 5.0f64, 1e-300f64
                => "1.234568e+04 1.20E-04 5e+00 1.000000e-300";
            c"%g %g %g %g %G %#g %.3g", 0.0001f64, 0.00001f64, 100000.0f64, 1000000.0f64, 1e-10f64, 1.0f64, 1234.5f64
                => "0.0001 1e-05 100000 1e+06 1E-10 1.00000 1.23e+03";
            c"%g %g %.3g", 0.0f64, 9.9999995f64, 99.95f64 => "0 10 100";
            c"%a %a %.1a %A %a %.0a", 1.0f64, 0.1f64, 1.96875f64, -255.5f64, 0.0f64, 1.5f64
                => "0x1p+0 0x1.999999999999ap-4 0x2.0p+0 -0X1.FFP+7 0x0p+0 0x2p+0";
            c"%a %.3a", 5e-324f64, 1.0f64 => "0x0.0000000000001p-1022 0x1.000p+0";
            c"%f %F %5e %-5g| %05f %+f",
                f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::INFINITY, f64::INFINITY
                => "nan INF  -inf nan  |   inf +inf";
        }
    }

    #[test]
    fn text_pointers_and_percent_signs_are_printed() {
        let text = c"warp".as_ptr();
        prints! {
            c"%s|%6s|%-6s|%.2s|%c%c|%3c", text, text, text, text, i32::from(b'a'), i32::from(b'b'), i32::from(b'c')
                => "warp|  warp|warp  |wa|ab|  c";
            c"%s %p %p", core::ptr::null::<c_char>(), 0usize, 0xabcusize => "(null) (nil) 0xabc";
            c"100%% %d", 1i32 => "100% 1";
            c"%k 50%", => "%k 50%";
        }
    }

    #[test]
    fn arguments_are_aligned_and_counted() {
        let list = List::default().with(1i32).with(2.0f64).with(3i32).with(4i64);
        std::assert_eq!(print(c"%d %g %d %ld%%", list), ("1 2 3 4%".into(), 4));
        // SAFETY: no argument is asked for.
        let printed = unsafe { formatted(c"none".as_ptr().cast(), core::ptr::null()) };
        std::assert_eq!(printed, ("none".into(), 0));
    }
}
