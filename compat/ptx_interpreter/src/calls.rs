//! Calls of device functions, and the extern functions that the driver provides.

use crate::fault::FaultKind;
use crate::format;
use crate::machine::Environment;
use crate::memory::{FUNCTION_BASE, FUNCTION_STRIDE, WINDOW_BYTES, load, store};
use crate::op::{CallSite, Callee, FrameSlot};
use crate::thread::Thread;
use crate::types::Space;

/// Enters the callee of a call site, or runs the extern function.
pub(crate) fn call(thread: &mut Thread, environment: &mut Environment<'_>, site: u32) -> Result<(), FaultKind> {
    let functions = environment.functions;
    let caller = &functions[thread.current.function as usize];
    let site = &caller.sites[site as usize];
    let index = match site.callee {
        Callee::Direct(index) => index,
        Callee::Indirect(source) => {
            let address = thread.read(functions, source);
            let offset = address.wrapping_sub(FUNCTION_BASE);
            let index = offset / FUNCTION_STRIDE;
            if !offset.is_multiple_of(FUNCTION_STRIDE) || index >= functions.len() as u64 {
                return Err(FaultKind::NoFunction(address));
            }
            index as u32
        }
    };
    let callee = &functions[index as usize];
    if !callee.defined {
        provided(thread, environment, &callee.name, site)?;
        thread.current.pc += 1;
        return Ok(());
    }
    let registers = thread.current.registers + caller.registers as usize;
    let frame = thread.frame_for(functions, index, registers)?;
    for (from, to) in site.arguments.iter().zip(&callee.parameters) {
        copy(thread, thread.current.frame, *from, frame.frame, *to);
    }
    thread.callers.push(thread.current);
    thread.current = frame;
    Ok(())
}

/// Returns from a call; false for the kernel itself.
pub(crate) fn leave(thread: &mut Thread, environment: &Environment<'_>) -> bool {
    let Some(caller) = thread.callers.pop() else {
        return false;
    };
    let function = &environment.functions[caller.function as usize];
    let crate::op::Op::Call { site } = function.code[caller.pc as usize] else {
        unreachable!("callers stand at their calls")
    };
    let callee = thread.current;
    let results = &environment.functions[callee.function as usize].results;
    for (from, to) in results.iter().zip(&function.sites[site as usize].results) {
        copy(thread, callee.frame, *from, caller.frame, *to);
    }
    thread.current = caller;
    thread.current.pc += 1;
    true
}

fn copy(thread: &mut Thread, from_frame: u64, from: FrameSlot, to_frame: u64, to: FrameSlot) {
    let lowest = WINDOW_BYTES - thread.local.len() as u64;
    let index = |frame: u64, slot: FrameSlot| (frame - lowest) as usize + slot.offset as usize;
    let (start, bytes) = (index(from_frame, from), from.bytes.min(to.bytes) as usize);
    thread.local.copy_within(start..start + bytes, index(to_frame, to));
}

/// Runs an extern function that the driver provides.
fn provided(
    thread: &mut Thread,
    environment: &mut Environment<'_>,
    name: &str,
    site: &CallSite,
) -> Result<(), FaultKind> {
    let lowest = WINDOW_BYTES - thread.local.len() as u64;
    let range = |slot: &FrameSlot| {
        let start = (thread.current.frame - lowest) as usize + slot.offset as usize;
        start..start + slot.bytes.min(8) as usize
    };
    let arguments: Vec<u64> = site
        .arguments
        .iter()
        .map(|slot| load(&thread.local[range(slot)]))
        .collect();
    let result = match (name, arguments.as_slice()) {
        ("vprintf", &[text, values]) => {
            let text = string(thread, environment, text)?;
            let mut next = values;
            let (pieces, count) = format::format(&text, |bytes| {
                // Each value is aligned to its size.
                let at = next.wrapping_add(next.wrapping_neg() & (bytes as u64 - 1));
                next = at.wrapping_add(bytes as u64);
                let memory = &mut environment.memory;
                Ok(load(memory.bytes_at(
                    &mut thread.local,
                    Space::Generic,
                    at,
                    bytes,
                    false,
                )?))
            })?;
            let mut line = String::new();
            for piece in pieces {
                match piece {
                    format::Piece::Text(text) => line.push_str(&text),
                    format::Piece::String { address, style } => {
                        let limit = style.precision.unwrap_or(usize::MAX);
                        line.push_str(&style.pad(string_up_to(thread, environment, address, limit)?));
                    }
                }
            }
            environment.printed.push_str(&line);
            count
        }
        ("malloc", &[bytes]) => environment.allocate(bytes),
        ("free", &[address]) => {
            environment.free(address)?;
            0
        }
        ("__assertfail", &[message, file, line, function, ..]) => {
            return Err(FaultKind::Assertion {
                message: string(thread, environment, message)?,
                file: string(thread, environment, file)?,
                line: line as u32,
                function: string(thread, environment, function)?,
            });
        }
        _ => return Err(FaultKind::UnknownExtern(name.to_owned())),
    };
    if let Some(slot) = site.results.first() {
        let range = (thread.current.frame - lowest) as usize + slot.offset as usize;
        store(&mut thread.local[range..range + slot.bytes.min(8) as usize], result);
    }
    Ok(())
}

fn string(thread: &mut Thread, environment: &mut Environment<'_>, address: u64) -> Result<String, FaultKind> {
    string_up_to(thread, environment, address, usize::MAX)
}

/// The text at an address: to its zero byte, or so many bytes.
fn string_up_to(
    thread: &mut Thread,
    environment: &mut Environment<'_>,
    address: u64,
    limit: usize,
) -> Result<String, FaultKind> {
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        let at = address.wrapping_add(bytes.len() as u64);
        match environment
            .memory
            .bytes_at(&mut thread.local, Space::Generic, at, 1, false)?[0]
        {
            0 => break,
            byte => bytes.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
