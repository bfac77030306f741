//! Check of inline assembly, statement by statement: LLVM copies it into the PTX without a check.
//!
//! It covers the mistakes of practice: names, ends of statements, braces, operands that are not declared, and
//! instructions that the architecture lacks. Types of operands are left to `ptxas`.

use std::collections::{BTreeMap, BTreeSet};

use super::features;
use super::opcodes::{is_directive, is_instruction, is_special_register, operand_count};
use crate::arch::NvvmArch;
use crate::ptx::{Item, names};

const BEGIN: &str = "// begin inline asm";
const END: &str = "// end inline asm";

/// What is wrong with a statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The statement as PTX has it.
    pub statement: String,
    /// What to look for in the sources: its instruction, or the name that is wrong.
    pub sought: String,
    pub reason: String,
    pub remedy: String,
}

/// What the statements are checked against.
pub(super) struct Module<'a> {
    /// The module. Whether a name stands in it outside inline assembly is asked rarely.
    pub ptx: &'a str,
    pub arch: NvvmArch,
    pub version: (u32, u32),
}

impl Module<'_> {
    fn names_outside(&self, name: &str) -> bool {
        let outside = parts(self.ptx).into_iter().filter(|(inside, _)| !inside);
        let mut lines = outside
            .flat_map(|(_, text)| text.lines())
            .filter(|line| line.contains(name));
        lines.any(|line| names(line).any(|word| word == name))
    }
}

/// The text of a module outside (`false`) and inside (`true`) inline assembly.
pub(super) fn parts(text: &str) -> Vec<(bool, &str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (inside, after) = after.split_once(END).unwrap_or((after, ""));
        parts.extend([(false, before), (true, inside)]);
        rest = after;
    }
    parts.push((false, rest));
    parts
}

/// Checks the inline assembly of one function.
pub(super) fn check(item: &Item<'_>, module: &Module<'_>) -> Result<(), Fault> {
    let parts = parts(item.text);
    if parts.len() == 1 {
        return Ok(());
    }
    let mut function = Function {
        module,
        scopes: vec![Scope::default()],
        labels: BTreeSet::new(),
        opened: Vec::new(),
    };
    for (_, text) in parts.iter().filter(|(inside, _)| !inside) {
        let lines = text.lines().map(str::trim).filter(|line| line.starts_with(".reg "));
        for line in lines {
            function.scopes[0].declare(&words(line));
        }
    }
    let regions: Vec<Vec<Word<'_>>> = parts.iter().filter(|part| part.0).map(|part| words(part.1)).collect();
    for region in &regions {
        let labels = region
            .windows(2)
            .filter(|pair| pair[1].text == ":")
            .map(|pair| pair[0].text);
        function.labels.extend(labels);
    }
    for region in &regions {
        function.region(region)?;
    }
    match function.opened.pop() {
        Some(statement) => Err(Fault {
            sought: statement.trim_start_matches('{').trim().to_owned(),
            statement,
            reason: "a `{` has no `}`".to_owned(),
            remedy: "write `}}` at the end of the assembly: asm! prints one brace for two".to_owned(),
        }),
        None => Ok(()),
    }
}

/// Names that are declared between two braces.
#[derive(Default)]
struct Scope<'a> {
    single: BTreeSet<&'a str>,
    /// `%r<12>` stands for `%r0` to `%r11`.
    ranges: BTreeMap<&'a str, u32>,
}

impl<'a> Scope<'a> {
    /// Adds what a `.reg` directive declares; the name that is there already, if one is.
    fn declare(&mut self, statement: &[Word<'a>]) -> Option<&'a str> {
        let mut twice = None;
        for (index, word) in statement.iter().enumerate() {
            if !is_name(word.text) {
                continue;
            }
            let count = statement
                .get(index + 1)
                .filter(|next| next.text == "<")
                .and(statement.get(index + 2));
            match count.and_then(|count| count.text.parse().ok()) {
                Some(count) => _ = self.ranges.insert(word.text, count),
                None if !self.single.insert(word.text) => twice = Some(word.text),
                None => {}
            }
        }
        twice
    }

    fn has(&self, name: &str) -> bool {
        let start = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let in_range = |count: &u32| name[start.len()..].parse::<u32>().is_ok_and(|number| number < *count);
        self.single.contains(name) || self.ranges.get(start).is_some_and(in_range)
    }
}

struct Function<'m, 'a> {
    module: &'m Module<'a>,
    scopes: Vec<Scope<'a>>,
    labels: BTreeSet<&'a str>,
    /// The beginnings of the scopes that are open.
    opened: Vec<String>,
}

impl<'a> Function<'_, 'a> {
    fn region(&mut self, region: &[Word<'a>]) -> Result<(), Fault> {
        let mut at = 0;
        while let Some(word) = region.get(at) {
            match word.text {
                ";" => at += 1,
                "{" => {
                    self.scopes.push(Scope::default());
                    let rest = &region[at..];
                    let first = rest.iter().position(|word| word.text == ";").unwrap_or(rest.len());
                    self.opened.push(shown(&rest[..first]));
                    at += 1;
                }
                "}" => {
                    if self.opened.pop().is_none() {
                        return Err(Fault {
                            statement: "}".to_owned(),
                            sought: "}".to_owned(),
                            reason: "a `}` has no `{`".to_owned(),
                            remedy: "write `{{` at the start of the assembly: asm! prints one brace for two".to_owned(),
                        });
                    }
                    self.scopes.pop();
                    at += 1;
                }
                _ if region.get(at + 1).is_some_and(|next| next.text == ":") => {
                    self.label(word)?;
                    at += 2;
                }
                "@" => {
                    at += 1 + usize::from(region.get(at + 1).is_some_and(|next| next.text == "!"));
                    if let Some(predicate) = region.get(at) {
                        self.operand(predicate, &region[at - 1..])?;
                    }
                    at += 1;
                }
                _ => {
                    let statement = &region[at..at + statement_length(&region[at..])];
                    self.statement(statement, region.get(at + statement.len()))?;
                    at += statement.len() + 1;
                }
            }
        }
        Ok(())
    }

    fn label(&mut self, word: &Word<'a>) -> Result<(), Fault> {
        let scope = self.scopes.last_mut().expect("the function's own scope stays");
        match scope.single.insert(word.text) {
            true => Ok(()),
            false => Err(twice(word.text, &[*word])),
        }
    }

    fn statement(&mut self, statement: &[Word<'a>], end: Option<&Word<'a>>) -> Result<(), Fault> {
        let [first, operands @ ..] = statement else {
            return Ok(());
        };
        let directive = first.text.starts_with('.');
        if !(is_directive(first.text) || (!directive && is_instruction(first.text))) {
            return Err(fault(
                statement,
                format!(
                    "PTX has no {} `{}`",
                    if directive { "directive" } else { "instruction" },
                    first.text
                ),
                "correct the name; PTX ISA 9.7 lists the instructions".to_owned(),
            ));
        }
        let joined = (1..operands.len()).find(|&index| match directive {
            true => operands[index].line > operands[index - 1].line && is_instruction(operands[index].text),
            false => operands[index].is_value() && operands[index - 1].ends_value(),
        });
        if end.is_none_or(|end| end.text != ";") || joined.is_some() {
            let whole = &statement[..joined.map_or(statement.len(), |index| index + 1)];
            return Err(fault(
                whole,
                "no `;` ends this statement".to_owned(),
                "end each statement with `;`: asm! puts nothing but a line break between two strings".to_owned(),
            ));
        }
        if directive {
            let scope = self.scopes.last_mut().expect("the function's own scope stays");
            return match scope.declare(operands) {
                Some(name) => Err(twice(name, statement)),
                None => Ok(()),
            };
        }
        if let Some((reason, remedy)) = features::missing(first.text, self.module.arch, self.module.version) {
            return Err(fault(statement, reason, remedy));
        }
        let count = operand_number(operands);
        if let Some((least, most)) =
            operand_count(first.text).filter(|(least, most)| !(*least..=*most).contains(&count))
        {
            let needed = if least == most {
                least.to_string()
            } else {
                format!("{least} or {most}")
            };
            return Err(fault(
                statement,
                format!("`{}` takes {needed} operands, and this has {count}", first.text),
                "write the destination first, then the sources, as PTX ISA 9.7 does".to_owned(),
            ));
        }
        // Prototypes and parameters of calls have scopes of their own.
        if !first.text.starts_with("call") {
            for word in operands {
                self.operand(word, statement)?;
            }
        }
        Ok(())
    }

    fn operand(&self, word: &Word<'a>, statement: &[Word<'a>]) -> Result<(), Fault> {
        let name = word.text;
        let component = name.split('.').next().unwrap_or_default();
        let declared = |name: &str| self.scopes.iter().any(|scope| scope.has(name));
        let known = !is_name(name)
            || matches!(name, "_" | "WARP_SZ")
            || is_special_register(name)
            || declared(name)
            || declared(component)
            || self.labels.contains(name)
            || (!name.starts_with('%') && self.module.names_outside(name));
        if known {
            return Ok(());
        }
        let (what, remedy) = match statement.iter().find(|word| word.text != "@").map(|word| word.text) {
            Some(opcode) if opcode.starts_with("bra") => (
                "not a label of this function",
                "keep the branch and its label within one asm!".to_owned(),
            ),
            _ => (
                "not declared in its scope",
                format!("pass the value as an operand of asm!, or declare it: `{{{{ .reg .b32 {name}; .. }}}}`"),
            ),
        };
        Err(Fault {
            sought: name.to_owned(),
            ..fault(statement, format!("`{name}` is {what}"), remedy)
        })
    }
}

fn fault(statement: &[Word<'_>], reason: String, remedy: String) -> Fault {
    Fault {
        statement: shown(statement),
        sought: statement.first().map_or("", |word| word.text).to_owned(),
        reason,
        remedy,
    }
}

fn twice(name: &str, statement: &[Word<'_>]) -> Fault {
    fault(
        statement,
        format!("`{name}` is declared twice in one scope"),
        "write `{{` before and `}}` after the assembly: each copy of it (inlined, unrolled) then has names of its own"
            .to_owned(),
    )
}

/// The length of a statement without its `;`: braces within it belong to operands.
fn statement_length(region: &[Word<'_>]) -> usize {
    let mut depth = 0_u32;
    let end = region.iter().position(|word| {
        match word.text {
            "{" => depth += 1,
            "}" if depth == 0 => return true,
            "}" => depth -= 1,
            ";" => return true,
            _ => {}
        }
        false
    });
    end.unwrap_or(region.len())
}

/// The number of operands: commas outside brackets, plus one.
fn operand_number(operands: &[Word<'_>]) -> usize {
    let mut depth = 0_i32;
    let mut commas = 0;
    for word in operands {
        match word.text {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth -= 1,
            "," if depth == 0 => commas += 1,
            _ => {}
        }
    }
    commas + usize::from(!operands.is_empty())
}

/// A word or a character of punctuation.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    line: usize,
}

impl Word<'_> {
    /// Whether an operand may start with it.
    fn is_value(&self) -> bool {
        self.text.starts_with(is_word_letter)
    }

    /// Whether an operand may end with it.
    fn ends_value(&self) -> bool {
        self.is_value() || matches!(self.text, "]" | "}" | ")")
    }
}

fn is_word_letter(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '%' | '.')
}

/// Whether a word is a name and not a number, a type or punctuation.
fn is_name(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_alphabetic() || matches!(letter, '_' | '$' | '%'))
}

/// The words of a text without comments and line directives; `shared::cta` is a part of its word.
fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    // LLVM's line directives stand between the statements, and no `;` ends them.
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with(".loc"));
    for (line, text) in lines {
        let mut rest = text.split("//").next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let end = if first == '"' {
                rest[1..].find('"').map_or(rest.len(), |end| end + 2)
            } else if rest.starts_with("/*") {
                rest = rest.split_once("*/").map_or("", |(_, after)| after).trim_start();
                continue;
            } else if is_word_letter(first) {
                word_length(rest)
            } else {
                first.len_utf8()
            };
            words.push(Word {
                text: &rest[..end],
                line,
            });
            rest = rest[end..].trim_start();
        }
    }
    words
}

fn word_length(text: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = &text[end..];
        end += rest.find(|letter| !is_word_letter(letter)).unwrap_or(rest.len());
        match text[end..].strip_prefix("::") {
            Some(_) => end += 2,
            None => return end,
        }
    }
}

/// A statement on one line.
fn shown(statement: &[Word<'_>]) -> String {
    let mut shown = String::new();
    for (index, word) in statement.iter().enumerate() {
        let tight = matches!(
            word.text,
            "," | "]" | ")" | "}" | ";" | "|" | "+" | "<" | ">" | "(" | ":"
        ) || index == 0
            || matches!(
                statement[index - 1].text,
                "[" | "(" | "{" | "|" | "+" | "-" | "!" | "@" | "<"
            );
        if !tight {
            shown.push(' ');
        }
        shown.push_str(word.text);
    }
    shown
}

#[cfg(test)]
mod tests;
