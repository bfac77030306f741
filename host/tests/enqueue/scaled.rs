//! What products of matrices with scales are refused for, of either kind.

use tilewright::Factors;
use tilewright::launch::ScaledOperands;

use crate::fake::{A, B, BIAS, C, WORKSPACE, calls};

/// Scales at the addresses of bias and workspace.
pub const SOUND: ScaledOperands = ScaledOperands {
    data: [A, B],
    scales: [BIAS, WORKSPACE],
    c: C,
    bias: 0,
    group_ends: 0,
    factors: Factors { alpha: 2.0, beta: 0.0 },
};

/// Bad operands are refused with their numbers, and nothing is called. Bytes of B's scales and of C.
pub fn assert_bad_operands_are_refused(
    scale_bytes: u64,
    c_bytes: u64,
    enqueue: impl Fn(&ScaledOperands) -> Result<(), String>,
) {
    let c = BIAS - 16;
    for (operands, message) in [
        (
            ScaledOperands {
                scales: [BIAS, 0],
                ..SOUND
            },
            format!("the array of B's scales is null, and takes {scale_bytes} B"),
        ),
        (
            ScaledOperands {
                data: [A + 8, B],
                ..SOUND
            },
            format!(
                "A starts at {:#x}, which is 8 modulo 16; the kernel takes multiples of 16 B",
                A + 8
            ),
        ),
        (
            ScaledOperands {
                scales: [BIAS + 4, WORKSPACE],
                ..SOUND
            },
            format!(
                "the array of A's scales starts at {:#x}, which is 4 modulo 16; the kernel takes multiples of 16 B",
                BIAS + 4
            ),
        ),
        (
            ScaledOperands { c, ..SOUND },
            format!(
                "C is written at {c:#x}..{:#x}, which overlaps the array of A's scales",
                c + c_bytes
            ),
        ),
        (
            ScaledOperands { bias: C, ..SOUND },
            "the product was prepared without a bias".to_owned(),
        ),
    ] {
        let error = enqueue(&operands).expect_err(&message);
        assert!(error.starts_with(&message), "{error}");
    }
    assert_eq!(calls(), [""; 0]);
}
