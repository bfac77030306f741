//! Analysis of accesses: order, races, pending copies, traffic. The data structures know nothing of the engine.
//!
//! - [`source_locations`]: numbers for the source locations that access memory.
//! - [`clock`], [`grid_clock`], [`sync_vars`]: which accesses are ordered, within a block, between blocks, through
//!   atomics and fences.
//! - [`agents`]: asynchronous operations as pseudo-threads. [`mbarrier`]: phases of barriers in shared memory.
//! - [`matrix_descriptor`]: the layout of `wgmma` operands.
//! - [`tensor_maps`]: fences of the tensor-map proxy.
//! - [`scopes`]: atomics of block scope that blocks share.
//! - [`in_flight`]: pending `cp.async` copies.
//! - [`shadow`], [`global_shadow`]: the last accesses to each word, and races with them.
//! - [`banks`], [`traffic`]: the cost of a warp's accesses in wavefronts and sectors.
//!
//! Threads are numbered linearly within their block; thread `t` is lane `t % 32` of warp `t / 32`.

pub(crate) mod agents;
pub mod banks;
pub(crate) mod clock;
pub(crate) mod global_shadow;
pub(crate) mod grid_clock;
pub(crate) mod in_flight;
pub(crate) mod matrix_descriptor;
pub(crate) mod mbarrier;
pub(crate) mod scopes;
pub(crate) mod shadow;
pub(crate) mod source_locations;
pub(crate) mod sync_vars;
pub(crate) mod tensor_maps;
pub(crate) mod traffic;

#[cfg(test)]
mod tests;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// The operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Op {
    /// A plain read.
    Read = 1,
    /// A plain write.
    Write = 2,
    /// An atomic load.
    AtomicLoad = 3,
    /// An atomic store.
    AtomicStore = 4,
    /// An atomic read-modify-write.
    AtomicUpdate = 5,
}

impl Op {
    /// Whether the access reads memory.
    pub(crate) const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::AtomicLoad | Self::AtomicUpdate)
    }

    /// Whether the access writes memory.
    pub(crate) const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicStore | Self::AtomicUpdate)
    }

    /// Whether the access is atomic.
    pub(crate) const fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicLoad | Self::AtomicStore | Self::AtomicUpdate)
    }

    /// Whether two accesses to one word need an order: at least one writes, and at least one is not atomic.
    pub(crate) const fn conflicts_with(self, other: Self) -> bool {
        (self.writes() || other.writes()) && !(self.is_atomic() && other.is_atomic())
    }

    /// The operation with the discriminant `code`.
    const fn from_code(code: u64) -> Self {
        match code {
            1 => Self::Read,
            2 => Self::Write,
            3 => Self::AtomicLoad,
            4 => Self::AtomicStore,
            _ => Self::AtomicUpdate,
        }
    }
}
