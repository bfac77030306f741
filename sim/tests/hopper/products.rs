//! `wgmma`: faults of wrong uses. Its results are tested with kernels-gpu's.

use cuda_sim::device::{sync_threads, thread_idx};
use cuda_sim::{Launch, Report};
use cuda_views::bulk_copy::proxy_fence;
use cuda_views::wgmma::{
    MmaAsync, OperandA, WgmmaElement, accumulator_element, commit, fence, mma_async, set_max_registers, shared_address,
    wait,
};
use cuda_views::{Shared, mbarrier};

use crate::common::{assert_finds, kinds, shared};

/// Where A and B begin in shared memory: each has 64 rows of 16 elements, in core matrices of 8 rows of 8 elements.
const A: usize = 0;
const B: usize = 2048;
const BYTES: u32 = 4096;

/// A descriptor without swizzle: a core matrix of 128 bytes after the other along K, 8 rows after 256 bytes.
fn descriptor(offset: usize) -> u64 {
    let start = u64::from(shared_address(shared::<u8>(offset, 1), 0));
    start >> 4 | (128 >> 4) << 16 | (256 >> 4) << 32
}

/// The offset of element `k` of a row, in elements.
fn element(row: usize, k: usize) -> usize {
    row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8
}

fn operands() -> MmaAsync {
    MmaAsync {
        a: OperandA::Shared(descriptor(A)),
        b: descriptor(B),
        columns: 64,
        elements: [WgmmaElement::Bf16; 2],
        a_is_mn_major: false,
        b_is_mn_major: false,
        accumulate: false,
    }
}

/// Bfloat16 of a small integer.
fn bf16(value: usize) -> u16 {
    ((value as f32).to_bits() >> 16) as u16
}

/// Each thread writes its part of both operands; element (row, k) of A is row, of B k.
fn fill(thread: usize) -> (Shared<u16>, Shared<u16>) {
    let (a, b) = (shared::<u16>(A, 1024), shared::<u16>(B, 1024));
    for i in (thread..1024).step_by(128) {
        // SAFETY: inside; each element by one thread.
        unsafe {
            a.set(element(i / 16, i % 16), bf16(i / 16));
            b.set(element(i / 16, i % 16), bf16(i % 16));
        }
    }
    (a, b)
}

/// Runs `body` with each of 128 threads, its sums, and A.
fn run(body: impl Fn(usize, &mut [f32; 32], Shared<u16>) + Sync) -> Report {
    Launch::new(1, 128).dynamic_shared_bytes(BYTES).run(|| {
        let thread = thread_idx()[0] as usize;
        let (a, _) = fill(thread);
        proxy_fence();
        sync_threads();
        body(thread, &mut [0.0; 32], a);
    })
}

#[track_caller]
fn multiply(sums: &mut [f32; 32], operands: MmaAsync) {
    // SAFETY: 32 sums for 64 columns.
    unsafe { mma_async(operands, sums.as_mut_ptr()) };
}

#[test]
fn the_sums_are_where_they_are_said_to_be() {
    let report = run(|thread, sums, _| {
        fence();
        multiply(sums, operands());
        let accumulate = true;
        multiply(
            sums,
            MmaAsync {
                accumulate,
                ..operands()
            },
        );
        commit();
        wait(0, sums);
        for (index, &sum) in sums.iter().enumerate() {
            let (row, _) = accumulator_element(thread as u32, index as u32);
            // Every column of B is 0 + 1 + .. + 15.
            assert_eq!(sum, 2.0 * 120.0 * row as f32);
        }
    });
    report.assert_clean();
}

#[test]
fn accumulators_that_are_used_before_the_wait_are_reported() {
    type Use = fn(&mut [f32; 32], &mut dyn FnMut(f32));
    let early: [Use; 6] = [
        |sums, store| store(sums[0]),
        |sums, store| store(1.5 * sums[0] + 1.0),
        |sums, store| {
            wait(1, sums);
            store(sums[31]);
        },
        |sums, _| {
            sums[3] *= 2.0;
            wait(0, sums);
        },
        |sums, _| {
            sums[3] = -sums[3];
            fence();
            multiply(sums, operands());
        },
        |sums, _| {
            sums.swap(0, 1);
            wait(0, sums);
        },
    ];
    let in_time: [Use; 3] = [
        |sums, store| {
            wait(0, sums);
            store(sums[0]);
        },
        |sums, store| {
            let mut moved = *sums;
            wait(0, &mut moved);
            assert!(moved.iter().all(|sum| !sum.is_nan()));
            store(moved[0]);
        },
        |sums, store| {
            multiply(sums, operands());
            commit();
            wait(1, sums);
            wait(0, sums);
            store(sums[0]);
        },
    ];
    let report = |use_of: Use| {
        Launch::new(1, 128).dynamic_shared_bytes(BYTES + 512).run(move || {
            let thread = thread_idx()[0] as usize;
            fill(thread);
            proxy_fence();
            sync_threads();
            let mut sums = [0.0; 32];
            fence();
            multiply(&mut sums, operands());
            commit();
            let c = shared::<f32>(BYTES as usize, 128);
            // SAFETY: inside, and this thread's.
            use_of(&mut sums, &mut |sum| unsafe { c.set(thread, sum) });
            wait(0, &mut sums);
        })
    };
    for use_of in early {
        assert_finds(
            &report(use_of),
            "Warpgroup",
            "accumulators of a wgmma that the thread has not waited for",
        );
    }
    for use_of in in_time {
        report(use_of).assert_clean();
    }
}

#[test]
fn operands_are_read_until_the_wait() {
    // SAFETY: inside; that the product still reads is the fault where there is one.
    let write = |thread: usize, a: Shared<u16>| unsafe { a.set(thread, 0) };
    type Between = fn();
    let cases: [(Between, bool); 4] = [
        (|| (), true),
        (|| wait(0, &mut []), true),
        (
            || {
                commit();
                wait(1, &mut []);
            },
            true,
        ),
        (
            || {
                commit();
                wait(0, &mut []);
            },
            false,
        ),
    ];
    for (between, races) in cases {
        let report = run(|thread, sums, a| {
            fence();
            multiply(sums, operands());
            between();
            // A thread's wait says nothing of the others'.
            sync_threads();
            write(thread, a);
        });
        let found = kinds(&report);
        assert_eq!(
            found,
            if races { vec!["SharedRace"] } else { vec![] },
            "{:?}",
            report.faults
        );
    }
}

#[test]
fn what_is_waited_for_may_be_handed_on_by_an_mbarrier() {
    let report = Launch::new(1, 256).dynamic_shared_bytes(BYTES + 8).run(|| {
        let thread = thread_idx()[0] as usize;
        let empty = shared::<u64>(BYTES as usize, 1);
        if thread == 0 {
            mbarrier::init(empty, 0, 128);
        }
        let a = shared::<u16>(A, 1024);
        if thread < 128 {
            fill(thread);
        }
        proxy_fence();
        sync_threads();
        if thread < 128 {
            let mut sums = [0.0; 32];
            fence();
            multiply(&mut sums, operands());
            commit();
            wait(0, &mut sums);
            mbarrier::arrive(empty, 0);
        } else {
            mbarrier::wait(empty, 0, 0);
            // SAFETY: inside, and no longer read.
            unsafe { a.set(thread, 0) };
        }
    });
    report.assert_clean();
}

#[test]
fn operands_that_threads_wrote_need_their_fence() {
    let report = Launch::new(1, 128).dynamic_shared_bytes(BYTES).run(|| {
        fill(thread_idx()[0] as usize);
        // Of one thread it is not enough.
        if thread_idx()[0] == 0 {
            proxy_fence();
        }
        sync_threads();
        fence();
        multiply(&mut [0.0; 32], operands());
    });
    assert_eq!(kinds(&report), ["MissingProxyFence"]);
    let report = Launch::new(1, 128).dynamic_shared_bytes(BYTES).run(|| {
        fill(thread_idx()[0] as usize);
        proxy_fence();
        fence();
        multiply(&mut [0.0; 32], operands());
    });
    assert_finds(&report, "SharedRace", "race in shared memory: read at byte");
}

#[test]
fn threads_of_a_warpgroup_execute_the_same() {
    let report = run(|thread, sums, _| {
        fence();
        let accumulate = thread == 77;
        multiply(
            sums,
            MmaAsync {
                accumulate,
                ..operands()
            },
        );
    });
    assert_finds(
        &report,
        "Warpgroup",
        "threads 0 and 77 execute different instructions, or with other operands",
    );
    let report = run(|thread, sums, _| {
        fence();
        if thread != 5 {
            multiply(sums, operands());
        }
    });
    assert_finds(&report, "Deadlock", "127 wait for threads of their warpgroup");
    let report = run(|_, sums, _| multiply(sums, operands()));
    assert_finds(&report, "Warpgroup", "before the thread's first wgmma.fence");
}

#[test]
fn operands_outside_of_shared_memory_are_refused() {
    let report = run(|_, sums, _| {
        fence();
        let b = operands().b + (2048 >> 4);
        multiply(sums, MmaAsync { b, ..operands() });
    });
    assert_eq!(kinds(&report), ["OutOfBounds"]);
}

#[test]
fn registers_come_in_eights_and_for_whole_warpgroups() {
    run(|_, _, _| set_max_registers(40)).assert_clean();
    for (count, text) in [
        (20, "of 20 registers"),
        (44, "of 44 registers"),
        (264, "of 264 registers"),
    ] {
        assert_finds(&run(|_, _, _| set_max_registers(count)), "Warpgroup", text);
    }
    let report = run(|thread, _, _| set_max_registers(if thread < 32 { 40 } else { 48 }));
    assert_finds(&report, "Warpgroup", "threads 0 and 32");
}
