//! Where the views of `cuda_views` report the accesses of a simulated thread.

use std::fmt;
use std::ops::Range;
use std::panic::Location;

use serde::Serialize;

use crate::analysis::Op;
use crate::engine;

/// A memory that threads have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// The block's.
    Shared,
    /// The grid's.
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

/// What an access does.
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
/// addresses `part`. Returns if the access may be done; where it may not (out of bounds, misaligned) the simulated
/// thread unwinds from here, with the fault recorded.
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
    site: &'static Location<'static>,
) {
    engine::current("a view's access").access(space, kind, address, bytes, part, site);
}

/// Reports that the running thread passes over an access of `bytes` bytes at `site`, because of a guard. The traffic
/// report needs it to know which accesses of a warp's lanes belong together.
///
/// # Panics
/// Outside a launch.
#[inline]
pub fn skip(space: Space, kind: AccessKind, bytes: usize, site: &'static Location<'static>) {
    engine::current("a view's access").skip(space, kind, bytes, site);
}

/// An asynchronous copy of 4, 8 or 16 bytes from global to shared memory, and what the views at both ends cover.
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
    /// How many bytes it writes.
    pub bytes: usize,
    /// How many it reads, at most as many; zeros follow.
    pub valid: usize,
}

/// Starts an asynchronous copy by the running thread; where it may not be started (out of bounds, misaligned) the
/// thread unwinds from here, with the fault recorded. Its bytes arrive when
/// [`device::async_wait`](crate::device::async_wait) covers them.
///
/// # Safety
/// Without the simulator's checks: `valid` bytes may be read at `from`, and `bytes` bytes written at `to` until the
/// thread has waited for them.
///
/// # Panics
/// Outside a launch.
pub unsafe fn async_copy(copy: AsyncCopyAccess, site: &'static Location<'static>) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("an asynchronous copy").async_copy(copy, site) };
}

/// A warp's access to 1, 2 or 4 matrices of 8 x 8 elements of 2 bytes in shared memory: what one lane brings to
/// `ldmatrix` or `stmatrix`. Lane `8 i + r` brings row `r` of matrix `i`.
#[derive(Clone, Debug)]
pub struct MatrixAccess {
    /// The first byte of the lane's row of 16 bytes.
    pub row: *mut u8,
    /// The addresses that the view covers.
    pub part: Range<usize>,
    /// How many matrices.
    pub matrices: usize,
    /// Whether a lane's two elements of a matrix are of one column, and not of one row.
    pub transposed: bool,
}

/// Loads matrices by all lanes of the warp; where that may not be done (out of bounds, misaligned) the thread unwinds
/// from here, with the fault recorded.
///
/// Of each matrix the lane gets two elements, the first one in the lower half: those at row `lane / 4`, columns `2
/// (lane % 4)` and the next, or, transposed, at column `lane / 4`, rows `2 (lane % 4)` and the next. Elements of
/// matrices that are not there are 0.
///
/// # Safety
/// Without the simulator's checks: every lane's 16 bytes may be read.
///
/// # Panics
/// Outside a launch.
pub unsafe fn load_matrices(access: &MatrixAccess, site: &'static Location<'static>) -> [u32; 4] {
    // SAFETY: the caller's promise.
    unsafe { engine::current("ldmatrix").load_matrices(access, site) }
}

/// Stores matrices by all lanes of the warp, elements as [`load_matrices`] gets them.
///
/// # Safety
/// Without the simulator's checks: 16 bytes of every lane that brings a row may be written.
///
/// # Panics
/// Outside a launch.
pub unsafe fn store_matrices(access: &MatrixAccess, elements: [u32; 4], site: &'static Location<'static>) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("stmatrix").store_matrices(access, elements, site) };
}
