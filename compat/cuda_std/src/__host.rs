//! What the macros expand to on the host: the way from a kernel crate, which depends on this crate alone, to the
//! simulator.

pub use cuda_sim::KernelAttributes;
pub use cuda_sim::device::{KernelFunction, SharedPlace, SharedStatic, enter_kernel, shared_array};
// Miri has no linker that could collect lists.
#[cfg(not(miri))]
pub use cuda_sim::device::{FUNCTIONS, KERNELS, SHARED_STATICS, linkme};

/// A static in constant memory.
pub struct ConstantStatic {
    /// Its path, for messages.
    pub name: &'static str,
    /// Where it is.
    pub address: fn() -> *mut u8,
    /// Its size in bytes.
    pub bytes: usize,
    /// The source file.
    pub file: &'static str,
    /// The line in it.
    pub line: u32,
}

/// All statics in constant memory of the program.
#[cfg(not(miri))]
#[linkme::distributed_slice]
#[linkme(crate = crate::__host::linkme)]
pub static CONSTANT_STATICS: [ConstantStatic];
#[cfg(miri)]
static CONSTANT_STATICS: [ConstantStatic; 0] = [];

/// Whether `address` lies in one of them.
pub(crate) fn is_constant(address: *const u8) -> bool {
    let in_it = |constant: &ConstantStatic| {
        let offset = address.addr().wrapping_sub((constant.address)().addr());
        offset < constant.bytes
    };
    CONSTANT_STATICS.iter().any(in_it)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::address_space;

    #[address_space(constant)]
    static TABLE: [u16; 3] = [1, 2, 3];

    #[address_space(shared)]
    static mut TILE: [u32; 5] = [0; 5];

    #[address_space(global)]
    static COUNT: u32 = 7;

    #[test]
    fn statics_are_known_by_place_and_size() {
        assert!(TABLE.iter().all(|element| is_constant((&raw const *element).cast())));
        assert!(!is_constant(TABLE.as_ptr_range().end.cast()));
        assert!(!is_constant((&raw const COUNT).cast()));

        let tile = SHARED_STATICS.iter().find(|known| known.name.ends_with("::TILE"));
        let tile = tile.expect("the shared static is registered");
        assert_eq!((tile.address)(), (&raw mut TILE).cast());
        assert_eq!((tile.bytes, tile.is_mut, tile.file), (20, true, file!()));
        assert!(tile.line < line!());
    }
}
