//! Address spaces of pointers.
//!
//! Every Rust pointer is a generic address, in which each memory of the GPU has a window (PTX 5.1). The functions here
//! ask which window an address is in, and convert between it and an address within that memory.
//!
//! On the host an address is in shared memory if it belongs to a block's, in local memory if it is on a thread's stack,
//! in constant memory if it belongs to a static with `#[address_space(constant)]`, else in global memory. Conversions
//! leave it as it is.

// The instructions here look at addresses and at no memory.
#![allow(clippy::pointers_in_nomem_asm_block)]

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use {crate::__host::is_constant, cuda_sim::device::Space};

/// A memory of the GPU that a generic address can lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Read and written by the whole device.
    Global,
    /// Read and written by the threads of one block.
    Shared,
    /// Read by the whole device, written by the host.
    Constant,
    /// Read and written by one thread.
    Local,
}

#[cfg(not(target_arch = "nvptx64"))]
impl AddressSpace {
    /// The memory that the simulator, or a registration, knows an address to be in.
    fn of(address: *const u8) -> Self {
        match cuda_sim::device::space_of(address) {
            Some(Space::Shared) => Self::Shared,
            Some(Space::Local) => Self::Local,
            _ if is_constant(address) => Self::Constant,
            _ => Self::Global,
        }
    }
}

/// Picks the instruction for an address space that usually is a constant.
#[cfg(target_arch = "nvptx64")]
macro_rules! per_space {
    ($space:expr, $instruction:ident) => {
        match $space {
            AddressSpace::Global => $instruction!("global"),
            AddressSpace::Shared => $instruction!("shared"),
            AddressSpace::Constant => $instruction!("const"),
            AddressSpace::Local => $instruction!("local"),
        }
    };
}

/// Whether the generic address `ptr` lies in `address_space` (PTX 9.7.9.21, `isspacep`).
///
/// # Safety
///
/// `ptr` must be valid for a `T`.
#[gpu_only(sim = { AddressSpace::of(ptr.cast()) == address_space })]
#[inline(always)]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    let inside: u32;
    macro_rules! ask {
        ($space:literal) => {
            // SAFETY: only the address is looked at. The braces keep the predicate register's name apart from every
            // other use.
            unsafe {
                asm!(
                    "{{",
                    ".reg .pred p;",
                    concat!("isspacep.", $space, " p, {ptr};"),
                    "selp.u32 {inside}, 1, 0, p;",
                    "}}",
                    ptr = in(reg64) ptr,
                    inside = out(reg32) inside,
                    options(pure, nomem, nostack, preserves_flags),
                )
            }
        };
    }
    per_space!(address_space, ask);
    inside != 0
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    // `cuda_builder` knows these by their names and gives them bodies that LLVM sees through, as it would not through
    // assembly.
    fn cuda_std_to_global(ptr: *const u8) -> *const u8;
    fn cuda_std_to_shared(ptr: *const u8) -> *const u8;
    fn cuda_std_to_constant(ptr: *const u8) -> *const u8;
    fn cuda_std_to_local(ptr: *const u8) -> *const u8;
}

/// Converts a generic address to one within `address_space` (PTX 9.7.9.20, `cvta.to`). Rust code cannot access memory
/// through the result; inline assembly can. Addresses in shared, constant and local memory have 32 bits: `as u32` loses
/// nothing of them.
///
/// # Safety
///
/// `ptr` must be valid for a `T` and lie in `address_space`.
#[gpu_only(sim = { ptr })]
#[inline(always)]
pub unsafe fn convert_generic_to_specific_address_space<T>(ptr: *const T, address_space: AddressSpace) -> *const T {
    let ptr = ptr.cast();
    // SAFETY: only the address is converted; that it lies in the memory is the caller's promise.
    let specific = unsafe {
        match address_space {
            AddressSpace::Global => cuda_std_to_global(ptr),
            AddressSpace::Shared => cuda_std_to_shared(ptr),
            AddressSpace::Constant => cuda_std_to_constant(ptr),
            AddressSpace::Local => cuda_std_to_local(ptr),
        }
    };
    specific.cast()
}

/// Converts an address within `address_space` to a generic one (PTX 9.7.9.20, `cvta`).
///
/// # Safety
///
/// `ptr` must be an address within `address_space` that is valid for a `T`.
#[gpu_only(sim = { ptr })]
#[inline(always)]
pub unsafe fn convert_specific_address_space_to_generic<T>(ptr: *const T, address_space: AddressSpace) -> *const T {
    let generic: *const T;
    macro_rules! convert {
        ($space:literal) => {
            // SAFETY: only the address is converted.
            unsafe {
                asm!(
                    concat!("cvta.", $space, ".u64 {}, {};"),
                    out(reg64) generic,
                    in(reg64) ptr,
                    options(pure, nomem, nostack, preserves_flags),
                )
            }
        };
    }
    per_space!(address_space, convert);
    generic
}
