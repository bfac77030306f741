//! The sum of each element and its two neighbours; beyond the ends there are zeros.
//!
//! ```text
//! tile[t + 1] = the thread's element
//! thread 0:        tile[0] = the element before the block's first
//! the last thread: tile[threads + 1] = the element after the block's last
//! barrier                                     RAW: tile and halo are filled
//! output[i] = tile[t] + tile[t + 1] + tile[t + 2]
//! ```
//!
//! Block: 128 threads. Grid: one block for each 128 elements.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of a block.
pub const THREADS: usize = 128;

/// Writes to `output` the sum of each element of `input` and its two neighbours.
///
/// # Safety
/// - `input` and `output` have `len` elements in global memory and do not overlap.
/// - The block has [`THREADS`] threads along x.
#[kernel]
pub unsafe fn stencil(input: *const f32, output: *mut f32, len: u32) {
    let (t, i, len) = (
        thread::thread_idx_x() as usize,
        thread::index_1d() as usize,
        len as usize,
    );
    // SAFETY: t < THREADS; indices of global memory are tested.
    unsafe {
        let (input, output) = (Global::new(input, len), GlobalMut::new(output, len));
        let tile = Shared::new(shared_array![f32; THREADS + 2], THREADS + 2);
        tile.set(t + 1, if i < len { input.get(i) } else { 0.0 });
        if t == 0 {
            tile.set(0, if i > 0 { input.get(i - 1) } else { 0.0 });
        }
        if t == THREADS - 1 {
            tile.set(THREADS + 1, if i + 1 < len { input.get(i + 1) } else { 0.0 });
        }
        // RAW: tile and halo are filled.
        thread::sync_threads();
        if i < len {
            output.set(i, tile.get(t) + tile.get(t + 1) + tile.get(t + 2));
        }
    }
}
