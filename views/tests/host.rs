//! Views in the simulator: what they move, what they refuse, and whom they blame.

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::device::{dynamic_shared_mem, thread_idx};
use cuda_sim::{FaultKind, GlobalBuffer, Launch, Report};
use cuda_views::{Global, GlobalMut, Shared};

/// Elements of the buffers here.
const LEN: usize = 64;

/// Runs `access` as the one thread of a launch, on a buffer of [`LEN`] numbers and on one that may be written.
fn run(access: impl Fn(Global<f32>, GlobalMut<f32>) + Sync) -> (Report, Vec<f32>) {
    let from = GlobalBuffer::from_slice(&std::array::from_fn::<f32, LEN, _>(|i| i as f32));
    let to = GlobalBuffer::zeroed(LEN);
    let report = Launch::new(1, 1).dynamic_shared_bytes(256).run(|| {
        // SAFETY: both buffers have so many elements.
        let (from, to) = unsafe { (Global::new(from.as_ptr(), LEN), GlobalMut::new(to.as_mut_ptr(), LEN)) };
        access(from, to);
    });
    (report, to.to_vec())
}

/// The line of the only fault, which is an access out of bounds or a misaligned one.
fn fault_of(report: &Report) -> (&'static str, u32) {
    let [fault] = &report.faults[..] else {
        panic!("{report}")
    };
    let location = fault.location.as_ref().expect("a view knows the line");
    assert!(location.file.ends_with("host.rs"), "{location}");
    (fault.kind.name(), location.line)
}

#[test]
fn elements_and_vectors_of_every_width_arrive() {
    let (report, to) = run(|from, to| {
        // SAFETY: inside the buffers, vectors at multiples of their bytes.
        unsafe {
            to.set(0, from.get(5));
            to.set_vec(2, from.get_vec::<2>(10));
            to.set_vec(4, from.get_vec::<4>(20));
            // Through shared memory and another element type: 2 x 8 bytes, and 4 x 8 as two pieces of 16.
            let tile = Shared::new(dynamic_shared_mem().cast::<f64>(), 4);
            tile.set_vec(0, [1.0, 2.0, 3.0, 4.0]);
            let [a, b, c, d] = tile.get_vec::<4>(0);
            let [e, f] = tile.get_vec::<2>(2);
            to.set_vec(8, [a as f32, b as f32, c as f32, d as f32]);
            to.set_vec(12, [e as f32, f as f32]);
            let read_only = Global::from(to);
            to.set(14, read_only.get(13) + 1.0);
        }
    });
    report.assert_clean();
    let expected = [
        5.0, 0.0, 10.0, 11.0, 20.0, 21.0, 22.0, 23.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0, 5.0,
    ];
    assert_eq!(to[..expected.len()], expected);
}

#[test]
fn a_struct_is_moved_in_pieces_of_its_alignment() {
    let points = GlobalBuffer::from_slice(&[[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let sum = GlobalBuffer::<f32>::uninit(1);
    let report = Launch::new(1, 1).run(|| {
        // SAFETY: two points, one sum.
        unsafe {
            let [x, y, z] = Global::new(points.as_ptr(), 2).get(1);
            GlobalMut::new(sum.as_mut_ptr(), 1).set(0, x + y + z);
        }
    });
    report.assert_clean();
    assert_eq!(sum.to_vec(), [15.0]);
    let loads = report.lines.iter().find(|line| line.kind.access == AccessKind::Read);
    assert_eq!(loads.map(|line| line.lanes), Some(3));
}

#[test]
fn a_part_ends_where_it_was_said_and_never_beyond_the_whole() {
    type Access = fn(Global<f32>, GlobalMut<f32>);
    // SAFETY: (all of them) the simulator does not let them happen.
    let cases: [Access; 8] = [
        |from, _| to_nothing(unsafe { from.get(LEN) }),
        |from, _| to_nothing(unsafe { from.part(8, 8).get(8) }),
        |from, _| to_nothing(unsafe { from.part(60, 8).get(4) }),
        |_, to| unsafe { to.part(8, 8).set(usize::MAX, 1.0) },
        |_, to| unsafe { to.part(8, 8).part(4, 100).set_vec(4, [1.0; 4]) },
        |from, _| to_nothing(unsafe { from.part(8, 6).get_vec::<4>(4) }),
        |from, _| to_nothing(unsafe { from.shifted(8).get(LEN - 8) }),
        |from, _| to_nothing(unsafe { from.part(8, 8).shifted(4).get(4) }),
    ];
    let first_line = line!() - 9;
    for (access, line) in cases.into_iter().zip(first_line..) {
        let (report, to) = run(access);
        assert_eq!(fault_of(&report), ("OutOfBounds", line));
        assert!(
            to.iter().all(|&element| element == 0.0),
            "line {line}: it was not written"
        );
    }
}

fn to_nothing<T>(_: T) {}

#[test]
fn a_shifted_view_is_the_same_memory_counted_from_elsewhere() {
    let (report, to) = run(|from, to| {
        // SAFETY: inside the buffers.
        unsafe {
            to.set(0, from.shifted(8).get(1));
            to.set(1, from.shifted(LEN + 8).get(0_usize.wrapping_sub(9)));
            to.shifted(0_usize.wrapping_sub(4))
                .set(6, from.part(8, 8).shifted(4).get(3));
        }
    });
    report.assert_clean();
    assert_eq!(to[..3], [9.0, 63.0, 15.0]);
}

#[test]
fn a_misaligned_vector_is_a_fault_also_where_the_element_is_not() {
    let (report, _) = run(|from, _| {
        // SAFETY: the simulator does not let it happen.
        to_nothing(unsafe { from.get_vec::<4>(2) })
    });
    assert_eq!(fault_of(&report).0, "Misaligned");
}

#[test]
fn an_unbounded_view_ends_with_its_buffer() {
    let (report, _) = run(|from, _| {
        // SAFETY: the first is inside the buffer; the second the simulator does not let happen.
        unsafe {
            let from = Global::new_unbounded(from.as_ptr());
            let _ = from.get(LEN - 1);
            let _ = from.get(LEN);
        }
    });
    let FaultKind::OutOfBounds {
        space: Space::Global, ..
    } = report.faults[0].kind
    else {
        panic!("{report}")
    };
}

#[test]
fn shared_memory_that_nobody_wrote_is_not_read() {
    let report = Launch::new(1, 32).dynamic_shared_bytes(256).run(|| {
        // SAFETY: inside the allocation.
        unsafe {
            let tile = Shared::new(dynamic_shared_mem().cast::<u32>(), LEN);
            let i = thread_idx()[0] as usize;
            tile.set(i, 1);
            let _ = tile.get(i + 32);
        }
    });
    assert_eq!(fault_of(&report).0, "UninitializedRead");
}
