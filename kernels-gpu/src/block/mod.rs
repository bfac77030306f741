//! Building blocks of the kernels: above single instructions, below a whole kernel.

pub mod element;
pub mod epilogue;
pub mod operands;
pub mod split_k;
pub mod unroll;
pub mod warp;
