//! A block's elements in reverse, in place: the smallest kernel that needs a barrier.
//!
//! ```text
//! tile[t] = data[t]
//! barrier                        RAW: the tile is filled
//! data[t] = tile[last - t]
//! ```
//!
//! The barrier orders global memory too: a thread's element is read before another thread overwrites it.
//!
//! Block: 64 threads, or as many as there are elements. Grid: one block.

use cuda_std::{kernel, shared, shared_array, thread};
use cuda_views::{GlobalMut, Shared};

/// Elements of the static tile.
pub const ELEMENTS: usize = 64;

/// Reverses [`ELEMENTS`] elements.
///
/// # Safety
/// `data` has [`ELEMENTS`] elements in global memory, the one block as many threads along x.
#[kernel]
pub unsafe fn reverse_static(data: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < ELEMENTS.
    unsafe {
        let data = GlobalMut::new(data, ELEMENTS);
        let tile = Shared::new(shared_array![u32; ELEMENTS], ELEMENTS);
        tile.set(t, data.get(t));
        // RAW: the tile is filled.
        thread::sync_threads();
        data.set(t, tile.get(ELEMENTS - 1 - t));
    }
}

/// Reverses `len` elements.
///
/// # Safety
/// `data` has `len` elements in global memory, the one block as many threads along x and `4 * len` bytes of dynamic
/// shared memory.
#[kernel]
pub unsafe fn reverse_dynamic(data: *mut u32, len: u32) {
    let (t, len) = (thread::thread_idx_x() as usize, len as usize);
    // SAFETY: t < len, and the dynamic shared memory holds len elements.
    unsafe {
        let data = GlobalMut::new(data, len);
        let tile = Shared::new(shared::dynamic_shared_mem::<u32>(), len);
        tile.set(t, data.get(t));
        // RAW: the tile is filled.
        thread::sync_threads();
        data.set(t, tile.get(len - 1 - t));
    }
}
