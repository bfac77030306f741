//! Tensor maps: descriptions of a matrix for TMA (PTX ISA, "Tensors: Tensor-map").
//!
//! The host makes one, of the driver (`cuTensorMapEncodeTiled`) for a GPU, and with `TensorMap::simulated` for the
//! simulator. A kernel takes it as `#[grid_constant] map: &TensorMap`: the host passes the 128 bytes, and the reference
//! is to them. A copy of it elsewhere is no tensor map to the hardware, which looks for it in the memory of parameters,
//! of constants, or in global memory only.

#[cfg(not(target_arch = "nvptx64"))]
pub use cuda_views::bulk_copy::tensor_map::{TensorElement, TensorMapError, TensorMapParts, TensorSwizzle};

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
