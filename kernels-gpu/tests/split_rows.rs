//! The split of f32 into three bf16 in the simulator: what the parts add up to, and where they are.

use std::ptr::{null, null_mut};

use cuda_sim::{Checks, GlobalBuffer, Launch, Schedule};
use half::bf16;
use kernels_gpu::gemm::split_rows::split_rows_f32;
use tilewright_contract::{CopyRows, padded_ld};

/// Splits `matrices` matrices of these rows with `gap` elements after each, from an address `skipped` elements past a
/// multiple of 256 bytes; the parts of each element.
fn split(elements: &[f32], copy: CopyRows, skipped: usize, schedule: Schedule) -> Vec<[bf16; 3]> {
    let from = GlobalBuffer::from_slice(elements);
    let matrices = copy.matrices as usize;
    let to = GlobalBuffer::<u16>::uninit(3 * matrices * copy.to_elems());
    let report = Launch::new((copy.blocks(), copy.matrices), CopyRows::THREADS)
        .schedule(schedule)
        .checks(Checks::Full)
        // SAFETY: the buffers are what the copy says.
        .run(|| unsafe {
            let (from, to) = (from.as_ptr().wrapping_add(skipped), to.as_mut_ptr());
            split_rows_f32(from, to, copy, null(), null_mut(), CopyRows::NONE);
        });
    report.assert_clean();
    let parts: Vec<_> = to.to_vec().into_iter().map(bf16::from_bits).collect();
    let part = |matrix: usize, part: usize, at: usize| parts[(3 * matrix + part) * copy.to_elems() + at];
    (0..matrices * copy.to_elems())
        .map(|at| (at / copy.to_elems(), at % copy.to_elems()))
        .map(|(matrix, at)| [0, 1, 2].map(|i| part(matrix, i, at)))
        .collect()
}

/// One row of these.
fn parts_of(elements: &[f32]) -> Vec<[bf16; 3]> {
    let columns = elements.len() as u32;
    split(elements, copy(1, columns, 0, 1), 0, Schedule::Forward)
}

fn copy(rows: u32, columns: u32, gap: u32, matrices: u32) -> CopyRows {
    CopyRows {
        from_stride: u64::from(rows * (columns + gap)),
        rows,
        columns,
        from_ld: columns + gap,
        to_ld: padded_ld(columns as usize, 2) as u32,
        matrices,
    }
}

/// An element with all 24 bits of its significand, of this exponent.
fn element(at: usize, exponent: i32) -> f32 {
    let fraction = (at as u32).wrapping_mul(0x9e37_79b9) >> 9;
    let sign = if at.is_multiple_of(3) { -1.0 } else { 1.0 };
    sign * (1.0 + fraction as f32 * (-23.0_f32).exp2()) * (exponent as f32).exp2()
}

fn sum(parts: [bf16; 3]) -> f64 {
    parts.iter().map(|part| part.to_f64()).sum()
}

#[test]
fn the_parts_of_an_element_add_up_to_it() {
    let elements: Vec<f32> = (0..4000).map(|at| element(at, at as i32 % 230 - 108)).collect();
    for (&element, parts) in elements.iter().zip(parts_of(&elements)) {
        assert_eq!(sum(parts), f64::from(element), "{element:e}: {parts:?}");
        let [first, second, third] = parts.map(|part| part.to_f64().abs());
        assert!(
            second <= first * (-8.0_f64).exp2() && third <= second * (-8.0_f64).exp2(),
            "{parts:?}"
        );
    }
}

#[test]
fn the_ends_of_the_range() {
    let largest = f32::from_bits(0x7f7f_ffff);
    let elements = [
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        largest,
        -largest,
        0.0,
        -0.0,
        f32::MIN_POSITIVE,
    ];
    let parts = parts_of(&elements);
    assert_eq!(parts[0], [bf16::INFINITY, bf16::ZERO, bf16::ZERO]);
    assert_eq!(parts[1], [bf16::NEG_INFINITY, bf16::ZERO, bf16::ZERO]);
    assert!(parts[2][0].is_nan() && parts[2][1..] == [bf16::ZERO; 2]);
    for at in [3, 4] {
        assert!(parts[at].iter().all(|part| part.is_finite()), "{:?}", parts[at]);
        assert_eq!(sum(parts[at]), f64::from(elements[at]));
    }
    assert!(parts[5..7].iter().all(|&parts| sum(parts) == 0.0));
    assert_eq!(sum(parts[7]), f64::from(f32::MIN_POSITIVE));
    // What is left of the smallest is less than the smallest bf16.
    let tiny: Vec<f32> = (1..200).map(f32::from_bits).collect();
    for (&tiny, parts) in tiny.iter().zip(parts_of(&tiny)) {
        assert!(
            (sum(parts) - f64::from(tiny)).abs() <= (-134.0_f64).exp2(),
            "{tiny:e}: {parts:?}"
        );
    }
}

#[test]
fn rows_end_and_begin_anywhere() {
    for columns in [1, 7, 8, 9, 16, 31, 64, 65, 131] {
        for (gap, skipped, matrices) in [(0, 0, 1), (1, 0, 2), (4, 4, 1), (3, 1, 3)] {
            let copy = copy(5, columns, gap, matrices);
            let elements: Vec<f32> = (0..skipped + copy.from_stride as usize * matrices as usize)
                .map(|at| element(at, 0))
                .collect();
            let parts = split(&elements, copy, skipped, Schedule::All);
            for (at, parts) in parts.into_iter().enumerate() {
                let (matrix, at) = (at / copy.to_elems(), at % copy.to_elems());
                let (row, column) = (at / copy.to_ld as usize, at % copy.to_ld as usize);
                let from = skipped + matrix * copy.from_stride as usize + row * copy.from_ld as usize + column;
                let expected = if column < columns as usize {
                    f64::from(elements[from])
                } else {
                    0.0
                };
                assert_eq!(
                    sum(parts),
                    expected,
                    "{copy:?}: matrix {matrix}, row {row}, column {column}"
                );
            }
        }
    }
}
