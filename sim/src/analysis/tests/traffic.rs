//! Accesses put together from single threads against those of whole warps.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::access::Space;
use crate::analysis::Op;
use crate::analysis::banks::{SharedAccess, global_sectors, shared_wavefronts};
use crate::analysis::source_locations::AccessClass;
use crate::analysis::traffic::{LocationTraffic, Traffic};

const READ: AccessClass = AccessClass::of_lanes(Space::Shared, Op::Read, 4);
const WRITE_16: AccessClass = AccessClass::of_lanes(Space::Shared, Op::Write, 16);
const LOAD: AccessClass = AccessClass::of_lanes(Space::Global, Op::Read, 4);
const KINDS: [AccessClass; 3] = [READ, WRITE_16, LOAD];

/// One instruction of a warp: its location, and the lanes' addresses.
#[derive(Clone, Debug)]
struct Instruction {
    location: u16,
    addresses: [Option<u32>; 32],
}

impl Instruction {
    fn cost(&self) -> LocationTraffic {
        let kind = KINDS[usize::from(self.location) % KINDS.len()];
        let bytes = u32::from(kind.bytes);
        let (actual, ideal) = match (kind.space, kind.op) {
            (Space::Global, _) => {
                let sectors = global_sectors(&self.addresses.map(|address| address.map(u64::from)), bytes);
                (sectors.actual, sectors.ideal)
            }
            (_, op) => {
                let access = if op == Op::Read {
                    SharedAccess::Load
                } else {
                    SharedAccess::Store
                };
                let wavefronts = shared_wavefronts(&self.addresses, bytes, access);
                (wavefronts.actual, wavefronts.ideal)
            }
        };
        LocationTraffic {
            requests: 1,
            lanes: self.addresses.iter().flatten().count() as u64,
            actual: actual.into(),
            ideal: ideal.into(),
            bytes: self.addresses.iter().flatten().count() as u64 * u64::from(bytes),
        }
    }
}

/// [`Traffic::record`], by the shorter way where there is one, as for loads.
fn record(traffic: &mut Traffic, thread: u16, location: u16, class: AccessClass, address: u64) -> bool {
    match traffic.join(thread, location) {
        Some(joining) if class.op == Op::Read => {
            joining.record(address);
            false
        }
        _ => traffic.record(thread, location, class, address),
    }
}

/// The instructions of a warp between two rendezvous of all its lanes: groups of lanes, each with its instructions, one
/// group after the other.
type Interval = Vec<Instruction>;

/// Loops, with branches that some lanes take each time: what hardware executes together has the same number for each
/// lane.
fn interval(lanes: usize) -> impl Strategy<Value = Interval> {
    let addresses = proptest::array::uniform32(0_u32..200);
    let branch = prop_oneof![Just(u32::MAX), any::<u32>(), Just(0xffff), Just(1)];
    // SourceLocation, how often, in which lanes. A location occurs once: its lanes are the same each time.
    let parts = proptest::collection::btree_map(0_u16..8, (1_usize..70, branch, addresses), 0..4);
    parts.prop_map(move |parts| {
        let one = |(location, (times, mask, addresses)): (u16, (usize, u32, [u32; 32]))| {
            (0..times).map(move |time| Instruction {
                location,
                addresses: std::array::from_fn(|lane| {
                    let takes_part = lane < lanes && mask >> lane & 1 == 1;
                    takes_part.then(|| (addresses[lane] + 4 * time as u32) * 16)
                }),
            })
        };
        let instructions: Interval = parts.into_iter().flat_map(one).collect();
        instructions
            .into_iter()
            .filter(|instruction| instruction.addresses.iter().any(Option::is_some))
            .collect()
    })
}

/// Runs the intervals lane by lane, as the simulator does.
fn run(intervals: &[Vec<Interval>], lanes: usize, order: &[usize]) -> Traffic {
    let warps = intervals.first().map_or(1, Vec::len);
    let mut traffic = Traffic::new(32 * (warps - 1) + lanes);
    for interval in intervals {
        for (warp, instructions) in interval.iter().enumerate() {
            let lanes = if warp + 1 == warps { lanes } else { 32 };
            let mut at = [0; 32];
            let mut waiting = 0_u32;
            while (0..lanes).any(|lane| waiting >> lane & 1 == 0) {
                for &lane in order.iter().filter(|&&lane| lane < lanes) {
                    while at[lane] < instructions.len() {
                        let Instruction { location, addresses } = &instructions[at[lane]];
                        at[lane] += 1;
                        let Some(address) = addresses[lane] else { continue };
                        let kind = KINDS[usize::from(*location) % KINDS.len()];
                        if record(&mut traffic, (32 * warp + lane) as u16, *location, kind, address.into()) {
                            break;
                        }
                    }
                    if at[lane] == instructions.len() {
                        waiting |= 1 << lane;
                    }
                }
                let missing = if lanes == 32 { 0 } else { u32::MAX << lanes };
                traffic.settle(warp as u16, waiting | missing);
            }
        }
        traffic.barrier();
    }
    traffic
}

fn expected(intervals: &[Vec<Interval>]) -> BTreeMap<u16, LocationTraffic> {
    let mut totals: BTreeMap<u16, LocationTraffic> = BTreeMap::new();
    for instruction in intervals.iter().flatten().flatten() {
        totals.entry(instruction.location).or_default().add(instruction.cost());
    }
    totals
}

fn found(traffic: &Traffic) -> BTreeMap<u16, LocationTraffic> {
    let totals = traffic.totals().iter().enumerate();
    totals
        .filter(|(_, total)| total.requests > 0)
        .map(|(location, &total)| (location as u16, total))
        .collect()
}

proptest! {
    #[test]
    fn lanes_are_put_together(
        (lanes, intervals) in (1_usize..=32).prop_flat_map(|lanes| {
            let warps = proptest::collection::vec(interval(lanes), 2);
            (Just(lanes), proptest::collection::vec(warps, 1..4))
        }),
        order in Just((0..32).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let traffic = run(&intervals, lanes, &order);
        prop_assert_eq!(found(&traffic), expected(&intervals));
        prop_assert_eq!(traffic.approximate(), 0);
    }
}

#[test]
fn a_lane_that_runs_ahead_is_told_so() {
    let window = Traffic::WINDOW;
    let all = window * Traffic::WINDOWS as u32;
    let mut traffic = Traffic::new(64);
    for execution in 1..window {
        assert!(!traffic.record(3, 0, READ, 0), "execution {execution}");
    }
    assert!(traffic.record(3, 0, READ, 0));
    // It goes on all the same, and is told so again for each window, and always when few are left.
    for execution in window + 1..=all {
        let few_left = execution > all - 4 * window;
        assert_eq!(
            traffic.record(3, 0, READ, 0),
            execution % window == 0 || few_left,
            "execution {execution}"
        );
    }
    // Until the first window has to be closed: what others do there is counted by itself.
    assert!(traffic.record(3, 0, READ, 0));
    for _ in 0..all {
        traffic.record(4, 0, READ, 4);
    }
    assert_eq!(traffic.approximate(), u64::from(window));
    traffic.barrier();
    let (window, all) = (u64::from(window), u64::from(all));
    let expected = LocationTraffic {
        requests: all + 1 + window,
        lanes: 2 * all + 1,
        actual: all + 1 + window,
        ideal: all + 1 + window,
        bytes: 4 * (2 * all + 1),
    };
    assert_eq!(traffic.totals(), [expected]);
}

#[test]
fn many_locations_at_once_stay_within_bounds() {
    let mut traffic = Traffic::new(32);
    let mut warned = 0;
    for location in 0..200 {
        warned += usize::from(traffic.record(0, location, LOAD, 0));
    }
    assert!(warned > 0);
    for lane in 1..32 {
        for location in 0..200 {
            traffic.record(lane, location, LOAD, u64::from(lane) * 4);
        }
    }
    traffic.barrier();
    let lanes: u64 = traffic.totals().iter().map(|total| total.lanes).sum();
    assert_eq!(lanes, 32 * 200);
    assert!(traffic.approximate() > 0);
}

#[test]
fn locations_beyond_the_bound_are_counted_as_such() {
    let mut traffic = Traffic::new(32);
    assert!(!traffic.record(0, u16::MAX, LOAD, 0));
    traffic.barrier();
    assert_eq!((traffic.approximate(), traffic.totals().len()), (1, 0));
}

#[test]
fn a_rendezvous_of_the_warp_restarts_the_count() {
    let mut traffic = Traffic::new(32);
    // Lane 0 executes a location once more than the others before their rendezvous.
    traffic.record(0, 0, READ, 0);
    for _ in 0..2 {
        for lane in 0..32 {
            traffic.record(lane, 0, READ, u64::from(lane) * 4);
        }
        traffic.settle(0, u32::MAX);
    }
    let expected = LocationTraffic {
        requests: 3,
        lanes: 65,
        actual: 3,
        ideal: 3,
        bytes: 4 * 65,
    };
    assert_eq!(traffic.totals(), [expected]);
    assert_eq!(traffic.approximate(), 0);
}
