//! The watchdog of a run: it ends threads that run forever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use super::run::{Request, Run};
use super::trap;

/// The watchdog's view of all workers, in the order of their starts.
#[derive(Default)]
pub(super) struct Watchdog(RwLock<Vec<Arc<WorkerWatch>>>);

/// The watchdog's view of one worker.
#[derive(Default)]
pub(super) struct WorkerWatch {
    /// Counts resets. Only the worker writes it.
    resets: AtomicU32,
    /// The worker waits for other blocks.
    paused: AtomicBool,
    /// The time limit has passed: the running thread must end.
    expired: AtomicBool,
    target: Mutex<Option<trap::Target>>,
}

impl Watchdog {
    /// Adds a worker: the calling thread of the operating system.
    pub(super) fn add(&self) -> Arc<WorkerWatch> {
        let worker = Arc::<WorkerWatch>::default();
        *worker.target.lock() = Some(trap::target());
        self.0.write().push(Arc::clone(&worker));
        worker
    }
}

impl WorkerWatch {
    /// Restarts the time limit: the threads of a block have synchronized, or the worker has started another block.
    pub(super) fn reset(&self) {
        self.resets.fetch_add(1, Relaxed);
    }

    /// Starts or ends a wait for other blocks, which no time limit applies to.
    pub(super) fn pause(&self, paused: bool) {
        self.reset();
        self.paused.store(paused, Relaxed);
    }

    /// Whether the running thread must end.
    #[inline]
    pub(super) fn is_expired(&self) -> bool {
        self.expired.load(Relaxed)
    }

    /// Withdraws an expiry, which has ended its block.
    pub(super) fn revive(&self) {
        self.expired.store(false, Relaxed);
    }

    /// Ends the watch: the worker's thread of the operating system is about to end.
    pub(super) fn end(&self) {
        *self.target.lock() = None;
        self.pause(true);
    }
}

/// A worker's message to the watchdog.
pub(super) enum Message {
    /// A worker has ended.
    Ended,
}

/// Waits for the workers, and ends threads that run forever.
pub(super) fn watch(run: &Run, messages: &Receiver<Message>, mut alive: usize, request: &Request<'_>, blocks: u64) {
    const TICK: Duration = Duration::from_millis(20);
    /// Time for a thread to notice the expiry before it is killed.
    const GRACE: Duration = Duration::from_secs(1);
    // By worker: its last count of resets, and when that was first seen.
    let mut seen: Vec<(u32, Instant)> = Vec::new();
    let mut over_since = None;
    while alive > 0 {
        match messages.recv_timeout(TICK) {
            Ok(Message::Ended) => alive -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        if now - request.started > run.config().budget.time && !run.is_out_of_time() {
            run.end_time();
        }
        let workers = run.watchdog.0.read();
        for (number, worker) in workers.iter().enumerate() {
            let resets = worker.resets.load(Relaxed);
            if number == seen.len() {
                seen.push((resets, now));
            }
            let (last, since) = &mut seen[number];
            if resets != *last || worker.paused.load(Relaxed) {
                (*last, *since) = (resets, now);
            }
            let quiet = now - *since;
            let is_over = run.is_out_of_time();
            if quiet > run.config().time_limit || is_over {
                worker.expired.store(true, Relaxed);
            }
            let grace = is_over.then(|| *over_since.get_or_insert(now));
            if quiet > run.config().time_limit + GRACE || grace.is_some_and(|since| now - since > GRACE) {
                // Under the lock that the worker takes before it ends, so that the thread is alive.
                if let Some(target) = *worker.target.lock() {
                    trap::kill(target);
                }
                *since = now - run.config().time_limit;
            }
        }
        drop(workers);
        if let Some(progress) = &request.progress {
            let cluster = run.config().cluster.count();
            progress(run.grid.done() * cluster, blocks * cluster);
        }
    }
}
