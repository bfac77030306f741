//! The scopes of atomics on global memory.
//!
//! An atomic of block scope is atomic for the threads of its block only (PTX ISA, "Morally strong operations": the
//! scope of each must include the other's thread). Two atomics of different blocks on one address, one of block scope
//! and one that writes, are a data race unless something orders them.

use std::collections::HashMap;
use std::panic::Location;

use parking_lot::Mutex;

use super::sync_vars::{AtomicAccess, SyncScope};

/// An atomic on global memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScopedAtomic {
    /// Linear index of the block.
    pub(crate) block: u64,
    /// The thread within the block.
    pub(crate) thread: u16,
    /// The thread's epoch.
    pub(crate) epoch: u32,
    /// The access.
    pub(crate) access: AtomicAccess,
    /// Its source location.
    pub(crate) location: &'static Location<'static>,
}

impl ScopedAtomic {
    fn is_narrow(&self) -> bool {
        self.access.scope == SyncScope::Block
    }
}

/// By address, the last atomic, and the last one of block scope.
#[derive(Default)]
pub(crate) struct AtomicScopes(Mutex<HashMap<usize, [Option<ScopedAtomic>; 2]>>);

impl AtomicScopes {
    /// Records an atomic; returns one of another block that it is not atomic with. `ordered` tells whether an earlier
    /// one is ordered before this one.
    pub(crate) fn enter(&self, atomic: ScopedAtomic, ordered: impl Fn(&ScopedAtomic) -> bool) -> Option<ScopedAtomic> {
        let mut atomics = self.0.lock();
        let known = atomics.entry(atomic.access.address).or_default();
        let clashes = |earlier: &&ScopedAtomic| {
            earlier.block != atomic.block
                && (earlier.is_narrow() || atomic.is_narrow())
                && (earlier.access.op.writes() || atomic.access.op.writes())
                && !ordered(earlier)
        };
        let found = known.iter().flatten().find(clashes).copied();
        known[0] = Some(atomic);
        if atomic.is_narrow() {
            known[1] = Some(atomic);
        }
        found
    }
}
