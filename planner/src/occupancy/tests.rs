//! Numbers worked out by hand. What no hand would work out, `tests/occupancy_oracle.rs` of the repository compares.

use alloc::vec::Vec;

use cuda_arch::{ARCHITECTURES, Architecture};

use super::*;

fn arch(name: &str) -> &'static Architecture {
    cuda_arch::find(name).expect("in the table")
}

/// A CTA that leaves every resource but shared memory idle.
fn small(static_bytes: u64, dynamic_bytes: u64) -> BlockUse {
    BlockUse::new(32, 16, static_bytes, dynamic_bytes)
}

#[test]
fn budgets_of_several_resident_blocks() {
    // floor(SM / CTAs, to the granularity) - reserved
    for (names, one, two, three) in [
        (&["sm_75"][..], 65536, 32768, 21760),
        (&["sm_80", "sm_87"], 166_912, 82944, 54912),
        (&["sm_86", "sm_89", "sm_120", "sm_121"], 101_376, 50176, 33024),
        (&["sm_90", "sm_100", "sm_103", "sm_110"], 232_448, 115_712, 76800),
    ] {
        for name in names {
            let budget = |blocks| largest_dynamic_bytes(arch(name), blocks, &small(0, 0));
            assert_eq!([1, 2, 3].map(budget), [Some(one), Some(two), Some(three)], "{name}");
        }
    }
}

#[test]
fn the_largest_dynamic_part_is_exact() {
    for arch in &ARCHITECTURES {
        for blocks in 1..=arch.blocks_per_sm {
            for static_bytes in [0, 1, 48, 1024] {
                let resident = |dynamic| occupancy(arch, &small(static_bytes, dynamic)).blocks_per_sm;
                let Some(largest) = largest_dynamic_bytes(arch, blocks, &small(static_bytes, 0)) else {
                    assert!(resident(0) < blocks, "{}: {blocks} blocks", arch.name);
                    continue;
                };
                assert!(resident(largest) >= blocks, "{}: {blocks} blocks", arch.name);
                assert!(resident(largest + 1) < blocks, "{}: {blocks} blocks", arch.name);
            }
        }
    }
}

#[test]
fn the_largest_dynamic_part_leaves_room_for_all_else() {
    let sm_120 = arch("sm_120");
    let largest = |blocks, block| largest_dynamic_bytes(sm_120, blocks, &block);
    assert_eq!(largest(1, small(48 << 10, 0)), Some(51 << 10));
    assert_eq!(largest(2, small(50176, 0)), Some(0));
    assert_eq!(largest(2, small(50177, 0)), None);
    assert_eq!(largest(0, small(0, 0)), None, "no block takes nothing");
    // 48 warps: one CTA of 32, not two.
    assert_eq!(largest(2, BlockUse::new(1024, 16, 0, 0)), None);
    assert_eq!(largest(25, small(0, 0)), None, "24 slots for blocks");
    assert_eq!(largest(1, small(u64::MAX, 0)), None);
    assert_eq!(largest(u32::MAX, small(0, 0)), None);
}

#[test]
fn resident_warps_fall_with_the_registers_in_steps() {
    // Four subpartitions of 16384 registers, a warp's registers in units of 256.
    for (registers, warps) in [
        (32, 64),
        (33, 48),
        (40, 48),
        (41, 40),
        (48, 40),
        (64, 32),
        (80, 24),
        (96, 20),
        (112, 16),
        (128, 16),
        (168, 12),
        (169, 8),
        (200, 8),
        (255, 8),
    ] {
        for (name, slots) in [("sm_90", 64), ("sm_86", 48), ("sm_120", 48)] {
            let block = occupancy(arch(name), &BlockUse::new(128, registers, 0, 0));
            assert_eq!(block.by_registers, Some(warps / 4), "{name}, {registers} registers");
            // Warp by warp as well: 25 of 80 registers would fit into one file of 65536, but not into its quarters.
            let warp = occupancy(arch(name), &BlockUse::new(32, registers, 0, 0));
            assert_eq!(warp.by_registers, Some(warps), "{name}, {registers} registers");
            assert_eq!(block.warps_per_sm, warps.min(slots).min(4 * block.by_blocks), "{name}");
        }
    }
}

#[test]
fn a_launch_is_charged_for_as_many_warps_in_every_subpartition() {
    // 136 x 32 = 4352 registers a warp. Five are 21760, but charged as eight: 34816.
    let half = Architecture {
        registers_per_block: 32768,
        ..arch("sm_90").clone()
    };
    let by_registers = |threads| occupancy(&half, &BlockUse::new(threads, 136, 0, 0)).by_registers;
    assert_eq!(by_registers(4 * 32), Some(3));
    assert_eq!(by_registers(5 * 32), Some(0));
    // The whole file of registers: eight warps of 255 registers, in blocks of up to eight warps.
    let whole = |threads| occupancy(arch("sm_90"), &BlockUse::new(threads, 255, 0, 0));
    assert_eq!(whole(5 * 32).by_registers, Some(1));
    assert_eq!(whole(5 * 32).allocated_registers, 5 * 8192);
    assert_eq!(whole(8 * 32).blocks_per_sm, 1);
    assert_eq!(whole(9 * 32).blocks_per_sm, 0);
}

#[test]
fn the_opt_in_limit_is_the_last_byte_that_fits() {
    for arch in &ARCHITECTURES {
        let optin = u64::from(arch.smem_per_block_optin);
        for static_bytes in [0, 1, 48 << 10] {
            let fits = occupancy(arch, &small(static_bytes, optin - static_bytes));
            assert_eq!((fits.blocks_per_sm, fits.limiter), (1, Limiter::SharedMemory));
            assert_eq!(fits.allocated_bytes, u64::from(arch.smem_per_sm), "{}", arch.name);
            assert_eq!(fits.carveout_bytes, u64::from(arch.smem_per_sm), "{}", arch.name);

            let above = occupancy(arch, &small(static_bytes, optin + 1 - static_bytes));
            assert_eq!((above.blocks_per_sm, above.limiter), (0, Limiter::SharedMemory));
            assert_eq!((above.by_shared_memory, above.carveout_bytes), (Some(0), 0));
        }
    }
}

#[test]
fn shared_memory_is_allocated_in_units_with_the_reserved_part() {
    for (name, bytes, allocated) in [
        ("sm_75", 0, 0),
        ("sm_75", 1, 256),
        ("sm_75", 257, 512),
        ("sm_80", 0, 1024),
        ("sm_80", 1, 1152),
        ("sm_90", 128, 1152),
        ("sm_120", 129, 1280),
    ] {
        assert_eq!(
            occupancy(arch(name), &small(0, bytes)).allocated_bytes,
            allocated,
            "{name}"
        );
        assert_eq!(
            occupancy(arch(name), &small(bytes, 0)).allocated_bytes,
            allocated,
            "{name}"
        );
    }
    assert_eq!(occupancy(arch("sm_75"), &small(0, 0)).by_shared_memory, None);
    assert_eq!(occupancy(arch("sm_80"), &small(0, 0)).by_shared_memory, Some(164));
}

#[test]
fn a_carve_out_is_rounded_up_and_gives_way_to_one_block() {
    let with = |name, percent, dynamic| {
        let block = BlockUse {
            carveout_percent: Some(percent),
            ..small(0, dynamic)
        };
        let resident = occupancy(arch(name), &block);
        (resident.carveout_bytes >> 10, resident.by_shared_memory)
    };
    // The guide's example: half of 100 KiB is no configuration, 64 KiB is the next.
    assert_eq!(with("sm_120", 50, 0), (64, Some(64)));
    // 57 KiB become 64, which hold three CTAs of 17.
    assert_eq!(with("sm_90", 25, 16 << 10), (64, Some(3)));
    // A CTA of 71 KiB does not fit into 64: the next is 100, and one CTA.
    assert_eq!(with("sm_90", 25, 70 << 10), (100, Some(1)));
    // As little as possible is 8 KiB where a CTA reserves one, 32 where there is no less, nothing where nothing is
    // used.
    assert_eq!(with("sm_90", 0, 1 << 10), (8, Some(4)));
    assert_eq!(with("sm_75", 0, 0), (32, None));
    assert_eq!(with("sm_90", 100, 0), (228, Some(228)));
    assert_eq!(with("sm_90", 1000, 0), (228, Some(228)));
}

#[test]
fn the_largest_dynamic_part_respects_a_carve_out() {
    let largest = |percent, blocks| {
        let block = BlockUse {
            carveout_percent: Some(percent),
            ..small(0, 0)
        };
        largest_dynamic_bytes(arch("sm_90"), blocks, &block)
    };
    // One CTA makes the carve-out grow as far as it needs; two do not.
    assert_eq!(largest(0, 1), Some(232_448));
    assert_eq!(largest(0, 2), Some(3072));
    assert_eq!(largest(25, 1), Some(232_448));
    assert_eq!(largest(25, 2), Some(31 << 10));
    assert_eq!(largest(100, 2), Some(115_712));
}

#[test]
fn a_carve_out_is_asked_for_as_large_as_needed() {
    assert_eq!(carveout_percent(arch("sm_120"), 1, 70 << 10), 100);
    // 100 of 228 KiB are 43.9 percent; 44 would be rounded up to 132 KiB.
    assert_eq!(carveout_percent(arch("sm_90"), 1, 99 << 10), 43);
    assert_eq!(carveout_percent(arch("sm_90"), 4, 24 << 10), 43);
    assert_eq!(carveout_percent(arch("sm_90"), 4, (24 << 10) + 1), 57);
    assert_eq!(carveout_percent(arch("sm_75"), 1, 0), 50);
    assert_eq!(carveout_percent(arch("sm_90"), u32::MAX, u64::MAX), 100);
    for arch in &ARCHITECTURES {
        for wanted in configurations(arch).filter(|bytes| *bytes > 0) {
            let bytes = wanted - u64::from(arch.smem_reserved_per_block);
            let block = BlockUse {
                carveout_percent: Some(carveout_percent(arch, 1, bytes)),
                ..small(0, 0)
            };
            assert_eq!(occupancy(arch, &block).carveout_bytes, wanted, "{}", arch.name);
        }
    }
}

#[test]
fn slots_for_warps_and_blocks() {
    for (name, threads, by_warps, by_blocks) in [
        ("sm_75", 1024, 1, 16),
        ("sm_75", 1, 32, 16),
        ("sm_80", 33, 32, 32),
        ("sm_86", 1024, 1, 16),
        ("sm_89", 768, 2, 24),
        ("sm_90", 1024, 2, 32),
        ("sm_110", 1024, 1, 24),
        ("sm_120", 512, 3, 24),
        ("sm_120", 1025, 0, 24),
        ("sm_120", 0, 0, 24),
    ] {
        let resident = occupancy(arch(name), &BlockUse::new(threads, 16, 0, 0));
        assert_eq!((resident.by_warps, resident.by_blocks), (by_warps, by_blocks), "{name}");
        assert_eq!(resident.blocks_per_sm, by_warps.min(by_blocks), "{name}");
    }
}

#[test]
fn barriers_and_virtual_resources_count_on_newer_architectures() {
    for (name, barriers, by_barriers) in [
        ("sm_80", 16, None),
        ("sm_89", 16, None),
        ("sm_90", 0, None),
        ("sm_90", 1, Some(64)),
        ("sm_90", 16, Some(4)),
        ("sm_103", 65, Some(0)),
        ("sm_110", 16, Some(1)),
        ("sm_120", 5, Some(4)),
    ] {
        let block = BlockUse {
            barriers,
            ..small(0, 0)
        };
        assert_eq!(occupancy(arch(name), &block).by_barriers, by_barriers, "{name}");
    }
    for (name, virtual_resources, limit) in [
        ("sm_90", 64, None),
        ("sm_100", 0, None),
        ("sm_100", 64, Some(2)),
        ("sm_121", 129, Some(0)),
    ] {
        let block = BlockUse {
            virtual_resources,
            ..small(0, 0)
        };
        assert_eq!(occupancy(arch(name), &block).by_virtual_resources, limit, "{name}");
    }
}

#[test]
fn of_equal_limits_the_first_is_named() {
    // 32 slots for CTAs, 64 for warps, and registers for 64 warps.
    let tie = occupancy(arch("sm_90"), &BlockUse::new(64, 32, 0, 0));
    assert_eq!((tie.blocks_per_sm, tie.limiter), (32, Limiter::Registers));
    assert_eq!(
        tie.limiters().collect::<Vec<_>>(),
        [Limiter::Registers, Limiter::Warps, Limiter::Blocks]
    );
    let barriers = BlockUse {
        barriers: 16,
        ..small(0, 0)
    };
    let one = occupancy(arch("sm_120"), &barriers);
    assert_eq!((one.blocks_per_sm, one.limiter), (1, Limiter::Barriers));
    let too_many = occupancy(arch("sm_90"), &BlockUse::new(32, 256, 0, 0));
    assert_eq!((too_many.blocks_per_sm, too_many.limiter), (0, Limiter::Registers));
}

#[test]
fn absurd_demands_are_not_met() {
    for arch in &ARCHITECTURES {
        let absurd = occupancy(arch, &BlockUse::new(u32::MAX, u32::MAX, u64::MAX, u64::MAX));
        assert_eq!((absurd.blocks_per_sm, absurd.warps_per_sm), (0, 0));
        assert_eq!((absurd.by_shared_memory, absurd.by_registers), (Some(0), Some(0)));
    }
}

#[test]
fn an_occupancy_is_read_back_from_its_json() {
    let resident = occupancy(arch("sm_120"), &small(0, 1 << 16));
    let json = serde_json::to_string(&resident).expect("plain numbers");
    assert!(json.contains(r#""limiter":"shared_memory""#), "{json}");
    assert_eq!(serde_json::from_str::<Occupancy>(&json).expect("our own"), resident);
}
