use cuda_std::kernel;

#[kernel]
pub unsafe fn answer() -> u32 {
    42
}
