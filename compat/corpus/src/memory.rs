//! The device heap: `Box`, `Vec`, `String`, `Rc`, and alignments above the 16 bytes of the device's `malloc`.

use cuda_std::prelude::*;

/// A value that must start at a multiple of 256.
#[derive(Clone, Copy)]
#[repr(C, align(256))]
pub struct Wide(u32);

/// Allocates, reallocates, shares and frees in every thread, and writes a sum that takes all of it.
#[kernel]
pub unsafe fn heap(out: *mut u32) {
    let i = thread::index_1d();
    let boxed = Box::new(i);
    let mut list: Vec<u32> = Vec::new();
    for n in 0..=*boxed % 10 {
        list.push(n);
    }
    let shared = Rc::new(list);
    let copy = Rc::clone(&shared);
    let text = format!("{}:{}", i, "x".to_owned()) + &String::from("!") + &'!'.to_string();
    *out.add(i as usize) =
        copy.iter().sum::<u32>() + 100 * text.len() as u32 + 10_000 * Rc::strong_count(&shared) as u32;
}

fn aligned<T>(address: *const T, bytes: usize) -> bool {
    address as usize & (bytes - 1) == 0
}

/// Writes how many of a hundred allocations were misaligned or lost their value, over all alignments up to 256: 0.
#[kernel]
pub unsafe fn alignments(out: *mut u32) {
    let mut faults = 0;
    for n in 0..25 {
        let byte = Box::new(n as u8);
        let wide = Box::new(Wide(n));
        let long = Box::new(u128::from(n) << 64);
        let wides = [Wide(n), Wide(n + 1)].to_vec();
        faults += (!aligned(&*wide, 256) || wide.0 != n) as u32;
        faults += (!aligned(&*long, core::mem::align_of::<u128>()) || *long >> 64 != u128::from(n)) as u32;
        faults += (!aligned(wides.as_ptr(), 256) || wides[0].0 + wides[1].0 != 2 * n + 1) as u32;
        faults += (*byte != n as u8) as u32;
    }
    *out.add(thread::index_1d() as usize) = faults;
}

/// Writes 1 where a block of the device heap, taken and given back by hand, keeps what is written to it.
#[kernel]
pub unsafe fn allocator(out: *mut u32) {
    let kept = allocate_by_hand(thread::index_1d());
    *out.add(thread::index_1d() as usize) = kept as u32;
}

/// `mem::malloc` and the allocator exist on the GPU alone.
#[cuda_std::gpu_only]
unsafe fn allocate_by_hand(value: u32) -> bool {
    use cuda_std::mem::{free, malloc, CUDAAllocator, GLOBAL_ALLOCATOR};

    let block = malloc(4) as *mut u32;
    block.write_volatile(value);
    let kept = block.read_volatile() == value;
    free(block.cast());
    let allocator: &CUDAAllocator = &GLOBAL_ALLOCATOR;
    let layout = core::alloc::Layout::new::<Wide>();
    let wide = core::alloc::GlobalAlloc::alloc_zeroed(allocator, layout);
    let zero = wide.cast::<u32>().read_volatile() == 0;
    core::alloc::GlobalAlloc::dealloc(allocator, wide, layout);
    kept && zero
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case};

    let heap = (0..64).map(|i: u32| (0..=i % 10).sum::<u32>() + 100 * (i.to_string().len() as u32 + 4) + 20_000);
    vec![
        Case::new(entry!(heap(_)), 2, 32, vec![Argument::out_u32(heap)]),
        Case::new(entry!(alignments(_)), 1, 8, vec![Argument::out_u32([0; 8])]),
        Case::new(entry!(allocator(_)), 1, 8, vec![Argument::out_u32([1; 8])]),
    ]
}
