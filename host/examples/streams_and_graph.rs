//! Two layers of a network in a CUDA graph, replayed on new inputs, and the same products from two threads at once.
//!
//! ```text
//! cargo run --release -p tilewright --example streams_and_graph
//! ```
//!
//! Without a GPU it says so in one line and ends with 3.

use std::process::ExitCode;
use std::ptr::null_mut;
use std::thread;
use std::time::Instant;

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use cust_raw::{CUresult, CUstreamCaptureMode};
use half::bf16;
use tilewright::dispatch::Policy;
use tilewright::launch::{CUstream, Kernels, Operands, Prepared};
use tilewright::random::random_matrix;
use tilewright::{Activation, Error, Gemm, GemmShape};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Rows of an input, and elements of a row of the input, between the layers, and of the output.
const BATCH: usize = 64;
const WIDTHS: [usize; 3] = [512, 2048, 256];

const REPLAYS: u32 = 1000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref() {
            Some(Error::Unavailable(reason)) => {
                println!("{reason}");
                ExitCode::from(3)
            }
            _ => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

/// `gelu(x · w + bias)`: what is shared by all who compute it.
struct Layer {
    prepared: Prepared,
    weights: DeviceBuffer<bf16>,
    bias: DeviceBuffer<bf16>,
}

impl Layer {
    fn new(kernels: &Kernels, inputs: usize, outputs: usize, seed: u64) -> Outcome<Self> {
        let gemm = Gemm::<()>::new(GemmShape::packed(BATCH, outputs, inputs)?)
            .bias(())
            .activation(Activation::Gelu);
        let plan = gemm.plan::<bf16, bf16>(kernels.profile(), &Policy::default())?;
        // Before any capture: loading a kernel allocates.
        let prepared = kernels.prepare::<bf16, bf16, _>(&plan, &gemm)?;
        println!(
            "{inputs} to {outputs}: {}, {} splits",
            plan.kernel().symbol,
            plan.summary().splits
        );
        Ok(Self {
            prepared,
            weights: DeviceBuffer::from_slice(&random_matrix(seed, inputs * outputs))?,
            bias: DeviceBuffer::from_slice(&random_matrix(seed + 1, outputs))?,
        })
    }
}

/// What each stream has for itself: what the products read and write, and a workspace.
struct Activations {
    buffers: [DeviceBuffer<bf16>; 3],
    workspace: DeviceBuffer<u8>,
}

impl Activations {
    fn new(layers: &[Layer]) -> Outcome<Self> {
        let [x, between, y] = WIDTHS.map(|width| DeviceBuffer::from_slice(&vec![bf16::NAN; BATCH * width]));
        // The layers follow one another on a stream: one workspace for both.
        let bytes = layers.iter().map(|layer| layer.prepared.workspace_bytes()).max();
        Ok(Self {
            buffers: [x?, between?, y?],
            workspace: DeviceBuffer::from_slice(&vec![0; bytes.unwrap_or_default()])?,
        })
    }

    fn upload(&mut self, x: &[bf16]) -> Outcome {
        Ok(self.buffers[0].copy_from(x)?)
    }

    fn output(&self) -> Outcome<Vec<bf16>> {
        let mut y = vec![bf16::ZERO; BATCH * WIDTHS[2]];
        self.buffers[2].copy_to(&mut y)?;
        Ok(y)
    }

    /// Enqueues both layers.
    fn enqueue(&self, layers: &[Layer], stream: CUstream) -> tilewright::Result<()> {
        for (at, layer) in layers.iter().enumerate() {
            let operands = Operands::new(
                self.buffers[at].as_device_ptr().as_raw(),
                layer.weights.as_device_ptr().as_raw(),
                self.buffers[at + 1].as_device_ptr().as_raw(),
            )
            .bias(layer.bias.as_device_ptr().as_raw())
            .workspace(self.workspace.as_device_ptr().as_raw(), self.workspace.len());
            // SAFETY: the buffers have the layer's elements. They and the layers live until `run` ends, which waits for
            // what it enqueued; this stream alone uses the activations and the workspace.
            unsafe { layer.prepared.enqueue(stream, &operands)? };
        }
        Ok(())
    }
}

fn ok(code: CUresult) -> Outcome {
    match code {
        CUresult::CUDA_SUCCESS => Ok(()),
        code => Err(format!("the driver answered {code:?}").into()),
    }
}

fn run() -> Outcome {
    let kernels = Kernels::open(0)?;
    let _context = cust::quick_init()?;
    let layers = [
        Layer::new(&kernels, WIDTHS[0], WIDTHS[1], 10)?,
        Layer::new(&kernels, WIDTHS[1], WIDTHS[2], 20)?,
    ];
    let inputs = [1, 2].map(|seed| random_matrix::<bf16>(seed, BATCH * WIDTHS[0]));

    // Without a graph, from two threads at once, each with a stream of its own.
    let lane = || -> Outcome<_> { Ok((Stream::new(StreamFlags::DEFAULT, None)?, Activations::new(&layers)?)) };
    let (mut first, mut second) = (lane()?, lane()?);
    first.1.upload(&inputs[0])?;
    second.1.upload(&inputs[1])?;
    thread::scope(|scope| {
        let threads = [&first, &second].map(|(stream, activations)| {
            let layers = &layers;
            // No context is current on these threads; to enqueue needs none.
            scope.spawn(move || activations.enqueue(layers, stream.as_inner()))
        });
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Outcome::Ok(())
    })?;
    first.0.synchronize()?;
    second.0.synchronize()?;
    let expected = [first.1.output()?, second.1.output()?];

    // The same products, captured into a graph and replayed.
    let (stream, activations) = &mut first;
    let (mut graph, mut exec) = (null_mut(), null_mut());
    // SAFETY: the places outlive the calls, and the stream is captured by nobody else. The graph's buffers outlive it.
    unsafe {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        ok(cust_raw::cuStreamBeginCapture_v2(stream.as_inner(), mode))?;
        let captured = activations.enqueue(&layers, stream.as_inner());
        ok(cust_raw::cuStreamEndCapture(stream.as_inner(), &raw mut graph))?;
        captured?;
        ok(cust_raw::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0))?;
    }
    for (input, expected) in inputs.iter().zip(&expected) {
        activations.upload(input)?;
        // SAFETY: as above.
        ok(unsafe { cust_raw::cuGraphLaunch(exec, stream.as_inner()) })?;
        stream.synchronize()?;
        if activations.output()? != *expected {
            return Err("a replay gives another result".into());
        }
    }
    println!("two replays on two inputs give the bits of the products that two threads enqueued");

    let begin = Instant::now();
    for _ in 0..REPLAYS {
        // SAFETY: as above.
        ok(unsafe { cust_raw::cuGraphLaunch(exec, stream.as_inner()) })?;
    }
    stream.synchronize()?;
    println!(
        "{REPLAYS} replays: {:.2} us each",
        begin.elapsed().as_secs_f64() * 1e6 / f64::from(REPLAYS)
    );
    // SAFETY: each is destroyed once, and nothing runs.
    unsafe {
        ok(cust_raw::cuGraphExecDestroy(exec))?;
        ok(cust_raw::cuGraphDestroy(graph))
    }
}
