//! Static and dynamic shared memory of a launch, against what a block may have.

use cuda_arch::Architecture;
use serde::Serialize;
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Policy, plan};
use tilewright_contract::{CopyRows, Kernel};

/// The shared memory of a block: what `ptxas` found and what the launch adds.
///
/// `ptxas` knows static shared memory only, and refuses more than 48 KiB of it: its report alone can never show that a
/// kernel exceeds an opt-in limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Rows and columns of a tile, in elements; `None` for a kernel that has no tiles.
    pub tile: Option<[u32; 2]>,
    /// Threads of the block.
    pub threads: u32,
    /// Static shared memory, from the assembled kernel.
    pub static_bytes: u32,
    /// Dynamic shared memory, from the plan.
    pub dynamic_bytes: u32,
    /// Both.
    pub total_bytes: u32,
    /// The opt-in limit.
    pub limit_bytes: u32,
    /// Whether the limit holds both.
    pub fits: bool,
}

impl Budget {
    /// The block of a launch with this tile. `static_bytes` is what the assembled kernel has, whatever the contract
    /// says.
    pub fn new(kernel: &Kernel, arch: &Architecture, static_bytes: u32) -> Self {
        Self::of_block(
            Some([kernel.tile.m, kernel.tile.n]),
            kernel.threads(),
            static_bytes,
            kernel.dynamic_bytes().get(),
            arch,
        )
    }

    /// The block of a copy of operands, which has no dynamic shared memory.
    pub fn of_copy(arch: &Architecture, static_bytes: u32) -> Self {
        Self::of_block(None, CopyRows::THREADS, static_bytes, 0, arch)
    }

    fn of_block(
        tile: Option<[u32; 2]>,
        threads: u32,
        static_bytes: u32,
        dynamic_bytes: u32,
        arch: &Architecture,
    ) -> Self {
        // Static memory is 48 KiB at most, dynamic below 2^20.
        let total_bytes = static_bytes + dynamic_bytes;
        Self {
            tile,
            threads,
            static_bytes,
            dynamic_bytes,
            total_bytes,
            limit_bytes: arch.smem_per_block_optin,
            fits: total_bytes <= arch.smem_per_block_optin,
        }
    }

    /// The same with the largest tile that the planner launches this entry point with; `None` if there is none.
    pub fn of_widest_tile(kernel: &'static Kernel, arch: &Architecture, static_bytes: u32) -> Option<Self> {
        let device = DeviceProfile::of_arch(arch);
        let planned = |width: Option<u32>| {
            let policy = Policy {
                family: Some(kernel.family),
                kernel: Some(kernel),
                tile: width,
                splits: Some(1),
                ..Policy::default()
            };
            plan(&kernel.small_shape(), kernel.dtype, &device, &policy)
                .ok()
                .map(|plan| *plan.kernel())
        };
        let widest = match kernel.widths {
            Some([min, max]) => (min..=max).rev().find_map(|width| planned(Some(width))),
            None => planned(None),
        };
        Some(Self::new(&widest?, arch, static_bytes))
    }
}

#[cfg(test)]
mod tests {
    use tilewright_contract::KERNELS;

    use super::*;

    #[test]
    fn the_widest_tile_is_the_one_before_the_limit() {
        for (symbol, arch, tile, total_bytes) in [
            // Two tiles of 4-byte elements, each row padded.
            ("tiled_dynamic_8x8_f32", "sm_120", 112, 100_352),
            ("tiled_dynamic_8x8_f32", "sm_90", 128, 131_072),
            ("tiled_static_32_f64", "sm_75", 32, 16_384),
            ("matrix_vector_k_f32", "sm_75", 8, 0),
        ] {
            let kernel = KERNELS.iter().find(|kernel| kernel.symbol == symbol).expect(symbol);
            let arch = cuda_arch::find(arch).expect("in the table");
            let static_bytes = kernel.static_bytes().get();
            let budget = Budget::of_widest_tile(kernel, arch, static_bytes).expect("one fits");
            assert_eq!(
                (budget.tile, budget.total_bytes),
                (Some([tile; 2]), total_bytes),
                "{symbol}"
            );
            assert!(budget.fits);
        }
    }

    #[test]
    fn what_the_compiler_adds_counts() {
        let kernel = KERNELS.iter().find(|kernel| kernel.symbol == "tiled_dynamic_8x8_f32");
        let arch = cuda_arch::find("sm_120").expect("in the table");
        let kernel = kernel.and_then(|kernel| kernel.with_width(112)).expect("a width");
        let budget = |added| Budget::new(&kernel, arch, added);
        assert!(budget(1024).fits);
        assert!(!budget(1025).fits);
        assert_eq!(budget(1025).total_bytes, 101_377);
    }
}
