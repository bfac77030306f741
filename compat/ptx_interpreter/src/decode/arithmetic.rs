//! Integer and floating-point instructions, comparisons and selections.

use super::modifiers::Modifiers;
use super::{Decoded, Decoder, PREDICATE, U32};
use crate::ast::Operand;
use crate::float::{FloatMode, FloatOp, FloatTest};
use crate::integer::{Bounds, CarryUse, IntegerOp, PrmtMode};
use crate::op::{Op, SINK, Source};
use crate::types::{Combine, Compare, Kind, Rounding, Type};

const COMPARISONS: [(&str, Compare); 18] = [
    ("eq", Compare::Eq),
    ("ne", Compare::Ne),
    ("lt", Compare::Lt),
    ("le", Compare::Le),
    ("gt", Compare::Gt),
    ("ge", Compare::Ge),
    ("lo", Compare::Lt),
    ("ls", Compare::Le),
    ("hi", Compare::Gt),
    ("hs", Compare::Ge),
    ("equ", Compare::Equ),
    ("neu", Compare::Neu),
    ("ltu", Compare::Ltu),
    ("leu", Compare::Leu),
    ("gtu", Compare::Gtu),
    ("geu", Compare::Geu),
    ("num", Compare::Number),
    ("nan", Compare::Nan),
];

const TESTS: [(&str, FloatTest); 6] = [
    ("finite", FloatTest::Finite),
    ("infinite", FloatTest::Infinite),
    ("number", FloatTest::Number),
    ("notanumber", FloatTest::NotANumber),
    ("normal", FloatTest::Normal),
    ("subnormal", FloatTest::Subnormal),
];

const PRMT_MODES: [(&str, PrmtMode); 6] = [
    ("f4e", PrmtMode::Forward4),
    ("b4e", PrmtMode::Backward4),
    ("rc8", PrmtMode::Replicate8),
    ("ecl", PrmtMode::EdgeLeft),
    ("ecr", PrmtMode::EdgeRight),
    ("rc16", PrmtMode::Replicate16),
];

const BOUNDS: [(&str, Bounds); 2] = [("wrap", Bounds::Wrap), ("clamp", Bounds::Clamp)];

impl<'a> Decoder<'a, '_> {
    /// Decodes what this module covers; hands the modifiers back where the instruction is another's.
    pub(super) fn arithmetic(
        &mut self,
        name: &str,
        mut m: Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Decoded<Option<Modifiers<'a>>> {
        match name {
            "setp" => self.setp(m, operands)?,
            "set" => self.set(m, operands)?,
            "selp" => {
                let ty = m.last_type()?;
                let (dst, [a, b, predicate]) = self.typed(operands, [ty, ty, PREDICATE])?;
                self.emit(Op::Select { dst, a, b, predicate });
            }
            "slct" => {
                let ftz = m.take("ftz");
                let (value, ty) = (m.take_type()?, m.last_type()?);
                let (dst, [a, b, c]) = self.typed(operands, [value, value, ty])?;
                self.emit(Op::SelectSign { ty, ftz, dst, a, b, c });
            }
            "testp" => {
                let test = m.one_of(&TESTS)?;
                let ty = m.last_type()?;
                self.float(FloatOp::Test(test), ty, FloatMode::PLAIN, operands)?;
            }
            "dp4a" => {
                let (a, b) = (m.take_type()?, m.last_type()?);
                let (signed_a, signed_b) = (a.is_signed(), b.is_signed());
                self.integer(IntegerOp::Dp4a { signed_a, signed_b }, U32, operands)?;
            }
            _ => match float_name(name) {
                Some(op) if m.peek_type().is_some_and(Type::is_float) => {
                    self.float_instruction(name, op, m, operands)?
                }
                _ => return self.integer_instruction(name, m, operands),
            },
        }
        Ok(None)
    }

    fn float_instruction(
        &mut self,
        name: &str,
        op: FloatOp,
        mut m: Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Decoded<()> {
        let rounding = m.take_rounding();
        let approximate = m.take("approx") || m.take("full");
        m.take("noftz");
        let mode = FloatMode {
            rounding: rounding.unwrap_or(Rounding::Nearest),
            ftz: m.take("ftz"),
            sat: m.take("sat"),
            nan: m.take("NaN"),
            xorsign: m.take("xorsign"),
            relu: m.take("relu"),
        };
        if mode.xorsign && !m.take("abs") {
            return Err("xorsign without abs".to_owned());
        }
        let ty = m.last_type()?;
        let op = match (name, approximate && ty.bits == 64) {
            ("rcp", true) => FloatOp::RcpHigh,
            ("rsqrt", true) if mode.ftz => FloatOp::RsqrtHigh,
            _ => op,
        };
        self.float(op, ty, mode, operands)
    }

    fn float(&mut self, op: FloatOp, ty: Type, mode: FloatMode, operands: &[Operand<'a>]) -> Decoded<()> {
        let (dst, [a, b, c]) = self.padded(operands, ty)?;
        self.emit(Op::Float {
            op,
            ty,
            mode,
            dst,
            a,
            b,
            c,
        });
        Ok(())
    }

    fn integer_instruction(
        &mut self,
        name: &str,
        mut m: Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Decoded<Option<Modifiers<'a>>> {
        let width = |m: &mut Modifiers<'_>, lo, hi, wide| m.one_of(&[("lo", lo), ("hi", hi), ("wide", wide)]);
        let op = match name {
            "add" | "addc" | "sub" | "subc" => {
                let carry = CarryUse {
                    reads: name.ends_with('c'),
                    writes: m.take("cc"),
                };
                match (&name[..3], carry.reads || carry.writes, m.take("sat")) {
                    ("add", true, _) => IntegerOp::AddCarry(carry),
                    (_, true, _) => IntegerOp::SubCarry(carry),
                    ("add", _, true) => IntegerOp::AddSat,
                    ("add", ..) => IntegerOp::Add,
                    (_, _, true) => IntegerOp::SubSat,
                    _ => IntegerOp::Sub,
                }
            }
            "mul" => width(&mut m, IntegerOp::MulLo, IntegerOp::MulHi, IntegerOp::MulWide)?,
            "mad" | "madc" => {
                let carry = CarryUse {
                    reads: name == "madc",
                    writes: m.take("cc"),
                };
                match carry.reads || carry.writes {
                    true => {
                        let (lo, hi) = (IntegerOp::MadLoCarry(carry), IntegerOp::MadHiCarry(carry));
                        m.one_of(&[("lo", lo), ("hi", hi)])?
                    }
                    false => match width(&mut m, IntegerOp::MadLo, IntegerOp::MadHi, IntegerOp::MadWide)? {
                        IntegerOp::MadHi if m.take("sat") => IntegerOp::MadHiSat,
                        op => op,
                    },
                }
            }
            "mul24" if m.take("lo") => IntegerOp::Mul24Lo,
            "div" => IntegerOp::Div,
            "rem" => IntegerOp::Rem,
            "min" => IntegerOp::Min,
            "max" => IntegerOp::Max,
            "and" => IntegerOp::And,
            "or" => IntegerOp::Or,
            "xor" => IntegerOp::Xor,
            "not" => IntegerOp::Not,
            "cnot" => IntegerOp::CNot,
            "neg" => IntegerOp::Neg,
            "abs" => IntegerOp::Abs,
            "popc" => IntegerOp::Popc,
            "clz" => IntegerOp::Clz,
            "brev" => IntegerOp::Brev,
            "sad" => IntegerOp::Sad,
            "bfe" => IntegerOp::Bfe,
            "bfi" => IntegerOp::Bfi,
            "lop3" => IntegerOp::Lop3,
            "szext" => IntegerOp::Szext(m.one_of(&BOUNDS)?),
            "bmsk" => IntegerOp::Bmsk(m.one_of(&BOUNDS)?),
            "bfind" if m.take("shiftamt") => IntegerOp::BfindShift,
            "bfind" => IntegerOp::Bfind,
            "shl" => IntegerOp::Shl,
            "shr" => IntegerOp::Shr,
            "shf" => {
                let form: fn(Bounds) -> IntegerOp =
                    m.one_of(&[("l", IntegerOp::ShfLeft as fn(_) -> _), ("r", IntegerOp::ShfRight)])?;
                form(m.one_of(&BOUNDS)?)
            }
            "prmt" => IntegerOp::Prmt(m.take_of(&PRMT_MODES).unwrap_or(PrmtMode::Index)),
            _ => return Ok(Some(m)),
        };
        let ty = m.last_type()?;
        if ty.is_float() || ty.bits == 128 {
            return Err(format!("{ty:?} here"));
        }
        self.integer(op, ty, operands)?;
        Ok(None)
    }

    fn integer(&mut self, op: IntegerOp, ty: Type, operands: &[Operand<'a>]) -> Decoded<()> {
        let (dst, [a, b, c, extra]) = self.padded(operands, ty)?;
        let sources = match (operands.len() - 1, op) {
            // They read the carry flag too.
            (2, IntegerOp::AddCarry(_) | IntegerOp::SubCarry(_)) => 3,
            (3, IntegerOp::Prmt(_) | IntegerOp::Dp4a { .. }) => 4,
            (count, _) => count,
        };
        self.emit(match sources {
            1 | 2 => Op::Integer { op, ty, dst, a, b },
            3 => Op::Integer3 { op, ty, dst, a, b, c },
            4 => Op::Integer4 {
                op,
                ty,
                dst,
                a,
                b,
                c,
                extra,
            },
            count => return Err(format!("{count} sources")),
        });
        Ok(())
    }

    fn comparison(&mut self, m: &mut Modifiers<'a>) -> Decoded<(Compare, Combine, bool)> {
        let compare = m.one_of(&COMPARISONS)?;
        let combine = m.take_of(&[("and", Combine::And), ("or", Combine::Or), ("xor", Combine::Xor)]);
        Ok((compare, combine.unwrap_or(Combine::None), m.take("ftz")))
    }

    fn setp(&mut self, mut m: Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<()> {
        let (compare, combine, ftz) = self.comparison(&mut m)?;
        let ty = m.last_type()?;
        if ty.packed {
            return Err("packed comparison".to_owned());
        }
        let (dst, dst_not) = self.destinations(operands.first())?;
        let [a, b, c] = self.compared(ty, combine, operands)?;
        let op = match (combine, dst_not) {
            (Combine::None, SINK) => Op::Compare {
                compare,
                ty,
                ftz,
                dst,
                a,
                b,
            },
            _ => Op::CompareCombine {
                compare,
                ty,
                ftz,
                combine,
                dst,
                dst_not,
                a,
                b,
                c,
            },
        };
        self.emit(op);
        Ok(())
    }

    /// What is compared, and the predicate to combine the result with.
    fn compared(&mut self, ty: Type, combine: Combine, operands: &[Operand<'a>]) -> Decoded<[Source; 3]> {
        Ok([
            self.source(operands.get(1), ty)?,
            self.source(operands.get(2), ty)?,
            match combine {
                Combine::None => self.constant(0),
                _ => self.source(operands.get(3), PREDICATE)?,
            },
        ])
    }

    fn set(&mut self, mut m: Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<()> {
        let (compare, combine, ftz) = self.comparison(&mut m)?;
        let (to, ty) = (m.take_type()?, m.last_type()?);
        let one = match (to.kind, to.bits) {
            _ if to.packed || ty.packed => return Err("packed comparison".to_owned()),
            (Kind::Float, 32) => 1f32.to_bits().into(),
            (Kind::Float, 16) => 0x3c00,
            (Kind::Brain, _) => 0x3f80,
            _ => u64::MAX >> (64 - to.bits),
        };
        let dst = self.destination(operands.first())?;
        let [a, b, c] = self.compared(ty, combine, operands)?;
        self.emit(Op::Set {
            compare,
            ty,
            ftz,
            combine,
            one,
            dst,
            a,
            b,
            c,
        });
        Ok(())
    }
}

fn float_name(name: &str) -> Option<FloatOp> {
    Some(match name {
        "add" => FloatOp::Add,
        "sub" => FloatOp::Sub,
        "mul" => FloatOp::Mul,
        "fma" | "mad" => FloatOp::Fma,
        "div" => FloatOp::Div,
        "min" => FloatOp::Min,
        "max" => FloatOp::Max,
        "sqrt" => FloatOp::Sqrt,
        "rcp" => FloatOp::Rcp,
        "rsqrt" => FloatOp::Rsqrt,
        "abs" => FloatOp::Abs,
        "neg" => FloatOp::Neg,
        "copysign" => FloatOp::Copysign,
        "ex2" => FloatOp::Ex2,
        "lg2" => FloatOp::Lg2,
        "sin" => FloatOp::Sin,
        "cos" => FloatOp::Cos,
        "tanh" => FloatOp::Tanh,
        _ => return None,
    })
}
