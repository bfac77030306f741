//! A product on device buffers and a stream of one's own: plan, prepare, enqueue.
//!
//! ```text
//! cargo run --release -p tilewright --example device_buffers
//! ```
//!
//! Without a GPU it says so in one line and ends with 3.

use std::process::ExitCode;

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use half::f16;
use tilewright::dispatch::Policy;
use tilewright::launch::{Kernels, Operands};
use tilewright::random::random_matrix;
use tilewright::{Activation, Error, Gemm, GemmShape, Operand, check};

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

fn run() -> Result<(), Box<dyn std::error::Error>> {
    // Once per device. The primary context is shared with every other library of the process; it does not become
    // current.
    let kernels = Kernels::open(0)?;

    // Yours: a context, a stream, device memory.
    let _context = cust::quick_init()?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let shape = GemmShape::packed(300, 520, 264)?;
    let a: Vec<f16> = random_matrix(1, shape.span_elems(Operand::A));
    let b: Vec<f16> = random_matrix(2, shape.span_elems(Operand::B));
    let bias = vec![f16::ZERO; shape.n()];
    let (a_device, b_device) = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
    let bias_device = DeviceBuffer::from_slice(&bias)?;
    let c_device = DeviceBuffer::from_slice(&vec![f16::NAN; shape.span_elems(Operand::C)])?;

    // Plan: a pure function. The bias is `()`: that there is one is all that counts here.
    let gemm = Gemm::<()>::new(shape).bias(()).activation(Activation::None);
    let plan = gemm.plan::<f16, f16>(kernels.profile(), &Policy::default())?;
    // Prepare: loads the kernel, fixes the workspace.
    let prepared = kernels.prepare::<f16, f16, _>(&plan, &gemm)?;
    let workspace = DeviceBuffer::from_slice(&vec![0_u8; prepared.workspace_bytes()])?;
    println!(
        "{} takes {} B of workspace",
        plan.kernel().symbol,
        prepared.workspace_bytes()
    );

    // Enqueue: as often as you like, from any thread, on any stream of the context.
    let operands = Operands::new(
        a_device.as_device_ptr().as_raw(),
        b_device.as_device_ptr().as_raw(),
        c_device.as_device_ptr().as_raw(),
    )
    .bias(bias_device.as_device_ptr().as_raw())
    .workspace(workspace.as_device_ptr().as_raw(), workspace.len());
    // SAFETY: the buffers have the shape's elements of f16, and live until the stream has been waited for.
    unsafe { prepared.enqueue(stream.as_inner(), &operands)? };
    stream.synchronize()?;

    let mut c = vec![f16::ZERO; c_device.len()];
    c_device.copy_to(&mut c)?;
    println!("{}", check::full(&shape, &a, &b, &c)?.into_result()?);

    // What cannot work is refused before anything is enqueued, with the numbers.
    // SAFETY: it is refused.
    let refused = unsafe {
        prepared.enqueue(
            stream.as_inner(),
            &Operands {
                c: operands.a,
                ..operands
            },
        )
    };
    println!("refused: {}", refused.expect_err("C in A"));
    Ok(())
}
