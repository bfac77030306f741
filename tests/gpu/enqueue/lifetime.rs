//! What prepared products keep, and what contexts and allocators they work with.

use std::ptr::null_mut;

use cust::memory::CopyDestination;
use cust::stream::{Stream, StreamFlags};
use cust_raw::{CUcontext, CUdeviceptr, CUstream};
use libtest_mimic::Failed;
use tilewright::launch::{Gpu, Kernels, Operands, Prepared};
use tilewright::{Gemm, GemmShape, dispatch::Policy};

use super::driver::{self, ok};
use super::{products, rounds};
use crate::Outcome;

/// What the driver may keep for itself between two measurements, in bytes.
const SLACK_BYTES: usize = 4 << 20;

fn free_bytes() -> Result<usize, Failed> {
    driver::synchronize()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: both places outlive the call.
    ok(unsafe { cust_raw::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
    Ok(free)
}

/// Whether no memory is gone since `before` was measured.
fn nothing_is_gone(before: usize, what: &str) -> Outcome {
    let after = free_bytes()?;
    match before.saturating_sub(after) <= SLACK_BYTES {
        true => Ok(()),
        false => Err(format!("{what}: {before} B were free, {after} B are").into()),
    }
}

/// A thousand products are prepared, enqueued and dropped; then the kernels are loaded and unloaded again and again.
pub fn prepares_and_drops() -> Outcome {
    let gpu = Gpu::open(0)?;
    let product = products::epilogue(&gpu)?;
    let memory = product.memory()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let once = |kernels: &Kernels| -> Outcome {
        let stated = Gemm::<(), f32>::new(product.plan().shape())
            .alpha(0.5)
            .beta(2.0)
            .bias(());
        let prepared = kernels.prepare::<half::f16, f32, ()>(product.plan(), &stated)?;
        // SAFETY: the memory is the product's, which has the same types, and no workspace.
        unsafe { prepared.enqueue(stream.as_inner(), &memory.operands(&product))? };
        stream.synchronize()?;
        Ok(())
    };
    memory.fill(&product, 0, stream.as_inner())?;
    once(gpu.kernels())?;
    let before = free_bytes()?;
    for _ in 0..rounds(1000) {
        once(gpu.kernels())?;
    }
    nothing_is_gone(before, "prepared and dropped")?;

    for round in 0..rounds(20) + 2 {
        // The first two are for what the driver keeps.
        let before = free_bytes()?;
        once(&Kernels::open(0)?)?;
        if round >= 2 {
            nothing_is_gone(before, "opened and dropped")?;
        }
    }
    Ok(())
}

/// `Kernels` alone, with a stream and memory that another library has made in the primary context; it goes first, and
/// what was prepared goes on.
pub fn primary_context() -> Outcome {
    // Tests before this one leave theirs.
    driver::leave()?;
    let kernels = Kernels::open(0)?;
    if !driver::current()?.is_null() {
        return Err("to open left a context".into());
    }
    let small = Small::new(&kernels)?;
    let (mut device, mut theirs) = (0, null_mut());
    // SAFETY: the places outlive the calls. What is retained is released below.
    unsafe {
        ok(cust_raw::cuDeviceGet(&raw mut device, 0))?;
        ok(cust_raw::cuDevicePrimaryCtxRetain(&raw mut theirs, device))?;
    }
    if theirs != kernels.context() {
        return Err("the primary context is another one".into());
    }
    drop(kernels);
    in_context(theirs, || small.is_right(null_mut()))?;
    // SAFETY: as often as it was retained here.
    ok(unsafe { cust_raw::cuDevicePrimaryCtxRelease_v2(device) })?;
    // The product still retains it.
    in_context(small.prepared.kernels().context(), || small.is_right(null_mut()))
}

/// A context that is not the primary one, while the primary one is current.
pub fn other_context() -> Outcome {
    let _gpu = Gpu::open(0)?;
    let primary = driver::current()?;
    let mut other = OtherContext::new()?;
    {
        // SAFETY: the context is destroyed after this block.
        let kernels = unsafe { Kernels::of_context(other.context)? };
        let small = Small::new(&kernels)?;
        if driver::current()? != primary || kernels.context() == primary {
            return Err("the current context has changed".into());
        }
        small.is_right_in(&mut other)?;
        if driver::current()? != primary {
            return Err("to enqueue changed the current context".into());
        }
    }
    drop(other);
    match driver::current()? == primary {
        true => Ok(()),
        false => Err("to unload changed the current context".into()),
    }
}

/// Pool memory, pinned memory of the host and managed memory: a kernel can access each, and the checks let it.
pub fn memory_of_every_kind() -> Outcome {
    let gpu = Gpu::open(0)?;
    let small = Small::new(gpu.kernels())?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let stream = stream.as_inner();
    let (mut pool, mut managed, mut pinned) = (0, 0, null_mut());
    // SAFETY: the places outlive the calls; each is freed below, after the stream has been waited for.
    unsafe {
        ok(cust_raw::cuMemAllocAsync(&raw mut pool, Small::BYTES, stream))?;
        ok(cust_raw::cuMemAllocManaged(&raw mut managed, Small::BYTES, 1))?;
        // Portable and mapped.
        ok(cust_raw::cuMemHostAlloc(&raw mut pinned, Small::BYTES, 3))?;
    }
    let pinned_address = pinned.expose_provenance() as CUdeviceptr;
    let outcome = small.is_right_on([pool, managed, pinned_address], stream);
    let other_order = small.is_right_on([managed, pinned_address, pool], stream);
    // SAFETY: as above.
    unsafe {
        ok(cust_raw::cuMemFreeAsync(pool, stream))?;
        ok(cust_raw::cuStreamSynchronize(stream))?;
        ok(cust_raw::cuMemFree_v2(managed))?;
        ok(cust_raw::cuMemFreeHost(pinned))?;
    }
    outcome?;
    other_order
}

/// A context of its own, with a stream and memory.
pub struct OtherContext {
    pub context: CUcontext,
    pub stream: CUstream,
    allocated: Vec<CUdeviceptr>,
}

impl OtherContext {
    /// Made on device 0; the context that is current stays so.
    pub fn new() -> Result<Self, Failed> {
        let mut made = Self {
            context: null_mut(),
            stream: null_mut(),
            allocated: Vec::new(),
        };
        let mut popped = null_mut();
        // SAFETY: the places outlive the calls. A new context is current until it is popped.
        unsafe {
            ok(cust_raw::cuCtxCreate_v2(&raw mut made.context, 0, 0))?;
            let created = ok(cust_raw::cuStreamCreate(&raw mut made.stream, 0));
            ok(cust_raw::cuCtxPopCurrent_v2(&raw mut popped))?;
            created?;
        }
        Ok(made)
    }

    /// Device memory of it, which goes with it.
    pub fn allocate(&mut self, bytes: usize) -> Result<CUdeviceptr, Failed> {
        let mut address = 0;
        in_context(self.context, || {
            // SAFETY: the place outlives the call.
            ok(unsafe { cust_raw::cuMemAlloc_v2(&raw mut address, bytes) })
        })?;
        self.allocated.push(address);
        Ok(address)
    }
}

impl Drop for OtherContext {
    fn drop(&mut self) {
        // An error would be that of a test which has failed already.
        let _ = in_context(self.context, || {
            for &address in &self.allocated {
                // SAFETY: it is freed once; the call waits for what uses it.
                ok(unsafe { cust_raw::cuMemFree_v2(address) })?;
            }
            // SAFETY: it is destroyed once.
            ok(unsafe { cust_raw::cuStreamDestroy_v2(self.stream) })
        });
        // SAFETY: it is destroyed once, and current nowhere.
        unsafe { cust_raw::cuCtxDestroy_v2(self.context) };
    }
}

/// Runs something with a context current.
fn in_context(context: CUcontext, work: impl FnOnce() -> Outcome) -> Outcome {
    let mut popped = null_mut();
    // SAFETY: the context exists; what is pushed is popped.
    ok(unsafe { cust_raw::cuCtxPushCurrent_v2(context) })?;
    let done = work();
    // SAFETY: the place outlives the call.
    ok(unsafe { cust_raw::cuCtxPopCurrent_v2(&raw mut popped) })?;
    done
}

/// A product of small whole numbers, whose result is exact: row `i` of A is `i`, every element of B is 2.
struct Small {
    prepared: Prepared,
}

impl Small {
    const SIDE: usize = 32;
    const BYTES: usize = Self::SIDE * Self::SIDE * 4;

    fn new(kernels: &Kernels) -> Result<Self, Failed> {
        let stated = Gemm::<(), f32>::new(GemmShape::packed(Self::SIDE, Self::SIDE, Self::SIDE)?);
        let plan = stated.plan::<f32, f32>(kernels.profile(), &Policy::default())?;
        Ok(Self {
            prepared: kernels.prepare::<f32, f32, ()>(&plan, &stated)?,
        })
    }

    /// On memory of the context that is current.
    fn is_right(&self, stream: CUstream) -> Outcome {
        let buffers = [(); 3].map(|()| products::device_bytes(&[0xff; Self::BYTES]));
        let [a, b, c] = buffers;
        let (a, b, c) = (a?, b?, c?);
        let outcome = self.is_right_on([&a, &b, &c].map(driver::address), stream);
        let mut last = [0; 4];
        c.index(Self::BYTES - 4..).copy_to(&mut last)?;
        outcome.and(match f32::from_ne_bytes(last) {
            1984.0 => Ok(()),
            other => Err(format!("the last element is {other}").into()),
        })
    }

    /// On memory of a context that is not current when the product is enqueued.
    fn is_right_in(&self, other: &mut OtherContext) -> Outcome {
        let [a, b, c] = [(); 3].map(|()| other.allocate(Self::BYTES));
        let context = other.context;
        self.on([a?, b?, c?], other.stream, |work| in_context(context, work))
    }

    fn is_right_on(&self, addresses: [CUdeviceptr; 3], stream: CUstream) -> Outcome {
        self.on(addresses, stream, |work| work())
    }

    /// Copies by `inside`, where the context is current, and enqueues outside.
    fn on(
        &self,
        [a, b, c]: [CUdeviceptr; 3],
        stream: CUstream,
        inside: impl Fn(&mut dyn FnMut() -> Outcome) -> Outcome,
    ) -> Outcome {
        let on_a: Vec<f32> = (0..Self::SIDE * Self::SIDE)
            .map(|at| (at / Self::SIDE) as f32)
            .collect();
        let on_b = vec![2.0_f32; Self::SIDE * Self::SIDE];
        let mut found = vec![0.0_f32; Self::SIDE * Self::SIDE];
        // One address space: the driver tells from an address where its memory is.
        let of_host = |pointer: *const f32| pointer.expose_provenance() as CUdeviceptr;
        inside(&mut || {
            // SAFETY: each has this many bytes, and outlives the calls, which are waited for.
            unsafe {
                ok(cust_raw::cuMemcpyHtoDAsync_v2(
                    a,
                    on_a.as_ptr().cast(),
                    Self::BYTES,
                    stream,
                ))?;
                ok(cust_raw::cuMemcpyHtoDAsync_v2(
                    b,
                    on_b.as_ptr().cast(),
                    Self::BYTES,
                    stream,
                ))?;
                ok(cust_raw::cuMemsetD8Async(c, 0xff, Self::BYTES, stream))?;
                ok(cust_raw::cuStreamSynchronize(stream))
            }
        })?;
        // A workspace would be another allocation: nothing this small has one.
        if self.prepared.workspace_bytes() > 0 {
            return Err("32 cubed takes a workspace".into());
        }
        // SAFETY: the memory has the elements, and what is enqueued is waited for.
        unsafe { self.prepared.enqueue(stream, &Operands::new(a, b, c))? };
        inside(&mut || {
            // SAFETY: as above.
            unsafe {
                ok(cust_raw::cuMemcpyAsync(
                    of_host(found.as_mut_ptr()),
                    c,
                    Self::BYTES,
                    stream,
                ))?;
                ok(cust_raw::cuStreamSynchronize(stream))
            }
        })?;
        let expected = |at: usize| (at / Self::SIDE * 2 * Self::SIDE) as f32;
        match (0..found.len()).find(|&at| found[at] != expected(at)) {
            None => Ok(()),
            Some(at) => Err(format!("element {at} is {}, not {}", found[at], expected(at)).into()),
        }
    }
}
