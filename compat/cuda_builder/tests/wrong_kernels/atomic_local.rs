use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cuda_std::kernel;

#[inline(never)]
fn indexed(words: &[AtomicU32; 8], i: usize) -> u32 {
    words[i & 7].load(Relaxed)
}

#[kernel]
pub unsafe fn exchanged(i: usize, out: *mut u32) {
    let words = [const { AtomicU32::new(3) }; 8];
    let old = words[i & 7].compare_exchange(3, i as u32, Relaxed, Relaxed);
    words[(i + 1) & 7].fetch_add(2, Relaxed);
    unsafe { *out = old.unwrap_or(9) + indexed(&words, i) }
}
