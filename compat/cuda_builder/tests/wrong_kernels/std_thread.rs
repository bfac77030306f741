use cuda_std::kernel;

#[kernel]
pub unsafe fn fork() {
    std::thread::spawn(|| {});
}
