//! Driver calls that `cust` has no safe face for.

use std::ptr::null_mut;

use cust::memory::DeviceBuffer;
use cust_raw::{CUcontext, CUdeviceptr, CUgraph, CUgraphExec, CUresult, CUstream, CUstreamCaptureMode};
use libtest_mimic::Failed;

use crate::Outcome;

/// A call that has to succeed.
pub fn ok(code: CUresult) -> Outcome {
    match code {
        CUresult::CUDA_SUCCESS => Ok(()),
        code => Err(format!("the driver answered {code:?}").into()),
    }
}

/// The context that is current on this thread.
pub fn current() -> Result<CUcontext, Failed> {
    let mut context = null_mut();
    // SAFETY: the place outlives the call.
    ok(unsafe { cust_raw::cuCtxGetCurrent(&raw mut context) })?;
    Ok(context)
}

/// Leaves this thread without a context.
pub fn leave() -> Outcome {
    // SAFETY: null is no context.
    ok(unsafe { cust_raw::cuCtxSetCurrent(null_mut()) })
}

/// Waits for the whole context that is current.
pub fn synchronize() -> Outcome {
    // SAFETY: no arguments.
    ok(unsafe { cust_raw::cuCtxSynchronize() })
}

/// Enqueues a copy of all bytes of one buffer to another of the same size.
pub fn copy(to: &DeviceBuffer<u8>, from: &DeviceBuffer<u8>, stream: CUstream) -> Outcome {
    if to.len() != from.len() {
        return Err(format!("{} B into {} B", from.len(), to.len()).into());
    }
    if from.is_empty() {
        return Ok(());
    }
    // SAFETY: both have this many bytes, and live until the device has been waited for.
    ok(unsafe { cust_raw::cuMemcpyDtoDAsync_v2(address(to), address(from), from.len(), stream) })
}

pub fn address(buffer: &DeviceBuffer<u8>) -> CUdeviceptr {
    buffer.as_device_ptr().as_raw()
}

/// A graph that was captured from a stream, and its executable form.
pub struct Graph {
    graph: CUgraph,
    exec: CUgraphExec,
}

impl Graph {
    /// Captures what `work` enqueues, in the strictest mode: no thread may do what a capture forbids.
    pub fn capture(stream: CUstream, work: impl FnOnce() -> Outcome) -> Result<Self, Failed> {
        // SAFETY: the stream is alive and not captured.
        ok(unsafe { cust_raw::cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL) })?;
        let done = work();
        let mut graph = Self {
            graph: null_mut(),
            exec: null_mut(),
        };
        // SAFETY: the place outlives the call; the stream is captured.
        let ended = ok(unsafe { cust_raw::cuStreamEndCapture(stream, &raw mut graph.graph) });
        done?;
        ended?;
        // SAFETY: the place outlives the call, the graph is ours.
        ok(unsafe { cust_raw::cuGraphInstantiateWithFlags(&raw mut graph.exec, graph.graph, 0) })?;
        Ok(graph)
    }

    /// Operations of the graph.
    pub fn nodes(&self) -> Result<usize, Failed> {
        let mut count = 0;
        // SAFETY: without a place for nodes only their number is written.
        ok(unsafe { cust_raw::cuGraphGetNodes(self.graph, null_mut(), &raw mut count) })?;
        Ok(count)
    }

    /// Enqueues one replay.
    pub fn launch(&self, stream: CUstream) -> Outcome {
        // SAFETY: the graph is instantiated, and the buffers that it accesses live until the device was waited for.
        ok(unsafe { cust_raw::cuGraphLaunch(self.exec, stream) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: each is destroyed once; a replay that still runs is finished by the driver first.
        unsafe {
            if !self.exec.is_null() {
                cust_raw::cuGraphExecDestroy(self.exec);
            }
            if !self.graph.is_null() {
                cust_raw::cuGraphDestroy(self.graph);
            }
        }
    }
}
