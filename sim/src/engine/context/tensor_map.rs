//! Tensor maps that kernels change: `tensormap.replace` and the fences of the tensor-map proxy.

use std::panic::Location;

use crate::access::{AccessKind, Space};
use crate::analysis::Op;
use crate::analysis::grid_clock::launch_and_block;
use crate::analysis::source_locations::AccessClass;
use crate::analysis::sync_vars::Synchronization;
use crate::analysis::tensor_maps::{Acquired, MapWrite};
use crate::engine::run::TrackedBuffer;
use crate::fault::{FaultKind, TensorMapStep};
use crate::launch::Checks;
use crate::tensor_map::{TensorMapParts, TensorMapWords};

use super::BlockContext;

const MAP_BYTES: usize = size_of::<TensorMapWords>();
/// Bytes of an access to a map.
const CHUNK: usize = 16;
/// Bytes of a cell of the shadow.
const CELL: usize = 4;

impl BlockContext {
    /// `tensormap.replace.tile.global_address`: a write of the whole map.
    ///
    /// # Safety
    /// As [`crate::bulk_copy::tensormap_replace_address`].
    pub(crate) unsafe fn tensormap_replace_address(
        &self,
        map: *mut TensorMapWords,
        matrix: u64,
        location: &'static Location<'static>,
    ) {
        let start = map.addr();
        for chunk in (start..start + MAP_BYTES).step_by(CHUNK) {
            let class = AccessClass::of_lanes(Space::Global, Op::Write, CHUNK);
            self.access(class, chunk, start..start + MAP_BYTES, location);
        }
        // SAFETY: a map in global memory: the simulator has checked its bytes, or the caller promises it.
        let words = unsafe { &mut *map };
        let Some(parts) = TensorMapParts::decode_simulated(words) else {
            let problem = "tensormap.replace of none of the simulator's maps".to_owned();
            self.fatal(FaultKind::BulkCopy { problem }, Some(location), None)
        };
        match (TensorMapParts {
            address: matrix,
            ..parts
        })
        .encode_simulated()
        {
            Ok(replaced) => *words = replaced,
            Err(error) => {
                let problem = format!("tensormap.replace: {error}");
                self.fatal(FaultKind::BulkCopy { problem }, Some(location), None)
            }
        }
    }

    /// `fence.proxy.tensormap::generic.release`.
    pub(crate) fn tensormap_release(&self) {
        self.check_watchdog();
        if self.checks == Checks::Off {
            return;
        }
        let (block, thread) = (self.id.get().number, self.thread());
        let clocks = &mut self.analysis.borrow_mut().sync.clocks;
        self.run.tensor_maps.release(block, thread, clocks.epoch(thread));
        clocks.advance_epoch(thread);
    }

    /// `fence.proxy.tensormap::generic.acquire` for the map at `address`.
    pub(crate) fn tensormap_acquire(&self, address: usize) {
        self.check_watchdog();
        if self.checks == Checks::Off {
            return;
        }
        let Some(buffer) = self.buffer_of(address) else {
            return;
        };
        let (block, thread) = (self.id.get().number, self.thread());
        let sync = &self.analysis.borrow().sync;
        let writes = self.map_writes(buffer, address);
        let knows = |write: MapWrite| self.knows_write(sync, write);
        let acquired = Acquired {
            thread,
            epoch: sync.clocks.epoch(thread),
            is_released: writes
                .iter()
                .all(|&write| self.run.tensor_maps.is_released(write, knows)),
            writes,
        };
        self.run.tensor_maps.acquire(block, address, acquired);
    }

    /// Checks that fences follow the last changes of the map at `address` in `buffer`, which the running thread uses.
    pub(super) fn check_map_fences(
        &self,
        buffer: &TrackedBuffer,
        address: usize,
        location: &'static Location<'static>,
    ) {
        if self.checks == Checks::Off {
            return;
        }
        let writes = self.map_writes(buffer, address);
        let (step, write) = {
            let sync = &self.analysis.borrow().sync;
            // Without order that is a race, which is reported.
            let is_ordered = writes.iter().all(|&write| self.knows_write(sync, write));
            let Some(&first) = writes.first().filter(|_| is_ordered) else {
                return;
            };
            let thread = self.thread();
            let fences = self.run.tensor_maps.acquired(self.id.get().number, address);
            let mut seen = fences
                .iter()
                .filter(|fence| fence.writes == writes && sync.clocks.ordered(fence.thread, fence.epoch, thread));
            match seen.next() {
                None => (TensorMapStep::Acquire, first),
                Some(fence) if fence.is_released => return,
                Some(_) => (TensorMapStep::Release, first),
            }
        };
        let start = buffer.allocation.address();
        let other = (address - start..address - start + MAP_BYTES)
            .step_by(CELL)
            .filter_map(|offset| buffer.shadow.last_writer(offset))
            .find(|(writer, _)| *writer == write)
            .map(|(writer, line)| {
                self.access_elsewhere(AccessKind::Write, writer.block, writer.thread, self.run.location(line))
            });
        self.faults.name_buffer(buffer.allocation.name());
        let offset = (address - start) as u64;
        self.fault(FaultKind::TensorMapFence { offset, step }, Some(location), other);
    }

    /// Whether a write, or what its thread did up to its epoch, is ordered before what the running thread does.
    fn knows_write(&self, sync: &Synchronization, write: MapWrite) -> bool {
        let thread = self.thread();
        match write.block == self.id.get().number {
            true => sync.clocks.ordered(write.thread, write.epoch, thread),
            false => sync.ordered_in_grid(thread, write.block, write.thread, write.epoch),
        }
    }

    /// The last writes of threads of this launch to the map at `address`, ascending.
    fn map_writes(&self, buffer: &TrackedBuffer, address: usize) -> Vec<MapWrite> {
        let start = address - buffer.allocation.address();
        let end = (start + MAP_BYTES).min(buffer.allocation.bytes());
        let written = (start..end)
            .step_by(CELL)
            .filter_map(|offset| buffer.shadow.last_writer(offset));
        let threads = self.threads.len() as u16;
        let of_launch = |write: &MapWrite| {
            let is_here = self.run.launches.len() == 1 || launch_and_block(write.block).0 == self.launch.number;
            is_here && write.thread < threads
        };
        let mut writes: Vec<MapWrite> = written.map(|(writer, _)| writer).filter(of_launch).collect();
        writes.sort_unstable();
        writes.dedup();
        writes
    }
}
