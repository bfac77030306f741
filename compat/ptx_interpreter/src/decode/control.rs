//! Branches, calls and instructions without a result.

use super::modifiers::Modifiers;
use super::{B64, Decoded, Decoder, Fixup, U32};
use crate::ast::{self, Operand};
use crate::layout::Symbol;
use crate::op::{CallSite, Callee, FrameSlot, Op};

impl<'a> Decoder<'a, '_> {
    pub(super) fn branch(&mut self, instruction: &ast::Instruction<'a>, mut m: Modifiers<'a>) -> Decoded<()> {
        m.take("uni");
        m.finish()?;
        let Some(&Operand::Name(label, 0)) = instruction.operands.first() else {
            return Err("no label".to_owned());
        };
        let op = match instruction.guard {
            None => Op::Branch { target: 0 },
            Some((predicate, negated)) => Op::BranchIf {
                predicate: self.register(predicate).ok_or("unknown predicate")?.0,
                negated,
                target: 0,
            },
        };
        let scope = self.scope().id;
        self.fixups
            .push((Fixup::Op(self.function.code.len()), scope, label, instruction.line));
        self.emit(op);
        Ok(())
    }

    pub(super) fn control(&mut self, name: &str, mut m: Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<()> {
        match name {
            "brx" => {
                m.take("idx");
                m.take("uni");
                m.finish()?;
                let index = self.source(operands.first(), U32)?;
                let Some(Operand::Name(table, 0)) = operands.get(1) else {
                    return Err("no table".to_owned());
                };
                let targets = *self.tables.get(table).ok_or("unknown table")?;
                self.emit(Op::BranchIndexed { index, targets });
            }
            "call" => {
                m.take("uni");
                m.finish()?;
                self.call(operands)?;
            }
            "ret" => self.emit(Op::Return),
            "exit" => self.emit(Op::Exit),
            "trap" | "brkpt" => self.emit(Op::Trap),
            "nanosleep" => self.emit(Op::Yield),
            // One thread runs at a time, and sees all that others wrote before.
            "fence" | "membar" | "prefetch" | "prefetchu" | "pmevent" | "griddepcontrol" | "discard"
            | "applypriority" => {}
            _ => return Err("unknown instruction".to_owned()),
        }
        Ok(())
    }

    fn call(&mut self, operands: &[Operand<'a>]) -> Decoded<()> {
        let (results, rest) = match operands {
            [Operand::Group(results), rest @ ..] => (results.as_slice(), rest),
            _ => (&[][..], operands),
        };
        let [Operand::Name(callee, 0), rest @ ..] = rest else {
            return Err("no callee".to_owned());
        };
        let arguments = match rest {
            [Operand::Group(arguments), ..] => arguments.as_slice(),
            _ => &[],
        };
        let (results, arguments) = (self.call_operands(results)?, self.call_operands(arguments)?);
        let callee = match self.symbol(callee) {
            Some(Symbol::Function(index)) => Callee::Direct(index),
            _ => Callee::Indirect(self.source(Some(&Operand::Name(callee, 0)), B64)?),
        };
        let site = self.function.sites.len() as u32;
        self.function.sites.push(CallSite {
            callee,
            arguments,
            results,
        });
        self.emit(Op::Call { site });
        Ok(())
    }

    fn call_operands(&self, operands: &[Operand<'a>]) -> Decoded<Vec<FrameSlot>> {
        let place = |operand: &Operand<'a>| match operand {
            Operand::Name(name, 0) => match self.symbol(name) {
                Some(Symbol::Frame { offset, bytes }) => Ok(FrameSlot { offset, bytes }),
                _ => Err(format!("{name} is no parameter")),
            },
            other => Err(format!("{other:?} is no parameter")),
        };
        operands.iter().map(place).collect()
    }
}
