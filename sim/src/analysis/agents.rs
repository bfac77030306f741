//! Asynchronous operations as pseudo-threads: bulk copies, and reads of shared memory by matrix products.
//!
//! An operation that goes on while its thread does is an *agent* with a clock of its own. It starts with what its
//! issuers know, and what it accesses is looked at when it starts; whoever waits for its end acquires it. An access
//! that nothing orders with it is thus a race like that of two threads.
//!
//! A barrier of the block waits for no agent. It orders an agent's accesses only if some thread had acquired it before;
//! the others get a new stamp, and their accesses are entered into the shadow once more, so that they do not count as
//! before the barrier.
//!
//! Numbers are used again: an agent's for another operation of the same issuer, once that knows its end. What the new
//! one does is ordered after the old one, as with two accesses of one thread. Of more than 1,024 operations that go on
//! at once, or that nobody has waited for, some share a number, and races among those are not seen.
//!
//! Also here: which writes the async proxy may see (PTX ISA, "Async proxy": a fence stands between writes through the
//! generic proxy and accesses through the async proxy). A write counts as fenced when its own thread has executed the
//! fence after it.

use super::clock::Clocks;
use super::sync_vars::{Publication, Synchronization};

/// One operation of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The agent's number among the threads of its block.
    pub(crate) agent: u16,
    incarnation: u32,
    /// Of one that another block has issued: it knows of this block's barriers those before this stamp
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
    /// It writes them; otherwise it reads them.
    pub(crate) writes: bool,
    /// The source line of the operation.
    pub(crate) site: &'static std::panic::Location<'static>,
}

/// Where a [`Mark`] lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// An offset in the block's shared memory.
    Shared(usize),
    /// An address in global memory.
    Global(usize),
}

struct Agent {
    issuer: u16,
    /// The issuer is a thread of another block.
    is_remote: bool,
    /// By incarnation, the stamp of what it did.
    stamps: Vec<u32>,
    marks: Vec<Mark>,
    /// The latest operation may still have to be carried over a barrier.
    is_live: bool,
}

/// The agents of the block that a worker runs.
#[derive(Default)]
pub(crate) struct Agents {
    first: u16,
    agents: Vec<Agent>,
    /// By thread, the stamps that began with its fences of the async proxy, ascending.
    fences: Vec<Vec<u32>>,
}

impl Agents {
    const MOST: usize = 1024;

    /// Starts a block: no agents, no fences.
    pub(crate) fn start_block(&mut self, first: u16) {
        self.first = first;
        self.agents.clear();
        self.fences.clear();
    }

    /// An operation starts that `issuers` have issued together, each of them after all that it did.
    pub(crate) fn start(
        &mut self,
        sync: &mut Synchronization,
        issuers: impl Iterator<Item = u16> + Clone,
    ) -> Operation {
        let issuer = issuers.clone().next().unwrap_or_default();
        let index = self.number(issuer, false, |agent, stamp| sync.clocks.ordered(agent, stamp, issuer));
        let stamp = sync.fork(self.first + index as u16, issuers);
        self.begin(index, stamp, None)
    }

    /// An operation starts that `issuer` of another block has issued, after all that it has published.
    pub(crate) fn start_remote(
        &mut self,
        sync: &mut Synchronization,
        issuer: u16,
        published: &Publication,
    ) -> Operation {
        let index = self.number(issuer, true, |agent, stamp| sync.is_published(published, agent, stamp));
        let stamp = sync.fork_from(self.first + index as u16, published);
        self.begin(index, stamp, Some(sync.published_below(published)))
    }

    /// An agent for an operation: one of the issuer whose last operation it knows the end of, or a new one.
    fn number(&mut self, issuer: u16, is_remote: bool, is_over: impl Fn(u16, u32) -> bool) -> usize {
        let first = self.first;
        let fits = |(index, of): (usize, &Agent)| {
            let stamp = of.stamps.last().copied().unwrap_or_default();
            (of.issuer, of.is_remote) == (issuer, is_remote) && is_over(first + index as u16, stamp)
        };
        self.agents.iter().enumerate().position(fits).unwrap_or_else(|| {
            if self.agents.len() == Self::MOST {
                return usize::from(issuer) % Self::MOST;
            }
            self.agents.push(Agent {
                issuer,
                is_remote,
                stamps: Vec::new(),
                marks: Vec::new(),
                is_live: false,
            });
            self.agents.len() - 1
        })
    }

    fn begin(&mut self, index: usize, stamp: u32, below: Option<u32>) -> Operation {
        let of = &mut self.agents[index];
        of.stamps.push(stamp);
        of.marks.clear();
        of.is_live = true;
        Operation {
            agent: self.first + index as u16,
            incarnation: (of.stamps.len() - 1) as u32,
            below,
        }
    }

    /// The operation accesses a range of memory.
    pub(crate) fn mark(&mut self, operation: Operation, mark: Mark) {
        self.agents[usize::from(operation.agent - self.first)].marks.push(mark);
    }

    /// `thread` learns that the operation has ended.
    pub(crate) fn acquire(&self, clocks: &mut Clocks, thread: u16, operation: Operation) {
        let stamps = &self.agents[usize::from(operation.agent - self.first)].stamps;
        clocks.acquire_agent(thread, operation.agent, stamps[operation.incarnation as usize]);
    }

    /// The thread that `thread` did something for: itself, or the issuer of an agent.
    pub(crate) fn issuer(&self, thread: u16) -> u16 {
        match thread
            .checked_sub(self.first)
            .map(|agent| self.agents.get(usize::from(agent)))
        {
            None => thread,
            Some(of) => of.map_or(0, |of| of.issuer),
        }
    }

    /// Before a barrier of `threads` threads: forgets what one of them has waited for, which the barrier orders for
    /// all.
    pub(crate) fn before_barrier(&mut self, clocks: &Clocks, threads: u16) {
        for (index, of) in self.agents.iter_mut().enumerate().filter(|(_, of)| of.is_live) {
            let (agent, stamp) = (self.first + index as u16, of.stamps[of.stamps.len() - 1]);
            if (0..threads).any(|thread| clocks.ordered(agent, stamp, thread)) {
                of.is_live = false;
                of.marks.clear();
            }
        }
    }

    /// After a barrier: gives the others a new stamp. Returns what they access, with their numbers, to be entered into
    /// the shadow again.
    pub(crate) fn after_barrier(&mut self, clocks: &mut Clocks) -> Vec<(u16, Mark)> {
        let mut marks = Vec::new();
        for (index, of) in self.agents.iter_mut().enumerate().filter(|(_, of)| of.is_live) {
            let agent = self.first + index as u16;
            let latest = of.stamps.len() - 1;
            of.stamps[latest] = clocks.restamp(agent);
            marks.extend(of.marks.iter().map(|&mark| (agent, mark)));
        }
        marks
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// `thread` executes a fence between the generic and the async proxy.
    pub(crate) fn fence(&mut self, clocks: &mut Clocks, thread: u16) {
        let index = usize::from(thread);
        if self.fences.len() <= index {
            self.fences.resize_with(index + 1, Vec::new);
        }
        self.fences[index].push(clocks.restamp(thread));
    }

    /// Whether the async proxy sees, in what `agent` does, what `writer` wrote at `stamp`: if that is a thread it has
    /// executed a fence since, and the agent is ordered after it.
    pub(crate) fn sees(&self, clocks: &Clocks, agent: u16, writer: u16, stamp: u32) -> bool {
        if writer >= self.first {
            return true;
        }
        let fences = self.fences.get(usize::from(writer)).map_or(&[][..], Vec::as_slice);
        let first = fences.partition_point(|&fence| fence <= stamp);
        fences
            .get(first)
            .is_some_and(|&fence| clocks.ordered(writer, fence, agent))
    }
}
