//! Tokens of textual LLVM IR.
//!
//! Only as much of the grammar as a rewrite of names needs: a name inside a string, a comment or a longer name must
//! never be taken for the name itself. In LLVM's text a string ends at the next double quote, because a quote inside
//! it is written `\22`.

/// What a [`Token`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `@name` or `@"name"`.
    Global,
    /// `%name` or `%"name"`.
    Local,
    /// `!name`, `!7` or `!"text"`.
    Metadata,
    /// `#7`: an attribute group, or `#dbg_value`: a debug record.
    Hash,
    /// A keyword, a type, a number or a label.
    Word,
    /// `"text"`, with its quotes.
    Text,
    /// `; to the end of the line`.
    Comment,
    /// One character of punctuation.
    Punctuation,
}

/// A piece of IR text and where it starts (in bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub start: usize,
}

impl Token<'_> {
    /// The byte after the token.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether this is the keyword, type or number `word`.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }

    /// Whether this is the punctuation character `mark`.
    pub fn is(&self, mark: char) -> bool {
        self.kind == Kind::Punctuation && self.text.starts_with(mark)
    }

    /// A global's name without sigil and quotes.
    pub fn name(&self) -> &str {
        let bare = self.text.get(1..).unwrap_or("");
        bare.strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(bare)
    }
}

/// The tokens of `text`, without white space.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        while bytes.get(at)?.is_ascii_whitespace() {
            at += 1;
        }
        let start = at;
        let kind = match bytes[start] {
            b'@' => Kind::Global,
            b'%' => Kind::Local,
            b'!' => Kind::Metadata,
            b'#' => Kind::Hash,
            b'"' => Kind::Text,
            b';' => Kind::Comment,
            byte if is_name_byte(byte) => Kind::Word,
            _ => Kind::Punctuation,
        };
        at = match kind {
            Kind::Text => closing_quote(bytes, start),
            Kind::Comment => text[start..].find('\n').map_or(text.len(), |length| start + length),
            Kind::Global | Kind::Local | Kind::Metadata | Kind::Hash if bytes.get(start + 1) == Some(&b'"') => {
                closing_quote(bytes, start + 1)
            }
            Kind::Punctuation => start + text[start..].chars().next().map_or(1, char::len_utf8),
            _ => {
                // Only in a number may a plus sign stand: `1.000000e+00`.
                let number = bytes[start].is_ascii_digit() || bytes[start] == b'-';
                let ends = |byte: u8| !(is_name_byte(byte) || (number && byte == b'+'));
                bytes[start + 1..]
                    .iter()
                    .position(|&byte| ends(byte))
                    .map_or(text.len(), |length| start + 1 + length)
            }
        };
        Some(Token {
            kind,
            text: &text[start..at],
            start,
        })
    })
}

/// The bytes that LLVM allows in a name without quotes.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'-')
}

/// The byte after the string that opens at `open`.
fn closing_quote(bytes: &[u8], open: usize) -> usize {
    bytes[open + 1..]
        .iter()
        .position(|&byte| byte == b'"')
        .map_or(bytes.len(), |length| open + length + 2)
}

/// The index in `tokens` of the bracket that closes the one at `open`.
pub(crate) fn closing_bracket(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if token.kind != Kind::Punctuation {
            continue;
        }
        match token.text {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ir: &str) -> Vec<&str> {
        tokens(ir).map(|token| token.text).collect()
    }

    #[test]
    fn names_are_whole() {
        assert_eq!(
            texts("load ptr, ptr @X.1, !dbg !7"),
            ["load", "ptr", ",", "ptr", "@X.1", ",", "!dbg", "!7"]
        );
        assert_eq!(tokens("@\"a b\"").next().unwrap().name(), "a b");
        assert_eq!(tokens("@_RNvX").next().unwrap().name(), "_RNvX");
    }

    #[test]
    fn strings_and_comments_hide_names() {
        assert_eq!(texts("c\"@X\\22@X\" ; @X\n@X"), ["c", "\"@X\\22@X\"", "; @X", "@X"]);
    }

    #[test]
    fn brackets_nest() {
        let list: Vec<_> = tokens("<{ [2 x i8], ptr }> x").collect();
        assert_eq!(list[closing_bracket(&list, 0).unwrap() + 1].text, "x");
    }

    #[test]
    fn text_beyond_ascii_does_not_split() {
        assert_eq!(texts("; é\n× \"é\""), ["; é", "×", "\"é\""]);
    }
}
