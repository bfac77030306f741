//! A part of the memory on a GPU: its address.

use core::mem::MaybeUninit;

use bytemuck::Pod;

use crate::vector_bytes;

/// Which memory. LLVM finds out by itself where a pointer came from.
#[derive(Clone, Copy)]
pub(crate) enum Memory {
    Shared,
    Global,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<T>(*mut T);

impl<T: Pod> Span<T> {
    #[inline(always)]
    pub(crate) fn new(ptr: *mut T, _len: usize) -> Self {
        Self(ptr)
    }

    #[inline(always)]
    pub(crate) fn new_with(ptr: *mut T, _len: impl FnOnce() -> usize) -> Self {
        Self(ptr)
    }

    #[inline(always)]
    pub(crate) fn unbounded(ptr: *mut T) -> Self {
        Self(ptr)
    }

    #[inline(always)]
    pub(crate) fn as_mut_ptr(self) -> *mut T {
        self.0
    }

    /// # Safety
    /// `start` is inside the memory or at its end.
    #[inline(always)]
    pub(crate) unsafe fn part(self, start: usize, _len: usize) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { self.0.add(start) })
    }

    #[inline(always)]
    pub(crate) fn shifted(self, elems: usize) -> Self {
        Self(self.0.wrapping_add(elems))
    }

    /// # Safety
    /// The element may be read.
    #[inline(always)]
    pub(crate) unsafe fn load(self, _memory: Memory, index: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { *self.0.add(index) }
    }

    /// # Safety
    /// The element may be written.
    #[inline(always)]
    pub(crate) unsafe fn store(self, _memory: Memory, index: usize, value: T) {
        // SAFETY: the caller's promise.
        unsafe { *self.0.add(index) = value }
    }

    #[inline(always)]
    pub(crate) fn skip_load(self, _memory: Memory) {}

    #[inline(always)]
    pub(crate) fn skip_store(self, _memory: Memory) {}

    /// # Safety
    /// The elements may be read, the first one's address is a multiple of [`vector_bytes`].
    #[inline(always)]
    pub(crate) unsafe fn load_vec<const N: usize>(self, _memory: Memory, index: usize) -> [T; N] {
        let mut elements = MaybeUninit::<[T; N]>::uninit();
        // SAFETY: the caller's promise for the source; the target is ours.
        unsafe {
            let source = self.0.add(index);
            match const { (vector_bytes::<T, N>(), size_of::<T>()) } {
                (_, 1) => load::<T, Vector<u8, N>>(source, elements.as_mut_ptr().cast()),
                (_, 2) => load::<T, Vector<u16, N>>(source, elements.as_mut_ptr().cast()),
                (_, 4) => load::<T, Vector<u32, N>>(source, elements.as_mut_ptr().cast()),
                _ => {
                    for pair in 0..N / 2 {
                        let target = elements.as_mut_ptr().cast::<T>().add(2 * pair);
                        load::<T, Vector<u64, 2>>(source.add(2 * pair), target);
                    }
                }
            }
            elements.assume_init()
        }
    }

    /// # Safety
    /// The elements may be written, the first one's address is a multiple of [`vector_bytes`].
    #[inline(always)]
    pub(crate) unsafe fn store_vec<const N: usize>(self, _memory: Memory, index: usize, values: [T; N]) {
        let source = values.as_ptr();
        // SAFETY: the caller's promise for the target; the source is ours.
        unsafe {
            let target = self.0.add(index);
            match const { (vector_bytes::<T, N>(), size_of::<T>()) } {
                (_, 1) => store::<T, Vector<u8, N>>(source, target),
                (_, 2) => store::<T, Vector<u16, N>>(source, target),
                (_, 4) => store::<T, Vector<u32, N>>(source, target),
                _ => {
                    for pair in 0..N / 2 {
                        store::<T, Vector<u64, 2>>(source.add(2 * pair), target.add(2 * pair));
                    }
                }
            }
        }
    }
}

/// `N` neighbours as one value, which LLVM loads and stores as one vector; an array it would move in pieces of its own
/// choice. Aligned to the bytes of all of them.
#[derive(Copy)]
#[repr(simd)]
struct Vector<I, const N: usize>([I; N]);

// Not derived: that would look into the array, which a vector does not allow.
impl<I: Copy, const N: usize> Clone for Vector<I, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

/// Loads a vector. `target` is a local array, which vanishes when the compiler optimizes.
///
/// # Safety
/// So many bytes may be read at `source`, which is aligned to them, and written at `target`.
#[inline(always)]
unsafe fn load<T, V: Copy>(source: *const T, target: *mut T) {
    // SAFETY: the caller's promise.
    unsafe { target.cast::<V>().write_unaligned(*source.cast::<V>()) }
}

/// Stores a vector. `source` is a local array, which vanishes when the compiler optimizes.
///
/// # Safety
/// So many bytes may be read at `source`, and written at `target`, which is aligned to them.
#[inline(always)]
unsafe fn store<T, V: Copy>(source: *const T, target: *mut T) {
    // SAFETY: the caller's promise.
    unsafe { *target.cast::<V>() = source.cast::<V>().read_unaligned() }
}
