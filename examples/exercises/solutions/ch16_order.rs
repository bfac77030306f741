//! Solution of exercise 16.2: a result that depends on who comes first.
//!
//! An atomic counter gives places in the order of arrival; the thread's own index is the same in every order.

use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};

/// Doubles elements.
///
/// # Safety
/// `from` and `to` have an element for each thread, `counter` one, which is 0.
#[kernel]
pub unsafe fn double(from: *const u32, to: *mut u32, _counter: *mut u32, len: usize) {
    let i = thread::index_1d() as usize;
    // SAFETY: i < len, and so is every place.
    unsafe {
        let place = i;
        GlobalMut::new(to, len).set(place, 2 * Global::new(from, len).get(i));
    }
}
