//! Destructors that call the simulator while a fault unwinds their thread.

#![cfg(target_os = "linux")]

use std::sync::atomic::Ordering::Acquire;

use cuda_sim::device::{self, Scope};
use cuda_sim::{GlobalBuffer, Launch};

/// Calls its function when dropped.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn thread() -> usize {
    device::thread_idx()[0] as usize
}

/// Runs kernels in which `on_drop` runs in a thread that panics, and in threads that wait.
fn runs(on_drop: impl Fn() + Sync) {
    for _ in 0..2 {
        let report = Launch::new(2, 64).run(|| {
            let _guard = OnDrop(&on_drop);
            device::sync_threads();
            assert!(thread() != 40, "one fails while others wait");
            device::sync_threads();
        });
        assert_eq!(report.kinds(), ["Panic"], "{report}");
        let report = Launch::new(2, 64).run(|| {
            let _guard = OnDrop(&on_drop);
            if thread() == 3 {
                // A fault of the simulator's own.
                device::sync_warp(1);
            }
            device::sync_threads();
        });
        assert_eq!(report.kinds(), ["WarpMask"], "{report}");
    }
}

#[test]
fn a_destructor_may_synchronize() {
    runs(|| {
        device::sync_threads();
        device::sync_warp(u32::MAX);
        device::warp_exchange(u32::MAX, 1, |values| assert_eq!(values.values[0], 1));
        device::named_barrier_sync(1, 64);
        device::nanosleep(1);
    });
}

#[test]
fn a_destructor_may_poll() {
    let flag = GlobalBuffer::<u32>::zeroed(1);
    runs(|| {
        for _ in 0..100 {
            // SAFETY: inside the buffer.
            unsafe { device::atomic_load(flag.as_ptr(), Acquire, Scope::Device) };
        }
    });
}

#[test]
#[cfg_attr(any(miri, cuda_sim_os_threads), ignore = "needs signals on coroutines")]
fn a_fault_in_a_destructor_ends_its_thread() {
    // Only in those that unwind: as a thread's own end it would be a fault.
    runs(|| {
        if std::thread::panicking() {
            device::sync_warp(0);
            device::shared_array(&PLACE, 1 << 20, 4);
        }
    });
    static PLACE: device::SharedPlace = device::SharedPlace::new();
}

#[test]
fn a_kernel_that_catches_its_panic_goes_on() {
    let report = Launch::new(1, 64).run(|| {
        let caught = std::panic::catch_unwind(|| assert!(thread() > 1000, "always"));
        assert!(caught.is_err());
        device::sync_threads();
        assert_eq!(device::sync_threads_reduce(device::BarrierOp::Count, 1), 64);
    });
    report.assert_clean();
}
