//! Interface for `cuda_views`: its views report a simulated thread's accesses here.

use std::fmt;
use std::ops::Range;
use std::panic::Location;

use serde::Serialize;

use crate::analysis::Op;
use crate::analysis::source_locations::AccessClass;
use crate::engine;

/// A memory that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// Shared memory of a block.
    Shared,
    /// Global memory.
    Global,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Shared => "shared",
            Space::Global => "global",
        })
    }
}

/// The instructions that access memory, as the traffic distinguishes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Instruction {
    /// Loads, stores and atomics of single lanes.
    #[default]
    Lanes,
    /// `cp.async`.
    CpAsync,
    /// `ldmatrix` and `stmatrix`.
    Matrix,
    /// `cp.async.bulk`: TMA loads and stores, and bulk copies of plain bytes.
    BulkCopy,
    /// `wgmma.mma_async`: the operands in shared memory.
    Wgmma,
}

/// The operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic load, store or read-modify-write.
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic access",
        })
    }
}

impl From<Op> for AccessKind {
    fn from(op: Op) -> Self {
        match op {
            Op::Read => AccessKind::Read,
            Op::Write => AccessKind::Write,
            Op::AtomicLoad | Op::AtomicStore | Op::AtomicUpdate => AccessKind::Atomic,
        }
    }
}

/// Reports an access of `bytes` bytes (1 to 16, a power of two) at `address` in `space`, through a view that covers the
/// addresses `part`. Returns if the access is allowed. Otherwise (out of bounds, misaligned) the fault is recorded and
/// the simulated thread unwinds.
///
/// # Panics
/// Outside a launch.
#[inline]
pub fn access(
    space: Space,
    kind: AccessKind,
    address: usize,
    bytes: usize,
    part: Range<usize>,
    location: &'static Location<'static>,
) {
    let class = AccessClass::of_lanes(space, plain(kind), bytes);
    let context = engine::current("a view's access");
    match (space, kind, bytes) {
        (Space::Shared, AccessKind::Read, 4) => context.load_shared_4(address, part, location),
        (Space::Shared, AccessKind::Read, 2) => context.load_shared_2(address, part, location),
        _ => context.access(class, address, part, location),
    }
}

/// The operation of a view's access.
#[inline(always)]
fn plain(kind: AccessKind) -> Op {
    match kind {
        AccessKind::Read => Op::Read,
        AccessKind::Write | AccessKind::Atomic => Op::Write,
    }
}

/// A view of shared memory that the simulator knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewId(pub(crate) u32);

impl ViewId {
    /// None that it knows.
    pub const NONE: Self = Self(u32::MAX);
}

/// Tells the simulator of a view of elements of type `element` in shared memory, made at `created`. Outside a launch it
/// returns [`ViewId::NONE`].
#[inline]
pub fn shared_view(addresses: Range<usize>, element: &'static str, created: &'static Location<'static>) -> ViewId {
    match engine::try_current() {
        Some(context) => context.shared_view(addresses, element, created),
        None => ViewId::NONE,
    }
}

/// [`access`] of a store of the `bytes` bytes at `value` through `view`, which [`shared_view`] has
/// returned, for launches that allow [stores of the same value](crate::Policy::same_value_writes).
///
/// # Safety
/// The bytes at `value` may be read.
///
/// # Panics
/// Outside a launch.
#[inline]
pub unsafe fn store(
    space: Space,
    address: usize,
    bytes: usize,
    value: *const u8,
    (part, view): (Range<usize>, ViewId),
    location: &'static Location<'static>,
) {
    let context = engine::current("a view's access");
    let words = (0..bytes / 4).map(|at| {
        // SAFETY: the caller's promise.
        unsafe { value.cast::<f32>().add(at).read_unaligned() }
    });
    context.check_stored(words, location);
    context.note_value(address, bytes, value);
    let class = AccessClass::of_lanes(space, Op::Write, bytes);
    context.access(class, address, part, location);
    context.note_value(0, 0, std::ptr::null());
    context.note_view(view, address, bytes, location);
}

/// Reports that a guard makes the running thread skip an access of `bytes` bytes at `location`. The traffic report
/// needs it to combine the accesses of a warp's lanes.
///
/// # Panics
/// Outside a launch.
#[inline]
pub fn skip(space: Space, kind: AccessKind, bytes: usize, location: &'static Location<'static>) {
    let class = AccessClass::of_lanes(space, plain(kind), bytes);
    engine::current("a view's access").skip(class, location);
}

/// An asynchronous copy of 4, 8 or 16 bytes from global to shared memory, and the addresses that the views at both ends
/// cover.
#[derive(Clone, Debug)]
pub struct AsyncCopyAccess {
    /// The first byte that it writes.
    pub to: *mut u8,
    /// The addresses that the view of shared memory covers.
    pub to_part: Range<usize>,
    /// The first byte that it reads.
    pub from: *const u8,
    /// The addresses that the view of global memory covers.
    pub from_part: Range<usize>,
    /// Bytes that it writes.
    pub bytes: usize,
    /// Bytes that it reads, at most `bytes`. The rest is filled with zeros.
    pub valid: usize,
}

/// Starts an asynchronous copy of the running thread. If it is not allowed (out of bounds, misaligned), the fault is
/// recorded and the thread unwinds. Its bytes arrive when [`device::async_wait`](crate::device::async_wait) covers
/// them.
///
/// # Safety
/// Without the simulator's checks: `valid` bytes may be read at `from`, and `bytes` bytes written at `to` until the
/// thread has waited for them.
///
/// # Panics
/// Outside a launch.
pub unsafe fn async_copy(copy: AsyncCopyAccess, location: &'static Location<'static>) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("an asynchronous copy").async_copy(copy, location) };
}

/// A lane's operands of `ldmatrix` or `stmatrix`: a warp's access to 1, 2 or 4 matrices of 8 x 8 elements of 2 bytes in
/// shared memory. Lane `8 i + r` passes row `r` of matrix `i`.
#[derive(Clone, Debug)]
pub struct MatrixAccess {
    /// The first byte of the lane's row of 16 bytes.
    pub row: *mut u8,
    /// The addresses that the view covers.
    pub part: Range<usize>,
    /// Number of matrices: 1, 2 or 4.
    pub matrices: usize,
    /// Whether a lane's two elements of a matrix are in one column instead of one row.
    pub transposed: bool,
}

/// `ldmatrix` of the whole warp. If it is not allowed (out of bounds, misaligned), the fault is recorded and the thread
/// unwinds.
///
/// The lane receives two elements of each matrix, the first one in the lower half: those at row `lane / 4`, columns `2
/// (lane % 4)` and the next, or, transposed, at column `lane / 4`, rows `2 (lane % 4)` and the next. Elements of absent
/// matrices are 0.
///
/// # Safety
/// Without the simulator's checks: every lane's 16 bytes may be read.
///
/// # Panics
/// Outside a launch.
pub unsafe fn load_matrices(access: &MatrixAccess, location: &'static Location<'static>) -> [u32; 4] {
    // SAFETY: the caller's promise.
    unsafe { engine::current("ldmatrix").load_matrices(access, location) }
}

/// `stmatrix` of the whole warp, with the elements distributed as by [`load_matrices`].
///
/// # Safety
/// Without the simulator's checks: 16 bytes of every lane that passes a row may be written.
///
/// # Panics
/// Outside a launch.
pub unsafe fn store_matrices(access: &MatrixAccess, elements: [u32; 4], location: &'static Location<'static>) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("stmatrix").store_matrices(access, elements, location) };
}
