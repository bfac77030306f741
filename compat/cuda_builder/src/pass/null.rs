//! Constant pointers kept out of the inference of address spaces.
//!
//! `infer-address-spaces` takes a constant such as `null` for a member of whatever space the other operands of a `phi`
//! or `select` are in, and casts it there and back. That is no identity: `cvta.to.shared` of 0 is a valid address of
//! shared memory on some architectures and has bits beyond the 32 of a shared pointer on others, so that `None` of a
//! reference into shared or local memory comes back as `Some`. And a web of pointers whose only sources are constants
//! gets no space at all, which ends in a null operand, and a crash, where another web joins it.
//!
//! The pass leaves generic what is joined with an instruction that it knows nothing of. So while it runs, these
//! constants are the results of `freeze`, at the head of their function. `llc` runs the pass too; what follows there
//! folds `freeze`.

use std::collections::BTreeMap;

use super::lexer::{Kind, Token, closing_bracket, tokens};

/// What the names of the frozen constants start with; a number follows.
const NAME: &str = "%cuda_builder_constant_";

/// Which constants are hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// Those that a generic pointer may be chosen from, or be compared with.
    Choices,
    /// Also those that an address is computed from. LLVM 22 ends with a null operand where such an address is chosen
    /// besides one of a known space; otherwise they are better seen, for what lies in global memory is read as such.
    Bases,
}

/// Freezes constants of generic pointers.
pub(crate) fn hide(ir: &str, which: Hidden) -> String {
    let mut out = String::with_capacity(ir.len() + ir.len() / 16);
    // Where the head of the function ends, and its constants.
    let mut head = 0;
    let mut at_head = false;
    let mut constants: Vec<&str> = Vec::new();
    for line in ir.lines() {
        if at_head {
            // The entry block may have a label.
            at_head = false;
            if line
                .split(';')
                .next()
                .is_some_and(|code| code.trim_end().ends_with(':'))
            {
                head += line.len() + 1;
            }
        }
        if line.starts_with("define ") {
            head = out.len() + line.len() + 1;
            at_head = true;
            constants.clear();
        } else if line == "}" && !constants.is_empty() {
            let numbered = constants.iter().enumerate();
            let frozen: String = numbered
                .map(|(number, constant)| format!("  {NAME}{number} = freeze ptr {constant}\n"))
                .collect();
            out.insert_str(head, &frozen);
        }
        let mut copied = 0;
        for operand in constant_operands(line, which) {
            let number = constants
                .iter()
                .position(|known| *known == operand.text)
                .unwrap_or_else(|| {
                    constants.push(operand.text);
                    constants.len() - 1
                });
            out.push_str(&line[copied..operand.start]);
            out.push_str(&format!("{NAME}{number}"));
            copied = operand.start + operand.text.len();
        }
        out.push_str(&line[copied..]);
        out.push('\n');
    }
    out
}

/// The inverse of [`hide`], for the optimizer, which knows much about constants.
pub(crate) fn reveal(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len());
    let mut constants: BTreeMap<&str, &str> = BTreeMap::new();
    for line in ir.lines() {
        if line.starts_with("define ") {
            constants.clear();
        }
        if let Some((name, constant)) = line.trim_start().split_once(" = freeze ptr ")
            && name.starts_with(NAME)
        {
            constants.insert(name, constant);
            continue;
        }
        let mut copied = 0;
        for (at, _) in line.match_indices(NAME) {
            let digits = line[at + NAME.len()..].find(|letter: char| !letter.is_ascii_digit());
            let end = digits.map_or(line.len(), |digits| at + NAME.len() + digits);
            if let Some(constant) = constants.get(&line[at..end]) {
                out.push_str(&line[copied..at]);
                out.push_str(constant);
                copied = end;
            }
        }
        out.push_str(&line[copied..]);
        out.push('\n');
    }
    out
}

/// An operand, and where it starts in its line.
#[derive(Debug, PartialEq, Eq)]
struct Operand<'a> {
    text: &'a str,
    start: usize,
}

/// The constants among the generic pointers that a `phi` or `select` joins, an `icmp` compares or a `getelementptr`
/// begins at, but for those whose space is known: addresses of shared and constant memory, cast to generic ones.
fn constant_operands(line: &str, which: Hidden) -> Vec<Operand<'_>> {
    let joins = line.split_once(" = ").is_some_and(|(_, operation)| {
        operation.starts_with("phi ptr [")
            || (operation.starts_with("select i1 ") && operation.contains(", ptr "))
            || (operation.starts_with("icmp ") && operation.contains(" ptr "))
            || (which == Hidden::Bases && operation.starts_with("getelementptr "))
    });
    // Almost every operand is a register.
    if !joins || !["null", "inttoptr", "@"].iter().any(|sign| line.contains(sign)) {
        return Vec::new();
    }
    let list: Vec<Token<'_>> = tokens(line).filter(|token| token.kind != Kind::Comment).collect();
    let operand = |first: usize| -> Option<Operand<'_>> {
        // To the comma or bracket that ends it.
        let mut end = first;
        while let Some(token) = list.get(end).filter(|token| !(token.is(',') || token.is(']'))) {
            end = match matches!(token.text, "(" | "[" | "{" | "<") {
                true => closing_bracket(&list, end)? + 1,
                false => end + 1,
            };
        }
        let start = list.get(first)?.start;
        let text = &line[start..list.get(end.checked_sub(1)?)?.end()];
        let is_constant = !text.starts_with('%')
            && !matches!(text, "undef" | "poison" | "")
            && !text.contains("addrspacecast (ptr addrspace(");
        is_constant.then_some(Operand { text, start })
    };
    let pointer =
        |index: usize| list[index].is_word("ptr") && !list.get(index + 1).is_some_and(|next| next.is_word("addrspace"));
    let mut found = Vec::new();
    match list[2].text {
        "phi" if pointer(3) => {
            let mut at = 4;
            while list.get(at).is_some_and(|token| token.is('[')) {
                found.extend(operand(at + 1));
                let Some(close) = closing_bracket(&list, at) else { break };
                // The comma, and the next bracket.
                at = close + 2;
            }
        }
        "select" => {
            let mut at = 3;
            while at < list.len() {
                if list[at - 1].is(',') && pointer(at) {
                    found.extend(operand(at + 1));
                }
                // An expression has pointers of its own.
                let opens = matches!(list[at].text, "(" | "[" | "{" | "<");
                at = opens.then(|| closing_bracket(&list, at)).flatten().unwrap_or(at) + 1;
            }
        }
        "icmp" => {
            let Some(pointers) = (3..6).find(|&index| index < list.len() && pointer(index)) else {
                return found;
            };
            // The comma between them is outside of every bracket.
            let mut comma = pointers + 1;
            while list.get(comma).is_some_and(|token| !token.is(',')) {
                let opens = matches!(list[comma].text, "(" | "[" | "{" | "<");
                comma = opens.then(|| closing_bracket(&list, comma)).flatten().unwrap_or(comma) + 1;
            }
            found.extend([pointers + 1, comma + 1].into_iter().filter_map(operand));
        }
        "getelementptr" => {
            // The comma after the type.
            let mut comma = 3;
            while list.get(comma).is_some_and(|token| !token.is(',')) {
                let opens = matches!(list[comma].text, "(" | "[" | "{" | "<");
                comma = opens.then(|| closing_bracket(&list, comma)).flatten().unwrap_or(comma) + 1;
            }
            if comma + 1 < list.len() && pointer(comma + 1) {
                found.extend(operand(comma + 2));
            }
        }
        _ => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOINED: &str = "define void @f(ptr %0) {\n\
        start:\n\
        \x20 %2 = load ptr, ptr %0, align 8\n\
        \x20 %3 = phi ptr [ null, %start ], [ %2, %null ], [ inttoptr (i64 4 to ptr), %4 ]\n\
        \x20 %5 = select i1 %c, ptr getelementptr inbounds (i8, ptr @T, i64 8), ptr %3, !prof !1\n\
        \x20 %6 = icmp eq ptr getelementptr inbounds (i8, ptr @T, i64 8), null\n\
        \x20 %7 = phi ptr [ @T, %start ], [ addrspacecast (ptr addrspace(3) @S to ptr), %8 ], [ undef, %9 ]\n\
        }\n";

    #[test]
    fn constants_among_pointers_are_frozen() {
        let hidden = hide(JOINED, Hidden::Choices);
        let expected = "define void @f(ptr %0) {\n\
            start:\n\
            \x20 %cuda_builder_constant_0 = freeze ptr null\n\
            \x20 %cuda_builder_constant_1 = freeze ptr inttoptr (i64 4 to ptr)\n\
            \x20 %cuda_builder_constant_2 = freeze ptr getelementptr inbounds (i8, ptr @T, i64 8)\n\
            \x20 %cuda_builder_constant_3 = freeze ptr @T\n\
            \x20 %2 = load ptr, ptr %0, align 8\n\
            \x20 %3 = phi ptr [ %cuda_builder_constant_0, %start ], [ %2, %null ], [ %cuda_builder_constant_1, %4 ]\n\
            \x20 %5 = select i1 %c, ptr %cuda_builder_constant_2, ptr %3, !prof !1\n\
            \x20 %6 = icmp eq ptr %cuda_builder_constant_2, %cuda_builder_constant_0\n\
            \x20 %7 = phi ptr [ %cuda_builder_constant_3, %start ], \
             [ addrspacecast (ptr addrspace(3) @S to ptr), %8 ], [ undef, %9 ]\n\
            }\n";
        assert_eq!(hidden, expected);
        assert_eq!(reveal(&hidden), JOINED);
    }

    #[test]
    fn addresses_begin_at_frozen_constants_where_that_is_asked_for() {
        let ir = "define void @f(i64 %0) {\n\
            \x20 %2 = getelementptr inbounds nuw [4 x { i8, i64 }], ptr @T, i64 %0\n\
            \x20 %3 = getelementptr i8, ptr %2, i64 %0\n\
            \x20 %4 = getelementptr i8, ptr addrspacecast (ptr addrspace(4) @C to ptr), i64 %0\n\
            \x20 %5 = getelementptr i8, ptr addrspace(3) @S, i64 %0\n\
            }\n";
        assert_eq!(hide(ir, Hidden::Choices), ir);
        let hidden = hide(ir, Hidden::Bases);
        let frozen = "  %cuda_builder_constant_0 = freeze ptr @T\n";
        let expected = ir
            .replace("{\n  %2", &format!("{{\n{frozen}  %2"))
            .replace("}], ptr @T,", "}], ptr %cuda_builder_constant_0,");
        assert_eq!(hidden, expected);
        assert_eq!(reveal(&hidden), ir);
    }

    #[test]
    fn an_entry_block_needs_no_label() {
        let ir = "define void @f(ptr %0) {\n  %2 = icmp samesign ne ptr null, %0\n  ret void\n}\n";
        let hidden = hide(ir, Hidden::Choices);
        assert!(hidden.starts_with("define void @f(ptr %0) {\n  %cuda_builder_constant_0 = freeze ptr null\n  %2 = "));
        assert_eq!(reveal(&hidden), ir);
    }

    #[test]
    fn other_lines_stay() {
        let ir = "define void @f() {\n\
            \x20 store ptr null, ptr %1\n\
            \x20 %2 = phi ptr addrspace(3) [ null, %0 ], [ %1, %3 ]\n\
            \x20 %4 = icmp eq ptr addrspace(5) %2, null\n\
            \x20 %5 = select i1 %c, i64 0, i64 %null\n\
            \x20 %6 = call ptr @null(ptr null)\n\
            \x20 %7 = icmp eq i64 %5, 0\n\
            }\n";
        assert_eq!(hide(ir, Hidden::Choices), ir);
        assert_eq!(reveal(ir), ir);
    }
}
