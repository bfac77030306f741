use cuda_std::kernel;

pub struct Buffer {
    data: *mut u32,
}

#[kernel]
pub unsafe fn fill(buffer: Buffer) {
    unsafe { *buffer.data = 1 }
}
