//! Quantization to FP8, by a fake device of 9.0.

use tilewright::fp8::{Fp8, Fp8Quantize, Fp8Scaling};
use tilewright::launch::{Checks, Fp8QuantizeOperands, Kernels, PreparedFp8Quantize};
use tilewright::{DType, ptx};

use crate::common::is_apart;
use crate::fake::{A, B, BIAS, C, calls, stream};

const SOUND: Fp8QuantizeOperands = Fp8QuantizeOperands {
    source: A,
    data: B,
    scales: C,
    workspace: BIAS,
};

fn enqueue(prepared: &PreparedFp8Quantize, operands: &Fp8QuantizeOperands) -> Result<(), String> {
    // SAFETY: the fake driver accesses no memory.
    unsafe { prepared.enqueue(stream(0x51), operands) }.map_err(|error| error.to_string())
}

#[test]
#[ignore = "run in a process of its own by calls_are_in_order_and_in_the_context"]
fn apart_fp8_quantize() {
    if !is_apart() {
        return;
    }
    if ptx::ensure_embedded().is_err() {
        println!("quantization to FP8: not looked at, there is no PTX");
        return;
    }
    let kernels = Kernels::open(0).expect("the fake driver has a device");
    let prepared = |quantize: Fp8Quantize| {
        let plan = quantize.plan().expect("valid");
        let prepared = kernels.prepare_fp8_quantize(&plan).expect("it has all");
        calls();
        prepared.with_checks(Checks::Arithmetic)
    };

    // 300 rows are 3 tiles, 272 of K are 3; scales in 3 lines of 300.
    let blocks = prepared(Fp8Quantize::new(Fp8::E5m2, Fp8Scaling::Rows128, DType::Bf16, 300, 272));
    assert_eq!(blocks.plan().workspace_bytes(), 0);
    let without_workspace = Fp8QuantizeOperands { workspace: 0, ..SOUND };
    assert_eq!(enqueue(&blocks, &without_workspace), Ok(()));
    let expected = format!(
        "launch fp8_quantize_1x128_bf16 9 x 256, 0 B, on 0x51: {A:#x} to {B:#x}, scales {C:#x}, partials 0x0; 300 x \
         272 by 272, 300 scales a line, 0 partials, format 1"
    );
    assert_eq!(calls()[1], expected);

    // A tensor of 272 lines of 300: the largest magnitude is of the source as it lies.
    let tensor = Fp8Quantize::new(Fp8::E4m3, Fp8Scaling::Tensor, DType::F32, 300, 272);
    let tensor = prepared(tensor.transposed().ld(304));
    assert_eq!(tensor.plan().workspace_bytes(), 4 * 9);
    assert_eq!(enqueue(&tensor, &SOUND), Ok(()));
    let of = |symbol: &str, extents: &str| {
        format!(
            "launch {symbol} 9 x 256, 0 B, on 0x51: {A:#x} to {B:#x}, scales {C:#x}, partials {BIAS:#x}; {extents} by \
             304, 1 scales a line, 9 partials, format 0"
        )
    };
    let expected = [
        of("fp8_largest_tensor_f32", "272 x 300"),
        of("fp8_quantize_tensor_f32_transposed", "300 x 272"),
    ];
    assert_eq!(calls()[1..3], expected);

    // What reaches the last of 272 lines.
    let source_bytes = (271 * 304 + 300) * 4;
    for (operands, message) in [
        (
            Fp8QuantizeOperands { source: 0, ..SOUND },
            format!("the source is null, and takes {source_bytes} B"),
        ),
        (
            Fp8QuantizeOperands { source: A + 2, ..SOUND },
            format!("the source starts at {:#x}, which is 2 modulo 4", A + 2),
        ),
        (
            Fp8QuantizeOperands { data: B + 8, ..SOUND },
            format!(
                "the array of quantized elements starts at {:#x}, which is 8 modulo 16",
                B + 8
            ),
        ),
        (
            Fp8QuantizeOperands { workspace: 0, ..SOUND },
            "the workspace is null, and takes 36 B".to_owned(),
        ),
        (
            Fp8QuantizeOperands {
                scales: A + 16,
                ..SOUND
            },
            format!(
                "the array of their scales is written at {:#x}..{:#x}, which overlaps the source",
                A + 16,
                A + 20
            ),
        ),
        (
            Fp8QuantizeOperands { data: A + 16, ..SOUND },
            format!(
                "the array of quantized elements is written at {:#x}..{:#x}, which overlaps the source",
                A + 16,
                A + 16 + 300 * 272
            ),
        ),
    ] {
        let error = enqueue(&tensor, &operands).expect_err(&message);
        assert!(error.starts_with(&message), "{error}");
    }
    assert_eq!(calls(), [""; 0]);

    // Without rows nothing is asked for.
    let empty = prepared(Fp8Quantize::new(Fp8::E4m3, Fp8Scaling::Rows, DType::F16, 0, 16));
    assert_eq!(enqueue(&empty, &Fp8QuantizeOperands::default()), Ok(()));
    assert_eq!(calls(), [""; 0]);
}
