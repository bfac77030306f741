//! Drop-in find_cuda_helper 0.2.0 that asks for no CUDA installation.
