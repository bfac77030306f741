//! Kernels of Hopper's primitives: a product with its ring of stages, a copy, and each instruction once.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, asm_experimental_arch)
)]

#[path = "../../../src/block"]
pub mod block {
    pub mod unroll;
}
#[path = "../../../src/ptx/mod.rs"]
pub mod ptx;

pub mod cluster;
pub mod copy;
pub mod product;
pub mod tf32;
