//! Asynchronous operations as pseudo-threads: bulk copies, and shared-memory reads of `wgmma`.
//!
//! An operation that runs beside its thread is an *agent* with a clock of its own. It starts with its issuers'
//! knowledge, and its accesses are checked when it starts; a thread that waits for its end acquires it. An access that
//! is not ordered with it is thus a race like that of two threads.
//!
//! A barrier of the block waits for no agent. It orders an agent's accesses only if some thread had acquired it before;
//! the other agents get a new epoch, and their accesses are entered into the shadow once more, so that they do not
//! count as before the barrier.
//!
//! Numbers are reused: an agent's number serves another operation of the same issuer once the issuer knows the agent's
//! end. The new operation is ordered after the old one, like two accesses of one thread. With more than 1,024
//! operations that run at once, or that no thread has waited for, some share a number, and races among those are not
//! found.
//!
//! A *visitor* is a thread of another block of the cluster in this block's shared memory. It has one agent, whose
//! operations are its accesses, one after the other.
//!
//! Also here: the order between the generic and the async proxy (PTX ISA, "Async proxy": accesses through the one and
//! the other need a fence between). A write counts as fenced when its own thread has executed the fence after it. A
//! read may be overwritten through the async proxy when a fence of any thread is between the two.

use std::collections::VecDeque;

use super::Op;
use super::clock::{BlockClock, Clocks};
use super::sync_vars::{Publication, Synchronization};

/// One operation of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The agent's number among the threads of its block.
    pub(crate) agent: u16,
    incarnation: u32,
    /// For an operation of another block: it knows of this block's barriers those before this epoch
    /// ([`Clocks::as_remote`]).
    pub(crate) below: Option<u32>,
}

/// A range of memory that an agent accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// An offset in shared memory, or an address in global memory.
    pub(crate) place: Place,
    /// How many bytes.
    pub(crate) bytes: usize,
    /// What it does.
    pub(crate) op: Op,
    /// The source line of the operation.
    pub(crate) location: &'static std::panic::Location<'static>,
}

/// The memory of a [`Mark`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// An offset in the block's shared memory.
    Shared(usize),
    /// An address in global memory.
    Global(usize),
}

struct Agent {
    issuer: u16,
    /// The issuer's block, if it is another one.
    origin: Origin,
    /// By incarnation, the epoch of its accesses.
    epochs: Vec<u32>,
    /// Accesses that may still have to be carried over a barrier, by incarnation.
    marks: Vec<(u32, Mark)>,
}

/// The block of an agent's issuer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// This one.
    Own,
    /// The one of this rank in the cluster.
    Remote(u32),
    /// The same; the agent is a visitor's.
    Visitor(u32),
}

/// A fence of the async proxy, with its thread's knowledge.
struct ProxyFence {
    /// The epoch that began with it.
    epoch: u32,
    /// It follows all accesses before this epoch.
    below: u32,
    /// And these.
    known: BlockClock,
}

/// The agents of the block that a worker runs.
#[derive(Default)]
pub(crate) struct Agents {
    first: u16,
    agents: Vec<Agent>,
    /// By thread, the epochs that began with its fences of the async proxy, ascending.
    fences: Vec<Vec<u32>>,
    /// By thread, its latest fences.
    latest_fences: Vec<VecDeque<ProxyFence>>,
}

impl Agents {
    const MOST: usize = 1024;
    /// Fences of a thread whose knowledge is kept.
    const KEPT_FENCES: usize = 4;

    /// Starts a block: no agents, no fences.
    pub(crate) fn start_block(&mut self, first: u16) {
        self.first = first;
        self.agents.clear();
        self.fences.clear();
        self.latest_fences.clear();
    }

    /// Starts an operation that `issuers` issue together, ordered after all earlier accesses of each of them.
    pub(crate) fn start(
        &mut self,
        sync: &mut Synchronization,
        issuers: impl Iterator<Item = u16> + Clone,
    ) -> Operation {
        let issuer = issuers.clone().next().unwrap_or_default();
        let index = self.number(issuer, Origin::Own, |agent, epoch| {
            sync.clocks.ordered(agent, epoch, issuer)
        });
        let epoch = sync.fork(self.first + index as u16, issuers);
        self.agents[index].marks.clear();
        self.begin(index, epoch, None)
    }

    /// Starts an operation that thread `issuer` of the block of rank `rank` issues, ordered after its publication.
    pub(crate) fn start_remote(
        &mut self,
        sync: &mut Synchronization,
        (rank, issuer): (u32, u16),
        published: &Publication,
    ) -> Operation {
        let index = self.number(issuer, Origin::Remote(rank), |agent, epoch| {
            sync.is_published(published, agent, epoch)
        });
        let epoch = sync.fork_from(self.first + index as u16, published);
        self.agents[index].marks.clear();
        self.begin(index, epoch, Some(sync.published_below(published)))
    }

    /// Starts an access of thread `visitor` of the block of rank `rank`, ordered after its publication and its earlier
    /// accesses.
    pub(crate) fn visit(
        &mut self,
        sync: &mut Synchronization,
        (rank, visitor): (u32, u16),
        published: &Publication,
    ) -> Operation {
        let index = self.number(visitor, Origin::Visitor(rank), |_, _| true);
        let epoch = sync.fork_from(self.first + index as u16, published);
        self.begin(index, epoch, Some(sync.published_below(published)))
    }

    /// The rank of the issuer's block, if `thread` is an agent of another block.
    pub(crate) fn rank_of(&self, thread: u16) -> Option<u32> {
        let agent = self.agents.get(usize::from(thread.checked_sub(self.first)?))?;
        match agent.origin {
            Origin::Remote(rank) | Origin::Visitor(rank) => Some(rank),
            Origin::Own => None,
        }
    }

    /// An agent for an operation: one of the issuer's whose last operation it knows to be over, or a new one.
    fn number(&mut self, issuer: u16, origin: Origin, is_over: impl Fn(u16, u32) -> bool) -> usize {
        let first = self.first;
        let fits = |(index, of): (usize, &Agent)| {
            let epoch = of.epochs.last().copied().unwrap_or_default();
            (of.issuer, of.origin) == (issuer, origin) && is_over(first + index as u16, epoch)
        };
        self.agents.iter().enumerate().position(fits).unwrap_or_else(|| {
            if self.agents.len() == Self::MOST {
                return usize::from(issuer) % Self::MOST;
            }
            self.agents.push(Agent {
                issuer,
                origin,
                epochs: Vec::new(),
                marks: Vec::new(),
            });
            self.agents.len() - 1
        })
    }

    fn begin(&mut self, index: usize, epoch: u32, below: Option<u32>) -> Operation {
        let of = &mut self.agents[index];
        of.epochs.push(epoch);
        Operation {
            agent: self.first + index as u16,
            incarnation: (of.epochs.len() - 1) as u32,
            below,
        }
    }

    /// Records an access of the operation.
    pub(crate) fn mark(&mut self, operation: Operation, mark: Mark) {
        let of = &mut self.agents[usize::from(operation.agent - self.first)];
        of.marks.push((operation.incarnation, mark));
    }

    /// Orders the operation before the later accesses of `thread`: it has waited for its end.
    pub(crate) fn acquire(&self, clocks: &mut Clocks, thread: u16, operation: Operation) {
        let epochs = &self.agents[usize::from(operation.agent - self.first)].epochs;
        clocks.acquire_agent(thread, operation.agent, epochs[operation.incarnation as usize]);
    }

    /// The thread itself, or the issuer if `thread` is an agent.
    pub(crate) fn issuer(&self, thread: u16) -> u16 {
        match thread
            .checked_sub(self.first)
            .map(|agent| self.agents.get(usize::from(agent)))
        {
            None => thread,
            Some(of) => of.map_or(0, |of| of.issuer),
        }
    }

    /// Before a barrier of `threads` threads: forgets the operations that one of them has waited for, which the barrier
    /// orders for all.
    pub(crate) fn before_barrier(&mut self, clocks: &Clocks, threads: u16) {
        for (agent, of) in (self.first..).zip(&mut self.agents) {
            let is_over = |incarnation: u32| {
                let epoch = of.epochs[incarnation as usize];
                (0..threads).any(|thread| clocks.ordered(agent, epoch, thread))
            };
            // The later ones follow.
            let over = of
                .marks
                .chunk_by(|(a, _), (b, _)| a == b)
                .filter(|same| is_over(same[0].0));
            let over: usize = over.map(<[_]>::len).sum();
            of.marks.drain(..over);
        }
    }

    /// After a barrier: gives the other operations new epochs. Returns their accesses, to be entered into the shadow
    /// again, with agent and epoch.
    pub(crate) fn after_barrier(&mut self, clocks: &mut Clocks) -> Vec<(u16, u32, Mark)> {
        let mut marks = Vec::new();
        for (agent, of) in (self.first..).zip(&mut self.agents) {
            for same in of.marks.chunk_by(|(a, _), (b, _)| a == b) {
                let epoch = clocks.advance_epoch(agent);
                of.epochs[same[0].0 as usize] = epoch;
                marks.extend(same.iter().map(|&(_, mark)| (agent, epoch, mark)));
            }
        }
        marks
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Executes `fence.proxy.async` of `thread`.
    pub(crate) fn fence(&mut self, clocks: &mut Clocks, thread: u16) {
        let index = usize::from(thread);
        if self.fences.len() <= index {
            self.fences.resize_with(index + 1, Vec::new);
            self.latest_fences.resize_with(index + 1, VecDeque::new);
        }
        let (below, known) = (clocks.interval_start(), clocks.release(thread));
        let epoch = clocks.epoch(thread);
        self.fences[index].push(epoch);
        let latest = &mut self.latest_fences[index];
        if latest.len() == Self::KEPT_FENCES {
            latest.pop_front();
        }
        latest.push_back(ProxyFence { epoch, below, known });
    }

    /// Whether the accesses of `agent` through the async proxy see the write of `writer` at `epoch`: if the writer is a
    /// thread, it must have executed a fence since, and the agent must be ordered after that fence.
    pub(crate) fn sees(&self, clocks: &Clocks, agent: u16, writer: u16, epoch: u32) -> bool {
        if writer >= self.first {
            return true;
        }
        let fences = self.fences.get(usize::from(writer)).map_or(&[][..], Vec::as_slice);
        let first = fences.partition_point(|&fence| fence <= epoch);
        fences
            .get(first)
            .is_some_and(|&fence| clocks.ordered(writer, fence, agent))
    }

    /// Whether a fence is between the read of `reader` at `epoch`, which is ordered before `agent`, and the accesses of
    /// `agent` through the async proxy: a later one of the reader's own, or one of a thread that knew of the read.
    pub(crate) fn may_overwrite(&self, clocks: &Clocks, agent: u16, reader: u16, epoch: u32) -> bool {
        let mut threads = (0..).zip(&self.latest_fences);
        self.sees(clocks, agent, reader, epoch)
            || threads.any(|(thread, fences)| {
                fences.iter().any(|fence| {
                    let covers = epoch < fence.below || fence.known.includes(reader, epoch);
                    covers && clocks.ordered(thread, fence.epoch, agent)
                })
            })
    }
}
