//! Atomics and fences of the running thread.

use std::panic::Location;
use std::sync::atomic::Ordering;

use crate::access::Space;
use crate::analysis::Op;
use crate::analysis::sites::{SiteKind, SiteSpace};
use crate::analysis::sync_vars::{AtomicAccess, SyncScope};
use crate::buffer::Allocation;
use crate::device::Scope;
use crate::launch::Checks;

use super::fiber;
use super::memory::BufferAccess;
use super::slot::Slot;

impl From<Scope> for SyncScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Block => SyncScope::Block,
            Scope::Device | Scope::System => SyncScope::Grid,
        }
    }
}

impl Slot {
    /// Executes an atomic operation on `bytes` bytes at `address`: `perform` does it and tells the old value and
    /// whether it changed.
    pub(crate) fn atomic<R>(
        &self,
        op: Op,
        address: usize,
        bytes: usize,
        (order, scope): (Ordering, Scope),
        site: &'static Location<'static>,
        perform: impl FnOnce() -> (R, u64, bool),
    ) -> R {
        self.check_watch();
        let shared = self.is_shared(address);
        if !shared {
            self.take_token();
        }
        if self.checks != Checks::Off {
            if !address.is_multiple_of(bytes) {
                let space = if shared { Space::Shared } else { Space::Global };
                self.misaligned(space, address, bytes, site);
            }
            let space = if shared { SiteSpace::Shared } else { SiteSpace::Global };
            let access = AtomicAccess {
                space,
                address,
                op,
                order,
                scope: scope.into(),
            };
            if self.arena.offset(address).is_some() {
                self.shared_access(op, address, bytes, site, Some(access), true);
            } else if let Some(touched) = self.buffer_of(address) {
                let kind = SiteKind {
                    space,
                    op,
                    bytes: bytes as u8,
                };
                self.access_buffer(touched, BufferAccess::new(kind, address, site, Some(access)));
            } else {
                // Memory of the host's, or a shared static: only its order is known.
                let thread = self.thread.get() as u16;
                let sync = &mut self.analysis.borrow_mut().sync;
                sync.atomic(&self.run.order, thread, access, |_| ());
            }
        }
        let (result, old, changed) = perform();
        if changed {
            self.note_change();
            if !shared {
                self.run.grid.note_progress();
            }
        } else {
            self.note_same(address, old, site);
        }
        result
    }

    /// A fence of the running thread.
    pub(crate) fn fence(&self, order: Ordering, scope: Scope) {
        self.check_watch();
        if self.checks != Checks::Off {
            let thread = self.thread.get() as u16;
            self.analysis.borrow_mut().sync.fence(thread, order, scope.into());
        }
    }

    /// The memory that an address lies in.
    pub(crate) fn space_of(&self, address: usize) -> Option<crate::device::Space> {
        use crate::device::Space;
        if self.is_shared(address) {
            return Some(Space::Shared);
        }
        if Allocation::containing(address).is_some() {
            return Some(Space::Global);
        }
        fiber::is_on_stack(address).then_some(Space::Local)
    }

    /// Waits until this block may execute atomics on global memory.
    fn take_token(&self) {
        if !self.turn.holds_token.get() {
            self.run.watch.pause(self.number, true);
            let place = self.turn.place.borrow();
            self.run
                .grid
                .take_token(place.as_ref().expect("a running block has a place"));
            self.turn.holds_token.set(true);
            self.run.watch.pause(self.number, false);
        }
    }
}
