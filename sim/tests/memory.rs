//! Memory that a checked launch takes: a process of its own, since the peak is the process's. The tests that do not
//! ask for it are one, since the peak is that of all.

#![cfg(target_os = "linux")]

use cuda_sim::{GlobalBuffer, Launch, Schedule};
use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};

/// # Safety
/// `from` and `to` have `len` elements.
#[kernel]
unsafe fn double(from: *const f32, to: *mut f32, len: usize) {
    // SAFETY: `len` elements each, by the launch.
    let (from, to) = unsafe { (Global::new(from, len), GlobalMut::new(to, len)) };
    let at = thread::index_1d() as usize;
    // SAFETY: a thread an element.
    unsafe { to.set(at, 2.0 * from.get(at)) };
}

/// The peak of the process's memory in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("Linux has it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// Doubles so many elements, one a thread, and returns the memory that this took in bytes: buffers, records, and the
/// contents to start again from.
fn run(blocks: u32, threads: u32) -> u64 {
    let len = blocks as usize * threads as usize;
    let values: Vec<f32> = (0..len).map(|at| at as f32).collect();
    let before = peak() - 4 * len as u64;
    let (from, to) = (GlobalBuffer::from_slice(&values), GlobalBuffer::<f32>::uninit(len));
    drop(values);
    // The default schedule also keeps the results of its first run.
    let launch = Launch::new(blocks, threads).schedule(Schedule::Forward);
    // SAFETY: both buffers have `len` elements.
    let report = launch.run(|| unsafe { double(from.as_ptr(), to.as_mut_ptr(), len) });
    report.assert_clean();
    let taken = peak() - before;
    println!("{blocks} x {threads}: {} MiB in {:.1} s", taken >> 20, report.seconds);
    taken
}

#[test]
#[cfg_attr(cuda_sim_own_stacks, ignore = "every block that waits has stacks of its own")]
fn blocks_take_no_memory_once_they_have_ended() {
    // A hundred thousand, of one element each.
    let taken = run(100_000, 1);
    assert!(taken < 64 << 20, "{} MiB", taken >> 20);
    // A tenth of them, of 1024 threads, with a tenth of the memory that all may take.
    let taken = run(10_000, 1024);
    assert!(taken < (2 << 30) / 10, "{} MiB", taken >> 20);
}

#[test]
#[ignore = "it takes half a minute: cargo test -p cuda_sim --test memory -- --ignored --nocapture"]
fn a_hundred_thousand_blocks_of_1024_threads_fit_into_two_gibibytes() {
    let taken = run(100_000, 1024);
    assert!(taken < 2 << 30, "{} MiB", taken >> 20);
}
