//! Building blocks of the kernels: above single instructions, below a whole kernel.

pub mod batch;
pub mod copies;
pub mod element;
pub mod epilogue;
pub mod groups;
pub mod major;
pub mod narrow_store;
pub mod operands;
pub mod pipeline;
pub mod sector_store;
pub mod split_k;
pub mod unroll;
pub mod warp;
pub mod warp_store;
