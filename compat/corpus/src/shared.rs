//! `shared_array!`, `shared::dynamic_shared_mem`, and `#[address_space]`.

use core::mem::MaybeUninit;
use cuda_std::prelude::*;
use cuda_std::{address_space, mem, shared, shared_array};

/// Reverses 64 words: two arrays on one line, which must not be one.
#[kernel]
pub unsafe fn reverse_static(data: *mut u32) {
    let (low, high) = (shared_array![u32; 32], shared_array![u32; 32]);
    let t = thread::thread_idx_x() as usize;
    if t < 32 {
        *low.add(t) = *data.add(t);
    } else {
        *high.add(t - 32) = *data.add(t);
    }
    thread::sync_threads();
    *data.add(t) = if t < 32 { *high.add(31 - t) } else { *low.add(63 - t) };
}

/// The word of the thread `distance` after this one, round a block of 64.
///
/// # Safety
///
/// All threads of a block of 64 must call it.
unsafe fn neighbour(value: u32, distance: usize) -> u32 {
    let tile = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = value;
    thread::sync_threads();
    let found = *tile.add((t + distance) % 64);
    thread::sync_threads();
    found
}

/// The same through a generic function, whose array has a type of its own.
///
/// # Safety
///
/// All threads of a block of 64 must call it.
unsafe fn neighbour_as<T: From<u32> + Into<u64> + Copy>(value: u32) -> u64 {
    let tile = shared_array![u64; 64];
    let t = thread::thread_idx_x() as usize;
    *tile.add(t) = T::from(value).into();
    thread::sync_threads();
    *tile.add((t + 1) % 64)
}

/// Adds to each word its neighbour, its second neighbour, and its neighbour again: arrays in functions, called more
/// than once.
#[kernel]
pub unsafe fn neighbours(data: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let own = *data.add(t);
    let sum = own + neighbour(own, 1) + neighbour(own, 2);
    *data.add(t) = sum + neighbour_as::<u64>(own) as u32;
}

/// Reverses a block of any size in dynamic shared memory, which is one for all types and calls.
#[kernel]
pub unsafe fn reverse_dynamic(data: *mut u32, sizes: *mut u32) {
    let tile = shared::dynamic_shared_mem::<u32>();
    let (t, n) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    *tile.add(t) = *data.add(t);
    thread::sync_threads();
    *data.add(t) = *shared::dynamic_shared_mem::<u32>().add(n - 1 - t);
    if t == 0 {
        let bytes = shared::dynamic_shared_mem::<u8>();
        *sizes = mem::dynamic_smem_size();
        *sizes.add(1) = (mem::total_smem_size() >= mem::dynamic_smem_size()) as u32;
        *sizes.add(2) = (bytes as usize % 128 + (bytes as usize - tile as usize)) as u32;
    }
}

#[address_space(shared)]
static mut SQUARES: MaybeUninit<[u32; 64]> = MaybeUninit::uninit();

#[address_space(constant)]
static PRIMES: [u32; 8] = [2, 3, 5, 7, 11, 13, 17, 19];

#[address_space(global)]
static mut CALLS: u32 = 40;

/// Writes the squares of the threads' indices, mirrored, from a shared static; the prime of that index; and, from a
/// global static that keeps its value, in which launch of the module this is.
#[kernel]
pub unsafe fn statics(out: *mut u32, calls: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let squares = core::ptr::addr_of_mut!(SQUARES) as *mut u32;
    *squares.add(t) = (t * t) as u32;
    thread::sync_threads();
    *out.add(t) = *squares.add(63 - t) * 100 + PRIMES[t % 8];
    if t == 0 {
        CALLS += 2;
        *calls = CALLS;
    }
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data, Expected};

    let words = |n: u32| (0..n).map(|i| 7 * i + 3).collect::<Vec<u32>>();
    let becomes = |old: Vec<u32>, new: Vec<u32>| {
        Argument::Updated(
            Data::U32(old),
            Expected {
                data: Data::U32(new),
                tolerance: 0.0,
            },
        )
    };
    let reversed = |n: u32| becomes(words(n), words(n).into_iter().rev().collect());
    let at = words(64);
    let totals = (0..64)
        .map(|t| at[t] + 2 * at[(t + 1) % 64] + at[(t + 2) % 64])
        .collect();
    let mut dynamic = Case::new(
        entry!(reverse_dynamic(_, _)),
        1,
        200,
        vec![reversed(200), Argument::out_u32([800, 1, 0])],
    );
    dynamic.dynamic_smem_bytes = 800;
    let primes = [2, 3, 5, 7, 11, 13, 17, 19];
    let squares = (0..64).map(|t: usize| ((63 - t) * (63 - t) * 100) as u32 + primes[t % 8]);
    vec![
        Case::new(entry!(reverse_static(_)), 1, 64, vec![reversed(64)]),
        Case::new(entry!(neighbours(_)), 1, 64, vec![becomes(at.clone(), totals)]),
        dynamic,
        Case::new(
            entry!(statics(_, _)),
            1,
            64,
            vec![Argument::out_u32(squares), Argument::out_u32([42])],
        ),
    ]
}
