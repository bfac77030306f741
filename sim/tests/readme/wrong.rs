use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Reverses the elements of each block of 64 threads, as far as they are there already.
///
/// # Safety
/// `from` and `to` have `len` elements, one for each thread of the grid.
#[kernel]
pub unsafe fn reverse(from: *const u32, to: *mut u32, len: usize) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: i < len and t < 64. Nothing is between writers and readers of the tile.
    unsafe {
        let (from, to) = (Global::new(from, len), GlobalMut::new(to, len));
        let tile = Shared::new(shared_array![u32; 64], 64);
        tile.set(t, from.get(i));
        to.set(i, tile.get(63 - t));
    }
}
