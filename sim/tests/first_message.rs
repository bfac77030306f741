//! The first fault of a report is the cause.

use std::error::Error;

use cuda_sim::{GlobalBuffer, Launch, Schedule};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

const THREADS: u32 = 128;

/// Thread 0 adds up what all threads store, without a barrier between.
///
/// # Safety
/// `input` has THREADS elements, `sum` has one.
#[kernel]
unsafe fn block_sum(input: *const i32, sum: *mut i32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: an element for each thread.
    unsafe {
        let tile = Shared::new(shared_array![i32; THREADS as usize], THREADS as usize);
        tile.set(t, Global::new(input, THREADS as usize).get(t) + t as i32);
        if t == 0 {
            let total = (0..THREADS as usize)
                .map(|at| tile.get(at))
                .fold(i32::MIN, |sum, value| sum + value);
            GlobalMut::new(sum, 1).set(0, total);
        }
    }
}

/// The first lane of each warp adds up what its warp stores, without `sync_warp` between.
///
/// # Safety
/// `input` has THREADS elements, `sum` has one.
#[kernel]
unsafe fn warp_sum(input: *const i32, sum: *mut i32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: an element for each thread, and for each warp.
    unsafe {
        let tile = Shared::new(shared_array![i32; THREADS as usize], THREADS as usize);
        let sums = Shared::new(shared_array![i32; THREADS as usize / 32], THREADS as usize / 32);
        tile.set(t, Global::new(input, THREADS as usize).get(t) + t as i32);
        if t.is_multiple_of(32) {
            sums.set(
                t / 32,
                (t..t + 32)
                    .map(|at| tile.get(at))
                    .fold(i32::MIN, |sum, value| sum + value),
            );
        }
        thread::sync_threads();
        if t == 0 {
            GlobalMut::new(sum, 1).set(0, sums.get(0));
        }
    }
}

#[test]
fn a_read_before_the_write_of_its_interval_is_a_race() {
    type Kernel = unsafe fn(*const i32, *mut i32);
    for kernel in [block_sum as Kernel, warp_sum] {
        for schedule in Schedule::EVERY {
            let input = GlobalBuffer::from_slice(&[1; THREADS as usize]);
            let sum = GlobalBuffer::uninit(1);
            // SAFETY: the buffers have the elements.
            let report = Launch::new(1, THREADS)
                .schedule(schedule)
                .run(|| unsafe { kernel(input.as_ptr(), sum.as_mut_ptr()) });
            assert_eq!(report.kinds()[0], "SharedRace", "{report}");
            assert!(!report.kinds().contains(&"UninitializedRead"), "{report}");
        }
    }
}

#[test]
fn reports_name_the_buffer_and_the_schedule() -> Result<(), Box<dyn Error>> {
    let data = GlobalBuffer::<u32>::zeroed(1).named("sums");
    let race = || {
        // SAFETY: inside the buffer.
        unsafe { GlobalMut::new(data.as_mut_ptr(), 1).set(0, thread::thread_idx_x()) };
    };
    let report = Launch::new(1, 2).schedule(Schedule::Random(7)).run(race);
    assert_eq!(report.kinds(), ["GlobalRace"]);
    let error = report.into_clean().expect_err("a race").to_string();
    assert!(
        error.contains("in buffer `sums`") && error.contains("under the schedule random:7"),
        "{error}"
    );
    // An error as any other.
    let report = Launch::new(1, 1).run(race).into_clean()?;
    assert_eq!(report.threads, 1);
    Ok(())
}
