//! The tokens of PTX.

use crate::fault::ParseError;

/// A token. Numbers are words that start with a digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    Word(&'a str),
    Text(&'a str),
    Symbol(char),
}

/// A token and its line, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located<'a> {
    pub token: Token<'a>,
    pub line: u32,
}

pub(crate) fn tokens(text: &str) -> Result<Vec<Located<'_>>, ParseError> {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(bytes.len() / 4);
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let rest = &bytes[at..];
        match rest {
            [b'\n', ..] => (at, line) = (at + 1, line + 1),
            [byte, ..] if byte.is_ascii_whitespace() => at += 1,
            [b'/', b'/', ..] => at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => {
                let end = text[at..]
                    .find("*/")
                    .ok_or_else(|| ParseError::new(line, "unfinished comment"))?;
                line += newlines(&bytes[at..at + end]);
                at += end + 2;
            }
            [b'"', after @ ..] => {
                let end = after
                    .iter()
                    .position(|&b| b == b'"')
                    .ok_or_else(|| ParseError::new(line, "unfinished string"))?;
                let token = Token::Text(&text[at + 1..at + 1 + end]);
                found.push(Located { token, line });
                line += newlines(&after[..end]);
                at += end + 2;
            }
            [byte, ..] if starts_word(*byte) => {
                let length = word_length(rest);
                let token = Token::Word(&text[at..at + length]);
                found.push(Located { token, line });
                at += length;
            }
            [byte, ..] if byte.is_ascii() => {
                let token = Token::Symbol(char::from(*byte));
                found.push(Located { token, line });
                at += 1;
            }
            _ => return Err(ParseError::new(line, "a character that is not ASCII")),
        }
    }
    Ok(found)
}

fn newlines(bytes: &[u8]) -> u32 {
    bytes.iter().map(|&byte| u32::from(byte == b'\n')).sum()
}

fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

fn word_length(bytes: &[u8]) -> usize {
    let mut length = 1;
    while let Some(&byte) = bytes.get(length) {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.') {
            length += 1;
        } else if byte == b':' && bytes.get(length + 1) == Some(&b':') {
            length += 2;
        } else {
            break;
        }
    }
    length
}

/// A number, by its bits; a literal of single precision is told from others, for it converts where a double is meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Literal {
    Integer(u64),
    Single(u32),
    Double(u64),
}

impl Literal {
    pub fn parse(word: &str) -> Option<Self> {
        let hexadecimal = |digits: &str| u64::from_str_radix(digits, 16).ok();
        let digits = word.strip_suffix('U').unwrap_or(word);
        if let Some(("0", rest)) = digits.split_at_checked(1) {
            match rest.split_at_checked(1) {
                Some(("f" | "F", bits)) if bits.len() == 8 => {
                    return u32::from_str_radix(bits, 16).ok().map(Self::Single);
                }
                Some(("d" | "D", bits)) if bits.len() == 16 => return hexadecimal(bits).map(Self::Double),
                Some(("x" | "X", digits)) => return hexadecimal(digits).map(Self::Integer),
                Some(("b" | "B", digits)) => return u64::from_str_radix(digits, 2).ok().map(Self::Integer),
                Some((digit, _)) if digit.chars().all(|c| c.is_ascii_digit()) => {
                    return u64::from_str_radix(rest, 8).ok().map(Self::Integer);
                }
                _ => {}
            }
        }
        match digits.parse() {
            Ok(number) => Some(Self::Integer(number)),
            Err(_) => digits.parse().ok().map(|number: f64| Self::Double(number.to_bits())),
        }
    }

    pub fn negate(self) -> Self {
        match self {
            Self::Integer(value) => Self::Integer(value.wrapping_neg()),
            Self::Single(bits) => Self::Single(bits ^ 1 << 31),
            Self::Double(bits) => Self::Double(bits ^ 1 << 63),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_every_base() {
        assert_eq!(Literal::parse("0x10U"), Some(Literal::Integer(16)));
        assert_eq!(Literal::parse("010"), Some(Literal::Integer(8)));
        assert_eq!(Literal::parse("0b101"), Some(Literal::Integer(5)));
        assert_eq!(Literal::parse("0f3F800000"), Some(Literal::Single(0x3f80_0000)));
        assert_eq!(Literal::parse("0"), Some(Literal::Integer(0)));
        assert_eq!(Literal::parse("18446744073709551615"), Some(Literal::Integer(u64::MAX)));
        assert_eq!(
            Literal::parse("0d3FF0000000000000"),
            Some(Literal::Double(1f64.to_bits()))
        );
    }

    #[test]
    fn lines_are_counted_through_comments() {
        let found = tokens("a // x\n/* y\n */ b.u32::c [%r1+8]").unwrap();
        assert_eq!(found[1].token, Token::Word("b.u32::c"));
        assert_eq!(found[1].line, 3);
        assert_eq!(found.len(), 7);
    }
}
