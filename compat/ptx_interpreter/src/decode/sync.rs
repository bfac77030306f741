//! Barriers and warp-synchronous instructions.

use super::modifiers::Modifiers;
use super::{Decoded, Decoder, PREDICATE, U32};
use crate::ast::Operand;
use crate::integer::IntegerOp;
use crate::op::{BarrierMode, Op, SINK, ShuffleMode, Source, VoteMode, WarpOp};

impl<'a> Decoder<'a, '_> {
    /// Decodes what this module covers; hands the modifiers back where the instruction is another's.
    pub(super) fn sync(
        &mut self,
        name: &str,
        mut m: Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Decoded<Option<Modifiers<'a>>> {
        m.take("aligned");
        let mask_at = operands.len().saturating_sub(1);
        match name {
            "bar" | "barrier" if m.take("warp") => {
                m.take("sync");
                m.finish()?;
                let mask = self.source(operands.first(), U32)?;
                self.emit(Op::Warp { op: WarpOp::Sync, mask });
            }
            "bar" | "barrier" => return self.barrier(m, operands),
            "activemask" => {
                let dst = self.destination(operands.first())?;
                self.emit(Op::ActiveMask { dst });
            }
            "shfl" | "vote" | "match" | "redux" | "elect" => {
                if !m.take("sync") {
                    return Err("only the form with .sync is known".to_owned());
                }
                let op = match name {
                    "shfl" => self.shuffle(&mut m, operands)?,
                    "vote" => self.vote(&mut m, operands)?,
                    "match" => self.matching(&mut m, operands)?,
                    "redux" => self.reduction(&mut m, operands)?,
                    _ => {
                        let (dst, elected) = self.destinations(operands.first())?;
                        WarpOp::Elect { dst, elected }
                    }
                };
                m.finish()?;
                let mask = self.source(operands.get(mask_at), U32)?;
                self.emit(Op::Warp { op, mask });
            }
            _ => return Ok(Some(m)),
        }
        Ok(None)
    }

    fn shuffle(&mut self, m: &mut Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<WarpOp> {
        let mode = m.one_of(&[
            ("up", ShuffleMode::Up),
            ("down", ShuffleMode::Down),
            ("bfly", ShuffleMode::Butterfly),
            ("idx", ShuffleMode::Index),
        ])?;
        m.take_type()?;
        let (dst, inside) = self.destinations(operands.first())?;
        Ok(WarpOp::Shuffle {
            mode,
            dst,
            inside,
            value: self.source(operands.get(1), U32)?,
            lane: self.source(operands.get(2), U32)?,
            clamp: self.source(operands.get(3), U32)?,
        })
    }

    /// A predicate without an instruction of its own for the negation: the operand is read when all threads are there.
    fn predicate(&mut self, operand: Option<&Operand<'a>>) -> Decoded<(Source, bool)> {
        match operand {
            Some(&Operand::Not(name)) => {
                let (slot, _) = self.register(name).ok_or("unknown predicate")?;
                Ok((Source(slot), true))
            }
            other => Ok((self.source(other, PREDICATE)?, false)),
        }
    }

    fn vote(&mut self, m: &mut Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<WarpOp> {
        let mode = m.one_of(&[
            ("all", VoteMode::All),
            ("any", VoteMode::Any),
            ("uni", VoteMode::Uniform),
            ("ballot", VoteMode::Ballot),
        ])?;
        m.take_type()?;
        let dst = self.destination(operands.first())?;
        let (predicate, negated) = self.predicate(operands.get(1))?;
        Ok(WarpOp::Vote {
            mode,
            dst,
            predicate,
            negated,
        })
    }

    fn matching(&mut self, m: &mut Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<WarpOp> {
        let all = m.one_of(&[("all", true), ("any", false)])?;
        let ty = m.take_type()?;
        let (dst, agreed) = self.destinations(operands.first())?;
        let value = self.source(operands.get(1), ty)?;
        Ok(match all {
            true => WarpOp::MatchAll { ty, dst, agreed, value },
            false => WarpOp::MatchAny { ty, dst, value },
        })
    }

    fn reduction(&mut self, m: &mut Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<WarpOp> {
        let op = m.one_of(&[
            ("add", IntegerOp::Add),
            ("min", IntegerOp::Min),
            ("max", IntegerOp::Max),
            ("and", IntegerOp::And),
            ("or", IntegerOp::Or),
            ("xor", IntegerOp::Xor),
        ])?;
        let ty = m.take_type()?;
        if ty.is_float() {
            return Err("reduction of floating-point numbers".to_owned());
        }
        let (dst, [value]) = self.typed(operands, [ty])?;
        Ok(WarpOp::Reduce { op, ty, dst, value })
    }

    fn barrier(&mut self, mut m: Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<Option<Modifiers<'a>>> {
        m.take("cta");
        let reduces = m.take("red");
        let mode = match reduces {
            true => m.one_of(&[
                ("popc", BarrierMode::ReduceCount),
                ("and", BarrierMode::ReduceAnd),
                ("or", BarrierMode::ReduceOr),
            ])?,
            false => m.one_of(&[("sync", BarrierMode::Sync), ("arrive", BarrierMode::Arrive)])?,
        };
        if reduces {
            m.take_type()?;
        }
        m.finish()?;
        let zero = self.constant(0);
        let (dst, numbers) = match reduces {
            true => (
                self.destination(operands.first())?,
                operands.get(1..operands.len() - 1).unwrap_or_default(),
            ),
            false => (SINK, operands),
        };
        let id = self.source(numbers.first(), U32)?;
        let count = if numbers.len() > 1 {
            self.source(numbers.get(1), U32)?
        } else {
            zero
        };
        let (predicate, negated) = if reduces {
            self.predicate(operands.last())?
        } else {
            (zero, false)
        };
        self.emit(Op::Barrier {
            mode,
            dst,
            id,
            count,
            predicate,
            negated,
        });
        Ok(None)
    }
}
