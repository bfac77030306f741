//! The formatting of `vprintf`.

use crate::fault::FaultKind;

/// A part of what is printed.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    /// The text at an address of the device.
    String {
        address: u64,
        style: Style,
    },
}

/// The flags, width and precision of a conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Style {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    pub precision: Option<usize>,
}

impl Style {
    /// Fills up to the width with spaces.
    pub fn pad(self, text: String) -> String {
        match self.left {
            true => format!("{text:<0$}", self.width),
            false => format!("{text:>0$}", self.width),
        }
    }

    /// A number from its sign or prefix and its digits.
    fn number(self, sign: &str, digits: &str, zeros: bool) -> String {
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        match self.zero && zeros && !self.left {
            true => format!("{sign}{}{digits}", "0".repeat(missing)),
            false => self.pad(format!("{sign}{digits}")),
        }
    }

    fn sign(self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }
}

/// Formats as C does. `next` reads the next value, of 4 or 8 bytes. Also returns the number of values.
pub(crate) fn format(
    text: &str,
    mut next: impl FnMut(usize) -> Result<u64, FaultKind>,
) -> Result<(Vec<Piece>, u64), FaultKind> {
    let mut pieces = Vec::new();
    let mut count = 0;
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            plain.push(c);
            continue;
        }
        let mut value = |bytes: usize| {
            count += 1;
            next(bytes)
        };
        let mut style = Style::default();
        while let Some(flag) = rest.next_if(|c| "-+ #0".contains(*c)) {
            match flag {
                '-' => style.left = true,
                '+' => style.plus = true,
                ' ' => style.space = true,
                '#' => style.alternate = true,
                _ => style.zero = true,
            }
        }
        let mut number = |value: &mut dyn FnMut(usize) -> Result<u64, FaultKind>| match rest.next_if_eq(&'*') {
            Some(_) => value(4).map(|value| value as i32),
            None => {
                let mut number = 0;
                while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                    number = number * 10 + digit as i32 - '0' as i32;
                }
                Ok(number)
            }
        };
        let width = number(&mut value)?;
        style.left |= width < 0;
        style.width = width.unsigned_abs() as usize;
        let mut precision = None;
        if rest.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            precision = match rest.next_if_eq(&'*') {
                Some(_) => usize::try_from(value(4)? as i32).ok(),
                None => {
                    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                        digits.push(digit);
                    }
                    Some(digits.parse().unwrap_or(0))
                }
            };
        }
        style.precision = precision;
        let mut long = false;
        while let Some(size) = rest.next_if(|c| "hlLzjt".contains(*c)) {
            long |= "lzjt".contains(size);
        }
        let bytes = if long { 8 } else { 4 };
        match rest.next() {
            Some('%') => plain.push('%'),
            Some('d' | 'i') => {
                let value = value(bytes)?;
                let value = if long { value as i64 } else { i64::from(value as i32) };
                let digits = at_least(style, value.unsigned_abs().to_string());
                plain.push_str(&style.number(style.sign(value < 0), &digits, precision.is_none()));
            }
            Some(kind @ ('u' | 'x' | 'X' | 'o')) => {
                let value = value(bytes)?;
                let digits = match kind {
                    'u' => value.to_string(),
                    'x' => format!("{value:x}"),
                    'X' => format!("{value:X}"),
                    _ => format!("{value:o}"),
                };
                let prefix = match kind {
                    'x' if style.alternate && value != 0 => "0x",
                    'X' if style.alternate && value != 0 => "0X",
                    'o' if style.alternate && value != 0 => "0",
                    _ => "",
                };
                plain.push_str(&style.number(prefix, &at_least(style, digits), precision.is_none()));
            }
            Some('c') => plain.push_str(&style.pad(char::from(value(4)? as u8).to_string())),
            Some('p') => plain.push_str(&style.pad(format!("{:#x}", value(8)?))),
            Some(kind @ ('f' | 'F' | 'e' | 'E' | 'g' | 'G')) => {
                let value = f64::from_bits(value(8)?);
                let digits = float(kind, style, value.abs());
                plain.push_str(&style.number(style.sign(value.is_sign_negative()), &digits, value.is_finite()));
            }
            Some('s') => {
                let address = value(8)?;
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
                pieces.push(Piece::String { address, style });
            }
            other => return Err(FaultKind::Unsupported(format!("vprintf with the conversion {other:?}"))),
        }
    }
    pieces.push(Piece::Text(plain));
    Ok((pieces, count))
}

/// The digits of an integer, with zeros up to the precision.
fn at_least(style: Style, digits: String) -> String {
    match style.precision {
        Some(0) if digits == "0" => String::new(),
        precision => format!("{digits:0>0$}", precision.unwrap_or(0)),
    }
}

/// The digits of a number that is not negative.
fn float(kind: char, style: Style, value: f64) -> String {
    let text = match kind.to_ascii_lowercase() {
        _ if value.is_nan() => "nan".to_owned(),
        _ if value.is_infinite() => "inf".to_owned(),
        'f' => format!("{value:.0$}", style.precision.unwrap_or(6)),
        'e' => exponential(value, style.precision.unwrap_or(6)),
        _ => shortest(style, value),
    };
    if kind.is_ascii_uppercase() {
        text.to_ascii_uppercase()
    } else {
        text
    }
}

/// With two digits of exponent at least, as C has it.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is an integer");
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `%g`: whichever form is shorter, without zeros at its end.
fn shortest(style: Style, value: f64) -> String {
    let precision = style.precision.unwrap_or(6).max(1);
    let text = exponential(value, precision - 1);
    let (digits, exponent) = text.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is an integer");
    let trim = |digits: &str| match digits.contains('.') && !style.alternate {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    match exponent < -4 || exponent >= precision as i32 {
        true => format!("{}{}", trim(digits), &text[digits.len()..]),
        false => trim(&format!(
            "{value:.0$}",
            (precision as i32 - 1 - exponent).max(0) as usize
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(text: &str, values: &[u64]) -> String {
        let mut values = values.iter();
        let (pieces, _) = format(text, |_| Ok(*values.next().unwrap())).unwrap();
        let text = pieces.into_iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::String { address, .. } => format!("<{address:x}>"),
        });
        text.collect()
    }

    #[test]
    fn formats_as_c() {
        assert_eq!(
            formatted("%d|%5u|%-4x|%%|%s", &[(-3i32) as u32 as u64, 7, 255, 16]),
            "-3|    7|ff  |%|<10>"
        );
        assert_eq!(formatted("%05d|%+d|%.3d|%#x", &[42, 42, 7, 255]), "00042|+42|007|0xff");
        let bits = |x: f64| x.to_bits();
        assert_eq!(
            formatted("%f|%.2e|%g|%g", &[bits(1.5), bits(12345.0), bits(0.0001), bits(1e10)]),
            "1.500000|1.23e+04|0.0001|1e+10"
        );
        assert_eq!(formatted("%*d|%lld", &[4, 1, u64::MAX]), "   1|-1");
    }
}
