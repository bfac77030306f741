//! What LLVM's tools say when they give up, in one sentence.

use std::fs;
use std::path::Path;

use super::linked::users;
use super::place::Sources;
use super::{Diagnosis, RustItem};
use crate::backend::LOWERED_IR;
use crate::files::KEEP_VARIABLE;
use crate::toolchain::Toolchain;

/// What a message means, where it is known.
struct Known {
    /// A part of the message or of the function's IR.
    part: &'static str,
    reason: &'static str,
    remedy: &'static str,
}

/// Parts of messages.
const MESSAGES: &[Known] = &[
    Known {
        part: "unsupported library call",
        reason: "it needs a function of a C library, and a GPU has none",
        remedy: "call the function of the `libm` crate or of cuda_std's GpuFloat instead",
    },
    Known {
        part: "Symbol name with unsupported characters",
        reason: "a name in PTX consists of ASCII letters, digits, `_` and `$`",
        remedy: "change the `export_name` of the item",
    },
    Known {
        part: "Cannot select",
        reason: "the architecture has no instruction for it",
        remedy: "use another type or operation (f16, f128, u128 and their atomics are the usual ones), or a newer \
                 architecture",
    },
    Known {
        part: "nsupported atomic",
        reason: "the architecture has no such atomic operation",
        remedy: "use an atomic of 32 or 64 bits, or a newer architecture",
    },
];

/// Parts of a function's IR that explain a failure, whatever the message.
const OPERATIONS: &[Known] = &[
    Known {
        part: "fp128",
        reason: "it computes with `f128`, for which a GPU has neither instructions nor a library",
        remedy: "use f64, or a pair of f64 where that is not precise enough",
    },
    Known {
        part: "syncscope(\"singlethread\")",
        reason: "it holds a `compiler_fence`, which this LLVM cannot compile for a GPU",
        remedy: "leave the compiler_fence out, use `core::sync::atomic::fence`, or use a newer toolchain",
    },
    Known {
        part: "i256",
        reason: "it computes with integers wider than 128 bits",
        remedy: "split the number into u64 limbs",
    },
];

/// The diagnosis of a tool's failure. `output` is all that the tool said.
pub(super) fn translate(tool: &str, output: &str, tools: &Toolchain, scratch: &Path, sources: &Sources) -> Diagnosis {
    if let Some(name) = between(output, "Linking globals named '", "'").filter(|_| output.contains("multiply defined"))
    {
        return defined_twice(name, sources);
    }
    if let Some(diagnosis) = old_ptx(output) {
        return diagnosis;
    }
    let function = failing_function(output);
    let ir = [LOWERED_IR, "linked.ll"]
        .iter()
        .find_map(|file| fs::read_to_string(scratch.join(file)).ok());
    let body = ir.as_deref().zip(function).and_then(|(ir, name)| definition(ir, name));
    let message = first_message(output);
    let known = OPERATIONS
        .iter()
        .find(|known| body.is_some_and(|body| body.contains(known.part)))
        .or_else(|| MESSAGES.iter().find(|known| output.contains(known.part)));
    let subject = match function {
        Some(_) => "this function",
        None => "the crate",
    };
    let rustc: Vec<&str> = tools.version.split_whitespace().take(2).collect();
    let mut reason = format!(
        "{tool} (LLVM {}, {}) cannot compile {subject}: {message}",
        tools.llvm_major,
        rustc.join(" ")
    );
    if let Some(known) = known {
        reason.push_str(&format!("; {}", known.reason));
    }
    let kept = match std::env::var_os(KEEP_VARIABLE) {
        Some(folder) => format!("its IR is kept in {}", Path::new(&folder).display()),
        None => format!("set {KEEP_VARIABLE} to a folder to keep its IR"),
    };
    let remedy = match known {
        Some(known) => format!("{}; {kept}", known.remedy),
        None => format!(
            "this is a limit or a fault of the compiler: write the function in another way, try another toolchain, and \
             report it; {kept}"
        ),
    };
    let mut diagnosis = Diagnosis::new(function, reason, remedy);
    if let Some((ir, function)) = ir.as_deref().zip(function) {
        let kernels = users(ir, function).kernels;
        diagnosis.items.extend(kernels.into_iter().map(RustItem::new));
    }
    diagnosis
}

fn defined_twice(name: &str, sources: &Sources) -> Diagnosis {
    let mut diagnosis = Diagnosis::new(
        [name],
        format!("two crates define `{name}`, and the host finds kernels and exported statics by their names"),
        "rename one, or disable one by a feature in this build",
    );
    let at = |place| RustItem {
        path: name.to_owned(),
        place: Some(place),
    };
    let places = sources.all(name);
    if !places.is_empty() {
        diagnosis.items = places.into_iter().map(at).collect();
    }
    diagnosis
}

/// A PTX version that lacks the architecture.
fn old_ptx(output: &str) -> Option<Diagnosis> {
    let version = between(output, "PTX version ", " does not support target")?;
    let arch = between(output, "does not support target '", "'")?;
    let (_, rest) = output.split_once("Minimum required PTX version is ")?;
    let end = rest
        .find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
        .unwrap_or(rest.len());
    let oldest = rest[..end].trim_end_matches('.');
    Some(Diagnosis::new(
        [],
        format!("CudaBuilder::ptx_version asks for PTX {version}, and {arch} needs {oldest}"),
        format!(
            "leave ptx_version out, or call ptx_version({}) or later",
            oldest.replace('.', ", ")
        ),
    ))
}

/// The first line that says what is wrong, without what the tool says to its developers.
fn first_message(output: &str) -> String {
    const NOISE: [&str; 5] = ["PLEASE submit", "Stack dump", "#", "warning:", "in function "];
    let mut lines = output.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.find(|line| !NOISE.iter().any(|noise| line.starts_with(noise)));
    let line = line
        .filter(|line| !line.starts_with("0.\tProgram arguments"))
        .unwrap_or("it crashed without a message");
    let line = line.trim_start_matches("LLVM ERROR: ").trim_start_matches("error: ");
    // The names of a selection graph's nodes differ from run to run.
    line.split(": t").next().unwrap_or(line).to_owned()
}

/// The function that a tool was at: its symbol.
fn failing_function(output: &str) -> Option<&str> {
    let named = between(output, "on function '@", "'").or_else(|| between(output, "In function: ", "\n"));
    named
        .or_else(|| between(output, "\nin function ", "\n"))
        .map(|name| name.trim().trim_matches('"'))
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

/// The text of a function.
fn definition<'a>(ir: &'a str, name: &str) -> Option<&'a str> {
    let heads = [format!(" @{name}("), format!(" @\"{name}\"(")];
    let mut offset = 0;
    for line in ir.split_inclusive('\n') {
        if line.starts_with("define ") && heads.iter().any(|head| line.contains(head)) {
            let text = &ir[offset..];
            return Some(text.split_once("\n}").map_or(text, |(body, _)| body));
        }
        offset += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/ and include the \
                        crash backtrace.\n\
        Stack dump:\n0.\tProgram arguments: llc -O3 x.ll\n1.\tRunning pass 'Function Pass Manager' on module 'x.ll'.\n\
        2.\tRunning pass 'NVPTX DAG->DAG Pattern Instruction Selection' on function '@wide'\n\
        \x20#0 0x00007f llvm::sys::PrintStackTrace\n";

    #[test]
    fn the_function_is_found_and_the_dump_left_out() {
        let select = format!("LLVM ERROR: Cannot select: t12: i128 = AtomicSwap<x> t1, t2\nIn function: wide\n{DUMP}");
        assert_eq!(failing_function(&select), Some("wide"));
        assert_eq!(first_message(&select), "Cannot select");
        assert_eq!(first_message(DUMP), "it crashed without a message");
        assert_eq!(failing_function(DUMP), Some("wide"));
        assert_eq!(first_message(""), "it crashed without a message");
        assert_eq!(
            first_message("error: x.ll:1:1: expected top-level entity\n"),
            "x.ll:1:1: expected top-level entity"
        );
        let broken = "broken call\nin function _RNvC1k1f\nLLVM ERROR: Broken function found, compilation aborted!\n";
        assert_eq!(
            (failing_function(broken), first_message(broken).as_str()),
            (Some("_RNvC1k1f"), "broken call")
        );
    }

    #[test]
    fn definitions_end_with_a_brace_at_the_margin() {
        let ir = "define void @wider() {\n  ret void\n}\ndefine void @wide() {\n  %x = fadd fp128 %a, %b\n}\n";
        assert!(definition(ir, "wide").unwrap().contains("fp128"));
        assert!(!definition(ir, "wider").unwrap().contains("fp128"));
    }

    #[test]
    fn an_old_ptx_version_is_told() {
        let said =
            "PTX version 7.8 does not support target 'sm_90a'. Minimum required PTX version is 8.0. Either remove.\n";
        let text = old_ptx(said).unwrap().to_string();
        assert!(
            text.contains("asks for PTX 7.8, and sm_90a needs 8.0\n") && text.contains("ptx_version(8, 0)"),
            "{text}"
        );
    }
}
