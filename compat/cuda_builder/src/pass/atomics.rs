//! Atomic operations that `llc` would write wrongly, in the optimized module.
//!
//! - In local memory: PTX has none there. No other thread sees local memory, so ordinary accesses are atomic. Where an
//!   address may be in any space, the thread looks (`isspacep.local`) and takes one of two ways; hardware would end the
//!   launch.
//! - Read-modify-write operations under LLVM 22, which drops their ordering and scope: `atom.add` without either is
//!   `.relaxed.gpu`. They become the instruction that the ordering stands for.

use std::collections::BTreeMap;

use super::lexer::tokens;
use super::rewrite;

/// Which read-modify-write operations become assembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadModifyWrite {
    /// None: the back end writes their ordering.
    Kept,
    /// All that PTX has an instruction for; the others are loops around compare-exchange, whose ordering is right.
    Written,
}

/// Gives each operation on a generic address a function that looks where the address is; `None` where there is no such
/// operation. The functions are to be inlined.
pub(crate) fn look_where(ir: &str) -> Option<String> {
    let mut functions = BTreeMap::new();
    let ir = rewrite(ir, |line| call_of_function(line, &mut functions));
    if functions.is_empty() {
        return None;
    }
    let bodies: String = functions.into_values().collect();
    Some(format!("{ir}declare i1 @llvm.nvvm.isspacep.local(ptr)\n{bodies}"))
}

/// Rewrites a module.
pub(crate) fn lower(ir: &str, operations: ReadModifyWrite) -> String {
    rewrite(ir, |line| {
        if line.contains(" = cmpxchg ") {
            compare_exchange_in_local(line)
        } else if operations == ReadModifyWrite::Written && line.contains(" = atomicrmw ") {
            read_modify_write(line)
        } else {
            None
        }
    })
}

/// The words and operands of `%7 = cmpxchg weak ptr addrspace(5) %1, i32 %2, i32 %3 acquire monotonic, align 4`.
struct Operation<'a> {
    result: &'a str,
    /// Between the operation's name and the pointer's type: `weak`, `volatile`, `add`.
    words: Vec<&'a str>,
    space: u32,
    /// The pointer, the operands with their type, and what follows the last of them.
    pointer: &'a str,
    operands: Vec<&'a str>,
    value_type: &'a str,
    orderings: Vec<&'a str>,
    /// What follows the operands, without metadata: `syncscope("agent") acquire monotonic, align 4`.
    rest: &'a str,
}

impl<'a> Operation<'a> {
    fn parse(line: &'a str, name: &str, operand_count: usize) -> Option<Self> {
        let list: Vec<_> = tokens(line).collect();
        let start = list.iter().position(|token| token.is_word(name))?;
        let pointer_type = start + list[start..].iter().position(|token| token.is_word("ptr"))?;
        let mut at = pointer_type + 1;
        let mut space = 0;
        if list.get(at)?.is_word("addrspace") {
            space = list.get(at + 2)?.text.parse().ok()?;
            at += 4;
        }
        // A pointer or a value may be an expression: it ends at the comma, or the word, outside of brackets.
        let value = |at: &mut usize| -> Option<&'a str> {
            let first = *at;
            loop {
                let token = list.get(*at)?;
                let opens = matches!(token.text, "(" | "[" | "{" | "<");
                *at = match opens {
                    true => super::lexer::closing_bracket(&list, *at)? + 1,
                    false => *at + 1,
                };
                let next = list.get(*at)?;
                if !matches!(next.text, "(" | "[" | "{" | "<") && !starts_expression(list[*at - 1].text) {
                    return Some(&line[list[first].start..list[*at - 1].end()]);
                }
            }
        };
        let pointer = value(&mut at)?;
        let mut operands = Vec::new();
        let mut value_type = "";
        for _ in 0..operand_count {
            value_type = list.get(at + 1)?.text;
            at += 2;
            operands.push(value(&mut at)?);
        }
        let rest = line[list.get(at)?.start..].split(", !").next()?;
        let orderings = list[at..]
            .iter()
            .take_while(|token| !token.is(','))
            .map(|token| token.text)
            .filter(|word| ORDERINGS.iter().any(|(ordering, _)| ordering == word))
            .collect();
        Some(Self {
            result: list.first()?.text,
            words: list[start + 1..pointer_type].iter().map(|token| token.text).collect(),
            space,
            pointer,
            operands,
            value_type,
            orderings,
            rest,
        })
    }

    /// A name for an intermediate value: the numbers of unnamed values may have no gaps.
    fn name(&self, part: &str) -> String {
        let base = self.result.trim_start_matches('%').trim_matches('"');
        format!("%\"{base}.{part}\"")
    }
}

/// Whether a constant expression follows this word.
fn starts_expression(word: &str) -> bool {
    matches!(
        word,
        "addrspacecast" | "getelementptr" | "inbounds" | "nuw" | "nusw" | "inttoptr" | "ptrtoint"
    )
}

/// LLVM's orderings of an operation, and PTX's.
const ORDERINGS: [(&str, &str); 5] = [
    ("monotonic", "relaxed"),
    ("acquire", "acquire"),
    ("release", "release"),
    ("acq_rel", "acq_rel"),
    // After a fence.
    ("seq_cst", "acq_rel"),
];

/// LLVM's operations, PTX's, and the kind of its type: `b`, `u` or `s`.
const OPERATIONS: [(&str, &str, &str); 10] = [
    ("xchg", "exch", "b"),
    ("add", "add", "u"),
    ("sub", "add", "u"),
    ("and", "and", "b"),
    ("or", "or", "b"),
    ("xor", "xor", "b"),
    ("max", "max", "s"),
    ("min", "min", "s"),
    ("umax", "max", "u"),
    ("umin", "min", "u"),
];

/// The state spaces that atomic operations name, by LLVM's number.
const SPACES: [(u32, &str); 3] = [(0, ""), (1, ".global"), (3, ".shared")];

/// A call of the function for this operation; the function goes into `functions`, by its name.
fn call_of_function(line: &str, functions: &mut BTreeMap<String, String>) -> Option<String> {
    let (instruction, count) = [("cmpxchg", 2), ("atomicrmw", 1)]
        .into_iter()
        .find(|(name, _)| line.contains(&format!(" = {name} ")))?;
    let operation = Operation::parse(line, instruction, count).filter(|operation| operation.space == 0)?;
    let value_type = operation.value_type;
    let result_type = match instruction {
        "cmpxchg" => format!("{{ {value_type}, i1 }}"),
        _ => value_type.to_owned(),
    };
    let words: String = operation.words.iter().map(|word| format!(" {word}")).collect();
    let parameters: String = (0..count).map(|number| format!(", {value_type} %v{number}")).collect();
    let on = |pointer: &str| format!("{instruction}{words} {pointer}{parameters} {}", operation.rest);
    let letters = |text: &str| text.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    let name = format!("cuda_builder_{}", letters(&on(value_type)));
    functions.entry(name.clone()).or_insert_with(|| {
        format!(
            "define internal {result_type} @{name}(ptr %p{parameters}) alwaysinline {{\n\
             \x20 %is_local = call i1 @llvm.nvvm.isspacep.local(ptr %p)\n\
             \x20 br i1 %is_local, label %local, label %other\n\
             local:\n\
             \x20 %l = addrspacecast ptr %p to ptr addrspace(5)\n\
             \x20 %there = {}\n\
             \x20 ret {result_type} %there\n\
             other:\n\
             \x20 %elsewhere = {}\n\
             \x20 ret {result_type} %elsewhere\n}}\n",
            on("ptr addrspace(5) %l"),
            on("ptr %p"),
        )
    });
    let operands: String = operation
        .operands
        .iter()
        .map(|operand| format!(", {value_type} {operand}"))
        .collect();
    Some(format!(
        "  {} = call {result_type} @{name}(ptr {}{operands})",
        operation.result, operation.pointer
    ))
}

fn compare_exchange_in_local(line: &str) -> Option<String> {
    let operation = Operation::parse(line, "cmpxchg", 2).filter(|operation| operation.space == 5)?;
    let (result, value_type, pointer) = (operation.result, operation.value_type, operation.pointer);
    let [expected, new] = operation.operands[..] else {
        return None;
    };
    let [old, same, stored, half] = ["old", "same", "stored", "half"].map(|part| operation.name(part));
    Some(format!(
        "  {old} = load {value_type}, ptr addrspace(5) {pointer}\n\
         \x20 {same} = icmp eq {value_type} {old}, {expected}\n\
         \x20 {stored} = select i1 {same}, {value_type} {new}, {value_type} {old}\n\
         \x20 store {value_type} {stored}, ptr addrspace(5) {pointer}\n\
         \x20 {half} = insertvalue {{ {value_type}, i1 }} poison, {value_type} {old}, 0\n\
         \x20 {result} = insertvalue {{ {value_type}, i1 }} {half}, i1 {same}, 1"
    ))
}

fn read_modify_write(line: &str) -> Option<String> {
    let operation = Operation::parse(line, "atomicrmw", 1)?;
    let (_, space) = SPACES.iter().find(|(number, _)| *number == operation.space)?;
    let llvm_name = *operation.words.last()?;
    let (_, name, kind) = OPERATIONS.iter().find(|(llvm, ..)| *llvm == llvm_name)?;
    let (bits, register) = match operation.value_type {
        "i32" => (32, "r"),
        "i64" => (64, "l"),
        _ => return None,
    };
    let ordering = *operation.orderings.first()?;
    let (_, semantics) = ORDERINGS.iter().find(|(llvm, _)| *llvm == ordering)?;
    let (result, value_type, pointer) = (operation.result, operation.value_type, operation.pointer);
    let (pointer_type, address) = match operation.space {
        0 => ("ptr".to_owned(), "l"),
        // Pointers into shared memory have 32 bits.
        3 => ("ptr addrspace(3)".to_owned(), "r"),
        number => (format!("ptr addrspace({number})"), "l"),
    };
    let mut out = String::new();
    if ordering == "seq_cst" {
        out.push_str("  fence seq_cst\n");
    }
    let mut value = operation.operands[0].to_owned();
    if llvm_name == "sub" {
        let negated = operation.name("negated");
        out.push_str(&format!("  {negated} = sub {value_type} 0, {value}\n"));
        value = negated;
    }
    out.push_str(&format!(
        "  {result} = call {value_type} asm sideeffect \"atom.{semantics}.sys{space}.{name}.{kind}{bits} $0, [$1], \
         $2;\", \"={register},{address},{register},~{{memory}}\"({pointer_type} {pointer}, {value_type} {value})"
    ));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compare_exchange_in_local_memory_is_ordinary() {
        let line = "  %7 = cmpxchg weak ptr addrspace(5) %1, i32 %2, i32 9 acquire monotonic, align 4";
        assert_eq!(
            lower(line, ReadModifyWrite::Kept),
            "  %\"7.old\" = load i32, ptr addrspace(5) %1\n\
             \x20 %\"7.same\" = icmp eq i32 %\"7.old\", %2\n\
             \x20 %\"7.stored\" = select i1 %\"7.same\", i32 9, i32 %\"7.old\"\n\
             \x20 store i32 %\"7.stored\", ptr addrspace(5) %1\n\
             \x20 %\"7.half\" = insertvalue { i32, i1 } poison, i32 %\"7.old\", 0\n\
             \x20 %7 = insertvalue { i32, i1 } %\"7.half\", i1 %\"7.same\", 1\n"
        );
    }

    #[test]
    fn read_modify_write_says_its_ordering_and_scope() {
        for (line, text) in [
            (
                "  %7 = atomicrmw add ptr addrspace(1) %1, i32 1 acq_rel, align 4, !dbg !3",
                "  %7 = call i32 asm sideeffect \"atom.acq_rel.sys.global.add.u32 $0, [$1], $2;\", \
                 \"=r,l,r,~{memory}\"(ptr addrspace(1) %1, i32 1)\n",
            ),
            (
                "  %x = atomicrmw volatile umax ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @X, i32 \
                 8), i64 %v monotonic, align 8",
                "  %x = call i64 asm sideeffect \"atom.relaxed.sys.shared.max.u64 $0, [$1], $2;\", \
                 \"=l,r,l,~{memory}\"(ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @X, i32 8), i64 \
                 %v)\n",
            ),
            (
                "  %9 = atomicrmw sub ptr %1, i64 %2 seq_cst, align 8",
                "  fence seq_cst\n  %\"9.negated\" = sub i64 0, %2\n  %9 = call i64 asm sideeffect \
                 \"atom.acq_rel.sys.add.u64 $0, [$1], $2;\", \"=l,l,l,~{memory}\"(ptr %1, i64 %\"9.negated\")\n",
            ),
        ] {
            assert_eq!(lower(line, ReadModifyWrite::Written), text);
            assert_eq!(lower(line, ReadModifyWrite::Kept), format!("{line}\n"));
        }
    }

    #[test]
    fn a_generic_address_is_looked_at() {
        let ir = "  %7 = atomicrmw add ptr %1, i32 %2 syncscope(\"agent\") acq_rel, align 4, !dbg !3\n\
                  \x20 %8 = atomicrmw add ptr %3, i32 1 syncscope(\"agent\") acq_rel, align 4\n\
                  \x20 %9 = cmpxchg ptr %1, i64 %4, i64 0 acquire monotonic, align 8\n\
                  \x20 %10 = atomicrmw add ptr addrspace(1) %5, i32 1 acq_rel, align 4\n";
        let looked = look_where(ir).unwrap();
        assert_eq!(looked.matches("define internal i32 @").count(), 1, "{looked}");
        for line in [
            "%8 = call i32 @cuda_builder_atomicrmw_add_i32__i32__v0_syncscope__agent___acq_rel__align_4(ptr %3, i32 1)",
            "%9 = call { i64, i1 } @cuda_builder_cmpxchg_i64__i64__v0__i64__v1_acquire_monotonic__align_8(ptr %1, i64 \
             %4, i64 0)",
            "%there = atomicrmw add ptr addrspace(5) %l, i32 %v0 syncscope(\"agent\") acq_rel, align 4\n",
            "%elsewhere = cmpxchg ptr %p, i64 %v0, i64 %v1 acquire monotonic, align 8\n",
            "%10 = atomicrmw add ptr addrspace(1) %5, i32 1 acq_rel, align 4\n",
        ] {
            assert!(looked.contains(line), "{line}\n{looked}");
        }
        assert_eq!(
            look_where("  %1 = atomicrmw add ptr addrspace(1) %5, i32 1 acq_rel, align 4"),
            None
        );
    }

    #[test]
    fn others_stay() {
        for line in [
            "  %7 = cmpxchg ptr %1, i32 %2, i32 9 acquire monotonic, align 4",
            "  %7 = atomicrmw add ptr addrspace(5) %1, i32 1 acq_rel, align 4",
            "  %7 = atomicrmw nand ptr %1, i32 1 acq_rel, align 4",
            "  %7 = atomicrmw add ptr %1, i8 1 acq_rel, align 1",
        ] {
            assert_eq!(lower(line, ReadModifyWrite::Written), format!("{line}\n"));
        }
    }
}
