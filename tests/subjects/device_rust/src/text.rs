//! `char` and `str`: encoding, search, splits, parse.

use crate::support::{bits64, bytes, digest, pack};

/// ASCII text of the words, of letters, digits, spaces and punctuation that are likely to mean something.
fn ascii<const WORDS: usize, const BYTES: usize>(input: &[u64; WORDS]) -> [u8; BYTES] {
    const LETTERS: &[u8; 32] = b"abcdeABXYZ 0123456789 .-+eE,\n\tzZ";
    bytes::<WORDS, BYTES>(input).map(|byte| LETTERS[usize::from(byte) % 32])
}

/// Any scalar value.
fn scalar(x: u64) -> char {
    let limit = [0x80, 0x800, 0x1_0000, 0x11_0000][x as usize % 4];
    char::from_u32((x >> 8) as u32 % limit).unwrap_or(char::REPLACEMENT_CHARACTER)
}

subject! {
    /// UTF-8 of one to four bytes, and UTF-16, back and forth.
    fn encode_chars(input: &[u64; 16], output: &mut [u64; 16]) {
        *output = input.map(|x| {
            let c = scalar(x);
            let (mut utf8, mut utf16) = ([0; 4], [0; 2]);
            let text = c.encode_utf8(&mut utf8);
            let back = text.chars().next() == Some(c);
            let len = text.len() as u64 | u64::from(back) << 4;
            let units = c.encode_utf16(&mut utf16);
            len | digest(units.iter().map(|x| u64::from(*x))) << 8 ^ digest(utf8.map(u64::from)) << 16
        });
    }
}

subject! {
    /// Valid text of all lengths, walked forward, backward, by index.
    fn decode_chars(input: &[u64; 24], output: &mut [u64; 5]) {
        let mut buffer = [0; 96];
        let mut len = 0;
        for x in input {
            len += scalar(*x).encode_utf8(&mut buffer[len..]).len();
        }
        let text = core::str::from_utf8(&buffer[..len]).unwrap_or("");
        *output = [
            digest(text.chars().map(u64::from)),
            digest(text.chars().rev().map(u64::from)),
            digest(text.char_indices().map(|(i, c)| (i as u64) << 32 | u64::from(c))),
            digest(text.encode_utf16().map(u64::from)),
            text.chars().count() as u64 | u64::from(text.is_char_boundary(input[0] as usize % (len + 1))) << 16,
        ];
    }
}

subject! {
    /// Validation of arbitrary bytes, and where it ends.
    fn validate_utf8(input: &[u64; 8], output: &mut [u64; 4]) {
        let mut raw: [u8; 64] = bytes(input);
        if input[0] % 2 == 0 {
            // Mostly valid: ASCII with a few pairs.
            raw = raw.map(|byte| byte & 0x7f);
            [raw[10], raw[11]] = [0xc3, 0x80 | raw[12] & 0x3f];
            raw[40] |= raw[41] << 7;
        }
        *output = match core::str::from_utf8(&raw) {
            Ok(text) => [1, text.len() as u64, text.chars().map(u64::from).sum(), 0],
            Err(error) => [
                2,
                error.valid_up_to() as u64,
                error.error_len().map_or(9, |n| n as u64),
                u64::from(raw[0]),
            ],
        };
    }
}

subject! {
    /// Lossy decoding by chunks.
    fn utf8_chunks(input: &[u64; 6], output: &mut [u64; 3]) {
        let raw: [u8; 48] = bytes(input);
        output.fill(0);
        for chunk in raw.utf8_chunks() {
            output[0] += 1;
            output[1] = digest([
                output[1],
                chunk.valid().len() as u64,
                chunk.valid().chars().map(u64::from).sum(),
            ]);
            output[2] = digest([output[2], chunk.invalid().len() as u64]);
        }
    }
}

subject! {
    /// Classes and cases of characters, from Unicode's tables.
    fn char_classes(input: &[u64; 16], output: &mut [u64; 16]) {
        *output = input.map(|x| {
            let c = scalar(x);
            let flags = [
                c.is_alphabetic(),
                c.is_numeric(),
                c.is_whitespace(),
                c.is_uppercase(),
                c.is_lowercase(),
                c.is_control(),
                c.is_ascii_punctuation(),
                c.is_alphanumeric(),
            ];
            let flags = flags.iter().fold(0, |bits, flag| bits << 1 | u64::from(*flag));
            let upper = c
                .to_uppercase()
                .fold(0u64, |sum, c| sum.wrapping_mul(0x11_0003) + u64::from(c));
            let lower = c
                .to_lowercase()
                .fold(0u64, |sum, c| sum.wrapping_mul(0x11_0003) + u64::from(c));
            flags ^ upper << 10 ^ lower << 34 ^ c.to_digit(36).map_or(99, u64::from) << 56
        });
    }
}

subject! {
    /// Parsing of integers in several bases and widths, with the kind of each error.
    fn parse_integers(input: &[u64; 8], output: &mut [u64; 8]) {
        use core::num::IntErrorKind;
        let text: [u8; 64] = bytes::<8, 64>(input).map(|byte| b"0123456789-+012fF9x"[usize::from(byte) % 19]);
        fn code<T>(parsed: Result<T, core::num::ParseIntError>, value: impl Fn(T) -> u64) -> u64 {
            match parsed {
                Ok(x) => value(x),
                Err(error) => match error.kind() {
                    IntErrorKind::Empty => 1001,
                    IntErrorKind::InvalidDigit => 1002,
                    IntErrorKind::PosOverflow => 1003,
                    IntErrorKind::NegOverflow => 1004,
                    _ => 1005,
                },
            }
        }
        for (k, out) in output.iter_mut().enumerate() {
            let part = core::str::from_utf8(&text[8 * k..][..input[k] as usize % 9]).unwrap_or("");
            *out = code(part.parse::<u8>(), u64::from)
                ^ code(part.parse::<i16>(), |x| x as u64) << 8
                ^ code(part.parse::<i64>(), |x| x as u64) << 16
                ^ code(u32::from_str_radix(part, 16), u64::from) << 24
                ^ code(part.parse::<u128>(), |x| x as u64) << 32;
        }
    }
}

subject! {
    /// Long decimal numbers: parse of u64, i64 and u128 from their own digits.
    fn parse_own_digits(input: &[u64; 3], output: &mut [u64; 4]) {
        use core::fmt::Write;
        let mut text = crate::support::Text::<160>::new();
        let wide = u128::from(input[0]) << 64 | u128::from(input[1]);
        let written = write!(text, "{} {} {}{}", input[0], input[1] as i64, wide, input[2] % 2);
        let text = core::str::from_utf8(text.as_bytes()).unwrap_or("");
        let mut parts = text.split(' ');
        output[0] = parts.next().and_then(|x| x.parse().ok()).unwrap_or(1);
        output[1] = parts.next().and_then(|x| x.parse::<i64>().ok()).map_or(2, |x| x as u64);
        let wide = parts.next().and_then(|x| x.parse::<u128>().ok());
        output[2] = wide.map_or(3, |x| (x >> 64) as u64 ^ x as u64);
        output[3] = u64::from(written.is_ok());
    }
}

subject! {
    /// `split_whitespace`, `trim`, `lines`, and splits by a char, a str and a closure.
    fn splits(input: &[u64; 8], output: &mut [u64; 8]) {
        let raw: [u8; 64] = ascii(input);
        let text = core::str::from_utf8(&raw).unwrap_or("");
        let parts = |parts: &mut dyn Iterator<Item = &str>| {
            parts.fold(0u64, |sum, part| {
                sum.wrapping_mul(31)
                    .wrapping_add(part.len() as u64 ^ digest(part.bytes().map(u64::from)))
            })
        };
        *output = [
            parts(&mut text.split_whitespace()),
            parts(&mut text.split('0')),
            parts(&mut text.split("ab")),
            parts(&mut text.rsplit(|c: char| c.is_ascii_digit())),
            parts(&mut text.lines()),
            parts(&mut text.splitn(3, ['x', 'X', '.'])),
            text.trim().len() as u64 ^ (text.trim_end_matches(char::is_alphabetic).len() as u64) << 8,
            text.split_once(' ').map_or(1, |(a, b)| (a.len() << 8 | b.len()) as u64),
        ];
    }
}

subject! {
    /// Searches of a str in a str: short ones, periodic ones, from both ends.
    fn find(input: &[u64; 12], output: &mut [u64; 7]) {
        let raw = bytes::<12, 96>(input).map(|byte| b"ab"[usize::from(byte.count_ones() as u8 % 2)]);
        let text = core::str::from_utf8(&raw).unwrap_or("");
        let (hay, needle) = text.split_at(80);
        let index = |i: Option<usize>| i.map_or(99, |i| i as u64);
        *output = [
            index(hay.find("abab")),
            index(hay.rfind("aab")),
            index(hay.find(&needle[..5])),
            index(hay.find("aaaaaaaab")),
            hay.matches("aa").count() as u64,
            digest(hay.match_indices(&needle[..3]).map(|(i, _)| i as u64)),
            u64::from(hay.contains(&needle[..8])) | u64::from(hay.starts_with(&needle[..1])) << 1,
        ];
    }
}

subject! {
    /// ASCII cases in place, comparison without case, strip.
    fn ascii_case(input: &[u64; 4], output: &mut [u64; 5]) {
        let mut raw: [u8; 32] = ascii(input);
        let other = raw;
        raw[..16].make_ascii_uppercase();
        raw[16..].make_ascii_lowercase();
        let text = core::str::from_utf8(&raw).unwrap_or("");
        pack(&raw, &mut output[..4]);
        output[4] = u64::from(raw.eq_ignore_ascii_case(&other))
            | u64::from(raw.cmp(&other) as i8 as u8) << 1
            | text.strip_prefix('A').map_or(50, |rest| rest.len() as u64) << 16;
    }
}

subject! {
    heap: true;
    /// Case mapping of strings, with the final sigma and characters that grow.
    fn case_mapping(input: &[u64; 8], output: &mut [u64; 3]) {
        let text: alloc::string::String = input
            .iter()
            .map(|x| ['a', 'ß', 'Σ', 'ǆ', 'İ', 'ﬁ', ' ', scalar(*x)][(x >> 4) as usize % 8])
            .collect();
        *output = [
            digest(text.to_uppercase().chars().map(u64::from)),
            digest(text.to_lowercase().chars().map(u64::from)),
            text.chars().flat_map(char::to_uppercase).count() as u64,
        ];
    }
}

subject! {
    /// Escapes: default, debug and Unicode.
    fn escapes(input: &[u64; 8], output: &mut [u64; 4]) {
        let chars = input.map(|x| {
            if x % 3 == 0 {
                ['\n', '"', '\'', '\\', '\0', '\u{301}'][(x >> 4) as usize % 6]
            } else {
                scalar(x)
            }
        });
        *output = [
            digest(chars.iter().flat_map(|c| c.escape_default()).map(u64::from)),
            digest(chars.iter().flat_map(|c| c.escape_debug()).map(u64::from)),
            digest(chars.iter().flat_map(|c| c.escape_unicode()).map(u64::from)),
            digest(
                input
                    .iter()
                    .flat_map(|x| core::ascii::escape_default(*x as u8))
                    .map(u64::from),
            ),
        ];
    }
}

subject! {
    /// Parsing of floats from random decimal text.
    fn parse_floats(input: &[u64; 8], output: &mut [u64; 16]) {
        let raw = bytes::<8, 64>(input).map(|byte| b"0123456789.e-5"[usize::from(byte) % 14]);
        for k in 0..8 {
            let part = core::str::from_utf8(&raw[8 * k..][..1 + input[k] as usize % 8]).unwrap_or("");
            output[2 * k] = part.parse::<f64>().map_or(1, bits64);
            output[2 * k + 1] = part.parse::<f32>().map_or(2, crate::support::bits32);
        }
    }
}

subject! {
    /// Parsing of bool, char, and IP addresses.
    fn parse_others(input: &[u64; 4], output: &mut [u64; 4]) {
        use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
        let texts = [
            "true",
            "false",
            "x",
            "10.0.255.1",
            "::1",
            "fe80::12:0:7",
            "1.2.3",
            "",
            "ß",
            "256.1.1.1",
        ];
        for (k, out) in output.iter_mut().enumerate() {
            let text = texts[input[k] as usize % texts.len()];
            let address = match text.parse::<IpAddr>() {
                Ok(IpAddr::V4(v4)) => u64::from(u32::from(v4)),
                Ok(IpAddr::V6(v6)) => u128::from(v6) as u64,
                Err(_) => 5,
            };
            let own = Ipv4Addr::from(input[k] as u32).is_private()
                || Ipv6Addr::from(u128::from(input[k]) << 64).is_multicast();
            *out = text.parse::<bool>().map_or(3, u64::from)
                ^ text.parse::<char>().map_or(4, u64::from) << 8
                ^ address << 20
                ^ u64::from(own) << 60;
        }
    }
}
