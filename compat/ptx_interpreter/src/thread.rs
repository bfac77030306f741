//! One thread: its registers and local memory, and the loop that runs its instructions.

use crate::atomics;
use crate::calls;
use crate::convert::convert;
use crate::fault::FaultKind;
use crate::float;
use crate::integer;
use crate::machine::Environment;
use crate::memory::{Memory, WINDOW_BYTES, load, store};
use crate::op::{Address, Function, List, Op, Slot, Source, Special};
use crate::types::{Compare, Space, Type};

/// One call under way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    pub function: u32,
    pub pc: u32,
    /// Where its registers start.
    pub registers: usize,
    /// Where its frame starts in local memory.
    pub frame: u64,
    /// The low end of the stack; less than `frame` after `alloca`.
    pub stack: u64,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    Warp,
    ActiveMask,
    Barrier(u32),
    Exited,
}

#[derive(Debug)]
pub(crate) struct Thread {
    pub index: [u32; 3],
    pub linear: u32,
    pub state: State,
    pub registers: Vec<u64>,
    pub local: Vec<u8>,
    pub current: Frame,
    pub callers: Vec<Frame>,
    pub carry: bool,
}

/// Why a thread stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has run as many steps as it may at a stretch.
    Slice,
    /// It stands at an instruction that needs other threads.
    Blocked,
    Exited,
}

/// Why the inner loop ended.
enum Action {
    Call(u32),
    Return,
    Stop(Stop),
}

impl Thread {
    pub fn new(local_bytes: usize) -> Self {
        Self {
            index: [0; 3],
            linear: 0,
            state: State::Ready,
            registers: Vec::new(),
            local: vec![0; local_bytes],
            current: Frame::default(),
            callers: Vec::new(),
            carry: false,
        }
    }

    /// Puts the thread at a kernel's start.
    pub fn start(
        &mut self,
        functions: &[Function],
        kernel: u32,
        index: [u32; 3],
        linear: u32,
    ) -> Result<(), FaultKind> {
        self.index = index;
        self.linear = linear;
        self.state = State::Ready;
        self.callers.clear();
        self.carry = false;
        self.current = Frame {
            stack: WINDOW_BYTES,
            ..Frame::default()
        };
        self.current = self.frame_for(functions, kernel, 0)?;
        Ok(())
    }

    /// A frame for a call, under the current one.
    pub fn frame_for(&mut self, functions: &[Function], function: u32, registers: usize) -> Result<Frame, FaultKind> {
        let callee = &functions[function as usize];
        let align = u64::from(callee.frame_align);
        // A call takes some stack even if the callee keeps nothing there.
        let bytes = u64::from(callee.frame_bytes.max(16));
        let lowest = WINDOW_BYTES - self.local.len() as u64;
        let frame = self.current.stack.checked_sub(bytes).map(|frame| frame & !(align - 1));
        let frame = frame.filter(|&frame| frame >= lowest).ok_or(FaultKind::StackOverflow)?;
        let needed = registers + callee.registers as usize;
        if self.registers.len() < needed {
            self.registers.resize(needed, 0);
        }
        Ok(Frame {
            function,
            pc: 0,
            registers,
            frame,
            stack: frame,
        })
    }

    /// Reads an operand of the instruction at which the thread stands.
    pub fn read(&self, functions: &[Function], source: Source) -> u64 {
        let constants = &functions[self.current.function as usize].constants;
        source.read(&self.registers[self.current.registers..], constants)
    }

    pub fn write(&mut self, slot: Slot, value: u64) {
        self.registers[self.current.registers + slot as usize] = value;
    }

    /// The instruction at which the thread stands.
    pub fn op(&self, functions: &[Function]) -> Op {
        functions[self.current.function as usize].code[self.current.pc as usize]
    }

    /// Runs until the thread must wait, ends, or has used up `budget` steps.
    pub fn run(&mut self, environment: &mut Environment<'_>, budget: &mut u64) -> Result<Stop, FaultKind> {
        loop {
            match self.run_frame(environment, budget)? {
                Action::Call(site) => calls::call(self, environment, site)?,
                Action::Return if calls::leave(self, environment) => {}
                Action::Return => return Ok(Stop::Exited),
                Action::Stop(stop) => return Ok(stop),
            }
        }
    }

    /// Runs within one call. `current.pc` names the instruction under way whenever this returns.
    fn run_frame(&mut self, environment: &mut Environment<'_>, budget: &mut u64) -> Result<Action, FaultKind> {
        let Environment { functions, memory, .. } = environment;
        let function = &functions[self.current.function as usize];
        let code = function.code.as_slice();
        let constants = function.constants.as_slice();
        let start = self.current.registers;
        let registers = &mut self.registers[start..start + function.registers as usize];
        let local = self.local.as_mut_slice();
        let mut pc = self.current.pc as usize;
        macro_rules! read {
            ($source:expr) => {
                $source.read(registers, constants)
            };
        }
        macro_rules! write {
            ($slot:expr, $value:expr) => {{
                let value = $value;
                registers[$slot as usize] = value
            }};
        }
        loop {
            self.current.pc = pc as u32;
            if *budget == 0 {
                return Ok(Action::Stop(Stop::Slice));
            }
            *budget -= 1;
            let op = &code[pc];
            pc += 1;
            match *op {
                Op::Move { dst, src } => write!(dst, read!(src)),
                Op::Integer { op, ty, dst, a, b } => write!(dst, integer::binary(op, ty, read!(a), read!(b))),
                Op::Integer3 { op, ty, dst, a, b, c } => {
                    let (a, b, c) = (read!(a), read!(b), read!(c));
                    use integer::IntegerOp as I;
                    let value = match op {
                        I::AddCarry(_) | I::SubCarry(_) | I::MadLoCarry(_) | I::MadHiCarry(_) => {
                            let (value, carry) = integer::with_carry(op, ty, a, b, c, self.carry);
                            self.carry = carry;
                            value
                        }
                        _ => integer::ternary(op, ty, a, b, c),
                    };
                    write!(dst, value);
                }
                Op::Integer4 {
                    op,
                    ty,
                    dst,
                    a,
                    b,
                    c,
                    extra,
                } => {
                    write!(
                        dst,
                        integer::quaternary(op, ty, read!(a), read!(b), read!(c), read!(extra))
                    );
                }
                Op::Float {
                    op,
                    ty,
                    mode,
                    dst,
                    a,
                    b,
                    c,
                } => {
                    write!(dst, float::compute(op, ty, mode, read!(a), read!(b), read!(c)));
                }
                Op::Convert { dst, src, conversion } => write!(dst, convert(conversion, read!(src))),
                Op::ConvertPair {
                    dst,
                    high,
                    low,
                    conversion,
                } => {
                    let (high, low) = (convert(conversion, read!(high)), convert(conversion, read!(low)));
                    write!(dst, high << 16 | low & 0xffff);
                }
                Op::Compare {
                    compare,
                    ty,
                    ftz,
                    dst,
                    a,
                    b,
                } => {
                    write!(dst, compared(compare, ty, ftz, read!(a), read!(b)).into());
                }
                Op::CompareCombine {
                    compare,
                    ty,
                    ftz,
                    combine,
                    dst,
                    dst_not,
                    a,
                    b,
                    c,
                } => {
                    let compared = compared(compare, ty, ftz, read!(a), read!(b));
                    let other = read!(c) & 1 == 1;
                    write!(dst, combine.apply(compared, other).into());
                    write!(dst_not, combine.apply(!compared, other).into());
                }
                Op::Set {
                    compare,
                    ty,
                    ftz,
                    combine,
                    one,
                    dst,
                    a,
                    b,
                    c,
                } => {
                    let compared = compared(compare, ty, ftz, read!(a), read!(b));
                    write!(
                        dst,
                        if combine.apply(compared, read!(c) & 1 == 1) {
                            one
                        } else {
                            0
                        }
                    );
                }
                Op::Select { dst, a, b, predicate } => {
                    write!(dst, if read!(predicate) & 1 == 1 { read!(a) } else { read!(b) });
                }
                Op::SelectSign { ty, ftz, dst, a, b, c } => {
                    let c = read!(c);
                    let first = match ty.is_float() {
                        true => compared(Compare::Ge, ty, ftz, c, 0),
                        false => ty.extend(c) as i64 >= 0,
                    };
                    write!(dst, if first { read!(a) } else { read!(b) });
                }
                Op::Branch { target } => pc = target as usize,
                Op::BranchIf {
                    predicate,
                    negated,
                    target,
                } => {
                    if (registers[predicate as usize] & 1 == 1) != negated {
                        pc = target as usize;
                    }
                }
                Op::BranchIndexed { index, targets } => {
                    let index = read!(index) as u32;
                    if index >= targets.count {
                        let what = format!("brx.idx of {index} among {} targets", targets.count);
                        return Err(FaultKind::Unsupported(what));
                    }
                    pc = function.targets[(targets.start + index) as usize] as usize;
                }
                Op::Load { ty, dst, address } => {
                    let at = place(address, &self.current, registers, constants);
                    let bytes = memory.access(local, address.space, at, ty.bytes(), false)?;
                    let value = ty.extend_loaded(load(bytes));
                    write!(dst, value);
                }
                Op::Store { ty, src, address } => {
                    let at = place(address, &self.current, registers, constants);
                    store(memory.access(local, address.space, at, ty.bytes(), true)?, read!(src));
                }
                Op::LoadVector { ty, parts, address } => {
                    let at = place(address, &self.current, registers, constants);
                    let total = ty.bytes() * parts.count as usize;
                    let bytes = memory.access(local, address.space, at, total, false)?;
                    for (part, bytes) in list(function, parts).iter().zip(bytes.chunks_exact(ty.bytes())) {
                        write!(part.0, ty.extend_loaded(load(bytes)));
                    }
                }
                Op::StoreVector { ty, parts, address } => {
                    let at = place(address, &self.current, registers, constants);
                    let total = ty.bytes() * parts.count as usize;
                    let bytes = memory.access(local, address.space, at, total, true)?;
                    for (part, bytes) in list(function, parts).iter().zip(bytes.chunks_exact_mut(ty.bytes())) {
                        store(bytes, read!(part));
                    }
                }
                Op::Atomic {
                    op,
                    ty,
                    dst,
                    address,
                    b,
                    c,
                } => {
                    let at = place(address, &self.current, registers, constants);
                    let (b, c) = (read!(b), read!(c));
                    let flush = address.space == Space::Global
                        || address.space == Space::Generic && memory.window.space_of(at) == Space::Global;
                    let bytes = memory.access(local, address.space, at, ty.bytes(), true)?;
                    let old = load(bytes);
                    store(bytes, atomics::apply(op, ty, flush, old, b, c));
                    write!(dst, old);
                }
                Op::Atomic128 {
                    compare,
                    dst,
                    address,
                    operands,
                } => {
                    let at = place(address, &self.current, registers, constants);
                    let bytes = memory.access(local, address.space, at, 16, true)?;
                    let old = [load(&bytes[..8]), load(&bytes[8..])];
                    let values = list(function, operands);
                    let new = match compare {
                        true if [read!(values[0]), read!(values[1])] != old => old,
                        true => [read!(values[2]), read!(values[3])],
                        false => [read!(values[0]), read!(values[1])],
                    };
                    store(&mut bytes[..8], new[0]);
                    store(&mut bytes[8..], new[1]);
                    write!(dst, old[0]);
                    write!(dst + 1, old[1]);
                }
                Op::ToGeneric { dst, src, space } => write!(dst, memory.window.cvta(space, read!(src))),
                Op::FromGeneric { dst, src, space } => write!(dst, memory.window.cvta_to(space, read!(src))),
                Op::IsSpace { dst, src, space } => write!(dst, u64::from(memory.window.space_of(read!(src)) == space)),
                Op::Unpack { parts, bits, src } => {
                    let value = read!(src);
                    for (i, part) in list(function, parts).iter().enumerate() {
                        let part_value = value >> (i as u32 * u32::from(bits)) & (u64::MAX >> (64 - bits));
                        write!(part.0, part_value);
                    }
                }
                Op::Pack { dst, parts, bits } => {
                    let mut value = 0;
                    for (i, part) in list(function, parts).iter().enumerate() {
                        value |= (read!(part) & (u64::MAX >> (64 - bits))) << (i as u32 * u32::from(bits));
                    }
                    write!(dst, value);
                }
                Op::FrameAddress { dst, offset } => write!(dst, self.current.frame + u64::from(offset)),
                Op::Special { dst, which } => {
                    let clock = environment.steps + (environment.slice - *budget);
                    write!(
                        dst,
                        special(which, self.index, self.linear, &environment.dimensions, memory, clock)
                    );
                }
                Op::Alloca { dst, bytes, align } => {
                    let lowest = WINDOW_BYTES - local.len() as u64;
                    let bottom = self.current.stack.checked_sub(read!(bytes));
                    let bottom = bottom.map(|bottom| bottom & !(u64::from(align.max(16)) - 1));
                    let bottom = bottom
                        .filter(|&bottom| bottom >= lowest)
                        .ok_or(FaultKind::StackOverflow)?;
                    self.current.stack = bottom;
                    write!(dst, bottom);
                }
                Op::StackSave { dst } => write!(dst, self.current.stack),
                Op::StackRestore { src } => self.current.stack = read!(src),
                Op::Call { site } => return Ok(Action::Call(site)),
                Op::Return => return Ok(Action::Return),
                Op::Exit => return Ok(Action::Stop(Stop::Exited)),
                Op::Trap => return Err(FaultKind::Trap),
                Op::Yield => {
                    self.current.pc = pc as u32;
                    return Ok(Action::Stop(Stop::Slice));
                }
                Op::Warp { .. } | Op::ActiveMask { .. } | Op::Barrier { .. } => {
                    return Ok(Action::Stop(Stop::Blocked));
                }
                Op::Unsupported { text } => {
                    return Err(FaultKind::Unsupported(function.texts[text as usize].clone()));
                }
            }
        }
    }
}

/// The address that an instruction names, in its space.
#[inline(always)]
fn place(address: Address, frame: &Frame, registers: &[u64], constants: &[u64]) -> u64 {
    let base = match address.space {
        Space::Frame => frame.frame,
        _ => address.base.read(registers, constants),
    };
    base.wrapping_add(address.offset as i64 as u64)
}

#[inline(always)]
fn list(function: &Function, list: List) -> &[Source] {
    &function.lists[list.start as usize..(list.start + list.count) as usize]
}

#[inline(always)]
fn compared(compare: Compare, ty: Type, ftz: bool, a: u64, b: u64) -> bool {
    match ty.is_float() {
        true => float::compare(compare, ty, ftz, a, b),
        false => integer::compare(compare, ty, a, b),
    }
}

/// The extents of a launch and the CTA under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dimensions {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub block_index: [u32; 3],
    pub dynamic_shared_bytes: u32,
}

fn special(which: Special, thread: [u32; 3], linear: u32, at: &Dimensions, memory: &Memory, clock: u64) -> u64 {
    let lane = linear % 32;
    let below = (1u32 << lane) - 1;
    let value = match which {
        Special::Clock => return clock,
        Special::ClockHigh => (clock >> 32) as u32,
        Special::Thread(axis) => thread[usize::from(axis)],
        Special::Block(axis) => at.block_index[usize::from(axis)],
        Special::Threads(axis) => at.block[usize::from(axis)],
        Special::Blocks(axis) => at.grid[usize::from(axis)],
        Special::Lane => lane,
        Special::Warp => linear / 32,
        Special::Warps => at.block.iter().product::<u32>().div_ceil(32),
        Special::LaneMaskEq => 1 << lane,
        Special::LaneMaskLt => below,
        Special::LaneMaskLe => below | 1 << lane,
        Special::LaneMaskGe => !below,
        Special::LaneMaskGt => !(below | 1 << lane),
        Special::DynamicShared => at.dynamic_shared_bytes,
        Special::TotalShared => memory.shared.len() as u32,
        Special::Constant(value) => value,
    };
    value.into()
}
