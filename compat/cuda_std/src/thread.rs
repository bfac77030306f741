//! Positions of a thread in its block and grid, barriers and fences.
//!
//! A launch is a grid of blocks. A block (CTA) is a group of threads that run on one SM and share its shared
//! memory (CUDA guide, "Thread Hierarchy"). Grid and block have up to three dimensions; `x` varies fastest.
//!
//! On the host all of this exists in a launch of the simulator only; the fences work outside of one too.
//!
//! The functions of position cost one read of a special register (PTX 10). LLVM knows their ranges (a thread index is
//! below 1024, say) and drops tests that these decide.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::{asm, nvptx};
#[cfg(not(target_arch = "nvptx64"))]
use core::sync::atomic::Ordering::SeqCst;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::device::{self, BarrierOp, Scope};
#[cfg(feature = "main")]
use glam::{UVec2, UVec3};

/// Coordinates in two dimensions: `vek`'s, as in the published 0.2.2. Its main branch has `glam`'s.
#[cfg(not(feature = "main"))]
type UVec2 = vek::Vec2<u32>;
/// Coordinates in three dimensions: as above.
#[cfg(not(feature = "main"))]
type UVec3 = vek::Vec3<u32>;

/// Functions that return one component of a position or an extent: by an intrinsic on the GPU, by an element of the
/// simulator's on the host.
macro_rules! component {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:ident, $host:ident[$axis:literal];)*) => {$(
        $(#[$doc])*
        #[gpu_only(sim = { device::$host()[$axis] })]
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reading a special register has no precondition.
            unsafe { nvptx::$intrinsic() }
        }
    )*};
}

component! {
    /// The thread's index in its block along x, below [`block_dim_x`] and so below 1024 (PTX 10.1, `%tid`).
    thread_idx_x = _thread_idx_x, thread_idx[0];
    /// The thread's index in its block along y, below [`block_dim_y`] and so below 1024 (PTX 10.1, `%tid`).
    thread_idx_y = _thread_idx_y, thread_idx[1];
    /// The thread's index in its block along z, below [`block_dim_z`] and so below 64 (PTX 10.1, `%tid`).
    thread_idx_z = _thread_idx_z, thread_idx[2];
    /// The block's index in the grid along x, below [`grid_dim_x`] (PTX 10.6, `%ctaid`).
    block_idx_x = _block_idx_x, block_idx[0];
    /// The block's index in the grid along y, below [`grid_dim_y`] and so below 65535 (PTX 10.6, `%ctaid`).
    block_idx_y = _block_idx_y, block_idx[1];
    /// The block's index in the grid along z, below [`grid_dim_z`] and so below 65535 (PTX 10.6, `%ctaid`).
    block_idx_z = _block_idx_z, block_idx[2];
    /// The threads of a block along x, 1 to 1024 (PTX 10.2, `%ntid`).
    block_dim_x = _block_dim_x, block_dim[0];
    /// The threads of a block along y, 1 to 1024 (PTX 10.2, `%ntid`).
    block_dim_y = _block_dim_y, block_dim[1];
    /// The threads of a block along z, 1 to 64 (PTX 10.2, `%ntid`).
    block_dim_z = _block_dim_z, block_dim[2];
    /// The blocks of the grid along x, 1 to 2^31 - 1 (PTX 10.7, `%nctaid`).
    grid_dim_x = _grid_dim_x, grid_dim[0];
    /// The blocks of the grid along y, 1 to 65535 (PTX 10.7, `%nctaid`).
    grid_dim_y = _grid_dim_y, grid_dim[1];
    /// The blocks of the grid along z, 1 to 65535 (PTX 10.7, `%nctaid`).
    grid_dim_z = _grid_dim_z, grid_dim[2];
}

/// The thread's index in its block.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn thread_idx() -> UVec3 {
    UVec3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
}

/// The block's index in the grid.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn block_idx() -> UVec3 {
    UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// The threads of a block along each dimension.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn block_dim() -> UVec3 {
    UVec3::new(block_dim_x(), block_dim_y(), block_dim_z())
}

/// The blocks of the grid along each dimension.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn grid_dim() -> UVec3 {
    UVec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// The thread's number in the whole grid: unique whatever the dimensions of the launch, with the threads of one block
/// in one run.
///
/// Unique as long as the grid has at most 2^32 threads; above that it wraps.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn index() -> u32 {
    let (grid, block, block_idx, thread) = (grid_dim(), block_dim(), block_idx(), thread_idx());
    let linear = |at: UVec3, extent: UVec3| {
        at.z.wrapping_mul(extent.y)
            .wrapping_add(at.y)
            .wrapping_mul(extent.x)
            .wrapping_add(at.x)
    };
    let threads_per_block = block.x * block.y * block.z;
    linear(block_idx, grid)
        .wrapping_mul(threads_per_block)
        .wrapping_add(linear(thread, block))
}

/// The position along one dimension of the grid, in threads.
#[inline(always)]
fn position(block_idx: u32, block_dim: u32, thread_idx: u32) -> u32 {
    // Wrapping: a debug build must not put an overflow check, and its panic, into every kernel.
    block_idx.wrapping_mul(block_dim).wrapping_add(thread_idx)
}

/// The thread's position along x, in threads. Unique in a launch of one dimension only.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn index_1d() -> u32 {
    position(block_idx_x(), block_dim_x(), thread_idx_x())
}

/// The thread's position along x and y, in threads. Unique in a launch of up to two dimensions.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn index_2d() -> UVec2 {
    UVec2::new(index_1d(), position(block_idx_y(), block_dim_y(), thread_idx_y()))
}

/// The thread's position along x, y and z, in threads. Unique in every launch.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    UVec3::new(x, y, position(block_idx_z(), block_dim_z(), thread_idx_z()))
}

/// Whether this is the thread at the origin of the grid: true in exactly one thread of a launch, not necessarily the
/// first to run.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn first() -> bool {
    let origin = UVec3::new(0, 0, 0);
    block_idx() == origin && thread_idx() == origin
}

/// The threads of a warp: 32 on every GPU so far (PTX 10.4, `WARP_SZ`).
#[gpu_only(sim = { 32 })]
#[inline(always)]
pub fn warp_size() -> u32 {
    let size: u32;
    // SAFETY: this moves a constant of the architecture into a register.
    unsafe { asm!("mov.u32 {}, WARP_SZ;", out(reg32) size, options(pure, nomem, nostack, preserves_flags)) };
    size
}

/// Waits until all threads of the block have reached it, and makes what each wrote to shared and global memory before
/// visible to all after (PTX 9.7.13.1, `bar.sync 0`).
///
/// All threads of the block that have not exited must reach the same call; in a branch that only some of them take, the
/// block hangs or the result is undefined.
#[gpu_only(sim = device::sync_threads)]
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: a barrier reads and writes no memory of its own.
    unsafe { nvptx::_syncthreads() }
}

/// [`sync_threads`] that also tells every thread in how many threads of the block `predicate` was not 0 (PTX 9.7.13.1,
/// `bar.red.popc`).
#[gpu_only(sim = { device::sync_threads_reduce(BarrierOp::Count, predicate) })]
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    let count: u32;
    // SAFETY: as in `sync_threads`. The braces keep the predicate register's name apart from every other use.
    unsafe {
        asm!(
            "{{",
            ".reg .pred p;",
            "setp.ne.u32 p, {predicate}, 0;",
            "bar.red.popc.u32 {count}, 0, p;",
            "}}",
            predicate = in(reg32) predicate,
            count = out(reg32) count,
        );
    }
    count
}

/// A barrier whose reduction yields a predicate.
#[cfg(target_arch = "nvptx64")]
macro_rules! barrier_reduction {
    ($operation:literal, $predicate:ident) => {{
        let holds: u32;
        // SAFETY: as in `sync_threads`. The braces keep the predicate registers' names apart from every other use.
        unsafe {
            asm!(
                "{{",
                ".reg .pred p, q;",
                "setp.ne.u32 p, {predicate}, 0;",
                concat!("bar.red.", $operation, ".pred q, 0, p;"),
                "selp.u32 {holds}, 1, 0, q;",
                "}}",
                predicate = in(reg32) $predicate,
                holds = out(reg32) holds,
            );
        }
        holds
    }};
}

/// [`sync_threads`] that also tells every thread whether `predicate` was not 0 in all threads of the block: 1 if so,
/// else 0 (PTX 9.7.13.1, `bar.red.and`).
#[gpu_only(sim = { device::sync_threads_reduce(BarrierOp::And, predicate) })]
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    barrier_reduction!("and", predicate)
}

/// [`sync_threads`] that also tells every thread whether `predicate` was not 0 in any thread of the block: 1 if so,
/// else 0 (PTX 9.7.13.1, `bar.red.or`).
#[gpu_only(sim = { device::sync_threads_reduce(BarrierOp::Or, predicate) })]
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    barrier_reduction!("or", predicate)
}

/// Orders this thread's memory accesses as seen by all threads of the grid (PTX 9.7.13.4, `membar.gl`). It waits for
/// nobody.
///
/// The blocks of a grid may run on different SMs, so this is the fence of the whole device: the same as
/// [`device_fence`].
#[gpu_only(sim = { device::fence(SeqCst, Scope::Device) })]
#[inline(always)]
pub fn grid_fence() {
    // SAFETY: a fence accesses no memory of its own.
    unsafe { asm!("membar.gl;", options(nostack, preserves_flags)) };
}

/// Orders this thread's memory accesses as seen by all threads of the GPU (PTX 9.7.13.4, `membar.gl`). It waits for
/// nobody.
#[gpu_only(sim = { device::fence(SeqCst, Scope::Device) })]
#[inline(always)]
pub fn device_fence() {
    // SAFETY: a fence accesses no memory of its own.
    unsafe { asm!("membar.gl;", options(nostack, preserves_flags)) };
}

/// Orders this thread's memory accesses as seen by the host and all GPUs as well (PTX 9.7.13.4, `membar.sys`). It waits
/// for nobody.
#[gpu_only(sim = { device::fence(SeqCst, Scope::System) })]
#[inline(always)]
pub fn system_fence() {
    // SAFETY: a fence accesses no memory of its own.
    unsafe { asm!("membar.sys;", options(nostack, preserves_flags)) };
}

/// Suspends the thread for about `nanos` nanoseconds: between 0 and twice as long, and at most one millisecond (PTX
/// 9.7.19.1, `nanosleep`).
///
/// # On the host
///
/// Other threads of the launch run first; no time is measured.
#[gpu_only(sim = device::nanosleep)]
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    // SAFETY: sleeping accesses no memory.
    unsafe { asm!("nanosleep.u32 {};", in(reg32) nanos, options(nomem, nostack, preserves_flags)) };
}
