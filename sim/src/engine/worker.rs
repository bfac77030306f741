//! A worker: a thread of the operating system that runs blocks, those that wait for others in turns.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::schedule::block_at;

use super::context::{Cluster, Pause};
use super::fiber::Stacks;
use super::launched_grid::LaunchedGrid;
use super::run::Run;
use super::watchdog::Message;

/// Runs blocks until none is left to start, and none is parked.
pub(super) fn work(run: &Arc<Run>, only_block: Option<u64>, messages: &Sender<Message>) {
    let _end = EndOfWorker(messages);
    let watchdog = run.watchdog.add();
    let stacks = Rc::new(Stacks::default());
    // In the order of their turns, which is that in which they gave way.
    let mut parked: VecDeque<Cluster> = VecDeque::new();
    // By launch, ended ones, whose contexts serve other blocks.
    let mut free: Vec<Vec<Cluster>> = run.launches.iter().map(|_| Vec::new()).collect();
    let mut memory = ResidentMemory::default();
    loop {
        let mut cluster = if memory.is_left(run, parked.len())
            && let Some((position, place)) = run.grid.start()
        {
            if stacks.are_shared()
                && let Some(last) = parked.back_mut()
            {
                memory.take(last.park());
            }
            let launch = &run.launches[place.grid()];
            let made = free[place.grid()]
                .pop()
                .map_or_else(|| Cluster::new(run, launch, &watchdog, &stacks), Ok);
            let mut cluster = match made {
                Ok(cluster) => cluster,
                Err(error) => {
                    run.lack(format!("no memory for a block: {error}"));
                    run.grid.finish(&place);
                    continue;
                }
            };
            let number = match only_block {
                Some(block) => launch.config.cluster_of(block),
                None => block_at(run.schedule, position, launch.config.clusters().count()),
            };
            let size = launch.config.cluster.count().max(1);
            let blocks = (0..size).map(|rank| launch.config.block_of(number, rank));
            cluster.start(place, position, blocks);
            cluster
        } else if let Some(mut cluster) = parked.pop_front() {
            if stacks.are_shared()
                && let Some(last) = parked.back_mut()
            {
                last.park();
            }
            cluster.unpark();
            cluster
        } else {
            break;
        };
        match cluster.run() {
            Pause::GivesWay => parked.push_back(cluster),
            Pause::Over => {
                let place = cluster.finish();
                run.grid.finish(&place);
                free[place.grid()].push(cluster);
            }
        }
        watchdog.reset();
    }
    for (launch, clusters) in run.launches.iter().zip(&free) {
        let contexts = clusters.iter().flat_map(Cluster::contexts);
        contexts.for_each(|context| launch.hand_in_counts(context));
    }
    watchdog.end();
}

/// Tells the run that a worker has ended, even by a panic.
struct EndOfWorker<'a>(&'a Sender<Message>);

impl Drop for EndOfWorker<'_> {
    fn drop(&mut self) {
        drop(self.0.send(Message::Ended));
    }
}

/// The memory of a worker's blocks that wait for others.
#[derive(Default)]
struct ResidentMemory {
    used: usize,
    limit: Option<usize>,
}

impl ResidentMemory {
    /// Counts the stacks of a block, and its shared memory with the shadow and the canaries.
    fn take(&mut self, stacks: usize) {
        self.used += stacks;
    }

    /// Whether another block can become resident. If not, the run ends.
    fn is_left(&mut self, run: &Run, parked: usize) -> bool {
        if parked == 0 {
            return true;
        }
        let cluster = |launch: &Arc<LaunchedGrid>| {
            let config = &launch.config;
            // Shared memory and its shadow; a thread's state and its counters.
            let shared = 8 * (config.dynamic_bytes as usize + (16 << 10));
            (shared + config.block.count() as usize * (8 << 10)) * config.cluster.count() as usize
        };
        let cluster = run.launches.iter().map(cluster).max().unwrap_or_default();
        let limit = *self.limit.get_or_insert_with(|| available_memory() / 2);
        let is_left = self.used + parked * cluster <= limit;
        if !is_left {
            let (resident, unstarted) = run.grid.resident();
            if unstarted > 0 {
                run.lack(format!(
                    "{resident} blocks wait for others, {unstarted} have not started, and there is no memory for more"
                ));
            }
        }
        is_left
    }
}

/// Memory that the system can give, in bytes.
fn available_memory() -> usize {
    const UNKNOWN: usize = 4 << 30;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<usize>().ok());
    kib.map_or(UNKNOWN, |kib| kib << 10)
}
