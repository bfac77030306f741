//! Shared memory: the fast memory of an SM that the threads of one block share (CUDA guide, "Shared Memory").
//!
//! [`shared_array!`](crate::shared_array) reserves it when the kernel is compiled, [`dynamic_shared_mem`] uses what the
//! launch reserved.
//!
//! On the host both exist in a launch of the simulator, where every block has memory of its own, which starts with all
//! bits set.

use crate::gpu_only;

/// Reserves room for `$len` elements in shared memory and yields a `*mut T` to it: `shared_array![f32; 256]`.
///
/// Each place in the source that says it is a buffer of its own, however often it is reached and however many stand on
/// one line. Type and length must be constant, which excludes the generic parameters of the function around it. The
/// buffer is aligned as `T` is.
///
/// The pointer itself is harmless; what is done through it is the caller's responsibility:
/// - the memory starts uninitialised in every block, so write before reading;
/// - before a thread reads what another wrote, all must pass [`sync_threads`](crate::thread::sync_threads), and again
///   before it is overwritten;
/// - nothing past `$len` elements may be accessed;
/// - other blocks have a buffer of their own, which is gone when its block ends.
///
/// ```
/// use cuda_std::{kernel, shared_array, thread};
///
/// #[kernel]
/// pub unsafe fn reverse_64(data: *mut i32) {
///     let tile = shared_array![i32; 64];
///     let i = thread::thread_idx_x() as usize;
///     unsafe { *tile.add(i) = *data.add(i) };
///     thread::sync_threads(); // read after write: the tile is filled
///     unsafe { *data.add(i) = *tile.add(63 - i) };
/// }
/// ```
// Each run of rustfmt would indent the attribute's block further.
#[rustfmt::skip]
#[macro_export]
macro_rules! shared_array {
    ($array_type:ty; $len:expr) => {{
        // A function, so that no name of the caller's can be captured, and so that the static is one per place. On the
        // host, the static is the place's identity, and every block of a launch has a buffer for it.
        #[$crate::gpu_only(sim = {
            static PLACE: $crate::__host::SharedPlace = $crate::__host::SharedPlace::new();
            $crate::__host::shared_array(
                &PLACE,
                ::core::mem::size_of::<[$array_type; $len]>(),
                ::core::mem::align_of::<$array_type>(),
            ) as *mut $array_type
        })]
        #[inline(always)]
        fn shared_array() -> *mut $array_type {
            struct Buffer(::core::cell::UnsafeCell<::core::mem::MaybeUninit<[$array_type; $len]>>);
            // SAFETY: only the address leaves this function; who accesses the memory answers for it.
            unsafe impl ::core::marker::Sync for Buffer {}
            #[$crate::address_space(shared)]
            static BUFFER: Buffer = Buffer(::core::cell::UnsafeCell::new(::core::mem::MaybeUninit::uninit()));
            BUFFER.0.get() as *mut $array_type
        }
        shared_array()
    }};
}

/// The start of the shared memory that the launch reserved beyond the kernel's static arrays.
///
/// All calls of a kernel yield the same address, whatever `T`; it is aligned to 128 bytes, from 9.0 on to 1,024. How
/// many bytes follow is [`mem::dynamic_smem_size`](crate::mem::dynamic_smem_size). The memory starts uninitialised in
/// every block.
#[gpu_only(sim = { cuda_sim::device::dynamic_shared_mem().cast() })]
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    unsafe extern "C" {
        /// `cuda_builder` knows this static by its name and makes it `.extern .shared`.
        static mut cuda_std_dynamic_smem: [u8; 0];
    }
    // Only the address is taken, nothing is accessed.
    (&raw mut cuda_std_dynamic_smem).cast()
}
