#[unsafe(export_name = "my-kernel.v2")]
pub unsafe extern "ptx-kernel" fn dashed(out: *mut u32) {
    unsafe { *out = 1 }
}
