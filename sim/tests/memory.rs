//! Memory that a checked launch takes: a process of its own, since the peak is the process's.

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

#[test]
fn a_hundred_thousand_blocks_would_fit_into_two_gibibytes() {
    // A tenth of them, with a tenth of the memory: buffers, records, and the contents to start again from.
    let blocks = 10_000;
    let len = blocks as usize * 1024;
    let values: Vec<f32> = (0..len).map(|at| at as f32).collect();
    let before = peak() - 4 * len as u64;
    let (from, to) = (GlobalBuffer::from_slice(&values), GlobalBuffer::<f32>::uninit(len));
    drop(values);
    // The default schedule also keeps the results of its first run.
    let launch = Launch::new(blocks, 1024).schedule(Schedule::Forward);
    // SAFETY: both buffers have `len` elements.
    let report = launch.run(|| unsafe { double(from.as_ptr(), to.as_mut_ptr(), len) });
    report.assert_clean();
    let taken = peak() - before;
    println!("{} MiB in {:.1} s", taken >> 20, report.seconds);
    assert!(taken < (2 << 30) / 10, "{} MiB", taken >> 20);
}
