//! The tiled CPU reference against the `matrixmultiply` crate, on the same cores, f32 and f64.
//!
//! Every contestant's C is checked against the f64 product before it is timed. Then all of them run in turn, round
//! after round, so that a busy machine disturbs each alike; the ratio is the median of the rounds' ratios, with the
//! quartiles beside it.
//!
//! Run with `cargo bench --bench cpu_reference`, or with other extents: `cargo bench --bench cpu_reference -- 512
//! 2048`. Both libraries read their number of threads from the environment, once: each number of threads is a process
//! of its own.

use std::env;
use std::process::{Command, ExitCode};
use std::time::Instant;

use tilewright::reference::{DEFAULT_TILE_WIDTH, tiled, tiled_parallel};
use tilewright::{Element, GemmShape, Operand, check, random::random_matrix};

/// Rounds that are timed, after the one that is checked.
const ROUNDS: usize = 9;

/// Extents that are not round: edges in every direction.
const RAGGED: (usize, usize, usize) = (1000, 1030, 970);

/// Computes C.
type Run<'a, T> = Box<dyn Fn(&mut [T]) + 'a>;

/// A way to compute C.
struct Contestant<'a, T> {
    name: String,
    run: Run<'a, T>,
}

/// The peer's entry point for a type: `matrixmultiply::sgemm` or `dgemm`.
trait Peer: Element {
    fn gemm(shape: &GemmShape, a: &[Self], b: &[Self], c: &mut [Self]);
}

macro_rules! peer {
    ($type:ty, $gemm:path) => {
        impl Peer for $type {
            fn gemm(shape: &GemmShape, a: &[Self], b: &[Self], c: &mut [Self]) {
                let (m, k, lda) = shape.extents(Operand::A);
                let (_, n, ldb) = shape.extents(Operand::B);
                let (_, _, ldc) = shape.extents(Operand::C);
                for (operand, len) in [
                    (Operand::A, a.len()),
                    (Operand::B, b.len()),
                    (Operand::C, c.len()),
                ] {
                    assert!(len >= shape.span_elems(operand), "{operand}");
                }
                let [lda, ldb, ldc] = [lda, ldb, ldc].map(|ld| ld as isize);
                let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                // SAFETY: each slice holds its operand, as asserted, and C overlaps neither A nor B.
                unsafe { $gemm(m, k, n, 1.0, a, lda, 1, b, ldb, 1, 0.0, c, ldc, 1) }
            }
        }
    };
}
peer!(f32, matrixmultiply::sgemm);
peer!(f64, matrixmultiply::dgemm);

/// Median and quartiles.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

fn compare<T: Peer>(shape: &GemmShape, rounds: usize) {
    let operand = |seed, operand| -> Vec<T> { random_matrix(seed, shape.span_elems(operand)) };
    let (a, b) = (operand(1, Operand::A), operand(2, Operand::B));
    let (a, b) = (a.as_slice(), b.as_slice());
    let mut c = vec![T::from_f64(0.0); shape.span_elems(Operand::C)];

    let run = Box::new(|c: &mut [T]| T::gemm(shape, a, b, c));
    let mut contestants = vec![Contestant {
        name: "matrixmultiply".to_owned(),
        run,
    }];
    for tile in [DEFAULT_TILE_WIDTH, 2 * DEFAULT_TILE_WIDTH] {
        let run = Box::new(move |c: &mut [T]| tiled_parallel(shape, tile, a, b, c).expect("lengths fit"));
        contestants.push(Contestant {
            name: format!("tiled_parallel, tile {tile}"),
            run,
        });
    }
    let run = Box::new(|c: &mut [T]| tiled(shape, DEFAULT_TILE_WIDTH, a, b, c).expect("lengths fit"));
    contestants.push(Contestant {
        name: format!("tiled, tile {DEFAULT_TILE_WIDTH}"),
        run,
    });

    for Contestant { name, run } in &contestants {
        c.fill(T::from_f64(f64::NAN));
        run(&mut c);
        let verdict = check::full(shape, a, b, &c).expect("lengths fit").into_result();
        verdict.unwrap_or_else(|error| panic!("{name}, {shape}, {}: {error}", T::DTYPE));
    }
    let mut seconds = vec![Vec::with_capacity(rounds); contestants.len()];
    for _ in 0..rounds {
        for (Contestant { run, .. }, seconds) in contestants.iter().zip(&mut seconds) {
            let start = Instant::now();
            run(&mut c);
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    if rounds == 0 {
        return;
    }
    let threads = env::var(THREADS[0]).unwrap_or_default();
    println!("{shape}, {}, threads: {threads}", T::DTYPE);
    for (Contestant { name, .. }, own) in contestants.iter().zip(&seconds) {
        let ratios = own.iter().zip(&seconds[0]).map(|(own, peer)| own / peer).collect();
        let [low, ratio, high] = quartiles(ratios);
        let [_, median, _] = quartiles(own.clone());
        let gflops = shape.flops() / median / 1e9;
        println!("  {name:24} {gflops:7.1} GFLOP/s, {ratio:.2} times the first's time ({low:.2} to {high:.2})");
    }
}

/// The variables that set the numbers of threads: the peer's, which uses four at most, and rayon's.
const THREADS: [&str; 2] = ["MATMUL_NUM_THREADS", "RAYON_NUM_THREADS"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--test") {
        compare::<f32>(&shape((70, 65, 130)), 0);
        compare::<f64>(&shape((70, 65, 130)), 0);
        return ExitCode::SUCCESS;
    }
    if THREADS.iter().any(|variable| env::var_os(variable).is_none()) {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(4));
        let again = |threads: usize| {
            let exe = env::current_exe().expect("this program has a path");
            let threads = threads.to_string();
            let status = Command::new(exe)
                .args(&arguments)
                .envs(THREADS.map(|variable| (variable, &threads)))
                .status();
            status.is_ok_and(|status| status.success())
        };
        return if again(cores) && (cores == 1 || again(1)) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let cubes: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    if cubes.is_empty() {
        compare::<f32>(&shape((1024, 1024, 1024)), ROUNDS);
        compare::<f32>(&shape(RAGGED), ROUNDS);
        compare::<f64>(&shape((1024, 1024, 1024)), ROUNDS);
    }
    for cube in cubes {
        compare::<f32>(&shape((cube, cube, cube)), ROUNDS);
    }
    ExitCode::SUCCESS
}

fn shape((m, n, k): (usize, usize, usize)) -> GemmShape {
    GemmShape::packed(m, n, k).expect("extents that the kernels can index")
}
