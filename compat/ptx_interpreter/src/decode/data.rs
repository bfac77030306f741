//! Moves, conversions, loads, stores and atomic operations.

use super::modifiers::Modifiers;
use super::{B64, Decoded, Decoder};
use crate::ast::Operand;
use crate::convert::Conversion;
use crate::op::{Address, AtomicOp, List, Op, SINK, Source};
use crate::types::{Kind, Rounding, Space, Type};

const B32: Type = Type::new(Kind::Bits, 32);

impl<'a> Decoder<'a, '_> {
    /// Decodes what this module covers; hands the modifiers back where the instruction is another's.
    pub(super) fn data(
        &mut self,
        name: &str,
        mut m: Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Decoded<Option<Modifiers<'a>>> {
        match name {
            "mov" => self.mov(m, operands)?,
            "cvt" => self.cvt(m, operands)?,
            "cvta" => {
                let from_generic = m.take("to");
                let space = m.take_space().ok_or("no space")?;
                let ty = m.last_type()?;
                let space = match space {
                    Space::Param if !self.is_kernel => Space::Frame,
                    space => space,
                };
                let (dst, [src]) = self.typed(operands, [ty])?;
                self.emit(match from_generic {
                    true => Op::FromGeneric { dst, src, space },
                    false => Op::ToGeneric { dst, src, space },
                });
            }
            "isspacep" => {
                let space = m.take_space().ok_or("no space")?;
                m.finish()?;
                let (dst, [src]) = self.typed(operands, [B64])?;
                self.emit(Op::IsSpace { dst, src, space });
            }
            "ld" | "ldu" => self.access(m, operands.first(), operands.get(1), true)?,
            "st" => self.access(m, operands.get(1), operands.first(), false)?,
            "atom" | "red" => self.atomic(name == "red", m, operands)?,
            "alloca" => {
                let ty = m.last_type()?;
                let (dst, [bytes]) = self.typed(operands, [ty])?;
                let align = match operands.get(2) {
                    Some(Operand::Literal(crate::lexer::Literal::Integer(align))) => *align as u32,
                    _ => 8,
                };
                self.emit(Op::Alloca { dst, bytes, align });
            }
            "stacksave" => {
                let dst = self.destination(operands.first())?;
                self.emit(Op::StackSave { dst });
            }
            "stackrestore" => {
                let src = self.source(operands.first(), B64)?;
                self.emit(Op::StackRestore { src });
            }
            _ => return Ok(Some(m)),
        }
        Ok(None)
    }

    fn mov(&mut self, mut m: Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<()> {
        let ty = m.last_type()?;
        match operands {
            [Operand::List(parts), src] => {
                let parts = self.destination_list(parts)?;
                if ty.bits == 128 {
                    let src = self.halves(src)?;
                    let dst = self.two(parts)?;
                    self.move_halves(dst, src);
                    return Ok(());
                }
                let src = self.source(Some(src), ty)?;
                let bits = ty.bits / parts.count.max(1) as u8;
                self.emit(Op::Unpack { parts, bits, src });
            }
            [dst, Operand::List(parts)] => {
                let bits = ty.bits / parts.len().max(1) as u8;
                let parts = self.source_list(parts, Type::new(Kind::Bits, bits))?;
                if ty.bits == 128 {
                    let dst = self.halves(dst)?;
                    let src = self.two(parts)?;
                    self.move_halves(dst, src);
                    return Ok(());
                }
                let dst = self.destination(Some(dst))?;
                self.emit(Op::Pack { dst, parts, bits });
            }
            [dst, src] if ty.bits == 128 => {
                let (dst, src) = (self.halves(dst)?, self.halves(src)?);
                self.move_halves(dst, src);
            }
            [_, _] => {
                let (dst, [src]) = self.typed(operands, [ty])?;
                self.emit(Op::Move { dst, src });
            }
            _ => return Err(format!("{} operands", operands.len())),
        }
        Ok(())
    }

    /// Moves 128 bits; the slots of the destination come as sources.
    fn move_halves(&mut self, dst: [Source; 2], src: [Source; 2]) {
        for (dst, src) in dst.into_iter().zip(src) {
            self.emit(Op::Move { dst: dst.0, src });
        }
    }

    /// The two slots of a register of 128 bits.
    fn halves(&mut self, operand: &Operand<'a>) -> Decoded<[Source; 2]> {
        let Operand::Name(name, 0) = operand else {
            return Err(format!("{operand:?} has no 128 bits"));
        };
        match self.register(name) {
            _ if *name == "_" => Ok([Source(SINK); 2]),
            Some((slot, ty)) if ty.bits == 128 => Ok([Source(slot), Source(slot + 1)]),
            _ => Err(format!("{name} has no 128 bits")),
        }
    }

    fn two(&self, list: List) -> Decoded<[Source; 2]> {
        let start = list.start as usize;
        match list.count {
            2 => Ok([self.function.lists[start], self.function.lists[start + 1]]),
            count => Err(format!("{count} parts of 128 bits")),
        }
    }

    fn destination_list(&mut self, operands: &[Operand<'a>]) -> Decoded<List> {
        let slots = operands
            .iter()
            .map(|operand| Ok(Source(self.destination(Some(operand))?)));
        let slots = slots.collect::<Decoded<Vec<Source>>>()?;
        Ok(self.list(slots))
    }

    fn source_list(&mut self, operands: &[Operand<'a>], ty: Type) -> Decoded<List> {
        let sources = operands.iter().map(|operand| self.source(Some(operand), ty));
        let sources = sources.collect::<Decoded<Vec<Source>>>()?;
        Ok(self.list(sources))
    }

    fn cvt(&mut self, mut m: Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<()> {
        let integral = m.take_of(&[
            ("rni", Rounding::Nearest),
            ("rzi", Rounding::Zero),
            ("rmi", Rounding::Down),
            ("rpi", Rounding::Up),
        ]);
        let rounding = m.take_rounding().or(integral).unwrap_or(Rounding::Nearest);
        let conversion = Conversion {
            rounding,
            integral: integral.is_some(),
            ftz: m.take("ftz"),
            sat: m.take("sat"),
            relu: m.take("relu"),
            to: m.take_type()?,
            from: m.take_type()?,
        };
        m.finish()?;
        let (dst, [src]) = self.typed(operands, [conversion.from])?;
        if !conversion.to.packed {
            self.emit(Op::Convert { dst, src, conversion });
            return Ok(());
        }
        let low = self.source(operands.get(2), conversion.from)?;
        let conversion = Conversion {
            to: Type {
                packed: false,
                ..conversion.to
            },
            ..conversion
        };
        self.emit(Op::ConvertPair {
            dst,
            high: src,
            low,
            conversion,
        });
        Ok(())
    }

    fn access(
        &mut self,
        mut m: Modifiers<'a>,
        value: Option<&Operand<'a>>,
        address: Option<&Operand<'a>>,
        load: bool,
    ) -> Decoded<()> {
        m.drop_ordering();
        m.take("L2::cache_hint");
        let space = m.take_space().unwrap_or(Space::Generic);
        let lanes = m.take_of(&[("v2", 2), ("v4", 4), ("v8", 8)]);
        let ty = m.last_type()?;
        let address = self.address(address, space)?;
        let parts = match (value, lanes) {
            (Some(Operand::List(parts)), Some(count)) if parts.len() == count && ty.bits < 128 => match load {
                true => self.destination_list(parts)?,
                false => self.source_list(parts, ty)?,
            },
            (Some(value), None) if ty.bits == 128 => {
                let halves = self.halves(value)?;
                self.list(halves)
            }
            (Some(value), None) => {
                match load {
                    true => {
                        let dst = self.destination(Some(value))?;
                        self.emit(Op::Load { ty, dst, address });
                    }
                    false => {
                        let src = self.source(Some(value), ty)?;
                        self.emit(Op::Store { ty, src, address });
                    }
                }
                return Ok(());
            }
            _ => return Err("another number of values".to_owned()),
        };
        let ty = if ty.bits == 128 { B64 } else { ty };
        self.emit(match load {
            true => Op::LoadVector { ty, parts, address },
            false => Op::StoreVector { ty, parts, address },
        });
        Ok(())
    }

    fn atomic(&mut self, reduce: bool, mut m: Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<()> {
        m.drop_ordering();
        m.take("L2::cache_hint");
        let space = m.take_space().unwrap_or(Space::Generic);
        let op = m.one_of(&[
            ("add", AtomicOp::Add),
            ("min", AtomicOp::Min),
            ("max", AtomicOp::Max),
            ("inc", AtomicOp::Inc),
            ("dec", AtomicOp::Dec),
            ("and", AtomicOp::And),
            ("or", AtomicOp::Or),
            ("xor", AtomicOp::Xor),
            ("exch", AtomicOp::Exchange),
            ("cas", AtomicOp::CompareExchange),
        ])?;
        let ty = m.last_type()?;
        let (first, dst) = match reduce {
            true => (operands, None),
            false => (operands.get(1..).unwrap_or_default(), operands.first()),
        };
        let address = self.address(first.first(), space)?;
        let compare = op == AtomicOp::CompareExchange;
        if ty.bits == 128 {
            return self.atomic128(compare, op, dst, address, first.get(1..).unwrap_or_default());
        }
        let dst = if reduce { SINK } else { self.destination(dst)? };
        let width = if ty.packed { B32 } else { ty };
        let b = self.source(first.get(1), width)?;
        let c = if compare {
            self.source(first.get(2), ty)?
        } else {
            self.constant(0)
        };
        self.emit(Op::Atomic {
            op,
            ty,
            dst,
            address,
            b,
            c,
        });
        Ok(())
    }

    fn atomic128(
        &mut self,
        compare: bool,
        op: AtomicOp,
        dst: Option<&Operand<'a>>,
        address: Address,
        values: &[Operand<'a>],
    ) -> Decoded<()> {
        if !compare && op != AtomicOp::Exchange {
            return Err("only exch and cas have 128 bits".to_owned());
        }
        let [dst, _] = self.halves(dst.ok_or("no destination")?)?;
        let count = if compare { 2 } else { 1 };
        let values = values.get(..count).ok_or("too few operands")?;
        let halves = values.iter().map(|value| self.halves(value));
        let halves = halves.collect::<Decoded<Vec<[Source; 2]>>>()?;
        let operands = self.list(halves.into_iter().flatten());
        let dst = dst.0;
        self.emit(Op::Atomic128 {
            compare,
            dst,
            address,
            operands,
        });
        Ok(())
    }
}
