//! Vectors and wide words that are not aligned as their instructions ask.

use cuda_sim::GlobalBuffer;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

use crate::pair::Suite::*;
use crate::pair::{Family, pair};

/// Sixteen bytes that are aligned as such.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Aligned(#[allow(dead_code)] [f32; 4]);

/// Vectors of four from a start that is no multiple of four.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn misaligned_vector(from: *const f32, to: *mut f32, len: usize, wrong: bool) {
    let first = 4 * thread::thread_idx_x() as usize + if wrong { 2 } else { 4 };
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let four = Global::new(from, len).get_vec::<4>(first); // expect: misaligned_vector Misaligned
        GlobalMut::new(to, len).set_vec(first, four);
    }
}

/// Rows of a tile whose pitch breaks the alignment of vectors.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn misaligned_rows(to: *mut f32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    let pitch = if wrong { 33 } else { 36 };
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(dynamic_shared_mem::<f32>(), 8 * pitch);
        tile.set_vec(t * pitch, [1.0; 4]); // expect: misaligned_rows Misaligned
        GlobalMut::new(to, 8).set(t, tile.get(t * pitch + 3));
    }
}

/// A header of one word before an array of double words.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn misaligned_array(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let bytes = dynamic_shared_mem::<u8>();
        let start = if wrong { 4 } else { 8 };
        let wide = Shared::new_unbounded(bytes.add(start).cast::<u64>());
        wide.set(t, 5); // expect: misaligned_array Misaligned
        GlobalMut::new(to, 8).set(t, wide.get(t) as u32);
    }
}

/// Vectors in a static array whose type promises 4 bytes.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn alignment_of_type(to: *mut f32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = if wrong {
            shared_array![f32; 32]
        } else {
            shared_array![Aligned; 8].cast::<f32>()
        };
        let tile = Shared::new(tile, 32);
        tile.set_vec(4 * t, [2.0; 4]); // expect: alignment_of_type DeclaredAlignment
        GlobalMut::new(to, 8).set(t, tile.get(4 * t + 1));
    }
}

pub const FAMILY: Family = Family {
    name: "alignment",
    source: include_str!("alignment.rs"),
    pairs: &[
        pair("misaligned_vector", Memcheck, |t| {
            let (from, to) = (GlobalBuffer::<f32>::zeroed(40), GlobalBuffer::<f32>::uninit(40));
            t.launch(1, 8)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { misaligned_vector(from.as_ptr(), to.as_mut_ptr(), 40, t.wrong) })
        }),
        pair("misaligned_rows", Memcheck, |t| {
            let to = GlobalBuffer::<f32>::uninit(8);
            let launch = t.launch(1, 8).dynamic_shared_bytes(4 * 8 * 36);
            // SAFETY: as the crate says of launches.
            launch.run(|| unsafe { misaligned_rows(to.as_mut_ptr(), t.wrong) })
        }),
        pair("misaligned_array", Memcheck, |t| {
            let to = GlobalBuffer::uninit(8);
            let launch = t.launch(1, 8).dynamic_shared_bytes(8 + 64);
            // SAFETY: as the crate says of launches.
            let report = launch.run(|| unsafe { misaligned_array(to.as_mut_ptr(), t.wrong) });
            t.checked(report, &to, [5; 8])
        }),
        pair("alignment_of_type", Memcheck, |t| {
            let to = GlobalBuffer::<f32>::uninit(8);
            t.launch(1, 8)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { alignment_of_type(to.as_mut_ptr(), t.wrong) })
        }),
    ],
};
