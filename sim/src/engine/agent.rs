//! Accesses of asynchronous operations, each of which is an agent ([`Agents`](crate::analysis::agents::Agents)).

use std::panic::Location;

use crate::access::{AccessKind, Space};
use crate::analysis::Op;
use crate::analysis::agents::{Mark, Operation, Place};
use crate::analysis::clock::Clocks;
use crate::analysis::global_shadow::GlobalAccess;
use crate::analysis::shadow::Conflict;
use crate::analysis::sites::{SiteKind, SiteSpace};
use crate::fault::{FaultKind, OtherAccess};
use crate::launch::Checks;

use super::slot::{Analysis, Slot};

/// What a range that an operation accesses is to the table of sites: as many bytes as one transaction of a bulk copy.
fn site_kind(mark: &Mark) -> SiteKind {
    SiteKind {
        space: match mark.place {
            Place::Shared(_) => SiteSpace::Shared,
            Place::Global(_) => SiteSpace::Global,
        },
        op: mark.op(),
        bytes: 16,
    }
}

impl Mark {
    fn op(&self) -> Op {
        if self.writes { Op::Write } else { Op::Read }
    }
}

impl Slot {
    /// An operation starts that `issuers` have issued together.
    pub(super) fn start_operation(&self, issuers: impl Iterator<Item = u16> + Clone) -> Operation {
        let Analysis { agents, sync, .. } = &mut *self.analysis.borrow_mut();
        agents.start(sync, issuers)
    }

    /// `thread` has waited for the operation.
    pub(super) fn acquire_operation(&self, thread: u16, operation: Operation) {
        let Analysis { agents, sync, .. } = &mut *self.analysis.borrow_mut();
        agents.acquire(&mut sync.clocks, thread, operation);
    }

    /// The operation accesses the `bytes` bytes of shared memory from `offset` on. Faults are those of the running
    /// thread.
    pub(super) fn operation_on_shared(
        &self,
        operation: Operation,
        writes: bool,
        offset: usize,
        bytes: usize,
        site: &'static Location<'static>,
    ) {
        if self.checks == Checks::Off {
            return;
        }
        let mark = Mark {
            place: Place::Shared(offset),
            bytes,
            writes,
            site,
        };
        let (pending, verdict, conflict, unfenced) = {
            let Analysis {
                sites,
                sync,
                shadow,
                in_flight,
                agents,
                ..
            } = &mut *self.analysis.borrow_mut();
            let id = sites.id(site, site_kind(&mark));
            let agent = operation.agent;
            let pending = in_flight.find(offset, bytes);
            let unseen =
                |&(conflict, stamp): &(Conflict, u32)| !agents.sees(&sync.clocks, agent, conflict.thread, stamp);
            let unfenced = if writes {
                None
            } else {
                shadow.last_writes(offset, bytes).find(unseen)
            };
            let look = |clocks: &Clocks| shadow.access(clocks, offset, bytes, agent, mark.op(), id);
            let verdict = sync.clocks.as_remote(operation.below, look);
            agents.mark(operation, mark);
            let other = |conflict: Conflict| OtherAccess {
                access: Some(conflict.op.into()),
                block: self.block_idx.get(),
                thread: self.thread_position(agents.issuer(conflict.thread).into()),
                site: sites.get(conflict.site).0.into(),
            };
            let unfenced = unfenced.map(|(conflict, _)| other(conflict));
            (pending, verdict, verdict.conflict.map(other), unfenced)
        };
        let real = self.real_offset(offset);
        if let Some(pending) = pending {
            self.meets_copy(mark.op(), offset, pending, site);
        } else if verdict.uninitialized {
            let (space, offset) = (Space::Shared, real);
            self.fault(FaultKind::UninitializedRead { space, offset }, Some(site), None);
        }
        if conflict.is_some() {
            let (access, offset) = (mark.op().into(), real);
            self.fault(FaultKind::SharedRace { access, offset }, Some(site), conflict);
        } else if unfenced.is_some() {
            self.fault(FaultKind::MissingProxyFence { offset: real }, Some(site), unfenced);
        }
    }

    /// The operation accesses the `bytes` bytes of global memory from `address` on.
    pub(super) fn operation_on_global(
        &self,
        operation: Operation,
        writes: bool,
        address: usize,
        bytes: usize,
        site: &'static Location<'static>,
    ) {
        if self.checks == Checks::Off {
            return;
        }
        let mark = Mark {
            place: Place::Global(address),
            bytes,
            writes,
            site,
        };
        let op = mark.op();
        let Some(touched) = self.buffer_of(address) else {
            self.outside_buffers(op, address, bytes, site)
        };
        let allocation = &touched.allocation;
        let offset = address - allocation.address();
        if offset + bytes > allocation.bytes() {
            self.outside_buffers(op, address, bytes, site);
        }
        if allocation.is_padding(offset, bytes) {
            let bound = format!("at byte {offset} of the buffer, in the padding between the rows of a matrix");
            self.out_of_bounds(Space::Global, op, bytes, bound, site);
        }
        if writes {
            (offset..offset + bytes).for_each(|byte| allocation.set_written(byte, 1));
        } else if !allocation.is_written(offset, bytes) {
            let (space, offset) = (Space::Global, offset as u64);
            self.fault(FaultKind::UninitializedRead { space, offset }, Some(site), None);
        }
        self.analysis.borrow_mut().agents.mark(operation, mark);
        if let Some(conflict) = self.enter_global(operation.agent, &mark) {
            self.global_race(op, offset, Some(conflict), site);
        }
    }

    /// Enters an agent's access to global memory into the shadow.
    fn enter_global(&self, agent: u16, mark: &Mark) -> Option<crate::analysis::global_shadow::GlobalConflict> {
        let Place::Global(address) = mark.place else {
            return None;
        };
        let touched = self.buffer_of(address)?;
        let Analysis { sites, sync, .. } = &mut *self.analysis.borrow_mut();
        let id = sites.id(mark.site, site_kind(mark));
        let who = GlobalAccess {
            block: self.block.get(),
            thread: agent,
            stamp: sync.clocks.stamp(agent),
            op: mark.op(),
            site: self.run_site(id, mark.site),
            knows_blocks: sync.knows_blocks(agent),
        };
        touched.shadow.access(
            who,
            address - touched.allocation.address(),
            mark.bytes,
            |earlier, stamp| sync.clocks.ordered(earlier, stamp, agent),
            |block, earlier, stamp| sync.ordered_in_grid(agent, block, earlier, stamp),
        )
    }

    /// The barrier of the block opens: orders its threads, and carries over what none of them has waited for.
    pub(super) fn order_by_barrier(&self) {
        let marks = {
            let Analysis {
                sync, agents, traffic, ..
            } = &mut *self.analysis.borrow_mut();
            traffic.barrier();
            if agents.is_empty() {
                return sync.barrier();
            }
            agents.before_barrier(&sync.clocks, self.threads.len() as u16);
            sync.barrier();
            agents.after_barrier(&mut sync.clocks)
        };
        // Their races have been reported.
        for (agent, mark) in marks {
            if let Place::Shared(offset) = mark.place {
                let Analysis {
                    sites, sync, shadow, ..
                } = &mut *self.analysis.borrow_mut();
                let id = sites.id(mark.site, site_kind(&mark));
                shadow.access(&sync.clocks, offset, mark.bytes, agent, mark.op(), id);
            } else {
                self.enter_global(agent, &mark);
            }
        }
    }

    /// `fence.proxy.async`: what the thread has written is visible to the async proxy.
    pub(crate) fn proxy_fence(&self) {
        self.check_watch();
        let thread = self.thread.get() as u16;
        let Analysis {
            agents,
            sync,
            mbarriers,
            ..
        } = &mut *self.analysis.borrow_mut();
        agents.fence(&mut sync.clocks, thread);
        mbarriers.values_mut().for_each(|mbarrier| mbarrier.fence(thread));
    }

    /// Where a range of shared memory that an operation accesses starts, without the arena's gaps.
    pub(super) fn operand_in_shared(
        &self,
        kind: AccessKind,
        address: usize,
        bytes: usize,
        site: &'static Location<'static>,
    ) -> usize {
        let op = if kind == AccessKind::Read { Op::Read } else { Op::Write };
        match self.shared_offset(address, bytes) {
            Some(offset) => self.compact_offset(offset),
            None => self.outside_shared(op, address, bytes, site),
        }
    }
}
