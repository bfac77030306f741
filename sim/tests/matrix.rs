//! `ldmatrix` and `stmatrix`: distribution of elements, faults, traffic.

use std::array;

use cuda_sim::access::{AccessKind, Instruction};
use cuda_sim::device::{dynamic_shared_mem, sync_threads, sync_warp, thread_idx, warp_gather};
use cuda_sim::{Checks, FaultKind, GlobalBuffer, Launch, LineTraffic, Report, Schedule};
use cuda_views::{Global, GlobalMut, Shared, async_copy, matrix};

/// Elements of shared memory here: 32 rows of 64, of which matrices take the first 8 columns or any others.
const LEN: usize = 32 * PITCH;
const PITCH: usize = 64;

/// A view of all of shared memory.
fn tile() -> Shared<u16> {
    // SAFETY: the launches here give so many elements.
    unsafe { Shared::new(dynamic_shared_mem().cast(), LEN) }
}

fn launch(threads: u32) -> Launch {
    Launch::new(1, threads).dynamic_shared_bytes(2 * LEN as u32)
}

/// Element `i` of shared memory becomes `value(i)`; a lane each row.
#[track_caller]
fn fill(value: impl Fn(usize) -> u16) {
    let t = lane();
    for i in t * PITCH..(t + 1) * PITCH {
        // SAFETY: inside, and of this lane alone.
        unsafe { tile().set(i, value(i)) };
    }
}

fn lane() -> usize {
    thread_idx()[0] as usize
}

#[track_caller]
fn load<const N: usize>(index: usize, transposed: bool) -> [u32; N] {
    // SAFETY: inside and aligned, or a fault of the simulator's.
    unsafe { matrix::load::<u16, N>(tile(), index, transposed) }
}

#[track_caller]
fn store<const N: usize>(index: usize, elements: [u32; N], transposed: bool) {
    // SAFETY: as in `load`.
    unsafe { matrix::store::<u16, N>(tile(), index, elements, transposed) };
}

/// A matrix as its lanes hold it: 32 words, row by row, of the matrix itself or of its transpose.
fn words(matrix: [[u16; 8]; 8], transposed: bool) -> [u32; 32] {
    let at = |row: usize, column: usize| {
        let element = if transposed {
            matrix[column][row]
        } else {
            matrix[row][column]
        };
        u32::from(element)
    };
    array::from_fn(|word| {
        let (row, column) = (word / 4, word % 4 * 2);
        at(row, column) | at(row, column + 1) << 16
    })
}

/// Where row `row` of matrix `matrix` begins: scattered, in an order of its own.
fn scattered(matrix: usize, row: usize) -> usize {
    (8 * matrix + (3 * row + matrix) % 8) * PITCH + 8 * ((5 * row + matrix) % 8)
}

fn loads_by_definition<const N: usize>(transposed: bool, checks: Checks) {
    let results = GlobalBuffer::<u32>::uninit(32 * N);
    let report = launch(32).checks(checks).run(|| {
        fill(|i| i as u16);
        sync_warp(u32::MAX);
        let lane = lane();
        let elements = load::<N>(scattered(lane / 8, lane % 8), transposed);
        for (matrix, &pair) in elements.iter().enumerate() {
            // SAFETY: inside, and of this lane alone.
            unsafe { GlobalMut::new(results.as_mut_ptr(), 32 * N).set(32 * matrix + lane, pair) };
        }
    });
    report.assert_clean();
    for (matrix, found) in results.to_vec().chunks(32).enumerate() {
        let rows = array::from_fn(|row| array::from_fn(|column| (scattered(matrix, row) + column) as u16));
        assert_eq!(found, words(rows, transposed), "matrix {matrix} of {N}");
    }
}

#[test]
fn every_lane_gets_its_elements_of_every_matrix() {
    for checks in [Checks::Full, Checks::Off] {
        for transposed in [false, true] {
            loads_by_definition::<1>(transposed, checks);
            loads_by_definition::<2>(transposed, checks);
            loads_by_definition::<4>(transposed, checks);
        }
    }
}

fn stores_by_definition<const N: usize>(transposed: bool) {
    // By lane, the contents of its words.
    let element = |matrix: usize, word: usize, half: usize| (100 * matrix + 2 * word + half + 1) as u16;
    let result = GlobalBuffer::<u16>::uninit(LEN);
    let report = launch(32).run(|| {
        fill(|_| 0);
        sync_warp(u32::MAX);
        let lane = lane();
        let elements =
            array::from_fn(|matrix| u32::from(element(matrix, lane, 0)) | u32::from(element(matrix, lane, 1)) << 16);
        store::<N>(scattered(lane / 8, lane % 8), elements, transposed);
        sync_warp(u32::MAX);
        for i in lane * PITCH..(lane + 1) * PITCH {
            // SAFETY: inside both, and of this lane alone.
            unsafe { GlobalMut::new(result.as_mut_ptr(), LEN).set(i, tile().get(i)) };
        }
    });
    report.assert_clean();
    let mut expected = vec![0; LEN];
    for matrix in 0..N {
        for word in 0..32 {
            for half in 0..2 {
                let (row, column) = (word / 4, 2 * (word % 4) + half);
                let (row, column) = if transposed { (column, row) } else { (row, column) };
                expected[scattered(matrix, row) + column] = element(matrix, word, half);
            }
        }
    }
    assert_eq!(result.to_vec(), expected, "{N}, {transposed}");
}

#[test]
fn every_lane_stores_its_elements_of_every_matrix() {
    for transposed in [false, true] {
        stores_by_definition::<1>(transposed);
        stores_by_definition::<2>(transposed);
        stores_by_definition::<4>(transposed);
    }
}

#[test]
fn what_lanes_bring_is_seen_by_all() {
    Launch::new(2, 64)
        .run(|| {
            let t = lane() as u64;
            warp_gather([t, 2 * t, 3 * t], |words| {
                let first = t / 32 * 32;
                for (lane, &words) in (first..).zip(words) {
                    assert_eq!(words, [lane, 2 * lane, 3 * lane]);
                }
            });
        })
        .assert_clean();
}

/// The name of the only kind of fault, and its line in this file.
#[track_caller]
fn fault(report: &Report) -> (&'static str, u32) {
    let names = report.kinds();
    assert!(
        !names.is_empty() && names.iter().all(|name| *name == names[0]),
        "{report}"
    );
    let location = report.faults[0].location.as_ref().expect("a line");
    assert!(location.file.ends_with("matrix.rs"), "{location}");
    (names[0], location.line)
}

#[test]
fn a_warp_that_is_not_whole_waits_for_ever() {
    let row = |lane: usize| lane * PITCH;
    // A lane that goes elsewhere, and one that has ended.
    let report = launch(32).run(|| {
        fill(|_| 1);
        sync_warp(u32::MAX);
        if lane() != 7 {
            load::<4>(row(lane()), false);
        }
    });
    assert_eq!(fault(&report).0, "Deadlock");
    let FaultKind::Deadlock { waiting } = &report.faults[0].kind else {
        unreachable!()
    };
    assert!(
        waiting.starts_with("31 wait for lanes of their warp at ") && waiting.ends_with("1 have ended"),
        "{waiting}"
    );
    // A block that has no whole warp.
    let report = launch(16).run(|| {
        fill(|_| 1);
        load::<1>(0, false);
    });
    assert_eq!(fault(&report).0, "Deadlock");
    // Two places in the source, which a GPU would not take for one instruction.
    #[expect(clippy::if_same_then_else, reason = "that they are the same is the mistake")]
    let report = launch(32).run(|| {
        fill(|_| 1);
        sync_warp(u32::MAX);
        if lane() < 8 {
            load::<4>(row(lane()), false);
        } else {
            load::<4>(row(lane()), false);
        }
    });
    assert_eq!(fault(&report).0, "Deadlock");
}

#[test]
fn rows_are_inside_and_aligned_whatever_they_feed() {
    for feeding in [0, 7, 8, 31] {
        let only = |wrong: usize| move |lane: usize| if lane == feeding { wrong } else { lane * PITCH };
        for (wrong, kind) in [
            (LEN - 4, "OutOfBounds"),
            (LEN, "OutOfBounds"),
            (4, "Misaligned"),
            (1, "Misaligned"),
        ] {
            let index = only(wrong);
            let report = launch(32).run(|| {
                fill(|_| 1);
                sync_warp(u32::MAX);
                load::<1>(index(lane()), false);
            });
            assert_eq!(fault(&report).0, kind, "lane {feeding}");
            let report = launch(32).run(|| {
                fill(|_| 1);
                sync_warp(u32::MAX);
                store::<1>(index(lane()), [0], false);
            });
            assert_eq!(fault(&report).0, kind, "lane {feeding}");
        }
    }
    // A view that is longer than the block's memory.
    let report = Launch::new(1, 32).dynamic_shared_bytes(496).run(|| {
        // SAFETY: not so: the simulator sees it.
        let tile = unsafe { Shared::<u16>::new(dynamic_shared_mem().cast(), 256) };
        // SAFETY: the last row of it is not there.
        unsafe { matrix::store::<u16, 4>(tile, 8 * lane(), [0; 4], false) };
    });
    assert_eq!(fault(&report).0, "DynamicSharedTooSmall");
}

#[test]
fn unwritten_memory_is_not_loaded() {
    for transposed in [false, true] {
        let report = launch(32).run(|| {
            if lane() != 9 {
                fill(|_| 1);
            }
            sync_warp(u32::MAX);
            load::<4>(lane() * PITCH, transposed);
        });
        assert_eq!(fault(&report).0, "UninitializedRead");
        // Rows that feed no matrix are not loaded.
        let report = launch(32).run(|| {
            if lane() != 9 {
                fill(|_| 1);
            }
            sync_warp(u32::MAX);
            load::<1>(lane() * PITCH, transposed);
        });
        report.assert_clean();
    }
}

#[test]
fn the_instruction_orders_nothing() {
    // Each lane has written the row that it brings; others load it.
    for transposed in [false, true] {
        let report = launch(32).run(|| {
            fill(|_| 1);
            load::<4>(lane() * PITCH, transposed);
        });
        assert_eq!(fault(&report).0, "SharedRace");
        // And writes it again, which others may not have loaded.
        let report = launch(32).run(|| {
            fill(|_| 1);
            sync_warp(u32::MAX);
            load::<4>(lane() * PITCH, transposed);
            fill(|_| 2);
        });
        assert_eq!(fault(&report).0, "SharedRace");
        // Each lane loads the row that it has brought, which others have stored.
        let report = launch(32).run(|| {
            fill(|_| 0);
            sync_warp(u32::MAX);
            store::<4>(lane() * PITCH, [1; 4], transposed);
            // SAFETY: inside.
            let _ = unsafe { tile().get(lane() * PITCH) };
        });
        assert_eq!(fault(&report).0, "SharedRace");
        // Between the warps of a block.
        let report = launch(64).schedule(Schedule::Reverse).run(|| {
            if lane() < 32 {
                store::<4>(lane() * PITCH, [1; 4], transposed);
            }
            if lane() >= 32 {
                load::<4>((lane() - 32) * PITCH, transposed);
            }
        });
        assert!(
            report.faults.iter().any(|fault| fault.kind.name() == "SharedRace"),
            "{report}"
        );
        let report = launch(64).schedule(Schedule::All).run(|| {
            if lane() < 32 {
                store::<4>(lane() * PITCH, [1; 4], transposed);
            }
            sync_threads();
            if lane() >= 32 {
                load::<4>((lane() - 32) * PITCH, transposed);
            }
        });
        report.assert_clean();
    }
}

#[test]
fn a_copy_that_is_under_way_is_not_loaded() {
    let from = GlobalBuffer::from_slice(&array::from_fn::<u16, 256, _>(|i| i as u16));
    let run = |waits: bool, barrier: bool| {
        launch(32).run(|| {
            let lane = lane();
            // SAFETY: inside both and aligned.
            unsafe {
                let from = Global::new(from.as_ptr(), 256);
                async_copy::copy::<u16, 8>(tile(), lane * PITCH, from, || 8 * lane, 8);
            }
            async_copy::commit();
            if waits {
                async_copy::wait(0);
            }
            if barrier {
                sync_warp(u32::MAX);
            }
            load::<4>(lane * PITCH, false);
        })
    };
    run(true, true).assert_clean();
    assert_eq!(fault(&run(false, true)).0, "AsyncPending");
    assert_eq!(fault(&run(true, false)).0, "SharedRace");
}

/// The traffic of the loads and of the stores of matrices, where lane `8 i + r` brings the row at `index(8 i + r)`.
fn traffic<const N: usize>(index: fn(usize) -> usize) -> [LineTraffic; 2] {
    let report = launch(32).run(|| {
        store::<N>(index(lane()), [1; N], false);
        sync_warp(u32::MAX);
        load::<N>(index(lane()), false);
    });
    report.assert_clean();
    assert_eq!(report.lines.len(), 2, "{report}");
    [AccessKind::Read, AccessKind::Write].map(|kind| {
        let line = report.lines.iter().find(|line| line.kind.access == kind);
        let line = line.expect("a line of that kind").clone();
        assert_eq!(line.kind.instruction, Instruction::Matrix);
        assert_eq!(line.bytes, 16 * line.lanes);
        line
    })
}

#[test]
fn a_matrix_is_one_wavefront_where_its_rows_have_banks_of_their_own() {
    let counts = |line: &LineTraffic| (line.requests, line.lanes, line.actual, line.ideal);
    // Rows of 128 bytes, one above the other: all in the same four banks.
    for line in traffic::<4>(|lane| lane * PITCH) {
        assert_eq!(counts(&line), (1, 32, 32, 4), "{line:?}");
    }
    // The same rows, each chunk of 16 bytes at the place that its row says.
    for line in traffic::<4>(|lane| lane * PITCH + 8 * (lane % 8)) {
        assert_eq!(counts(&line), (1, 32, 4, 4), "{line:?}");
    }
    // Packed, and with two rows in each 128 bytes.
    for line in traffic::<4>(|lane| 8 * lane) {
        assert_eq!(counts(&line), (1, 32, 4, 4), "{line:?}");
    }
    for line in traffic::<4>(|lane| 32 * lane) {
        assert_eq!(counts(&line), (1, 32, 16, 4), "{line:?}");
    }
    // Fewer matrices: the other lanes take no part.
    for line in traffic::<2>(|lane| lane * PITCH) {
        assert_eq!(counts(&line), (1, 16, 16, 2), "{line:?}");
    }
    for line in traffic::<1>(|lane| 8 * lane) {
        assert_eq!(counts(&line), (1, 8, 1, 1), "{line:?}");
    }
}
