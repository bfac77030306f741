//! Matrix products of a warpgroup, for kernels on the host (PTX ISA, "Asynchronous warpgroup level matrix
//! instructions"). Every function panics outside a launch.

use std::panic::Location;

use crate::engine;

/// The type of both operands' elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WgmmaElement {
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
}

/// A product of 64 rows of A and `columns` columns of B over 16 elements of K, both in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgmmaProduct {
    /// The matrix descriptor of A.
    pub a: u64,
    /// The matrix descriptor of B.
    pub b: u64,
    /// Columns of B and of the sums, N.
    pub columns: u32,
    /// The type of the elements.
    pub element: WgmmaElement,
    /// A is contiguous along M and not along K.
    pub a_is_mn_major: bool,
    /// B is contiguous along N and not along K.
    pub b_is_mn_major: bool,
    /// The products are added to the sums; else they take their place.
    pub accumulate: bool,
}

/// Element `index` of `thread`'s sums (0 to 127 of the warpgroup): its row and its column.
pub const fn element_of_sums(thread: u32, index: u32) -> (u32, u32) {
    let (warp, lane) = (thread / 32, thread % 32);
    let row = 16 * warp + lane / 4 + index / 2 % 2 * 8;
    (row, index / 4 * 8 + lane % 4 * 2 + index % 2)
}

/// Orders the warpgroup's accesses to registers and shared memory before the products that follow.
pub fn fence() {
    engine::current("wgmma.fence").wgmma_fence();
}

/// Starts a product. The 128 threads of the warpgroup meet. The operands are read at any time until a wait covers the
/// product; the sums are computed at once, in binary32, along K.
///
/// # Safety
/// `sums` is valid for `columns / 2` elements, and nobody else accesses them until this returns.
#[track_caller]
pub unsafe fn product(product: WgmmaProduct, sums: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("wgmma.mma_async").wgmma(product, sums, Location::caller()) };
}

/// Makes a group of the thread's products that are in none.
pub fn commit() {
    engine::current("wgmma.commit_group").wgmma_commit();
}

/// Waits for the thread's groups but the latest `pending`.
pub fn wait(pending: u32) {
    engine::current("wgmma.wait_group").wgmma_wait(pending);
}

/// `setmaxnreg`: the threads of the warpgroup meet. What there is is checked; registers are not counted.
#[track_caller]
pub fn set_max_registers(count: u32) {
    engine::current("setmaxnreg").set_max_registers(count, Location::caller());
}

/// The address of a byte of the block's shared memory as a GPU has it: a number below 2^18. It is the same modulo 1,024
/// as the host's.
#[track_caller]
pub fn shared_address(address: usize) -> u32 {
    engine::current("a shared address").shared_address(address, Location::caller())
}
