//! The traffic of instructions that are executed as a whole: TMA, bulk copies, `wgmma`.

use cuda_sim::access::{AccessKind, Instruction, Space};
use cuda_sim::device::{block_idx, sync_threads, thread_idx};
use cuda_sim::tensor_map::{TensorElement, TensorSwizzle};
use cuda_sim::{GlobalBuffer, Launch, Report, Schedule};
use cuda_views::bulk_copy::{self, commit, load_2d, load_2d_multicast, proxy_fence, store_2d};
use cuda_views::wgmma::{self, MmaAsync, OperandA, WgmmaElement, shared_address};
use cuda_views::{Global, GlobalMut, cluster, mbarrier};

use crate::common::{map, shared};

/// Requests, bytes, units that were taken and that were needed.
type Counts = [u64; 4];

/// What the lines of one kind count together.
fn counts(report: &Report, instruction: Instruction, space: Space, access: AccessKind) -> Counts {
    let lines = report.lines.iter().filter(|line| {
        let kind = line.kind;
        (kind.instruction, kind.space, kind.access) == (instruction, space, access)
    });
    lines.fold([0; 4], |sum, line| {
        let next = [line.requests, line.bytes, line.actual, line.ideal];
        std::array::from_fn(|at| sum[at] + next[at])
    })
}

fn bulk(report: &Report, space: Space, access: AccessKind) -> Counts {
    counts(report, Instruction::BulkCopy, space, access)
}

fn forward(grid: impl Into<cuda_sim::Dim3>, threads: u32) -> Launch {
    Launch::new(grid, threads).schedule(Schedule::Forward)
}

#[test]
fn a_box_takes_the_sectors_of_each_row_inside_the_matrix() {
    // 11 rows of 160 bytes, 176 apart: every other one begins in the middle of a sector. Two boxes along a row: 128
    // bytes and the last 32. Two boxes along a column: 8 rows and the last 3.
    const ROWS: u64 = 11;
    let elements = vec![1_u16; 11 * 88];
    let (from, to) = (
        GlobalBuffer::matrix(&elements, 11, 80, 88),
        GlobalBuffer::<u16>::matrix_uninit(11, 80, 88),
    );
    assert!(from.as_ptr().addr().is_multiple_of(32) && to.as_ptr().addr().is_multiple_of(32));
    for swizzle in [TensorSwizzle::None, TensorSwizzle::Bytes128] {
        let [from, to] = [&from, &to].map(|of| map(of, TensorElement::F16, [80, ROWS, 88], [64, 8], swizzle));
        let report = forward((2, 2), 1).dynamic_shared_bytes(2048).run(|| {
            let (full, tile) = (shared::<u64>(0, 1), shared::<u16>(1024, 512));
            let [x, y, _] = block_idx();
            let at = [(x * 64) as i32, (y * 8) as i32];
            mbarrier::init(full, 0, 1);
            mbarrier::fence_init();
            mbarrier::arrive_expect_tx(full, 0, 1024);
            // SAFETY: the box fits the tile, and the thread waits for both.
            unsafe {
                load_2d(tile, 0, &from, at, (full, 0));
                mbarrier::wait(full, 0, 0);
                store_2d(&to, at, tile, 0);
            }
            commit();
            bulk_copy::wait(0, false);
        });
        report.assert_clean();
        // Of the even rows 4 and 1, of the odd ones 5 and 2.
        let sectors = 6 * (4 + 1) + 5 * (5 + 2);
        let inside = [4, ROWS * 160, sectors, ROWS * 5];
        assert_eq!(bulk(&report, Space::Global, AccessKind::Read), inside, "{report}");
        assert_eq!(bulk(&report, Space::Global, AccessKind::Write), inside, "{report}");
        // A load fills the whole box, with zeros where it leaves the matrix.
        let whole = [4, 4 * 1024, 4 * 8, 4 * 8];
        assert_eq!(bulk(&report, Space::Shared, AccessKind::Write), whole, "{report}");
        // A row of the box has 128 bytes, of which the last two boxes store 32.
        let rows = [4, ROWS * 160, 2 * ROWS, 8 + 3 + 2 + 1];
        assert_eq!(bulk(&report, Space::Shared, AccessKind::Read), rows, "{report}");
    }
}

#[test]
fn a_multicast_reads_once_and_writes_in_each_block() {
    let from = GlobalBuffer::from_slice(&[1_u16; 64 * 8]);
    let map = map(&from, TensorElement::F16, [64, 8, 64], [64, 8], TensorSwizzle::None);
    let report = forward(2, 1).cluster(2).dynamic_shared_bytes(2048).run(|| {
        let (full, tile) = (shared::<u64>(0, 1), shared::<u16>(1024, 512));
        mbarrier::init(full, 0, 1);
        mbarrier::fence_init();
        mbarrier::arrive_expect_tx(full, 0, 1024);
        cluster::arrive();
        cluster::wait();
        if cluster::rank() == 0 {
            // SAFETY: the box fits the tile of each block, which waits for it.
            unsafe { load_2d_multicast(tile, 0, &map, [0, 0], (full, 0), 3) };
        }
        mbarrier::wait(full, 0, 0);
        cluster::arrive();
        cluster::wait();
    });
    report.assert_clean();
    assert_eq!(
        bulk(&report, Space::Global, AccessKind::Read),
        [1, 1024, 32, 32],
        "{report}"
    );
    assert_eq!(
        bulk(&report, Space::Shared, AccessKind::Write),
        [2, 2048, 16, 16],
        "{report}"
    );
}

#[test]
fn plain_bytes_take_the_sectors_and_lines_that_they_touch() {
    let (from, to) = (GlobalBuffer::from_slice(&[1_u32; 64]), GlobalBuffer::<u32>::uninit(64));
    let report = forward(1, 1).dynamic_shared_bytes(1024).run(|| {
        let (full, tile) = (shared::<u64>(0, 1), shared::<u32>(128, 64));
        mbarrier::init(full, 0, 1);
        mbarrier::fence_init();
        mbarrier::arrive_expect_tx(full, 0, 48);
        // SAFETY: 12 elements of each, and the thread waits for both copies.
        unsafe {
            bulk_copy::load((tile, 28), (Global::new(from.as_ptr(), 64), 4), 12, (full, 0));
            mbarrier::wait(full, 0, 0);
            bulk_copy::store((GlobalMut::new(to.as_mut_ptr(), 64), 8), (tile, 28), 12);
        }
        commit();
        bulk_copy::wait(0, false);
    });
    report.assert_clean();
    // From byte 16 on, and to byte 32: two sectors, as many as are needed. Bytes 112 to 160 are in two lines.
    assert_eq!(bulk(&report, Space::Global, AccessKind::Read), [1, 48, 2, 2]);
    assert_eq!(bulk(&report, Space::Global, AccessKind::Write), [1, 48, 2, 2]);
    assert_eq!(bulk(&report, Space::Shared, AccessKind::Write), [1, 48, 2, 1]);
    assert_eq!(bulk(&report, Space::Shared, AccessKind::Read), [1, 48, 2, 1]);
}

/// The reads of one `wgmma` with 64 columns and operands of 64 rows of 16 elements, in descriptors of this mode,
/// leading and stride offset.
fn operands(mode: u64, leading: u64, stride: u64) -> Counts {
    const BYTES: usize = 16384;
    let report = forward(1, 128).dynamic_shared_bytes(2 * BYTES as u32).run(|| {
        let words = shared::<u32>(0, BYTES / 2);
        for word in (thread_idx()[0] as usize..BYTES / 2).step_by(128) {
            // SAFETY: inside; each by one thread.
            unsafe { words.set(word, 0) };
        }
        proxy_fence();
        sync_threads();
        let descriptor = |offset: usize| {
            let start = u64::from(shared_address(shared::<u8>(offset, 1), 0));
            start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62
        };
        let mma = MmaAsync {
            a: OperandA::Shared(descriptor(0)),
            b: descriptor(BYTES),
            columns: 64,
            elements: [WgmmaElement::Bf16; 2],
            a_is_mn_major: false,
            b_is_mn_major: false,
            accumulate: false,
        };
        let mut sums = [0.0_f32; 32];
        wgmma::fence();
        // SAFETY: 32 sums for 64 columns.
        unsafe { wgmma::mma_async(mma, sums.as_mut_ptr()) };
        wgmma::commit();
        wgmma::wait(0, &mut sums);
    });
    report.assert_clean();
    counts(&report, Instruction::Wgmma, Space::Shared, AccessKind::Read)
}

#[test]
fn operands_of_wgmma_are_read_once_and_the_swizzle_has_no_conflicts() {
    // 2 x 64 rows of 32 bytes: 32 core matrices, a wavefront each; four warps.
    let once = [4, 4096, 32, 32];
    // Without swizzle, and rows of 32, 64 and 128 bytes.
    assert_eq!(operands(0, 128, 256), once);
    assert_eq!(operands(3, 0, 256), once);
    assert_eq!(operands(2, 0, 512), once);
    assert_eq!(operands(1, 0, 1024), once);
}
