//! The crate in launches of the simulator: that each function has its meaning there, and that a fault names the
//! kernel's line and not the crate's.
//!
//! Results of whole kernels are compared in `compat/corpus/tests/simulator.rs`.

use std::cell::Cell;
use std::panic::{Location, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cuda_sim::{FaultKind, GlobalBuffer, Launch, Limits, Report, Schedule};
use cuda_std::atomic::{AtomicF32, intrinsics, mid};
use cuda_std::cfg::ComputeCapability;
use cuda_std::ptr::{AddressSpace, is_in_address_space};
use cuda_std::warp::{self, WarpReductionOp};
use cuda_std::{address_space, gpu_only, io, kernel, mem, misc, shared, shared_array, thread};

/// The line that calls this.
#[track_caller]
fn here() -> u32 {
    Location::caller().line()
}

/// Launches one warp whose threads run `kernel`, and checks that the launch has one fault of this kind, at the line
/// that `kernel` returns.
#[track_caller]
fn faults_at(name: &str, kernel: impl Fn(&AtomicU32) + Sync) -> String {
    let line = AtomicU32::new(0);
    let report = Launch::new(1, 32).run(|| kernel(&line));
    let [fault] = report.faults.as_slice() else {
        panic!("not one fault: {report}")
    };
    assert_eq!(fault.kind.name(), name, "{fault}");
    let location = fault.location.as_ref().expect("a fault with a place");
    assert_eq!(
        (location.file, location.line),
        (file!(), line.load(Ordering::Relaxed)),
        "{fault}"
    );
    fault.kind.to_string()
}

/// [`faults_at`] for one expression, which is what stands at the line.
macro_rules! fault {
    ($name:literal: $faulty:expr) => {
        faults_at($name, |line| {
            line.store(here(), Ordering::Relaxed);
            // SAFETY: what is wrong with it ends the simulated thread before anything is done.
            #[allow(unused_unsafe)]
            let _ = unsafe { $faulty };
        })
    };
}

#[test]
fn a_panic_names_the_kernel_s_line() {
    let zero = AtomicF32::new(0.0);
    let mut word = 0u32;
    let word = (&raw mut word).expose_provenance();
    let word = || std::ptr::with_exposed_provenance_mut::<u32>(word);

    assert_eq!(fault!("Panic": misc::breakpoint()), "panic: breakpoint");
    assert!(fault!("Panic": misc::profiler_counter(8)).contains("from 0 to 7"));
    assert!(fault!("Panic": zero.load(Ordering::Release)).contains("cannot release"));
    assert!(fault!("Panic": mid::atomic_store_32_block(word(), Ordering::Acquire, 0)).contains("cannot acquire"));
    assert!(fault!("Panic": warp::warp_shuffle_up(u32::MAX, 1u8, 1, 12)).contains("power of two"));
    assert!(fault!("Panic": cuda_std::assert_eq!(1, 2)).contains("(1 == 2)\nleft : 1\nright: 2"));
    assert!(
        fault!("Panic": io::__assertfail(c"no".as_ptr().cast(), c"f".as_ptr().cast(), 3, c"g".as_ptr().cast(), 1))
            .contains("f:3: g: no")
    );
}

#[test]
fn a_fault_of_a_meeting_names_the_kernel_s_line() {
    fault!("WarpMask": warp::sync_warp(0));
    fault!("WarpMask": warp::warp_vote_all(0, true));
    fault!("WarpMask": warp::warp_vote_any(0, true));
    fault!("WarpMask": warp::warp_vote_ballot(0, true));
    fault!("WarpMask": warp::warp_match_any(0, 1u32));
    fault!("WarpMask": warp::warp_match_all(0, 1.0f64));
    fault!("WarpMask": warp::warp_reduce(0, -1, WarpReductionOp::Max));
    fault!("WarpMask": warp::warp_shuffle_idx(0, 1i8, 0, 32));
    fault!("WarpMask": warp::warp_shuffle_xor(0, 1u128, 0, 32));
    // The last thread is gone.
    let stays = || thread::thread_idx_x() < 31;
    fault!("BarrierDivergence": if stays() { thread::sync_threads() });
    fault!("BarrierDivergence": if stays() { thread::sync_threads_count(1); });
    fault!("BarrierDivergence": if stays() { thread::sync_threads_and(1); });
    fault!("BarrierDivergence": if stays() { thread::sync_threads_or(1); });
}

#[test]
fn a_kernel_s_panic_is_a_fault_of_its_thread() {
    #[kernel]
    unsafe fn element(data: &[u32], out: *mut u32) {
        let i = thread::index_1d() as usize;
        // SAFETY: an element for each thread.
        unsafe { *out.add(i) = data[i] };
    }
    // On the host a kernel has the parameters as written, and Rust's ABI.
    let pointer: unsafe fn(&[u32], *mut u32) = element;
    let out = GlobalBuffer::<u32>::zeroed(4);
    // SAFETY: what the kernel takes; its bounds check is what is tried.
    let report = Launch::new(1, 4).run(|| unsafe { pointer(&[1, 2, 3], out.as_mut_ptr()) });
    assert_eq!(report.faults.len(), 1, "{report}");
    assert!(matches!(&report.faults[0].kind, FaultKind::Panic { message } if message.contains("index out of bounds")));
    assert_eq!(report.faults[0].thread, [3, 0, 0]);
    assert_eq!(out.to_vec(), [1, 2, 3, 0]);
}

/// What each thread of one block reports about an address.
fn addresses(threads: u32, of: impl Fn() -> usize + Sync) -> Vec<usize> {
    let out = GlobalBuffer::<u64>::zeroed(threads as usize);
    // Addresses differ from run to run.
    let launch = Launch::new(1, threads).schedule(Schedule::Forward);
    let report = launch.run(|| {
        let i = thread::thread_idx_x() as usize;
        // SAFETY: an element for each thread.
        unsafe { *out.as_mut_ptr().add(i) = of() as u64 };
    });
    report.assert_clean();
    out.to_vec().into_iter().map(|address| address as usize).collect()
}

#[test]
fn an_array_belongs_to_its_place() {
    fn recursive(depth: u32) -> *mut u8 {
        let buffer = shared_array![u8; 3];
        if depth > 0 {
            assert_eq!(recursive(depth - 1), buffer, "one place is one array");
        }
        buffer
    }
    fn generic<T: Default>() -> usize {
        let _ = T::default();
        shared_array![u64; 2].addr()
    }
    let all = addresses(64, || {
        let (first, second) = (shared_array![f64; 3].addr(), shared_array![f64; 3].addr());
        let apart = first.abs_diff(second);
        assert!(apart >= 24, "two on one line are two: {apart} bytes apart");
        assert_eq!((first % 8, second % 8), (0, 0));
        let mut turns = (0..3).map(|_| shared_array![u16; 5].addr());
        let one = turns.next();
        assert!(turns.all(|turn| Some(turn) == one), "one place in a loop is one array");
        assert_eq!(generic::<u8>(), generic::<String>());
        recursive(3);
        first
    });
    assert!(
        all.iter().all(|&address| address == all[0]),
        "the block's threads share it"
    );
}

#[test]
fn dynamic_memory_is_one_and_its_size_is_known() {
    let report = Launch::new(2, 32).dynamic_shared_bytes(640).run(|| {
        let start = shared::dynamic_shared_mem::<u64>();
        assert_eq!(start.addr() % 128, 0);
        assert_eq!(shared::dynamic_shared_mem::<u8>().addr(), start.addr());
        assert_eq!(mem::dynamic_smem_size(), 640);
        assert!(mem::total_smem_size() >= 640);
    });
    report.assert_clean();
}

#[address_space(constant)]
static TABLE: [u32; 4] = [1, 2, 3, 4];

#[address_space(shared)]
static mut TILE: [u32; 4] = [0; 4];

#[test]
fn an_address_is_in_one_memory() {
    fn spaces<T>(address: *const T) -> Vec<AddressSpace> {
        let all = [
            AddressSpace::Global,
            AddressSpace::Shared,
            AddressSpace::Constant,
            AddressSpace::Local,
        ];
        // SAFETY: the addresses below are all valid.
        all.into_iter()
            .filter(|&space| unsafe { is_in_address_space(address, space) })
            .collect()
    }
    let buffer = GlobalBuffer::<u32>::zeroed(1);
    let report = Launch::new(1, 1).dynamic_shared_bytes(16).run(|| {
        let local = Cell::new(1);
        assert_eq!(spaces(buffer.as_ptr()), [AddressSpace::Global]);
        assert_eq!(spaces(&raw const *Box::new(7)), [AddressSpace::Global]);
        assert_eq!(spaces(shared_array![u8; 1]), [AddressSpace::Shared]);
        assert_eq!(spaces(shared::dynamic_shared_mem::<u8>()), [AddressSpace::Shared]);
        assert_eq!(spaces(&raw const TILE), [AddressSpace::Shared]);
        assert_eq!(spaces(&raw const TABLE[3]), [AddressSpace::Constant]);
        assert_eq!(spaces(&raw const local), [AddressSpace::Local]);
    });
    report.assert_clean();
}

#[test]
fn the_capability_is_that_of_the_limits() {
    let capability = |launch: Launch| {
        let number = AtomicU32::new(0);
        let run = || number.store(ComputeCapability::from_cuda_arch_env() as u32, Ordering::Relaxed);
        launch.run(run).assert_clean();
        number.into_inner()
    };
    let of = |arch| Launch::new(1, 1).limits(Limits::of_arch(arch).expect("a known architecture"));
    assert_eq!(capability(of("sm_75")), ComputeCapability::Compute75 as u32);
    assert_eq!(capability(of("sm_120")), ComputeCapability::Compute120 as u32);
    assert_eq!(capability(Launch::new(1, 1)), ComputeCapability::Compute90 as u32);
}

#[test]
fn what_a_kernel_prints_is_in_the_report() {
    let report = Launch::new(2, 1).run(|| {
        cuda_std::print!("{}% of block {}, ", 100, thread::block_idx_x());
        // An int, then a double at the next multiple of 8 bytes.
        let arguments = [7u64.to_le(), 0.5f64.to_bits()];
        // SAFETY: what the format asks for, as C lays it out.
        let taken = unsafe { io::vprintf(c"%03d %g\n".as_ptr().cast(), arguments.as_ptr().cast()) };
        assert_eq!(taken, 2);
    });
    report.assert_clean();
    assert_eq!(report.output, "100% of block 0, 007 0.5\n100% of block 1, 007 0.5\n");
}

#[test]
fn a_shuffle_from_a_lane_that_is_gone_is_a_fault() {
    let seen = [AtomicU32::new(0), AtomicU32::new(0)];
    let report = Launch::new(1, 32).run(|| {
        let lane = warp::lane_id();
        if lane >= 30 {
            return;
        }
        // SAFETY: all lanes that have not exited come here.
        let (value, in_range) = unsafe { warp::warp_shuffle_down(u32::MAX, lane, 2, 32) };
        assert!(in_range);
        if lane >= 28 {
            seen[lane as usize - 28].store(value, Ordering::Relaxed);
        } else {
            assert_eq!(value, lane + 2);
        }
    });
    let kinds: Vec<_> = report.faults.iter().map(|fault| fault.kind.name()).collect();
    assert_eq!(kinds, ["AbsentLane"]);
    let [first, second] = seen.map(AtomicU32::into_inner);
    assert_ne!(first, second);
}

/// Messages of the panics that the calls end with, outside a launch.
macro_rules! outside {
    ($($call:expr;)*) => {
        [$({
            let panic = catch_unwind(|| {
                // SAFETY: it panics before anything is done.
                #[allow(unused_unsafe)]
                let _ = unsafe { $call };
            })
            .expect_err(stringify!($call));
            let message = panic.downcast::<String>().map(|text| *text);
            (stringify!($call), message.unwrap_or_default())
        }),*]
    };
}

#[gpu_only]
fn of_the_user() {}

#[test]
fn outside_a_launch_a_function_that_needs_one_says_so() {
    let calls = outside! {
        thread::thread_idx_x();
        thread::index_3d();
        thread::sync_threads();
        thread::sync_threads_or(1);
        thread::nanosleep(1);
        warp::sync_warp(1);
        warp::lane_id();
        warp::lanemask_lt();
        warp::activemask();
        warp::warp_vote_any(1, true);
        warp::warp_match_all(1, 1u32);
        warp::warp_reduce(1, 1u32, WarpReductionOp::Add);
        warp::warp_shuffle_up(1, 1u32, 1, 32);
        shared_array![u32; 1];
        shared::dynamic_shared_mem::<u8>();
        mem::dynamic_smem_size();
        mem::total_smem_size();
        misc::breakpoint();
        misc::clock();
        ComputeCapability::from_cuda_arch_env();
        is_in_address_space(&1, AddressSpace::Local);
    };
    for (call, message) in calls {
        assert!(
            message.contains("outside") && message.contains("launch"),
            "{call}: {message}"
        );
    }
}

#[test]
fn a_function_of_the_user_panics_in_a_launch_too() {
    let report: Report = Launch::new(1, 1).run(of_the_user);
    assert!(
        report
            .to_string()
            .contains("`of_the_user` can only be called on the GPU"),
        "{report}"
    );
}

#[test]
fn what_needs_no_launch_works_without() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let mut word = 5u32;
    let word = &raw mut word;
    thread::grid_fence();
    thread::device_fence();
    thread::system_fence();
    assert_eq!(thread::warp_size(), 32);
    misc::profiler_counter(7);
    // SAFETY: the word is this thread's.
    unsafe {
        intrinsics::membar_block();
        intrinsics::fence_acqrel_device();
        mid::system_thread_fence(Ordering::Relaxed);
        assert_eq!(mid::atomic_fetch_max_u32_device(word, Ordering::SeqCst, 9), 5);
        assert_eq!(intrinsics::atomic_fetch_cas_relaxed_u32_block(word, 9, 1), 9);
        assert_eq!(intrinsics::atomic_load_volatile_32_system(word), 1);
    }
    cuda_std::println!("to standard output");
    DONE.store(true, Ordering::Relaxed);
    cuda_std::assert_eq!(DONE.load(Ordering::Relaxed), true);
}
