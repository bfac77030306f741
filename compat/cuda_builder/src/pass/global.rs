//! Global variables: one line of IR each, taken apart and put together again.

use super::lexer::{Kind, Token, closing_bracket, tokens};

/// The pieces of `@X = internal global [4 x i8] undef, section ".shared", align 4`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Global<'a> {
    /// The name with its sigil, as it is written.
    pub symbol: &'a str,
    /// Linkage, visibility and the like: what stands before `global`.
    pub prefix: Vec<&'a str>,
    /// Whether it says `constant` and not `global`.
    pub constant: bool,
    /// The type of the value.
    pub value_type: &'a str,
    /// The initial value, absent for a declaration.
    pub initializer: Option<&'a str>,
    /// The section without quotes.
    pub section: Option<&'a str>,
    /// What follows the initial value and is not the section: `align 4`, `!dbg !3`.
    pub suffix: Vec<&'a str>,
}

impl<'a> Global<'a> {
    /// Reads a line; `None` when it is no global variable (an alias, for instance).
    pub fn parse(line: &'a str) -> Option<Self> {
        let list: Vec<Token<'a>> = tokens(line).filter(|token| token.kind != Kind::Comment).collect();
        let name = list.first().filter(|token| token.kind == Kind::Global)?;
        list.get(1).filter(|token| token.is('='))?;
        let keyword = list
            .iter()
            .position(|token| token.is_word("global") || token.is_word("constant"))?;
        let prefix = list[2..keyword].iter().map(|token| token.text).collect();

        let type_start = keyword + 1;
        let type_end = end_of_type(&list, type_start)?;
        let slice = |first: usize, end: usize| -> Option<&'a str> {
            (first < end).then(|| &line[list[first].start..list[end - 1].end()])
        };

        // Everything after the type: the initial value up to the first comma outside brackets, then the attributes.
        let mut parts = Vec::new();
        let mut first = type_end;
        let mut at = type_end;
        while at < list.len() {
            if list[at].is(',') {
                parts.push((first, at));
                first = at + 1;
                at += 1;
            } else if is_open(&list[at]) {
                at = closing_bracket(&list, at)? + 1;
            } else {
                at += 1;
            }
        }
        parts.push((first, list.len()));

        let (value_first, value_end) = parts.remove(0);
        let mut section = None;
        let mut suffix = Vec::new();
        for (first, end) in parts {
            if list.get(first).is_some_and(|token| token.is_word("section")) {
                section = list.get(first + 1).map(|token| token.text.trim_matches('"'));
            } else {
                suffix.extend(slice(first, end));
            }
        }
        Some(Self {
            symbol: name.text,
            prefix,
            constant: list[keyword].is_word("constant"),
            value_type: slice(type_start, type_end)?,
            initializer: slice(value_first, value_end),
            section,
            suffix,
        })
    }

    /// The name without sigil and quotes.
    pub fn name(&self) -> &'a str {
        let bare = &self.symbol[1..];
        bare.strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(bare)
    }

    /// Whether other modules and the host can see it: `#[unsafe(no_mangle)]` on a definition.
    pub fn is_exported(&self) -> bool {
        const HIDDEN: [&str; 4] = ["internal", "private", "hidden", "appending"];
        self.initializer.is_some() && !self.prefix.iter().any(|word| HIDDEN.contains(word))
    }

    /// Whether no bit of the initial value is set; undefined bits count as zero.
    pub fn starts_as_zero(&self) -> bool {
        let Some(value) = self.initializer else { return true };
        let list: Vec<Token<'_>> = tokens(value).collect();
        let mut index = 0;
        while index < list.len() {
            let token = &list[index];
            let zero = match token.kind {
                Kind::Punctuation => true,
                // `c"\00\00"`: a string of bytes, with or without a letter before it.
                Kind::Text => token.text.trim_matches('"').replace("\\00", "").is_empty(),
                Kind::Word => {
                    // `[4 x i8]` is a type: its length is no value.
                    let length = list.get(index + 1).is_some_and(|next| next.is_word("x"));
                    length || is_zero_word(token.text)
                }
                _ => false,
            };
            if !zero {
                return false;
            }
            index += 1;
        }
        true
    }

    /// The line with the variable in another address space.
    pub fn in_space(&self, space: u32, constant: bool, value_type: &str, initializer: &str) -> String {
        let mut line = format!("{} = ", self.symbol);
        for word in &self.prefix {
            line.push_str(word);
            line.push(' ');
        }
        let kind = if constant { "constant" } else { "global" };
        line.push_str(&format!("addrspace({space}) {kind} {value_type}"));
        if !initializer.is_empty() {
            line.push(' ');
            line.push_str(initializer);
        }
        for part in &self.suffix {
            line.push_str(", ");
            line.push_str(part);
        }
        line
    }
}

fn is_open(token: &Token<'_>) -> bool {
    token.kind == Kind::Punctuation && matches!(token.text, "(" | "[" | "{" | "<")
}

/// The index after the type that starts at `first`.
fn end_of_type(list: &[Token<'_>], first: usize) -> Option<usize> {
    let end = if is_open(list.get(first)?) {
        closing_bracket(list, first)? + 1
    } else {
        first + 1
    };
    // `ptr addrspace(3)`
    if list.get(end).is_some_and(|token| token.is_word("addrspace")) {
        return Some(closing_bracket(list, end + 1)? + 1);
    }
    Some(end)
}

/// Whether a word inside an initial value leaves every bit zero or undefined: types do, and so do zeros.
fn is_zero_word(word: &str) -> bool {
    match word {
        "zeroinitializer" | "undef" | "poison" | "null" | "false" | "x" | "c" | "none" => true,
        "ptr" | "half" | "bfloat" | "float" | "double" | "fp128" => true,
        _ if word.strip_prefix('i').is_some_and(|bits| bits.parse::<u32>().is_ok()) => true,
        // Floating point is printed as 0.000000e+00 or as its bits; minus zero has a bit set.
        _ if word.starts_with("0x") => word
            .chars()
            .skip(2)
            .all(|digit| matches!(digit, '0' | 'K' | 'L' | 'M' | 'H' | 'R')),
        _ => word.parse::<f64>().is_ok_and(|value| value.to_bits() == 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition_comes_apart() {
        let line = "@\"X y\" = internal unnamed_addr global <{ [4 x i8], ptr }> <{ [4 x i8] undef, ptr null }>, \
                    section \".shared\", align 16, !dbg !3";
        let global = Global::parse(line).unwrap();
        assert_eq!(global.name(), "X y");
        assert_eq!(global.prefix, ["internal", "unnamed_addr"]);
        assert_eq!(global.value_type, "<{ [4 x i8], ptr }>");
        assert_eq!(global.initializer, Some("<{ [4 x i8] undef, ptr null }>"));
        assert_eq!(global.section, Some(".shared"));
        assert_eq!(global.suffix, ["align 16", "!dbg !3"]);
        assert!(global.starts_as_zero());
        assert!(!global.is_exported());
    }

    #[test]
    fn declaration_has_no_value() {
        let global = Global::parse("@D = external global i8, align 1").unwrap();
        assert_eq!(global.initializer, None);
        assert!(!global.is_exported());
    }

    #[test]
    fn alias_is_no_variable() {
        assert_eq!(Global::parse("@A = alias i8, ptr @B"), None);
    }

    #[test]
    fn zeros_are_told_from_values() {
        for zero in [
            "[8 x i8] undef",
            "[8 x i8] zeroinitializer",
            "i32 0",
            "float 0.000000e+00",
            r#"[2 x i8] c"\00\00""#,
            "<{ i8, [3 x i8] }> <{ i8 0, [3 x i8] undef }>",
            "[2 x float] [float 0.000000e+00, float poison]",
        ] {
            let line = format!("@X = internal global {zero}, align 4");
            assert!(Global::parse(&line).unwrap().starts_as_zero(), "{zero}");
        }
        for value in [
            "i32 7",
            "float 1.000000e+00",
            "float -0.000000e+00",
            r#"[2 x i8] c"\00\01""#,
            r#"[1 x i8] c"0""#,
            "ptr @Y",
            "[2 x i32] [i32 0, i32 7]",
            "i1 true",
        ] {
            let line = format!("@X = internal global {value}, align 4");
            assert!(!Global::parse(&line).unwrap().starts_as_zero(), "{value}");
        }
    }
}
