//! Functions: attribute groups of definitions, and `convergent` on what may hold a barrier.
//!
//! `convergent` tells LLVM that an operation depends on which threads of the warp or block execute it together, so it
//! must not be made dependent on more conditions, nor be duplicated into branches. Without the mark on everything that
//! could reach a barrier, LLVM may thread a jump through the barrier, and threads would wait for each other at two
//! copies of it. `opt` takes the mark off again where a function provably holds nothing of the kind.

use std::collections::BTreeMap;

use super::lexer::{Kind, Token, closing_bracket, tokens};

/// The head of a `define` or `declare`, as byte positions in its line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    /// The function's name without sigil and quotes.
    pub name: &'a str,
    /// Whether it has the calling convention of kernels.
    pub kernel: bool,
    /// The number of its attribute group and where that stands.
    pub group: Option<(u32, std::ops::Range<usize>)>,
    /// Where an attribute may be inserted.
    pub insert_at: usize,
}

impl<'a> Head<'a> {
    /// Reads a line that starts with `define` or `declare`.
    pub fn parse(line: &'a str) -> Option<Self> {
        let list: Vec<Token<'a>> = tokens(line).collect();
        // A parameter attribute may hold a global too, so the name is the one that a parenthesis follows.
        let name = callee(&list, 1).filter(|&index| list[index].kind == Kind::Global)?;
        let close = closing_bracket(&list, name + 1)?;
        let mut after = close;
        while list
            .get(after + 1)
            .is_some_and(|token| token.is_word("unnamed_addr") || token.is_word("local_unnamed_addr"))
        {
            after += 1;
        }
        let group = list[close..]
            .iter()
            .find_map(|token| Some((group_number(token)?, token.start..token.end())));
        let text = list[name].text;
        let bare = &text[1..];
        Some(Self {
            name: bare
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'))
                .unwrap_or(bare),
            kernel: list[..name].iter().any(|token| token.is_word("ptx_kernel")),
            group,
            insert_at: list[after].end(),
        })
    }
}

/// Where the parameters of a `define` stand in its line.
pub(crate) fn parameters(line: &str) -> Option<Vec<std::ops::Range<usize>>> {
    let list: Vec<Token<'_>> = tokens(line).collect();
    let open = callee(&list, 1)? + 1;
    let close = closing_bracket(&list, open)?;
    let mut parameters = Vec::new();
    let (mut start, mut index) = (open + 1, open + 1);
    while index <= close {
        let token = &list[index];
        if index == close || token.is(',') {
            if start < index {
                parameters.push(list[start].start..list[index - 1].end());
            }
            start = index + 1;
        } else if token.kind == Kind::Punctuation && matches!(token.text, "(" | "[" | "{" | "<") {
            index = closing_bracket(&list, index)?;
        }
        index += 1;
    }
    Some(parameters)
}

fn group_number(token: &Token<'_>) -> Option<u32> {
    (token.kind == Kind::Hash).then(|| token.text[1..].parse().ok())?
}

/// The index of the called (or defined) thing: a name directly followed by its parenthesis, or `asm`.
fn callee(list: &[Token<'_>], from: usize) -> Option<usize> {
    let mut index = from;
    while index < list.len() {
        let token = &list[index];
        let named = matches!(token.kind, Kind::Global | Kind::Local);
        if token.is_word("asm") || (named && list.get(index + 1).is_some_and(|next| next.is('('))) {
            return Some(index);
        }
        if token.kind == Kind::Punctuation && matches!(token.text, "(" | "[" | "{" | "<") {
            index = closing_bracket(list, index)?;
        }
        index += 1;
    }
    None
}

/// Where `convergent` belongs in a line of a function body; `None` when the line holds no call that needs it.
///
/// Calls of a named function need nothing here: the function itself carries the mark, and a mark on the call would
/// outlive the proof that the function does not need it. Intrinsics know their own attributes.
pub(crate) fn convergent_call(line: &str) -> Option<usize> {
    // Almost no line is a call through a pointer or inline assembly: look before tokenising.
    if !line.contains("call ") || !(line.contains(" asm ") || calls_local(line)) {
        return None;
    }
    let list: Vec<Token<'_>> = tokens(line).collect();
    let call = list.iter().position(|token| token.is_word("call"))?;
    let callee = callee(&list, call + 1)?;
    let open = match list[callee].kind {
        Kind::Global => return None,
        Kind::Local => callee + 1,
        _ => {
            let template = list[callee..].iter().find(|token| token.kind == Kind::Text)?;
            let side_effect = list[callee..].iter().any(|token| token.is_word("sideeffect"));
            // Also without side effects: `.sync` and `.aligned` instructions name the threads that must take part.
            if !side_effect && !template.text.contains(".sync") && !template.text.contains(".aligned") {
                return None;
            }
            callee + list[callee..].iter().position(|token| token.is('('))?
        }
    };
    Some(list[closing_bracket(&list, open)?].end())
}

/// Whether a parenthesis follows directly on a name like `%7`; strings may look like it too.
fn calls_local(line: &str) -> bool {
    line.match_indices('(').any(|(at, _)| {
        let before = &line[..at];
        let name_end =
            before.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric() || "_.$-".contains(letter));
        before.ends_with('"') || (name_end.len() < at && name_end.ends_with('%'))
    })
}

/// What the attribute groups of definitions are turned into.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupEdit {
    /// Attributes that are taken out: words, or the keys of pairs.
    pub remove: Vec<&'static str>,
    /// Attributes that are added.
    pub add: Vec<String>,
}

/// The attribute groups of a module, and the edited copies that definitions refer to.
///
/// Definitions get copies because call sites share the same groups, and an attribute of a definition (inlining, the
/// handling of denormals) would be wrong there.
#[derive(Debug, Default)]
pub(crate) struct Groups<'a> {
    originals: BTreeMap<u32, &'a str>,
    copies: BTreeMap<(u32, Vec<String>), u32>,
    next: u32,
}

impl<'a> Groups<'a> {
    /// Collects the groups of a module: its lines `attributes #7 = { nounwind }`.
    pub fn collect(ir: &'a str) -> Self {
        let mut originals = BTreeMap::new();
        for line in ir.lines().filter(|line| line.starts_with("attributes #")) {
            let number = tokens(line).nth(1).and_then(|token| group_number(&token));
            let body = line
                .find('{')
                .zip(line.rfind('}'))
                .map(|(open, close)| line[open + 1..close].trim());
            originals.extend(number.zip(body));
        }
        let next = originals.keys().last().map_or(0, |last| last + 1);
        Self {
            originals,
            copies: BTreeMap::new(),
            next,
        }
    }

    /// The number of the edited copy of group `number`; `extra` is for this definition alone.
    pub fn copy_of(&mut self, number: u32, extra: &[String]) -> u32 {
        *self.copies.entry((number, extra.to_vec())).or_insert_with(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// The lines of the copies.
    pub fn render(&self, edit: &GroupEdit) -> String {
        let mut copies: Vec<_> = self.copies.iter().collect();
        copies.sort_by_key(|(_, copy)| **copy);
        let mut text = String::new();
        for ((original, extra), copy) in copies {
            let body = self.originals.get(original).copied().unwrap_or_default();
            let mut words = attributes(body);
            words.retain(|word| !edit.remove.contains(&word.split('=').next().unwrap_or_default()));
            for word in edit.add.iter().chain(extra).map(String::as_str) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            text.push_str(&format!("attributes #{copy} = {{ {} }}\n", words.join(" ")));
        }
        text
    }

    /// Whether group `number` holds the attribute `word`.
    pub fn has(&self, number: u32, word: &str) -> bool {
        self.originals
            .get(&number)
            .is_some_and(|body| attributes(body).contains(&word))
    }
}

/// The attributes of a group: words, `"key"="value"` pairs and `memory(argmem: read)` forms, each in one piece.
fn attributes(body: &str) -> Vec<&str> {
    let list: Vec<Token<'_>> = tokens(body).collect();
    let mut found = Vec::new();
    let mut index = 0;
    while index < list.len() {
        let first = index;
        if list.get(index + 1).is_some_and(|next| next.is('=')) {
            index += 2;
        } else if list.get(index + 1).is_some_and(|next| next.is('(')) {
            index = closing_bracket(&list, index + 1).unwrap_or(list.len() - 1);
        }
        let last = index.min(list.len() - 1);
        found.push(&body[list[first].start..list[last].end()]);
        index += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_of_a_kernel() {
        let line = "define ptx_kernel void @k(ptr noundef align 4 dereferenceable(8) %0) unnamed_addr #2 !dbg !4 {";
        let head = Head::parse(line).unwrap();
        assert_eq!((head.name, head.kernel), ("k", true));
        let (number, range) = head.group.unwrap();
        assert_eq!((number, &line[range]), (2, "#2"));
        assert!(line[..head.insert_at].ends_with("unnamed_addr"));
    }

    #[test]
    fn head_of_a_declaration() {
        let head = Head::parse("declare noundef range(i32 0, 1024) i32 @\"a b\"(i32, ptr)").unwrap();
        assert_eq!((head.name, head.kernel, head.group), ("a b", false, None));
    }

    #[test]
    fn assembly_and_pointers_converge() {
        let marked = |line: &str| convergent_call(line).map(|at| line[..at].to_owned());
        let asm = r#"  call void asm sideeffect alignstack "bar.sync 0;", "~{memory}"(), !srcloc !3"#;
        assert!(marked(asm).unwrap().ends_with(r#""~{memory}"()"#));
        let pure = r#"  %4 = call float asm "lg2.approx.f32 $0, $1;", "=r,r"(float %3) #9"#;
        assert_eq!(marked(pure), None);
        let shuffle = r#"  %4 = call i32 asm "shfl.sync.bfly.b32 $0, $1;", "=r,r"(i32 %3) #9"#;
        assert!(marked(shuffle).unwrap().ends_with("(i32 %3)"));
        assert!(
            marked("  call void %7(ptr align 4 %8)")
                .unwrap()
                .ends_with("(ptr align 4 %8)")
        );
        assert_eq!(marked("  call void @f(ptr %8) #2"), None);
        assert_eq!(marked("  %1 = load i32, ptr %call , align 4"), None);
    }

    #[test]
    fn groups_are_copied_and_edited() {
        let ir = "attributes #0 = { noinline nounwind memory(argmem: read) \"target-cpu\"=\"sm_90a\" }\n";
        let mut groups = Groups::collect(ir);
        assert!(groups.has(0, "noinline"));
        assert_eq!(groups.copy_of(0, &[]), 1);
        assert_eq!(groups.copy_of(0, &[]), 1);
        assert_eq!(groups.copy_of(0, &["\"nvvm.maxnreg\"=\"64\"".to_owned()]), 2);
        let edit = GroupEdit {
            remove: vec!["noinline"],
            add: vec!["convergent".into(), "nounwind".into()],
        };
        assert_eq!(
            groups.render(&edit),
            "attributes #1 = { nounwind memory(argmem: read) \"target-cpu\"=\"sm_90a\" convergent }\n\
             attributes #2 = { nounwind memory(argmem: read) \"target-cpu\"=\"sm_90a\" \
             convergent \"nvvm.maxnreg\"=\"64\" }\n"
        );
    }
}
