use cuda_std::kernel;

#[kernel]
pub unsafe fn sums(out: *mut u32) {
    let numbers: Vec<u32> = vec![1, 2, 3];
    unsafe { *out = numbers.iter().sum() }
}
