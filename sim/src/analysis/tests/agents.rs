//! Agents: what orders them, when their numbers are used again, and which writes they see.

use std::panic::Location;

use crate::analysis::Op;
use crate::analysis::agents::{Agents, Mark, Operation, Place};
use crate::analysis::sync_vars::Synchronization;

/// Block 5 of 64 threads, and its agents.
fn block() -> (Synchronization, Agents) {
    let (mut sync, mut agents) = (Synchronization::new(), Agents::default());
    sync.start_block(5, 64);
    agents.start_block(sync.clocks.first_agent());
    (sync, agents)
}

fn start(sync: &mut Synchronization, agents: &mut Agents, issuer: u16) -> Operation {
    agents.start(sync, std::iter::once(issuer))
}

/// Whether what `earlier` does at `epoch` is ordered before what `later` does now.
fn ordered(sync: &Synchronization, earlier: u16, epoch: u32, later: u16) -> bool {
    sync.clocks.ordered(earlier, epoch, later)
}

#[test]
fn an_agent_follows_what_its_issuer_did_and_nothing_later() {
    let (mut sync, mut agents) = block();
    let before = sync.clocks.epoch(3);
    let other = sync.clocks.epoch(40);
    let agent = start(&mut sync, &mut agents, 3).agent;
    assert_eq!(agent, 64);
    assert!(ordered(&sync, 3, before, agent));
    assert!(!ordered(&sync, 3, sync.clocks.epoch(3), agent));
    assert!(!ordered(&sync, 40, other, agent));
    assert!(
        !ordered(&sync, agent, sync.clocks.epoch(agent), 3),
        "no thread has waited"
    );
}

#[test]
fn an_agent_of_several_follows_what_all_of_them_know() {
    let (mut sync, mut agents) = block();
    let written = sync.clocks.epoch(40);
    let published = sync.release_to_block(40);
    sync.acquire(0, &published);
    let one_knows = agents.start(&mut sync, 0..2).agent;
    assert!(!ordered(&sync, 40, written, one_knows));
    sync.acquire(1, &published);
    let both_know = agents.start(&mut sync, 0..2).agent;
    assert!(ordered(&sync, 40, written, both_know));
    let own = sync.clocks.epoch(0);
    sync.barrier();
    let after_a_barrier = agents.start(&mut sync, 0..2).agent;
    assert!(ordered(&sync, 0, own, after_a_barrier));
}

#[test]
fn a_barrier_orders_only_what_somebody_has_waited_for() {
    let (mut sync, mut agents) = block();
    let location = Location::caller();
    let operations = [3, 4].map(|issuer| start(&mut sync, &mut agents, issuer));
    for operation in operations {
        let mark = Mark {
            place: Place::Shared(16),
            bytes: 16,
            op: Op::Write,
            location,
        };
        agents.mark(operation, mark);
    }
    agents.acquire(&mut sync.clocks, 9, operations[0]);
    agents.before_barrier(&sync.clocks, 64);
    sync.barrier();
    let carried: Vec<u16> = agents
        .after_barrier(&mut sync.clocks)
        .iter()
        .map(|(agent, ..)| *agent)
        .collect();
    assert_eq!(carried, [operations[1].agent]);
    let epoch = sync.clocks.epoch(operations[1].agent);
    assert!(!ordered(&sync, operations[1].agent, epoch, 9));
    // A thread that waits after the barrier knows the new epoch.
    agents.acquire(&mut sync.clocks, 9, operations[1]);
    assert!(ordered(&sync, operations[1].agent, epoch, 9));
}

#[test]
fn a_number_is_used_again_once_its_issuer_knows_the_end() {
    let (mut sync, mut agents) = block();
    let first = start(&mut sync, &mut agents, 3);
    let second = start(&mut sync, &mut agents, 3);
    assert_ne!(first.agent, second.agent);
    agents.acquire(&mut sync.clocks, 7, first);
    assert!(![first.agent, second.agent].contains(&start(&mut sync, &mut agents, 3).agent));
    let published = sync.release_to_block(7);
    sync.acquire(3, &published);
    let again = start(&mut sync, &mut agents, 3);
    assert_eq!(again.agent, first.agent);
    assert_ne!(
        start(&mut sync, &mut agents, 8).agent,
        second.agent,
        "it is of another issuer"
    );
    // An old end is still the old one's.
    let epoch = sync.clocks.epoch(again.agent);
    agents.acquire(&mut sync.clocks, 20, first);
    assert!(!ordered(&sync, again.agent, epoch, 20));
    for _ in 0..200 {
        let operation = start(&mut sync, &mut agents, 8);
        agents.acquire(&mut sync.clocks, 8, operation);
    }
    assert!(
        start(&mut sync, &mut agents, 8).agent < 64 + 8,
        "a ring needs no more than its stages"
    );
}

#[test]
fn more_agents_than_a_warp_are_told_apart() {
    let (mut sync, mut agents) = block();
    let operations: Vec<_> = (0..100).map(|_| start(&mut sync, &mut agents, 3)).collect();
    agents.acquire(&mut sync.clocks, 9, operations[77]);
    for (i, operation) in operations.iter().enumerate() {
        let epoch = sync.clocks.epoch(operation.agent);
        assert_eq!(ordered(&sync, operation.agent, epoch, 9), i == 77);
    }
}

#[test]
fn the_async_proxy_sees_what_its_writer_has_fenced() {
    let (mut sync, mut agents) = block();
    let written = sync.clocks.epoch(3);
    let agent = start(&mut sync, &mut agents, 3).agent;
    assert!(!agents.sees(&sync.clocks, agent, 3, written), "no fence");
    agents.fence(&mut sync.clocks, 3);
    assert!(!agents.sees(&sync.clocks, agent, 3, written), "the fence came later");
    let after = sync.clocks.epoch(3);
    let agent = start(&mut sync, &mut agents, 3).agent;
    assert!(agents.sees(&sync.clocks, agent, 3, written));
    assert!(!agents.sees(&sync.clocks, agent, 3, after), "the fence came before");
    // A fence is ordered as the writes before it are.
    let other = start(&mut sync, &mut agents, 4).agent;
    assert!(!agents.sees(&sync.clocks, other, 3, written));
    sync.barrier();
    let other = start(&mut sync, &mut agents, 4).agent;
    assert!(agents.sees(&sync.clocks, other, 3, written));
    assert!(agents.sees(&sync.clocks, other, agent, 0), "a copy's writes need none");
}

#[test]
fn an_agent_of_another_block_knows_what_that_was_told() {
    let (mut sync, mut agents) = block();
    let mut other = Synchronization::new();
    other.start_block(6, 64);
    let early = sync.clocks.epoch(3);
    sync.barrier();
    let late = sync.clocks.epoch(3);
    let told = sync.release_to_cluster(3);
    sync.barrier();
    let unheard = sync.clocks.epoch(3);
    sync.barrier();
    let knows = |sync: &mut Synchronization, operation: Operation, epoch: u32| {
        let agent = operation.agent;
        sync.clocks
            .as_remote(operation.below, |clocks| clocks.ordered(3, epoch, agent))
    };
    let published = other.release_to_cluster(0);
    let operation = agents.start_remote(&mut sync, (1, 0), &published);
    assert!(
        ![early, late, unheard]
            .into_iter()
            .any(|epoch| knows(&mut sync, operation, epoch))
    );
    other.acquire(0, &told);
    let published = other.release_to_cluster(0);
    let operation = agents.start_remote(&mut sync, (1, 0), &published);
    assert_eq!(
        [early, late, unheard].map(|epoch| knows(&mut sync, operation, epoch)),
        [true, true, false]
    );
}
