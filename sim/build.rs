//! Nothing to build. Cargo asks for a build script where a manifest has `links`, which keeps a second copy of the
//! simulator out of a program.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
