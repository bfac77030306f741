//! Accesses of asynchronous operations, each of which is an agent ([`Agents`](crate::analysis::agents::Agents)).

use std::ops::Range;
use std::panic::Location;

use crate::access::Space;
use crate::analysis::Op;
use crate::analysis::agents::{Mark, Operation, Place};
use crate::analysis::clock::Clocks;
use crate::analysis::shadow::Conflict;
use crate::analysis::source_locations::AccessClass;
use crate::analysis::sync_vars::Publication;
use crate::fault::FaultKind;
use crate::launch::Checks;

use super::BlockContext;
use super::analysis::Analysis;
use super::global_memory::GlobalAccessor;

/// How an operation accesses shared memory (PTX ISA, "Async proxy").
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Proxy {
    /// As loads and stores do.
    Generic,
    /// As bulk copies and `wgmma` do.
    Async,
}

impl Mark {
    /// The class of the access: as many bytes as one transaction of a bulk copy has.
    fn class(&self) -> AccessClass {
        let space = match self.place {
            Place::Shared(_) => Space::Shared,
            Place::Global(_) => Space::Global,
        };
        AccessClass::of_lanes(space, self.op, 16)
    }
}

impl BlockContext {
    /// Starts an operation that `issuers` issue together.
    pub(super) fn start_operation(&self, issuers: impl Iterator<Item = u16> + Clone) -> Operation {
        let Analysis { agents, sync, .. } = &mut *self.analysis.borrow_mut();
        agents.start(sync, issuers)
    }

    /// Starts an operation that `issuer`, rank and thread of another block of the cluster, issues, which has published
    /// `published`.
    pub(super) fn start_remote_operation(&self, issuer: (u32, u16), published: &Publication) -> Operation {
        let Analysis { agents, sync, .. } = &mut *self.analysis.borrow_mut();
        agents.start_remote(sync, issuer, published)
    }

    /// Orders the operation before everything that `thread` does from here on: the thread has waited for it.
    pub(super) fn acquire_operation(&self, thread: u16, operation: Operation) {
        let Analysis { agents, sync, .. } = &mut *self.analysis.borrow_mut();
        agents.acquire(&mut sync.clocks, thread, operation);
    }

    /// Checks the operation's access through `proxy` to the `bytes` bytes of shared memory from `offset` on. Faults are
    /// recorded for the running thread.
    pub(super) fn operation_on_shared(
        &self,
        operation: Operation,
        (op, proxy): (Op, Proxy),
        offset: usize,
        bytes: usize,
        location: &'static Location<'static>,
    ) {
        if self.checks == Checks::Off {
            return;
        }
        let mark = Mark {
            place: Place::Shared(offset),
            bytes,
            op,
            location,
        };
        let (pending, verdict, conflict, unfenced, overwritten) = {
            let analysis = &mut *self.analysis.borrow_mut();
            let id = analysis.locations.id(location, mark.class());
            let agent = operation.agent;
            let pending = analysis.in_flight.find(offset, bytes);
            let Analysis {
                sync, shadow, agents, ..
            } = analysis;
            let is_unfenced =
                |&(conflict, epoch): &(Conflict, u32)| !agents.sees(&sync.clocks, agent, conflict.thread, epoch);
            let is_async = proxy == Proxy::Async;
            let unfenced = (is_async && !op.writes())
                .then(|| shadow.last_writes(offset, bytes).find(is_unfenced))
                .flatten();
            let (verdict, overwritten) = sync.clocks.as_remote(operation.below, |clocks: &Clocks| {
                let is_unfenced =
                    |&(read, epoch): &(Conflict, u32)| !agents.may_overwrite(clocks, agent, read.thread, epoch);
                let overwritten = (is_async && op.writes())
                    .then(|| shadow.last_reads(offset, bytes).find(is_unfenced))
                    .flatten();
                (shadow.access(clocks, offset, bytes, agent, op, id), overwritten)
            });
            agents.mark(operation, mark);
            let other = |conflict| self.other_access(analysis, conflict);
            let unfenced = unfenced.map(|(conflict, _)| other(conflict));
            let overwritten = overwritten.map(|(conflict, _)| other(conflict));
            (pending, verdict, verdict.conflict.map(other), unfenced, overwritten)
        };
        let uninitialized = match pending {
            Some(pending) => {
                self.access_to_pending(op, offset, pending, location);
                false
            }
            None => verdict.uninitialized,
        };
        let races = conflict.is_some();
        if uninitialized || races {
            self.shared_faults(op, offset, uninitialized, conflict, location);
        }
        if !races && unfenced.is_some() {
            let offset = self.reported_offset(offset);
            self.fault(FaultKind::MissingProxyFence { offset }, Some(location), unfenced);
        }
        if !races && overwritten.is_some() {
            let offset = self.reported_offset(offset);
            self.fault(FaultKind::CrossProxyWar { offset }, Some(location), overwritten);
        }
    }

    /// Checks the order of the operation's read of shared memory, whose bytes are discarded: they need no contents, and
    /// no fence.
    pub(super) fn discarded_read(
        &self,
        operation: Operation,
        offsets: Range<usize>,
        location: &'static Location<'static>,
    ) {
        if self.checks == Checks::Off || offsets.is_empty() {
            return;
        }
        let (offset, bytes, op) = (offsets.start, offsets.len(), Op::Read);
        let mark = Mark {
            place: Place::Shared(offset),
            bytes,
            op,
            location,
        };
        let conflict = {
            let analysis = &mut *self.analysis.borrow_mut();
            let id = analysis.locations.id(location, mark.class());
            let Analysis {
                sync, shadow, agents, ..
            } = analysis;
            let verdict = sync.clocks.as_remote(operation.below, |clocks: &Clocks| {
                shadow.access(clocks, offset, bytes, operation.agent, op, id)
            });
            agents.mark(operation, mark);
            verdict.conflict.map(|conflict| self.other_access(analysis, conflict))
        };
        if conflict.is_some() {
            self.shared_faults(op, offset, false, conflict, location);
        }
    }

    /// Checks the operation's access to the `bytes` bytes of global memory from `address` on.
    pub(super) fn operation_on_global(
        &self,
        operation: Operation,
        op: Op,
        address: usize,
        bytes: usize,
        location: &'static Location<'static>,
    ) {
        if self.checks == Checks::Off {
            return;
        }
        let mark = Mark {
            place: Place::Global(address),
            bytes,
            op,
            location,
        };
        let Some(buffer) = self.buffer_of(address) else {
            self.outside_buffers(op, address, bytes, location)
        };
        let offset = self.offset_in_buffer(buffer, op, address, bytes, location);
        let allocation = &buffer.allocation;
        if op.writes() {
            (offset..offset + bytes).for_each(|byte| allocation.set_written(byte, 1));
        } else if !allocation.is_written(offset, bytes) {
            self.uninitialized_read(Space::Global, offset as u64, location);
        }
        let conflict = {
            let analysis = &mut *self.analysis.borrow_mut();
            analysis.agents.mark(operation, mark);
            let accessor = GlobalAccessor {
                thread: operation.agent,
                op,
                id: analysis.locations.id(location, mark.class()),
                location,
            };
            self.enter_global(buffer, &analysis.sync, accessor, offset, bytes)
        };
        if conflict.is_some() {
            self.global_race(op, offset, conflict, location);
        }
    }

    /// Completes the block's barrier: orders its threads, and enters the accesses of operations that no thread has
    /// waited for once more, so that the barrier does not order them.
    pub(super) fn order_by_barrier(&self) {
        let analysis = &mut *self.analysis.borrow_mut();
        analysis.traffic.barrier();
        if analysis.agents.is_empty() {
            return analysis.sync.barrier();
        }
        let threads = self.threads.len() as u16;
        analysis.agents.before_barrier(&analysis.sync.clocks, threads);
        analysis.sync.barrier();
        // Races among these accesses have been reported.
        for (agent, epoch, mark) in analysis.agents.after_barrier(&mut analysis.sync.clocks) {
            analysis.sync.clocks.resume_epoch(agent, epoch);
            let id = analysis.locations.id(mark.location, mark.class());
            let (op, bytes) = (mark.op, mark.bytes);
            match mark.place {
                Place::Shared(offset) => {
                    let clocks = &analysis.sync.clocks;
                    analysis.shadow.access(clocks, offset, bytes, agent, op, id);
                }
                Place::Global(address) => {
                    let Some(buffer) = self.buffer_of(address) else {
                        continue;
                    };
                    let offset = address - buffer.allocation.address();
                    let accessor = GlobalAccessor {
                        thread: agent,
                        op,
                        id,
                        location: mark.location,
                    };
                    self.enter_global(buffer, &analysis.sync, accessor, offset, bytes);
                }
            }
        }
    }

    /// `fence.proxy.async`: the thread's writes become visible to the async proxy.
    pub(crate) fn proxy_fence(&self) {
        self.check_watchdog();
        {
            let Analysis { agents, sync, .. } = &mut *self.analysis.borrow_mut();
            agents.fence(&mut sync.clocks, self.thread());
        }
        self.mbarrier_fence();
    }
}
