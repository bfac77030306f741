//! `async_copy`: `cp.async` loads from global to shared memory, by sizes, cache operators and groups.

use cuda_std::async_copy::{cp_async_ca, cp_async_cg, cp_async_commit_group, cp_async_wait_all, cp_async_wait_group};
use cuda_std::prelude::*;
use cuda_std::shared_array;

/// 16 bytes, aligned to as many.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Four([u32; 4]);

/// Reverses each CTA's part of the data through shared memory: each thread loads 4, 8 and 16 bytes (`ca` and
/// `cg`), and after the barrier reads the bytes that the opposite thread loaded. Launch with CTAs of 64 threads.
#[kernel]
pub unsafe fn async_copies(words: *const u32, longs: *const u64, fours: *const Four, out: *mut u32) {
    let (word, long) = (shared_array![u32; 64], shared_array![u64; 64]);
    let (four, other) = (shared_array![Four; 64], shared_array![Four; 64]);
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    cp_async_ca(word.add(t), words.add(i));
    cp_async_ca(long.add(t), longs.add(i));
    cp_async_commit_group();
    cp_async_cg(four.add(t), fours.add(i));
    cp_async_ca(other.add(t), fours.add(i));
    cp_async_commit_group();
    cp_async_wait_group::<0>();
    // RAW: the stage is filled.
    thread::sync_threads();
    let from = 63 - t;
    let (four, other) = (*four.add(from), *other.add(from));
    let sum: u32 = four.0.iter().zip(other.0).map(|(a, b)| a + b).sum();
    *out.add(i) = *word.add(from) + *long.add(from) as u32 + sum;
}

/// A pipeline of two stages: adds up `tiles` tiles of 32 words, and loads the next tile while it adds one. Launch one
/// warp.
#[kernel]
pub unsafe fn async_stages(words: *const u32, tiles: u32, out: *mut u32) {
    let stages = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    let load = |tile: u32| {
        let stage = 32 * (tile as usize % 2);
        cp_async_ca(stages.add(stage + t), words.add(32 * tile as usize + t));
        cp_async_commit_group();
    };
    let mut sum = 0;
    load(0);
    for tile in 0..tiles {
        if tile + 1 < tiles {
            load(tile + 1);
            cp_async_wait_group::<1>();
        } else {
            cp_async_wait_all();
        }
        // RAW: the neighbor's load is complete for this thread after the barrier only.
        thread::sync_threads();
        sum += *stages.add(32 * (tile as usize % 2) + (t + 1) % 32);
        // WAR: the next load overwrites this stage.
        thread::sync_threads();
    }
    *out.add(t) = sum;
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data};

    let words: Vec<u32> = (0..128).map(|i| i * i).collect();
    let longs: Vec<u64> = (0..128).map(|i| (1 << 32) | (7 * i)).collect();
    let fours: Vec<u32> = (0..512).collect();
    let reversed = (0..128).map(|i: usize| {
        let from = i / 64 * 64 + 63 - i % 64;
        words[from] + longs[from] as u32 + 2 * fours[4 * from..4 * from + 4].iter().sum::<u32>()
    });
    let tiles: Vec<u32> = (0..5 * 32).map(|i| 3 * i).collect();
    let totals = (0..32).map(|t: usize| (0..5).map(|tile| tiles[32 * tile + (t + 1) % 32]).sum());
    vec![
        Case::new(
            entry!(async_copies(_, _, _, _)),
            2,
            64,
            vec![
                Argument::Pointer(Data::U32(words.clone())),
                Argument::Pointer(Data::U64(longs.clone())),
                Argument::Pointer(Data::U32(fours.clone())),
                Argument::out_u32(reversed),
            ],
        ),
        Case::new(
            entry!(async_stages(_, _, _)),
            1,
            32,
            vec![
                Argument::Pointer(Data::U32(tiles.clone())),
                Argument::u32(5),
                Argument::out_u32(totals),
            ],
        ),
    ]
}
