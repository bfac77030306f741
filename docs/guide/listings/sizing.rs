//! How large a tile the device's shared memory holds: `calculate_appropriate_SM_usage` of the slides.

use cuda_arch::Architecture;

/// The shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Rows and columns of each of the two tiles.
    pub tile_width: u32,
    /// Bytes of `A_s`, which is where `B_s` starts.
    pub a_bytes: u32,
    /// Dynamic shared memory, in bytes: the third launch parameter.
    pub dynamic_bytes: u32,
    /// Whether the kernel's limit must be raised first (`cuFuncSetAttribute`).
    pub opt_in: bool,
}

/// The widest pair of square f32 tiles, a multiple of 16, of which `ctas` CTAs fit on an SM beside their static arrays.
pub fn appropriate_usage(arch: &Architecture, static_bytes: u32, ctas: u32) -> Option<Usage> {
    // What an SM has for each of so many CTAs, rounded down as the hardware allocates, without the reserved kilobyte.
    let share = arch.smem_per_sm / ctas / arch.smem_allocation_granularity * arch.smem_allocation_granularity;
    let share = share
        .checked_sub(arch.smem_reserved_per_block)?
        .min(arch.smem_per_block_optin);
    let dynamic = share.checked_sub(static_bytes)?;
    let tile_width = (1..)
        .map(|i| 16 * i)
        .take_while(|width| 2 * width * width * 4 <= dynamic)
        .last()?;
    let a_bytes = tile_width * tile_width * 4;
    Some(Usage {
        tile_width,
        a_bytes,
        dynamic_bytes: 2 * a_bytes,
        opt_in: 2 * a_bytes + static_bytes > arch.smem_per_block,
    })
}
