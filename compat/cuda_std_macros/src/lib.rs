//! Drop-in cuda_std_macros 0.2.0 for the NVPTX back end of stock rustc.
