//! What must be true of the finished PTX.

use std::collections::{BTreeMap, BTreeSet};

use crate::arch::NvvmArch;
use crate::backend::demangle;
use crate::error::CudaBuilderError;

/// The most static shared memory a block can have (bytes), on every architecture: more must be asked for at the launch,
/// and that is possible for dynamic shared memory only.
/// <https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#shared-memory-9-x>
pub(crate) const STATIC_SHARED_LIMIT: u64 = 48 * 1024;

/// LLVM takes an architecture that it does not know for the oldest one and only warns.
pub(crate) fn check_target(ptx: &str, arch: NvvmArch) -> Result<(), CudaBuilderError> {
    let target = ptx
        .lines()
        .find_map(|line| line.strip_prefix(".target "))
        .unwrap_or("none")
        .trim();
    if target.split(',').next() == Some(arch.sm_name().as_str()) {
        return Ok(());
    }
    let detail = format!("it wrote `.target {target}` instead");
    Err(CudaBuilderError::ArchUnsupportedByLlvm {
        arch: arch.sm_name(),
        detail,
    })
}

/// PTX names are made of letters, digits, `_` and `$`.
pub(crate) fn check_names(ptx: &str) -> Result<(), CudaBuilderError> {
    for item in items(ptx) {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
        if !item.name.bytes().all(plain) {
            return Err(CudaBuilderError::NameNotAllowed(item.name.to_owned()));
        }
    }
    Ok(())
}

/// Adds up what each kernel and the functions that it reaches declare.
pub(crate) fn check_static_shared(ptx: &str) -> Result<(), CudaBuilderError> {
    let items = items(ptx);
    for kernel in items.iter().filter(|item| item.kind == ItemKind::Kernel) {
        let reached = reached(&items, kernel);
        let mut statics: Vec<(&str, u64)> = reached.iter().flat_map(|item| item.shared.iter().copied()).collect();
        let bytes = statics.iter().map(|(_, size)| size).sum();
        if bytes > STATIC_SHARED_LIMIT {
            statics.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
            return Err(CudaBuilderError::StaticSharedTooLarge {
                kernel: kernel.name.to_owned(),
                bytes,
                limit: STATIC_SHARED_LIMIT,
                statics: statics.into_iter().map(|(name, size)| (demangle(name), size)).collect(),
            });
        }
    }
    Ok(())
}

/// What an item of the module names in its text, and what that names in turn, the item itself included.
pub(crate) fn reached<'i, 'a>(items: &'i [Item<'a>], from: &'i Item<'a>) -> Vec<&'i Item<'a>> {
    let by_name: BTreeMap<&str, &Item<'a>> = items.iter().map(|item| (item.name, item)).collect();
    let mut seen = BTreeSet::from([from.name]);
    let mut found = vec![from];
    let mut next = 0;
    while let Some(item) = found.get(next).copied() {
        for word in names(item.text) {
            if let Some(&used) = by_name.get(word).filter(|_| seen.insert(word)) {
                found.push(used);
            }
        }
        next += 1;
    }
    found
}

/// What an [`Item`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Kernel,
    Function,
    Variable,
}

/// A kernel, a function or a variable of the module.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub kind: ItemKind,
    pub name: &'a str,
    /// The whole item: its head, parameters and body, or the initial value.
    pub text: &'a str,
    /// The shared variables that it is or holds, with their sizes (bytes).
    pub shared: Vec<(&'a str, u64)>,
}

impl Item<'_> {
    /// Whether it stands for the dynamic shared memory of a launch.
    pub fn is_dynamic_shared(&self) -> bool {
        self.kind == ItemKind::Variable && self.text.trim_start().starts_with(".extern .shared ")
    }
}

/// Splits PTX as LLVM prints it: declarations start at the left margin, bodies end with a `}` there.
pub(crate) fn items(ptx: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let mut offset = 0;
    let mut body: Option<(usize, ItemKind, &str)> = None;
    for line in ptx.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        match body {
            Some((first, kind, name)) => {
                // A declaration without a body ends with a semicolon at the margin or after the parameters.
                if line.starts_with('}') || line.starts_with(';') {
                    let text = &ptx[first..offset];
                    items.push(Item {
                        kind,
                        name,
                        text,
                        shared: text.lines().filter_map(shared_variable).collect(),
                    });
                    body = None;
                }
            }
            None => {
                let code = line.split("//").next().unwrap_or_default();
                let kind = if code.contains(".entry ") {
                    ItemKind::Kernel
                } else if code.contains(".func ") || code.trim_end().ends_with(".func") {
                    ItemKind::Function
                } else if variable_name(code).is_some() {
                    ItemKind::Variable
                } else {
                    continue;
                };
                match kind {
                    ItemKind::Variable => {
                        let name = variable_name(code).unwrap_or_default();
                        items.push(Item {
                            kind,
                            name,
                            text: line,
                            shared: shared_variable(code).into_iter().collect(),
                        });
                    }
                    _ if code.trim_end().ends_with(';') => {}
                    _ => body = Some((start, kind, function_name(code))),
                }
            }
        }
    }
    items
}

/// The name in `.visible .entry k(` or in `.func (.param .b32 func_retval0) f(`.
fn function_name(line: &str) -> &str {
    let after = line
        .split_once(".entry ")
        .or_else(|| line.split_once(".func "))
        .map_or("", |(_, after)| after)
        .trim();
    let after = if after.starts_with('(') {
        after.split_once(')').map_or("", |(_, after)| after)
    } else {
        after
    };
    after.trim().split('(').next().unwrap_or_default().trim()
}

/// The name of a module-scope variable: `.shared .align 4 .b8 X[1024];`.
fn variable_name(line: &str) -> Option<&str> {
    const SPACES: [&str; 3] = [".shared", ".global", ".const"];
    let mut words = line.split_whitespace().peekable();
    while words
        .next_if(|word| matches!(*word, ".visible" | ".extern" | ".weak" | ".common"))
        .is_some()
    {}
    words.next().filter(|word| SPACES.contains(word))?;
    let name = loop {
        match words.next()? {
            ".align" => {
                words.next()?;
            }
            word if word.starts_with('.') => {}
            word => break word,
        }
    };
    Some(name.split(['[', ';', '=']).next().unwrap_or_default())
}

/// A shared variable that takes space, with its size (bytes).
fn shared_variable(line: &str) -> Option<(&str, u64)> {
    if !line.contains(".shared ") || line.contains(".extern") {
        return None;
    }
    let line = line.trim_start();
    let name = variable_name(line)?;
    let element = line.split_whitespace().rev().find_map(|word| {
        let bits = word.strip_prefix('.')?.strip_prefix(['b', 'u', 's', 'f'])?;
        Some(bits.parse::<u64>().ok()? / 8)
    })?;
    let count = match line.split_once('[') {
        Some((_, rest)) => rest.split(']').next()?.parse().ok()?,
        None => 1,
    };
    Some((name, element * count))
}

/// The words that could be names.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| {
        line.split(|character: char| !(character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '.')))
            .filter(|word| !word.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.8
.target sm_80
.address_size 64

.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.extern .shared .align 128 .b8 cuda_std_dynamic_smem[];
.shared .align 4 .b8 BIG[40000];
.shared .align 4 .b8 SMALL[10000];
.shared .align 4 .u32 WORD;
.func inner()
{
	st.shared.b32 	[SMALL], 0;
	ret;
}
	// .globl	both
.visible .entry both(
	.param .u64 both_param_0
)
{
	st.shared.b32 	[BIG+4], 0;
	call.uni inner, ();
	ret;
}
.visible .entry one()
{
	st.shared.b32 	[BIG], 0;
	st.shared.b32 	[WORD], 0;
	ret;
}
";

    #[test]
    fn items_are_found() {
        let found: Vec<_> = items(PTX).iter().map(|item| (item.kind, item.name)).collect();
        use ItemKind::{Function, Kernel, Variable};
        assert_eq!(
            found[1..],
            [
                (Variable, "cuda_std_dynamic_smem"),
                (Variable, "BIG"),
                (Variable, "SMALL"),
                (Variable, "WORD"),
                (Function, "inner"),
                (Kernel, "both"),
                (Kernel, "one")
            ]
        );
        assert_eq!(shared_variable(".shared .align 4 .u32 WORD;"), Some(("WORD", 4)));
        assert_eq!(shared_variable(".extern .shared .align 128 .b8 D[];"), None);
    }

    #[test]
    fn sizes_add_up_through_calls() {
        match check_static_shared(PTX) {
            Err(CudaBuilderError::StaticSharedTooLarge {
                kernel,
                bytes,
                limit,
                statics,
            }) => {
                assert_eq!((kernel.as_str(), bytes, limit), ("both", 50000, 49152));
                assert_eq!(statics, [("BIG".to_owned(), 40000), ("SMALL".to_owned(), 10000)]);
            }
            other => panic!("{other:?}"),
        }
        let fits = PTX.replace("40000", "39152");
        assert!(check_static_shared(&fits).is_ok());
    }

    #[test]
    fn names_hold_no_dot() {
        assert!(check_names(PTX).is_ok());
        let error = check_names(&PTX.replace("entry one", "entry one.two")).unwrap_err();
        assert!(error.to_string().contains("`one.two`"), "{error}");
    }

    #[test]
    fn unknown_architecture_is_noticed() {
        assert!(check_target(PTX, NvvmArch::Compute80).is_ok());
        assert!(check_target(PTX, NvvmArch::Compute121).is_err());
        assert!(check_target(".target sm_90a, debug\n", NvvmArch::Compute90a).is_ok());
    }
}
