//! Rung 9: asynchronous copies into a ring of stages.
//!
//! The idea, over rung 8: `cp.async` copies from global to shared memory without a register in between, and goes on
//! while the thread multiplies. So several steps along K can be under way at once, in a ring of stages in shared
//! memory: 75,264 bytes here, which only a dynamic allocation that opts in above 48 KiB can have. A thread has 16 x 8
//! sums, 128 of its 255 registers. Blocks go through C in groups of rows, so that those which run at the same time
//! share what L2 holds. The body is [`pipeline`](crate::pipeline).
//!
//! Two entry points: B copied in vectors of 4 elements, where its rows allow it, or one by one.
//!
//! Block: 256 threads. Shared memory: [`BlockTile::bytes`](tilewright_contract::BlockTile::bytes), dynamic.

use cuda_std::kernel;
use tilewright_contract::{BlockTile, GemmCall, tiles};

use crate::pipeline::{AcrossK, AlongTile, Tile, pipeline};
use crate::slices::{Meeting, Results};

struct T256x128;

impl Tile for T256x128 {
    const TILE: BlockTile = tiles::T256X128;
}

macro_rules! entry_points {
    ($($symbol:ident: $copy_b:literal;)*) => {
        $(
            #[doc = concat!("[`pipeline`] with copies of ", stringify!($copy_b), " elements of B.")]
            ///
            /// # Safety
            /// As for the body: operands as `call` describes them, grid, block and dynamic shared memory of the plan.
            /// `slices` is 1.
            #[kernel(max_threads = 256, min_blocks = 1)]
            pub unsafe fn $symbol(
                a: *const f32,
                b: *const f32,
                c: *mut f32,
                call: GemmCall,
                workspace: *mut f32,
                counters: *mut u32,
            ) {
                let results = Results {
 c,
 meeting: Meeting { workspace, counters },
 };
                // SAFETY: the caller's promise.
                unsafe { pipeline::<T256x128, AcrossK, AlongTile<$copy_b>, 16, 8>(a, b, results, call) }
            }
        )*

        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::rows! { Call: $($symbol: f32;)* }
    };
}

entry_points! {
    r09_async_copy_nn4_256x128_f32: 4;
    r09_async_copy_nn_256x128_f32: 1;
}
