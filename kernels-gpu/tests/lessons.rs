//! The lessons with static shared memory, in the simulator: what their copies of 16 bytes do
//! with matrices that do not allow them, and what the lanes' order saves. `tests/simulator.rs` of the workspace runs
//! every kernel over many more shapes.

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::{Checks, GlobalBuffer, Launch, LineTraffic, Report, Schedule};
use kernels_gpu::host::{self, EntryPoint};
use tilewright_contract::{GemmArgs, GemmParams, KERNELS, Kernel, Operand, Storage};

/// A product whose operands begin `offset` elements behind a multiple of 16 bytes.
#[derive(Clone, Copy, Debug)]
struct Product {
    args: GemmArgs,
    offset: usize,
}

/// Rows `pad` elements longer than they need to be.
fn product(m: u32, n: u32, k: u32, pad: u32, offset: usize) -> Product {
    let args = GemmArgs {
        m,
        n,
        k,
        lda: k + pad,
        ldb: n + pad,
        ldc: n + pad,
    };
    Product { args, offset }
}

/// Small integers: every sum is exact. What lies outside the matrices is NaN, and would show in the result.
fn operand(product: Product, operand: Operand) -> Vec<f32> {
    let (rows, columns, ld) = product.args.extents(operand);
    let mut elements = vec![f32::NAN; product.offset + product.args.span_elems(operand)];
    for row in 0..rows {
        for column in 0..columns {
            elements[product.offset + row * ld + column] = ((7 * row + 5 * column) % 11) as f32 - 5.0;
        }
    }
    elements
}

/// Simulates the kernel, and asserts that the result is the product and nothing else has been written.
fn run(kernel: &Kernel, product: Product, schedule: Schedule, checks: Checks) -> Report {
    let what = format!("{}: {product:?}", kernel.symbol);
    let Product { args, offset } = product;
    let Some(entry_point @ EntryPoint::Params(_)) = host::find::<f32>(kernel.symbol) else {
        panic!("{what}: no such kernel")
    };
    let tile = kernel.tile;
    let (a, b) = (operand(product, Operand::A), operand(product, Operand::B));
    const BEFORE: f32 = 0.5;
    let c = vec![BEFORE; offset + args.span_elems(Operand::C)];
    let (on_a, on_b, on_c) = (
        GlobalBuffer::from_slice(&a),
        GlobalBuffer::from_slice(&b),
        GlobalBuffer::from_slice(&c),
    );
    let blocks = args.m.div_ceil(tile.m) * args.n.div_ceil(tile.n);
    let report = Launch::new(blocks, kernel.threads())
        .schedule(schedule)
        .checks(checks)
        .workers(1)
        .run(|| {
            // SAFETY: the buffers hold the matrices that `args` describes behind the offset; grid and block are the
            // tile's.
            unsafe {
                let params = GemmParams::product(
                    on_a.as_ptr().add(offset),
                    on_b.as_ptr().add(offset),
                    on_c.as_mut_ptr().add(offset),
                    args,
                );
                entry_point.call(&params, None);
            }
        });
    assert!(report.is_clean(), "{what}:\n{report}");
    assert_eq!(
        report.shared.static_bytes,
        u64::from(kernel.static_bytes().get()),
        "{what}"
    );
    let (m, n, ldc) = args.extents(Operand::C);
    let mut expected = c;
    for row in 0..m {
        for column in 0..n {
            let terms = (0..args.k as usize)
                .map(|i| a[offset + row * args.lda as usize + i] * b[offset + i * args.ldb as usize + column]);
            expected[offset + row * ldc + column] = terms.sum();
        }
    }
    assert_eq!(on_c.to_vec(), expected, "{what}");
    report
}

fn static_block_tiles() -> impl Iterator<Item = &'static Kernel> {
    KERNELS
        .iter()
        .filter(|kernel| kernel.widths.is_none() && kernel.smem.storage == Storage::Static && kernel.smem.has_tiles())
        // Lesson 2 has CTAs of two dimensions, and no vectors.
        .filter(|kernel| kernel.block[1] == 1)
}

#[test]
fn matrices_that_allow_no_vectors_are_computed_too() {
    assert_eq!(static_block_tiles().count(), 5);
    for kernel in static_block_tiles() {
        for product in [
            // Vectors, with tiles that end inside and outside the matrices.
            product(132, 68, 20, 0, 0),
            product(128, 136, 16, 4, 4),
            // No multiples of 4, long rows, a beginning between vectors.
            product(131, 69, 19, 0, 0),
            product(5, 132, 12, 1, 0),
            product(132, 4, 8, 0, 1),
            // One element, and accumulators of nothing.
            product(1, 1, 1, 0, 0),
            product(3, 4, 0, 4, 0),
        ] {
            let _: Report = run(kernel, product, Schedule::Forward, Checks::Faults);
        }
        let _: Report = run(kernel, product(12, 130, 20, 0, 0), Schedule::All, Checks::Faults);
    }
}

/// Traffic of shared memory by source line, of one block and one step of 8 along K.
fn shared_lines(symbol: &str, access: AccessKind) -> Vec<LineTraffic> {
    let kernel = KERNELS
        .iter()
        .find(|kernel| kernel.symbol == symbol)
        .expect("in the table");
    let report = run(kernel, product(128, 128, 8, 0, 0), Schedule::Forward, Checks::Full);
    let is_wanted = |line: &LineTraffic| line.kind.space == Space::Shared && line.kind.access == access;
    report.lines.into_iter().filter(is_wanted).collect()
}

#[test]
fn lanes_in_a_rectangle_load_fragments_in_two_wavefronts_a_vector() {
    // Of the 4 vectors that a thread loads for one k. In rows of 16 lanes those of B take 4 wavefronts each.
    for (symbol, wavefronts) in [
        ("lesson_06_vector_copies", 2 + 2 + 4 + 4),
        ("lesson_07_warp_tiles", 2 + 2 + 2 + 2),
        ("lesson_08_double_buffering", 2 + 2 + 2 + 2),
    ] {
        let lines = shared_lines(symbol, AccessKind::Read);
        let sum = |of: fn(&LineTraffic) -> u64| lines.iter().map(of).sum::<u64>();
        // One for each k and warp.
        let fragments = sum(|line| line.requests) / 4;
        assert_eq!(sum(|line| line.actual), wavefronts * fragments, "{symbol}");
        assert_eq!(
            sum(|line| line.ideal),
            wavefronts * fragments,
            "{symbol}: no bank conflicts"
        );
    }
}

#[test]
fn stores_of_the_copies_have_no_bank_conflicts() {
    for symbol in [
        "lesson_06_vector_copies",
        "lesson_07_warp_tiles",
        "lesson_08_double_buffering",
    ] {
        for line in shared_lines(symbol, AccessKind::Write) {
            assert_eq!(line.actual, line.ideal, "{symbol}, {:?}", line.location);
        }
    }
}
