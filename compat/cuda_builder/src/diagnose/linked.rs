//! What the linked module shows before anything is made of it.

use std::collections::BTreeMap;

use super::Diagnosis;
use crate::error::CudaBuilderError;
use crate::pass::function::Head;
use crate::pass::global::Global;
use crate::pass::lexer::{Kind, tokens};

/// Names that `ptxas` takes for something else.
const RESERVED: [&str; 3] = ["WARP_SZ", "_", "$"];

/// What the names of the intrinsics of other targets go on with after `llvm.`.
const OTHER_TARGETS: [&str; 14] = [
    "aarch64",
    "amdgcn",
    "arm",
    "bpf",
    "dx",
    "hexagon",
    "loongarch",
    "mips",
    "ppc",
    "riscv",
    "s390",
    "spv",
    "wasm",
    "x86",
];

/// Looks for names that PTX cannot hold, for intrinsics of other targets and for statics that no GPU has.
pub(crate) fn check(ir: &str) -> Result<(), CudaBuilderError> {
    for line in ir.lines() {
        if line.starts_with("define ") {
            let exported = Head::parse(line).filter(|head| head.kernel);
            if let Some(head) = exported {
                check_name(head.name)?;
            }
        } else if line.starts_with("declare ")
            && let Some(head) = Head::parse(line)
            && is_foreign(head.name)
        {
            return Err(no_intrinsic(ir, head.name).into());
        } else if line.starts_with('@')
            && line.contains("thread_local")
            && let Some(global) = Global::parse(line)
            && global.prefix.iter().any(|word| word.starts_with("thread_local"))
        {
            return Err(Diagnosis::new(
                [global.name()],
                "a static is `thread_local`, and a GPU has no thread-local statics",
                "use a local variable of the kernel, of which each thread has its own, or an array in global memory \
                 with one element a thread",
            )
            .into());
        }
    }
    Ok(())
}

fn is_foreign(name: &str) -> bool {
    let target = name.strip_prefix("llvm.").and_then(|rest| rest.split('.').next());
    target.is_some_and(|target| OTHER_TARGETS.contains(&target))
}

/// An intrinsic that the code generator does not have.
pub(super) fn no_intrinsic(ir: &str, name: &str) -> Diagnosis {
    let users = users(ir, name);
    Diagnosis::new(
        users.direct.into_iter().chain(users.kernels),
        format!("a `link_name` names the intrinsic `{name}`, which this LLVM does not have for NVPTX"),
        "use core::arch::nvptx, cuda_std, or asm! with the PTX instruction",
    )
}

fn check_name(name: &str) -> Result<(), CudaBuilderError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let reason = match name.bytes().find(|byte| !plain(*byte)) {
        Some(_) => {
            format!(
                "a kernel is exported as `{name}`, and a name in PTX consists of ASCII letters, digits, `_` and `$`"
            )
        }
        None if RESERVED.contains(&name) => format!("a kernel is called `{name}`, which is a word of PTX itself"),
        None if name.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("a kernel is exported as `{name}`, and a name in PTX does not start with a digit")
        }
        None => return Ok(()),
    };
    Err(Diagnosis::new(
        [name],
        reason,
        "give the kernel another name; the host finds it by this name",
    )
    .into())
}

/// The functions and statics whose text names a symbol, and the kernels that reach them.
pub(super) fn users<'a>(ir: &'a str, symbol: &str) -> Users<'a> {
    let mut uses: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut kernels = Vec::new();
    let mut owner = None;
    for line in ir.lines() {
        let mut names = tokens(line).filter(|token| token.kind == Kind::Global);
        if line.starts_with("define ") {
            owner = Head::parse(line).map(|head| head.name);
            kernels.extend(Head::parse(line).filter(|head| head.kernel).map(|head| head.name));
            continue;
        } else if line.starts_with('@') {
            owner = names.next().map(|token| bare(token.text));
        } else if line == "}" {
            owner = None;
        }
        if let Some(owner) = owner {
            for name in names {
                uses.entry(bare(name.text)).or_default().push(owner);
            }
        }
    }
    let mut direct = uses.get(symbol).cloned().unwrap_or_default();
    // What keeps a symbol for the linker does not use it.
    direct.retain(|user| !user.starts_with("llvm."));
    direct.sort_unstable();
    direct.dedup();
    let mut reached = direct.clone();
    let mut next = 0;
    while let Some(name) = reached.get(next).copied() {
        for user in uses.get(name).into_iter().flatten() {
            if !reached.contains(user) {
                reached.push(user);
            }
        }
        next += 1;
    }
    kernels.retain(|kernel| reached.contains(kernel) && !direct.contains(kernel));
    Users { direct, kernels }
}

/// Who needs a symbol.
pub(super) struct Users<'a> {
    /// Those that name it.
    pub direct: Vec<&'a str>,
    /// The kernels that reach one of them.
    pub kernels: Vec<&'a str>,
}

/// A global's name without sigil and quotes.
fn bare(text: &str) -> &str {
    text.trim_start_matches('@').trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    const IR: &str = "@T = internal constant ptr @f\n\
        define ptx_kernel void @k() #0 {\n  call void @g()\n  ret void\n}\n\
        define internal void @g() #0 {\n  %1 = load ptr, ptr @T\n  ret void\n}\n\
        define ptx_kernel void @other() #0 {\n  ret void\n}\n";

    #[test]
    fn users_are_followed_to_the_kernels() {
        let found = users(IR, "f");
        assert_eq!((found.direct, found.kernels), (vec!["T"], vec!["k"]));
        assert!(users(IR, "absent").direct.is_empty());
    }

    #[test]
    fn names_and_thread_locals_are_refused() {
        for (ir, part) in [
            ("define ptx_kernel void @\"a-b\"() #0 {\n}\n", "`a-b`"),
            ("define ptx_kernel void @WARP_SZ() #0 {\n}\n", "a word of PTX"),
            ("define ptx_kernel void @\"1st\"() #0 {\n}\n", "digit"),
            ("declare i64 @llvm.x86.rdtsc()\n", "`llvm.x86.rdtsc`"),
            ("@X = internal thread_local global i32 0, align 4\n", "thread-local"),
        ] {
            let message = check(ir).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
        check(IR).unwrap();
    }
}
