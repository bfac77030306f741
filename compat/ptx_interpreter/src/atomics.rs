//! What atomic operations leave in memory.

use crate::float::{FloatMode, FloatOp, compute};
use crate::integer::{IntegerOp, binary};
use crate::op::AtomicOp;
use crate::types::Type;

/// The new value. `global` says that the memory is global, where additions of single precision flush subnormals.
pub(crate) fn apply(op: AtomicOp, ty: Type, global: bool, old: u64, b: u64, c: u64) -> u64 {
    let integer = |op| binary(op, ty, old, b);
    let float = |op| {
        let mode = FloatMode {
            ftz: global && ty.bits == 32,
            ..FloatMode::PLAIN
        };
        compute(op, ty, mode, old, b, 0)
    };
    match op {
        AtomicOp::Add if ty.is_float() => float(FloatOp::Add),
        AtomicOp::Min if ty.is_float() => float(FloatOp::Min),
        AtomicOp::Max if ty.is_float() => float(FloatOp::Max),
        AtomicOp::Add => integer(IntegerOp::Add),
        AtomicOp::Min => integer(IntegerOp::Min),
        AtomicOp::Max => integer(IntegerOp::Max),
        AtomicOp::And => integer(IntegerOp::And),
        AtomicOp::Or => integer(IntegerOp::Or),
        AtomicOp::Xor => integer(IntegerOp::Xor),
        AtomicOp::Inc if ty.extend(old) >= ty.extend(b) => 0,
        AtomicOp::Inc => old + 1,
        AtomicOp::Dec if old == 0 || ty.extend(old) > ty.extend(b) => b,
        AtomicOp::Dec => old - 1,
        AtomicOp::Exchange => b,
        AtomicOp::CompareExchange if ty.extend(old) == ty.extend(b) => c,
        AtomicOp::CompareExchange => old,
    }
}
