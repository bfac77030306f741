//! Lookup tables of pointers that have less than 64 bits.
//!
//! The optimizer makes a table of a `switch` between constants. Where these are pointers into one memory, such as
//! constant memory, so are the elements, and `llc` writes each over the 64 bits of a generic pointer: every second one
//! and the end of the table are lost (LLVM 22 and 23). So functions that would have such a table are optimized without
//! tables.

use super::function::Head;

/// What the optimizer names a table, in front of the function's name; a number may follow.
const NAME: &str = "switch.table.";

/// The names of the tables of narrow pointers, without what they all begin with.
pub(crate) fn of_narrow_pointers(ir: &str) -> Vec<&str> {
    ir.lines().filter_map(narrow_table).collect()
}

const FORBIDDEN: &str = " \"no-jump-tables\"=\"true\"";

/// Forbids tables to the functions whose tables these are; `None` where there is none that may have them.
pub(crate) fn forbid(ir: &str, tables: &[&str]) -> Option<String> {
    let mut out = String::with_capacity(ir.len() + 64);
    let mut forbidden = false;
    for line in ir.lines() {
        let head = line.starts_with("define ").then(|| Head::parse(line)).flatten();
        let may = !line.contains(FORBIDDEN);
        let at = head.filter(|head| may && tables.iter().any(|table| is_of(table, head.name)));
        match at.map(|head| head.insert_at) {
            Some(at) => {
                out.push_str(&line[..at]);
                out.push_str(FORBIDDEN);
                out.push_str(&line[at..]);
                forbidden = true;
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    forbidden.then_some(out)
}

/// The name in a line `@switch.table.NAME = private unnamed_addr constant [4 x ptr addrspace(4)] [..]`.
fn narrow_table(line: &str) -> Option<&str> {
    let (name, definition) = line.strip_prefix('@')?.split_once(" = ")?;
    let (_, ty) = definition.split_once(" constant [")?;
    let (_, element) = ty.split_once(" x ")?;
    // Global memory has 64 bits too.
    let is_narrow = element.starts_with("ptr addrspace(") && !element.starts_with("ptr addrspace(1)");
    let bare = name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(name);
    bare.strip_prefix(NAME).filter(|_| is_narrow)
}

/// Whether a table is of this function: its name, or its name and a number. NVPTX has no dot before the number, so that
/// it may be of another function too, which then has no tables either.
fn is_of(table: &str, function: &str) -> bool {
    let number = table
        .strip_prefix(function)
        .map(|rest| rest.strip_prefix('.').unwrap_or(rest));
    number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "@T = internal addrspace(4) constant [8 x i8] zeroinitializer, align 1\n\
        @switch.table.pick = private unnamed_addr constant [2 x ptr addrspace(4)] \
         [ptr addrspace(4) @T, ptr addrspace(4) @T], align 4\n\
        @switch.table.pick1 = private unnamed_addr constant [2 x ptr addrspace(4)] \
         [ptr addrspace(4) @T, ptr addrspace(4) @T], align 4\n\
        @\"switch.table.a b.7\" = private unnamed_addr constant [2 x ptr addrspace(3)] \
         [ptr addrspace(3) @S, ptr addrspace(3) @S], align 4\n\
        @switch.table.wide = private unnamed_addr constant [2 x ptr] [ptr @a, ptr @b], align 8\n\
        @switch.table.global = private unnamed_addr constant [1 x ptr addrspace(1)] [ptr addrspace(1) @a], align 8\n\
        @switch.table.number = private unnamed_addr constant [4 x i32] [i32 1, i32 2, i32 3, i32 5], align 4\n";

    #[test]
    fn tables_of_narrow_pointers_are_found() {
        assert_eq!(of_narrow_pointers(MODULE), ["pick", "pick1", "a b.7"]);
    }

    #[test]
    fn their_functions_may_have_no_tables() {
        let ir = "define void @pick(i32 %0) unnamed_addr #1 {\n}\n\
            define void @\"a b\"() {\n}\n\
            define void @pick.1() #1 {\n}\n\
            define void @picked() #1 {\n}\n";
        let expected = "define void @pick(i32 %0) unnamed_addr \"no-jump-tables\"=\"true\" #1 {\n}\n\
            define void @\"a b\"() \"no-jump-tables\"=\"true\" {\n}\n\
            define void @pick.1() #1 {\n}\n\
            define void @picked() #1 {\n}\n";
        assert_eq!(forbid(ir, &of_narrow_pointers(MODULE)).as_deref(), Some(expected));
        assert_eq!(forbid(expected, &of_narrow_pointers(MODULE)), None);
        assert_eq!(forbid(ir, &["other"]), None);
    }
}
