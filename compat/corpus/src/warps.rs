//! The functions of a warp that the published crate's later development has: votes, matches, reductions, shuffles.

use crate::tally::Tally;
use core::sync::atomic::Ordering;
use cuda_std::atomic::mid;
use cuda_std::prelude::*;
use cuda_std::warp::{self, WarpReductionOp, WarpReductionOp::*};
use cuda_std::{bf16, shared_array};

/// All lanes of a warp.
const ALL: u32 = u32::MAX;

/// The lanes of the calling thread's warp that its block has threads for. Blocks of one dimension.
fn lanes_there() -> u32 {
    let before = thread::thread_idx_x() / 32 * 32;
    let lanes = (thread::block_dim_x() - before).min(32);
    ALL >> (32 - lanes)
}

/// The words that [`lane_masks`] writes for each thread.
pub const MASK_WORDS: usize = 6;

/// Writes the masks of lanes relative to the calling one, and whether those that are active include it and nobody who
/// does not exist.
#[kernel]
pub unsafe fn lane_masks(out: *mut u32) {
    let active = warp::activemask();
    let words: [u32; MASK_WORDS] = [
        warp::lanemask_eq(),
        warp::lanemask_le(),
        warp::lanemask_lt(),
        warp::lanemask_ge(),
        warp::lanemask_gt(),
        (active & warp::lanemask_eq() != 0 && active & !lanes_there() == 0) as u32,
    ];
    for (i, word) in words.iter().enumerate() {
        *out.add(thread::index_1d() as usize * MASK_WORDS + i) = *word;
    }
}

/// Writes the three votes on "is not 0" among all lanes of the warp, one number for the three: the ballot, and one more
/// digit each for "all" and "any". Then the same among the lanes of the calling thread's parity, which vote in a branch
/// of their own.
#[kernel]
pub unsafe fn votes(predicates: &[u32], out: *mut u64) {
    let i = thread::index_1d() as usize;
    let predicate = predicates[i] != 0;
    let vote = |mask| {
        let (all, any) = (
            warp::warp_vote_all(mask, predicate),
            warp::warp_vote_any(mask, predicate),
        );
        u64::from(warp::warp_vote_ballot(mask, predicate)) | u64::from(all) << 32 | u64::from(any) << 33
    };
    *out.add(2 * i) = vote(lanes_there());
    *out.add(2 * i + 1) = if i.is_multiple_of(2) {
        vote(lanes_there() & 0x5555_5555)
    } else {
        vote(lanes_there() & 0xaaaa_aaaa)
    };
}

/// The words that [`matches()`] writes for each thread.
pub const MATCH_WORDS: usize = 8;

/// Writes the lanes with the same number and, where all have the same, all lanes, else 0: for each width, as integers
/// and as floating-point numbers, whose bits are compared.
#[kernel]
pub unsafe fn matches(narrow: &[u32], wide: &[u64], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let (narrow, wide, mask) = (narrow[i], wide[i], lanes_there());
    let words: [u32; MATCH_WORDS] = [
        warp::warp_match_any(mask, narrow),
        warp::warp_match_any(mask, f32::from_bits(narrow)),
        warp::warp_match_any(mask, wide as i64),
        warp::warp_match_any(mask, f64::from_bits(wide)),
        warp::warp_match_all(mask, narrow as i32).unwrap_or(0),
        warp::warp_match_all(mask, f32::from_bits(narrow)).unwrap_or(0),
        warp::warp_match_all(mask, wide).unwrap_or(0),
        warp::warp_match_all(mask, f64::from_bits(wide)).unwrap_or(0),
    ];
    for (k, word) in words.iter().enumerate() {
        *out.add(i * MATCH_WORDS + k) = *word;
    }
}

/// The operations of a reduction.
pub const REDUCTIONS: [WarpReductionOp; 6] = [Add, Min, Max, And, Or, Xor];

/// Writes, for each operation, the reduction of all lanes' numbers as unsigned and as signed integers, and the two
/// among the lanes of the calling thread's parity.
#[kernel]
pub unsafe fn reductions(numbers: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let number = numbers[i];
    let mut at = out.add(24 * i);
    let mut write = |word| {
        *at = word;
        at = at.add(1);
    };
    for op in REDUCTIONS {
        write(warp::warp_reduce(lanes_there(), number, op));
        write(warp::warp_reduce(lanes_there(), number as i32, op) as u32);
        if i.is_multiple_of(2) {
            write(warp::warp_reduce(lanes_there() & 0x5555_5555, number, op));
            write(warp::warp_reduce(lanes_there() & 0x5555_5555, number as i32, op) as u32);
        } else {
            write(warp::warp_reduce(lanes_there() & 0xaaaa_aaaa, number, op));
            write(warp::warp_reduce(lanes_there() & 0xaaaa_aaaa, number as i32, op) as u32);
        }
    }
}

/// The lanes that go on in [`after_exits`].
pub const STAYING: u32 = 20;

/// Meets in masks that name lanes which have exited: writes the ballot, the sum, and the matches of those that are
/// left. One warp.
#[kernel]
pub unsafe fn after_exits(out: *mut u32) {
    let lane = warp::lane_id();
    if lane >= STAYING {
        return;
    }
    let at = out.add(3 * lane as usize);
    *at = warp::warp_vote_ballot(ALL, true);
    *at.add(1) = warp::warp_reduce(ALL, lane, Add);
    *at.add(2) = warp::warp_match_any(ALL, lane / 8);
}

/// The operands that [`shuffles`] tries: the offset, index or bits, and the width.
pub const OPERANDS: [(u32, u32); 9] = [
    (0, 32),
    (1, 32),
    (5, 32),
    (31, 32),
    (33, 32),
    (3, 8),
    (9, 8),
    (16, 16),
    (1, 1),
];

/// Writes, for each pair of operands, what each of the four shuffles gives and whether its source was in range, as the
/// lowest bit. One warp.
#[kernel]
pub unsafe fn shuffles(numbers: &[u32], out: *mut u32) {
    let lane = warp::lane_id() as usize;
    let number = numbers[lane];
    let mut at = out.add(lane * OPERANDS.len() * 4);
    let mut write = |(number, in_range): (u32, bool)| {
        *at = number << 1 | in_range as u32;
        at = at.add(1);
    };
    for (operand, width) in OPERANDS {
        write(warp::warp_shuffle_idx(ALL, number, operand, width));
        write(warp::warp_shuffle_up(ALL, number, operand, width));
        write(warp::warp_shuffle_down(ALL, number, operand, width));
        write(warp::warp_shuffle_xor(ALL, number, operand, width));
    }
}

/// Shuffles a value of each type with the neighbour: writes how many came back wrong, 0, and how many were tried. One
/// warp.
#[kernel]
pub unsafe fn shuffle_types(out: *mut u32) {
    let lane = warp::lane_id();
    let mut tally = Tally::new();
    macro_rules! exchange {
        ($($value:expr;)*) => {$({
            let value = $value;
            tally.expect(warp::warp_shuffle_xor(ALL, value(lane), 1, 32) == (value(lane ^ 1), true));
        })*};
    }
    exchange! {
        |lane| lane as u8 + 200;
        |lane| lane as i8 - 100;
        |lane| lane as u16 * 2000;
        |lane| lane as i16 * 1000 - 16_000;
        |lane: u32| lane.wrapping_mul(0x9e37_79b9);
        |lane| lane as i32 - 16;
        |lane| u64::from(lane) * 0x0123_4567_89ab_cdef;
        |lane| i64::from(lane) - (1 << 40);
        |lane| u128::from(lane) << 96 | u128::from(lane) << 32 | 7;
        |lane| i128::from(lane) - (1 << 100);
        |lane| lane as f32 + 0.5;
        |lane| f64::from(lane) * 1e-300;
        |lane| f16::from_f32(lane as f32 / 4.0);
        |lane| bf16::from_f32(lane as f32 * 4.0);
    }
    tally.write(out.add(2 * lane as usize));
}

/// Block reduction: each warp reduces its numbers by shuffles, then the first warp the partial sums of the warps. One
/// CTA, of any size.
#[kernel]
pub unsafe fn block_sum(numbers: &[f32], out: *mut f32) {
    let of_warps = shared_array![f32; 32];
    let t = thread::thread_idx_x() as usize;
    let sum_of_warp = |mut number: f32| {
        for distance in [16, 8, 4, 2, 1] {
            number += warp::warp_shuffle_down(ALL, number, distance, 32).0;
        }
        number
    };
    let sum = sum_of_warp(numbers.get(t).copied().unwrap_or(0.0));
    if t.is_multiple_of(32) {
        *of_warps.add(t / 32) = sum;
    }
    thread::sync_threads();
    if t < 32 {
        let warps = thread::block_dim_x() as usize / 32;
        let sum = sum_of_warp(if t < warps { *of_warps.add(t) } else { 0.0 });
        if t == 0 {
            *out = sum;
        }
    }
}

/// Stream compaction: writes the numbers that are not 0 contiguously, with one addition to `count` for each warp. One
/// warp, so that their order stays the same.
#[kernel]
pub unsafe fn compact(numbers: &[u32], count: *mut u32, out: *mut u32) {
    let number = numbers[thread::index_1d() as usize];
    let kept = warp::warp_vote_ballot(ALL, number != 0);
    let leader = kept.trailing_zeros();
    let mut start = 0;
    if warp::lane_id() == leader {
        start = mid::atomic_fetch_add_u32_device(count, Ordering::Relaxed, kept.count_ones());
    }
    let (start, _) = warp::warp_shuffle_idx(ALL, start, leader, 32);
    if number != 0 {
        *out.add((start + (kept & warp::lanemask_lt()).count_ones()) as usize) = number;
    }
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data};

    // Warps as lists of thread numbers.
    let warps = |threads: usize| {
        let all: Vec<usize> = (0..threads).collect();
        all.chunks(32).map(<[usize]>::to_vec).collect::<Vec<_>>()
    };
    let mask = |lanes: &[usize]| lanes.iter().map(|t| 1u32 << (t % 32)).sum::<u32>();
    let same_parity =
        |warp: &[usize], t: usize| -> Vec<usize> { warp.iter().copied().filter(|u| u % 2 == t % 2).collect() };

    let mut cases = Vec::new();

    let mut words = Vec::new();
    for lane in (0..70).map(|t| t % 32) {
        let before = (1u64 << lane) - 1;
        let le = before | 1 << lane;
        words.extend([1 << lane, le as u32, before as u32, !before as u32, !le as u32, 1]);
    }
    cases.push(Case::new(entry!(lane_masks(_)), 1, 70, vec![Argument::out_u32(words)]));

    for predicates in [
        (0..64).map(|t| t % 3).collect::<Vec<u32>>(),
        vec![0; 40],
        vec![9; 33],
        (0..64).map(|t| t % 2 + (t / 32)).collect(),
    ] {
        let vote = |lanes: &[usize]| {
            let yes: Vec<usize> = lanes.iter().copied().filter(|&t| predicates[t] != 0).collect();
            u64::from(mask(&yes)) | u64::from(yes.len() == lanes.len()) << 32 | u64::from(!yes.is_empty()) << 33
        };
        let mut out = Vec::new();
        for warp in warps(predicates.len()) {
            for &t in &warp {
                out.extend([vote(&warp), vote(&same_parity(&warp, t))]);
            }
        }
        let threads = predicates.len() as u32;
        let arguments = vec![Argument::Slice(Data::U32(predicates)), Argument::out_u64(out)];
        cases.push(Case::new(entry!(votes(_, _)), 1, threads, arguments));
    }

    // The second warp has the same number everywhere, but for the case in which the last lane has not.
    for other in [7, 8] {
        // Bits of 0.0 and -0.0, and of two NaN, among others.
        let bits = [0, 1 << 31, 0x7fc0_0000, 0x7fc0_0001, 5];
        let mut narrow: Vec<u32> = (0..44).map(|t| if t < 32 { bits[t % 5] } else { 7 }).collect();
        narrow[43] = other;
        let wide: Vec<u64> = narrow.iter().map(|&n| u64::from(n) << 32).collect();
        let mut out = Vec::new();
        for warp in warps(narrow.len()) {
            for &t in &warp {
                let same: Vec<usize> = warp.iter().copied().filter(|&u| narrow[u] == narrow[t]).collect();
                let all = if same.len() == warp.len() { mask(&warp) } else { 0 };
                out.extend([mask(&same); 4].into_iter().chain([all; 4]));
            }
        }
        let arguments = vec![
            Argument::Slice(Data::U32(narrow)),
            Argument::Slice(Data::U64(wide)),
            Argument::out_u32(out),
        ];
        cases.push(Case::new(entry!(matches(_, _, _)), 1, 44, arguments));
    }

    let numbers: Vec<u32> = (0..75u32).map(|t| (t + 1).wrapping_mul(0x9e37_79b9) | 1 << 4).collect();
    let reduce = |lanes: &[usize], op| -> [u32; 2] {
        let numbers = || lanes.iter().map(|&t| numbers[t]);
        let combined = |unsigned: fn(u32, u32) -> u32| numbers().reduce(unsigned).unwrap_or_default();
        let signed =
            |signed: fn(i32, i32) -> i32| numbers().map(|n| n as i32).reduce(signed).unwrap_or_default() as u32;
        match op {
            Add => [combined(u32::wrapping_add); 2],
            Min => [combined(u32::min), signed(i32::min)],
            Max => [combined(u32::max), signed(i32::max)],
            And => [combined(|a, b| a & b); 2],
            Or => [combined(|a, b| a | b); 2],
            Xor => [combined(|a, b| a ^ b); 2],
        }
    };
    let mut out = Vec::new();
    for warp in warps(numbers.len()) {
        for &t in &warp {
            for op in REDUCTIONS {
                out.extend(reduce(&warp, op).into_iter().chain(reduce(&same_parity(&warp, t), op)));
            }
        }
    }
    let arguments = vec![Argument::Slice(Data::U32(numbers.clone())), Argument::out_u32(out)];
    cases.push(Case::new(entry!(reductions(_, _)), 1, 75, arguments));

    let staying: Vec<usize> = (0..STAYING as usize).collect();
    let sum: u32 = (0..STAYING).sum();
    let left = staying.iter().flat_map(|&t| {
        let same: Vec<usize> = staying.iter().copied().filter(|u| u / 8 == t / 8).collect();
        [mask(&staying), sum, mask(&same)]
    });
    cases.push(Case::new(entry!(after_exits(_)), 1, 32, vec![Argument::out_u32(left)]));

    let numbers: Vec<u32> = (0..32).map(|lane| lane * 3 + 100).collect();
    let mut out = Vec::new();
    for lane in 0..32u32 {
        for (operand, width) in OPERANDS {
            let (segment, offset) = (lane / width * width, operand % 32);
            let end = segment + width;
            let mut read = |source: Option<u32>| {
                out.push(numbers[source.unwrap_or(lane) as usize] << 1 | u32::from(source.is_some()));
            };
            read(Some(segment + offset % width));
            read(lane.checked_sub(offset).filter(|&source| source >= segment));
            read(Some(lane + offset).filter(|&source| source < end));
            read(Some(lane ^ offset).filter(|&source| source < end));
        }
    }
    let arguments = vec![Argument::Slice(Data::U32(numbers)), Argument::out_u32(out)];
    cases.push(Case::new(entry!(shuffles(_, _)), 1, 32, arguments));
    cases.push(Case::new(
        entry!(shuffle_types(_)),
        1,
        32,
        vec![Argument::out_u32([0, 14].repeat(32))],
    ));

    let numbers: Vec<f32> = (0..90).map(|i| i as f32 / 2.0).collect();
    let sum = numbers.iter().sum();
    let arguments = vec![Argument::Slice(Data::F32(numbers)), Argument::out_f32([sum], 0.0)];
    cases.push(Case::new(entry!(block_sum(_, _)), 1, 96, arguments));

    let numbers: Vec<u32> = (0..32).map(|i| i * i % 5).collect();
    let kept: Vec<u32> = numbers.iter().copied().filter(|&n| n != 0).collect();
    let arguments = vec![
        Argument::Slice(Data::U32(numbers)),
        Argument::out_u32([kept.len() as u32]),
        Argument::out_u32(kept),
    ];
    cases.push(Case::new(entry!(compact(_, _, _)), 1, 32, arguments));
    cases
}
