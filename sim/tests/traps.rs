//! Signals that end a simulated thread: a full stack, a wild pointer.
#![cfg(target_os = "linux")]

use std::hint::black_box;
use std::panic::Location;

use cuda_sim::access::{AccessKind, Space, access};
use cuda_sim::{GlobalBuffer, Launch, device};

#[test]
#[cfg_attr(any(miri, cuda_sim_os_threads), ignore = "needs signals on coroutines")]
fn a_full_stack_and_a_wild_pointer_are_faults() {
    #[inline(never)]
    fn deep(depth: u64) -> u64 {
        let frame = black_box([depth; 64]);
        if depth == 0 {
            frame[0]
        } else {
            deep(depth - 1) + frame[1]
        }
    }
    let report = Launch::new(1, 2).run(|| {
        black_box(deep(1_000_000));
    });
    assert_eq!(report.kinds(), ["StackOverflow"]);

    let report = Launch::new(1, 2).run(|| {
        // SAFETY: none: the simulator has to catch it.
        unsafe { std::ptr::without_provenance_mut::<u32>(16).write_volatile(1) };
    });
    assert_eq!(report.kinds(), ["BadAddress"]);
    // Where the program has debug information.
    if let Some(location) = &report.faults[0].location {
        assert!(location.file.ends_with("tests/traps.rs"), "{location}");
    }

    let report = Launch::new(1, 2).dynamic_shared_bytes(100).run(|| {
        let tile = device::dynamic_shared_mem().cast::<u32>();
        // SAFETY: none: beyond the end.
        unsafe { tile.add(32).write_volatile(1) };
    });
    assert_eq!(report.kinds(), ["BadAddress"]);
    assert!(
        report.faults[0]
            .to_string()
            .contains("at byte 128 of 100 bytes of dynamic"),
        "{report}"
    );
}

#[test]
#[cfg_attr(any(miri, cuda_sim_os_threads), ignore = "needs signals on coroutines")]
fn a_stack_may_be_full_while_the_simulator_checks_an_access() {
    #[inline(never)]
    fn deep(tile: usize, elem: usize, depth: u64) -> u64 {
        for (space, address) in [(Space::Shared, tile), (Space::Global, elem)] {
            let part = address..address + 4;
            access(space, AccessKind::Write, address, 4, part, Location::caller());
        }
        1 + deep(tile, elem, black_box(depth + 1))
    }
    // The simulator takes more of the stack than a call of `deep`: it is there that the stack ends.
    let elems = GlobalBuffer::<u32>::zeroed(64);
    let report = Launch::new(64, 1).dynamic_shared_bytes(4).run(|| {
        let elem = elems.as_mut_ptr().wrapping_add(device::block_idx()[0] as usize);
        black_box(deep(device::dynamic_shared_mem().addr(), elem.addr(), 0));
    });
    assert_eq!(report.kinds(), ["StackOverflow"], "{report}");
}
