//! Parameters that the host passes by value and the kernel reads in place: from the bytes of a marker static to LLVM's
//! `byval`.

use super::attributes::words;
use super::function::parameters;
use super::global::Global;
use super::lexer::tokens;

/// The section of the markers.
pub(crate) const GRID_CONSTANT_SECTION: &str = ".nvptx.grid_constant";
/// What a marker's name starts with; the rest is the kernel's name.
const MARKER: &str = "__cuda_std_grid_constant_";

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GridConstant {
    /// Its number among those of the launch.
    index: u32,
    bytes: u32,
    alignment: u32,
}

/// Reads a marker: the kernel's name and the parameters; `None` when it is none.
pub(crate) fn read_grid_constants<'a>(global: &Global<'a>) -> Option<(&'a str, Vec<GridConstant>)> {
    let name = global.name().strip_prefix(MARKER)?;
    let words = words(global.initializer?)?;
    let (constants, rest) = words.as_chunks();
    if words.is_empty() || !rest.is_empty() {
        return None;
    }
    let constant = |&[index, bytes, alignment]: &[u32; 3]| GridConstant {
        index,
        bytes,
        alignment,
    };
    Some((name, constants.iter().map(constant).collect()))
}

/// The head of a kernel's definition with these parameters by value; `None` where there are no such pointers.
pub(crate) fn by_value(line: &str, constants: &[GridConstant]) -> Option<String> {
    let parameters = parameters(line)?;
    let mut out = line.to_owned();
    for constant in constants.iter().rev() {
        let range = parameters.get(constant.index as usize)?;
        let words: Vec<_> = tokens(&line[range.clone()]).collect();
        let pointer = words.first().filter(|word| word.is_word("ptr"))?;
        // What a reference promises of its alignment is the same.
        let align = match words.iter().any(|word| word.is_word("align")) {
            true => String::new(),
            false => format!(" align {}", constant.alignment),
        };
        let by_value = format!(" byval([{} x i8]){align} \"nvvm.grid_constant\"", constant.bytes);
        out.insert_str(range.start + pointer.end(), &by_value);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "define ptx_kernel void @k(ptr noalias noundef align 64 dereferenceable(128) %a, [2 x i64] %b, \
                        ptr %c) unnamed_addr #0 {";

    fn constant(index: u32) -> GridConstant {
        GridConstant {
            index,
            bytes: 128,
            alignment: 64,
        }
    }

    #[test]
    fn marked_pointers_become_values() {
        assert_eq!(
            by_value(HEAD, &[constant(0), constant(2)]).unwrap(),
            "define ptx_kernel void @k(ptr byval([128 x i8]) \"nvvm.grid_constant\" noalias noundef align 64 \
             dereferenceable(128) %a, [2 x i64] %b, ptr byval([128 x i8]) align 64 \"nvvm.grid_constant\" %c) \
             unnamed_addr #0 {"
        );
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        assert_eq!(by_value(HEAD, &[constant(1)]), None);
        assert_eq!(by_value(HEAD, &[constant(3)]), None);
    }

    #[test]
    fn a_marker_has_three_words_for_each() {
        let marker = |bytes: &str| {
            let line = format!(
                "@__cuda_std_grid_constant_k = constant [12 x i8] c\"{bytes}\", section \".nvptx.grid_constant\", \
                 align 4"
            );
            read_grid_constants(&Global::parse(&line).unwrap()).map(|(name, constants)| (name.to_owned(), constants))
        };
        let three = "\\02\\00\\00\\00\\80\\00\\00\\00@\\00\\00\\00";
        assert_eq!(marker(three), Some(("k".to_owned(), vec![constant(2)])));
        assert_eq!(marker("\\02\\00\\00\\00\\80\\00\\00\\00"), None);
        assert_eq!(marker(""), None);
    }
}
