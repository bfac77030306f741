//! `io`: printing, and assertions that hold and that fail.

use cuda_std::prelude::*;
use cuda_std::{assert_eq, assert_ne, io, print, println};

/// Prints from the last of the launch's threads.
#[kernel]
// The published macro cannot read a `c""` literal.
#[allow(clippy::manual_c_str_literals)]
pub unsafe fn prints(number: u32) {
    if thread::index() + 1 == thread::block_dim_x() * thread::grid_dim_x() {
        print!("{} of ", number);
        println!("{:>4}% {:?}", 100, ["a", "b%d"]);
        println!();
        println!("done");
        let value = -5i32;
        io::vprintf(b"by hand: %d\n\0".as_ptr(), &value as *const i32 as *const _);
    }
}

/// Prints a number in three forms. Formatting one takes more stack than most.
#[kernel]
pub unsafe fn prints_number(number: f64) {
    println!("{} {:.2} {:e}", number, number, number);
}

/// Checks that `data` holds pairs of equal numbers, and `limit` nowhere: fails the launch if not.
#[kernel]
pub unsafe fn asserts(data: &[u32], limit: u32, out: *mut u32) {
    let i = 2 * thread::index_1d() as usize;
    assert_eq!(data[i], data[i + 1]);
    assert_ne!(data[i], limit);
    *out.add(i / 2) = 1;
}

/// Panics if `index` is out of bounds: fails the launch.
#[kernel]
pub unsafe fn panics(data: &[u32], index: u32, out: *mut u32) {
    *out = data[index as usize];
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data, Outcome};

    let pairs = || Argument::Slice(Data::U32(vec![1, 1, 2, 2, 3, 3]));
    let outcome = |outcome, case: Case| Case { outcome, ..case };
    let printed = "7 of  100% [\"a\", \"b%d\"]\n\ndone\nby hand: -5\n";
    vec![
        outcome(
            Outcome::Prints(printed),
            Case::new(entry!(prints(_)), 2, 3, vec![Argument::u32(7)]),
        ),
        Case {
            outcome: Outcome::Prints("0.1 0.10 1e-1\n"),
            stack_bytes: 4096,
            ..Case::new(
                entry!(prints_number(_)),
                1,
                1,
                vec![Argument::Value(0.1f64.to_ne_bytes().to_vec())],
            )
        },
        Case::new(
            entry!(asserts(_, _, _)),
            1,
            3,
            vec![pairs(), Argument::u32(4), Argument::out_u32([1, 1, 1])],
        ),
        Case::new(
            entry!(panics(_, _, _)),
            1,
            1,
            vec![pairs(), Argument::u32(4), Argument::out_u32([3])],
        ),
        outcome(
            Outcome::Failure,
            Case::new(
                entry!(asserts(_, _, _)),
                1,
                3,
                vec![pairs(), Argument::u32(2), Argument::out_u32([0, 0, 0])],
            ),
        ),
        outcome(
            Outcome::Failure,
            Case::new(
                entry!(panics(_, _, _)),
                1,
                1,
                vec![pairs(), Argument::u32(6), Argument::out_u32([0])],
            ),
        ),
    ]
}
