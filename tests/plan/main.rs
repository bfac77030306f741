//! Sizing from synthetic device profiles: every shared-memory limit there is, one byte under, at and over.

mod calibrated;
mod choice;
mod layouts;
mod limits;

use tilewright::device::{DeviceProfile, Installed};
use tilewright::{GemmShape, Transpose};

/// Compute capability, opt-in limit, per SM, reserve (bytes), SMs of a typical part.
type Architecture = ((u32, u32), u32, u32, u32, u32);

/// Every architecture that a current CUDA supports.
///
/// Source: CUDA programming guide, "Compute Capabilities"; the reserve is `cudaDevAttrReservedSharedMemoryPerBlock`.
const ARCHITECTURES: [Architecture; 11] = [
    ((7, 5), 65_536, 65_536, 0, 40),
    ((8, 0), 166_912, 167_936, 1024, 108),
    ((8, 6), 101_376, 102_400, 1024, 84),
    ((8, 7), 166_912, 167_936, 1024, 16),
    ((8, 9), 101_376, 102_400, 1024, 128),
    ((9, 0), 232_448, 233_472, 1024, 132),
    ((10, 0), 232_448, 233_472, 1024, 148),
    ((10, 3), 232_448, 233_472, 1024, 160),
    ((11, 0), 232_448, 233_472, 1024, 20),
    ((12, 0), 101_376, 102_400, 1024, 188),
    ((12, 1), 101_376, 102_400, 1024, 48),
];

fn profile((compute_capability, optin, per_sm, reserved, sms): Architecture) -> DeviceProfile {
    DeviceProfile {
        name: format!("synthetic {}.{}", compute_capability.0, compute_capability.1),
        compute_capability,
        smem_per_block: 49_152,
        smem_per_block_optin: optin,
        smem_per_sm: per_sm,
        smem_reserved_per_block: reserved,
        registers_per_sm: 65_536,
        registers_per_block: 65_536,
        threads_per_block: 1024,
        threads_per_sm: 1536,
        blocks_per_sm: 16,
        warp_size: 32,
        installed: Some(Installed {
            sms,
            l2_bytes: 48 << 20,
            clock_khz: 1_980_000,
            memory_bytes: 16 << 30,
            dram_bytes_per_second: 1_000_000_000_000,
            driver: "13.0".to_owned(),
        }),
    }
}

fn profiles() -> impl Iterator<Item = DeviceProfile> {
    ARCHITECTURES.into_iter().map(profile)
}

fn hopper() -> DeviceProfile {
    profile(((9, 0), 232_448, 233_472, 1024, 132))
}

fn large() -> GemmShape {
    GemmShape::packed(8192, 8192, 8192).expect("valid shape")
}

/// The profile of a product that the planner knows.
fn h200() -> DeviceProfile {
    let arch = cuda_arch::find("sm_90").expect("in the table");
    DeviceProfile {
        installed: Some(Installed {
            sms: 132,
            l2_bytes: 50 << 20,
            clock_khz: 1_980_000,
            memory_bytes: 141 << 30,
            dram_bytes_per_second: 4_800_000_000_000,
            driver: "13.0".to_owned(),
        }),
        ..DeviceProfile::of_arch(arch)
    }
}

/// A and B as they are and transposed.
const LAYOUTS: [[Transpose; 2]; 4] = [
    [Transpose::No, Transpose::No],
    [Transpose::No, Transpose::Yes],
    [Transpose::Yes, Transpose::No],
    [Transpose::Yes, Transpose::Yes],
];

#[test]
fn the_table_of_architectures_has_the_same_limits() {
    for (capability, optin, per_sm, reserved, _) in ARCHITECTURES {
        let name = format!("{}.{}", capability.0, capability.1);
        let of_arch = DeviceProfile::of_arch(cuda_arch::find(&name).expect("in the table"));
        assert_eq!(
            (
                of_arch.compute_capability,
                of_arch.smem_per_block,
                of_arch.smem_per_block_optin
            ),
            (capability, 49_152, optin)
        );
        assert_eq!(
            (of_arch.smem_per_sm, of_arch.smem_reserved_per_block),
            (per_sm, reserved),
            "{name}"
        );
        assert_eq!(of_arch.installed, None, "{name}: an architecture is no product");
    }
    assert_eq!(cuda_arch::ARCHITECTURES.len(), ARCHITECTURES.len());
}
