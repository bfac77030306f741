//! The same accesses twice: `*_view` through views, `*_pointer` through bare pointers. And vectors of every width.
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]

use core::arch::nvptx::{_syncthreads, _thread_idx_x, trap};
use core::mem::MaybeUninit;

use cuda_views::{Global, GlobalMut, Shared};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: a trap is allowed anywhere.
    unsafe { trap() }
}

const THREADS: usize = 64;

#[unsafe(link_section = ".shared")]
static mut FOR_VIEW: MaybeUninit<[f32; THREADS]> = MaybeUninit::uninit();
#[unsafe(link_section = ".shared")]
static mut FOR_POINTER: MaybeUninit<[f32; THREADS]> = MaybeUninit::uninit();

/// Reverses a part of 64 elements, with a view of each kind.
///
/// # Safety
/// `from` and `to` have 64 elements from `64 * part` on; a block of 64 threads.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn reverse_view(from: *const f32, to: *mut f32, part: u32) {
    // SAFETY: element i of each is there, by the caller's promise, and before the barrier only this thread accesses it.
    unsafe {
        let tile = Shared::new((&raw mut FOR_VIEW).cast::<f32>(), THREADS);
        let start = part as usize * THREADS;
        let from = Global::new_with(from, || start + THREADS).part(start, THREADS);
        let to = GlobalMut::new_unbounded(to).part(start, THREADS);
        let i = _thread_idx_x() as usize;
        tile.set(i, from.get(i));
        // RAW: the tile is filled.
        _syncthreads();
        to.set(i, tile.get(THREADS - 1 - i) + to.get(i));
    }
}

/// The same through pointers.
///
/// # Safety
/// As for `reverse_view`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn reverse_pointer(from: *const f32, to: *mut f32, part: u32) {
    // SAFETY: as in `reverse_view`.
    unsafe {
        let tile = (&raw mut FOR_POINTER).cast::<f32>();
        let start = part as usize * THREADS;
        let from = from.add(start);
        let to = to.add(start);
        let i = _thread_idx_x() as usize;
        *tile.add(i) = *from.add(i);
        // RAW: the tile is filled.
        _syncthreads();
        *to.add(i) = *tile.add(THREADS - 1 - i) + *to.add(i);
    }
}

/// Copies `N` elements a thread through shared memory and back in reverse order of the threads, each time as one
/// vector.
macro_rules! vectors {
    ($($name:ident: $element:ty, $n:literal;)*) => {$(
        /// # Safety
        /// `from` and `to` have `N` elements for each of 64 threads and are aligned to a vector.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(from: *const $element, to: *mut $element) {
            // 16 bytes at most are aligned at once.
            #[repr(align(16))]
            struct Tile(#[allow(dead_code)] [$element; $n * THREADS]);
            #[unsafe(link_section = ".shared")]
            static mut TILE: MaybeUninit<Tile> = MaybeUninit::uninit();
            // SAFETY: vector i of each is there and aligned, and before the barrier only this thread accesses it.
            unsafe {
                let tile = Shared::new((&raw mut TILE).cast::<$element>(), $n * THREADS);
                let i = _thread_idx_x() as usize;
                let from: [$element; $n] = Global::new_unbounded(from).get_vec($n * i);
                tile.set_vec($n * i, from);
                // RAW: the tile is filled.
                _syncthreads();
                let reversed: [$element; $n] = tile.get_vec($n * (THREADS - 1 - i));
                GlobalMut::new_unbounded(to).set_vec($n * i, reversed);
            }
        }
    )*};
}

vectors! {
    bytes_2: u8, 2;
    bytes_4: u8, 4;
    halves_2: u16, 2;
    halves_4: u16, 4;
    floats_2: f32, 2;
    floats_4: f32, 4;
    doubles_2: f64, 2;
    doubles_4: f64, 4;
}
