//! The part of a module that one kernel needs.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::fault::ParseError;
use crate::lexer::{Token, tokens};

/// The functions, variables and directives of a module's text, each on lines of its own, as LLVM writes them.
///
/// A module of unoptimized code can be a hundred megabytes of which a kernel needs a few hundred kilobytes; `ptxas` and
/// the driver read all of it. Debug sections are left out: they name every function.
pub struct Slices<'a> {
    lines: Vec<&'a str>,
    items: Vec<Item<'a>>,
    named: HashMap<&'a str, Vec<usize>>,
}

/// A declaration or definition, or a directive without a name, which every kernel gets.
struct Item<'a> {
    lines: Range<usize>,
    name: Option<&'a str>,
    kernel: bool,
    /// Whatever may be a name.
    words: HashSet<&'a str>,
}

impl<'a> Slices<'a> {
    /// Of the text of a module.
    ///
    /// # Errors
    /// [`ParseError`] where the text does not consist of PTX's tokens.
    pub fn of(text: &'a str) -> Result<Self, ParseError> {
        let mut slices = Self {
            lines: text.lines().collect(),
            items: Vec::new(),
            named: HashMap::new(),
        };
        let tokens = tokens(text)?;
        let mut first = 0;
        while first < tokens.len() {
            let (mut item, mut depth) = (Item::at(tokens[first].line), 0);
            let (mut function, section) = (false, tokens[first].token == Token::Word(".section"));
            let mut end = first;
            for located in &tokens[first..] {
                end += 1;
                item.lines.end = located.line as usize;
                match located.token {
                    Token::Symbol('(' | '{' | '[') => depth += 1,
                    Token::Symbol(')' | ']') => depth -= 1,
                    Token::Symbol('}') => {
                        depth -= 1;
                        if depth == 0 && (function || section) {
                            break;
                        }
                    }
                    Token::Symbol(';') if depth == 0 => break,
                    Token::Word(".func" | ".entry") if depth == 0 => {
                        function = true;
                        item.kernel = located.token == Token::Word(".entry");
                    }
                    Token::Word(word) if word.starts_with(|c: char| c.is_ascii_alphabetic() || "_$".contains(c)) => {
                        if depth == 0 {
                            item.name.get_or_insert(word);
                        }
                        item.words.insert(word);
                    }
                    _ => {}
                }
                // A directive that ends with its line.
                let next = tokens.get(end).map(|next| next.line);
                let opening = matches!(
                    tokens[first].token,
                    Token::Word(".version" | ".target" | ".address_size" | ".file")
                );
                if opening && next != Some(located.line) {
                    item.name = None;
                    break;
                }
            }
            first = end;
            if section {
                continue;
            }
            if let Some(name) = item.name {
                slices.named.entry(name).or_default().push(slices.items.len());
            }
            slices.items.push(item);
        }
        Ok(slices)
    }

    /// A module with this kernel and all that it needs, in the order of the whole; `None` if there is no such kernel.
    pub fn kernel(&self, name: &str) -> Option<String> {
        let roots = self.named.get(name)?;
        if !roots.iter().any(|&root| self.items[root].kernel) {
            return None;
        }
        let mut taken: Vec<bool> = self.items.iter().map(|item| item.name.is_none()).collect();
        let mut left = roots.clone();
        while let Some(at) = left.pop() {
            if !std::mem::replace(&mut taken[at], true) {
                let needed = self.items[at].words.iter().filter_map(|word| self.named.get(word));
                left.extend(needed.flatten().copied().filter(|&needed| !self.items[needed].kernel));
            }
        }
        let items = self.items.iter().zip(taken).filter(|(_, taken)| *taken);
        let lines = items.flat_map(|(item, _)| &self.lines[item.lines.clone()]);
        let lines = lines.filter(|line| line.split_whitespace().next() != Some(".loc"));
        Some(lines.flat_map(|line| [line, "\n"]).collect())
    }
}

impl Item<'_> {
    /// An item whose first line is this one, counted from 1.
    fn at(line: u32) -> Self {
        let line = line as usize;
        Self {
            lines: line - 1..line,
            name: None,
            kernel: false,
            words: HashSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "\
//
.version 7.8
.target sm_75, debug
.address_size 64

.func shared_helper
(
	.param .b64 shared_helper_param_0
)
;
.global .align 4 .b8 table[2] = {1, 2};
.global .align 8 .u64 pointers[1] = {generic(table)};
.visible .entry one(
	.param .u64 one_param_0
)
{
	{
	call.uni shared_helper, (x);
	}
	ret;
}
.func (.param .b64 func_retval0) alone(.param .b64 alone_param_0)
{
	mov.b64 %rd1, pointers;
	ret;
}
.func shared_helper(.param .b64 shared_helper_param_0)
{
	ret;
}
.visible .entry two()
{
	call.uni (r), alone, (x);
	.local .align 4 .b8 	__local_depot0[8];
	.loc	1 2 3
	ret;
}
.section .debug_abbrev
{
.b8 1
.b64 shared_helper
}
";

    #[test]
    fn a_kernel_gets_what_it_reaches_and_nothing_else() {
        let slices = Slices::of(MODULE).expect("PTX");
        let one = slices.kernel("one").expect("a kernel");
        assert!(
            one.starts_with(".version 7.8\n.target sm_75, debug\n.address_size 64\n"),
            "{one}"
        );
        assert_eq!(
            one.matches("shared_helper\n").count() + one.matches("shared_helper(").count(),
            2,
            "{one}"
        );
        assert!(
            !one.contains("table") && !one.contains("alone") && !one.contains("two"),
            "{one}"
        );
        let two = slices.kernel("two").expect("a kernel");
        assert!(
            two.contains("table[2] = {1, 2};")
                && two.contains("pointers[1]")
                && two.contains("__local_depot0")
                && two.contains(") alone("),
            "{two}"
        );
        assert!(!two.contains("shared_helper") && !two.contains("entry one"), "{two}");
        assert_eq!(slices.kernel("alone"), None, "it is no kernel");
        assert_eq!(slices.kernel("three"), None);
        for text in [one, two] {
            assert!(!text.contains(".loc\t") && !text.contains("debug_abbrev"), "{text}");
            assert_eq!(crate::Module::parse(&text).expect("a whole module").kernels().len(), 1);
        }
    }
}
