//! A kernel's digest: what ties a result to the code that gave it.
//!
//! It is of the PTX of one entry point together with the functions and variables that it uses, and of nothing else in
//! the module: neither comments, white space, debug lines and the module's header, nor names. Every name (of the entry
//! point and its parameters, of variables, functions and labels) counts only as the first, the second, the third that
//! is mentioned, so that a kernel may be renamed or moved to another file and keep its digest, and so that a change of
//! one kernel leaves those of all others as they were.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{LazyLock, OnceLock};

use sha2::{Digest as _, Sha256};
use tilewright::ptx::{self, Level, levels};

/// Hexadecimal digits of a digest: 64 bits.
pub const DIGITS: usize = 16;

/// The digest of each entry point of a module, by its symbol.
pub fn digests(module: &str) -> BTreeMap<String, String> {
    let items = items(module);
    let entries = items.iter().filter(|(_, item)| item.is_entry);
    entries
        .map(|(name, _)| ((*name).to_owned(), hex(&canonical(&items, name))))
        .collect()
}

/// The digest of several: of their digests, in the order of their symbols. It stands for a module whose kernels are
/// looked at together.
pub fn combined(digests: &BTreeMap<String, String>) -> String {
    hex(&digests.values().map(|digest| format!("{digest}\n")).collect::<String>())
}

/// The digest of each kernel of an embedded level, or of [`ptx::fp8`], by the kernel's symbol.
pub fn of_level(level: &'static Level) -> &'static BTreeMap<String, String> {
    // Computed once: it reads all of the text.
    static OF_ALL: LazyLock<Vec<OnceLock<BTreeMap<String, String>>>> =
        LazyLock::new(|| known().map(|_| OnceLock::new()).collect());
    let at = known().position(|known| std::ptr::eq(known, level));
    OF_ALL[at.expect("every level is one of the table")].get_or_init(|| digests(&level.ptx))
}

/// The levels that have digests.
fn known() -> impl Iterator<Item = &'static Level> {
    levels().iter().chain([ptx::fp8()])
}

/// The digest of a kernel as a device takes it whose newest general level has this name: from that level or from one
/// that is specific to an architecture. `None` where none has it.
pub fn of_kernel(symbol: &str, general_level: &str) -> Option<String> {
    let taken = |level: &&Level| level.arch == general_level || level.is_architecture_specific();
    known()
        .filter(taken)
        .find_map(|level| of_level(level).get(symbol).cloned())
}

fn hex(text: &str) -> String {
    let mut hex = String::with_capacity(DIGITS);
    for byte in &Sha256::digest(text)[..DIGITS / 2] {
        // Writing to a `String` cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// A function or a variable of a module.
#[derive(Clone, Copy)]
struct Item<'a> {
    text: &'a str,
    is_entry: bool,
    has_body: bool,
}

/// The functions and variables of a module by their names. Where one is declared and defined, the definition counts.
fn items(module: &str) -> BTreeMap<&str, Item<'_>> {
    let mut items = BTreeMap::<&str, Item<'_>>::new();
    let mut start = None;
    let (mut depth, mut is_function) = (0_u32, false);
    let mut tokens = Tokens::of(module).peekable();
    while let Some((at, token)) = tokens.next() {
        if depth == 0 && start.is_none() {
            // `.version 8.0` and its like are lines of their own.
            let line = module[at..].lines().next().unwrap_or_default();
            if ![
                ".visible", ".extern", ".weak", ".common", ".entry", ".func", ".global", ".shared", ".const",
            ]
            .iter()
            .any(|head| line.starts_with(head))
            {
                while tokens.next_if(|(next, _)| *next < at + line.len()).is_some() {}
                continue;
            }
            start = Some(at);
            is_function = false;
        }
        match token {
            "entry" | "func" if depth == 0 => is_function = true,
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = depth == 0 && (token == ";" || token == "}" && is_function);
        if let (true, Some(begin)) = (ends, start) {
            start = None;
            let text = &module[begin..=at];
            let (name, is_entry) = name(text);
            let has_body = token == "}";
            if items.get(name).is_none_or(|known| has_body || !known.has_body) {
                items.insert(
                    name,
                    Item {
                        text,
                        is_entry,
                        has_body,
                    },
                );
            }
        }
    }
    items
}

/// The name that a function or a variable is declared by, and whether it is an entry point.
fn name(item: &str) -> (&str, bool) {
    let mut before = "";
    let mut function = None;
    let mut depth = 0_u32;
    for (_, token) in Tokens::of(item) {
        match (function, token) {
            (_, "(") => depth += 1,
            (_, ")") => depth = depth.saturating_sub(1),
            // A function's results come before its name.
            (Some(is_entry), name) if depth == 0 => return (name, is_entry),
            (None, "entry" | "func") if before == "." => function = Some(token == "entry"),
            (None, "[" | "=" | ";") => break,
            _ => {}
        }
        before = token;
    }
    (before, false)
}

/// An entry point and what it uses, with a blank between tokens and numbers in place of names.
fn canonical(items: &BTreeMap<&str, Item<'_>>, symbol: &str) -> String {
    let mut names = BTreeMap::<&str, usize>::new();
    let mut text = String::new();
    let mut written = BTreeSet::new();
    let mut pending = vec![symbol];
    while let Some(symbol) = pending.pop() {
        let Some((&symbol, item)) = items.get_key_value(symbol) else {
            continue;
        };
        if !written.insert(symbol) {
            continue;
        }
        // Those that are used first come first.
        let mut used = Vec::new();
        for (token, is_name) in classified(item.text) {
            if is_name {
                let next = names.len();
                let number = *names.entry(token).or_insert_with(|| {
                    used.push(token);
                    next
                });
                let _ = write!(text, "${number} ");
            } else {
                text.push_str(token);
                text.push(' ');
            }
        }
        text.push('\n');
        pending.extend(used.into_iter().rev());
    }
    text
}

/// The tokens of an item, each with whether it is a name: neither an instruction, nor a directive, a register, a number
/// or a string. Debug lines are left out.
fn classified(item: &str) -> Vec<(&str, bool)> {
    let tokens: Vec<&str> = Tokens::of(item).map(|(_, token)| token).collect();
    let mut classified = Vec::with_capacity(tokens.len());
    // Where an instruction may begin, and whether what stands there is its guard.
    let (mut begins, mut in_guard) = (true, false);
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        let before = at.checked_sub(1).map_or("", |before| tokens[before]);
        if begins && token == "." && tokens.get(at + 1) == Some(&"loc") {
            // Three numbers, perhaps followed by where it was inlined; the next statement begins with a word or a
            // directive.
            at += 2;
            while tokens.get(at).is_some_and(|token| is_number(token) || *token == ",") {
                at += 1;
            }
            continue;
        }
        let is_word = token.starts_with(|first: char| first.is_ascii_alphabetic() || "_$".contains(first));
        let is_label = begins && tokens.get(at + 1) == Some(&":");
        let follows_dot = before == "." || (before == ":" && !begins);
        classified.push((token, is_word && (is_label || !follows_dot && (!begins || in_guard))));
        (begins, in_guard) = match token {
            ";" | "{" | "}" => (true, false),
            ":" => (begins, false),
            "@" => (true, true),
            "!" if in_guard => (true, true),
            // The guard itself; after it the instruction.
            _ if in_guard => (true, false),
            _ if is_label => (true, false),
            _ => (false, false),
        };
        at += 1;
    }
    classified
}

fn is_number(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_digit())
}

/// The tokens of PTX with their places, comments left out.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// How many bytes the token takes that `rest` begins with.
    fn len(rest: &str) -> usize {
        let bytes = rest.as_bytes();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$".contains(byte);
        match bytes[0] {
            b'"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            b'%' | b'_' | b'$' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                1 + bytes[1..].iter().take_while(|byte| is_part(byte)).count()
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = &self.text[self.at..];
            let skipped = rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            let comment = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                0
            };
            self.at += skipped + comment;
            if rest.is_empty() {
                return None;
            }
            if comment == 0 {
                let at = self.at;
                self.at += Self::len(rest);
                return Some((at, &self.text[at..self.at]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two kernels, one of which uses a variable and a function.
    const MODULE: &str = "\
//
// Generated by LLVM
.version 7.8
.target sm_75
.address_size 64

.extern .shared .align 128 .b8 dynamic[];
.global .align 4 .b8 TABLE[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.func (.param .b32 retval0) double(.param .b32 double_param_0);
.func (.param .b32 retval0) double(
	.param .b32 double_param_0
)
{
	ld.param.b32 	%r1, [double_param_0];
	st.param.b32 	[retval0], %r1;
	ret;
}
	// .globl	a // -- Begin function a
.visible .entry a(
	.param .u64 .ptr .align 1 a_param_0
)
.maxntid 32
{
	.reg .pred 	%p<2>;
	.shared .align 4 .b8 buffer[64];
	.loc 1 20 3
// %bb.0:
	mov.b32 	%r1, buffer;
	{
	.reg .pred is_zero;
	setp.ne.b32 is_zero, %r1, 0;
	@!is_zero bra $L__BB3_2;
	}
	@%p1 bra 	$L__BB3_2;
	cp.async.bulk.shared::cluster.global [dynamic], [%rd1];
	call.uni (retval0), double, (param0);
	ld.global.b32 %r2, [TABLE+4];
$L__BB3_2:
	.pragma \"nounroll\";
	ret;
}
.visible .entry b(
	.param .u32 b_param_0
)
{
	ret;
}
";

    fn changed(from: &str, to: &str) -> BTreeMap<String, String> {
        assert!(MODULE.contains(from), "{from}");
        digests(&MODULE.replace(from, to))
    }

    #[test]
    fn every_entry_point_has_one() {
        let digests = digests(MODULE);
        assert_eq!(digests.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert!(digests.values().all(|digest| digest.len() == DIGITS));
        assert_ne!(digests["a"], digests["b"]);
    }

    #[test]
    fn names_comments_debug_lines_and_header_do_not_count() {
        let as_it_is = digests(MODULE);
        for (from, to) in [
            ("BB3_2", "BB12_7"),
            ("buffer", "_RNvCs_12other"),
            ("a_param_0", "a_new_name_param_0"),
            ("b_param_0", "b_new_name_param_0"),
            ("double", "_ZN5twice"),
            ("TABLE", "anon$1"),
            ("is_zero", "p"),
            ("	.loc 1 20 3\n", ""),
            ("1 20 3", "1 21 4"),
            ("// %bb.0:\n", ""),
            ("mov.b32 	%r1", "  mov.b32 %r1"),
            ("sm_75", "sm_80"),
            ("7.8", "8.0"),
        ] {
            assert_eq!(changed(from, to), as_it_is, "{from} -> {to}");
        }
        let renamed = changed(".entry a(", ".entry z(");
        assert_eq!(renamed["z"], as_it_is["a"]);
        // Another kernel changes, or is gone.
        let other = &MODULE[..MODULE.find(".visible .entry b").expect("there")];
        assert_eq!(digests(other)["a"], as_it_is["a"]);
    }

    #[test]
    fn everything_else_counts_and_for_this_kernel_alone() {
        let as_it_is = digests(MODULE);
        for (from, to) in [
            ("mov.b32", "mov.b64"),
            ("@!is_zero", "@is_zero"),
            ("%p1", "%p0"),
            ("buffer[64]", "buffer[128]"),
            ("maxntid 32", "maxntid 64"),
            ("shared::cluster", "shared::cta"),
            ("[TABLE+4]", "[TABLE]"),
            ("7, 8}", "7, 9}"),
            ("[retval0], %r1", "[retval0], %r2"),
            ("align 128", "align 256"),
            ("nounroll", "unroll"),
            ("[TABLE+4]", "[dynamic+4]"),
        ] {
            let other = changed(from, to);
            assert_ne!(other["a"], as_it_is["a"], "{from} -> {to}");
            assert_eq!(other["b"], as_it_is["b"], "{from} -> {to}");
        }
        assert_ne!(combined(&as_it_is), combined(&changed("mov.b32", "mov.b64")));
    }
}
