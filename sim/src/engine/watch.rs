//! The watch over the workers of a run: it starts more of them where some wait for others, and ends threads that run
//! for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use super::run::{Request, Run};
use super::trap;

/// What the watch sees of each slot.
#[derive(Default)]
pub(super) struct Watch(RwLock<Vec<Watched>>);

struct Watched {
    /// Counts meetings of the slot's block. Only the slot writes it.
    met: AtomicU32,
    /// The slot waits for other blocks.
    paused: AtomicBool,
    expired: Arc<AtomicBool>,
    target: Mutex<Option<trap::Target>>,
}

impl Watch {
    pub(super) fn add(&self, expired: Arc<AtomicBool>) -> u16 {
        let mut slots = self.0.write();
        slots.push(Watched {
            met: AtomicU32::new(0),
            paused: AtomicBool::new(false),
            expired,
            target: Mutex::new(None),
        });
        (slots.len() - 1) as u16
    }

    /// The threads of the slot's block have met, or the slot has gone over to another block.
    pub(super) fn met(&self, slot: u16) {
        self.0.read()[usize::from(slot)].met.fetch_add(1, Relaxed);
    }

    /// The slot starts or stops to wait for other blocks.
    pub(super) fn pause(&self, slot: u16, paused: bool) {
        let slots = self.0.read();
        let watched = &slots[usize::from(slot)];
        watched.met.fetch_add(1, Relaxed);
        watched.paused.store(paused, Relaxed);
    }

    pub(super) fn set_target(&self, slot: u16, target: Option<trap::Target>) {
        *self.0.read()[usize::from(slot)].target.lock() = target;
    }
}

/// What a worker tells the thread that watches.
pub(super) enum Message {
    /// Another worker is needed.
    Spawn,
    /// A worker has ended.
    Ended,
}

/// Waits for the workers, starts more where some wait for others, and ends threads that run for ever.
pub(super) fn watch(
    run: &Run,
    messages: &Receiver<Message>,
    mut alive: usize,
    spawn: &dyn Fn() -> bool,
    request: &Request<'_>,
    blocks: u64,
) {
    const TICK: Duration = Duration::from_millis(20);
    /// How long a thread has to notice that it is told to end.
    const GRACE: Duration = Duration::from_secs(1);
    // Per slot: how often its block had met, and since when that has not changed.
    let mut seen: Vec<(u32, Instant)> = Vec::new();
    while alive > 0 {
        match messages.recv_timeout(TICK) {
            Ok(Message::Spawn) => alive += usize::from(spawn()),
            Ok(Message::Ended) => alive -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        let slots = run.watch.0.read();
        for (number, watched) in slots.iter().enumerate() {
            let met = watched.met.load(Relaxed);
            if number == seen.len() {
                seen.push((met, now));
            }
            let (last, since) = &mut seen[number];
            if met != *last || watched.paused.load(Relaxed) {
                (*last, *since) = (met, now);
            }
            let quiet = now - *since;
            if quiet > run.config.time_limit {
                watched.expired.store(true, Relaxed);
            }
            if quiet > run.config.time_limit + GRACE {
                // Under the lock that the worker takes before it ends, so that the thread is alive.
                if let Some(target) = *watched.target.lock() {
                    trap::strike(target);
                }
                *since = now - run.config.time_limit;
            }
        }
        drop(slots);
        if let Some(progress) = &request.progress {
            let cluster = run.config.cluster.count();
            progress(run.grid.done() * cluster, blocks * cluster);
        }
    }
}
