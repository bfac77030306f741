//! What the driver says of a device pointer and of a stream.
//!
//! Source: CUDA driver API, "Unified Addressing", `cuPointerGetAttributes`, and "Stream Management", `cuStreamGetCtx`.
//! Both only look things up: they are legal while a stream is captured, and neither allocates nor synchronizes.

use std::ffi::c_void;
use std::ptr::null_mut;

use cust_raw::{CUcontext, CUpointer_attribute as Attribute, CUstream};

use super::context::ContextHandle;
use super::newer::succeeded;
use super::operand_error::OperandError;
use super::span::Span;
use crate::error::Result;

/// `CUmemorytype`: memory of the host that a device can access, and an array. 0 is no memory of CUDA's.
const HOST: u64 = 1;
const ARRAY: u64 = 3;

/// Refuses a buffer that no kernel of the context can access, or whose allocation ends before it does. The context is
/// current.
pub(super) fn check(span: &Span, context: &ContextHandle) -> Result<()> {
    let mut attributes = [
        Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        Attribute::CU_POINTER_ATTRIBUTE_CONTEXT,
        Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
        Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    ];
    // Of 4 or 8 bytes each, little-endian, as every host of an NVIDIA GPU is.
    let mut values = [0_u64; 7];
    let mut places = values
        .each_mut()
        .map(|value| std::ptr::from_mut(value).cast::<c_void>());
    // SAFETY: as many attributes as places, each of 8 bytes, and all outlive the call. The address is only looked up.
    let code = unsafe {
        cust_raw::cuPointerGetAttributes(
            attributes.len() as u32,
            attributes.as_mut_ptr(),
            places.as_mut_ptr(),
            span.address,
        )
    };
    succeeded("cuPointerGetAttributes", code)?;
    let [memory_type, owner, device, is_managed, device_pointer, start, size] = values;
    let is_managed = is_managed & 0xff != 0;
    let (buffer, address) = (span.buffer, span.address);
    let not_device_memory = OperandError::NotDeviceMemory { buffer, address };
    match memory_type & 0xffff_ffff {
        0 | ARRAY => return Err(not_device_memory.into()),
        // Managed memory moves to whoever accesses it.
        _ if is_managed => {}
        // Pinned: every context of the process can access it, through an address that may be another.
        HOST if device_pointer != address => return Err(not_device_memory.into()),
        HOST => {}
        _ => {
            let (device, expected) = (device as u32, context.ordinal());
            if device != expected {
                return Err(OperandError::OtherDevice {
                    buffer,
                    address,
                    device,
                    expected,
                }
                .into());
            }
            // Memory of pools and mapped physical memory is of a device, and of no context.
            if owner != 0 && owner != context.raw().expose_provenance() as u64 {
                return Err(OperandError::OtherContext { buffer, address }.into());
            }
        }
    }
    let available_bytes = start.saturating_add(size).saturating_sub(address);
    if size > 0 && available_bytes < span.bytes() {
        return Err(OperandError::TooShort {
            buffer,
            address,
            needed_bytes: span.bytes(),
            available_bytes,
        }
        .into());
    }
    Ok(())
}

/// Refuses a stream of another context. The context is current, so that the default streams are of it.
pub(super) fn check_stream(stream: CUstream, context: &ContextHandle) -> Result<()> {
    let mut owner: CUcontext = null_mut();
    // SAFETY: the place outlives the call; the stream is the caller's promise.
    succeeded("cuStreamGetCtx", unsafe {
        cust_raw::cuStreamGetCtx(stream, &raw mut owner)
    })?;
    match owner == context.raw() {
        true => Ok(()),
        false => Err(OperandError::StreamOfOtherContext.into()),
    }
}
