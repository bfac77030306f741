//! Warpgroup MMA: operands in shared memory that are read asynchronously, accumulators, registers.

use cuda_sim::Report;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};
use cuda_views::bulk_copy::proxy_fence;
use cuda_views::wgmma::{
    MmaAsync, OperandA, WgmmaElement, commit, fence, mma_async, set_max_registers, shared_address, wait,
};
use cuda_views::{GlobalMut, Shared};

use crate::pair::Suite::*;
use crate::pair::{Family, Twin, pair};

/// Elements of a stage: A of 64 rows and B of 8 columns, 16 along K.
const STAGE: usize = 64 * 16 + 8 * 16;
/// Bytes of two stages.
const BYTES: u32 = 2 * 2 * STAGE as u32;

/// Element `k` of row `row` of an operand without swizzle: core matrices of 8 rows of 8 elements.
fn place(row: usize, k: usize) -> usize {
    row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8
}

/// Bfloat16 1.0.
const ONE: u16 = 0x3f80;

/// Fills a stage with ones.
///
/// # Safety
/// As the [crate] says of kernels.
#[track_caller]
unsafe fn fill(stage: Shared<u16>, first: usize) {
    let t = thread::thread_idx_x() as usize;
    for i in (t..STAGE).step_by(128) {
        let (row, k) = (i / 16, i % 16);
        // SAFETY: the caller's promise; what views and atomics refuse is not executed.
        unsafe { stage.set(first + place(row, k), ONE) };
    }
}

/// The product of a stage's operands.
fn product(stage: Shared<u16>, first: usize, accumulate: bool) -> MmaAsync {
    let descriptor = |element: usize| {
        let start = u64::from(shared_address(stage, element as u32));
        start >> 4 | (128 >> 4) << 16 | (256 >> 4) << 32
    };
    MmaAsync {
        a: OperandA::Shared(descriptor(first)),
        b: descriptor(first + 64 * 16),
        columns: 8,
        elements: [WgmmaElement::Bf16; 2],
        a_is_mn_major: false,
        b_is_mn_major: false,
        accumulate,
    }
}

/// What a loop of products lacks.
#[derive(Clone, Copy, PartialEq)]
enum Lacks {
    Nothing,
    LastBarrier,
    Publication,
    Fence,
}

/// A warpgroup fills a stage and multiplies it, three times. Each thread stores its first sum.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn products(to: *mut u32, lacks: Lacks) {
    let t = thread::thread_idx_x() as usize;
    let mut sums = [0.0_f32; 4];
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let stages = Shared::new(dynamic_shared_mem::<u16>(), 2 * STAGE);
        for step in 0..3 {
            let first = step % 2 * STAGE;
            // expect: stage_refilled_during_wgmma SharedRace
            // against: wgmma_without_proxy_fence
            fill(stages, first);
            if lacks != Lacks::Publication {
                proxy_fence();
            }
            thread::sync_threads();
            if lacks != Lacks::Fence || step == 0 {
                fence();
            }
            // expect: wgmma_without_proxy_fence MissingProxyFence; wgmma_without_fence Warpgroup
            // against: stage_refilled_during_wgmma
            mma_async(product(stages, first, true), sums.as_mut_ptr());
            commit();
            // The stage before this one is read until here.
            wait(if lacks == Lacks::LastBarrier { 2 } else { 0 }, &mut sums);
            if lacks == Lacks::Fence {
                sums.iter_mut().for_each(|sum| *sum += 0.5);
                sums.iter_mut().for_each(|sum| *sum -= 0.25);
            }
            if lacks != Lacks::LastBarrier {
                thread::sync_threads();
            }
        }
        wait(0, &mut sums);
        GlobalMut::new(to, 128).set(t, sums[0] as u32);
    }
}

fn run(t: Twin, lacks: Lacks) -> Report {
    let lacks = if t.wrong { lacks } else { Lacks::Nothing };
    let launch = t.launch(1, 128).dynamic_shared_bytes(BYTES);
    // SAFETY: as the crate says of launches.
    t.map(launch, 0, |_, to| unsafe { products(to, lacks) }, [48; 128])
}

/// Registers are reallocated by a warpgroup, or by three of its warps.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn registers(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    if !wrong || t < 96 {
        set_max_registers(40); // expect: registers_of_three_warps Deadlock
    }
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 128).set(t, 1) };
}

pub const FAMILY: Family = Family {
    name: "warpgroups",
    source: include_str!("warpgroups.rs"),
    pairs: &[
        pair("stage_refilled_during_wgmma", Trackers, |t| run(t, Lacks::LastBarrier)),
        pair("wgmma_without_proxy_fence", Trackers, |t| run(t, Lacks::Publication)),
        pair("wgmma_without_fence", Trackers, |t| run(t, Lacks::Fence)),
        pair("registers_of_three_warps", Trackers, |t| {
            let launch = t.launch(1, 128);
            // SAFETY: as the crate says of launches.
            t.map(launch, 0, |_, to| unsafe { registers(to, t.wrong) }, [1; 128])
        }),
    ],
};
