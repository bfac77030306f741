//! The kernels on the CPU: launched under the simulator, checked for faults, compared. Needs no GPU.

use cuda_sim::device::find_kernel;
use cuda_sim::{GlobalBuffer, Launch, Schedule};
use kernels::{STATIC_BLOCK, reverse_dynamic, reverse_static};

#[test]
fn static_shared_memory() {
    let data = GlobalBuffer::from_slice(&input());
    // SAFETY: a length and a block as the kernel asks for.
    let report = launch(STATIC_BLOCK).run(|| unsafe { reverse_static(data.as_mut_ptr(), 1000) });
    report.assert_clean();
    assert_eq!(data.to_vec(), reversed(STATIC_BLOCK));
}

#[test]
fn dynamic_shared_memory() {
    let data = GlobalBuffer::from_slice(&input());
    let launch = launch(256).dynamic_shared_bytes(256 * 4);
    // SAFETY: a length, a block and shared memory as the kernel asks for.
    let report = launch.run(|| unsafe { reverse_dynamic(data.as_mut_ptr(), 1000) });
    report.assert_clean();
    assert_eq!(data.to_vec(), reversed(256));
    assert_eq!(report.shared.high_water_bytes, 1024);
}

#[test]
fn kernels_are_found_by_their_names() {
    type Reverse = unsafe fn(*mut u32, u32);
    let kernel = find_kernel::<Reverse>("reverse_static").expect("a kernel of this name and type");
    let data = GlobalBuffer::from_slice(&input());
    // SAFETY: a length and a block as the kernel asks for.
    let report = launch(STATIC_BLOCK).run(|| unsafe { kernel(data.as_mut_ptr(), 1000) });
    report.assert_clean();
    assert_eq!(data.to_vec(), reversed(STATIC_BLOCK));
    assert!(find_kernel::<unsafe fn(u32)>("reverse_static").is_none());
    assert!(find_kernel::<Reverse>("reverse").is_none());
}

/// As many blocks as 1000 elements need, the threads in every order that the simulator has.
fn launch(threads: u32) -> Launch {
    Launch::new(1000_u32.div_ceil(threads), threads).schedule(Schedule::All)
}

fn input() -> Vec<u32> {
    (0..1000).collect()
}

fn reversed(piece: u32) -> Vec<u32> {
    input()
        .chunks(piece as usize)
        .flat_map(|piece| piece.iter().rev().copied())
        .collect()
}
