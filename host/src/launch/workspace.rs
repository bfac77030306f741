//! Device memory that kernels with slices of K meet in.

use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer};
use cust::stream::Stream;

use crate::error::{DriverCall, Result};
use crate::plan::Plan;

/// Partial sums, and a counter for each tile. Kept from launch to launch, and made larger where one needs more: all launches are on one stream, so one
/// has done with it before the next begins.
#[derive(Default)]
pub(super) struct Workspace {
    sums: Option<DeviceBuffer<f32>>,
    /// All 0 between launches.
    counters: Option<DeviceBuffer<u32>>,
}

impl Workspace {
    /// Where the sums and the counters of a plan are; null for one without slices.
    pub(super) fn with_room(
        &mut self,
        plan: &Plan,
        stream: &Stream,
    ) -> Result<(DevicePointer<f32>, DevicePointer<u32>)> {
        let (sums, counters) = (plan.workspace_elems(), plan.counters());
        let room = |len: Option<usize>, needed| needed == 0 || len.is_some_and(|len| len >= needed);
        let enough = room(self.sums.as_ref().map(|buffer| buffer.len()), sums)
            && room(self.counters.as_ref().map(|buffer| buffer.len()), counters);
        if !enough {
            // What is replaced may still be in use.
            stream.synchronize().of_call("cuStreamSynchronize")?;
            *self = Self {
                // SAFETY: the kernels write each sum before they read it.
                sums: Some(unsafe { DeviceBuffer::uninitialized(sums) }.of_call("cuMemAlloc")?),
                counters: Some(DeviceBuffer::zeroed(counters).of_call("cuMemAlloc, cuMemsetD8")?),
            };
        }
        Ok((address(&self.sums), address(&self.counters)))
    }
}

/// Null where there is nothing.
fn address<T: DeviceCopy>(buffer: &Option<DeviceBuffer<T>>) -> DevicePointer<T> {
    buffer
        .as_ref()
        .map_or_else(DevicePointer::null, |buffer| buffer.as_device_ptr())
}
