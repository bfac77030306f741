//! x
#![allow(unsafe_op_in_unsafe_fn)]
#![cfg_attr(target_os = "cuda", no_std)]
use cuda_std::prelude::*;
use cuda_std::{shared_array, shared, assert_eq, println};

/// x
#[kernel]
pub unsafe fn axpy(alpha: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    let (a, b) = (shared_array![f32; 4], shared_array![f32; 4]);
    let d = shared::dynamic_shared_mem::<f32>();
    *a = x[i];
    *b = x[i+1];
    thread::sync_threads();
    unsafe { *y.add(i) += alpha * *a.add(1) * *b.add(1) + *d.add(i) };
    *y.add(i + 1) = x[i+2];
}
/// x
#[kernel]
pub unsafe fn pr(x: &[i32]) {
    println!("hi {}%", x[0]);
    assert_eq!(x[1], x[2]);
    *(x.as_ptr() as *mut u32) = thread::sync_threads_and(3) + thread::sync_threads_count(4);
}
