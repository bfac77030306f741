//! Predicated loads of the elements of a vector that are inside an operand (PTX ISA, "Data Movement and Conversion
//! Instructions: ld", "Predicated Execution").
//!
//! ```text
//! load(.., valid)        8 loads of 2 bytes, each with a predicate of its own: no branch, all in flight at once
//! load_pair(.., valid)   2 of them
//! join(first, second)    both as one word
//! ```
//!
//! Rust has no word for a predicated load. LLVM makes a branch of each `if`, around each load.

use bytemuck::Pod;
use cuda_views::Global;

/// Elements of a vector.
pub const VECTOR: usize = 8;

/// Elements `index ..+ 8` of `from`, of which only the first `valid` are read; zeros take the place of the others. With
/// `valid` above 8 all are read. Elements have 2 bytes.
///
/// With `valid` 0 the index may be outside `from`.
///
/// # Safety
/// Elements `index ..+ min(valid, 8)` are in `from`, and no other thread writes them at the same time.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load<T: Pod>(from: Global<T>, index: usize, valid: u32) -> [T; VECTOR] {
    const { assert!(size_of::<T>() == 2, "elements have 2 bytes") };
    // SAFETY: the caller's promise.
    unsafe { any(from, index, valid) }
}

/// Elements `index` and `index + 1` of `from`, of which only the first `valid` are read, and none unless `is_inside`;
/// zeros take the place of the others. Elements have 2 bytes.
///
/// # Safety
/// If `is_inside`, elements `index ..+ min(valid, 2)` are in `from`, and no other thread writes them at the same time.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_pair<T: Pod>(from: Global<T>, index: usize, is_inside: bool, valid: u32) -> (T, T) {
    const { assert!(size_of::<T>() == 2, "elements have 2 bytes") };
    // SAFETY: the caller's promise.
    unsafe { pair(from, index, is_inside, valid) }
}

/// [`load`] by predicated loads of the view.
///
/// # Safety
/// As for [`load`].
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
#[track_caller]
unsafe fn any<T: Pod>(from: Global<T>, index: usize, valid: u32) -> [T; VECTOR] {
    let mut elements = [T::zeroed(); VECTOR];
    for (i, element) in (0..).zip(&mut elements) {
        // SAFETY: the caller's promise.
        *element = unsafe { from.get_if((i as u32) < valid, || index + i, T::zeroed()) };
    }
    elements
}

/// [`load_pair`] by predicated loads of the view.
///
/// # Safety
/// As for [`load_pair`].
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
#[track_caller]
unsafe fn pair<T: Pod>(from: Global<T>, index: usize, is_inside: bool, valid: u32) -> (T, T) {
    // SAFETY: the caller's promise.
    let element = |i: usize| unsafe { from.get_if(is_inside && (i as u32) < valid, || index + i, T::zeroed()) };
    (element(0), element(1))
}

/// [`load`] by `@p ld.global.b16`.
///
/// # Safety
/// As for [`load`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn any<T: Pod>(from: Global<T>, index: usize, valid: u32) -> [T; VECTOR] {
    use cuda_std::ptr::{AddressSpace, convert_generic_to_specific_address_space as convert};

    // SAFETY: the view starts in global memory.
    let from = unsafe { convert(from.as_ptr(), AddressSpace::Global) }.wrapping_add(index);
    let mut elements = [0_u16; VECTOR];
    macro_rules! loads {
        ($($i:literal)*) => {$(
            // SAFETY: the caller's promise. Without the predicate nothing is read.
            unsafe {
                core::arch::asm!(
                    "{{",
                    ".reg .pred p;",
                    concat!("setp.gt.u32 p, {valid}, ", $i, ";"),
                    "mov.b16 {element}, 0;",
                    concat!("@p ld.global.b16 {element}, [{from}+", $i, " * 2];"),
                    "}}",
                    element = out(reg16) elements[$i],
                    valid = in(reg32) valid,
                    from = in(reg64) from,
                    options(readonly, nostack, preserves_flags),
                );
            }
        )*};
    }
    loads! { 0 1 2 3 4 5 6 7 }
    elements.map(|element| bytemuck::cast(element))
}

/// [`load_pair`] by `@p ld.global.b16`.
///
/// # Safety
/// As for [`load_pair`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn pair<T: Pod>(from: Global<T>, index: usize, is_inside: bool, valid: u32) -> (T, T) {
    use cuda_std::ptr::{AddressSpace, convert_generic_to_specific_address_space as convert};

    // SAFETY: the view starts in global memory.
    let from = unsafe { convert(from.as_ptr(), AddressSpace::Global) }.wrapping_add(index);
    let (first, second): (u16, u16);
    // SAFETY: the caller's promise. Without the predicates nothing is read.
    unsafe {
        core::arch::asm!(
            "{{",
            ".reg .pred inside, p;",
            "setp.ne.u32 inside, {inside}, 0;",
            "setp.gt.and.u32 p, {valid}, 0, inside;",
            "mov.b16 {first}, 0;",
            "@p ld.global.b16 {first}, [{from}];",
            "setp.gt.and.u32 p, {valid}, 1, inside;",
            "mov.b16 {second}, 0;",
            "@p ld.global.b16 {second}, [{from}+2];",
            "}}",
            first = out(reg16) first,
            second = out(reg16) second,
            inside = in(reg32) u32::from(is_inside),
            valid = in(reg32) valid,
            from = in(reg64) from,
            options(readonly, nostack, preserves_flags),
        );
    }
    (bytemuck::cast(first), bytemuck::cast(second))
}

/// Two elements of 2 bytes as a word, the first in the low half. LLVM does not see through it: it would widen elements
/// where they are loaded, so that what is to be in flight is waited for.
#[inline(always)]
pub fn join<T: Pod>(first: T, second: T) -> u32 {
    let (first, second): (u16, u16) = (bytemuck::cast(first), bytemuck::cast(second));
    #[cfg(not(target_arch = "nvptx64"))]
    return u32::from(first) | u32::from(second) << 16;
    #[cfg(target_arch = "nvptx64")]
    {
        let word: u32;
        // SAFETY: writes one register.
        unsafe {
            core::arch::asm!(
                "mov.b32 {word}, {{{first}, {second}}};",
                word = out(reg32) word,
                first = in(reg16) first,
                second = in(reg16) second,
                options(nomem, nostack, preserves_flags),
            );
        }
        word
    }
}
