//! TMA loads and stores of single matrices of a batch, with tensor maps of rank 3.

use cuda_sim::access::{AccessKind, Instruction, Space};
use cuda_sim::device::block_idx;
use cuda_sim::tensor_map::{TensorElement, TensorMapWords, TensorSwizzle};
use cuda_sim::{GlobalBuffer, Launch, Report, Schedule};
use cuda_views::bulk_copy::{self, commit, load_2d, load_3d, load_3d_multicast, proxy_fence, store_2d, store_3d};
use cuda_views::mbarrier::{arrive_expect_tx, fence_init, init, wait};
use cuda_views::{Global, GlobalMut, Shared, cluster};

use crate::common::{assert_finds, kinds, map, map_of_batch, shared};

const COUNT: u64 = 3;
const ROWS: u64 = 11;
const COLUMNS: u64 = 80;
const LD: u64 = 88;
const BOX: [u32; 2] = [64, 8];
const TILE: usize = (BOX[0] * BOX[1]) as usize;
const BOX_BYTES: u32 = 2 * TILE as u32;
/// Bytes of dynamic shared memory: a barrier, and a box.
const BYTES: u32 = 1024 + BOX_BYTES;
/// Elements from row to row, and from matrix to matrix: one matrix after the other without a gap, with one, and with
/// interleaved rows.
const LAYOUTS: [[u64; 2]; 3] = [[LD, ROWS * LD], [LD, ROWS * LD + 24], [COUNT * LD + 8, LD]];
const CLOSE: [u64; 2] = LAYOUTS[0];

/// What is in a batch before it is stored to.
const OLD: u16 = 9999;

fn batch([ld, distance]: [u64; 2], element: impl Fn(u64) -> u16) -> GlobalBuffer<u16> {
    let len = ROWS * ld + (COUNT - 1) * distance;
    GlobalBuffer::from_slice(&(0..len).map(element).collect::<Vec<_>>())
}

fn map_of(batch: &GlobalBuffer<u16>, [ld, distance]: [u64; 2], swizzle: TensorSwizzle) -> TensorMapWords {
    let of_each = [COLUMNS, ROWS, ld];
    map_of_batch(batch, TensorElement::F16, of_each, [COUNT, distance], BOX, swizzle)
}

/// The index in a batch of an element, or `None` outside its matrix.
fn index([ld, distance]: [u64; 2], [x, y, plane]: [i32; 3]) -> Option<u64> {
    let inside = |at: i32, extent: u64| u64::try_from(at).ok().filter(|&at| at < extent);
    Some(inside(plane, COUNT)? * distance + inside(y, ROWS)? * ld + inside(x, COLUMNS)?)
}

/// Initializes a barrier, which expects a box's bytes.
fn expect_box() -> (Shared<u64>, Shared<u16>) {
    let (full, tile) = (shared(0, 1), shared(1024, TILE));
    init(full, 0, 1);
    fence_init();
    arrive_expect_tx(full, 0, BOX_BYTES);
    (full, tile)
}

/// Loads the box at `at`, and waits for it.
fn load(map: &TensorMapWords, at: [i32; 3]) -> Shared<u16> {
    let (full, tile) = expect_box();
    // SAFETY: the box fits the tile, and the thread waits for it.
    unsafe { load_3d(tile, 0, map, at, (full, 0)) };
    wait(full, 0, 0);
    tile
}

/// Stores the tile to `at`, and waits for it.
fn store(map: &TensorMapWords, at: [i32; 3], tile: Shared<u16>) {
    // SAFETY: the box fits the tile, which no thread writes before the wait.
    unsafe { store_3d(map, at, tile, 0) };
    commit();
    bulk_copy::wait(0, false);
}

/// Checks the tile of the box at `at` of a batch whose elements are one more than their indices.
fn check(tile: Shared<u16>, layout: [u64; 2], [x, y, plane]: [i32; 3], swizzle: TensorSwizzle) {
    for offset in 0..BOX[0] * BOX[1] {
        let at = [x + (offset % BOX[0]) as i32, y + (offset / BOX[0]) as i32, plane];
        let expected = index(layout, at).map_or(0, |index| index as u16 + 1);
        // SAFETY: inside the tile.
        let found = unsafe { tile.get(swizzle.place(0, 2 * offset as usize) / 2) };
        assert_eq!(found, expected, "{at:?} of {layout:?}, {swizzle:?}");
    }
}

fn one_thread(kernel: impl Fn() + Sync) -> Report {
    Launch::new(1, 1).dynamic_shared_bytes(BYTES).run(kernel)
}

#[test]
fn each_plane_goes_there_and_back_with_zeros_at_its_own_edges() {
    for layout in LAYOUTS {
        for swizzle in [TensorSwizzle::None, TensorSwizzle::Bytes128] {
            let (from, to) = (batch(layout, |i| i as u16 + 1), batch(layout, |_| OLD));
            let [from_map, to_map] = [&from, &to].map(|batch| map_of(batch, layout, swizzle));
            let launch = Launch::new((2, 2, COUNT as u32), 1).dynamic_shared_bytes(BYTES);
            let report = launch.schedule(Schedule::All).run(|| {
                let [x, y, plane] = block_idx();
                let at = [(x * BOX[0]) as i32, (y * BOX[1]) as i32, plane as i32];
                let tile = load(&from_map, at);
                check(tile, layout, at, swizzle);
                store(&to_map, at, tile);
            });
            report.assert_clean();
            let mut expected = vec![OLD; to.len()];
            for (plane, y) in (0..COUNT).flat_map(|plane| (0..ROWS).map(move |y| (plane, y))) {
                for x in 0..COLUMNS {
                    let index = index(layout, [x, y, plane].map(|at| at as i32)).expect("inside");
                    expected[index as usize] = index as u16 + 1;
                }
            }
            assert_eq!(to.to_vec(), expected, "{layout:?}, {swizzle:?}");
        }
    }
}

#[test]
fn a_box_that_begins_before_its_plane_has_zeros_there() {
    let from = batch(CLOSE, |i| i as u16 + 1);
    let map = map_of(&from, CLOSE, TensorSwizzle::None);
    // The row before the first of plane 1 is the last of plane 0.
    let at = [-8, -2, 1];
    one_thread(|| check(load(&map, at), CLOSE, at, TensorSwizzle::None)).assert_clean();
}

#[test]
fn planes_outside_the_batch_are_zeros_and_are_not_stored() {
    for plane in [-1, COUNT as i32, i32::MIN, i32::MAX] {
        let batch = batch(CLOSE, |i| i as u16 + 1);
        let map = map_of(&batch, CLOSE, TensorSwizzle::None);
        let report = Launch::new(1, 1)
            .dynamic_shared_bytes(BYTES)
            .schedule(Schedule::Forward)
            .run(|| {
                let tile = load(&map, [0, 0, plane]);
                check(tile, CLOSE, [0, 0, plane], TensorSwizzle::None);
                store(&map, [0, 0, plane], tile);
            });
        report.assert_clean();
        assert!((1..).zip(batch.to_vec()).all(|(i, found)| found == i), "{plane}");
        // Its bytes arrive nevertheless.
        let bytes = |space, access| {
            let of = |kind: &cuda_sim::TrafficKind| {
                (kind.instruction, kind.space, kind.access) == (Instruction::BulkCopy, space, access)
            };
            let lines = report.lines.iter().filter(|line| of(&line.kind));
            lines.map(|line| line.bytes).sum::<u64>()
        };
        assert_eq!(bytes(Space::Global, AccessKind::Read), 0);
        assert_eq!(bytes(Space::Shared, AccessKind::Write), BOX_BYTES.into());
        assert_eq!(bytes(Space::Shared, AccessKind::Read), 0);
        assert_eq!(bytes(Space::Global, AccessKind::Write), 0);
    }
}

#[test]
fn a_multicast_of_a_plane_goes_to_all_blocks() {
    let from = batch(CLOSE, |i| i as u16 + 1);
    let map = map_of(&from, CLOSE, TensorSwizzle::Bytes128);
    // The last box of plane 1.
    let at = [64, 8, 1];
    let launch = Launch::new(2, 1).cluster(2).dynamic_shared_bytes(BYTES);
    let report = launch.schedule(Schedule::All).run(|| {
        let (full, tile) = expect_box();
        cluster::arrive();
        cluster::wait();
        if cluster::rank() == 0 {
            // SAFETY: the box fits the tile of each block, which waits for it.
            unsafe { load_3d_multicast(tile, 0, &map, at, (full, 0), 0b11) };
        }
        wait(full, 0, 0);
        check(tile, CLOSE, at, TensorSwizzle::Bytes128);
    });
    report.assert_clean();
}

#[test]
fn an_instruction_and_its_map_have_one_rank() {
    let matrices = batch(CLOSE, |_| 0);
    let flat = map(
        &matrices,
        TensorElement::F16,
        [COLUMNS, ROWS, LD],
        BOX,
        TensorSwizzle::None,
    );
    let of_batch = map_of(&matrices, CLOSE, TensorSwizzle::None);
    let (of_rank_2, of_rank_3) = (
        "2 coordinates, and a tensor map of rank 3",
        "3 coordinates, and a tensor map of rank 2",
    );
    let load_flat = one_thread(|| {
        let (full, tile) = expect_box();
        // SAFETY: the box fits the tile; that the map has another rank is the fault.
        unsafe { load_2d(tile, 0, &of_batch, [0, 0], (full, 0)) };
    });
    assert_finds(&load_flat, "BulkCopy", of_rank_2);
    let store_flat = one_thread(|| {
        let (_, tile) = expect_box();
        // SAFETY: as above.
        unsafe { store_2d(&of_batch, [0, 0], tile, 0) };
    });
    assert_finds(&store_flat, "BulkCopy", of_rank_2);
    assert_finds(&one_thread(|| _ = load(&flat, [0; 3])), "BulkCopy", of_rank_3);
    assert_finds(
        &one_thread(|| store(&flat, [0; 3], expect_box().1)),
        "BulkCopy",
        of_rank_3,
    );
    let multicast = Launch::new(2, 1).cluster(2).dynamic_shared_bytes(BYTES).run(|| {
        let (full, tile) = expect_box();
        // SAFETY: as above.
        unsafe { load_3d_multicast(tile, 0, &flat, [0; 3], (full, 0), 0b11) };
    });
    assert_finds(&multicast, "BulkCopy", of_rank_3);
}

#[test]
fn only_accesses_to_the_same_plane_race() {
    let stored = |plane: i32, at: [i32; 3]| {
        let to = batch(CLOSE, |_| OLD);
        let map = map_of(&to, CLOSE, TensorSwizzle::None);
        one_thread(|| {
            let tile = expect_box().1;
            for i in 0..TILE {
                // SAFETY: inside the tile.
                unsafe { tile.set(i, 0) };
            }
            proxy_fence();
            // SAFETY: the box fits the tile; the element is in the batch. That it is read too early is the fault.
            unsafe {
                store_3d(&map, [0, 0, plane], tile, 0);
                let read = index(CLOSE, at).expect("inside") as usize;
                Global::new(to.as_ptr(), to.len()).get(read);
            }
            commit();
            bulk_copy::wait(0, false);
        })
    };
    assert_eq!(kinds(&stored(1, [63, 7, 1])), ["GlobalRace"]);
    stored(1, [64, 7, 1]).assert_clean();
    stored(1, [0, 10, 0]).assert_clean();
    stored(1, [0, 0, 2]).assert_clean();
    let loaded = |plane: i32, at: [i32; 3]| {
        let from = batch(CLOSE, |_| OLD);
        let map = map_of(&from, CLOSE, TensorSwizzle::None);
        one_thread(|| {
            let (full, tile) = expect_box();
            // SAFETY: the box fits the tile; the element is in the batch. That it is written too early is the fault.
            unsafe {
                load_3d(tile, 0, &map, [0, 0, plane], (full, 0));
                let written = index(CLOSE, at).expect("inside") as usize;
                GlobalMut::new(from.as_mut_ptr(), from.len()).set(written, 0);
            }
            wait(full, 0, 0);
        })
    };
    assert_eq!(kinds(&loaded(2, [0, 0, 2])), ["GlobalRace"]);
    loaded(2, [0, 0, 1]).assert_clean();
}

#[test]
fn a_store_to_a_plane_needs_the_fence_of_the_writer() {
    let to = batch(CLOSE, |_| OLD);
    let map = map_of(&to, CLOSE, TensorSwizzle::None);
    let report = one_thread(|| {
        let tile = expect_box().1;
        for i in 0..TILE {
            // SAFETY: inside the tile.
            unsafe { tile.set(i, 0) };
        }
        store(&map, [0, 0, 1], tile);
    });
    assert_finds(&report, "MissingProxyFence", "byte 1024 of shared memory");
}

#[test]
fn planes_that_are_not_in_the_buffer_or_in_its_padding_are_out_of_bounds() {
    let loads = |matrix: &GlobalBuffer<u16>, columns: u64, [count, distance]: [u64; 2], plane: i32| {
        let of_each = [columns, ROWS, LD];
        let swizzle = TensorSwizzle::None;
        let map = map_of_batch(matrix, TensorElement::F16, of_each, [count, distance], BOX, swizzle);
        one_thread(|| _ = load(&map, [64, 0, plane]))
    };
    let elements = vec![1; (COUNT * ROWS * LD) as usize];
    let padded = GlobalBuffer::matrix(&elements, (COUNT * ROWS) as usize, COLUMNS as usize, LD as usize);
    let close = [COUNT, ROWS * LD];
    loads(&padded, COLUMNS, close, 2).assert_clean();
    assert_finds(&loads(&padded, LD, close, 2), "OutOfBounds", "in the padding");
    assert_eq!(kinds(&loads(&padded, COLUMNS, [4, ROWS * LD], 3)), ["OutOfBounds"]);
    // Past the last address.
    let far = [1 << 32, (1 << 39) - 8];
    assert_eq!(kinds(&loads(&padded, COLUMNS, far, i32::MAX)), ["OutOfBounds"]);
}

#[test]
fn a_map_with_another_address_keeps_its_planes() {
    let (first, second) = (batch(CLOSE, |_| OLD), batch(CLOSE, |i| i as u16 + 1));
    let words = map_of(&first, CLOSE, TensorSwizzle::None);
    let changed = GlobalBuffer::from_slice(&words);
    let report = one_thread(|| {
        let map: *mut TensorMapWords = changed.as_mut_ptr().cast();
        // SAFETY: the buffer has a map's words, and no copy uses it yet.
        unsafe { bulk_copy::tensormap_replace_address(map, second.as_ptr().expose_provenance() as u64) };
        bulk_copy::tensormap_release();
        bulk_copy::tensormap_acquire(map);
        // SAFETY: as above; nothing changes it any more.
        let tile = load(unsafe { &*map }, [0, 8, 2]);
        check(tile, CLOSE, [0, 8, 2], TensorSwizzle::None);
    });
    report.assert_clean();
}
