//! Notes whether this compiler accepts unstable features, so that `#[kernel]` can lend `abi_ptx` to the crates it is
//! used in.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_BOOTSTRAP");
    println!("cargo::rustc-check-cfg=cfg(unstable_features)");
    // `cuda_builder` sets it for the device build; a host build on stable Rust must compile without it.
    if std::env::var_os("RUSTC_BOOTSTRAP").is_some_and(|value| value == "1") {
        println!("cargo::rustc-cfg=unstable_features");
    }
}
