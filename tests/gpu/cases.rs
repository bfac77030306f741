//! Launches that are data, on the GPU.

use std::ffi::c_void;

use ::mutants::products::map_parts;
use cust::error::CudaError;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use sample_kernels::case::{Argument, Buffer, Case, Map};
use tilewright::launch::encode_tensor_map;

/// Why a launch did not end as it should.
#[derive(Debug)]
pub enum Problem {
    /// The driver or the device refused it or stopped it.
    Launch(CudaError),
    /// It left a wrong result.
    Result(String),
    /// Anything before the launch.
    Other(String),
}

impl From<CudaError> for Problem {
    fn from(error: CudaError) -> Self {
        Problem::Other(error.to_string())
    }
}

/// Launches the entry point `symbol` with the case's grid, memory and arguments, and checks what it leaves.
///
/// Needs a context.
pub fn run(module: &Module, symbol: &str, case: &Case) -> Result<(), Problem> {
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let function = module.get_function(symbol)?;
    allow_dynamic_shared_memory(&function, case.dynamic_shared_bytes);

    let mut buffers: Vec<(usize, &Buffer, DeviceBuffer<u8>)> = Vec::new();
    for (number, buffer) in case.buffers() {
        let memory = match &buffer.before {
            Some(data) => DeviceBuffer::from_slice(data.bytes())?,
            // SAFETY: nothing reads it before the kernel, whose business it is to write it first.
            None => written_between_rows(buffer, unsafe { DeviceBuffer::uninitialized(buffer.bytes)? })?,
        };
        buffers.push((number, buffer, memory));
    }
    let address = |number: usize| {
        let found = buffers.iter().find(|(of, ..)| *of == number);
        let found = found.ok_or_else(|| Problem::Other(format!("argument {number} brings no buffer")));
        found.map(|(.., memory)| memory.as_device_ptr().as_raw())
    };
    let words = |number, argument: &Argument| match argument {
        Argument::Words(words) => Ok(pairs(words)),
        Argument::Buffer(_) => address(number).map(|address| vec![address]),
        Argument::Map(map) => tensor_map(case, number, map, address(map.matrix)?),
    };
    let arguments: Result<Vec<Vec<u64>>, Problem> = case
        .arguments
        .iter()
        .enumerate()
        .map(|(number, argument)| words(number, argument))
        .collect();
    let mut arguments = arguments?;
    if case.fields > 0 {
        let params = arguments[..case.fields].concat();
        arguments.splice(..case.fields, [params]);
    }
    let addresses: Vec<*mut c_void> = arguments.iter().map(|words| words.as_ptr().cast_mut().cast()).collect();
    let ([gx, gy, gz], [bx, by, bz]) = (case.grid, case.block);
    // SAFETY: the case has what the kernel takes. A mutant may do anything: each runs in a process of its own.
    unsafe {
        stream.launch(
            &function,
            (gx, gy, gz),
            (bx, by, bz),
            case.dynamic_shared_bytes,
            &addresses,
        )
    }
    .and_then(|()| stream.synchronize())
    .map_err(Problem::Launch)?;

    for (_, buffer, memory) in &buffers {
        if buffer.after.is_some() {
            let mut found = vec![0; memory.len()];
            memory.copy_to(&mut found)?;
            buffer.check(&found).map_err(Problem::Result)?;
        }
    }
    Ok(())
}

/// The words of the driver's tensor map for argument `number`.
fn tensor_map(case: &Case, number: usize, map: &Map, matrix: u64) -> Result<Vec<u64>, Problem> {
    let parts = map_parts(case, map, matrix);
    let parts = parts.ok_or_else(|| Problem::Other(format!("argument {number} is no map of a matrix")))?;
    let map = encode_tensor_map(&parts).map_err(|error| Problem::Other(error.to_string()))?;
    Ok(map.words().to_vec())
}

/// Writes the padding between a matrix's rows, which the kernel leaves alone and which is copied back with them: else a
/// checker would report the copy.
fn written_between_rows(buffer: &Buffer, memory: DeviceBuffer<u8>) -> Result<DeviceBuffer<u8>, CudaError> {
    let width = buffer.element_bytes();
    if let Some(rows) = buffer.rows.filter(|rows| rows.ld > rows.columns) {
        for row in 0..rows.rows.saturating_sub(1) {
            let mut padding = memory.index(width * (row * rows.ld + rows.columns)..width * (row + 1) * rows.ld);
            padding.copy_from(&vec![0; width * (rows.ld - rows.columns)])?;
        }
    }
    Ok(memory)
}

/// 32-bit words in 64-bit ones: a struct of words, aligned as any argument needs.
fn pairs(words: &[u32]) -> Vec<u64> {
    let word = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32;
    words.chunks(2).map(word).collect()
}

/// Raises the function's limit where a launch needs it. A size that no device has is left to the launch, which then
/// fails.
pub fn allow_dynamic_shared_memory(function: &cust::function::Function<'_>, bytes: u32) {
    if let Ok(bytes) = i32::try_from(bytes) {
        // SAFETY: the handle belongs to a loaded module.
        unsafe {
            cust_raw::cuFuncSetAttribute(
                function.to_raw(),
                cust_raw::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                bytes,
            );
        }
    }
}
