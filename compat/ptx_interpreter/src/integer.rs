//! Integer instructions.

use crate::types::{Compare, Kind, Type};

/// An integer operation; the type says how its operands are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerOp {
    Add,
    Sub,
    AddSat,
    SubSat,
    MulLo,
    MulHi,
    MulWide,
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Not,
    CNot,
    Neg,
    Abs,
    Popc,
    Clz,
    Brev,
    Bfind,
    BfindShift,
    Szext(Bounds),
    Bmsk(Bounds),
    // Three operands.
    MadLo,
    MadHi,
    MadWide,
    MadHiSat,
    Sad,
    Bfe,
    ShfLeft(Bounds),
    ShfRight(Bounds),
    Mul24Lo,
    // Four.
    Bfi,
    Lop3,
    Prmt(PrmtMode),
    Dp4a { signed_a: bool, signed_b: bool },
    // With the carry flag, which the caller keeps.
    AddCarry(CarryUse),
    SubCarry(CarryUse),
    MadLoCarry(CarryUse),
    MadHiCarry(CarryUse),
}

/// What becomes of a position beyond the operand's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    Wrap,
    Clamp,
}

/// Whether an instruction reads and writes the carry flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CarryUse {
    pub reads: bool,
    pub writes: bool,
}

/// How `prmt` selects bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrmtMode {
    Index,
    Forward4,
    Backward4,
    Replicate8,
    EdgeLeft,
    EdgeRight,
    Replicate16,
}

/// Operations of one and two operands; `b` is ignored by those of one.
#[inline(always)]
pub(crate) fn binary(op: IntegerOp, ty: Type, a: u64, b: u64) -> u64 {
    if ty.packed {
        return packed(op, ty, a, b);
    }
    let bits = u32::from(ty.bits);
    let (x, y) = (ty.extend(a), ty.extend(b));
    let signed = ty.is_signed();
    let result = match op {
        IntegerOp::Add => x.wrapping_add(y),
        IntegerOp::Sub => x.wrapping_sub(y),
        IntegerOp::AddSat => saturate(ty, i128::from(x as i64) + i128::from(y as i64)),
        IntegerOp::SubSat => saturate(ty, i128::from(x as i64) - i128::from(y as i64)),
        IntegerOp::MulLo => x.wrapping_mul(y),
        IntegerOp::MulHi if signed => ((i128::from(x as i64) * i128::from(y as i64)) >> bits) as u64,
        IntegerOp::MulHi => ((u128::from(x) * u128::from(y)) >> bits) as u64,
        // The operands have 32 bits at most: the product fits.
        IntegerOp::MulWide => return x.wrapping_mul(y),
        IntegerOp::Mul24Lo => low24(signed, a).wrapping_mul(low24(signed, b)),
        // Unspecified by PTX for a divisor of zero.
        IntegerOp::Div | IntegerOp::Rem if y == 0 => u64::MAX,
        IntegerOp::Div if signed => (x as i64).wrapping_div(y as i64) as u64,
        IntegerOp::Div => x / y,
        IntegerOp::Rem if signed => (x as i64).wrapping_rem(y as i64) as u64,
        IntegerOp::Rem => x % y,
        IntegerOp::Min if signed => (x as i64).min(y as i64) as u64,
        IntegerOp::Min => x.min(y),
        IntegerOp::Max if signed => (x as i64).max(y as i64) as u64,
        IntegerOp::Max => x.max(y),
        IntegerOp::And => x & y,
        IntegerOp::Or => x | y,
        IntegerOp::Xor => x ^ y,
        IntegerOp::Shl => shift_amount(b, bits).map_or(0, |by| x << by),
        // A shift by the width or more leaves zeros or copies of the sign.
        IntegerOp::Shr if signed => ((x as i64) >> shift_amount(b, bits).unwrap_or(63)) as u64,
        IntegerOp::Shr => shift_amount(b, bits).map_or(0, |by| x >> by),
        IntegerOp::Not => !x,
        IntegerOp::CNot => u64::from(x == 0),
        IntegerOp::Neg => x.wrapping_neg(),
        IntegerOp::Abs => (x as i64).wrapping_abs() as u64,
        IntegerOp::Popc => return x.count_ones().into(),
        IntegerOp::Clz => return (x.leading_zeros() - (64 - bits)).into(),
        IntegerOp::Brev => x.reverse_bits() >> (64 - bits),
        IntegerOp::Bfind => return find(ty, x).map_or(0xffff_ffff, u64::from),
        IntegerOp::BfindShift => return find(ty, x).map_or(0xffff_ffff, |at| u64::from(bits - 1 - at)),
        IntegerOp::Szext(bounds) => return szext(signed, bounds, a as u32, b as u32).into(),
        IntegerOp::Bmsk(bounds) => return bmsk(bounds, a as u32, b as u32).into(),
        _ => unreachable!("{op:?} has more operands"),
    };
    low(bits, result)
}

#[inline(always)]
fn low(bits: u32, value: u64) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

/// The shift amount is an unsigned number of 32 bits.
#[inline(always)]
fn shift_amount(b: u64, bits: u32) -> Option<u32> {
    let by = b as u32;
    (by < bits).then_some(by)
}

fn packed(op: IntegerOp, ty: Type, a: u64, b: u64) -> u64 {
    let half = Type { packed: false, ..ty };
    binary(op, half, a & 0xffff, b & 0xffff) | binary(op, half, a >> 16 & 0xffff, b >> 16 & 0xffff) << 16
}

fn saturate(ty: Type, value: i128) -> u64 {
    let limit = 1i128 << (ty.bits - 1);
    value.clamp(-limit, limit - 1) as u64
}

fn low24(signed: bool, value: u64) -> u64 {
    Type::new(if signed { Kind::Signed } else { Kind::Unsigned }, 24).extend(value)
}

/// The position of the highest bit that differs from the sign.
fn find(ty: Type, x: u64) -> Option<u32> {
    let x = if ty.is_signed() && (x as i64) < 0 { !x } else { x };
    x.checked_ilog2()
}

fn szext(signed: bool, bounds: Bounds, a: u32, b: u32) -> u32 {
    let width = match bounds {
        Bounds::Wrap => b & 31,
        Bounds::Clamp if b > 31 => return a,
        Bounds::Clamp => b,
    };
    if width == 0 {
        return 0;
    }
    let unused = 32 - width;
    match signed {
        true => ((a << unused) as i32 >> unused) as u32,
        false => a << unused >> unused,
    }
}

fn bmsk(bounds: Bounds, a: u32, b: u32) -> u32 {
    let (start, width) = match bounds {
        Bounds::Wrap => (a & 31, b & 31),
        Bounds::Clamp => (a.min(32), b.min(32)),
    };
    (((1u64 << width) - 1) << start) as u32
}

/// Operations of three operands.
#[inline(always)]
pub(crate) fn ternary(op: IntegerOp, ty: Type, a: u64, b: u64, c: u64) -> u64 {
    let bits = u32::from(ty.bits);
    let result = match op {
        IntegerOp::MadLo => binary(IntegerOp::MulLo, ty, a, b).wrapping_add(c),
        IntegerOp::MadHi => binary(IntegerOp::MulHi, ty, a, b).wrapping_add(c),
        IntegerOp::MadWide => return low(2 * bits, binary(IntegerOp::MulWide, ty, a, b).wrapping_add(c)),
        IntegerOp::MadHiSat => {
            let high = ty.extend(binary(IntegerOp::MulHi, ty, a, b)) as i64;
            saturate(ty, i128::from(high) + i128::from(ty.extend(c) as i64))
        }
        IntegerOp::Sad => {
            let (x, y) = (ty.extend(a), ty.extend(b));
            let difference = match ty.is_signed() {
                true => (x as i64).abs_diff(y as i64),
                false => x.abs_diff(y),
            };
            difference.wrapping_add(c)
        }
        IntegerOp::Bfe => bfe(ty, ty.extend(a), b as u32 & 0xff, c as u32 & 0xff),
        IntegerOp::ShfLeft(bounds) => (funnel(a, b) << funnel_amount(bounds, c)) >> 32,
        IntegerOp::ShfRight(bounds) => funnel(a, b) >> funnel_amount(bounds, c),
        _ => unreachable!("{op:?} has another number of operands"),
    };
    low(bits, result)
}

fn funnel(low: u64, high: u64) -> u64 {
    high << 32 | low & 0xffff_ffff
}

fn funnel_amount(bounds: Bounds, c: u64) -> u32 {
    match bounds {
        Bounds::Wrap => c as u32 & 31,
        Bounds::Clamp => (c as u32).min(32),
    }
}

fn bfe(ty: Type, value: u64, position: u32, length: u32) -> u64 {
    let bits = u32::from(ty.bits);
    if length == 0 {
        return 0;
    }
    let sign_at = (position + length - 1).min(bits - 1);
    let negative = ty.is_signed() && value >> sign_at & 1 == 1;
    let field = if position < bits { value >> position } else { 0 };
    // Of the bits from `position` on, only so many are the operand's own.
    let own = length.min(bits.saturating_sub(position));
    let mask = if own == 0 { 0 } else { u64::MAX >> (64 - own) };
    field & mask | if negative { !mask } else { 0 }
}

/// Operations of four operands.
pub(crate) fn quaternary(op: IntegerOp, ty: Type, a: u64, b: u64, c: u64, extra: u64) -> u64 {
    let bits = u32::from(ty.bits);
    let result = match op {
        IntegerOp::Bfi => {
            let (position, length) = (c as u32 & 0xff, extra as u32 & 0xff);
            if length == 0 || position >= bits {
                b
            } else {
                let mask = u64::MAX >> (64 - length.min(64)) << position;
                b & !mask | a << position & mask
            }
        }
        IntegerOp::Lop3 => (0..8u64)
            .filter(|row| extra >> row & 1 == 1)
            .map(|row| {
                let pick = |value: u64, bit: u64| if row & bit != 0 { value } else { !value };
                pick(a, 4) & pick(b, 2) & pick(c, 1)
            })
            .fold(0, |all, row| all | row),
        IntegerOp::Prmt(mode) => prmt(mode, a as u32, b as u32, c as u32).into(),
        IntegerOp::Dp4a { signed_a, signed_b } => {
            let byte = |signed: bool, value: u64, i: u32| {
                let byte = (value >> (8 * i)) as u8;
                if signed { i32::from(byte as i8) } else { i32::from(byte) }
            };
            let sum: i32 = (0..4).map(|i| byte(signed_a, a, i) * byte(signed_b, b, i)).sum();
            c.wrapping_add(sum as u64)
        }
        _ => unreachable!("{op:?} has another number of operands"),
    };
    low(bits, result)
}

fn prmt(mode: PrmtMode, a: u32, b: u32, c: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let byte = |selector: u32| (bytes >> (8 * (selector & 7))) as u8;
    let n = c & 3;
    let selectors: [u32; 4] = match mode {
        PrmtMode::Index => {
            return (0..4).fold(0, |all, i| {
                let selector = c >> (4 * i) & 15;
                let picked = byte(selector);
                let picked = match selector & 8 {
                    0 => picked,
                    // Copies of the byte's sign.
                    _ => ((picked as i8) >> 7) as u8,
                };
                all | u32::from(picked) << (8 * i)
            });
        }
        PrmtMode::Forward4 => [n, n + 1, n + 2, n + 3],
        PrmtMode::Backward4 => [n, n.wrapping_sub(1), n.wrapping_sub(2), n.wrapping_sub(3)],
        PrmtMode::Replicate8 => [n; 4],
        PrmtMode::EdgeLeft => [0, 1, 2, 3].map(|i: u32| i.max(n)),
        PrmtMode::EdgeRight => [0, 1, 2, 3].map(|i: u32| i.min(n)),
        PrmtMode::Replicate16 => [0, 1, 0, 1].map(|i| i + 2 * (c & 1)),
    };
    u32::from_le_bytes(selectors.map(byte))
}

/// Operations with the carry flag: the result and the new flag.
pub(crate) fn with_carry(op: IntegerOp, ty: Type, a: u64, b: u64, c: u64, carry: bool) -> (u64, bool) {
    let bits = u32::from(ty.bits);
    let unsigned = |value| low(bits, value);
    let (x, y, carry_use, subtract) = match op {
        IntegerOp::AddCarry(carry_use) => (a, b, carry_use, false),
        IntegerOp::SubCarry(carry_use) => (a, b, carry_use, true),
        IntegerOp::MadLoCarry(carry_use) => (binary(IntegerOp::MulLo, ty, a, b), c, carry_use, false),
        IntegerOp::MadHiCarry(carry_use) => (binary(IntegerOp::MulHi, ty, a, b), c, carry_use, false),
        _ => unreachable!("{op:?} has no carry"),
    };
    let (x, y) = (u128::from(unsigned(x)), u128::from(unsigned(y)));
    let incoming = u128::from(carry_use.reads && carry);
    let sum = match subtract {
        false => x + y + incoming,
        true => x.wrapping_sub(y).wrapping_sub(incoming),
    };
    let outgoing = sum >> bits & 1 == 1;
    (unsigned(sum as u64), if carry_use.writes { outgoing } else { carry })
}

/// Integer comparisons, also of untyped bits and predicates.
#[inline(always)]
pub(crate) fn compare(compare: Compare, ty: Type, a: u64, b: u64) -> bool {
    let (x, y) = (ty.extend(a), ty.extend(b));
    let order = match ty.is_signed() {
        true => (x as i64).cmp(&(y as i64)),
        false => x.cmp(&y),
    };
    match compare {
        Compare::Eq => order.is_eq(),
        Compare::Ne => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::Le => order.is_le(),
        Compare::Gt => order.is_gt(),
        _ => order.is_ge(),
    }
}
