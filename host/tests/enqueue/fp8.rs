//! FP8 products, by a fake device of 9.0.

use half::{bf16, f16};
use tilewright::fp8::{self, Fp8, Fp8Kernel, Fp8Problem, Fp8Products, Fp8Scaling, Major};
use tilewright::launch::{Checks, Fp8Operands, Kernels, PreparedFp8};
use tilewright::{Activation, DType, ptx};

use crate::common::is_apart;
use crate::fake::{A, B, BIAS, C, WORKSPACE, calls, stream};
use crate::scaled::{SOUND, assert_bad_operands_are_refused};

/// Products of 130 x 200 x 320 by the kernel of this symbol, and what preparing them calls.
fn prepared(
    kernels: &Kernels,
    symbol: &str,
    scalings: [Fp8Scaling; 2],
    products: Fp8Products,
) -> (PreparedFp8, Vec<String>) {
    let problem = Fp8Problem {
        formats: [Fp8::E4m3; 2],
        scalings,
        majors: [Major::K; 2],
        extents: [130, 200, 320],
        products,
        output: DType::Bf16,
    };
    let policy = fp8::Policy {
        kernel: Fp8Kernel::named(symbol),
        ..fp8::Policy::default()
    };
    let plan = fp8::plan(&problem, kernels.profile(), &policy).expect("it fits");
    let wrong = kernels.prepare_fp8::<f16, f16>(&plan, false, Activation::None);
    assert_eq!(
        wrong.expect_err("of bf16").to_string(),
        format!("{symbol} has C and bias of bf16, not f16")
    );
    calls();
    let prepared = kernels.prepare_fp8::<bf16, bf16>(&plan, false, Activation::None);
    let prepared = prepared
        .expect("the fake driver has everything")
        .with_checks(Checks::Arithmetic);
    (prepared, calls())
}

const BLOCKS: [Fp8Scaling; 2] = [Fp8Scaling::Rows128, Fp8Scaling::Blocks128];

fn enqueue(prepared: &PreparedFp8, operands: &Fp8Operands) -> Result<(), String> {
    // SAFETY: the fake driver accesses no memory.
    unsafe { prepared.enqueue(stream(0x51), operands) }.map_err(|error| error.to_string())
}

#[test]
#[ignore = "run in a process of its own by calls_are_in_order_and_in_the_context"]
fn apart_fp8() {
    if !is_apart() {
        return;
    }
    if ptx::ensure_embedded().is_err() {
        println!("FP8 kernels: not looked at, there is no PTX");
        return;
    }
    let kernels = Kernels::open(0).expect("the fake driver has a device");
    let symbol = "wgmma_fp8_blocks_e4m3_e4m3_128x128_bf16";
    let (blocks, called) = prepared(&kernels, symbol, BLOCKS, Fp8Products::One);
    let bytes = blocks.plan().smem().dynamic_bytes().get();
    assert!(called.contains(&format!("set 8 of {symbol} to {bytes}")), "{called:?}");
    assert_eq!(enqueue(&blocks, &SOUND), Ok(()));
    let launch = |symbol: &str, prepared: &PreparedFp8, scaled: &str| {
        let plan = prepared.plan();
        let (bytes, threads) = (plan.smem().dynamic_bytes().get(), plan.kernel().tile.threads());
        format!(
            "early launch {symbol} {} x {threads}, {bytes} B, on 0x51: C {C:#x}, scales {BIAS:#x} {WORKSPACE:#x}, \
             {scaled}",
            plan.ctas()
        )
    };
    // Rows of 320 bytes, and one plane of them each; C of 400 bytes a row, a swizzle atom of 64 columns wide; scales of
    // A in 3 lines of 130, 132 from one to the next. Those of B are 4 from one 128 columns to the next.
    let maps = [
        format!("map {A:#x}: type 0, [320, 130, 1] by [320, 320] B, box [128, 128, 1], swizzle 3"),
        format!("map {B:#x}: type 0, [320, 200, 1] by [320, 320] B, box [128, 128, 1], swizzle 3"),
        format!("map {C:#x}: type 9, [200, 130, 1] by [400, 400] B, box [64, 64, 1], swizzle 3"),
        format!("map {BIAS:#x}: type 7, [130, 3] by 528 B, box [128, 1], swizzle 0"),
        launch(symbol, &blocks, "row strides [1, 1], 4 blocks a line"),
    ];
    assert_eq!(calls()[1..6], maps);

    // With a scale for all of A the kernel reads it at every row; it has no map of scales.
    let symbol = "wgmma_fp8_promoted_e4m3_e4m3_64x128_bf16";
    let (promoted, _) = prepared(
        &kernels,
        symbol,
        [Fp8Scaling::Tensor, Fp8Scaling::Rows],
        Fp8Products::One,
    );
    assert_eq!(enqueue(&promoted, &SOUND), Ok(()));
    let called = calls();
    assert_eq!(called[1], maps[0].replace("box [128, 128, 1]", "box [128, 64, 1]"));
    assert_eq!(called[2..4], maps[1..3]);
    assert_eq!(
        called[4],
        launch(symbol, &promoted, "row strides [0, 1], 200 blocks a line")
    );
    // Rows of C begin at no multiple of 16 bytes: no map of C.
    let unaligned = Fp8Operands { c: C + 2, ..SOUND };
    assert_eq!(enqueue(&promoted, &unaligned), Ok(()));
    assert!(calls()[3].starts_with("early launch"));

    // Scales of A are 3 lines of 132, of B 2 of 4.
    assert_bad_operands_are_refused(32, 130 * 200 * 2, |operands| enqueue(&blocks, operands));
    let with_ends = Fp8Operands {
        group_ends: ENDS,
        ..SOUND
    };
    assert_eq!(
        enqueue(&blocks, &with_ends),
        Err(format!(
            "the product has no groups of rows, and ends of groups were given at {ENDS:#x}"
        ))
    );

    // Three groups: one A, C and array of A's scales, and three planes of B.
    let symbol = "wgmma_fp8_groups_blocks_e4m3_e4m3_128x128_bf16";
    let (groups, _) = prepared(&kernels, symbol, BLOCKS, Fp8Products::Groups(3));
    let of_products = |prepared: &PreparedFp8, ends: u64, strides: [u64; 3]| {
        let line = launch(symbol, prepared, "row strides [1, 1], 4 blocks a line");
        format!("{line}, 3 products with ends {ends:#x}, {strides:?} elements apart")
    };
    assert_eq!(groups.plan().ctas(), (130 / 128 + 3) * 2);
    assert_eq!(
        enqueue(&groups, &SOUND),
        Err("the array of group ends is null, and takes 12 B".to_owned())
    );
    assert_eq!(enqueue(&groups, &with_ends), Ok(()));
    let called = calls();
    assert_eq!(called[1], maps[0]);
    let of_b = format!("map {B:#x}: type 0, [320, 200, 3] by [320, 64000] B, box [128, 128, 1], swizzle 3");
    assert_eq!(called[2], of_b);
    assert_eq!(called[3], maps[2]);
    // From up to three rows before those of a tile on.
    assert_eq!(called[4], maps[3].replace("box [128, 1]", "box [132, 1]"));
    assert_eq!(called[5], of_products(&groups, ENDS, [0, 200 * 320, 0]));
    // Scales of 3 B of 2 lines of 4 each.
    let short = Fp8Operands {
        c: WORKSPACE + 92,
        ..with_ends
    };
    let error = enqueue(&groups, &short).expect_err("the last scale of B is in C");
    assert!(error.contains("which overlaps the array of B's scales"), "{error}");

    // A batch of three, with counts and without: planes of A, B and C, and three times the lines of A's scales.
    let (batch, _) = prepared(&kernels, symbol, BLOCKS, Fp8Products::Batch(3));
    assert_eq!(batch.plan().ctas(), 3 * 2 * 2);
    for (operands, ends) in [(SOUND, 0), (with_ends, ENDS)] {
        assert_eq!(enqueue(&batch, &operands), Ok(()));
        assert_eq!(
            calls()[1..6],
            [
                format!("map {A:#x}: type 0, [320, 130, 3] by [320, 41600] B, box [128, 128, 1], swizzle 3"),
                of_b.clone(),
                format!("map {C:#x}: type 9, [200, 130, 3] by [400, 52000] B, box [64, 64, 1], swizzle 3"),
                format!("map {BIAS:#x}: type 7, [130, 9] by 528 B, box [132, 1], swizzle 0"),
                of_products(&batch, ends, [130 * 320, 200 * 320, 130 * 200]),
            ]
        );
    }
    let in_c = Fp8Operands {
        group_ends: C + 3 * 130 * 200 * 2 - 4,
        ..SOUND
    };
    let error = enqueue(&batch, &in_c).expect_err("the last row of C");
    assert!(error.contains("which overlaps the array of group ends"), "{error}");
}

/// Where an array of ends is.
const ENDS: u64 = WORKSPACE + 0x1_0000;
