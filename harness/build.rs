//! Compiles the planner to WebAssembly, for `src/page.rs` to embed.

#[path = "build/linker.rs"]
mod linker;
#[path = "build/wasm.rs"]
mod wasm;

use std::env;
use std::path::PathBuf;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    if let Err(problem) = wasm::build(&out.join("planner.wasm")) {
        eprintln!("{problem}");
        std::process::exit(1);
    }
}
