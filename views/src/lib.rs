//! Typed views of a kernel's memory: [`Shared`] for a block's shared memory, [`Global`] and [`GlobalMut`] for device
//! memory.
//!
//! On a GPU a view is a bare pointer and an access is one load or store: the view's length is dropped, and nothing is
//! checked. On the host, where `cuda_sim` runs the same source, a view knows its bounds, and every access is attributed
//! to its source line and checked: bounds, races, uninitialized reads, and the banks and sectors of a warp's accesses.
//!
//! ```
//! use cuda_sim::{GlobalBuffer, Launch};
//! use cuda_views::{Global, GlobalMut};
//!
//! /// Doubles one element.
//! unsafe fn double(from: Global<f32>, to: GlobalMut<f32>) {
//!     // SAFETY: the launch below has one thread, both views one element.
//!     unsafe { to.set(0, 2.0 * from.get(0)) }
//! }
//!
//! let (from, to) = (GlobalBuffer::from_slice(&[21.0_f32]), GlobalBuffer::<f32>::uninit(1));
//! let report = Launch::new(1, 1).run(|| {
//!     // SAFETY: both buffers hold one element.
//!     unsafe { double(Global::new(from.as_ptr(), 1), GlobalMut::new(to.as_mut_ptr(), 1)) }
//! });
//! report.assert_clean();
//! assert_eq!(to.to_vec(), [42.0]);
//! ```
//!
//! # Safety of accesses
//!
//! The functions are unsafe because a GPU checks nothing. The caller promises:
//! - the view's memory has the view's length, and the alignment of its element type;
//! - the element is inside the view;
//! - no other thread writes it at the same time, or, for a write, accesses it at all: a barrier is between the two.
//!
//! Each violation is a fault in the simulator's report, and an access outside the view is not executed. (Without the
//! simulator's checks, `Checks::Off`, the host too relies on the caller.)
//!
//! # Indices and vectors
//!
//! Indices and lengths count elements. `get_vec` and `set_vec` access `N` adjacent elements, 1, 2 or 4, at once:
//! `ld.shared.v4.b32` for four `f32`. The first one's address must be a multiple of all their bytes, at most 16; more
//! than 16 bytes are several accesses of 16.
//!
//! # Guards
//!
//! `get_if` and `set_if` are predicated accesses, as at the edge of a matrix. An `if` around `get` computes the same.
//! They differ in the simulator's traffic report for loops where lanes skip different iterations: the n-th executions
//! of a line by the lanes of a warp count as one instruction, so skipped iterations must be counted.
//!
//! # Limits
//!
//! There are no atomics, no views of local memory, and no iterators. For asynchronous copies, matrix instructions,
//! clusters, dependent launches, and barriers other than the block's, this crate has only the simulator's side
//! (`async_copy`, `bulk_copy`, `cluster`, `griddepcontrol`, `matrix`, `mbarrier`, `named_barrier`, `wgmma`, on the
//! host): the instructions need inline assembly, which is in the kernel crate.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(repr_simd))]

#[cfg_attr(target_arch = "nvptx64", path = "device.rs")]
#[cfg_attr(not(target_arch = "nvptx64"), path = "host.rs")]
mod span;

#[cfg(not(target_arch = "nvptx64"))]
pub mod async_copy;
#[cfg(not(target_arch = "nvptx64"))]
pub mod bulk_copy;
#[cfg(not(target_arch = "nvptx64"))]
pub mod cluster;
#[cfg(not(target_arch = "nvptx64"))]
pub mod griddepcontrol;
#[cfg(not(target_arch = "nvptx64"))]
pub mod matrix;
#[cfg(not(target_arch = "nvptx64"))]
pub mod mbarrier;
#[cfg(not(target_arch = "nvptx64"))]
pub mod named_barrier;
#[cfg(not(target_arch = "nvptx64"))]
pub mod wgmma;

use bytemuck::Pod;
use span::{Memory, Span};

/// The methods of all views, and those of writable views.
macro_rules! accesses {
    (read $view:ident, $memory:expr) => {
        impl<T: Pod> $view<T> {
            /// The part of `len` elements from element `start` on. In the simulator it ends where this view does.
            ///
            /// # Safety
            /// `start` is at most this view's length.
            #[inline(always)]
            pub unsafe fn part(self, start: usize, len: usize) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { self.0.part(start, len) })
            }

            /// The same memory, with indices counted from element `elems` on, which may be past its end. A walk from
            /// one element to the next takes one addition where it shifts the view, and two where it adds to an index.
            #[inline(always)]
            pub fn shifted(self, elems: usize) -> Self {
                Self(self.0.shifted(elems))
            }

            /// Element `index`.
            ///
            /// # Safety
            /// As for [every access](crate#safety-of-accesses).
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn get(self, index: usize) -> T {
                // SAFETY: the caller's promise.
                unsafe { self.0.load($memory, index) }
            }

            /// Element `index()` if `inside`, else `otherwise`: a predicated load.
            ///
            /// On a GPU it is `if inside { view.get(index()) } else { otherwise }`. The simulator also counts the lanes
            /// that do not load, so that it can combine the loads of a warp in a loop.
            ///
            /// # Safety
            /// If `inside`, as for [every access](crate#safety-of-accesses).
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn get_if(self, inside: bool, index: impl FnOnce() -> usize, otherwise: T) -> T {
                if inside {
                    // SAFETY: the caller's promise.
                    unsafe { self.0.load($memory, index()) }
                } else {
                    self.0.skip_load($memory);
                    otherwise
                }
            }

            /// The `N` elements, 1, 2, 4 or, of 2 bytes, 8, from element `index` on, in one access.
            ///
            /// # Safety
            /// As for [every access](crate#safety-of-accesses), for all of them; and the first one's
            /// address is a multiple of their bytes, at most 16.
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn get_vec<const N: usize>(self, index: usize) -> [T; N] {
                // SAFETY: the caller's promise.
                unsafe { self.0.load_vec($memory, index) }
            }
        }
    };
    (write $view:ident, $memory:expr) => {
        impl<T: Pod> $view<T> {
            /// Sets element `index`.
            ///
            /// # Safety
            /// As for [every access](crate#safety-of-accesses).
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn set(self, index: usize, value: T) {
                // SAFETY: the caller's promise.
                unsafe { self.0.store($memory, index, value) }
            }

            /// Sets element `index()` to `value()` if `inside`: a predicated store; see `get_if`.
            ///
            /// # Safety
            /// If `inside`, as for [every access](crate#safety-of-accesses).
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn set_if(self, inside: bool, index: impl FnOnce() -> usize, value: impl FnOnce() -> T) {
                if inside {
                    let value = value();
                    // SAFETY: the caller's promise.
                    unsafe { self.0.store($memory, index(), value) }
                } else {
                    self.0.skip_store($memory);
                }
            }

            /// Sets element `index` and the next one, each if it is `inside`: in one access where both are, and the
            /// address is a multiple of their bytes.
            ///
            /// # Safety
            /// As for [every access](crate#safety-of-accesses), for those that are inside.
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn set_pair_if(self, inside: [bool; 2], index: usize, values: [T; 2]) {
                let address = self.0.as_mut_ptr().wrapping_add(index).addr();
                // SAFETY: the caller's promise.
                unsafe {
                    if inside[0] && inside[1] && address.is_multiple_of(2 * size_of::<T>()) {
                        self.0.store_vec($memory, index, values);
                    } else {
                        self.set_if(inside[0], || index, || values[0]);
                        self.set_if(inside[1], || index + 1, || values[1]);
                    }
                }
            }

            /// Sets the `N` elements, 1, 2, 4 or, of 2 bytes, 8, from element `index` on, in one access.
            ///
            /// # Safety
            /// As for [every access](crate#safety-of-accesses), for all of them; and the first one's
            /// address is a multiple of their bytes, at most 16.
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            pub unsafe fn set_vec<const N: usize>(self, index: usize, values: [T; N]) {
                // SAFETY: the caller's promise.
                unsafe { self.0.store_vec($memory, index, values) }
            }
        }
    };
}

/// Elements in the shared memory of the thread's block.
#[derive(Clone, Copy, Debug)]
pub struct Shared<T>(Span<T>);

impl<T: Pod> Shared<T> {
    /// The `len` elements from `ptr` on, a pointer from or into `shared_array!` or `dynamic_shared_mem`.
    ///
    /// # Safety
    /// The elements are in the block's shared memory, and `ptr` is aligned for `T`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn new(ptr: *mut T, len: usize) -> Self {
        #[cfg(target_arch = "nvptx64")]
        return Self(Span::new(ptr, len));
        #[cfg(not(target_arch = "nvptx64"))]
        Self(Span::new_shared(ptr, len))
    }

    /// [`Shared::new`] with a length that is computed where it is needed: on the host. On a GPU not even a dead
    /// computation remains, which could change the generated code.
    ///
    /// # Safety
    /// As for [`Shared::new`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn new_with(ptr: *mut T, len: impl FnOnce() -> usize) -> Self {
        #[cfg(target_arch = "nvptx64")]
        return Self(Span::new_with(ptr, len));
        #[cfg(not(target_arch = "nvptx64"))]
        Self(Span::new_shared(ptr, len()))
    }

    /// [`Shared::new`] where the length is not known: in the simulator the block's shared memory is the only bound.
    ///
    /// # Safety
    /// `ptr` points into the block's shared memory and is aligned for `T`.
    #[inline(always)]
    pub unsafe fn new_unbounded(ptr: *mut T) -> Self {
        Self(Span::unbounded(ptr))
    }

    /// The address of the first element.
    #[inline(always)]
    pub fn as_mut_ptr(self) -> *mut T {
        self.0.as_mut_ptr()
    }
}

accesses!(read Shared, Memory::Shared);
accesses!(write Shared, Memory::Shared);

/// Elements in global memory that the kernel reads.
#[derive(Clone, Copy, Debug)]
pub struct Global<T>(Span<T>);

impl<T: Pod> Global<T> {
    /// The `len` elements from `ptr` on.
    ///
    /// # Safety
    /// The elements are in global memory, and `ptr` is aligned for `T`.
    #[inline(always)]
    pub unsafe fn new(ptr: *const T, len: usize) -> Self {
        Self(Span::new(ptr.cast_mut(), len))
    }

    /// [`Global::new`] with a length that is computed where it is needed: on the host. On a GPU not even a dead
    /// computation remains, which could change the generated code.
    ///
    /// # Safety
    /// As for [`Global::new`].
    #[inline(always)]
    pub unsafe fn new_with(ptr: *const T, len: impl FnOnce() -> usize) -> Self {
        Self(Span::new_with(ptr.cast_mut(), len))
    }

    /// [`Global::new`] where the length is not known: in the simulator the buffer is the only bound.
    ///
    /// # Safety
    /// `ptr` points into global memory and is aligned for `T`.
    #[inline(always)]
    pub unsafe fn new_unbounded(ptr: *const T) -> Self {
        Self(Span::unbounded(ptr.cast_mut()))
    }

    /// The address of the first element.
    #[inline(always)]
    pub fn as_ptr(self) -> *const T {
        self.0.as_mut_ptr()
    }
}

accesses!(read Global, Memory::Global);

/// Elements in global memory that the kernel writes.
#[derive(Clone, Copy, Debug)]
pub struct GlobalMut<T>(Span<T>);

impl<T: Pod> GlobalMut<T> {
    /// The `len` elements from `ptr` on.
    ///
    /// # Safety
    /// The elements are in writable global memory, and `ptr` is aligned for `T`.
    #[inline(always)]
    pub unsafe fn new(ptr: *mut T, len: usize) -> Self {
        Self(Span::new(ptr, len))
    }

    /// [`GlobalMut::new`] with a length that is computed where it is needed: on the host. On a GPU not even a dead
    /// computation remains, which could change the generated code.
    ///
    /// # Safety
    /// As for [`GlobalMut::new`].
    #[inline(always)]
    pub unsafe fn new_with(ptr: *mut T, len: impl FnOnce() -> usize) -> Self {
        Self(Span::new_with(ptr, len))
    }

    /// [`GlobalMut::new`] where the length is not known: in the simulator the buffer is the only bound.
    ///
    /// # Safety
    /// `ptr` points into writable global memory and is aligned for `T`.
    #[inline(always)]
    pub unsafe fn new_unbounded(ptr: *mut T) -> Self {
        Self(Span::unbounded(ptr))
    }

    /// The address of the first element.
    #[inline(always)]
    pub fn as_mut_ptr(self) -> *mut T {
        self.0.as_mut_ptr()
    }
}

accesses!(read GlobalMut, Memory::Global);
accesses!(write GlobalMut, Memory::Global);

/// The same elements, to be read only.
impl<T: Pod> From<GlobalMut<T>> for Global<T> {
    #[inline(always)]
    fn from(view: GlobalMut<T>) -> Self {
        Self(view.0)
    }
}

/// The bytes of `N` elements that one access moves: all of them, at most 16 (PTX ISA, "Vectors": no vector exceeds 128
/// bits).
const fn vector_bytes<T, const N: usize>() -> usize {
    assert!(
        matches!(N, 1 | 2 | 4) || N == 8 && size_of::<T>() == 2,
        "a vector has 1, 2 or 4 elements, or 8 of 2 bytes"
    );
    assert!(
        matches!(size_of::<T>(), 1 | 2 | 4) || size_of::<T>() == 8 && N > 1,
        "a vector's element has 1, 2, 4 or, of several, 8 bytes"
    );
    let bytes = size_of::<T>() * N;
    if bytes < 16 { bytes } else { 16 }
}
