//! Block-scaled products, by a fake device of 12.0.

use half::{bf16, f16};
use tilewright::block_scaled::{self, BlockFormat};
use tilewright::launch::{BlockScaledOperands, Checks, Kernels};
use tilewright::{Activation, DType, ptx};

use crate::common::is_apart;
use crate::fake::{A, B, BIAS, C, WORKSPACE, calls, stream};
use crate::scaled::{SOUND, assert_bad_operands_are_refused};

#[test]
#[ignore = "run in a process of its own by calls_are_in_order_and_in_the_context"]
fn apart_block_scaled() {
    if !is_apart() {
        return;
    }
    // SAFETY: the process is this test's, and has one thread.
    unsafe { std::env::set_var("FAKE_BLACKWELL", "1") };
    if ptx::ensure_embedded().is_err() {
        println!("block-scaled kernels: not looked at, there is no PTX");
        return;
    }
    let kernels = Kernels::open(0).expect("the fake driver has a device");
    let policy = block_scaled::Policy {
        stages: Some(3),
        ..block_scaled::Policy::default()
    };
    let format = BlockFormat::Nvfp4;
    let plan = block_scaled::plan(format, [130, 200, 192], DType::Bf16, kernels.profile(), &policy).expect("it fits");
    let wrong = kernels.prepare_block_scaled::<f16, f16>(&plan, false, Activation::None);
    let symbol = plan.kernel().symbol;
    assert_eq!(
        wrong.expect_err("of bf16").to_string(),
        format!("{symbol} has C and bias of bf16, not f16")
    );
    calls();
    let prepared = kernels.prepare_block_scaled::<bf16, f32>(&plan, false, Activation::None);
    let prepared = prepared
        .expect("the fake driver has everything")
        .with_checks(Checks::Arithmetic);
    let bytes = plan.smem().dynamic_bytes().get();
    assert!(calls().contains(&format!("set 8 of {symbol} to {bytes}")));
    let enqueue = |operands: &BlockScaledOperands| {
        // SAFETY: the fake driver accesses no memory.
        unsafe { prepared.enqueue(stream(0x51), operands) }.map_err(|error| error.to_string())
    };
    assert_eq!(enqueue(&SOUND), Ok(()));
    let called = calls();
    let tile = plan.kernel().tile;
    // Rows of 96 bytes; 2 tiles of 128 rows, 3 of 64 along K, of 128 words each.
    let data_box = |rows: u32| format!("box [{}, {rows}], swizzle {}", tile.k_bytes(), tile.k_bytes() / 64 + 1);
    assert_eq!(
        called[1],
        format!("map {A:#x}: type 0, [96, 130] by 96 B, {}", data_box(tile.m))
    );
    assert_eq!(
        called[2],
        format!("map {B:#x}: type 0, [96, 200] by 96 B, {}", data_box(tile.n))
    );
    let scale_box = format!("box [{}, 1], swizzle 0", 128 * tile.k / 64);
    assert_eq!(
        called[3],
        format!("map {BIAS:#x}: type 2, [384, 2] by 1536 B, {scale_box}")
    );
    assert_eq!(
        called[4],
        format!("map {WORKSPACE:#x}: type 2, [384, 2] by 1536 B, {scale_box}")
    );
    assert_eq!(
        called[5],
        format!(
            "launch {symbol} {} x {}, {bytes} B, on 0x51: C {C:#x}, scales {BIAS:#x} {WORKSPACE:#x}, 3 tiles of them \
             along K, 3 stages",
            plan.ctas(),
            tile.threads()
        )
    );
    assert_bad_operands_are_refused(3072, 130 * 200 * 4, enqueue);
}
