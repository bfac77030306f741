//! Fences of the tensor-map proxy (PTX ISA, "membar/fence": `fence.proxy.tensormap`).
//!
//! TMA reads tensor maps through a proxy of its own. A map in global memory that a thread has changed needs a release
//! fence of that thread after the change, and an acquire fence for this map between that and its use, of the using
//! thread or of one in its block that is ordered before it. What was there before the launch needs neither.

use std::collections::HashMap;

use parking_lot::Mutex;

/// The last plain write to a part of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MapWrite {
    /// The [number](super::grid_clock::block_number) of the block.
    pub(crate) block: u64,
    /// The thread.
    pub(crate) thread: u16,
    /// The thread's epoch.
    pub(crate) epoch: u32,
}

/// What an acquire fence saw of a map.
#[derive(Clone, Debug)]
pub(crate) struct Acquired {
    /// The thread that executed it.
    pub(crate) thread: u16,
    /// Its epoch.
    pub(crate) epoch: u32,
    /// The writes that it found, ascending.
    pub(crate) writes: Vec<MapWrite>,
    /// Whether all of them were released.
    pub(crate) is_released: bool,
}

/// The fences of a run.
#[derive(Default)]
pub(crate) struct TensorMapFences {
    /// By block and thread, the epochs of its release fences, ascending.
    released: Mutex<HashMap<(u64, u16), Vec<u32>>>,
    /// By block and address of the map.
    acquired: Mutex<HashMap<(u64, usize), Vec<Acquired>>>,
}

impl TensorMapFences {
    /// Records a release fence of a thread, whose later accesses have another epoch.
    pub(crate) fn release(&self, block: u64, thread: u16, epoch: u32) {
        self.released.lock().entry((block, thread)).or_default().push(epoch);
    }

    /// Whether a release fence follows the write, and `knows` its thread at the fence's epoch.
    pub(crate) fn is_released(&self, write: MapWrite, knows: impl Fn(MapWrite) -> bool) -> bool {
        let released = self.released.lock();
        let Some(epochs) = released.get(&(write.block, write.thread)) else {
            return false;
        };
        let first = epochs.partition_point(|&epoch| epoch < write.epoch);
        epochs
            .get(first)
            .is_some_and(|&epoch| knows(MapWrite { epoch, ..write }))
    }

    /// Records an acquire fence for the map at `address`.
    pub(crate) fn acquire(&self, block: u64, address: usize, acquired: Acquired) {
        let mut all = self.acquired.lock();
        let of_map = all.entry((block, address)).or_default();
        // Of a thread the last one counts.
        of_map.retain(|earlier| earlier.thread != acquired.thread);
        of_map.push(acquired);
    }

    /// The acquire fences of a block for the map at `address`.
    pub(crate) fn acquired(&self, block: u64, address: usize) -> Vec<Acquired> {
        self.acquired.lock().get(&(block, address)).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_release_after_a_write_must_be_known() {
        let fences = TensorMapFences::default();
        let write = MapWrite {
            block: 3,
            thread: 7,
            epoch: 5,
        };
        assert!(!fences.is_released(write, |_| true));
        fences.release(3, 7, 4);
        assert!(!fences.is_released(write, |_| true), "it precedes the write");
        fences.release(3, 7, 9);
        fences.release(3, 7, 12);
        assert!(fences.is_released(write, |fence| fence.epoch <= 9));
        assert!(!fences.is_released(write, |fence| fence.epoch < 9));
    }
}
