//! What kernels share, above single instructions and below a whole kernel.

pub mod element;
pub mod finish;
pub mod operands;
pub mod split_k;
pub mod unroll;
pub mod warp;
