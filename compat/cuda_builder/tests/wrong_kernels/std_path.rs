use cuda_std::kernel;
use std::collections::HashMap;

#[kernel]
pub unsafe fn count(out: *mut u32) {
    let map: HashMap<u32, u32> = HashMap::new();
    unsafe { *out = map.len() as u32 }
}
