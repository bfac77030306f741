//! The `cu*` symbols: one jump each through a table whose slots are filled at the first call.
//!
//! ```text
//! cuLaunchKernel:  scratch <- its index;  jump to SLOTS[index]
//!
//! SLOTS[index] at first:   enter_resolver   save the argument registers
//!                                           resolve(index): load the library once, look the function up, fill the slot
//!                                           restore the registers; jump to what resolve returned
//! SLOTS[index] afterwards: the driver's function, or a stand-in that returns an error code
//! ```
//!
//! No signature appears here. Arguments stay where the caller put them, in registers and on the stack, and the return
//! value goes straight back to the caller, so one trampoline serves every signature. The one exception would be an
//! argument wider than the registers saved below (a 256-bit vector); the driver API has none.
//!
//! Only registers are used that the calling convention gives to linkers' stubs and the like, between call and entry:
//! r10 and r11 on x86-64 (System V ABI, "Register Usage"; Microsoft, "x64 calling convention": volatile, and no
//! arguments), x16 and x17 on AArch64 (AAPCS64, "Use of IP0 and IP1 by the linker").

use std::arch::naked_asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::driver::outcome;
use crate::fallback;
use crate::{FUNCTIONS, Index};

/// Where each trampoline jumps to. Written by `resolve` only, and always with the same value for the same slot.
static SLOTS: [AtomicPtr<c_void>; FUNCTIONS.len()] =
    [const { AtomicPtr::new(enter_resolver as *const () as *mut c_void) }; FUNCTIONS.len()];

/// Finds where the trampoline `index` leads, and remembers it in its slot.
///
/// Threads that race here write the same address, so no lock is needed beyond the one around the loading.
extern "C" fn resolve(index: usize) -> *mut c_void {
    let target = match outcome() {
        Ok(driver) => driver
            .symbol(FUNCTIONS[index])
            .map_or_else(|| stand_in(index, true), |found| found.as_ptr()),
        Err(_) => stand_in(index, false),
    };
    // Release pairs with the load in the trampolines: who sees the address also sees the library that was loaded.
    SLOTS[index].store(target, Ordering::Release);
    target
}

/// The function that answers for one that is missing.
fn stand_in(index: usize, driver_loaded: bool) -> *mut c_void {
    const NAME: usize = Index::cuGetErrorName as usize;
    const STRING: usize = Index::cuGetErrorString as usize;
    let function = match index {
        NAME => fallback::error_name as *const (),
        STRING => fallback::error_string as *const (),
        _ if driver_loaded => fallback::symbol_missing as *const (),
        _ => fallback::driver_missing as *const (),
    };
    function.cast_mut().cast()
}

macro_rules! define_trampolines {
    ($($name:ident)*) => { $(
        /// One driver function: jumps to wherever its slot leads.
        ///
        /// # Safety
        ///
        /// The arguments are those that the CUDA driver API documents for the function of this name.
        #[allow(non_snake_case, reason = "the driver's own name")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() -> u32 {
            trampoline!(Index::$name as usize)
        }
    )* };
}

/// The body of a trampoline. The table is addressed through the global offset table, which is right in executables and
/// shared objects alike; linkers turn it into a direct address where they can.
#[cfg(all(target_arch = "x86_64", unix))]
macro_rules! trampoline {
    ($index:expr) => {
        naked_asm!(
            "mov r10, qword ptr [rip + {slots}@GOTPCREL]",
            "mov r11d, {index}",
            // An ordinary load suffices for acquire order on x86-64.
            "jmp qword ptr [r10 + 8*r11]",
            slots = sym SLOTS,
            index = const $index,
        )
    };
}

/// The same for Windows, where a program or library addresses what it contains directly.
#[cfg(all(target_arch = "x86_64", any(windows, test)))]
macro_rules! trampoline_of_windows {
    ($slots:path, $index:expr) => {
        naked_asm!(
            "lea r10, [rip + {slots}]",
            "mov r11d, {index}",
            "jmp qword ptr [r10 + 8*r11]",
            slots = sym $slots,
            index = const $index,
        )
    };
}

#[cfg(all(target_arch = "x86_64", windows))]
macro_rules! trampoline {
    ($index:expr) => {
        trampoline_of_windows!(SLOTS, $index)
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! trampoline {
    ($index:expr) => {
        naked_asm!(
            "adrp x16, :got:{slots}",
            "ldr x16, [x16, :got_lo12:{slots}]",
            "mov w17, #{index}",
            "add x16, x16, x17, lsl #3",
            // Acquire: a jump orders nothing by itself, and the code it leads to reads what the loader wrote.
            "ldar x16, [x16]",
            "br x16",
            slots = sym SLOTS,
            index = const $index,
        )
    };
}

crate::names::for_each_function!(define_trampolines);

/// What every slot first leads to: calls [`resolve`] with the index that the trampoline left in r11, between saving and
/// restoring everything that may hold an argument, and jumps on.
///
/// Arguments are in rdi, rsi, rdx, rcx, r8, r9 and xmm0-7, and rax tells variadic functions how many of the latter are
/// used.
///
/// # Safety
///
/// To be jumped to from a trampoline only.
#[cfg(all(target_arch = "x86_64", unix))]
#[unsafe(naked)]
unsafe extern "C" fn enter_resolver() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        // The return address and rbp make 16 bytes, and so do 192: the stack is aligned for the call.
        "sub rsp, 192",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov [rsp + 48], rax",
        "movaps [rsp + 64], xmm0",
        "movaps [rsp + 80], xmm1",
        "movaps [rsp + 96], xmm2",
        "movaps [rsp + 112], xmm3",
        "movaps [rsp + 128], xmm4",
        "movaps [rsp + 144], xmm5",
        "movaps [rsp + 160], xmm6",
        "movaps [rsp + 176], xmm7",
        "mov rdi, r11",
        "call qword ptr [rip + {resolve}@GOTPCREL]",
        "mov r11, rax",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "mov rax, [rsp + 48]",
        "movaps xmm0, [rsp + 64]",
        "movaps xmm1, [rsp + 80]",
        "movaps xmm2, [rsp + 96]",
        "movaps xmm3, [rsp + 112]",
        "movaps xmm4, [rsp + 128]",
        "movaps xmm5, [rsp + 144]",
        "movaps xmm6, [rsp + 160]",
        "movaps xmm7, [rsp + 176]",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "jmp r11",
        ".cfi_endproc",
        resolve = sym resolve,
    )
}

/// The same by the calling convention of Windows: arguments are in rcx, rdx, r8, r9 or xmm0-3, by their position, and a
/// function may write 32 bytes above its return address.
#[cfg(all(target_arch = "x86_64", any(windows, test)))]
macro_rules! enter_resolver_of_windows {
    ($resolve:path) => {
        naked_asm!(
            // With the return address 144 bytes: the stack is aligned for the call. The lowest 32 are the callee's.
            "sub rsp, 136",
            "mov [rsp + 32], rcx",
            "mov [rsp + 40], rdx",
            "mov [rsp + 48], r8",
            "mov [rsp + 56], r9",
            "movaps [rsp + 64], xmm0",
            "movaps [rsp + 80], xmm1",
            "movaps [rsp + 96], xmm2",
            "movaps [rsp + 112], xmm3",
            "mov rcx, r11",
            "call {resolve}",
            "mov r11, rax",
            "mov rcx, [rsp + 32]",
            "mov rdx, [rsp + 40]",
            "mov r8, [rsp + 48]",
            "mov r9, [rsp + 56]",
            "movaps xmm0, [rsp + 64]",
            "movaps xmm1, [rsp + 80]",
            "movaps xmm2, [rsp + 96]",
            "movaps xmm3, [rsp + 112]",
            "add rsp, 136",
            "jmp r11",
            resolve = sym $resolve,
        )
    };
}

/// What every slot first leads to.
///
/// # Safety
///
/// To be jumped to from a trampoline only.
#[cfg(all(target_arch = "x86_64", windows))]
#[unsafe(naked)]
unsafe extern "C" fn enter_resolver() {
    enter_resolver_of_windows!(resolve)
}

/// What every slot first leads to: calls [`resolve`] with the index that the trampoline left in x17, between saving and
/// restoring everything that may hold an argument, and jumps on.
///
/// Arguments are in x0-x7 and q0-q7, and x8 may hold the address of a large result.
///
/// # Safety
///
/// To be jumped to from a trampoline only.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn enter_resolver() {
    naked_asm!(
        ".cfi_startproc",
        // 16 bytes of frame record, 80 for x0-x8, 128 for q0-q7: a multiple of 16, as sp must be.
        "stp x29, x30, [sp, #-224]!",
        ".cfi_def_cfa_offset 224",
        ".cfi_offset x29, -224",
        ".cfi_offset x30, -216",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "str x8, [sp, #80]",
        "stp q0, q1, [sp, #96]",
        "stp q2, q3, [sp, #128]",
        "stp q4, q5, [sp, #160]",
        "stp q6, q7, [sp, #192]",
        "mov x0, x17",
        "bl {resolve}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldr x8, [sp, #80]",
        "ldp q0, q1, [sp, #96]",
        "ldp q2, q3, [sp, #128]",
        "ldp q4, q5, [sp, #160]",
        "ldp q6, q7, [sp, #192]",
        "ldp x29, x30, [sp], #224",
        ".cfi_def_cfa sp, 0",
        "br x16",
        ".cfi_endproc",
        resolve = sym resolve,
    )
}

/// The trampolines of Windows, which no other test runs, by its calling convention.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::arch::naked_asm;
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

    /// Any integers and floats, more than registers hold.
    type Function = unsafe extern "win64" fn(u64, f64, u64, f64, u64, f64, u64) -> u64;

    static SLOTS: [AtomicPtr<c_void>; 3] = [const { AtomicPtr::new(enter_resolver as *const () as *mut c_void) }; 3];
    static RESOLVED: AtomicUsize = AtomicUsize::new(0);

    extern "win64" fn resolve(index: usize) -> *mut c_void {
        // The arguments of another call: they overwrite registers, and the 32 bytes that belong to a callee.
        // SAFETY: the function is of this type.
        let other = unsafe { function(9, 9.5, 10, 10.5, 11, 11.5, 12) };
        assert_eq!(other, weighted(9, 9.5, 10, 10.5, 11, 11.5, 12));
        RESOLVED.fetch_add(index, Ordering::Relaxed);
        let target = function as *const () as *mut c_void;
        SLOTS[index].store(target, Ordering::Release);
        target
    }

    fn weighted(a: u64, b: f64, c: u64, d: f64, e: u64, f: f64, g: u64) -> u64 {
        let floats = 1e3 * b + 1e5 * d + 1e7 * f;
        a + 100 * c + 10_000 * e + 1_000_000 * g + floats as u64
    }

    unsafe extern "win64" fn function(a: u64, b: f64, c: u64, d: f64, e: u64, f: f64, g: u64) -> u64 {
        weighted(a, b, c, d, e, f, g)
    }

    #[unsafe(naked)]
    unsafe extern "win64" fn enter_resolver() {
        enter_resolver_of_windows!(resolve)
    }

    #[unsafe(naked)]
    unsafe extern "win64" fn trampoline() -> u64 {
        trampoline_of_windows!(SLOTS, 2)
    }

    #[test]
    fn windows_keeps_every_argument() {
        // SAFETY: it leads to a function of this type.
        let called = unsafe { std::mem::transmute::<*const (), Function>(trampoline as *const ()) };
        for (call, resolved) in [(1, 2), (2, 2), (3, 2)] {
            // SAFETY: as above.
            let result = unsafe { called(call, 2.5, 3, 4.5, 5, 6.5, 7) };
            assert_eq!(result, weighted(call, 2.5, 3, 4.5, 5, 6.5, 7));
            assert_eq!(
                RESOLVED.load(Ordering::Relaxed),
                resolved,
                "resolved once, at the first call"
            );
        }
    }
}
