//! Drop-in cuda_builder 0.3.0: Rust to PTX with a stock toolchain, callable from a build script.
