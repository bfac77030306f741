//! Each warp-wide primitive in a kernel of one warp, and products by the tensor-core body.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{GlobalMut, Shared};
use half::{bf16, f16};
use kernels_gpu::ptx::mma::{MmaElement, mma};
use kernels_gpu::ptx::{ldmatrix, named_barrier};
use kernels_gpu::block::major::{KMajor, MnMajor};
use kernels_gpu::gemm::mma_sync::{self, Tile};
use tilewright_contract::{GemmParams, TensorTile, tensor_tiles};

/// Elements of the shared memory of each kernel.
const LEN: usize = 1024;

/// A filled tile.
///
/// # Safety
/// `from` has [`LEN`] elements; one warp.
#[inline(always)]
unsafe fn tile(from: *const u16, to: *mut u16) -> Shared<u16> {
    // SAFETY: element t + 32 i of both is this thread's alone until the barrier.
    unsafe {
        let tile = Shared::new(to, LEN);
        let t = thread::thread_idx_x() as usize;
        for i in 0..LEN / 32 {
            tile.set(t + 32 * i, *from.add(t + 32 * i));
        }
        // RAW: the tile is filled.
        thread::sync_threads();
        tile
    }
}

/// An aligned row of the thread's own.
fn row() -> u32 {
    thread::thread_idx_x() * 32
}

macro_rules! loads {
    ($($name:ident: $function:ident, $n:literal;)*) => {$(
        /// # Safety
        /// `from` has 1024 elements, `to` a word for each matrix and lane; one warp.
        #[kernel(max_threads = 32)]
        pub unsafe fn $name(from: *const u16, to: *mut u32) {
            // SAFETY: the caller's promise.
            unsafe {
                let tile = tile(from, shared_array![u64; LEN / 4].cast());
                let elements: [u32; $n] = ldmatrix::$function(tile, row());
                let to = GlobalMut::new_unbounded(to);
                for (matrix, &pair) in elements.iter().enumerate() {
                    to.set(32 * matrix + thread::thread_idx_x() as usize, pair);
                }
            }
        }
    )*};
}

loads! {
    load_1: load, 1;
    load_2: load, 2;
    load_4: load, 4;
    load_transposed_1: load_transposed, 1;
    load_transposed_2: load_transposed, 2;
    load_transposed_4: load_transposed, 4;
}

/// A product of 16 x 16 and 16 x 8, both packed behind each other.
///
/// # Safety
/// `from` has 1024 elements, `to` 128; one warp.
#[inline(always)]
unsafe fn product<T: MmaElement>(from: *const u16, to: *mut f32, shared: *mut u16) {
    // SAFETY: the caller's promise.
    unsafe {
        let tile = tile(from, shared);
        let lane = thread::thread_idx_x();
        let a = ldmatrix::load::<_, 4>(tile, lane % 16 * 16 + lane / 16 * 8);
        let b = ldmatrix::load_transposed::<_, 2>(tile, 256 + lane % 16 * 8);
        let mut c = [0.0; 4];
        mma::<T>(&mut c, a, b);
        GlobalMut::new_unbounded(to).set_vec(4 * lane as usize, c);
    }
}

/// # Safety
/// As for [`product`].
#[kernel(max_threads = 32)]
pub unsafe fn product_f16(from: *const u16, to: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { product::<f16>(from, to, shared_array![u64; LEN / 4].cast()) }
}

/// # Safety
/// As for [`product`].
#[kernel(max_threads = 32)]
pub unsafe fn product_bf16(from: *const u16, to: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { product::<bf16>(from, to, shared_array![u64; LEN / 4].cast()) }
}

/// Hands 32 numbers from one warp to another.
///
/// # Safety
/// `from` and `to` have 32 elements; two warps.
#[kernel(max_threads = 64)]
pub unsafe fn hand_over(from: *const u32, to: *mut u32) {
    // SAFETY: the caller's promise; warp 0 writes before it arrives what warp 1 reads behind the barrier.
    unsafe {
        let tile = Shared::<u32>::new(shared_array![u32; 32], 32);
        let lane = thread::thread_idx_x() as usize % 32;
        if thread::thread_idx_x() < 32 {
            tile.set(lane, *from.add(lane));
            named_barrier::arrive(1, 64);
        } else {
            named_barrier::sync(1, 64);
            *to.add(lane) = tile.get(31 - lane);
        }
    }
}

macro_rules! products {
    ($($tile:ident, $threads:literal threads, $blocks:literal blocks {
        $($name:ident: $element:ty, $layout_a:ty, $layout_b:ty;)*
    })*) => {$(
        struct $tile;

        impl Tile for $tile {
            const TILE: TensorTile = tensor_tiles::$tile;
        }

        $(
            /// # Safety
            /// As for the body.
            #[kernel(max_threads = $threads, min_blocks = $blocks)]
            pub unsafe fn $name(#[grid_constant] params: &GemmParams<$element>) {
                // SAFETY: the caller's promise.
                unsafe { mma_sync::gemm::<$element, $tile, $layout_a, $layout_b, 4, 8>(params) }
            }
        )*
    )*};
}

products! {
    T128X128, 128 threads, 2 blocks {
        gemm_nn_f16: f16, KMajor, MnMajor;
        gemm_nt_f16: f16, KMajor, KMajor;
        gemm_nn_bf16: bf16, KMajor, MnMajor;
        gemm_nt_bf16: bf16, KMajor, KMajor;
    }
    T256X128, 256 threads, 1 blocks {
        gemm_256x128_nn_f16: f16, KMajor, MnMajor;
        gemm_256x128_nt_f16: f16, KMajor, KMajor;
    }
}

#[cfg(feature = "hopper")]
mod hopper {
    use super::*;
    use kernels_gpu::ptx::{elect, stmatrix};

    macro_rules! stores {
        ($($name:ident: $function:ident, $n:literal;)*) => {$(
            /// # Safety
            /// `to` has 1024 elements; one warp.
            #[kernel(max_threads = 32)]
            pub unsafe fn $name(to: *mut u16) {
                // SAFETY: the caller's promise; every lane's row is a row of the tile.
                unsafe {
                    let tile = Shared::<u16>::new(shared_array![u64; LEN / 4].cast(), LEN);
                    let t = thread::thread_idx_x();
                    let matrices = core::array::from_fn::<u32, $n, _>(|matrix| t + 32 * matrix as u32);
                    stmatrix::$function(tile, row(), matrices);
                    // RAW: the matrices are there.
                    thread::sync_threads();
                    for i in 0..8 {
                        *to.add((row() + i) as usize) = tile.get((row() + i) as usize);
                    }
                }
            }
        )*};
    }

    stores! {
        store_1: store, 1;
        store_2: store, 2;
        store_4: store, 4;
        store_transposed_1: store_transposed, 1;
        store_transposed_2: store_transposed, 2;
        store_transposed_4: store_transposed, 4;
    }

    /// # Safety
    /// `to` has an element; one warp.
    #[kernel(max_threads = 32)]
    pub unsafe fn elected(to: *mut u32) {
        // SAFETY: the whole warp comes.
        if unsafe { elect::elect(u32::MAX) } {
            // SAFETY: the caller's promise, and only one thread writes.
            unsafe { *to = thread::thread_idx_x() };
        }
    }
}
