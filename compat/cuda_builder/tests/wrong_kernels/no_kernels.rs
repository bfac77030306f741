use cuda_std::kernel;

pub fn helper(x: u32) -> u32 {
    x + 1
}
