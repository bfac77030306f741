//! Reverses an array piece by piece on the GPU, once through static and once through dynamic shared memory.

use std::error::Error;
use std::process::ExitCode;

use cust::prelude::*;

/// What build.rs made of the kernels.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

fn main() -> ExitCode {
    // The program starts without a driver too, so it can say so. Exit status 3: nothing was wrong, but nothing was
    // done.
    if let Err(unavailable) = cuda_driver_lazy::load() {
        println!("{unavailable}");
        return ExitCode::from(3);
    }
    // Held until the end of main: everything on the GPU belongs to the context and must go before it.
    let _context = match cust::quick_init() {
        Ok(context) => context,
        Err(error) => {
            println!("no usable GPU: {error}");
            return ExitCode::from(3);
        }
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let module = Module::from_ptx(PTX, &[])?;
    // A stream that waits for copies, which go through the default stream; a NON_BLOCKING one would not.
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;

    // Not a multiple of any block size, so that the last piece is a short one.
    let input: Vec<u32> = (0..1000).collect();
    let len = input.len() as u32;

    let data = DeviceBuffer::from_slice(&input)?;
    let threads = kernels::STATIC_BLOCK;
    // SAFETY: the arguments and the block are those that the kernel asks for.
    unsafe {
        launch!(module.reverse_static<<<len.div_ceil(threads), threads, 0, stream>>>(data.as_device_ptr(), len))?
    };
    stream.synchronize()?;
    report("static", threads, &input, &data.as_host_vec()?)?;

    // Any block will do here, because the launch says how many bytes go with it.
    let data = DeviceBuffer::from_slice(&input)?;
    let threads = 256;
    let bytes = threads * size_of::<u32>() as u32;
    // SAFETY: the arguments and the shared memory are those that the kernel asks for.
    unsafe {
        launch!(module.reverse_dynamic<<<len.div_ceil(threads), threads, bytes, stream>>>(data.as_device_ptr(), len))?;
    }
    stream.synchronize()?;
    report("dynamic", threads, &input, &data.as_host_vec()?)
}

/// Compares with the same reversal on the CPU.
fn report(kind: &str, threads: u32, input: &[u32], output: &[u32]) -> Result<(), Box<dyn Error>> {
    let mut expected = input.to_vec();
    expected.chunks_mut(threads as usize).for_each(<[u32]>::reverse);
    if let Some(i) = (0..expected.len()).find(|&i| expected[i] != output[i]) {
        return Err(format!("{kind}: element {i} is {}, not {}", output[i], expected[i]).into());
    }
    println!(
        "{kind} shared memory, {threads} threads a block: {:?} ... {:?}, as expected",
        &output[..4],
        &output[996..]
    );
    Ok(())
}
