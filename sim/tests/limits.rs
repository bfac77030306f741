//! What the simulator does not see or does not model: a kernel for each limit that docs/simulator.md lists. A test that
//! fails here has lost its limit, and the page its line.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, Ordering};

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::device::{self, Scope, active_mask, dynamic_shared_mem, sync_threads};
use cuda_sim::{GlobalBuffer, Launch, Schedule};
use cuda_views::{Global, GlobalMut, Shared};

fn thread() -> usize {
    device::thread_idx()[0] as usize
}

fn block() -> usize {
    device::block_idx()[0] as usize
}

fn all(grid: u32, block: u32) -> Launch {
    Launch::new(grid, block).schedule(Schedule::All)
}

/// The word at `at` of a buffer.
fn word(buffer: &GlobalBuffer<u32>, at: usize) -> *mut u32 {
    assert!(at < buffer.len());
    buffer.as_mut_ptr().wrapping_add(at)
}

fn load(buffer: &GlobalBuffer<u32>, at: usize) -> u32 {
    // SAFETY: inside.
    unsafe { device::atomic_load(word(buffer, at), Relaxed, Scope::Device) }
}

fn store(buffer: &GlobalBuffer<u32>, at: usize, value: u32) {
    // SAFETY: inside.
    unsafe { device::atomic_store(word(buffer, at), value, Relaxed, Scope::Device) };
}

#[test]
fn a_race_through_bare_pointers_is_not_seen() {
    let data = GlobalBuffer::<u32>::zeroed(1);
    // SAFETY: inside. That all threads write it is the race.
    let report = all(2, 64).run(|| unsafe { data.as_mut_ptr().write_volatile(7) });
    report.assert_clean();
    // Through a view it is.
    // SAFETY: as above.
    let report = all(2, 64).run(|| unsafe { GlobalMut::new(data.as_mut_ptr(), 1).set(0, 7) });
    assert_eq!(report.kinds()[0], "GlobalRace");
}

#[test]
fn a_result_of_an_order_that_no_schedule_has_is_not_seen() {
    // Thread 40 of block 1 counts before one half of the others, and after the other half.
    let (count, out) = (GlobalBuffer::<u32>::zeroed(1), GlobalBuffer::<u32>::zeroed(1));
    let report = all(3, 64).run(|| {
        // SAFETY: inside.
        let place = unsafe { device::atomic_update(word(&count, 0), Relaxed, Scope::Device, |count| count + 1) };
        if (block(), thread(), place) == (1, 40, 97) {
            store(&out, 0, 1);
        }
    });
    report.assert_clean();
    assert_eq!(out.to_vec(), [0]);
}

#[test]
fn stores_are_not_delayed_behind_loads() {
    // Each of two blocks stores its own flag and loads the other one. Relaxed atomics let both load 0, as the PTX ISA's
    // memory model does; the simulator executes the atomics of a thread in their order.
    let flags = GlobalBuffer::<u32>::zeroed(2);
    let seen = GlobalBuffer::<u32>::uninit(2);
    let both = GlobalBuffer::<u32>::zeroed(1).named("both loaded 0");
    let seen_by = || Launch::new(2, 1);
    for schedule in Schedule::EVERY {
        store_all(&flags, 0);
        let report = seen_by().schedule(schedule).run(|| {
            store(&flags, block(), 1);
            let other = load(&flags, 1 - block());
            // SAFETY: an element for each block.
            unsafe { GlobalMut::new(seen.as_mut_ptr(), 2).set(block(), other) };
        });
        report.assert_clean();
        assert_ne!(seen.to_vec(), [0, 0], "{schedule}");
    }
    assert_eq!(both.to_vec(), [0]);
}

/// Stores a value in each element, from the host.
fn store_all(buffer: &GlobalBuffer<u32>, value: u32) {
    for at in 0..buffer.len() {
        // SAFETY: inside, and no launch runs.
        unsafe { word(buffer, at).write(value) };
    }
}

#[test]
fn lanes_always_converge() {
    // A GPU may report any part of the lanes that reach the call, as long as the caller is one of them.
    let full = GlobalBuffer::<u32>::uninit(32);
    let report = all(1, 32).run(|| {
        let mask = active_mask();
        // SAFETY: an element for each lane.
        unsafe { GlobalMut::new(full.as_mut_ptr(), 32).set(thread(), mask) };
    });
    report.assert_clean();
    assert_eq!(full.to_vec(), [u32::MAX; 32]);
}

#[test]
fn caches_are_not_modelled() {
    // Two warps load the same 128 bytes: of the second one a GPU finds all four sectors in L1.
    let data = GlobalBuffer::from_slice(&[1_u32; 32]);
    let report = Launch::new(1, 64).run(|| {
        // SAFETY: 32 elements.
        unsafe { Global::new(data.as_ptr(), 32).get(thread() % 32) };
    });
    report.assert_clean();
    assert_eq!(report.traffic(Space::Global, AccessKind::Read), (8, 8));
}

#[test]
fn the_order_of_the_host_s_atomics_is_not_seen() {
    // Thread 0 publishes; the others wait for that. It is right, and with `cuda_std`'s atomics silent.
    let run = |is_host: bool| {
        let (data, flag) = (GlobalBuffer::<u32>::uninit(1), GlobalBuffer::<u32>::zeroed(1));
        // SAFETY: one element, as long as the buffer lives.
        let view = || unsafe { GlobalMut::new(data.as_mut_ptr(), 1) };
        Launch::new(1, 2).schedule(Schedule::Forward).run(|| {
            // SAFETY: valid for atomics as long as the buffer lives.
            let host = unsafe { AtomicU32::from_ptr(word(&flag, 0)) };
            if thread() == 0 {
                // SAFETY: inside.
                unsafe { view().set(0, 5) };
                match is_host {
                    true => host.store(1, SeqCst),
                    // SAFETY: inside.
                    false => unsafe { device::atomic_store(word(&flag, 0), 1, Ordering::Release, Scope::Device) },
                }
            } else {
                match is_host {
                    true => while host.load(SeqCst) == 0 {},
                    false => loop {
                        // SAFETY: inside.
                        let value = unsafe { device::atomic_load(word(&flag, 0), Ordering::Acquire, Scope::Device) };
                        if value != 0 {
                            break;
                        }
                    },
                }
                // SAFETY: inside.
                unsafe { view().get(0) };
            }
        })
    };
    run(false).assert_clean();
    assert_eq!(run(true).kinds(), ["GlobalRace"]);
}

#[test]
fn of_many_views_only_the_first_are_compared() {
    // The last one overlaps with the first: its store is in the same bytes, as another type.
    let run = |between: usize| {
        let launch = Launch::new(1, 1).dynamic_shared_bytes(4096);
        launch.run(|| {
            let start = dynamic_shared_mem();
            // SAFETY: all of them are inside the dynamic shared memory.
            unsafe {
                Shared::<u32>::new(start.cast(), 1).set(0, 1);
                for view in 0..between {
                    Shared::<u32>::new(start.add(16 + 8 * view).cast(), 1 + view % 2).set(0, 1);
                }
                Shared::<[u16; 2]>::new(start.cast(), 1).set(0, [2, 3]);
                sync_threads();
            }
        })
    };
    assert_eq!(run(4).kinds(), ["ViewOverlap"]);
    run(200).assert_clean();
}

#[test]
fn the_page_names_each_of_these() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../docs/simulator.md")).expect("the page");
    let limits = page.split("## Limits").nth(1).expect("its last section");
    let tests = include_str!("limits.rs").split("#[test]\nfn ").skip(1);
    let names: Vec<&str> = tests.filter_map(|test| test.split('(').next()).collect();
    for name in names.iter().filter(|name| **name != "the_page_names_each_of_these") {
        assert!(
            limits.contains(&format!("`{name}`")),
            "docs/simulator.md does not name {name}"
        );
    }
}
