//! TMA loads and stores: results against plain copies, and faults without order.

use cuda_sim::device::{sync_threads, thread_idx};
use cuda_sim::tensor_map::{TensorElement, TensorSwizzle};
use cuda_sim::{GlobalBuffer, Launch, Report, Schedule};
use cuda_views::bulk_copy::{commit, load_2d, proxy_fence, store_2d, wait as wait_for_stores};
use cuda_views::mbarrier::{arrive_expect_tx, fence_init, init, wait};

use crate::common::{assert_finds, kinds, map, shared};

/// Rows and columns of the matrix, and the elements from row to row.
const ROWS: u64 = 11;
const COLUMNS: u64 = 80;
const LD: u64 = 88;
const BOX: [u32; 2] = [64, 8];
const BOX_BYTES: u32 = 2 * BOX[0] * BOX[1];

/// Element `offset` of a box in shared memory.
fn place(swizzle: TensorSwizzle, offset: u32) -> usize {
    swizzle.place(0, 2 * offset as usize) / 2
}

/// Copies a matrix box by box through shared memory, whose elements `body` may change; returns it, its padding
/// included.
fn run(swizzle: TensorSwizzle, body: impl Fn(cuda_views::Shared<u16>) + Sync) -> (Report, Vec<u16>) {
    let elements: Vec<u16> = (0..ROWS * LD).map(|i| i as u16).collect();
    let from = GlobalBuffer::matrix(&elements, ROWS as usize, COLUMNS as usize, LD as usize);
    let to = GlobalBuffer::from_slice(&vec![9999_u16; (ROWS * LD) as usize]);
    let map = |buffer: &GlobalBuffer<u16>| map(buffer, TensorElement::F16, [COLUMNS, ROWS, LD], BOX, swizzle);
    let (from_map, to_map) = (map(&from), map(&to));
    let launch = Launch::new((2, 2), 32)
        .dynamic_shared_bytes(1024 + BOX_BYTES)
        .schedule(Schedule::All);
    let report = launch.run(|| {
        let (full, tile) = (shared::<u64>(0, 1), shared::<u16>(1024, (BOX_BYTES / 2) as usize));
        let [x, y, _] = cuda_sim::device::block_idx();
        let at = [(x * BOX[0]) as i32, (y * BOX[1]) as i32];
        let thread = thread_idx()[0];
        if thread == 0 {
            init(full, 0, 1);
            fence_init();
            arrive_expect_tx(full, 0, BOX_BYTES);
            // SAFETY: the box fits the tile; readers wait.
            unsafe { load_2d(tile, 0, &from_map, at, (full, 0)) };
        }
        // The barrier is there.
        sync_threads();
        wait(full, 0, 0);
        if thread == 0 {
            for offset in 0..BOX[0] * BOX[1] {
                let (row, column) = (at[1] as u32 + offset / BOX[0], at[0] as u32 + offset % BOX[0]);
                let inside = u64::from(row) < ROWS && u64::from(column) < COLUMNS;
                let expected = if inside {
                    (u64::from(row) * LD + u64::from(column)) as u16
                } else {
                    0
                };
                // SAFETY: inside the tile.
                assert_eq!(unsafe { tile.get(place(swizzle, offset)) }, expected, "{row}, {column}");
            }
            body(tile);
            // SAFETY: the box fits the tile, which no thread writes before the wait.
            unsafe { store_2d(&to_map, at, tile, 0) };
            commit();
            wait_for_stores(0, false);
        }
    });
    (report, to.to_vec())
}

#[test]
fn ragged_boxes_go_there_and_back() {
    for swizzle in [TensorSwizzle::None, TensorSwizzle::Bytes128] {
        let (report, found) = run(swizzle, |_| ());
        report.assert_clean();
        for (i, found) in found.into_iter().enumerate() {
            let inside = i as u64 % LD < COLUMNS;
            assert_eq!(found, if inside { i as u16 } else { 9999 }, "{swizzle:?}: {i}");
        }
    }
}

#[test]
fn boxes_that_begin_before_the_matrix_have_zeros_there() {
    let matrix = GlobalBuffer::from_slice(&(1..=64_u16).collect::<Vec<_>>());
    let map = map(&matrix, TensorElement::Bf16, [8, 8, 8], [16, 4], TensorSwizzle::None);
    let report = Launch::new(1, 1).dynamic_shared_bytes(256).run(|| {
        let (full, tile) = (shared::<u64>(128, 1), shared::<u16>(0, 64));
        init(full, 0, 1);
        fence_init();
        arrive_expect_tx(full, 0, 128);
        // SAFETY: the box fits.
        unsafe { load_2d(tile, 0, &map, [-8, -2], (full, 0)) };
        wait(full, 0, 0);
        for i in 0..64 {
            let (row, column) = (i / 16 - 2, i % 16 - 8);
            let inside = row >= 0 && (0..8).contains(&column);
            let expected = if inside { (8 * row + column + 1) as u16 } else { 0 };
            // SAFETY: inside the tile.
            assert_eq!(unsafe { tile.get(i as usize) }, expected, "{row}, {column}");
        }
    });
    report.assert_clean();
}

#[test]
fn what_is_written_before_a_store_needs_the_fence_of_the_writer() {
    let (report, _) = run(TensorSwizzle::None, |tile| {
        // SAFETY: inside the tile.
        unsafe { tile.set(5, 1) };
    });
    assert_finds(&report, "MissingProxyFence", "byte 1024 of shared memory");
    let (report, found) = run(TensorSwizzle::None, |tile| {
        // SAFETY: inside the tile.
        unsafe { tile.set(5, 1) };
        proxy_fence();
    });
    report.assert_clean();
    assert_eq!(found[5], 1);
    // A fence before the write is none.
    let (report, _) = run(TensorSwizzle::None, |tile| {
        proxy_fence();
        // SAFETY: inside the tile.
        unsafe { tile.set(5, 1) };
    });
    assert_eq!(kinds(&report), ["MissingProxyFence"]);
}

/// One thread fills a row and stores it, then does `after`, given the tile, and the stored row.
fn store(after: impl Fn(cuda_views::Shared<f32>, *mut f32) + Sync) -> Report {
    let row = GlobalBuffer::<f32>::zeroed(32);
    let map = map(&row, TensorElement::F32, [32, 1, 32], [32, 1], TensorSwizzle::None);
    Launch::new(1, 1).dynamic_shared_bytes(128).run(|| {
        let tile = shared::<f32>(0, 32);
        // SAFETY: inside.
        unsafe {
            (0..32).for_each(|i| tile.set(i, i as f32));
            proxy_fence();
            store_2d(&map, [0, 0], tile, 0);
        }
        after(tile, row.as_mut_ptr());
    })
}

#[test]
fn a_store_reads_until_it_is_waited_for() {
    // SAFETY: inside both; that the copy is under way is the fault where there is one.
    let write = |tile: cuda_views::Shared<f32>| unsafe { tile.set(0, 1.0) };
    // SAFETY: as above.
    let read = |row: *mut f32| unsafe { _ = cuda_views::Global::new(row.cast_const(), 32).get(0) };
    let reads_too = store(|tile, _| {
        // SAFETY: inside; reads do not disturb each other.
        unsafe { tile.get(0) };
        commit();
        wait_for_stores(0, true);
    });
    reads_too.assert_clean();
    let at_exit = "ExitDuringCopy";
    assert_eq!(kinds(&store(|_, _| ())), [at_exit]);
    assert_eq!(kinds(&store(|_, _| wait_for_stores(0, true))), [at_exit]);
    assert_eq!(kinds(&store(|tile, _| write(tile))), ["SharedRace", at_exit]);
    assert_eq!(kinds(&store(|_, row| read(row))), ["GlobalRace", at_exit]);
    let uncommitted = store(|tile, _| {
        wait_for_stores(0, false);
        write(tile);
    });
    assert_eq!(kinds(&uncommitted), ["SharedRace", at_exit]);
    let one_too_few = store(|tile, _| {
        commit();
        wait_for_stores(1, false);
        write(tile);
    });
    assert_eq!(kinds(&one_too_few), ["SharedRace", at_exit]);
    let only_reads = store(|tile, row| {
        commit();
        wait_for_stores(0, true);
        write(tile);
        read(row);
    });
    assert_eq!(kinds(&only_reads), ["GlobalRace"]);
    let waited = store(|tile, row| {
        commit();
        wait_for_stores(0, true);
        write(tile);
        wait_for_stores(0, false);
        read(row);
    });
    waited.assert_clean();
}

#[test]
fn a_store_reads_its_whole_box_also_outside_the_matrix() {
    // One row of 32 elements, and boxes of two: none of the elements, half a row, one row of the two.
    for at in [[0, 1], [0, -2], [32, 0], [-16, 0], [0, 0]] {
        let run = |is_filled: bool, element: Option<usize>| {
            let row = GlobalBuffer::<f32>::zeroed(32);
            let map = map(&row, TensorElement::F32, [32, 1, 32], [32, 2], TensorSwizzle::None);
            Launch::new(1, 1).dynamic_shared_bytes(256).run(|| {
                let tile = shared::<f32>(0, 64);
                let write = |i: usize| {
                    // SAFETY: inside; that the store is under way is the fault, where it is.
                    unsafe { tile.set(i, 1.0) };
                };
                if is_filled {
                    (0..64).for_each(write);
                    proxy_fence();
                }
                // SAFETY: the box fits the tile.
                unsafe { store_2d(&map, at, tile, 0) };
                commit();
                element.into_iter().for_each(write);
                wait_for_stores(0, false);
                (0..64).for_each(write);
            })
        };
        for element in [0, 31, 32, 63] {
            assert_eq!(kinds(&run(true, Some(element))), ["SharedRace"], "{at:?}, {element}");
        }
        run(true, None).assert_clean();
        // What is discarded needs no contents.
        let is_outside = at[1] != 0 || at[0] == 32;
        let expected: &[&str] = if is_outside { &[] } else { &["UninitializedRead"] };
        assert_eq!(kinds(&run(false, None)), expected, "{at:?}");
    }
}

#[test]
fn a_barrier_of_the_block_waits_for_no_store() {
    let report = store(|tile, row| {
        sync_threads();
        // SAFETY: inside; that the copy is under way is the fault.
        unsafe {
            tile.set(0, 1.0);
            cuda_views::Global::new(row.cast_const(), 32).get(0);
        }
    });
    assert_eq!(kinds(&report), ["SharedRace", "GlobalRace", "ExitDuringCopy"]);
}

#[test]
fn misplaced_boxes_are_refused() {
    let refused = |offset: usize, swizzle: TensorSwizzle| {
        let matrix = GlobalBuffer::from_slice(&[1.0_f32; 256]);
        let map = map(&matrix, TensorElement::F32, [32, 8, 32], [32, 8], swizzle);
        Launch::new(1, 1).dynamic_shared_bytes(4096).run(|| {
            let (full, tile) = (shared::<u64>(0, 1), shared::<f32>(offset, 256));
            init(full, 0, 1);
            fence_init();
            arrive_expect_tx(full, 0, 1024);
            // SAFETY: none; that is the fault.
            unsafe { load_2d(tile, 0, &map, [0, 0], (full, 0)) };
            wait(full, 0, 0);
        })
    };
    assert_eq!(kinds(&refused(1024 + 16, TensorSwizzle::None)), ["Misaligned"]);
    assert_eq!(kinds(&refused(1024 + 16, TensorSwizzle::Bytes128)), ["Misaligned"]);
    refused(1024 + 128, TensorSwizzle::Bytes128).assert_clean();
    refused(1024 + 128, TensorSwizzle::None).assert_clean();
    assert_eq!(
        kinds(&refused(4096 - 512, TensorSwizzle::None)),
        ["DynamicSharedTooSmall"]
    );
    // On top of its own barrier.
    let on_top = refused(0, TensorSwizzle::None);
    assert_finds(&on_top, "Mbarrier", "an ordinary write to its 8 bytes");
}

#[test]
fn a_box_begins_at_a_multiple_of_16_bytes() {
    let loaded = |column: i32| {
        let matrix = GlobalBuffer::from_slice(&[1.0_f32; 256]);
        let map = map(&matrix, TensorElement::F32, [32, 8, 32], [8, 4], TensorSwizzle::None);
        Launch::new(1, 1).dynamic_shared_bytes(1024).run(|| {
            let (full, tile) = (shared::<u64>(0, 1), shared::<f32>(128, 32));
            init(full, 0, 1);
            fence_init();
            arrive_expect_tx(full, 0, 128);
            // SAFETY: the box fits the tile; where it begins may be the fault.
            unsafe { load_2d(tile, 0, &map, [column, 3], (full, 0)) };
            wait(full, 0, 0);
        })
    };
    for column in [-4, 0, 20, 32] {
        loaded(column).assert_clean();
    }
    for column in [-1, 7, 30] {
        assert_eq!(kinds(&loaded(column)), ["BulkCopy"], "{column}");
    }
}

#[test]
fn a_store_to_rows_of_no_whole_16_bytes_is_a_fault() {
    let stored = |columns: u64| {
        let matrix = GlobalBuffer::from_slice(&[1.0_f32; 256]);
        let map = map(
            &matrix,
            TensorElement::F32,
            [columns, 8, 32],
            [32, 8],
            TensorSwizzle::None,
        );
        Launch::new(1, 1).dynamic_shared_bytes(1024).run(|| {
            let tile = shared::<f32>(0, 256);
            for i in 0..256 {
                // SAFETY: inside.
                unsafe { tile.set(i, 2.0) };
            }
            proxy_fence();
            // SAFETY: the box fits the tile, which no thread writes before the wait.
            unsafe { store_2d(&map, [0, 0], tile, 0) };
            commit();
            wait_for_stores(0, false);
        })
    };
    stored(28).assert_clean();
    assert_eq!(kinds(&stored(29)), ["BulkCopy"]);
}
