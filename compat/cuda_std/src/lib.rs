//! Drop-in cuda_std 0.2.2 for the NVPTX back end of stock rustc.
