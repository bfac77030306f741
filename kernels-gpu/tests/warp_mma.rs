//! Warp-wide primitives in the simulator: what `mma` computes from its fragments, and whole products of one warp
//! through `ldmatrix`, `mma` and `stmatrix`.

use std::array;
use std::sync::Mutex;

use cuda_sim::access::Space;
use cuda_sim::device::{dynamic_shared_mem, sync_threads, thread_idx};
use cuda_sim::{GlobalBuffer, Launch, LineTraffic, Report, Schedule};
use cuda_views::{GlobalMut, Shared};
use half::{bf16, f16};
use kernels_gpu::block::element::Element;
use kernels_gpu::ptx::elect::elect;
use kernels_gpu::ptx::mma::{MmaElement, a_place, b_place, c_place, mma};
use kernels_gpu::ptx::{ldmatrix, named_barrier, stmatrix};

fn lane() -> u32 {
    thread_idx()[0] % 32
}

/// Small integers, of which every sum here is exact; different in every place.
fn element(row: usize, column: usize, salt: usize) -> f32 {
    ((7 * row + 5 * column + 3 * salt + row * column) % 13) as f32 - 6.0
}

fn bits<T: Element<Acc = f32>>(value: f32) -> u32 {
    let bytes = bytemuck::bytes_of(&T::narrow(value)).to_vec();
    u32::from(u16::from_ne_bytes([bytes[0], bytes[1]]))
}

/// Every element of a fragment has one place, and every place one element.
#[test]
fn fragments_cover_their_matrices_once() {
    let all = |places: &mut dyn Iterator<Item = (u32, u32)>, rows: u32, columns: u32| {
        let mut places: Vec<_> = places.collect();
        places.sort_unstable();
        let expected: Vec<_> = (0..rows)
            .flat_map(|row| (0..columns).map(move |column| (row, column)))
            .collect();
        assert_eq!(places, expected);
    };
    let lanes = || 0..32;
    let halves = |lane: u32, registers: u32| (0..2 * registers).map(move |i| (lane, i / 2, i % 2));
    all(
        &mut lanes()
            .flat_map(|lane| halves(lane, 4))
            .map(|(lane, register, which)| a_place(lane, register, which)),
        16,
        16,
    );
    all(
        &mut lanes()
            .flat_map(|lane| halves(lane, 2))
            .map(|(lane, register, which)| b_place(lane, register, which)),
        16,
        8,
    );
    all(
        &mut lanes().flat_map(|lane| (0..4).map(move |number| c_place(lane, number))),
        16,
        8,
    );
    // Some of the ISA's own formulas, element by element of lane 13: group 3, thread 1 of it.
    assert_eq!(
        [0, 1, 2, 3].map(|register| a_place(13, register, 0)),
        [(3, 2), (11, 2), (3, 10), (11, 10)]
    );
    assert_eq!([0, 1].map(|register| b_place(13, register, 1)), [(3, 3), (11, 3)]);
    assert_eq!(
        [0, 1, 2, 3].map(|number| c_place(13, number)),
        [(3, 2), (3, 3), (11, 2), (11, 3)]
    );
}

fn multiplies_by_definition<T: Element<Acc = f32> + MmaElement>() {
    let acc = Mutex::new([[f32::NAN; 8]; 16]);
    let report = Launch::new(1, 32).run(|| {
        let lane = lane();
        let pair = |place: &dyn Fn(u32) -> (u32, u32), salt: usize| {
            let element = |which| {
                let (row, column) = place(which);
                bits::<T>(element(row as usize, column as usize, salt))
            };
            element(0) | element(1) << 16
        };
        let a = array::from_fn(|register| pair(&|which| a_place(lane, register as u32, which), 0));
        let b = array::from_fn(|register| pair(&|which| b_place(lane, register as u32, which), 1));
        let mut c = array::from_fn(|number| {
            let (row, column) = c_place(lane, number as u32);
            element(row as usize, column as usize, 2)
        });
        // SAFETY: the whole warp is here.
        unsafe { mma::<T>(&mut c, a, b) };
        for (number, sum) in (0..).zip(c) {
            let (row, column) = c_place(lane, number);
            acc.lock().unwrap()[row as usize][column as usize] = sum;
        }
    });
    report.assert_clean();
    let expected: [[f32; 8]; 16] = array::from_fn(|row| {
        array::from_fn(|column| {
            let products = (0..16).map(|k| element(row, k, 0) * element(k, column, 1));
            element(row, column, 2) + products.sum::<f32>()
        })
    });
    assert_eq!(*acc.lock().unwrap(), expected);
}

#[test]
fn one_instruction_is_the_product_of_16_x_16_and_16_x_8() {
    multiplies_by_definition::<f16>();
    multiplies_by_definition::<bf16>();
}

/// Side of the product of one warp below.
const SIDE: usize = 32;

/// Where element (row, column) of a 32 x 32 matrix is: chunks of 8 elements at the place that the row says.
fn swizzled(row: u32, column: u32) -> u32 {
    row * SIDE as u32 + ((column / 8) ^ (row / 2 % 4)) * 8 + column % 8
}

fn plain(row: u32, column: u32) -> u32 {
    row * SIDE as u32 + column
}

/// A 32 x 32 x 32 product of one warp. In shared memory: A by rows, B by rows or, `along_k`, transposed, and behind
/// them what is stored of C.
fn product_of_a_warp<T: Element<Acc = f32> + MmaElement>(
    place: fn(u32, u32) -> u32,
    along_k: bool,
) -> (Report, Vec<T>) {
    let result = GlobalBuffer::<T>::uninit(SIDE * SIDE);
    let all = 3 * SIDE * SIDE;
    let report = Launch::new(1, 32).dynamic_shared_bytes(2 * all as u32).run(|| {
        // SAFETY: inside what the launch gives; rows that a warp loads are behind a barrier, and all lanes take the
        // same way.
        unsafe {
            let tile = Shared::<T>::new(dynamic_shared_mem().cast(), all);
            let part = |number: usize| tile.part(number * SIDE * SIDE, SIDE * SIDE);
            let (a_s, b_s, c_s) = (part(0), part(1), part(2));
            let lane = lane();
            for column in 0..SIDE as u32 {
                let (row, at) = (lane as usize, column as usize);
                a_s.set(place(lane, column) as usize, T::narrow(element(row, at, 0)));
                let b = if along_k {
                    element(at, row, 1)
                } else {
                    element(row, at, 1)
                };
                b_s.set(place(lane, column) as usize, T::narrow(b));
            }
            // RAW: the operands are there.
            sync_threads();
            for row in [0, 16] {
                for column in [0, 8, 16, 24] {
                    let mut acc = [0.0; 4];
                    for k in [0, 16] {
                        let a = ldmatrix::load::<T, 4>(a_s, place(row + lane % 16, k + lane / 16 * 8));
                        let b = if along_k {
                            ldmatrix::load::<T, 2>(b_s, place(column + lane % 8, k + lane / 8 % 2 * 8))
                        } else {
                            ldmatrix::load_transposed::<T, 2>(b_s, place(k + lane % 16, column))
                        };
                        mma::<T>(&mut acc, a, b);
                    }
                    let pair = |i: usize| bits::<T>(acc[i]) | bits::<T>(acc[i + 1]) << 16;
                    stmatrix::store::<T, 2>(c_s, place(row + lane % 16, column), [pair(0), pair(2)]);
                }
            }
            // RAW: C is there.
            sync_threads();
            let to = GlobalMut::new(result.as_mut_ptr(), SIDE * SIDE);
            for column in 0..SIDE as u32 {
                to.set(plain(lane, column) as usize, c_s.get(place(lane, column) as usize));
            }
        }
    });
    (report, result.to_vec())
}

fn products_of_a_warp<T: Element<Acc = f32> + MmaElement + PartialEq + std::fmt::Debug>() {
    let mut expected = vec![T::ZERO; SIDE * SIDE];
    for (i, sum) in expected.iter_mut().enumerate() {
        let (row, column) = (i / SIDE, i % SIDE);
        *sum = T::narrow((0..SIDE).map(|k| element(row, k, 0) * element(k, column, 1)).sum());
    }
    for (place, conflicts) in [(plain as fn(u32, u32) -> u32, true), (swizzled, false)] {
        for along_k in [false, true] {
            let (report, result) = product_of_a_warp::<T>(place, along_k);
            report.assert_clean();
            assert_eq!(result, expected, "along k: {along_k}");
            // Of rows of 16 bytes, 8 of which are one wavefront at best. 64 bytes apart, each has the banks of three
            // others.
            let is_matrix = |line: &&LineTraffic| line.kind.space == Space::Shared && line.ideal * 8 == line.lanes;
            let sum = |of: fn(&LineTraffic) -> u64| report.lines.iter().filter(is_matrix).map(of).sum::<u64>();
            let (actual, ideal) = (sum(|line| line.actual), sum(|line| line.ideal));
            assert!(ideal > 0, "{report}");
            assert_eq!(actual, if conflicts { 4 * ideal } else { ideal }, "{report}");
        }
    }
}

#[test]
fn a_warp_multiplies_32_x_32_x_32() {
    products_of_a_warp::<f16>();
    products_of_a_warp::<bf16>();
}

#[test]
fn sums_that_are_not_exact_stay_within_the_bound_of_f32() {
    // 2^12 and many small numbers: the order of the additions decides the last bits.
    let acc = Mutex::new(Vec::new());
    let a_of = |row: u32, k: u32| if k == 0 { 4096.0 } else { 1.0 / (1.0 + (row + k) as f32) };
    let report = Launch::new(1, 32).run(|| {
        let lane = lane();
        let half = |value: f32| u32::from(f16::from_f32(value).to_bits());
        let a = array::from_fn(|register| {
            let [first, second] = [0, 1]
                .map(|which| a_place(lane, register as u32, which))
                .map(|(row, k)| half(a_of(row, k)));
            first | second << 16
        });
        let mut c = [0.0; 4];
        // SAFETY: the whole warp is here.
        unsafe { mma::<f16>(&mut c, a, [half(1.0) | half(1.0) << 16; 2]) };
        acc.lock()
            .unwrap()
            .extend((0..).zip(c).map(|(number, sum)| (c_place(lane, number).0, sum)));
    });
    report.assert_clean();
    for &(row, sum) in acc.lock().unwrap().iter() {
        let exact: f64 = (0..16).map(|k| f64::from(f16::from_f32(a_of(row, k)).to_f32())).sum();
        assert!(
            (f64::from(sum) - exact).abs() <= 16.0 * exact * f64::from(f32::EPSILON),
            "{sum} for {exact}"
        );
    }
}

#[test]
fn one_lane_is_elected_and_always_the_same() {
    let elected = Mutex::new(Vec::new());
    // In one order: what is elected is noted on the host.
    let report = Launch::new(1, 64).schedule(Schedule::Forward).run(|| {
        for mask in [u32::MAX, 0xff00] {
            // SAFETY: the lane is in the mask, and all lanes of the mask come.
            if mask >> lane() & 1 == 1 && unsafe { elect(mask) } {
                elected.lock().unwrap().push((mask, thread_idx()[0]));
            }
        }
    });
    report.assert_clean();
    let mut elected = elected.into_inner().unwrap();
    elected.sort_unstable();
    assert_eq!(elected, [(0xff00, 8), (0xff00, 40), (u32::MAX, 0), (u32::MAX, 32)]);
}

#[test]
fn a_named_barrier_is_of_some_warps() {
    let report = Launch::new(1, 96).dynamic_shared_bytes(128).run(|| {
        // SAFETY: inside; warp 1 reads behind the barrier what warp 0 wrote before it; warp 2 has no part in it.
        unsafe {
            let tile = Shared::<u32>::new(dynamic_shared_mem().cast(), 32);
            match thread_idx()[0] / 32 {
                0 => {
                    tile.set(lane() as usize, lane());
                    named_barrier::arrive(1, 64);
                }
                1 => {
                    named_barrier::sync(1, 64);
                    assert_eq!(tile.get(31 - lane() as usize), 31 - lane());
                }
                _ => {}
            }
        }
    });
    report.assert_clean();
}
