// Builds: texts in global memory.
use cuda_std::kernel;

#[kernel]
pub unsafe fn spell(text: &str, names: &[&str], out: *mut usize) {
    unsafe { *out = text.len() + names.len() }
}
