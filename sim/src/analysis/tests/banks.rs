//! Wavefronts and sectors against their definitions, and against published measurements.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::analysis::banks::{Sectors, SharedAccess, Wavefronts, global_sectors, shared_wavefronts};

use SharedAccess::{Atomic, Load, Store};

type Offsets = [Option<u32>; 32];

/// The most distinct words that one bank has to give to these lanes.
fn serve(addresses: &Offsets, lanes: std::ops::Range<usize>, bytes: u32, access: SharedAccess) -> u32 {
    let mut banks: BTreeMap<u32, BTreeSet<(u32, usize)>> = BTreeMap::new();
    for lane in lanes {
        let Some(address) = addresses[lane] else { continue };
        let owner = if access == Atomic { lane } else { 0 };
        for byte in address..address + bytes {
            banks.entry(byte / 4 % 32).or_default().insert((byte / 4, owner));
        }
    }
    banks.values().map(|words| words.len() as u32).max().unwrap_or(0)
}

fn serve_groups(addresses: &Offsets, size: usize, bytes: u32, access: SharedAccess) -> Vec<u32> {
    let groups = (0..32 / size).map(|group| serve(addresses, group * size..(group + 1) * size, bytes, access));
    groups.filter(|&passes| passes > 0).collect()
}

fn expected(addresses: &Offsets, bytes: u32, access: SharedAccess) -> Wavefronts {
    let size = (32 * 4 / bytes as usize).min(32);
    let same_as = |distance: usize| {
        (0..32).all(|lane| match (addresses[lane], addresses[lane ^ distance]) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        })
    };
    let merged = access == Load && size < 32 && (same_as(1) || same_as(2));
    let groups = serve_groups(addresses, if merged { 2 * size } else { size }, bytes, access);
    Wavefronts {
        actual: groups.iter().sum(),
        ideal: groups.len() as u32,
    }
}

fn lanes(address: impl Fn(u32) -> u32) -> Offsets {
    std::array::from_fn(|lane| Some(address(lane as u32)))
}

fn counts(addresses: &Offsets, bytes: u32, access: SharedAccess) -> (u32, u32) {
    let Wavefronts { actual, ideal } = shared_wavefronts(addresses, bytes, access);
    (actual, ideal)
}

#[test]
fn words() {
    for access in [Load, Store] {
        assert_eq!(counts(&lanes(|t| 4 * t), 4, access), (1, 1));
        assert_eq!(counts(&lanes(|_| 64), 4, access), (1, 1));
        for stride in [2, 4, 8, 16, 32] {
            assert_eq!(counts(&lanes(|t| 4 * t * stride), 4, access), (stride, 1));
        }
        assert_eq!(counts(&lanes(|t| 4 * t * 33), 4, access), (1, 1));
        assert_eq!(counts(&lanes(|t| if t == 31 { 128 } else { 0 }), 4, access), (2, 1));
        assert_eq!(counts(&[None; 32], 4, access), (0, 0));
    }
    // Bytes and halves of one word are one word.
    assert_eq!(counts(&lanes(|t| t), 1, Load), (1, 1));
    assert_eq!(counts(&lanes(|t| 2 * t), 2, Store), (1, 1));
    assert_eq!(counts(&lanes(|t| 128 * t), 2, Store), (32, 1));
    // A column of a 32 x 32 tile of f32, without and with padding.
    assert_eq!(counts(&lanes(|t| 4 * 32 * t), 4, Load), (32, 1));
    assert_eq!(counts(&lanes(|t| 4 * 33 * t), 4, Load), (1, 1));
}

#[test]
fn pairs_of_words() {
    assert_eq!(counts(&lanes(|t| 8 * t), 8, Load), (2, 2));
    assert_eq!(counts(&lanes(|t| 8 * t), 8, Store), (2, 2));
    assert_eq!(counts(&lanes(|_| 8), 8, Load), (1, 1));
    assert_eq!(counts(&lanes(|_| 8), 8, Store), (2, 2));
    // Shared by lanes t and t ^ 1, or t and t ^ 2: merged. By t and t ^ 4: not.
    assert_eq!(counts(&lanes(|t| t / 2 * 8), 8, Load), (1, 1));
    assert_eq!(counts(&lanes(|t| (t & 1 | t >> 1 & !1) * 8), 8, Load), (1, 1));
    assert_eq!(counts(&lanes(|t| (t & 3 | t >> 1 & !3) * 8), 8, Load), (2, 2));
    assert_eq!(counts(&lanes(|t| 16 * t), 8, Load), (4, 2));
}

#[test]
fn quads_of_words() {
    for (access, shared) in [(Load, 2), (Store, 4)] {
        assert_eq!(counts(&lanes(|t| 16 * t), 16, access), (4, 4));
        for lanes_of_one in [2, 4, 8, 32] {
            assert_eq!(counts(&lanes(|t| t / lanes_of_one * 16), 16, access), (shared, shared));
        }
        for stride in [2, 4, 8] {
            assert_eq!(counts(&lanes(|t| 16 * t * stride), 16, access), (4 * stride, 4));
        }
        // A conflict within the first quarter-warp costs, one between the first and the second does not.
        assert_eq!(
            counts(&lanes(|t| if t == 7 { 16 * 8 } else { 16 * t }), 16, access),
            (5, 4)
        );
        assert_eq!(
            counts(&lanes(|t| if t == 8 { 16 * 16 } else { 16 * t }), 16, access),
            (4, 4)
        );
        assert_eq!(
            counts(&std::array::from_fn(|t| (t < 8).then_some(16 * t as u32)), 16, access),
            (1, 1)
        );
    }
}

#[test]
fn atomics_do_not_share() {
    assert_eq!(counts(&lanes(|_| 0), 4, Atomic), (32, 1));
    assert_eq!(counts(&lanes(|t| t % 16 * 4), 4, Atomic), (2, 1));
    assert_eq!(counts(&lanes(|t| 4 * t), 4, Atomic), (1, 1));
}

#[test]
fn sectors() {
    let sectors = |address: &dyn Fn(u64) -> Option<u64>, bytes| {
        let Sectors { actual, ideal } = global_sectors(&std::array::from_fn(|lane| address(lane as u64)), bytes);
        (actual, ideal)
    };
    assert_eq!(sectors(&|t| Some(4096 + 4 * t), 4), (4, 4));
    assert_eq!(sectors(&|t| Some(4096 + 4 + 4 * t), 4), (5, 4));
    assert_eq!(sectors(&|t| Some(16 * t), 16), (16, 16));
    assert_eq!(sectors(&|t| Some(4 * 1024 * (31 - t)), 4), (32, 4));
    assert_eq!(sectors(&|_| Some(100), 4), (1, 1));
    assert_eq!(sectors(&|_| None, 4), (0, 0));
    assert_eq!(sectors(&|t| (t == 3).then_some(30), 4), (2, 1));
    // Two rows of 16 floats.
    assert_eq!(sectors(&|t| Some(t / 16 * 40000 + t % 16 * 4), 4), (4, 4));
}

fn offsets(bytes: u32) -> impl Strategy<Value = Offsets> {
    // Few distinct values make sharing and conflicts frequent.
    let range = prop_oneof![Just(2_u32), Just(8), Just(40), Just(300)];
    let lanes = range.prop_flat_map(|range| proptest::array::uniform32(proptest::option::weighted(0.9, 0..range)));
    (lanes, 1_u32..=16, 0_u32..4).prop_map(move |(lanes, stride, sharing)| {
        std::array::from_fn(|lane| {
            let source = match sharing {
                1 => lane & !1,
                2 => lane & !2,
                _ => lane,
            };
            lanes[lane].map(|own| lanes[source].unwrap_or(own) * stride * bytes)
        })
    })
}

proptest! {
    #[test]
    fn wavefronts_by_definition(
        (bytes, addresses) in prop_oneof![Just(1_u32), Just(2), Just(4), Just(8), Just(16)]
            .prop_flat_map(|bytes| (Just(bytes), offsets(bytes))),
    ) {
        for access in [Load, Store, Atomic] {
            let found = shared_wavefronts(&addresses, bytes, access);
            prop_assert_eq!(found, expected(&addresses, bytes, access));
            prop_assert!(found.ideal <= found.actual);
        }
    }

    #[test]
    fn sectors_by_definition(
        addresses in proptest::array::uniform32(proptest::option::weighted(0.9, 0_u64..700)),
        sorted in any::<bool>(),
        bytes in 1_u32..=16,
    ) {
        let mut addresses = addresses;
        if sorted {
            addresses.sort_unstable();
        }
        let touched: BTreeSet<u64> =
            addresses.iter().flatten().flat_map(|&address| address..address + u64::from(bytes)).collect();
        let sectors: BTreeSet<u64> = touched.iter().map(|byte| byte / 32).collect();
        let expected = Sectors { actual: sectors.len() as u32, ideal: touched.len().div_ceil(32) as u32 };
        prop_assert_eq!(global_sectors(&addresses, bytes), expected);
    }
}
