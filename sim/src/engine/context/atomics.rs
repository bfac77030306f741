//! Atomics and fences of the running thread.

use std::panic::Location;
use std::sync::atomic::Ordering;

use crate::access::{AccessKind, Instruction, Space};
use crate::analysis::Op;
use crate::analysis::scopes::ScopedAtomic;
use crate::analysis::source_locations::AccessClass;
use crate::analysis::sync_vars::{AtomicAccess, SyncScope};
use crate::buffer::Allocation;
use crate::device::Scope;
use crate::fault::FaultKind;
use crate::launch::Checks;

use super::BlockContext;
use super::global_memory::BufferAccess;
use crate::engine::fiber;

impl From<Scope> for SyncScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Block => SyncScope::Block,
            Scope::Device | Scope::System => SyncScope::Grid,
        }
    }
}

impl BlockContext {
    /// Executes an atomic operation on `bytes` bytes at `address`. `perform` executes it and returns its result, the
    /// old value, and whether the value changed.
    pub(crate) fn atomic<R>(
        &self,
        op: Op,
        address: usize,
        bytes: usize,
        (order, scope): (Ordering, Scope),
        location: &'static Location<'static>,
        perform: impl FnOnce() -> (R, u64, bool),
    ) -> R {
        self.watch(location);
        self.check_watchdog();
        let shared = self.is_shared(address);
        if !shared {
            self.take_token();
        }
        if self.checks != Checks::Off {
            let space = if shared { Space::Shared } else { Space::Global };
            if !address.is_multiple_of(bytes) {
                self.misaligned(space, address, bytes, location);
            }
            let access = AtomicAccess {
                space,
                address,
                op,
                order,
                scope: scope.into(),
            };
            if !shared {
                self.check_scope(access, location);
            }
            if self.shared.contains(address) {
                self.shared_access(op, address, bytes, location, Some(access), Some(Instruction::Lanes));
            } else if let Some(buffer) = self.buffer_of(address) {
                let class = AccessClass::of_lanes(space, op, bytes);
                self.access_buffer(buffer, BufferAccess::new(class, address, location, Some(access)));
            } else {
                // Host memory, or a shared static: only its order is known.
                let thread = self.thread();
                let sync = &mut self.analysis.borrow_mut().sync;
                sync.atomic(&self.run.order, thread, access, |_| ());
            }
        }
        self.learn_of_visitors(self.thread());
        let (result, old, changed) = perform();
        if changed {
            self.note_change();
            if !shared {
                self.run.grid.note_progress();
            }
        } else {
            self.note_same(address, old, location);
        }
        self.preempt(!shared);
        result
    }

    /// Checks that an atomic on global memory is atomic with those of other blocks.
    fn check_scope(&self, access: AtomicAccess, location: &'static Location<'static>) {
        let thread = self.thread();
        let clash = {
            let sync = &self.analysis.borrow().sync;
            let atomic = ScopedAtomic {
                block: self.id.get().number,
                thread,
                epoch: sync.clocks.epoch(thread),
                access,
                location,
            };
            let ordered =
                |earlier: &ScopedAtomic| sync.ordered_in_grid(thread, earlier.block, earlier.thread, earlier.epoch);
            self.run.scopes.enter(atomic, ordered)
        };
        if let Some(earlier) = clash {
            let other = self.access_elsewhere(AccessKind::Atomic, earlier.block, earlier.thread, earlier.location);
            let is_narrow = access.scope == SyncScope::Block;
            self.fault(FaultKind::AtomicScope { is_narrow }, Some(location), Some(other));
        }
    }

    /// A fence of the running thread.
    pub(crate) fn fence(&self, order: Ordering, scope: Scope) {
        self.check_watchdog();
        if self.checks != Checks::Off {
            let thread = self.thread();
            self.analysis.borrow_mut().sync.fence(thread, order, scope.into());
            self.learn_of_visitors(thread);
        }
    }

    /// The memory that contains an address.
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
}
