//! The sum of each element and its two neighbours; beyond the ends there are zeros. Tiles are pipelined: while one is
//! computed, the copies of the next two are in flight.
//!
//! ```text
//! start the copies of the first two tiles        one commit group and one stage each
//! for each tile:
//!     wait for its group
//!     barrier                                     RAW: the tile and its halo are complete
//!                                                 WAR: the stage of the previous tile is drained
//!     start the copies of the tile after the next, into that stage
//!     output[i] = stage[i - 1] + stage[i] + stage[i + 1]
//! ```
//!
//! A stage holds three unused elements, the element before the tile, the tile, and the element after it: thus the tile
//! is aligned to 16 bytes. Each thread copies four neighbours at once, the first and the last one also an element of
//! the halo.
//!
//! Block: 64 threads, tiles of 256 elements. Grid: any; the blocks take turns at the tiles.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

use crate::ptx::async_copy;

/// Threads of a block.
pub const THREADS: usize = 64;
/// Elements of a tile.
pub const WIDTH: usize = VECTOR * THREADS;
/// Stages of the pipeline.
pub const STAGES: usize = 3;

/// Elements of one copy.
const VECTOR: usize = 4;
/// The tile's first element in its stage.
const START: usize = VECTOR;
/// Elements of a stage.
const PITCH: usize = START + WIDTH + VECTOR;

/// Sixteen bytes aligned to as many.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub struct Vector(#[allow(dead_code)] [f32; VECTOR]);

/// Writes to `output` the sum of each element of `input` and its two neighbours.
///
/// # Safety
/// - `input` and `output` have `len` elements in global memory and do not overlap; `input` is aligned to 16 bytes.
/// - The block has [`THREADS`] threads along x.
#[kernel]
pub unsafe fn stencil_pipelined(input: *const f32, output: *mut f32, len: u32) {
    let (t, len) = (thread::thread_idx_x() as usize, len as usize);
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    // SAFETY: both have `len` elements; the stages are as large as the array.
    let (input, output, stages) = unsafe {
        (
            Global::new(input, len),
            GlobalMut::new(output, len),
            Shared::new(
                shared_array![Vector; STAGES * PITCH / VECTOR].cast::<f32>(),
                STAGES * PITCH,
            ),
        )
    };
    // The block's `step`-th tile starts at this element.
    let first_of = |step: usize| (block + step * blocks) * WIDTH;
    // SAFETY: one of so many stages.
    let stage_of = |step: usize| unsafe { stages.part(step % STAGES * PITCH, PITCH) };
    let start = |step: usize| {
        let (first, stage) = (first_of(step), stage_of(step));
        if first < len {
            let mine = first + VECTOR * t;
            // SAFETY: t < THREADS; reads stay inside the input; a barrier separates the stage's last readers.
            unsafe {
                let valid = len.saturating_sub(mine).min(VECTOR) as u32;
                async_copy::copy::<f32, VECTOR>(stage, (START + VECTOR * t) as u32, input, || mine, valid);
                if t == 0 {
                    let valid = u32::from(first > 0);
                    async_copy::copy::<f32, 1>(stage, (START - 1) as u32, input, || first.wrapping_sub(1), valid);
                }
                if t == THREADS - 1 {
                    let valid = u32::from(first + WIDTH < len);
                    async_copy::copy::<f32, 1>(stage, (START + WIDTH) as u32, input, || first + WIDTH, valid);
                }
            }
        }
        // Also where nothing was left to copy: the n-th group is the n-th tile's.
        async_copy::commit();
    };
    for step in 0..STAGES - 1 {
        start(step);
    }
    let mut step = 0;
    while first_of(step) < len {
        async_copy::wait::<{ STAGES as u32 - 2 }>();
        // RAW: what every thread of the block has copied of this tile. WAR: the stage of the tile before is drained.
        thread::sync_threads();
        start(step + STAGES - 1);
        let (first, stage) = (first_of(step), stage_of(step));
        for i in (t..WIDTH).step_by(THREADS) {
            if first + i < len {
                let i_s = START + i;
                // SAFETY: i < WIDTH, and the halo is part of the stage; the output has the element.
                unsafe { output.set(first + i, stage.get(i_s - 1) + stage.get(i_s) + stage.get(i_s + 1)) };
            }
        }
        step += 1;
    }
}
