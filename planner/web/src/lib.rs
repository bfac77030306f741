//! The planner for a web page: text in, text out.
//!
//! [`answer`] and [`choices`] are what the page is made of; both speak JSON. `memory` lets the page's script reach
//! them: it is all that there is of WebAssembly here. On the host this is an ordinary library, so that tests can hold
//! the page against it.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod answer;
mod choices;
pub mod memory;
mod problem;
mod requests;
#[cfg(target_arch = "wasm32")]
mod runtime;
mod words;

pub use answer::answer;
pub use choices::choices;
