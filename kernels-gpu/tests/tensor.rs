//! The tensor-core body in the simulator: products of any shape, every layout, and what its accesses of shared memory
//! cost.

use cuda_sim::access::Space;
use cuda_sim::{Checks, GlobalBuffer, Launch, Report, Schedule};
use half::{bf16, f16};
use kernels_gpu::block::element::{Narrowed, TensorElement};
use kernels_gpu::block::major::{KMajor, MnMajor, OperandMajor};
use kernels_gpu::gemm::mma_sync::{Tile, gemm};
use tilewright_contract::{Activation, GemmArgs, GemmParams, Output, TensorTile, span_elems, tensor_tiles};

/// Those that are meant for GPUs.
struct T128x128;

impl Tile for T128x128 {
    const TILE: TensorTile = tensor_tiles::T128X128;
}

struct T256x128;

impl Tile for T256x128 {
    const TILE: TensorTile = tensor_tiles::T256X128;
}

/// A small one with all that can be different: four warps, of 32 x 16, three stages, 64 along K.
struct T64x32;

impl Tile for T64x32 {
    const TILE: TensorTile = TensorTile {
        m: 64,
        n: 32,
        k: 64,
        warp_m: 32,
        warp_n: 16,
        stages: 3,
        min_blocks: 1,
        groups: false,
        strips: false,
        supports_split_k: false,
    };
}

/// A product of so many rows, columns and terms, in rows `pad` chunks of 8 elements longer than they need to be.
#[derive(Clone, Copy, Debug)]
struct Shape {
    m: u32,
    n: u32,
    k: u32,
    pad: u32,
    /// Columns behind those of C.
    pad_c: u32,
}

/// A matrix in memory. What lies outside is NaN, and would show in the result.
struct Matrix<E> {
    rows: usize,
    columns: usize,
    ld: usize,
    elements: Vec<E>,
}

impl<E: Narrowed> Matrix<E> {
    /// Small integers: every sum is exact.
    fn new(rows: u32, columns: u32, ld: u32, salt: usize) -> Self {
        let (rows, columns, ld) = (rows as usize, columns as usize, ld as usize);
        let mut elements = vec![E::narrow(f32::NAN); span_elems(rows, columns, ld)];
        for row in 0..rows {
            for column in 0..columns {
                let value = (7 * row + 5 * column + salt + row * column % 3) % 11;
                elements[row * ld + column] = E::narrow(value as f32 - 5.0);
            }
        }
        Self {
            rows,
            columns,
            ld,
            elements,
        }
    }

    fn get(&self, row: usize, column: usize) -> f32 {
        assert!(row < self.rows && column < self.columns);
        self.elements[row * self.ld + column].widen()
    }
}

/// What follows the accumulators.
#[derive(Clone, Copy, Debug)]
struct Then {
    alpha: f32,
    beta: f32,
    bias: bool,
    activation: Activation,
}

/// Simulates a product, and asserts that the result is right and nothing else has been written.
fn run<E: TensorElement, T: Tile, LA: OperandMajor, LB: OperandMajor, const M: usize, const N: usize>(
    shape: Shape,
    (alpha, beta): (f32, f32),
    schedule: Schedule,
    checks: Checks,
) -> Report {
    let then = Then {
        alpha,
        beta,
        bias: false,
        activation: Activation::None,
    };
    run_then::<E, E, T, LA, LB, M, N>(shape, then, Output::Same, schedule, checks)
}

/// The same with C of `O`, which is what `output` says.
fn run_then<E, O, T, LA, LB, const M: usize, const N: usize>(
    shape: Shape,
    then: Then,
    output: Output,
    schedule: Schedule,
    checks: Checks,
) -> Report
where
    E: TensorElement,
    O: Narrowed,
    T: Tile,
    LA: OperandMajor,
    LB: OperandMajor,
{
    let Shape { m, n, k, pad, pad_c } = shape;
    let ld = |columns: u32| columns.next_multiple_of(8) + 8 * pad;
    let a = if LA::MAJOR.is_k() {
        Matrix::<E>::new(m, k, ld(k), 1)
    } else {
        Matrix::new(k, m, ld(m), 1)
    };
    let b = if LB::MAJOR.is_k() {
        Matrix::<E>::new(n, k, ld(k), 4)
    } else {
        Matrix::new(k, n, ld(n), 4)
    };
    let before = Matrix::<O>::new(m, n, n + pad_c, 9);
    let bias = Matrix::<E>::new(1, n, n, 2);
    let Then { alpha, beta, .. } = then;
    let args = GemmArgs {
        m,
        n,
        k,
        lda: a.ld as u32,
        ldb: b.ld as u32,
        ldc: n + pad_c,
    };
    let (on_a, on_b) = (
        GlobalBuffer::from_slice(&a.elements),
        GlobalBuffer::from_slice(&b.elements),
    );
    let on_c = GlobalBuffer::from_slice(&before.elements);
    let on_bias = GlobalBuffer::from_slice(&bias.elements);
    let tile = T::TILE;
    let report = Launch::new(m.div_ceil(tile.m) * n.div_ceil(tile.n), tile.threads())
        .dynamic_shared_bytes(tile.bytes().get())
        .schedule(schedule)
        .checks(checks)
        .run(|| {
            // SAFETY: the buffers hold the matrices that `params` describes; grid, block and shared memory are the
            // tile's.
            unsafe {
                let c = on_c.as_mut_ptr().cast::<E>();
                let params = GemmParams {
                    bias: if then.bias { on_bias.as_ptr() } else { std::ptr::null() },
                    alpha,
                    beta,
                    activation: then.activation,
                    output,
                    ..GemmParams::product(on_a.as_ptr(), on_b.as_ptr(), c, args)
                };
                gemm::<E, T, LA, LB, M, N>(&params);
            }
        });
    assert!(report.is_clean(), "{shape:?}\n{report}");
    let mut expected = before.elements.clone();
    for row in 0..m as usize {
        for column in 0..n as usize {
            let terms = (0..k as usize).map(|i| {
                let a = if LA::MAJOR.is_k() { a.get(row, i) } else { a.get(i, row) };
                let b = if LB::MAJOR.is_k() {
                    b.get(column, i)
                } else {
                    b.get(i, column)
                };
                a * b
            });
            let mut value = f64::from(alpha * terms.sum::<f32>());
            if beta != 0.0 {
                value += f64::from(beta * before.get(row, column));
            }
            if then.bias {
                value += f64::from(bias.get(0, column));
            }
            let value = match then.activation {
                Activation::None => value,
                Activation::Relu => value.max(0.0),
                Activation::Gelu => {
                    let argument = (2.0 / std::f64::consts::PI).sqrt() * (value + 0.044715 * value.powi(3));
                    value / 2.0 * (1.0 + argument.tanh())
                }
            };
            expected[row * before.ld + column] = O::narrow(value as f32);
        }
    }
    for (at, (got, expected)) in on_c.to_vec().into_iter().zip(expected).enumerate() {
        let (got, expected) = (got.widen(), expected.widen());
        let near = match then.activation {
            // Approximately, and rounded to what may be a neighbour.
            Activation::Gelu => (got - expected).abs() <= expected.abs() / 128.0 + 1e-6,
            Activation::None | Activation::Relu => got == expected,
        };
        // What lies between the rows is NaN.
        let untouched = got.is_nan() && expected.is_nan();
        assert!(
            near || untouched,
            "{shape:?}, {then:?}: element {at} is {got} and not {expected}"
        );
    }
    report
}

const fn shape(m: u32, n: u32, k: u32, pad: u32, pad_c: u32) -> Shape {
    Shape { m, n, k, pad, pad_c }
}

/// Extents that are whole tiles, that end within a piece, a chunk, a pair, and that are hardly there.
const SHAPES: [Shape; 9] = [
    shape(64, 32, 64, 0, 0),
    shape(128, 64, 192, 0, 0),
    shape(130, 72, 100, 1, 2),
    shape(72, 40, 136, 1, 8),
    shape(63, 31, 65, 0, 1),
    shape(17, 45, 7, 2, 0),
    shape(1, 1, 1, 0, 0),
    shape(1, 80, 200, 0, 0),
    shape(70, 3, 0, 0, 4),
];

fn every_shape<E: TensorElement, LA: OperandMajor, LB: OperandMajor>() {
    for shape in SHAPES {
        let _: Report = run::<E, T64x32, LA, LB, 2, 2>(shape, (1.0, 0.0), Schedule::Forward, Checks::Faults);
    }
    let _: Report = run::<E, T64x32, LA, LB, 2, 2>(SHAPES[2], (0.5, -2.0), Schedule::Forward, Checks::Faults);
    let _: Report = run::<E, T64x32, LA, LB, 2, 2>(SHAPES[4], (-1.0, 0.5), Schedule::Forward, Checks::Faults);
}

#[test]
fn f16_nn() {
    every_shape::<f16, KMajor, MnMajor>();
}

#[test]
fn f16_nt() {
    every_shape::<f16, KMajor, KMajor>();
}

#[test]
fn bf16_tn() {
    every_shape::<bf16, MnMajor, MnMajor>();
}

#[test]
fn bf16_tt() {
    every_shape::<bf16, MnMajor, KMajor>();
}

#[test]
fn the_large_tiles_multiply_too() {
    let run_whole = run::<f16, T128x128, KMajor, MnMajor, 4, 8>;
    let _: Report = run_whole(shape(136, 136, 72, 0, 8), (0.5, 0.0), Schedule::Forward, Checks::Faults);
    let _: Report = run_whole(shape(136, 130, 76, 0, 0), (1.0, 1.0), Schedule::Forward, Checks::Faults);
    let run_nt = run::<bf16, T128x128, KMajor, KMajor, 4, 8>;
    let _: Report = run_nt(
        shape(100, 144, 264, 1, 0),
        (1.0, 0.0),
        Schedule::Forward,
        Checks::Faults,
    );
    let run_large = run::<bf16, T256x128, KMajor, MnMajor, 4, 8>;
    let _: Report = run_large(shape(260, 72, 40, 0, 0), (1.0, 0.0), Schedule::Forward, Checks::Faults);
}

#[test]
fn the_order_of_threads_does_not_matter() {
    let _: Report =
        run::<f16, T64x32, KMajor, MnMajor, 2, 2>(shape(70, 40, 200, 0, 0), (1.0, 0.5), Schedule::All, Checks::Faults);
}

/// What is copied and what is loaded, all four sides; only partial chunks could differ, of which these shapes have
/// none.
#[test]
fn shared_memory_is_accessed_without_bank_conflicts() {
    let large = shape(128, 128, 64, 0, 0);
    let small = shape(64, 32, 128, 0, 0);
    for report in [
        run::<f16, T128x128, KMajor, MnMajor, 4, 8>(large, (1.0, 0.0), Schedule::Forward, Checks::Full),
        run::<f16, T128x128, MnMajor, KMajor, 4, 8>(large, (1.0, 0.0), Schedule::Forward, Checks::Full),
        run::<f16, T64x32, KMajor, MnMajor, 2, 2>(small, (1.0, 0.0), Schedule::Forward, Checks::Full),
        run::<f16, T64x32, MnMajor, KMajor, 2, 2>(small, (1.0, 0.0), Schedule::Forward, Checks::Full),
    ] {
        let shared: Vec<_> = report
            .lines
            .iter()
            .filter(|line| line.kind.space == Space::Shared)
            .collect();
        // Copies, loads along K and across; of C the stores of pairs and the loads of chunks.
        assert_eq!(shared.len(), 5, "{report}");
        for line in shared {
            assert_eq!(line.actual, line.ideal, "{report}");
            assert_eq!(line.lanes, 32 * line.requests, "{report}");
        }
    }
}

/// Each type of C with each bias, activation and beta, where C takes vectors, where it takes pairs and where it takes
/// neither.
#[test]
fn whatever_follows_the_sums_is_right() {
    const SHAPES: [Shape; 3] = [shape(70, 40, 24, 0, 0), shape(33, 34, 24, 0, 2), shape(63, 31, 8, 0, 1)];
    for shape in SHAPES {
        for bias in [false, true] {
            for activation in [Activation::None, Activation::Relu, Activation::Gelu] {
                for beta in [0.0, -2.0] {
                    let then = Then {
                        alpha: 0.5,
                        beta,
                        bias,
                        activation,
                    };
                    let (order, checks) = (Schedule::Forward, Checks::Faults);
                    let _: Report =
                        run_then::<f16, f16, T64x32, KMajor, MnMajor, 2, 2>(shape, then, Output::Same, order, checks);
                    let _: Report =
                        run_then::<f16, f32, T64x32, KMajor, MnMajor, 2, 2>(shape, then, Output::F32, order, checks);
                    let _: Report =
                        run_then::<bf16, f32, T64x32, KMajor, KMajor, 2, 2>(shape, then, Output::F32, order, checks);
                }
            }
        }
    }
}
