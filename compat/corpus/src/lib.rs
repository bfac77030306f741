//! Kernels over the whole covered surface of cuda_std, held against the published crate.
