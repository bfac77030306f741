//! The shared memory of one block: static arrays from the bottom, the dynamic part at the top, a guard page on either
//! side.
//!
//! The dynamic part ends where the upper guard page starts (but for the alignment of its start), so that the hardware
//! catches a raw pointer past its end. A canary follows each static array and detects a raw pointer past the array's
//! end.

use std::ptr::NonNull;

/// Alignment of dynamic shared memory in bytes, as `cuda_builder` has it (`docs/device-abi.md`).
pub(super) const DYNAMIC_ALIGN: usize = 128;
/// Alignment of the arena in bytes: the widest swizzle pattern repeats after so many.
const BASE_ALIGN: usize = 1024;
/// Bytes of a canary.
pub(in crate::engine) const CANARY_BYTES: usize = 128;
const CANARY: u8 = 0xa5;

/// Memory for the shared memory of one block at a time.
pub(super) struct Arena {
    base: NonNull<u8>,
    static_bytes: usize,
    bytes: usize,
    #[cfg(all(unix, not(miri)))]
    mapping: (NonNull<u8>, usize),
}

impl Arena {
    /// Room for `static_bytes` of static arrays with their canaries, and for `dynamic_bytes`.
    pub(super) fn new(static_bytes: usize, dynamic_bytes: usize) -> std::io::Result<Self> {
        // On a GPU dynamic memory starts at 1,024 if there is no static memory. Fewer bytes than that need no such
        // alignment.
        let align = if dynamic_bytes < BASE_ALIGN {
            DYNAMIC_ALIGN
        } else {
            BASE_ALIGN
        };
        let dynamic_bytes = dynamic_bytes.next_multiple_of(align);
        let bytes = (static_bytes + dynamic_bytes).next_multiple_of(BASE_ALIGN);
        let static_bytes = bytes - dynamic_bytes;
        #[cfg(all(unix, not(miri)))]
        {
            // SAFETY: a query.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            let usable = bytes.next_multiple_of(page).max(page);
            let length = usable + 2 * page;
            // SAFETY: a new private mapping, at an address that the system chooses.
            let start = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    length,
                    libc::PROT_NONE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                )
            };
            let start = NonNull::new(start.cast::<u8>()).filter(|_| start != libc::MAP_FAILED);
            let start = start.ok_or_else(std::io::Error::last_os_error)?;
            // SAFETY: all but the first and the last page of the mapping; the base is within them.
            let (protected, base) = unsafe {
                (
                    libc::mprotect(
                        start.add(page).as_ptr().cast(),
                        usable,
                        libc::PROT_READ | libc::PROT_WRITE,
                    ),
                    start.add(page + usable - bytes),
                )
            };
            let arena = Self {
                base,
                static_bytes,
                bytes,
                mapping: (start, length),
            };
            if protected == 0 {
                Ok(arena)
            } else {
                Err(std::io::Error::last_os_error())
            }
        }
        #[cfg(not(all(unix, not(miri))))]
        {
            // SAFETY: the size is not 0.
            let base = NonNull::new(unsafe { std::alloc::alloc_zeroed(Self::layout(bytes)) });
            Ok(Self {
                base: base.ok_or(std::io::ErrorKind::OutOfMemory)?,
                static_bytes,
                bytes,
            })
        }
    }

    #[cfg(not(all(unix, not(miri))))]
    fn layout(bytes: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(bytes.max(1), BASE_ALIGN).expect("below 2^63 bytes")
    }

    /// The first byte of the static part.
    pub(super) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// The first byte of the dynamic part.
    pub(super) fn dynamic(&self) -> *mut u8 {
        // SAFETY: the static part is within the arena.
        unsafe { self.base.as_ptr().add(self.static_bytes) }
    }

    /// Bytes reserved for the static part.
    pub(super) fn static_bytes(&self) -> usize {
        self.static_bytes
    }

    /// Bytes in all.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The distance of `address` from the base, if it is in the arena.
    #[inline]
    pub(super) fn offset(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.base.as_ptr().addr());
        (offset < self.bytes).then_some(offset)
    }

    /// Fills `bytes` bytes from `offset` on with `pattern`.
    pub(super) fn poison(&self, offset: usize, bytes: usize, pattern: u8) {
        assert!(offset + bytes <= self.bytes);
        // SAFETY: inside the arena; the block does not run now.
        unsafe { self.base.as_ptr().add(offset).write_bytes(pattern, bytes) };
    }

    /// Writes a canary at `offset`.
    pub(super) fn lay_canary(&self, offset: usize) {
        self.poison(offset, CANARY_BYTES, CANARY);
    }

    /// Whether the canary at `offset` is untouched.
    pub(super) fn canary_is_alive(&self, offset: usize) -> bool {
        assert!(offset + CANARY_BYTES <= self.bytes);
        // SAFETY: inside the arena; the block does not run now.
        (0..CANARY_BYTES).all(|i| unsafe { self.base.as_ptr().add(offset + i).read() } == CANARY)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        #[cfg(all(unix, not(miri)))]
        // SAFETY: the mapping that `new` made; it is not used any more. If this fails, the mapping remains.
        unsafe {
            libc::munmap(self.mapping.0.as_ptr().cast(), self.mapping.1);
        }
        #[cfg(not(all(unix, not(miri))))]
        // SAFETY: made by `alloc_zeroed` with this layout.
        unsafe {
            std::alloc::dealloc(self.base.as_ptr(), Self::layout(self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dynamic_part_is_aligned_and_follows_the_static_part() {
        for (static_bytes, dynamic_bytes) in [(0, 0), (1, 1), (49152, 100), (0, 232_448), (300, 5000)] {
            let arena = Arena::new(static_bytes, dynamic_bytes).expect("memory");
            assert_eq!(arena.dynamic().addr() % DYNAMIC_ALIGN, 0);
            assert_eq!(arena.offset(arena.dynamic().addr() + arena.bytes()), None);
            assert!(arena.bytes() >= static_bytes + dynamic_bytes);
            arena.poison(0, arena.bytes(), 0x5a);
        }
    }

    #[test]
    fn a_canary_notices_a_single_byte() {
        let arena = Arena::new(1024, 0).expect("memory");
        arena.lay_canary(256);
        assert!(arena.canary_is_alive(256));
        arena.poison(256 + CANARY_BYTES - 1, 1, 0);
        assert!(!arena.canary_is_alive(256));
    }
}
