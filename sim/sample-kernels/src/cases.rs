//! A launch of each kernel, over several blocks and with a length that is no multiple of the block, and the result that
//! plain loops on the CPU expect.

use crate::case::{Argument, Buffer, Case, Data};
use crate::{
    histogram, last_block, padding, reduction, reverse, row_sums, scan, stencil, stencil_pipelined, transpose,
};

/// Every kernel's launch.
pub fn all() -> Vec<Case> {
    vec![
        reduce("reduce_tree"),
        reduce("reduce_warp"),
        reduce("reduce_shuffle"),
        transposed("transpose_tile", 70, 50),
        transposed("transpose_padded", 70, 50),
        scan_inclusive(),
        histogram(),
        reverse_static(),
        reverse_dynamic(),
        stencil(),
        stencil_pipelined(),
        padded("pad_4_bytes", 1),
        padded("pad_8_bytes", 2),
        padded("pad_16_bytes", 4),
        reduce_last_block(),
        row_sums(),
    ]
}

/// The launch of one kernel.
pub fn of(kernel: &str) -> Option<Case> {
    all().into_iter().find(|case| case.kernel == kernel)
}

/// `len` small integers, below `bound`, in no order.
fn integers(len: usize, bound: u32) -> Vec<u32> {
    // A linear congruential generator (Knuth's MMIX constants): the upper bits are as random as these tests need.
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(bound)) as u32
    };
    (0..len).map(|_| next()).collect()
}

/// Integers from 1 to 16: every sum of some thousands of them is exact in `f32`, and none is 0, so that no element can
/// be left out unseen.
fn floats(len: usize) -> Vec<f32> {
    integers(len, 16).into_iter().map(|x| x as f32 + 1.0).collect()
}

/// Blocks that cover `len` elements.
fn blocks(len: usize, threads: usize) -> u32 {
    len.div_ceil(threads) as u32
}

fn case(kernel: &'static str, grid: u32, block: usize, arguments: Vec<Argument>) -> Case {
    Case {
        kernel,
        grid: [grid, 1, 1],
        block: [block as u32, 1, 1],
        cluster: 1,
        dynamic_shared_bytes: 0,
        fields: 0,
        arguments,
    }
}

fn reduce(kernel: &'static str) -> Case {
    let input = floats(1000);
    let sums = input.chunks(reduction::THREADS).map(|chunk| chunk.iter().sum());
    let sums = Data::F32(sums.collect());
    let arguments = vec![
        Buffer::input(Data::F32(input)).into(),
        Buffer::output(sums).into(),
        1000.into(),
    ];
    case(kernel, blocks(1000, reduction::THREADS), reduction::THREADS, arguments)
}

/// A transpose, `transpose_tile` or `transpose_padded`, of a matrix of this shape.
pub fn transposed(kernel: &'static str, rows: usize, columns: usize) -> Case {
    let input: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
    let output = (0..columns).flat_map(|column| (0..rows).map(move |row| (row * columns + column) as f32));
    let output = Data::F32(output.collect());
    Case {
        kernel,
        grid: [blocks(columns, transpose::WIDTH), blocks(rows, transpose::WIDTH), 1],
        block: [transpose::WIDTH as u32, transpose::ROWS as u32, 1],
        cluster: 1,
        dynamic_shared_bytes: 0,
        fields: 0,
        arguments: vec![
            Buffer::input(Data::F32(input)).into(),
            Buffer::output(output).into(),
            (rows as u32).into(),
            (columns as u32).into(),
        ],
    }
}

fn scan_inclusive() -> Case {
    let input = integers(600, 1000);
    let sums = input.chunks(scan::THREADS).flat_map(|chunk| {
        chunk.iter().scan(0, |sum, x| {
            *sum += x;
            Some(*sum)
        })
    });
    let output = Data::U32(sums.collect());
    let arguments = vec![
        Buffer::input(Data::U32(input)).into(),
        Buffer::output(output).into(),
        600.into(),
    ];
    case("scan_inclusive", blocks(600, scan::THREADS), scan::THREADS, arguments)
}

fn histogram() -> Case {
    let values = integers(2000, histogram::BINS as u32);
    // The counts go on from what is there.
    let before: Vec<u32> = (0..histogram::BINS as u32).collect();
    let mut after = before.clone();
    for &value in &values {
        after[value as usize] += 1;
    }
    let arguments = vec![
        Buffer::input(Data::U32(values)).into(),
        Buffer::updated(Data::U32(before), Data::U32(after)).into(),
        2000.into(),
    ];
    case("histogram", 3, histogram::THREADS, arguments)
}

fn reversed(len: usize) -> Buffer {
    let before: Vec<u32> = (0..len as u32).map(|i| 7 * i + 3).collect();
    let after = before.iter().rev().copied().collect();
    Buffer::updated(Data::U32(before), Data::U32(after))
}

fn reverse_static() -> Case {
    let data = reversed(reverse::ELEMENTS);
    case("reverse_static", 1, reverse::ELEMENTS, vec![data.into()])
}

fn reverse_dynamic() -> Case {
    Case {
        cluster: 1,
        dynamic_shared_bytes: 4 * 200,
        ..case("reverse_dynamic", 1, 200, vec![reversed(200).into(), 200.into()])
    }
}

fn sums_of_three(kernel: &'static str, len: usize, grid: u32, block: usize) -> Case {
    let input = floats(len);
    let at = |i: usize| input.get(i).copied().unwrap_or(0.0);
    let output = (0..len).map(|i| if i > 0 { at(i - 1) } else { 0.0 } + at(i) + at(i + 1));
    let output = Data::F32(output.collect());
    let arguments = vec![
        Buffer::input(Data::F32(input)).into(),
        Buffer::output(output).into(),
        (len as u32).into(),
    ];
    case(kernel, grid, block, arguments)
}

fn stencil() -> Case {
    sums_of_three("stencil", 300, blocks(300, stencil::THREADS), stencil::THREADS)
}

fn stencil_pipelined() -> Case {
    // Eleven tiles for two blocks: each stage is used twice. The last one is ragged, within a vector.
    let len = 10 * stencil_pipelined::WIDTH + 37;
    sums_of_three("stencil_pipelined", len, 2, stencil_pipelined::THREADS)
}

/// Sequences of which the last copy that reads at all reads each possible number of elements, and one that is empty.
fn padded(kernel: &'static str, elements: usize) -> Case {
    let pitch = elements * padding::THREADS;
    let lens: Vec<u32> = (0..=4).map(|missing| (pitch - missing) as u32).chain([0, 7]).collect();
    let input: Vec<u32> = (1..=(lens.len() * pitch) as u32).collect();
    let output = input.iter().enumerate().map(|(i, &element)| {
        let is_valid = i % pitch < lens[i / pitch] as usize;
        if is_valid { element } else { 0 }
    });
    let output = Data::U32(output.collect());
    let grid = lens.len() as u32;
    let arguments = vec![
        Buffer::input(Data::U32(input)).into(),
        Buffer::input(Data::U32(lens)).into(),
        Buffer::output(output).into(),
    ];
    case(kernel, grid, padding::THREADS, arguments)
}

fn reduce_last_block() -> Case {
    let input = floats(900);
    let grid = blocks(900, last_block::THREADS);
    let total = input.iter().sum();
    let partial = input.chunks(last_block::THREADS).map(|chunk| chunk.iter().sum());
    let partial = Data::F32(partial.collect());
    let arguments = vec![
        Buffer::input(Data::F32(input)).into(),
        Buffer::output(partial).into(),
        Buffer::updated(Data::U32(vec![0]), Data::U32(vec![grid])).into(),
        Buffer::output(Data::F32(vec![total])).into(),
        900.into(),
    ];
    case("reduce_last_block", grid, last_block::THREADS, arguments)
}

fn row_sums() -> Case {
    let (rows, columns) = (40, 52);
    let input = floats(rows * columns);
    let sums = Data::F32(input.chunks(columns).map(|row| row.iter().sum()).collect());
    let arguments = vec![
        Buffer::input(Data::F32(input)).into(),
        Buffer::output(sums).into(),
        (rows as u32).into(),
        (columns as u32).into(),
    ];
    case("row_sums", blocks(rows, row_sums::WIDTH), row_sums::THREADS, arguments)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cuda_sim::device::kernel_functions;

    use super::all;
    use crate::case::Data;

    #[test]
    fn every_case_has_something_to_check() {
        for case in all() {
            assert!(
                case.buffers().any(|(_, buffer)| buffer.after.is_some()),
                "{}",
                case.kernel
            );
        }
    }

    #[test]
    fn every_kernel_registers_itself_and_has_a_case() {
        let cases: BTreeSet<_> = all().iter().map(|case| case.kernel).collect();
        let of_crate = kernel_functions()
            .iter()
            .filter(|kernel| kernel.path.starts_with("sample_kernels::"));
        assert_eq!(of_crate.map(|kernel| kernel.name).collect::<BTreeSet<_>>(), cases);
    }

    #[test]
    fn sums_are_exact() {
        for case in all() {
            for (_, buffer) in case.buffers() {
                for data in [&buffer.before, &buffer.after] {
                    if let Some(Data::F32(data)) = data {
                        assert!(data.iter().all(|x| x.fract() == 0.0 && x.abs() < 16_777_216.0));
                    }
                }
            }
        }
    }
}
