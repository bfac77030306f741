#![doc = include_str!("../README.md")]

mod ast;
mod atomics;
mod block;
mod calls;
mod convert;
mod decode;
mod fault;
mod float;
mod format;
mod integer;
mod layout;
mod lexer;
mod machine;
mod memory;
mod op;
mod parser;
mod slice;
mod soft_float;
mod thread;
mod types;
mod warp;

pub use fault::{Fault, FaultKind, ParseError, Place};
pub use machine::{Launch, Machine, Module, Stats};
pub use memory::SharedWindow;
pub use slice::Slices;
pub use types::Space;
