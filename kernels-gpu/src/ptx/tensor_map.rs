//! Tensor maps: descriptions of a matrix, or of a batch of them, for TMA (PTX ISA, "Tensors: Tensor-map").
//!
//! The host makes one, of the driver (`cuTensorMapEncodeTiled`) for a GPU, and with `TensorMap::simulated` for the
//! simulator. A kernel takes it as `#[grid_constant] map: &TensorMap`: the host passes the 128 bytes, and the reference
//! is to them. A copy of it elsewhere is no tensor map to the hardware, which looks for it only in the memory of
//! parameters, of constants, or in global memory.
//!
//! A kernel may change a map in global memory ([`replace_address`]) when no copy uses it. TMA reads maps through a
//! proxy of its own: the changing thread then executes [`fence_release`], and, after a barrier or other order between
//! the two, a thread of each CTA that uses the map executes [`fence_acquire`].

#[cfg(not(target_arch = "nvptx64"))]
use cuda_views::bulk_copy;
#[cfg(not(target_arch = "nvptx64"))]
pub use cuda_views::bulk_copy::tensor_map::{Planes, TensorElement, TensorMapError, TensorMapParts, TensorSwizzle};

/// A tensor map: 128 opaque bytes, aligned as the driver asks for.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct TensorMap([u64; 16]);

impl TensorMap {
    /// The map with these words, which the driver has encoded.
    pub const fn from_words(words: [u64; 16]) -> Self {
        Self(words)
    }

    /// Its words.
    pub const fn words(&self) -> &[u64; 16] {
        &self.0
    }

    /// The simulator's map of a matrix.
    ///
    /// # Errors
    /// The first rule of `cuTensorMapEncodeTiled` that it breaks, with both numbers.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn simulated(parts: &TensorMapParts) -> Result<Self, TensorMapError> {
        parts.encode_simulated().map(Self)
    }
}

/// Gives a map another matrix of the same shape: `tensormap.replace.tile.global_address`. For `sm_90a`
/// and PTX 8.3.
///
/// # Safety
/// - The map is in global memory, and a multiple of 64 bytes from address 0.
/// - `matrix` is an address in global memory that a map of this shape may have: a multiple of 16.
/// - No other thread accesses the map at the same time, and no copy that uses it is under way.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn replace_address(map: *mut TensorMap, matrix: u64) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "tensormap.replace.tile.global_address.global.b1024.b64 [{}], {};",
            in(reg64) map,
            in(reg64) matrix,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise; a map is its words.
    unsafe {
        bulk_copy::tensormap_replace_address(map.cast(), matrix);
    }
}

/// Makes this thread's changes of maps visible to those that [acquire](fence_acquire) them:
/// `fence.proxy.tensormap::generic.release.gpu`. For `sm_90` and later, and PTX 8.3.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn fence_release() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: may be executed by any threads at any time. Not `nomem`: no store moves down over it.
    unsafe {
        core::arch::asm!(
            "fence.proxy.tensormap::generic.release.gpu;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    bulk_copy::tensormap_release();
}

/// Makes a map visible to the later copies of this CTA as threads have [released](fence_release) it:
/// `fence.proxy.tensormap::generic.acquire.gpu`. For `sm_90` and later, and PTX 8.3.
///
/// # Safety
/// `map` is in global memory, and a multiple of 64 bytes from address 0.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn fence_acquire(map: *const TensorMap) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "fence.proxy.tensormap::generic.acquire.gpu [{}], 128;",
            in(reg64) map,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    bulk_copy::tensormap_acquire(map.cast());
}
