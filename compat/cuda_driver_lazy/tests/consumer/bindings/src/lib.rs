//! Declares driver functions and defines none, like cust_raw; does not know who defines them.

unsafe extern "C" {
    fn cuInit(flags: u32) -> u32;
    fn cuTexRefSetMipmapLevelBias(reference: *mut u8, bias: f32) -> u32;
}

/// The result codes of two functions that do nothing here.
pub fn codes() -> [u32; 2] {
    // SAFETY: no driver is loaded, so nothing follows the pointer.
    unsafe { [cuInit(0), cuTexRefSetMipmapLevelBias(std::ptr::null_mut(), 0.5)] }
}
