//! rustc's messages: shown as they are, and searched for what only a device build is refused for.

use std::env;
use std::io::IsTerminal;

use serde_json::Value;

use super::Diagnosis;

/// What a message means for a GPU crate.
struct Hint {
    /// The error code, or nothing for any message.
    code: &'static str,
    /// Parts of which the message holds one.
    parts: &'static [&'static str],
    reason: &'static str,
    remedy: &'static str,
}

const NO_STD: &str =
    "the standard library needs an operating system, and a GPU has none: only `core` and `alloc` are there";

const HINTS: &[Hint] = &[
    Hint {
        code: "",
        parts: &["`std`"],
        reason: NO_STD,
        remedy: "write `core::` or `alloc::` (cuda_std::prelude has Vec, Box and String), cuda_std::println! for \
                 printing, cuda_std::thread for indices and barriers, a sorted slice or the `hashbrown` crate for \
                 HashMap; files, threads and clocks belong to the host",
    },
    Hint {
        code: "",
        parts: &[
            "find macro `println`",
            "find macro `print`",
            "find macro `eprintln`",
            "find macro `eprint`",
            "find macro `dbg`",
        ],
        reason: "printing is a part of the standard library; cuda_std has its own for a GPU",
        remedy: "write `use cuda_std::println;` (or `print`): the text appears when the host synchronizes",
    },
    Hint {
        code: "",
        parts: &[
            "find macro `vec`",
            "find macro `format`",
            "find type `Vec`",
            "find type `String`",
            "find type `Box`",
            "undeclared type `Vec`",
            "undeclared type `String`",
            "undeclared type `Box`",
        ],
        reason: "a GPU crate is `no_std`, so nothing that allocates is in scope by itself",
        remedy: "write `use cuda_std::prelude::*;`, or `extern crate alloc;` and `use alloc::{vec, vec::Vec};`",
    },
    Hint {
        code: "",
        parts: &["is already defined"],
        reason: "two kernels or exported statics have one name, and the host finds them by their names, whatever \
                 module they are in",
        remedy: "rename one of them",
    },
    Hint {
        code: "E0754",
        parts: &[],
        reason: "a kernel is exported under its name, and a name in PTX consists of ASCII letters, digits, `_` and `$`",
        remedy: "give the kernel an ASCII name",
    },
    Hint {
        code: "",
        parts: &["unknown LLVM intrinsic", "cannot be used with target arch"],
        reason: "a `link_name` names an intrinsic that this LLVM does not have for NVPTX",
        remedy: "use core::arch::nvptx, cuda_std, or asm! with the PTX instruction",
    },
    Hint {
        code: "E0152",
        parts: &["`panic_impl`"],
        reason: "cuda_std brings the panic handler",
        remedy: "delete the #[panic_handler] of the GPU crate, or disable it by a feature",
    },
    Hint {
        code: "",
        parts: &["`#[panic_handler]` function required"],
        reason: "no crate of this build has a panic handler",
        remedy: "depend on cuda_std and name it (`use cuda_std as _;`), or write a #[panic_handler]",
    },
    Hint {
        code: "",
        parts: &["no global memory allocator found"],
        reason: "`alloc` needs an allocator",
        remedy: "depend on cuda_std and name it (`use cuda_std as _;`), or write a #[global_allocator]",
    },
    Hint {
        code: "",
        parts: &["cannot find macro `asm`", "`register_attr`"],
        reason: "a crate was written for the code generator of published cuda_builder, which registers attributes of \
                 its own",
        remedy: "take cuda_std from the same place as cuda_builder: [patch.crates-io] needs a line for cuda_std and \
                 one for cuda_std_macros",
    },
    Hint {
        code: "",
        parts: &["invalid register class"],
        reason: "operands of asm! for a GPU have other classes than those of a CPU",
        remedy: "use `reg16` (16 bits), `reg32` (u32, i32, f32) or `reg64` (u64, i64, f64, pointers)",
    },
];

/// Whether the terminal shows colors, or the user asked for them.
pub(crate) fn in_color() -> bool {
    match env::var("CARGO_TERM_COLOR").as_deref() {
        Ok("always") => true,
        Ok("never") => false,
        _ => std::io::stderr().is_terminal(),
    }
}

/// What cargo is asked for: rustc's messages whole, and drawn as the terminal can show them.
pub(crate) fn message_format() -> &'static str {
    match in_color() {
        true => "--message-format=json-diagnostic-rendered-ansi",
        false => "--message-format=json",
    }
}

/// The first error that has a [`Hint`].
#[derive(Debug, Default)]
pub(crate) struct Hints(Option<Diagnosis>);

impl Hints {
    /// Prints a message of rustc's, and remembers what it means.
    pub fn show(&mut self, message: &Value) {
        let message = &message["message"];
        if let Some(text) = message["rendered"].as_str() {
            eprint!("{text}");
        }
        if message["level"] != "error" || self.0.is_some() {
            return;
        }
        let (code, text) = (
            message["code"]["code"].as_str(),
            message["message"].as_str().unwrap_or_default(),
        );
        let label = message["spans"][0]["label"].as_str().unwrap_or_default();
        let hint = HINTS.iter().find(|hint| {
            let code = hint.code.is_empty() || code == Some(hint.code);
            code && (hint.parts.is_empty()
                || hint
                    .parts
                    .iter()
                    .any(|part| text.contains(part) || label.contains(part)))
        });
        self.0 = hint.map(|hint| {
            let reason = format!(
                "the GPU crate does not compile (rustc's messages are above): {}",
                hint.reason
            );
            Diagnosis::new([], reason, hint.remedy)
        });
    }

    /// What the errors mean, where that is known.
    pub fn diagnosis(self) -> Option<Diagnosis> {
        self.0
    }
}
