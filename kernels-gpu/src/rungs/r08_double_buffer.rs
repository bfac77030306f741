//! Rung 8: everything is loaded before it is needed.
//!
//! ```text
//! copy step 0 into stage 0; barrier                                                            RAW: stage 0 filled
//! load the fragments of k 0
//! for each step of 8 along K:
//!     start to load the thread's share of the next step from global memory, into registers
//!     for each k of the step:
//!         load the fragments of the next k
//!         (at the last k: store the share into the other stage; barrier; load from there)      RAW filled, WAR drained
//!         sums += outer product of the fragments of this k
//! C = sums
//! ```
//!
//! What changed since rung 7: two stages of shared memory, two sets of fragments, and 8 registers for what is on the
//! way from global memory. Loads have a whole step to arrive, or a whole k, and meanwhile the same warp multiplies.
//!
//! One barrier a step closes both hazards. Behind it every thread has stored the next stage (RAW), and no thread reads
//! the stage before any more (WAR): that is where the share of the step after is stored.
//!
//! Prediction at 4096 cubed on an H200: 48 TFLOP/s. A warp's step is 585 instructions, 512 of them FFMA: 87.5 %, at
//! most 58.5 of the peak of 66.9. 4 warps a scheduler issue 340 instructions of a step behind its loads from global
//! memory, 1360 clocks, where these take some 700: nobody waits for them. What is left is one barrier a step, where up
//! to 8 warps wait for the last of them and the other block alone fills the slots, and the power limit: cuBLAS makes 51
//! with tiles of 256 x 128, which load less.
//!
//! Costs: 122 registers on sm_90, and `min_blocks` holds it below 128, so that two blocks share a multiprocessor; twice
//! the shared memory. Registers are what ends this rung: a wider tile, or loads more than one step ahead, need them for
//! what is on the way.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::Shared;
use tilewright_contract::{BlockTile, DType, GemmParams, tiles};

use crate::operands::Operands;
use crate::primitives::fma::fma;
use crate::register::{Copier, Fragment, Sums, allow_vectors, fragments, origin, store};
use crate::rungs::r07_warp_tile::place;
use crate::unroll::unrolled;

const TILE: BlockTile = tiles::TWO_STAGES_128X128;

/// Computes this block's tile of C.
///
/// # Safety
/// - `operands` describes matrices in global memory, which [`allow_vectors`] with `VECTORS`.
/// - `stages` are [`TILE`]'s two stages in this block's shared memory, aligned to 16 bytes.
/// - The block is [`TILE`]'s, the grid covers C with it. Every thread of the block calls this.
#[inline(always)]
unsafe fn double_buffer<const VECTORS: bool>(operands: Operands<f32>, stages: Shared<f32>) {
    let t = thread::thread_idx_x();
    let (place, origin) = (place(t), origin(operands));
    let copier = Copier::<VECTORS>::new(operands, origin, t);
    let mut sums: Sums = [[0.0; 8]; 8];
    // The stage that is read, as its first element.
    let mut now = 0;
    // SAFETY: both stages lie in the array.
    let stage = |first: u32| unsafe { stages.part(first as usize, TILE.stage_elems() as usize) };

    // SAFETY: the operands are the caller's promise; nobody has used the stage yet.
    unsafe { copier.store(stage(now), copier.load(0)) };
    // RAW: the first stage is filled.
    thread::sync_threads();
    // SAFETY: filled, by the barrier.
    let mut fragment = unsafe { fragments(stage(now), place, 0) };
    let mut k0 = 0;
    while k0 < operands.args.k {
        // Behind the end of K there is nothing to load, and zeros take its place.
        // SAFETY: the caller's promise.
        let share = unsafe { copier.load(k0 + TILE.k) };
        unrolled!(TILE.k, at most 8, |kk| {
            let next = if kk + 1 < TILE.k {
                // SAFETY: filled, by the barrier before.
                unsafe { fragments(stage(now), place, kk + 1) }
            } else {
                now = TILE.stage_elems() - now;
                // SAFETY: the barrier before has drained this stage.
                unsafe { copier.store(stage(now), share) };
                // RAW: the next stage is filled. WAR: nobody reads the stage before any more; the next step is stored
                // there.
                thread::sync_threads();
                // SAFETY: filled, by the barrier.
                unsafe { fragments(stage(now), place, 0) }
            };
            multiply(&mut sums, fragment);
            fragment = next;
        });
        k0 += TILE.k;
    }
    // SAFETY: the caller's promise.
    unsafe { store::<VECTORS>(operands, origin, place, sums) };
}

/// `sums` += the outer product of the fragments: column by column, there and back. In the order that LLVM chooses
/// `ptxas` keeps fewer operands in the reuse cache, and row by row it comes to 52 products a step whose three operands
/// are in one register bank.
#[inline(always)]
fn multiply(sums: &mut Sums, (from_a, from_b): (Fragment, Fragment)) {
    unrolled!(8, at most 8, |j| {
        unrolled!(8, at most 8, |turn| {
            let i = if j % 2 == 0 { turn } else { 7 - turn };
            fma(&mut sums[i][j], from_a[i], from_b[j]);
        });
    });
}

/// Elements of `f32`; the module says how.
///
/// # Safety
/// As for the body: operands as `params` describes them, grid and block of the variant table.
#[kernel(max_threads = 256, min_blocks = 2)]
pub unsafe fn r08_double_buffer_f32(#[grid_constant] params: &GemmParams<f32>) {
    const BYTES: usize = TILE.bytes(DType::F32).get() as usize;
    // u128: aligned for vectors of 16 bytes.
    let stages = shared_array![u128; BYTES / 16];
    // SAFETY: an array of so many elements; the rest is the caller's promise.
    unsafe {
        let (operands, stages) = (Operands::new(params), Shared::new(stages.cast(), BYTES / 4));
        if allow_vectors(operands) {
            double_buffer::<true>(operands, stages);
        } else {
            double_buffer::<false>(operands, stages);
        }
    }
}
