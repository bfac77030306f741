//! A part of the memory in the simulator: its address and its bounds. Every access is announced before it is done.

use core::ops::Range;
use core::panic::Location;

use bytemuck::Pod;
use cuda_sim::access::{self, AccessKind, Space, ViewId, access, skip};

use crate::vector_bytes;

/// Which memory.
#[derive(Clone, Copy)]
pub(crate) enum Memory {
    Shared,
    Global,
}

impl Memory {
    fn space(self) -> Space {
        match self {
            Memory::Shared => Space::Shared,
            Memory::Global => Space::Global,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<T> {
    ptr: *mut T,
    /// The addresses that an access may touch: from the first ..
    first: usize,
    /// .. to before this one.
    end: usize,
    /// As the simulator knows it, for shared memory.
    view: ViewId,
}

impl<T: Pod> Span<T> {
    #[inline(always)]
    pub(crate) fn new(ptr: *mut T, len: usize) -> Self {
        let first = ptr.addr();
        Self {
            ptr,
            first,
            end: first.saturating_add(len.saturating_mul(size_of::<T>())),
            view: ViewId::NONE,
        }
    }

    /// [`Self::new`] in shared memory, of which the simulator is told.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new_shared(ptr: *mut T, len: usize) -> Self {
        let new = Self::new(ptr, len);
        let view = access::shared_view(new.addresses(), core::any::type_name::<T>(), Location::caller());
        Self { view, ..new }
    }

    #[inline(always)]
    pub(crate) fn new_with(ptr: *mut T, len: impl FnOnce() -> usize) -> Self {
        Self::new(ptr, len())
    }

    #[inline(always)]
    pub(crate) fn unbounded(ptr: *mut T) -> Self {
        Self {
            ptr,
            first: 0,
            end: usize::MAX,
            view: ViewId::NONE,
        }
    }

    #[inline(always)]
    pub(crate) fn as_mut_ptr(self) -> *mut T {
        self.ptr
    }

    /// The addresses that an access may touch.
    pub(crate) fn addresses(self) -> Range<usize> {
        self.first..self.end
    }

    /// # Safety
    /// None: memory outside this part does not become accessible.
    #[inline(always)]
    pub(crate) unsafe fn part(self, start: usize, len: usize) -> Self {
        let part = Self::new(self.ptr.wrapping_add(start), len);
        let first = part.first.max(self.first);
        Self {
            ptr: part.ptr,
            first,
            end: part.end.min(self.end).max(first),
            view: self.view,
        }
    }

    #[inline(always)]
    pub(crate) fn shifted(self, elems: usize) -> Self {
        Self {
            ptr: self.ptr.wrapping_add(elems),
            ..self
        }
    }

    /// # Safety
    /// Without the simulator's checks, the element may be read.
    #[inline(always)]
    #[track_caller]
    pub(crate) unsafe fn load(self, memory: Memory, index: usize) -> T {
        let ptr = self.ptr.wrapping_add(index);
        self.announce_load(memory, ptr, size_of::<T>(), scalar_bytes::<T>());
        // SAFETY: the element may be read: the simulator let it pass, or the caller's promise. Unaligned, since without
        // checks a wrong address must not be more than that.
        unsafe { ptr.read_unaligned() }
    }

    /// # Safety
    /// Without the simulator's checks, the element may be written.
    #[inline(always)]
    #[track_caller]
    pub(crate) unsafe fn store(self, memory: Memory, index: usize, value: T) {
        let ptr = self.ptr.wrapping_add(index);
        self.announce_store(memory, ptr, &value, scalar_bytes::<T>());
        // SAFETY: as in `load`.
        unsafe { ptr.write_unaligned(value) }
    }

    /// # Safety
    /// Without the simulator's checks, the elements may be read.
    #[inline(always)]
    #[track_caller]
    pub(crate) unsafe fn load_vec<const N: usize>(self, memory: Memory, index: usize) -> [T; N] {
        let ptr = self.ptr.wrapping_add(index);
        let bytes = const { vector_bytes::<T, N>() };
        self.announce_load(memory, ptr, size_of::<[T; N]>(), bytes);
        // SAFETY: as in `load`.
        unsafe { ptr.cast::<[T; N]>().read_unaligned() }
    }

    /// # Safety
    /// Without the simulator's checks, the elements may be written.
    #[inline(always)]
    #[track_caller]
    pub(crate) unsafe fn store_vec<const N: usize>(self, memory: Memory, index: usize, values: [T; N]) {
        let ptr = self.ptr.wrapping_add(index);
        let bytes = const { vector_bytes::<T, N>() };
        self.announce_store(memory, ptr, &values, bytes);
        // SAFETY: as in `load`.
        unsafe { ptr.cast::<[T; N]>().write_unaligned(values) }
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn skip_load(self, memory: Memory) {
        self.skip(memory, AccessKind::Read);
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn skip_store(self, memory: Memory) {
        self.skip(memory, AccessKind::Write);
    }

    /// Tells the simulator that an element is not accessed here, in as many pieces as it would have been.
    #[inline(always)]
    #[track_caller]
    fn skip(self, memory: Memory, kind: AccessKind) {
        let piece = scalar_bytes::<T>();
        for _ in 0..size_of::<T>() / piece {
            skip(memory.space(), kind, piece, Location::caller());
        }
    }

    /// Tells the simulator of `bytes` bytes at `ptr`, loaded in pieces as a GPU would. Returns when they may be.
    #[inline(always)]
    #[track_caller]
    fn announce_load(self, memory: Memory, ptr: *mut T, bytes: usize, piece: usize) {
        let part = self.addresses();
        let mut done = 0;
        while done < bytes {
            let address = ptr.addr().wrapping_add(done);
            access(
                memory.space(),
                AccessKind::Read,
                address,
                piece,
                part.clone(),
                Location::caller(),
            );
            done += piece;
        }
    }

    /// The same of `value`, which is stored.
    #[inline(always)]
    #[track_caller]
    fn announce_store<V>(self, memory: Memory, ptr: *mut T, value: &V, piece: usize) {
        let part = self.addresses();
        let mut done = 0;
        while done < size_of::<V>() {
            let address = ptr.addr().wrapping_add(done);
            // SAFETY: a piece of the value, whose type has no padding.
            unsafe {
                let value = core::ptr::from_ref(value).cast::<u8>().add(done);
                let part = (part.clone(), self.view);
                access::store(memory.space(), address, piece, value, part, Location::caller());
            }
            done += piece;
        }
    }
}

/// The bytes that one instruction moves of a `T`: all of a number, and of a struct as many as its alignment vouches
/// for.
const fn scalar_bytes<T>() -> usize {
    if align_of::<T>() < 16 { align_of::<T>() } else { 16 }
}
