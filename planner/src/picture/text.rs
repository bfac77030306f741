//! Text: how wide it will be, at most, and how it is written into XML.

use alloc::string::String;
use core::fmt;

/// The usual height of letters, in pixels.
pub const SIZE: f64 = 12.0;
/// The height of letters of what is less important.
pub const SMALL: f64 = 11.0;

/// The width of a text in pixels, at most.
///
/// Which font a viewer has is not known here, so these are the advances of DejaVu Sans, the widest of the usual ones:
/// what is placed by them does not overlap in any.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    let ems: f64 = text.chars().map(advance).sum();
    ems * size * if bold { 1.12 } else { 1.0 }
}

/// The advance of a character in units of the letters' height.
fn advance(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '\'' => 0.28,
        ' ' | '.' | ',' | '·' | '|' | ':' | ';' | '/' | '-' => 0.36,
        'f' | 'r' | 't' | 'I' | 'J' | '(' | ')' | '[' | ']' | '"' => 0.42,
        'c' | 's' | 'k' | 'z' | '_' => 0.56,
        'a' | 'e' | 'g' | 'o' | 'v' | 'x' | 'y' | '0'..='9' => 0.64,
        'b' | 'd' | 'h' | 'n' | 'p' | 'q' | 'u' | 'E' | 'F' | 'L' | 'S' | 'T' | 'Y' | 'P' => 0.65,
        'A' | 'B' | 'C' | 'K' | 'R' | 'V' | 'X' | 'Z' | 'D' | 'G' | 'H' | 'N' | 'O' | 'Q' | 'U' => 0.79,
        'w' | '+' | '=' | '<' | '>' | '×' | '~' | '#' => 0.84,
        // Everything else may be as wide as it is high.
        _ => 1.0,
    }
}

/// The text, or its beginning and an ellipsis where it is wider than `room`.
pub fn cut(text: &str, room: f64, size: f64, bold: bool) -> String {
    if width(text, size, bold) <= room {
        return text.into();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if width(&kept, size, bold) + width("…", size, bold) > room {
            kept.pop();
            break;
        }
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// Writes a text so that XML takes it for text. What XML cannot hold at all becomes U+FFFD.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.0.chars().try_for_each(|character| match character {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\t' | '\n' | '\r' => f.write_char(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => f.write_char(char::REPLACEMENT_CHARACTER),
            other => f.write_char(other),
        })
    }
}

/// `177 KiB`, or with a decimal where it is no whole number: the bytes themselves stand in the table.
pub struct Kib(pub u64);

impl fmt::Display for Kib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (u128::from(self.0) * 10 + 512) / 1024;
        match (tenths / 10, tenths % 10) {
            (whole, 0) if self.0.is_multiple_of(1024) => write!(f, "{whole} KiB"),
            (whole, tenth) => write!(f, "{whole}.{tenth} KiB"),
        }
    }
}
