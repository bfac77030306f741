//! PTX instructions that Rust has no words for, one family a file. Each has a host body with the same result.

pub mod approximate;
pub mod async_copy;
pub mod bulk_copy;
pub mod cluster;
pub mod convert;
pub mod ctaid;
pub mod elect;
pub mod fma;
pub mod griddepcontrol;
pub mod ldmatrix;
pub mod matrix_descriptor;
pub mod mbarrier;
pub mod mma;
#[cfg(any(not(target_arch = "nvptx64"), feature = "block_scaled"))]
pub mod mma_block_scaled;
pub mod mma_f64;
pub mod named_barrier;
pub mod optimization_barrier;
pub mod partial_load;
pub mod permute;
pub mod setmaxnreg;
pub mod shared_address;
pub mod stmatrix;
pub mod tensor_map;
pub mod warp_uniform;
pub mod wgmma;
