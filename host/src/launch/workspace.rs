//! Device memory besides the operands: the workspace and counters of split-K, and padded operands.

use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer};
use cust::stream::Stream;
use tilewright_contract::PadRows;

use crate::dispatch::Plan;
use crate::error::{DriverCall, Result};

/// Partial sums, a counter for each tile, and copies of A and B. Kept from launch to launch, and made larger where one
/// needs more: all launches are on one stream, so one has done with it before the next begins.
#[derive(Default)]
pub(super) struct Workspace {
    sums: Option<DeviceBuffer<f32>>,
    /// All 0 between launches.
    counters: Option<DeviceBuffer<u32>>,
    /// Of A and of B, of whatever type has 2 bytes.
    copies: [Option<DeviceBuffer<u16>>; 2],
}

impl Workspace {
    /// Where the sums and the counters of a plan are; null for one without slices.
    pub(super) fn with_room(
        &mut self,
        plan: &Plan,
        stream: &Stream,
    ) -> Result<(DevicePointer<f32>, DevicePointer<u32>)> {
        let (sums, counters) = (plan.workspace_elems(), plan.counters());
        if !(has_room(&self.sums, sums) && has_room(&self.counters, counters)) {
            // What is replaced may still be in use.
            stream.synchronize().of_call("cuStreamSynchronize")?;
            (self.sums, self.counters) = (None, None);
            // SAFETY: the kernels write each sum before they read it.
            self.sums = Some(unsafe { DeviceBuffer::uninitialized(sums) }.of_call("cuMemAlloc")?);
            self.counters = Some(DeviceBuffer::zeroed(counters).of_call("cuMemAlloc, cuMemsetD8")?);
        }
        Ok((address(&self.sums), address(&self.counters)))
    }

    /// Room for a copy of A (`at` 0) or B (1).
    pub(super) fn with_room_for_copy(
        &mut self,
        at: usize,
        copy: &PadRows,
        stream: &Stream,
    ) -> Result<DevicePointer<u16>> {
        let (buffer, needed) = (&mut self.copies[at], copy.to_elems());
        if !has_room(buffer, needed) {
            // As above.
            stream.synchronize().of_call("cuStreamSynchronize")?;
            // Both at once may be more than there is.
            *buffer = None;
            // SAFETY: the copy writes every element before one is read.
            *buffer = Some(unsafe { DeviceBuffer::uninitialized(needed) }.of_call("cuMemAlloc")?);
        }
        Ok(address(buffer))
    }
}

/// Whether a buffer has so many elements; none is enough for none.
fn has_room<T: DeviceCopy>(buffer: &Option<DeviceBuffer<T>>, needed: usize) -> bool {
    needed == 0 || buffer.as_ref().is_some_and(|buffer| buffer.len() >= needed)
}

/// Null where there is nothing.
fn address<T: DeviceCopy>(buffer: &Option<DeviceBuffer<T>>) -> DevicePointer<T> {
    buffer
        .as_ref()
        .map_or_else(DevicePointer::null, |buffer| buffer.as_device_ptr())
}
