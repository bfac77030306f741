//! The CUDA driver API as trampolines that load libcuda at the first call.
