//! Products on several streams, and from several threads.

use std::sync::Barrier;
use std::thread;

use cust::memory::DeviceBuffer;
use cust::stream::{Stream, StreamFlags};
use libtest_mimic::Failed;
use tilewright::launch::{Counters, Gpu};

use super::driver::{self, ok};
use super::products::{self, Memory, Product};
use super::rounds;
use crate::Outcome;

/// What a thread has for itself.
struct Lane {
    stream: Stream,
    memory: Vec<Memory>,
    workspaces: Vec<DeviceBuffer<u8>>,
}

impl Lane {
    fn new(products: &[Product]) -> Result<Self, Failed> {
        Ok(Self {
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
            memory: products.iter().map(Product::memory).collect::<Result<_, _>>()?,
            workspaces: products.iter().map(Product::workspace).collect::<Result<_, _>>()?,
        })
    }
}

/// Two threads enqueue the same prepared products at the same time, each on a stream, matrices and a workspace of its
/// own. Neither has a context when it enqueues, nor after.
pub fn two_threads() -> Outcome {
    let gpu = Gpu::open(0)?;
    let products = [
        products::split_k(&gpu)?,
        products::padded(&gpu)?,
        products::epilogue(&gpu)?,
    ];
    let lanes = [Lane::new(&products)?, Lane::new(&products)?];
    driver::synchronize()?;
    let context = gpu.kernels().context().expose_provenance();
    let start = Barrier::new(lanes.len());
    let run = |number: usize, lane: &Lane| -> Result<(), String> {
        let text = |failed: Failed| failed.message().unwrap_or_default().to_owned();
        let set_current = |context: usize| {
            // SAFETY: the context lives for as long as the `Gpu`; null leaves the thread without one.
            ok(unsafe { cust_raw::cuCtxSetCurrent(std::ptr::with_exposed_provenance_mut(context)) }).map_err(text)
        };
        let stream = lane.stream.as_inner();
        let everyone = || products.iter().zip(&lane.memory).zip(&lane.workspaces);
        start.wait();
        for round in 0..rounds(200) {
            let set = round + number;
            set_current(context)?;
            for ((product, memory), _) in everyone() {
                memory.fill(product, set, stream).map_err(text)?;
            }
            set_current(0)?;
            for ((product, memory), workspace) in everyone() {
                let operands = memory
                    .operands(product)
                    .workspace(driver::address(workspace), workspace.len());
                // SAFETY: matrices and workspace are this thread's own and outlive its stream's work.
                unsafe { product.prepared.enqueue(stream, &operands) }.map_err(|error| error.to_string())?;
            }
            if !driver::current().map_err(text)?.is_null() {
                return Err("to enqueue left a context".to_owned());
            }
            set_current(context)?;
            lane.stream.synchronize().map_err(|error| error.to_string())?;
            for ((product, memory), _) in everyone() {
                memory.check(product, set).map_err(text)?;
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let run = &run;
        let threads = lanes
            .iter()
            .enumerate()
            .map(|(number, lane)| (number, scope.spawn(move || run(number, lane))));
        // All are started before one is waited for.
        for (number, thread) in threads.collect::<Vec<_>>() {
            let outcome = thread.join().map_err(|_| format!("thread {number} panicked"))?;
            outcome.map_err(|problem| format!("thread {number}: {problem}"))?;
        }
        Ok(())
    })
}

/// Products that follow one another on a stream share a workspace of garbage: the first clears the counters, the others
/// may rely on it.
pub fn one_workspace() -> Outcome {
    let gpu = Gpu::open(0)?;
    let products = [products::split_k(&gpu)?, products::padded(&gpu)?];
    let memory: Vec<_> = products.iter().map(Product::memory).collect::<Result<_, _>>()?;
    let bytes = products.iter().map(|product| product.prepared.workspace_bytes()).max();
    let workspace = products::device_bytes(&vec![0xa5; bytes.unwrap_or_default()])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    driver::synchronize()?;
    for round in 0..8 {
        for (product, memory) in products.iter().zip(&memory) {
            let mut operands = memory
                .operands(product)
                .workspace(driver::address(&workspace), workspace.len());
            if round > 0 {
                operands.workspace.counters = Counters::Zero;
            }
            memory.fill(product, round, stream.as_inner())?;
            // SAFETY: the memory is the product's; the first round has cleared the counters, and the regions of both
            // products' are the same.
            unsafe { product.prepared.enqueue(stream.as_inner(), &operands)? };
        }
        stream.synchronize()?;
        for (product, memory) in products.iter().zip(&memory) {
            memory.check(product, round)?;
        }
    }
    Ok(())
}
