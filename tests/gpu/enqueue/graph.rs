//! Products that are captured into a graph, which is replayed on other inputs.

use cust::stream::{Stream, StreamFlags};
use tilewright::launch::{Counters, Gpu};
use tilewright_contract::OperandCopy;

use super::driver::{self, Graph};
use super::products::{self, Product};
use super::rounds;
use crate::Outcome;

/// Operations that a product enqueues: the kernel, the copies of operands, and the memset of counters.
fn operations(product: &Product, counters: Counters) -> usize {
    let copies = OperandCopy::launches(&product.plan().copies());
    let memset = product.plan().counters() > 0 && counters == Counters::Unknown;
    1 + copies + usize::from(memset)
}

/// A product of every kind, all on one stream and in one workspace, replayed a thousand times. Between replays every
/// input changes, and C is poisoned; every result of every replay is compared.
pub fn every_kind_of_product() -> Outcome {
    let gpu = Gpu::open(0)?;
    let products = products::every_kind(&gpu)?;
    let memory: Vec<_> = products.iter().map(Product::memory).collect::<Result<_, _>>()?;
    let workspace_bytes = products.iter().map(|product| product.prepared.workspace_bytes()).max();
    let workspace = products::device_bytes(&vec![0; workspace_bytes.unwrap_or_default()])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // What was uploaded has arrived.
    driver::synchronize()?;

    let mut expected_nodes = 0;
    let graph = Graph::capture(stream.as_inner(), || {
        for (at, (product, memory)) in products.iter().zip(&memory).enumerate() {
            let mut operands = memory
                .operands(product)
                .workspace(driver::address(&workspace), workspace.len());
            // The workspace starts as zeros, and products leave zeros: both may be said.
            if at % 4 == 1 {
                operands.workspace.counters = Counters::Zero;
            }
            expected_nodes += operations(product, operands.workspace.counters);
            // SAFETY: the memory is the product's and outlives the graph; one stream orders the users of the workspace.
            unsafe { product.prepared.enqueue(stream.as_inner(), &operands)? };
        }
        Ok(())
    })?;
    let nodes = graph.nodes()?;
    if nodes != expected_nodes || nodes <= products.len() {
        return Err(format!("the graph has {nodes} operations, not {expected_nodes}").into());
    }
    for replay in 0..rounds(1000) {
        for (at, (product, memory)) in products.iter().zip(&memory).enumerate() {
            memory.fill(product, replay + at, stream.as_inner())?;
        }
        graph.launch(stream.as_inner())?;
        stream.synchronize()?;
        for (at, (product, memory)) in products.iter().zip(&memory).enumerate() {
            memory
                .check(product, replay + at)
                .map_err(|failed| format!("replay {replay}: {}", failed.message().unwrap_or_default()))?;
        }
    }
    Ok(())
}

/// One product with a bias and a source C, alone in a graph that is replayed back to back: the third replay on the same
/// buffers reads what the second left.
pub fn reads_the_bias_and_c_anew() -> Outcome {
    let gpu = Gpu::open(0)?;
    let product = products::epilogue(&gpu)?;
    let (captured, stepped) = (product.memory()?, product.memory()?);
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    driver::synchronize()?;
    // SAFETY: the memory is the product's and outlives the stream's work; it has no workspace.
    let enqueue =
        |memory: &products::Memory| unsafe { product.prepared.enqueue(stream.as_inner(), &memory.operands(&product)) };
    let graph = Graph::capture(stream.as_inner(), || enqueue(&captured).map_err(Into::into))?;
    for set in 0..products::SETS {
        captured.fill(&product, set, stream.as_inner())?;
        stepped.fill(&product, set, stream.as_inner())?;
        // Beta is 2: each adds to what the one before it left.
        for _ in 0..3 {
            graph.launch(stream.as_inner())?;
            enqueue(&stepped)?;
        }
        stream.synchronize()?;
        if captured.c()? != stepped.c()? {
            return Err(format!("set {set}: three replays are not three launches").into());
        }
        captured.fill(&product, set, stream.as_inner())?;
        graph.launch(stream.as_inner())?;
        stream.synchronize()?;
        captured.check(&product, set)?;
    }
    Ok(())
}
