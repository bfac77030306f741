//! Warpgroup MMA (`wgmma`) for kernels on the host (PTX ISA, "Asynchronous warpgroup level matrix instructions"). Every
//! function panics outside a launch.

use std::panic::Location;

use serde::Serialize;

use crate::engine;
use crate::synchronization::SyncKind;

pub(crate) mod fp8;

/// Element type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WgmmaElement {
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// tf32, in 32 bits, of which the lowest 13 are ignored.
    Tf32,
    /// FP8 with 4 bits of exponent.
    E4m3,
    /// FP8 with 5 bits of exponent.
    E5m2,
}

/// How a `wgmma` of FP8 adds its 32 products to an accumulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fp8Accumulation {
    /// In f64, rounded to f32 once. What it differs by from a sum over all of K is the rounding of each instruction.
    #[default]
    Exact,
    /// A model of Hopper, from what others have measured (DeepSeek-V3, arXiv 2412.19437, section 3.3.2): products and
    /// the accumulator keep 13 bits below the largest exponent among them, so does the sum, all truncated.
    Truncated,
}

impl WgmmaElement {
    /// Bytes of an element.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::E4m3 | Self::E5m2 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 => 4,
        }
    }

    /// Whether it has 8 bits.
    pub const fn is_fp8(self) -> bool {
        self.bytes() == 1
    }

    /// Extent of one instruction along K: 32 bytes.
    pub const fn k(self) -> u32 {
        32 / self.bytes()
    }
}

/// Where a `wgmma` has its A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandA {
    /// In shared memory: the matrix descriptor.
    Shared(u64),
    /// In registers, of tf32: the thread's elements, those of rows r and r + 8 (r = 16 w + g of warp w and lane 4 g +
    /// p) of column p, then of column p + 4.
    Registers([u32; 4]),
}

/// One `wgmma.mma_async` of shape 64 x N x 16, of tf32 64 x N x 8, or of FP8 64 x N x 32, with B in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmaAsync {
    /// A.
    pub a: OperandA,
    /// The matrix descriptor of B.
    pub b: u64,
    /// N: columns of B and of the accumulators.
    pub columns: u32,
    /// The types of the elements of A and of B: the same, but for FP8.
    pub elements: [WgmmaElement; 2],
    /// Whether A is M-major instead of K-major.
    pub a_is_mn_major: bool,
    /// Whether B is N-major instead of K-major.
    pub b_is_mn_major: bool,
    /// Whether the product is added to the accumulators instead of replacing them.
    pub accumulate: bool,
}

impl MmaAsync {
    /// Of tf32, whose operands in shared memory are K-major, added to the accumulators.
    pub const fn tf32(a: OperandA, b: u64, columns: u32) -> Self {
        Self {
            a,
            b,
            columns,
            elements: [WgmmaElement::Tf32; 2],
            a_is_mn_major: false,
            b_is_mn_major: false,
            accumulate: true,
        }
    }

    /// Of FP8, with A and B, both K-major, in shared memory.
    pub const fn fp8([a, b]: [u64; 2], columns: u32, elements: [WgmmaElement; 2], accumulate: bool) -> Self {
        Self {
            a: OperandA::Shared(a),
            b,
            columns,
            elements,
            a_is_mn_major: false,
            b_is_mn_major: false,
            accumulate,
        }
    }

    /// Whether threads that execute the two execute one instruction: the operands agree, but for registers.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (self.a, other.a) {
            (OperandA::Registers(_), OperandA::Registers(_)) => *self == Self { a: self.a, ..*other },
            _ => self == other,
        }
    }
}

/// Row and column of accumulator `index` of `thread`, which is 0 to 127 in the warpgroup.
pub const fn accumulator_element(thread: u32, index: u32) -> (u32, u32) {
    let (warp, lane) = (thread / 32, thread % 32);
    let row = 16 * warp + lane / 4 + index / 2 % 2 * 8;
    (row, index / 4 * 8 + lane % 4 * 2 + index % 2)
}

/// `wgmma.fence`: orders the warpgroup's accesses to registers and shared memory before the instructions that follow.
#[track_caller]
pub fn fence() {
    if let Some(context) = engine::synchronizing("wgmma.fence", SyncKind::WgmmaFence, Location::caller()) {
        context.wgmma_fence();
    }
}

/// `wgmma.mma_async`, executed when all 128 threads of the warpgroup have arrived. The operands may be read at any time
/// until a wait covers the instruction. The accumulators are computed at once, in binary32, along K, or of FP8 as the
/// launch's [`Fp8Accumulation`] says, but are NaNs until [`wait`] is called with them: a thread that uses them before
/// computes NaN, and is reported where it stores them as they are or as f32.
///
/// # Safety
/// `accumulators` is valid for `columns / 2` elements, and no other thread accesses them until this returns.
#[track_caller]
pub unsafe fn mma_async(mma: MmaAsync, accumulators: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("wgmma.mma_async").wgmma(mma, accumulators, Location::caller()) };
}

/// `wgmma.commit_group`: commits the thread's open group.
pub fn commit() {
    engine::current("wgmma.commit_group").wgmma_commit();
}

/// `wgmma.wait_group`: waits for all of the thread's groups but the latest `pending`. Accumulators that are then
/// complete get their values.
#[track_caller]
pub fn wait(pending: u32, accumulators: &mut [f32]) {
    let location = Location::caller();
    if let Some(context) = engine::synchronizing("wgmma.wait_group", SyncKind::WgmmaWait, location) {
        context.wgmma_wait(pending, accumulators, location);
    }
}

/// `setmaxnreg`, executed when all threads of the warpgroup have arrived. `count` is checked; registers are not
/// counted.
#[track_caller]
pub fn set_max_registers(count: u32) {
    engine::current("setmaxnreg").set_max_registers(count, Location::caller());
}

/// The shared address of the byte at a host address: a number below 2^18, equal to the host address modulo 1,024.
#[track_caller]
pub fn shared_address(address: usize) -> u32 {
    engine::current("a shared address").shared_address(address, Location::caller())
}
