//! Tiled matrix multiplication on GPUs in pure Rust: device query, shared-memory sizing, launch, check.
