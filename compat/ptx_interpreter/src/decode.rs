//! From the parsed structure to instructions with resolved registers, symbols and labels.

mod arithmetic;
mod control;
mod data;
mod modifiers;
mod sync;

use std::collections::HashMap;

use crate::ast::{self, Operand, Statement, Variable};
use crate::fault::ParseError;
use crate::integer::IntegerOp;
use crate::layout::{Layout, Symbol, address_of, literal_bits};
use crate::lexer::Literal;
use crate::op::{Address, FrameSlot, Function, KernelParameter, List, Op, SINK, Slot, Source, Special};
use crate::types::{Kind, Space, Type};
use modifiers::Modifiers;

/// Where the parameters of a kernel start in their window.
pub(crate) const PARAM_START: u32 = 1024;

const PREDICATE: Type = Type::new(Kind::Predicate, 1);
const U32: Type = Type::new(Kind::Unsigned, 32);
const B64: Type = Type::new(Kind::Bits, 64);

/// What is wrong with one instruction; it becomes [`Op::Unsupported`].
type Decoded<T> = Result<T, String>;

/// The names of one pair of braces.
#[derive(Default)]
struct Scope<'a> {
    /// Its number; labels belong to scopes.
    id: usize,
    registers: HashMap<&'a str, (Slot, Type)>,
    /// `%r<5>`: prefix, first slot, count, type.
    ranges: Vec<(&'a str, Slot, u32, Type)>,
    variables: HashMap<&'a str, Symbol>,
    /// Where the frame ended before the scope.
    frame_bytes: u32,
}

enum Fixup {
    Op(usize),
    Target(usize),
}

struct Decoder<'a, 'm> {
    layout: &'m Layout,
    function: Function,
    is_kernel: bool,
    line: u32,
    scopes: Vec<Scope<'a>>,
    /// The enclosing scope of each.
    parents: Vec<Option<usize>>,
    labels: HashMap<(usize, &'a str), u32>,
    fixups: Vec<(Fixup, usize, &'a str, u32)>,
    tables: HashMap<&'a str, List>,
    constants: HashMap<u64, u32>,
    frame_bytes: u32,
    temporaries: HashMap<u32, Slot>,
    temporaries_in_use: u32,
}

/// Decodes a function.
pub(crate) fn decode(function: &ast::Function<'_>, layout: &Layout) -> Result<Function, ParseError> {
    let mut decoder = Decoder {
        layout,
        function: Function {
            name: function.name.to_owned(),
            defined: function.body.is_some(),
            // The first slot is the sink.
            registers: 1,
            frame_align: 16,
            ..Function::default()
        },
        is_kernel: function.kernel,
        line: 0,
        scopes: vec![Scope::default()],
        parents: vec![None],
        labels: HashMap::new(),
        fixups: Vec::new(),
        tables: HashMap::new(),
        constants: HashMap::new(),
        frame_bytes: 0,
        temporaries: HashMap::new(),
        temporaries_in_use: 0,
    };
    decoder.signature(function)?;
    for statement in function.body.iter().flatten() {
        decoder.statement(statement)?;
    }
    decoder.finish()
}

impl<'a> Decoder<'a, '_> {
    fn signature(&mut self, function: &ast::Function<'a>) -> Result<(), ParseError> {
        for variable in &function.returns {
            let slot = self.place_in_frame(variable);
            self.function.results.push(slot);
        }
        if !function.kernel {
            for variable in &function.parameters {
                let slot = self.place_in_frame(variable);
                self.function.parameters.push(slot);
            }
            return Ok(());
        }
        let (mut at, mut parameters) = (PARAM_START, Vec::new());
        for variable in &function.parameters {
            let offset = at.next_multiple_of(variable.align as u32);
            let bytes = variable.bytes as u32;
            at = offset + bytes;
            parameters.push(KernelParameter { offset, bytes });
            let symbol = Symbol::Address {
                space: Space::Param,
                address: offset.into(),
            };
            self.scopes[0].variables.insert(variable.name, symbol);
        }
        self.function.kernel = Some(parameters);
        Ok(())
    }

    fn place_in_frame(&mut self, variable: &Variable<'a>) -> FrameSlot {
        let align = (variable.align as u32).max(1);
        let offset = self.frame_bytes.next_multiple_of(align);
        let bytes = variable.bytes as u32;
        self.frame_bytes = offset + bytes;
        self.function.frame_bytes = self.function.frame_bytes.max(self.frame_bytes);
        self.function.frame_align = self.function.frame_align.max(align);
        self.scope()
            .variables
            .insert(variable.name, Symbol::Frame { offset, bytes });
        FrameSlot { offset, bytes }
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        self.scopes.last_mut().expect("the function's own scope stays open")
    }

    fn statement(&mut self, statement: &Statement<'a>) -> Result<(), ParseError> {
        match statement {
            Statement::Open => {
                let parent = self.scope().id;
                self.parents.push(Some(parent));
                self.scopes.push(Scope {
                    id: self.parents.len() - 1,
                    frame_bytes: self.frame_bytes,
                    ..Scope::default()
                });
            }
            Statement::Close => {
                if let Some(scope) = self.scopes.pop() {
                    self.frame_bytes = scope.frame_bytes;
                }
            }
            Statement::Register { ty, name, count } => {
                let each = if ty.bits == 128 { 2 } else { 1 };
                let first = self.function.registers;
                self.function.registers += each * count.unwrap_or(1);
                match count {
                    Some(count) => self.scope().ranges.push((name, first, *count, *ty)),
                    None => _ = self.scope().registers.insert(name, (first, *ty)),
                }
            }
            Statement::Variable(variable) if matches!(variable.space, ".local" | ".param") => {
                self.place_in_frame(variable);
            }
            Statement::Variable(_) => {}
            Statement::Label(name) => {
                let scope = self.scope().id;
                let here = self.function.code.len() as u32;
                self.labels.insert((scope, name), here);
            }
            Statement::Targets(name, targets) => {
                let start = self.function.targets.len();
                let scope = self.scope().id;
                for (i, target) in targets.iter().enumerate() {
                    self.function.targets.push(0);
                    self.fixups.push((Fixup::Target(start + i), scope, target, self.line));
                }
                let count = targets.len() as u32;
                let start = start as u32;
                self.tables.insert(name, List { start, count });
            }
            Statement::Instruction(instruction) => self.guarded(instruction),
        }
        Ok(())
    }

    /// A guarded instruction is a branch around it, except a branch itself.
    fn guarded(&mut self, instruction: &ast::Instruction<'a>) {
        self.line = instruction.line;
        self.temporaries_in_use = 0;
        let start = self.function.code.len();
        if let Err(problem) = self.instruction_with_guard(instruction) {
            self.function.code.truncate(start);
            self.function.lines.truncate(start);
            self.fixups
                .retain(|(fixup, ..)| !matches!(fixup, Fixup::Op(at) if *at >= start));
            let text = self.function.texts.len() as u32;
            self.function.texts.push(format!("{} ({problem})", instruction.opcode));
            let guarded = instruction.guard.is_some_and(|guard| self.skip(guard).is_ok());
            self.emit(Op::Unsupported { text });
            self.land(start, guarded);
        }
    }

    fn instruction_with_guard(&mut self, instruction: &ast::Instruction<'a>) -> Decoded<()> {
        let (name, modifiers) = Modifiers::split(instruction.opcode);
        if name == "bra" {
            return self.branch(instruction, modifiers);
        }
        let start = self.function.code.len();
        if let Some(guard) = instruction.guard {
            self.skip(guard)?;
        }
        self.instruction(name, modifiers, &instruction.operands)?;
        self.land(start, instruction.guard.is_some());
        Ok(())
    }

    fn skip(&mut self, (predicate, negated): (&'a str, bool)) -> Decoded<()> {
        let (predicate, _) = self.register(predicate).ok_or("unknown predicate")?;
        self.emit(Op::BranchIf {
            predicate,
            negated: !negated,
            target: 0,
        });
        Ok(())
    }

    /// Makes the branch at `start`, if there is one, lead here.
    fn land(&mut self, start: usize, guarded: bool) {
        let here = self.function.code.len() as u32;
        if let (true, Some(Op::BranchIf { target, .. })) = (guarded, self.function.code.get_mut(start)) {
            *target = here;
        }
    }

    fn instruction(&mut self, name: &'a str, modifiers: Modifiers<'a>, operands: &[Operand<'a>]) -> Decoded<()> {
        let handled = self.arithmetic(name, modifiers, operands)?;
        let Some(modifiers) = handled else { return Ok(()) };
        let Some(modifiers) = self.data(name, modifiers, operands)? else {
            return Ok(());
        };
        let Some(modifiers) = self.sync(name, modifiers, operands)? else {
            return Ok(());
        };
        self.control(name, modifiers, operands)
    }

    fn emit(&mut self, op: Op) {
        self.function.code.push(op);
        self.function.lines.push(self.line);
    }

    fn register(&self, name: &str) -> Option<(Slot, Type)> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        let number: Option<u32> = number.parse().ok();
        self.scopes.iter().rev().find_map(|scope| {
            if let Some(&found) = scope.registers.get(name) {
                return Some(found);
            }
            let number = number?;
            let in_range = |&&(p, _, count, _): &&(&str, Slot, u32, Type)| p == prefix && number < count;
            let &(_, first, _, ty) = scope.ranges.iter().find(in_range)?;
            Some((first + number * if ty.bits == 128 { 2 } else { 1 }, ty))
        })
    }

    fn symbol(&self, name: &str) -> Option<Symbol> {
        let own = self.scopes.iter().rev().find_map(|scope| scope.variables.get(name));
        own.or_else(|| self.layout.symbols.get(name)).copied()
    }

    /// A register that the current instruction may use for itself.
    fn temporary(&mut self) -> Slot {
        let number = self.temporaries_in_use;
        self.temporaries_in_use += 1;
        let registers = &mut self.function.registers;
        *self.temporaries.entry(number).or_insert_with(|| {
            *registers += 1;
            *registers - 1
        })
    }

    fn constant(&mut self, value: u64) -> Source {
        let constants = &mut self.function.constants;
        let index = *self.constants.entry(value).or_insert_with(|| {
            constants.push(value);
            constants.len() as u32 - 1
        });
        Source(index | Source::CONSTANT)
    }

    /// A destination; `_` is the sink.
    fn destination(&mut self, operand: Option<&Operand<'a>>) -> Decoded<Slot> {
        match operand {
            Some(Operand::Name("_", 0)) => Ok(SINK),
            Some(Operand::Name(name, 0)) => match self.register(name) {
                Some((slot, _)) => Ok(slot),
                None => Err(format!("unknown register {name}")),
            },
            other => Err(format!("{other:?} as a destination")),
        }
    }

    /// One destination, or two as in `%p|%q`.
    fn destinations(&mut self, operand: Option<&Operand<'a>>) -> Decoded<(Slot, Slot)> {
        match operand {
            Some(&Operand::Pair(a, b)) => {
                let first = self.destination(Some(&Operand::Name(a, 0)))?;
                Ok((first, self.destination(Some(&Operand::Name(b, 0)))?))
            }
            other => Ok((self.destination(other)?, SINK)),
        }
    }

    fn source(&mut self, operand: Option<&Operand<'a>>, ty: Type) -> Decoded<Source> {
        match operand {
            Some(Operand::Literal(literal)) => {
                let bits = literal_bits(*literal, ty.bytes());
                // -1 is true.
                Ok(self.constant(if ty.kind == Kind::Predicate { bits & 1 } else { bits }))
            }
            Some(&Operand::Name(name, offset)) => self.named(name, offset),
            Some(&Operand::Not(name)) => {
                let (slot, _) = self.register(name).ok_or("unknown predicate")?;
                let (dst, one) = (self.temporary(), self.constant(1));
                self.emit(Op::Integer {
                    op: IntegerOp::Xor,
                    ty: PREDICATE,
                    dst,
                    a: Source(slot),
                    b: one,
                });
                Ok(Source(dst))
            }
            other => Err(format!("{other:?} as an operand")),
        }
    }

    /// A destination and the sources after it, each of its type.
    fn typed<const N: usize>(&mut self, operands: &[Operand<'a>], types: [Type; N]) -> Decoded<(Slot, [Source; N])> {
        let dst = self.destination(operands.first())?;
        let mut sources = [Source(SINK); N];
        for (at, (source, ty)) in sources.iter_mut().zip(types).enumerate() {
            *source = self.source(operands.get(at + 1), ty)?;
        }
        Ok((dst, sources))
    }

    /// A destination and up to `N` sources of one type; zeros stand for those that are not there.
    fn padded<const N: usize>(&mut self, operands: &[Operand<'a>], ty: Type) -> Decoded<(Slot, [Source; N])> {
        let dst = self.destination(operands.first())?;
        let mut sources = [self.constant(0); N];
        for (source, operand) in sources.iter_mut().zip(&operands[1..]) {
            *source = self.source(Some(operand), ty)?;
        }
        Ok((dst, sources))
    }

    fn named(&mut self, name: &'a str, offset: i64) -> Decoded<Source> {
        if let (Some((slot, _)), 0) = (self.register(name), offset) {
            return Ok(Source(slot));
        }
        if name == "WARP_SZ" {
            return Ok(self.constant(32));
        }
        if let Some(which) = special(name) {
            let dst = self.temporary();
            self.emit(Op::Special { dst, which });
            return Ok(Source(dst));
        }
        match self.symbol(name) {
            Some(Symbol::Frame { offset: start, .. }) => {
                let dst = self.temporary();
                let offset = start.wrapping_add(offset as u32);
                self.emit(Op::FrameAddress { dst, offset });
                Ok(Source(dst))
            }
            Some(symbol) => Ok(self.constant(address_of(symbol).wrapping_add(offset as u64))),
            None => Err(format!("unknown name {name}")),
        }
    }

    /// `[base+offset]`; the space of a parameter depends on whose it is.
    fn address(&mut self, operand: Option<&Operand<'a>>, space: Space) -> Decoded<Address> {
        let Some(Operand::Address(parts)) = operand else {
            return Err("no address".to_owned());
        };
        let [part] = parts.as_slice() else {
            return Err("an address of several parts".to_owned());
        };
        let own_param = if self.is_kernel { Space::Param } else { Space::Local };
        let registers = if space == Space::Param { own_param } else { space };
        let (base, offset, space) = match part {
            Operand::Literal(Literal::Integer(address)) => (self.constant(*address), 0, registers),
            &Operand::Name(name, offset) => match self.register(name) {
                Some((slot, _)) => (Source(slot), offset, registers),
                None => match self.symbol(name).ok_or_else(|| format!("unknown name {name}"))? {
                    Symbol::Frame { offset: start, .. } => (self.constant(0), i64::from(start) + offset, Space::Frame),
                    symbol => (self.constant(address_of(symbol)), offset, space),
                },
            },
            other => return Err(format!("{other:?} as an address")),
        };
        let offset = i32::try_from(offset).map_err(|_| "an offset of more than 32 bits")?;
        Ok(Address { space, base, offset })
    }

    fn list(&mut self, sources: impl IntoIterator<Item = Source>) -> List {
        let lists = &mut self.function.lists;
        let start = lists.len() as u32;
        lists.extend(sources);
        let count = lists.len() as u32 - start;
        List { start, count }
    }

    fn finish(mut self) -> Result<Function, ParseError> {
        // A body that runs off its end returns.
        self.emit(Op::Return);
        for (fixup, scope, name, line) in std::mem::take(&mut self.fixups) {
            let mut at = Some(scope);
            let target = loop {
                let Some(scope) = at else {
                    return Err(ParseError::new(line, format!("no label {name}")));
                };
                if let Some(&target) = self.labels.get(&(scope, name)) {
                    break target;
                }
                at = self.parents[scope];
            };
            match fixup {
                Fixup::Target(index) => self.function.targets[index] = target,
                Fixup::Op(index) => match &mut self.function.code[index] {
                    Op::Branch { target: to } | Op::BranchIf { target: to, .. } => *to = target,
                    other => unreachable!("{other:?} has no target"),
                },
            }
        }
        Ok(self.function)
    }
}

fn special(name: &str) -> Option<Special> {
    let axis = |axis: &str| ["x", "y", "z"].iter().position(|&each| each == axis).map(|at| at as u8);
    if let Some((name, of)) = name.split_once('.') {
        let axis = axis(of)?;
        return Some(match name {
            "%tid" => Special::Thread(axis),
            "%ctaid" | "%clusterid" => Special::Block(axis),
            "%ntid" => Special::Threads(axis),
            "%nctaid" | "%nclusterid" => Special::Blocks(axis),
            "%cluster_ctaid" => Special::Constant(0),
            "%cluster_nctaid" => Special::Constant(1),
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::Warps,
        "%lanemask_eq" => Special::LaneMaskEq,
        "%lanemask_le" => Special::LaneMaskLe,
        "%lanemask_lt" => Special::LaneMaskLt,
        "%lanemask_ge" => Special::LaneMaskGe,
        "%lanemask_gt" => Special::LaneMaskGt,
        "%clock" | "%clock64" | "%globaltimer" | "%globaltimer_lo" => Special::Clock,
        "%clock_hi" | "%globaltimer_hi" => Special::ClockHigh,
        "%dynamic_smem_size" => Special::DynamicShared,
        "%total_smem_size" | "%aggr_smem_size" => Special::TotalShared,
        "%smid" | "%gridid" | "%cluster_ctarank" | "%is_explicit_cluster" => Special::Constant(0),
        "%nsmid" | "%cluster_nctarank" => Special::Constant(1),
        _ => return None,
    })
}
