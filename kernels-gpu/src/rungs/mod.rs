//! The ladder: one kernel a file, one new idea a file.
//!
//! | rung | idea | shared memory |
//! |---|---|---|
//! | [`r01_naive`] | one thread an element of C | none |
//! | [`r02_tiled_static`] | tiles of A and B are loaded once a block and reused by all its threads | static, 2 W² elements |
//! | [`r03_tiled_dynamic`] | the same tiles, their size chosen at launch | dynamic, both tiles in one allocation |
//! | [`r04_register_column`] | a column of registers for each thread, fed by short tiles | static, 4352 bytes |
//! | [`r05_register_tile`] | a tile of registers for each thread, fed by short tiles | static, 8320 bytes |
//! | [`r06_vector_copy`] | copies of 16 bytes between global memory and registers | static, 8448 bytes |
//! | [`r07_warp_tile`] | the lanes of a warp in a rectangle of 4 x 8: fewer wavefronts a load | static, 8448 bytes |
//! | [`r08_double_buffer`] | loads one step ahead of the multiplications that need them | static, 16896 bytes |
//! | [`r09_async_copy`] | asynchronous copies, several steps ahead; blocks in an order that L2 likes | dynamic, 3 stages |
//! | [`r10_gemm`] | every layout, several tiles, slices of K, alpha and beta | dynamic, 3 or 4 stages |
//! | [`r11_matrix_vector`] | C of one column or row: nothing is used twice, enough loads are under way | none, or static, 4096 bytes |
//! | [`r12_mma_sync`] | tensor cores by `mma.sync`, fragments by `ldmatrix` | dynamic, 4 stages |
//! | [`r13_wgmma`] | a warpgroup multiplies by `wgmma`, the tensor memory accelerator copies | dynamic, 1 stage |
//! | [`r14_warp_specialized`] | one warpgroup copies, steps ahead of those that multiply | dynamic, 4 stages |
//! | [`r15_persistent`] | blocks stay and compute tile after tile | dynamic, 4 stages |
//! | [`r16_cluster`] | two blocks share B by multicast | dynamic, 4 stages |
//! | [`r17_wgmma_gemm`] | C by bulk copies, every layout, several tiles | dynamic, 4 or 6 stages and panels of C |
//!
//! Every entry point takes [`GemmParams`](tilewright_contract::GemmParams), and those that load by the tensor memory
//! accelerator the tensor maps of A, B and C. Its row in [`KERNELS`](tilewright_contract::KERNELS) says which tile
//! widths and how much shared memory it takes.

#[cfg(any(not(target_arch = "nvptx64"), not(feature = "wgmma")))]
pub mod r01_naive;
#[cfg(any(not(target_arch = "nvptx64"), not(feature = "wgmma")))]
pub mod r02_tiled_static;
#[cfg(any(not(target_arch = "nvptx64"), not(feature = "wgmma")))]
pub mod r03_tiled_dynamic;
#[cfg(any(not(target_arch = "nvptx64"), not(feature = "wgmma")))]
pub mod r04_register_column;
#[cfg(any(not(target_arch = "nvptx64"), not(feature = "wgmma")))]
pub mod r05_register_tile;
#[cfg(any(not(target_arch = "nvptx64"), not(feature = "wgmma")))]
pub mod r06_vector_copy;
#[cfg(any(not(target_arch = "nvptx64"), not(feature = "wgmma")))]
pub mod r07_warp_tile;
#[cfg(any(not(target_arch = "nvptx64"), not(feature = "wgmma")))]
pub mod r08_double_buffer;
#[cfg(any(not(target_arch = "nvptx64"), all(feature = "async_copy", not(feature = "wgmma"))))]
pub mod r09_async_copy;
#[cfg(any(not(target_arch = "nvptx64"), all(feature = "async_copy", not(feature = "wgmma"))))]
pub mod r10_gemm;
#[cfg(any(not(target_arch = "nvptx64"), not(feature = "wgmma")))]
pub mod r11_matrix_vector;
#[cfg(any(not(target_arch = "nvptx64"), all(feature = "async_copy", not(feature = "wgmma"))))]
pub mod r12_mma_sync;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))]
pub mod r13_wgmma;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))]
pub mod r14_warp_specialized;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))]
pub mod r15_persistent;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))]
pub mod r16_cluster;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))]
pub mod r17_wgmma_gemm;
